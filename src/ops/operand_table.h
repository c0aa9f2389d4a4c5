// OperandTable: the operands of an operation with many of them, as rows: name, type, shape in
// letters, and when it may or must be omitted. From it come the signature's specs, the checks of
// presence and shape at execution, and the shapes of outputs.
// Thread safety: tables are immutable once built; DimensionSolver belongs to one thread.
// Ownership: a table owns its names; the OperandSpecs made from it point there, so it must be
// static.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/status.h"
#include "ops/operation.h"
#include "model/signature.h"

namespace halyard::ops {

// Parts of an operation that are there or not, one bit each. A part is on when the operand that
// leads it (OperandRow::leads) has a value.
using Parts = uint32_t;

struct OperandRow {
  std::string name;
  // One letter for each dimension, the same letter for the same size; empty for a scalar, and for
  // an output whose shape varies.
  std::string shape;
  int column = 0;  // of the signature's type rows; -1: `type` counts
  OperandType type = OperandType::TENSOR_FLOAT32;
  Parts needs = 0;       // stands only together with all of these parts
  Parts leads = 0;       // turns on this part
  bool mayLack = false;  // may be omitted even though the parts it needs are on
  bool mayOmit() const { return needs != 0 || mayLack; }
};

// Rows for what stands in tables most: a tensor of the main type, in column 0, and scalars.
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

// Type rows for tables of floating point: the tensors in column 0, real scalars in column 1.
std::vector<TypeRow> floatRows(FeatureLevel since);

// For Form::inputs and Signature::outputs. Operands that may be omitted have no rank rule: their
// dimensions mean nothing unless they have a value. Only the first one's binds a model; of the
// others, computing finds what does not fit.
std::vector<OperandSpec> specsOf(const OperandTable& table);

// "input 5 (recurrent_to_input_weights)".
std::string inputText(const OperandTable& table, size_t i);

// Which parts are on, after checking that each operand has a value exactly when its row says so.
Status checkPresence(const OperationContext& context, const OperandTable& table, Parts* parts);

// Finds the size behind each letter from the operands' shapes and checks that all agree.
class DimensionSolver {
 public:
  // Unless `timeMajor`, shapes that start with TB are stored with these two dimensions swapped.
  explicit DimensionSolver(bool timeMajor = true);
  void define(char letter, uint64_t value);
  // From here on `letter` means what `other` means.
  void equate(char letter, char other);
  // All inputs that have values against their rows. The first operand that has a letter sets it.
  Status match(const OperationContext& context, const OperandTable& table);
  uint64_t operator[](char letter) const { return values_[index(letter)]; }
  // Gives output i this shape; fails where a size does not fit an operand's dimension.
  Status setOutput(OperationContext& context, size_t i, std::string_view name,
                   std::string_view shape) const;
  // All outputs by their rows.
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
