// Node: one operator of the file, for its converter.
// Thread safety: none; used by one import in one thread.
// Ownership: borrows the builder and the file.
//
// A converter reads operands with input(), declares outputs with output(), and adds operations. It
// returns badData for a file that contradicts itself, and unsupported (verified_file.h) for a form
// that NNAPI cannot express. The caller adds the operator and the node's number to the error.
#pragma once

#include <span>
#include <vector>

#include "halyard/driver/status.h"
#include "import/tflite/graph_builder.h"
#include "import/tflite/verified_file.h"

namespace halyard::import {

// The forms that a converter supports besides tensors of the API's types with known shapes. input()
// and output() refuse all others.
using Takes = uint8_t;
inline constexpr Takes kTakesPlain = 0;
// INT64 as TENSOR_INT32. The operator moves, compares or counts with the values, but never makes
// greater ones.
inline constexpr Takes kTakesInt64 = 1;
// COMPLEX64 as pairs of floats.
inline constexpr Takes kTakesComplex = 2;
// Dimensions that are 0 because only an execution knows them.
inline constexpr Takes kTakesOpenDimensions = 4;
// The same, and also a rank that only an execution knows: no dimensions.
inline constexpr Takes kTakesOpenRank = 8 | kTakesOpenDimensions;
// INT8 and UINT8 without a scale: plain integers, which have the scale 1 in the model.
inline constexpr Takes kTakesUnscaled = 16;
// INT16 with a scale. The converter gets the real values as floats, and writes floats.
inline constexpr Takes kTakesInt16 = 32;

// Returns whether scales and zero points are equal. Scales may differ by 1e-5, since converters of
// files compute a shared scale in different ways. That is 0.003 of a step in 255 steps.
bool haveSameQuantization(const Operand& a, const Operand& b);

class Node {
 public:
  Node(GraphBuilder& builder, size_t index, Takes takes)
      : builder_(builder), op_(builder.file().op(index)), takes_(takes) {}

  GraphBuilder& builder() { return builder_; }
  const GraphBuilder& builder() const { return builder_; }
  const Operand& operand(uint32_t index) const { return builder_.operand(index); }
  const FileOperator& op() const { return op_; }

  // Prepares the operator's options for options(). Returns BAD_DATA when they are damaged.
  Status loadOptions();
  // Returns the options of the type that the operator's converter names; nullptr without options.
  // Not for options with a vector or a text: see optionList() and VerifiedFile::optionText.
  template <typename Options>
  const Options* options() const {
    return reinterpret_cast<const Options*>(options_);
  }
  // Returns a vector of the options, if present.
  Result<std::optional<std::span<const int32_t>>> optionList(FlatReader::Field field) const {
    return builder_.file().optionList(op_.options, field);
  }

  // Returns BAD_DATA unless the operator has options of this kind of the newer ones.
  Status expectOptions2(tfl::BuiltinOptions2 expected) const;

  size_t inputCount() const { return op_.inputs.size(); }
  size_t outputCount() const { return op_.outputs.size(); }
  // Returns BAD_DATA unless the operator has this number of inputs and outputs.
  Status expectCounts(size_t minInputs, size_t maxInputs, size_t outputs) const;
  // Returns whether the input is in the list and not omitted (-1).
  bool hasInput(size_t i) const;
  // Returns tensor indices; expectCounts must have checked i. -1: omitted.
  int32_t inputTensor(size_t i) const { return op_.inputs[i]; }
  int32_t outputTensor(size_t i) const { return op_.outputs[i]; }
  Result<FileTensor> inputInfo(size_t i) const;
  Result<FileTensor> outputInfo(size_t i) const;

