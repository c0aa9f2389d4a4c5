// Operand tables: specs, presence, and shapes in letters.
#include "ops/operand_table.h"

#include <fmt/ranges.h>

#include <limits>
#include <utility>

#include "ops/operand_checks.h"

namespace halyard::ops {

OperandTable operator+(OperandTable head, const OperandTable& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

std::vector<TypeRow> floatRows(FeatureLevel since) {
  return {{since, {OperandType::TENSOR_FLOAT32, OperandType::FLOAT32}},
          {FeatureLevel::FL3, {OperandType::TENSOR_FLOAT16, OperandType::FLOAT16}}};
}

std::vector<OperandSpec> specsOf(const OperandTable& table) {
  std::vector<OperandSpec> specs;
  for (const OperandRow& row : table) {
    RankRules ranks;
    if (!row.shape.empty() && !row.mayOmit()) ranks = rank(static_cast<uint8_t>(row.shape.size()));
    specs.push_back({row.name, row.column, row.type, std::move(ranks), row.mayOmit()});
    specs.back().rankIsOfComputation = specs.size() > 1;
  }
  return specs;
}

std::string inputText(const OperandTable& table, size_t i) {
  return fmt::format("input {} ({})", i, table[i].name);
}

namespace {

// Returns the error for operand i, whose presence contradicts the parts in `parts`. The error names
// the operand that leads one of them.
Status presenceError(const OperandTable& table, size_t i, bool isPresent, Parts parts) {
  for (size_t leader = 0; leader < table.size(); ++leader) {
    if ((table[leader].leads & parts) == 0) continue;
    return opFailed("{}: has {} value, expected {} as {} has {}", inputText(table, i),
                    isPresent ? "a" : "no", isPresent ? "none" : "one", inputText(table, leader),
                    isPresent ? "none" : "one");
  }
  return opFailed("{}: has no value, but the operation needs it", inputText(table, i));
}

}  // namespace

Status checkPresence(const OperationContext& context, const OperandTable& table, Parts* parts) {
  *parts = 0;
  for (size_t i = 0; i < table.size(); ++i) {
    if (context.hasInput(i)) *parts |= table[i].leads;
  }
  for (size_t i = 0; i < table.size(); ++i) {
    const Parts missing = table[i].needs & ~*parts;
    if (context.hasInput(i) && missing != 0) return presenceError(table, i, true, missing);
  }
  // Operands beyond a shorter list of inputs are not required, because their parts begin beyond it
  // too.
  for (size_t i = 0; i < context.inputCount() && i < table.size(); ++i) {
    const OperandRow& row = table[i];
    if (context.hasInput(i) || row.mayLack || (row.needs & ~*parts) != 0) continue;
    return presenceError(table, i, false, row.needs);
  }
  return okStatus();
}

DimensionSolver::DimensionSolver(bool timeMajor) : timeMajor_(timeMajor) {
  for (size_t i = 0; i < aliases_.size(); ++i) aliases_[i] = static_cast<uint8_t>(i);
}

void DimensionSolver::define(char letter, uint64_t value) { values_[index(letter)] = value; }

void DimensionSolver::equate(char letter, char other) {
  aliases_[static_cast<unsigned char>(letter) & 127] = static_cast<uint8_t>(index(other));
}

std::string DimensionSolver::ordered(std::string_view shape) const {
  std::string result(shape);
  if (!timeMajor_ && result.starts_with("TB")) std::swap(result[0], result[1]);
  return result;
}

std::string DimensionSolver::knownText(std::string_view letters) const {
  std::vector<std::string> sizes;
  for (const char letter : letters) {
    const uint64_t known = (*this)[letter];
    sizes.push_back(known == 0 ? "1 or more" : std::to_string(known));
  }
  return fmt::format("[{}]", fmt::join(sizes, ","));
}

Status DimensionSolver::matchOne(const Tensor& tensor, std::string_view shape) {
  const std::string letters = ordered(shape);
  if (tensor.rank() != letters.size()) {
    return opFailed("has rank {} {}, expected rank {}", tensor.rank(), realShapeText(tensor.dims),
                    letters.size());
  }
  for (size_t d = 0; d < letters.size(); ++d) {
    const uint64_t known = (*this)[letters[d]];
    if (tensor.dims[d] != 0 && (known == 0 || known == tensor.dims[d])) continue;
    return opFailed("has shape {}, expected {}", realShapeText(tensor.dims), knownText(letters));
  }
  for (size_t d = 0; d < letters.size(); ++d) {
    uint64_t& value = values_[index(letters[d])];
    // A letter may occur twice in one shape: a square.
    if (value != 0 && value != tensor.dims[d]) {
      return opFailed("has shape {}, expected all dimensions to be the same",
                      realShapeText(tensor.dims));
    }
    value = tensor.dims[d];
  }
  return okStatus();
}

Status DimensionSolver::match(const OperationContext& context, const OperandTable& table) {
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i].shape.empty() || !context.hasInput(i)) continue;
    HALYARD_RETURN_IF_ERROR(matchOne(context.input(i), table[i].shape), "{}", inputText(table, i));
  }
  return okStatus();
}

Status DimensionSolver::setOutput(OperationContext& context, size_t i, std::string_view name,
                                  std::string_view shape) const {
  Shape dims;
  for (char letter : ordered(shape)) {
    const uint64_t size = (*this)[letter];
    if (size > std::numeric_limits<uint32_t>::max()) {
      return opFailed("output {} ({}) would have a dimension of {}", i, name, size);
    }
    dims.push_back(static_cast<uint32_t>(size));
  }
  context.output(i).dims = std::move(dims);
  return okStatus();
}

Status DimensionSolver::setOutputs(OperationContext& context, const OperandTable& table) const {
  for (size_t i = 0; i < table.size() && i < context.outputCount(); ++i) {
    HALYARD_RETURN_IF_ERROR(setOutput(context, i, table[i].name, table[i].shape));
  }
  return okStatus();
}

}  // namespace halyard::ops
