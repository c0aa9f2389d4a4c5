// The table of the TFLite operators that the importer converts.
// Thread safety: pure functions over constant tables.
// Ownership: none; the tables are static.
#pragma once

#include <span>
#include <utility>

#include "halyard/driver/status.h"
#include "import/tflite/node.h"

namespace halyard::import {

enum class OptionsNeed : uint8_t { REQUIRED, OPTIONAL };
inline constexpr OptionsNeed kNeeds = OptionsNeed::REQUIRED;
inline constexpr OptionsNeed kMayLack = OptionsNeed::OPTIONAL;

struct Converter {
  tfl::BuiltinOperator op;
  tfl::BuiltinOptions options;  // NONE: the operator has none
  OptionsNeed need;
  Status (*convert)(Node& node);
  Takes takes = kTakesPlain;
};

std::span<const Converter> complexConverters();
std::span<const Converter> controlFlowConverters();
std::span<const Converter> convolutionConverters();
std::span<const Converter> detectionConverters();
std::span<const Converter> elementwiseConverters();
std::span<const Converter> generatedConverters();
std::span<const Converter> mathConverters();
std::span<const Converter> movementConverters();
std::span<const Converter> pickingConverters();
std::span<const Converter> quantizationConverters();
std::span<const Converter> recurrentConverters();
std::span<const Converter> reductionConverters();
std::span<const Converter> rnnConverters();
std::span<const Converter> scatterConverters();
std::span<const Converter> shapeConverters();
std::span<const Converter> spatialConverters();
std::span<const Converter> stablehloConverters();
std::span<const Converter> variableConverters();
std::span<const Converter> volumeConverters();

// The converter of a builtin operator; null if the importer has none.
const Converter* converterOf(tfl::BuiltinOperator op);

// Converts all operators of the builder's subgraph.
Status convertGraph(GraphBuilder& builder);

// A custom operator. Its options are bytes in a layout of its own.
struct CustomConverter {
  std::string_view name;
  Status (*convert)(Node& node);
};
// The converter of the custom operator of this name; null if the importer has none.
const CustomConverter* customConverterOf(std::string_view name);

Status convertDetectionPostprocess(Node& node);  // TFLite_Detection_PostProcess
Status convertTransposeConvBias(Node& node);     // MediaPipe's Convolution2DTransposeBias

// Converts operations that NNAPI supports directly: inputs in order, and any quantisation of the
// output.
template <OperationType kType, size_t kInputs>
Status convertPlain(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(kInputs, kInputs, 1));
  OperandIndexes inputs;
  for (size_t i = 0; i < kInputs; ++i) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(i));
    inputs.push_back(x);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(kType, std::move(inputs), {y});
}

inline bool isFloat(OperandType type) {
  return type == OperandType::TENSOR_FLOAT32 || type == OperandType::TENSOR_FLOAT16;
}

// A cast from or to complex numbers. As in TensorFlow Lite, the real part becomes a real number.
Status castComplex(Node& node);

// Returns the bytes of a constant of INT4, one for each element. The file has two in a byte, the
// first one in the low half.
Result<std::span<const uint8_t>> unpackedNibbles(GraphBuilder& builder, const FileTensor& tensor);
// Adds a constant with the data of `tensor`, of INT4 as bytes.
Result<uint32_t> addStored(GraphBuilder& builder, Operand operand, const FileTensor& tensor);
// Returns the value of a quantised or float16 constant as TENSOR_FLOAT32. The result is a constant,
// or the output of a DEQUANTIZE or CAST of one. With that, weights stay as in the file, for devices
// that have kTfliteExtension: they compute such constants once.
Result<uint32_t> foldedToFloat(GraphBuilder& builder, const FileTensor& tensor);

// Returns the state of a recurrent layer: zeros for a variable, otherwise input i.
Result<uint32_t> initialFloatState(Node& node, size_t i);
// Makes the operand `after` the value of the variable of input i after an execution. Does nothing
// for StateUse::FIRST_VALUES, or if the input is no variable.
Status keepState(Node& node, size_t i, uint32_t after);
// Gives output i of the node the value of an operand, which must have its type and shape.
Status giveResult(Node& node, size_t i, uint32_t operand);
// Gives variables of resources their first values, which the subgraph assigns from constants.
Status takeFirstValues(GraphBuilder& builder, const VerifiedFile& subgraph);
// Returns NNAPI's code for the activation of a recurrent layer.
Result<int32_t> cellActivation(tfl::ActivationFunctionType activation);

// Appends a reduction of TENSOR_INT32 along the axes of input 1, which NNAPI has only for floats.
// `type` is an operation of kTfliteExtension that combines segments.
Status reduceIntegers(Node& node, OperationType type, uint32_t x, uint32_t y);
// Returns the number of elements of x that such a reduction makes one. 0: only an execution knows.
Result<size_t> reducedCount(const Node& node, uint32_t x);

// Returns whether TFLite uses dynamic-range quantisation for these operands; see
// dynamic_quantization.cc.
bool isDynamicallyQuantized(const Node& node, uint32_t x, const FileTensor& weights);
// Returns x rounded to the steps of its own range, as dynamic-range quantisation does. Elements
// that differ only in the dimensions from `axis` on share a range.
Result<uint32_t> dynamicallyQuantized(Node& node, uint32_t x, size_t axis);

}  // namespace halyard::import
