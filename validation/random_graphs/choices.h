// Which operations random graphs consist of: lines of the signatures' tables.
// Thread safety: pure functions. Ownership: choices point to the definitions, which live for ever.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "ops/operation.h"
#include "ops/testing/legal_case.h"

namespace halyard::random_graphs {

// An operation with one form, row of types, and numbers of operands of its signature.
struct Choice {
  const ops::OperationDefinition* definition = nullptr;
  ops::testing::Variant variant;

  // The type of its first input.
  OperandType mainType() const {
    return ops::testing::tableType(definition->signature, variant, true, 0);
  }
};

// Of every operation that there is, but those that draw at random. `types`: of first inputs; all if
// empty. IF and WHILE come with it as one choice each.
std::vector<Choice> allChoices(const std::set<OperandType>& types = {});

// "float32" for TENSOR_FLOAT32 and so on: the names of types that first inputs have.
Result<std::set<OperandType>> typesFromNames(std::span<const std::string> names);
std::vector<std::string> typeNames();

}  // namespace halyard::random_graphs
