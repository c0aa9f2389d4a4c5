// OperandTable: the operands of an operation with many of them, as rows. A row has a name, a type,
// a shape in letters, and rules for omission. The table gives the signature's specs, the checks of
// presence and shape at execution, and the shapes of outputs.
// Thread safety: tables are immutable once built; DimensionSolver belongs to one thread.
// Ownership: a table owns its names. OperandSpecs made from it point to them, so it must be static.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/status.h"
#include "model/signature.h"
#include "ops/operation.h"

namespace halyard::ops {

// Optional parts of an operation, one bit each. A part is on when the operand that leads it
// (OperandRow::leads) has a value.
using Parts = uint32_t;

struct OperandRow {
  std::string name;
  // One letter for each dimension, the same letter for the same size. Empty for a scalar, and for
  // an output with a variable shape.
  std::string shape;
  int column = 0;  // column of the signature's type rows; -1: `type` applies
  OperandType type = OperandType::TENSOR_FLOAT32;
  Parts needs = 0;       // present only together with all of these parts
  Parts leads = 0;       // its presence turns on this part
  bool mayLack = false;  // may be omitted even if the parts it needs are on
  bool mayOmit() const { return needs != 0 || mayLack; }
};

// Makes the most frequent rows: a tensor of the main type, in column 0, and scalars.
inline OperandRow tensorRow(std::string name, std::string shape) {
  return {std::move(name), std::move(shape), 0, OperandType::TENSOR_FLOAT32, 0, 0, false};
}
inline OperandRow fixedRow(std::string name, std::string shape, OperandType type) {
  return {std::move(name), std::move(shape), -1, type, 0, 0, false};
}
// A real scalar of the main type's precision, in column 1.
inline OperandRow realRow(std::string name) {
  return {std::move(name), "", 1, OperandType::FLOAT32, 0, 0, false};
}

using OperandTable = std::vector<OperandRow>;
OperandTable operator+(OperandTable head, const OperandTable& tail);

// Returns type rows for floating-point tables: the tensors in column 0, real scalars in column 1.
std::vector<TypeRow> floatRows(FeatureLevel since);

// Returns specs for Form::inputs and Signature::outputs. Operands that may be omitted have no rank
// rule, because their dimensions have no meaning without a value. Of the other rules, only the one
// of the first operand restricts a model. The computation checks the rest.
std::vector<OperandSpec> specsOf(const OperandTable& table);

// Returns a text such as "input 5 (recurrent_to_input_weights)".
std::string inputText(const OperandTable& table, size_t i);

// Returns the parts that are on. Checks that each operand has a value exactly when its row says so.
Status checkPresence(const OperationContext& context, const OperandTable& table, Parts* parts);

// Finds the size of each letter from the operands' shapes and checks that all agree.
class DimensionSolver {
 public:
  // Unless `timeMajor`, shapes that start with TB are stored with these two dimensions swapped.
  explicit DimensionSolver(bool timeMajor = true);
  void define(char letter, uint64_t value);
  // From now on `letter` means the same as `other`.
  void equate(char letter, char other);
  // Compares all inputs with values with their rows. The first operand with a letter sets its size.
  Status match(const OperationContext& context, const OperandTable& table);
  uint64_t operator[](char letter) const { return values_[index(letter)]; }
  // Gives output i this shape. Fails if a size does not fit an operand's dimension.
  Status setOutput(OperationContext& context, size_t i, std::string_view name,
                   std::string_view shape) const;
  // Sets all outputs from their rows.
  Status setOutputs(OperationContext& context, const OperandTable& table) const;

 private:
  size_t index(char letter) const { return aliases_[static_cast<unsigned char>(letter) & 127]; }
  std::string ordered(std::string_view shape) const;
  std::string knownText(std::string_view letters) const;
  Status matchOne(const Tensor& tensor, std::string_view shape);

  bool timeMajor_;
  std::array<uint8_t, 128> aliases_{};
  std::array<uint64_t, 128> values_{};  // 0: not known
};

}  // namespace halyard::ops
