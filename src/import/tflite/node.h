// Node: one operator of the file in the hands of its converter.
// Thread safety: none; used by one import in one thread.
// Ownership: borrows the builder and the file.
//
// A converter reads operands with input(), declares outputs with output(), and adds operations. It
// returns badData for a file that contradicts itself and unsupported (verified_file.h) for what
// NNAPI cannot express; the operator and the node's number are added on the way up.
#pragma once

#include <span>
#include <vector>

#include "halyard/driver/status.h"
#include "import/tflite/graph_builder.h"
#include "import/tflite/verified_file.h"

namespace halyard::import {

// What a converter deals with beyond tensors of the API's types whose shapes are known: input() and
// output() refuse all else.
using Takes = uint8_t;
inline constexpr Takes kTakesPlain = 0;
// INT64 as TENSOR_INT32. The operator moves, compares or counts with the values, but makes no
// greater ones of them.
inline constexpr Takes kTakesInt64 = 1;
// COMPLEX64 as pairs of floats side by side.
inline constexpr Takes kTakesComplex = 2;
// Dimensions that are 0 since only an execution knows them.
inline constexpr Takes kTakesOpenDimensions = 4;
// And a rank that only an execution knows: no dimensions.
inline constexpr Takes kTakesOpenRank = 8 | kTakesOpenDimensions;

class Node {
 public:
  Node(GraphBuilder& builder, size_t index, Takes takes)
      : builder_(builder), op_(builder.file().op(index)), takes_(takes) {}

  GraphBuilder& builder() { return builder_; }
  const Operand& operand(uint32_t index) const { return builder_.operand(index); }
  const FileOperator& op() const { return op_; }

  // Makes the operator's options ready for options(). BAD_DATA when they are damaged.
  Status loadOptions();
  // Of the type that the operator's converter names, and ready; nullptr if there are none. Not
  // those that have a vector: see optionList().
  template <typename Options>
  const Options* options() const {
    return reinterpret_cast<const Options*>(options_);
  }
  // A vector in the options, if it is there.
  Result<std::optional<std::span<const int32_t>>> optionList(FlatReader::Field field) const {
    return builder_.file().optionList(op_.options, field);
  }

  size_t inputCount() const { return op_.inputs.size(); }
  size_t outputCount() const { return op_.outputs.size(); }
  // BAD_DATA unless the operator has that many of both.
  Status expectCounts(size_t minInputs, size_t maxInputs, size_t outputs) const;
  // In the list and not left out (-1).
  bool hasInput(size_t i) const;
  // Tensor indices; i has been checked by expectCounts. -1: left out.
  int32_t inputTensor(size_t i) const { return op_.inputs[i]; }
  int32_t outputTensor(size_t i) const { return op_.outputs[i]; }
  Result<FileTensor> inputInfo(size_t i) const;
  Result<FileTensor> outputInfo(size_t i) const;

  // The operand of an input that the operator needs.
  Result<uint32_t> input(size_t i);
  // `tensor`: what inputInfo(i) gives.
  Result<uint32_t> input(size_t i, const FileTensor& tensor);
  // As above, where weights of 8 bits next to float activations become floats.
  Result<uint32_t> floatInput(size_t i);
  Result<uint32_t> floatInput(size_t i, const FileTensor& tensor);
  // The operand of an input that may be left out; `type` is what it would have.
  Result<uint32_t> optionalFloatInput(size_t i, OperandType type);
  // Declares an output with the file's type and shape.
  Result<uint32_t> output(size_t i);
  // Gives an output a value that exists already.
  Status forward(size_t i, uint32_t operand);
  // The values of an input of INT32 or INT64 that is constant, or follows from shapes, at most
  // `limit` of them.
  Result<std::vector<int32_t>> constantInts(size_t i, std::string_view what, size_t limit) const;
  // Whether constantInts would find values.
  bool isKnown(size_t i) const;

  // Makes an output's quantisation exactly that of the input that it shares it with; unsupported
  // when they differ by more than the noise of a converter.
  Status shareQuantization(uint32_t output, uint32_t input);
  // As above for an operation that dictates the quantisation of its output.
  Status fixQuantization(uint32_t output, float scale, int32_t zeroPoint);
  bool sameQuantization(uint32_t a, uint32_t b) const;

  // NNAPI's codes (FuseCode, padding scheme).
  static Result<int32_t> fuseCode(tfl::ActivationFunctionType activation);
  static Result<int32_t> paddingCode(tfl::Padding padding);

  // `axis` counted from the front of `rank` dimensions.
  static Result<size_t> normalizedAxis(int32_t axis, size_t rank);

  // Appends `type` of x (and what follows it in the inputs) in float: quantised values pass through
  // TENSOR_FLOAT32 on both sides, which rounds the result once. For operations that NNAPI has in
  // float only, or not with that quantisation.
  Status applyInFloat(OperationType type, uint32_t x, OperandIndexes rest, uint32_t y);
  // Appends a * b with a fused activation: by NNAPI's MUL, or in 8 bits by QUANTIZED_MUL of
  // kTfliteExtension where the output is as fine as the product of the scales.
  Status multiply(uint32_t a, uint32_t b, uint32_t activation, uint32_t y);
  // A new operand of the type and quantisation of `like`, its dimensions to be inferred.
  Result<uint32_t> temporaryLike(uint32_t like, std::string_view what);
  // The value of a quantised operand in TENSOR_FLOAT32, through a temporary.
  Result<uint32_t> dequantized(uint32_t operand);
  // Writes a TENSOR_FLOAT32 operand to a quantised one.
  Status quantize(uint32_t from, uint32_t to);
  // Copies elements in order into `to`, whose dimensions are known but for one.
  Status reshape(uint32_t from, uint32_t to);
  // Gives an output the dimensions that the operator makes, 0 for those that are not known.
  // BAD_DATA when the file has others.
  Status declareShape(uint32_t output, Shape dims);
  // reshape() where the operator makes these dimensions.
  Status reshapeAs(uint32_t from, Shape dims, uint32_t to);
  // As above into a new temporary of these dimensions, with the quantisation of `from`.
  Result<uint32_t> reshapedTo(uint32_t from, Shape dims);

 private:
  std::string textOf(int32_t tensor) const;
  // Whether the converter takes a tensor's type, and the shape of its operand.
  Status checkForm(int32_t tensor) const;
  Status checkTaken(int32_t tensor, uint32_t operand) const;

  // More than any options' vtable and table take together.
  static constexpr size_t kOptionsCopy = 512;

  GraphBuilder& builder_;
  const FileOperator& op_;
  const Takes takes_;
  const uint8_t* options_ = nullptr;  // in copy_
  alignas(8) uint8_t copy_[kOptionsCopy];
};

}  // namespace halyard::import
