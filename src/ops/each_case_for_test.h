// Random legal cases of all operations in sequence, for tests of properties.
// Thread safety: none needed.
// Ownership: values.
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>

#include "ops/testing/recipes.h"

namespace halyard::ops::testing {

// The selection by HALYARD_PROPERTY_CASE: an operation, optionally a slash with the numbers of one
// case, and @ with the seed. Without it, all cases of the fixed seed.
struct CaseChoice {
  std::string prefix;
  unsigned seed = 1;
};
inline CaseChoice chosenCases() {
  CaseChoice choice;
  const char* text = std::getenv("HALYARD_PROPERTY_CASE");
  if (text == nullptr) return choice;
  choice.prefix = text;
  const size_t at = choice.prefix.find('@');
  if (at == std::string::npos) return choice;
  const char* const end = choice.prefix.data() + choice.prefix.size();
  std::from_chars(choice.prefix.data() + at + 1, end, choice.seed);
  choice.prefix.resize(at);
  return choice;
}

// Calls check(definition, case) for `rounds` cases of each variant of each operation. `check`
// returns whether the case had anything to check; at least `least` cases must. Stops at an
// operation's first failure, so that one error does not hide others.
template <typename Check>
void forEachCase(unsigned rounds, int least, Check check) {
  const CaseChoice choice = chosenCases();
  int checked = 0;
  for (const auto& [type, recipe] : allRecipes()) {
    const OperationDefinition* definition = definitionOf(type);
    const std::string chosen = choice.prefix.substr(0, choice.prefix.find('/'));
    if (!chosen.empty() && chosen != operationTypeName(type)) continue;
    const auto failures = [] {
      return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
    };
    const int before = failures();
    for (const Variant& variant : variantsOf(definition->signature)) {
      for (unsigned round = 0; round < rounds && failures() == before; ++round) {
        const LegalCase legal = legalCase(*definition, variant, round, choice.seed);
        EXPECT_EQ(legal.problem, "") << legal.id;
        const std::string id = legal.id.substr(0, legal.id.find('@'));
        if (choice.prefix.find('/') != std::string::npos && id != choice.prefix) continue;
        SCOPED_TRACE("repeat with " + legal.text());
        checked += check(*definition, legal) ? 1 : 0;
      }
    }
  }
  if (choice.prefix.empty()) {
    EXPECT_GE(checked, least) << "the property was hardly looked at";
  }
}

}  // namespace halyard::ops::testing
