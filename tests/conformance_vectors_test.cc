// Every conformance vector whose operations are all defined, in every variant of the HAL, on the
// CPU device in this process. The vectors are not part of the project: see ../shared/conformance
// beside it. `halyard conformance` runs the same cases in processes of their own and through the
// API.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>

#include "conformance/case_source.h"
#include "conformance/hal_target.h"
#include "conformance/runner.h"
#include "cpu/cpu_device.h"
#include "model/validation.h"
#include "ops/operation.h"

namespace halyard {
namespace {

using conformance::CaseResult;
using conformance::Outcome;
using conformance::Variant;
using conformance::VectorCase;

const std::string kFolder = HALYARD_SOURCE_DIR "/../shared/conformance";

// The first operation of the case that has no definition yet.
std::optional<OperationType> pendingOperation(const VectorCase& vectorCase) {
  std::vector<const Subgraph*> subgraphs{&vectorCase.model.main};
  for (const Subgraph& subgraph : vectorCase.model.referenced) subgraphs.push_back(&subgraph);
  for (const Subgraph* subgraph : subgraphs) {
    for (const Operation& operation : subgraph->operations) {
      if (ops::definitionOf(operation.type) == nullptr) return operation.type;
    }
  }
  return std::nullopt;
}

// The level that the case says its model needs; nullopt when it does not say.
std::optional<FeatureLevel> statedLevel(const VectorCase& vectorCase) {
  if (vectorCase.hal == "2.1") return FeatureLevel::FL6;
  if (vectorCase.hal == "2.2") return FeatureLevel::FL7;
  if (const auto version = halVersionFromName(vectorCase.hal)) return featureLevelOf(*version);
  return std::nullopt;
}

// Whether an operation's last input is a constant that may be a default. The level in the file is
// that of the model without trailing defaults, which a runtime leaves out before it asks a driver.
bool mayEndWithDefaults(const Model& model) {
  return std::any_of(model.main.operations.begin(), model.main.operations.end(),
                     [&](const Operation& operation) {
                       if (operation.inputs.empty()) return false;
                       const Operand& last = model.main.operands[operation.inputs.back()];
                       if (last.lifetime != Lifetime::CONSTANT_COPY) return false;
                       const uint8_t* bytes = model.operandValues.data() + last.location.offset;
                       if (last.type == OperandType::BOOL) return *bytes == 0;
                       if (last.type != OperandType::INT32) return false;
                       int32_t value;
                       std::memcpy(&value, bytes, sizeof(value));
                       return value == 1 || value == -1;
                     });
}

// What validation finds that a model needs is what its file says.
Status checkLevel(const VectorCase& vectorCase) {
  const auto stated = statedLevel(vectorCase);
  if (vectorCase.expectFailure || !stated || mayEndWithDefaults(vectorCase.model)) {
    return okStatus();
  }
  HALYARD_ASSIGN_OR_RETURN(const FeatureLevel level, validateModel(vectorCase.model));
  if (level == *stated) return okStatus();
  return opFailed("needs {}, but the file says {}", featureLevelName(level),
                  featureLevelName(*stated));
}

// Calls `check` with each case in reach.
void forEachCase(const std::function<void(const std::string& where, const VectorCase&)>& check) {
  if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << "no conformance vectors in " << kFolder;
  auto files = conformance::findVectorFiles({kFolder});
  ASSERT_TRUE(files.ok()) << files.status().toString();
  conformance::CaseSource source(std::move(files).value(), {});
  size_t cases = 0;
  size_t outOfReach = 0;
  std::map<std::string, size_t> pending;
  while (const auto found = source.next()) {
    ASSERT_TRUE(found->error.ok()) << found->error.toString();
    const auto vectorCase = conformance::parseVectorCase(found->text);
    ASSERT_TRUE(vectorCase.ok()) << vectorCase.status().toString();
    if (const auto type = pendingOperation(*vectorCase)) {
      ++outOfReach;
      ++pending[operationTypeName(*type)];
      continue;
    }
    ++cases;
    check(fmt::format("{}:{} {}", found->file, found->line, found->name), *vectorCase);
  }
  std::cout << cases << " cases, " << outOfReach << " out of reach";
  for (const auto& [name, count] : pending) {
    std::cout << (name == pending.begin()->first ? " (operations pending: " : ", ") << name << " "
              << count;
  }
  std::cout << (pending.empty() ? "\n" : ")\n");
  EXPECT_GT(cases, 0u);
}

TEST(ConformanceVectors, NeedTheLevelThatTheyState) {
  forEachCase([](const std::string& where, const VectorCase& vectorCase) {
    const Status status = checkLevel(vectorCase);
    EXPECT_TRUE(status.ok()) << where << ": " << status.message();
  });
}

class ConformanceVariants : public testing::TestWithParam<Variant> {};

TEST_P(ConformanceVariants, AllPass) {
  const auto target = conformance::makeHalTarget(cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 3));
  forEachCase([&](const std::string& where, const VectorCase& vectorCase) {
    const CaseResult result = conformance::runCase(*target, vectorCase, GetParam());
    // What internal-inputs inserts may be pending itself.
    if (result.reason.find("this version of Halyard does not have") != std::string::npos) return;
    EXPECT_EQ(result.outcome, Outcome::PASSED)
        << where << ": " << outcomeName(result.outcome) << ": " << result.reason;
  });
}

std::vector<Variant> variantsOfTheHal() {
  std::vector<Variant> variants;
  for (const conformance::VariantTraits& traits : conformance::allVariants()) {
    if (traits.launch == conformance::Launch::COMPUTE) variants.push_back(traits.variant);
  }
  return variants;
}

INSTANTIATE_TEST_SUITE_P(Hal, ConformanceVariants, testing::ValuesIn(variantsOfTheHal()),
                         [](const auto& param) {
                           std::string name(conformance::traitsOf(param.param).name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace halyard
