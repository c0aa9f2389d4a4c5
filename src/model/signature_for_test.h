// The feature level that one call of an operation needs. Tests of an operation's special rules use
// it. model/signature_test.cc tests the rules that all operations share.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "model/signature.h"
#include "ops/operation.h"

namespace halyard::ops::testing {

// An operand's type and rank. Scalars ignore the rank.
using TypeAndRank = std::pair<OperandType, size_t>;

// Returns the level as a number. `lastValue`, if any, is the constant value of the last input.
inline int levelNeeded(OperationType type, const std::vector<TypeAndRank>& inputs,
                       const TypeAndRank& output, const int32_t* lastValue = nullptr) {
  Model model;
  Operation operation;
  operation.type = type;
  const auto add = [&](const TypeAndRank& typeAndRank) {
    Operand operand;
    operand.type = typeAndRank.first;
    if (!isScalarType(operand.type)) operand.dimensions.assign(typeAndRank.second, 2);
    model.main.operands.push_back(operand);
    return static_cast<uint32_t>(model.main.operands.size() - 1);
  };
  for (const TypeAndRank& input : inputs) operation.inputs.push_back(add(input));
  operation.outputs.push_back(add(output));
  if (lastValue != nullptr) {
    Operand& last = model.main.operands[operation.inputs.back()];
    last.lifetime = Lifetime::CONSTANT_COPY;
    last.location = appendConstant(model, lastValue, sizeof(*lastValue));
  }
  const Result<FeatureLevel> level =
      checkSignature(definitionOf(type)->signature, OperationView(model, model.main, operation));
  EXPECT_TRUE(level.ok()) << level.status().toString();
  return level.ok() ? static_cast<int>(*level) : 0;
}

}  // namespace halyard::ops::testing
