// Choices: the operations of random graphs, taken from the rows of the signatures' tables.
// Thread safety: pure functions.
// Ownership: choices point to the definitions, which are static.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "ops/operation.h"
#include "ops/testing/legal_case.h"

namespace halyard::random_graphs {

// An operation with one form, one row of types, and numbers of operands of its signature.
struct Choice {
  const ops::OperationDefinition* definition = nullptr;
  ops::testing::Variant variant;

  // The type of its first input.
  OperandType mainType() const {
    return ops::testing::tableType(definition->signature, variant, true, 0);
  }
};

// The choices of every operation, except those with random results. `types`: the types of first
// inputs; all if empty. IF and WHILE are included as one choice each.
std::vector<Choice> allChoices(const std::set<OperandType>& types = {});

// The names of the types that first inputs have, such as "float32" for TENSOR_FLOAT32.
Result<std::set<OperandType>> typesFromNames(std::span<const std::string> names);
std::vector<std::string> typeNames();

}  // namespace halyard::random_graphs