  // Returns the operand of a required input.
  Result<uint32_t> input(size_t i);
  // `tensor`: the result of inputInfo(i).
  Result<uint32_t> input(size_t i, const FileTensor& tensor);
  // As above, but weights of 8 bits next to float activations become floats.
  Result<uint32_t> floatInput(size_t i);
  Result<uint32_t> floatInput(size_t i, const FileTensor& tensor);
  // Returns the operand of an optional input; `type` is its type when omitted.
  Result<uint32_t> optionalFloatInput(size_t i, OperandType type);
  // Declares an output with the file's type and shape.
  Result<uint32_t> output(size_t i);
  // Appends what the outputs of INT16 need behind the converter's operations.
  Status finish();
  // Returns whether an input that has been read is of INT16.
  bool has16Bits() const { return has16Bits_; }
  // Gives an output the value of an existing operand.
  Status forward(size_t i, uint32_t operand);
  // Returns at most `limit` values of an INT32 or INT64 input that is constant, or follows from
  // shapes.
  Result<std::vector<int32_t>> constantInts(size_t i, std::string_view what, size_t limit) const;
  // Returns the one value of a constant FLOAT32 input, as a scalar operand.
  Result<uint32_t> constantFloat(size_t i, std::string_view what);
  // Returns whether constantInts would find values.
  bool isKnown(size_t i) const;

  // Makes an output's quantisation exactly equal to that of the input that shares it. Returns
  // unsupported when they differ by more than a converter's noise.
  Status shareQuantization(uint32_t output, uint32_t input);
  // As above, for an operation that requires a fixed quantisation of its output.
  Status fixQuantization(uint32_t output, float scale, int32_t zeroPoint);
  bool sameQuantization(uint32_t a, uint32_t b) const;

  // Returns NNAPI's codes (FuseCode, padding scheme).
  static Result<int32_t> fuseCode(tfl::ActivationFunctionType activation);
  static Result<int32_t> paddingCode(tfl::Padding padding);

  // Returns `axis` counted from the front of `rank` dimensions.
  static Result<size_t> normalizedAxis(int32_t axis, size_t rank);

  // Appends `type` of x, followed by `rest`, in float. Quantised values are converted to
  // TENSOR_FLOAT32 and back, which rounds the result once. For operations that NNAPI supports only
  // in float, or not with that quantisation.
  Status applyInFloat(OperationType type, uint32_t x, OperandIndexes rest, uint32_t y);
  // Appends a * b with a fused activation, usually as NNAPI's MUL. In 8 bits it uses QUANTIZED_MUL
  // of kTfliteExtension if the output is as fine as the product of the scales.
  Status multiply(uint32_t a, uint32_t b, uint32_t activation, uint32_t y);
  // Adds an operand with the type and quantisation of `like`. Its dimensions are inferred later.
  Result<uint32_t> temporaryLike(uint32_t like, std::string_view what);
  // Returns the value of an operand of 8 or 16 bits as TENSOR_FLOAT32, in a temporary.
  Result<uint32_t> dequantized(uint32_t operand);
  // Writes a TENSOR_FLOAT32 operand to a quantised one.
  Status quantize(uint32_t from, uint32_t to);
  // Copies elements in order into `to`. At most one of its dimensions is unknown.
  Status reshape(uint32_t from, uint32_t to);
  // Gives an output the dimensions that the operator produces, 0 for unknown ones. Returns BAD_DATA
  // when the file has others.
  Status declareShape(uint32_t output, Shape dims);
  // Calls reshape() for an operator that produces these dimensions.
  Status reshapeAs(uint32_t from, Shape dims, uint32_t to);
  // As above, into a new temporary of these dimensions with the quantisation of `from`.
  Result<uint32_t> reshapedTo(uint32_t from, Shape dims);

 private:
  std::string textOf(int32_t tensor) const;
  // Checks whether the converter supports a tensor's type and the shape of its operand.
  Status checkForm(int32_t tensor, uint32_t operand) const;
  Status checkTaken(int32_t tensor, uint32_t operand) const;
  Status checkScaled(int32_t tensor, uint32_t operand) const;
  // Returns the operand of a checked input, or its floats if it is of INT16.
  Result<uint32_t> asInput(int32_t tensor, uint32_t operand);

  // An output of INT16 and the floats that the converter writes instead.
  struct Output16 {
    uint32_t real, operand;
  };

  // Larger than the vtable and table of any options together.
  static constexpr size_t kOptionsCopy = 512;

  GraphBuilder& builder_;
  const FileOperator& op_;
  const Takes takes_;
  bool has16Bits_ = false;
  std::vector<Output16> outputs16_;
  const uint8_t* options_ = nullptr;  // in copy_
  alignas(8) uint8_t copy_[kOptionsCopy];
};

}  // namespace halyard::import
