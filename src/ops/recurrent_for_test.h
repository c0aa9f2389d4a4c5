// Code shared by tests of recurrent operations: cells as plain loops over real numbers, and feature
// levels of signatures.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include "ops/naive_for_test.h"
#include "ops/testing/test_operand.h"

namespace halyard::ops::testing {

using Reals = std::vector<double>;

// Returns an empty list for an omitted operand.
inline Reals realsOf(const TestOperand& operand) {
  return operand.tensor.omitted ? Reals{} : realValues(operand);
}

inline double recurrentActivation(int code, double x) {
  if (code == 4) return std::tanh(x);
  if (code == 6) return 1 / (1 + std::exp(-x));
  return activated(x, static_cast<FuseCode>(code));
}

// out[r] += matrix[r] . vector, for each row of the matrix.
inline void addProduct(const Reals& matrix, const Reals& vector, Reals& out) {
  for (size_t i = 0; i < matrix.size(); ++i) {
    out[i / vector.size()] += matrix[i] * vector[i % vector.size()];
  }
}

// Element k of a tensor's row at (step, b); `timeMajor` tells which dimension comes first.
struct StepView {
  size_t steps, batch, size;
  bool timeMajor;
  size_t at(size_t step, size_t b) const {
    return (timeMajor ? step * batch + b : b * steps + step) * size;
  }
  Reals row(const Reals& values, size_t step, size_t b) const {
    const auto first = values.begin() + static_cast<ptrdiff_t>(at(step, b));
    return {first, first + static_cast<ptrdiff_t>(size)};
  }
};

// Returns the operation's feature level with inputs of type row `row`, these numbers of inputs and
// outputs, and no values for the inputs at `omitted`. 0: refused.
inline int recurrentLevel(OperationType type, size_t row, size_t inputs, size_t outputs,
                          const std::set<size_t>& omitted = {}) {
  const Signature& signature = definitionOf(type)->signature;
  Model model;
  Operation operation;
  operation.type = type;
  const auto add = [&](const OperandSpec& spec, OperandIndexes& list) {
    Operand operand;
    operand.type =
        spec.column < 0 ? spec.fixed : signature.rows[row].types[static_cast<size_t>(spec.column)];
    list.push_back(static_cast<uint32_t>(model.main.operands.size()));
    model.main.operands.push_back(operand);
  };
  for (size_t i = 0; i < inputs; ++i) {
    add(signature.forms[0].inputs[i], operation.inputs);
    if (omitted.count(i) > 0) model.main.operands.back().lifetime = Lifetime::NO_VALUE;
  }
  for (size_t i = 0; i < outputs; ++i) add(signature.outputs[i], operation.outputs);
  model.main.operations = {operation};
  const Result<FeatureLevel> level =
      checkSignature(signature, OperationView(model, model.main, model.main.operations[0]));
  return level.ok() ? static_cast<int>(*level) : 0;
}

}  // namespace halyard::ops::testing
