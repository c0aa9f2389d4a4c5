// Converts convolutions and fully connected layers: filters, biases, and their quantisation.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/first_index.h"
#include "import/tflite/converters.h"

namespace halyard::import {
namespace {

// The allowed distance between the scale of a bias and the scale of the products, in steps of the
// output. It is the limit of TFLite's own check.
constexpr double kBiasScaleSlack = 0.02;

tfl::TensorType floatTypeOf(OperandType type) {
  return type == OperandType::TENSOR_FLOAT16 ? tfl::TensorType::FLOAT16 : tfl::TensorType::FLOAT32;
}

bool isPerChannel(const FileTensor& tensor) { return tensor.scales.size() > 1; }

Status checkSymmetric(const FileTensor& tensor) {
  const ZeroPoints points = tensor.zeroPoints;
  int64_t any = 0;
  for (size_t i = 0; i < points.size(); ++i) any |= points[i];
  if (any == 0) return okStatus();
  size_t bad = 0;
  while (points[bad] == 0) ++bad;
  return badData("{} has zero point {} at {}, an INT8 filter has 0", tensor.text(), points[bad],
                 bad);
}

// Returns the constant of INT4 with one scale as TENSOR_QUANT8_ASYMM_SIGNED.
Result<uint32_t> wholeFilterOf4Bits(Node& node, const FileTensor& tensor) {
  if (tensor.scales.size() != 1 || !(tensor.scales[0] > 0)) {
    return badData("{} has no positive scale", tensor.text());
  }
  Operand operand;
  operand.type = OperandType::TENSOR_QUANT8_ASYMM_SIGNED;
  operand.dimensions = tensor.dims;
  operand.scale = tensor.scales[0];
  return addStored(node.builder(), std::move(operand), tensor);
}

// Adds a TENSOR_QUANT8_SYMM_PER_CHANNEL operand of these dimensions with the data of `tensor`.
Result<uint32_t> addPerChannelFilter(Node& node, const FileTensor& tensor, Shape dims,
                                     uint32_t channelDim) {
  if (tensor.type != tfl::TensorType::INT8 && tensor.type != tfl::TensorType::INT4) {
    return unsupported("{} is {} with a scale per channel, only INT8 and INT4 may be so",
                       tensor.text(), tensorTypeName(tensor.type));
  }
  if (!tensor.isConstant()) {
    return unsupported("{} has a scale per channel but is no constant", tensor.text());
  }
  HALYARD_RETURN_IF_ERROR(checkSymmetric(tensor));
  HALYARD_RETURN_IF_ERROR(node.builder().spend(tensor.scales.size_bytes()));
  SymmPerChannelQuantParams quant{{tensor.scales.begin(), tensor.scales.end()}, channelDim};
  const std::span<const float> scales = tensor.scales;
  const size_t bad = firstIndex(scales.size(), [scales](size_t i) { return !(scales[i] > 0); });
  if (bad < scales.size()) {
    return badData("{} has scale {} at {}, expected a positive number", tensor.text(), scales[bad],
                   bad);
  }
  Operand operand;
  operand.type = OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL;
  operand.dimensions = std::move(dims);
  operand.extraParams = std::move(quant);
  return addStored(node.builder(), std::move(operand), tensor);
}

// Refuses activations and weights of different kinds, except for dynamic-range quantisation.
Status refuseMixture(const Node& node, uint32_t x, const FileTensor& weights) {
  const OperandType type = node.operand(x).type;
  const bool floatWeights =
      weights.type == tfl::TensorType::FLOAT32 || weights.type == tfl::TensorType::FLOAT16;
  if (isFloat(type) == floatWeights || isDynamicallyQuantized(node, x, weights)) {
    return okStatus();
  }
  if (node.has16Bits() && weights.isConstant() && weights.type == tfl::TensorType::INT8) {
    return checkSymmetric(weights);
  }
  return unsupported("{} activations with {} weights ({})",
                     node.has16Bits() ? "INT16" : operandTypeName(type),
                     tensorTypeName(weights.type), weights.text());
}

// Returns the filter in input 1, which is `tensor`. Its output channels lie along `channelDim`.
Result<uint32_t> filter(Node& node, uint32_t x, const FileTensor& tensor, uint32_t channelDim) {
  HALYARD_RETURN_IF_ERROR(refuseMixture(node, x, tensor));
  if (isFloat(node.operand(x).type)) return node.floatInput(1, tensor);
  const bool is4Bits = tensor.type == tfl::TensorType::INT4 && tensor.isConstant();
  if (!isPerChannel(tensor)) {
    if (is4Bits || tensor.type == tfl::TensorType::INT8) {
      HALYARD_RETURN_IF_ERROR(checkSymmetric(tensor));
    }
    return is4Bits ? wholeFilterOf4Bits(node, tensor) : node.input(1, tensor);
  }
  if (tensor.quantizedDimension != static_cast<int32_t>(channelDim)) {
    return unsupported("{} has its scales along dimension {}, expected {}", tensor.text(),
                       tensor.quantizedDimension, channelDim);
  }
  if (const std::optional<uint32_t> known = node.builder().known(tensor.index)) return *known;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t operand,
                           addPerChannelFilter(node, tensor, tensor.dims, channelDim));
  HALYARD_RETURN_IF_ERROR(node.builder().bind(tensor, operand));
  return operand;
}

// Returns the type and scale that NNAPI requires for the bias of input x and filter f.
Operand biasTemplate(const Operand& x, const Operand& f, uint32_t channels) {
  Operand bias;
  bias.dimensions = {channels};
  if (isFloat(x.type)) {
    bias.type = x.type;
    return bias;
  }
  bias.type = OperandType::TENSOR_INT32;
  // With a filter per channel, the bias's scales follow from the filter, and the declared scale is
  // 0.
  if (f.type != OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) bias.scale = x.scale * f.scale;
  return bias;
}

Status checkBiasScales(const FileTensor& tensor, const Operand& x, const Operand& f,
                       float outputScale) {
  const auto* perChannel = std::get_if<SymmPerChannelQuantParams>(&f.extraParams);
  const float* const scales = tensor.scales.data();
  const double slack = kBiasScaleSlack * outputScale;
  const auto product = [&](float filterScale) {
    return static_cast<double>(x.scale) * static_cast<double>(filterScale);
  };
  const auto bad = [&](size_t i, double expected) {
    return badData("{} has scale {} at {}, input and filter make {}", tensor.text(), scales[i], i,
                   expected);
  };
  if (perChannel == nullptr) {
    const double expected = product(f.scale);
    const size_t i = firstIndex(tensor.scales.size(),
                                [&](size_t k) { return std::fabs(expected - scales[k]) > slack; });
    return i == tensor.scales.size() ? okStatus() : bad(i, expected);
  }
  const size_t count = std::min(tensor.scales.size(), perChannel->scales.size());
  const float* const filterScales = perChannel->scales.data();
  const size_t i = firstIndex(
      count, [&](size_t k) { return std::fabs(product(filterScales[k]) - scales[k]) > slack; });
  return i == count ? okStatus() : bad(i, product(filterScales[i]));
}

// Returns the bias of an operator with activations of INT16 as floats. Its unit is the product of
// the scales of input and filter.
Result<uint32_t> biasOf16Bits(Node& node, const FileTensor& tensor, const FileTensor& x,
                              uint32_t channels) {
  HALYARD_ASSIGN_OR_RETURN(const FileTensor weights, node.inputInfo(1));
  const bool isWide = tensor.type == tfl::TensorType::INT64;
  if (!isWide && tensor.type != tfl::TensorType::INT32) {
    return unsupported("the bias ({}) is {}, expected INT64 or INT32", tensor.text(),
                       tensorTypeName(tensor.type));
  }
  const size_t size = isWide ? sizeof(int64_t) : sizeof(int32_t);
  const size_t scales = weights.scales.size();
  if (tensor.data.size() != channels * size || (scales != 1 && scales != channels)) {
    return badData("the bias ({}) is {} and the weights have {} scales, expected {} channels",
                   tensor.text(), shapeText(tensor.dims), scales, channels);
  }
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> data, node.builder().contents(tensor));
  HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes,
                           node.builder().newBytes(channels * sizeof(float)));
  for (size_t i = 0; i < channels; ++i) {
    int64_t wide = 0;
    int32_t narrow = 0;
    if (isWide) {
      std::memcpy(&wide, data.data() + i * size, size);
    } else {
      std::memcpy(&narrow, data.data() + i * size, size);
      wide = narrow;
    }
    const double unit =
        static_cast<double>(x.scales[0]) * static_cast<double>(weights.scales[scales == 1 ? 0 : i]);
    const auto value = static_cast<float>(static_cast<double>(wide) * unit);
    std::memcpy(bytes.data() + i * sizeof(value), &value, sizeof(value));
  }
  Operand operand;
  operand.type = OperandType::TENSOR_FLOAT32;
  operand.dimensions = {channels};
  return node.builder().addOwnConstant(std::move(operand), bytes, node.builder().nameOf(tensor));
}

// Returns the bias in input `position`, or zeros if it is missing. Every use has its own operand,
// because the scale depends on the use.
Result<uint32_t> bias(Node& node, uint32_t x, uint32_t f, uint32_t y, uint32_t channels,
                      size_t position = 2) {
  Operand wanted = biasTemplate(node.operand(x), node.operand(f), channels);
  if (!node.hasInput(position)) {
    const uint64_t size = uint64_t{channels} * elementSize(wanted.type);
    return node.builder().addFilledConstant(std::move(wanted), size, 0, "");
  }
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.inputInfo(position));
  if (!tensor.isConstant()) {
    if (!isFloat(wanted.type)) {
      return unsupported("the bias ({}) of a quantised operator is computed at run time",
                         tensor.text());
    }
    return node.input(position);
  }
  if (node.has16Bits()) {
    HALYARD_ASSIGN_OR_RETURN(const FileTensor input, node.inputInfo(position == 3 ? 2 : 0));
    return biasOf16Bits(node, tensor, input, channels);
  }
  const auto expected = isFloat(wanted.type) ? floatTypeOf(wanted.type) : tfl::TensorType::INT32;
  if (tensor.type != expected) {
    return unsupported("the bias ({}) is {}, expected {}", tensor.text(),
                       tensorTypeName(tensor.type), tensorTypeName(expected));
  }
  if (tensor.data.size() != uint64_t{channels} * elementSize(wanted.type)) {
    return badData("the bias ({}) is {}, expected one value for each of {} channels", tensor.text(),
                   shapeText(tensor.dims), channels);
  }
  if (!isFloat(wanted.type)) {
    HALYARD_RETURN_IF_ERROR(
        checkBiasScales(tensor, node.operand(x), node.operand(f), node.operand(y).scale));
  }
  return node.builder().addFileConstant(std::move(wanted), tensor);
}

struct Window {
  tfl::Padding padding;
  tfl::ActivationFunctionType activation;
  int32_t strideWidth, strideHeight;
  int32_t dilationWidth, dilationHeight;
};

template <typename Options>
Window windowOf(const Options& options) {
  return {options.padding(),  options.fused_activation_function(), options.stride_w(),
          options.stride_h(), options.dilation_w_factor(),         options.dilation_h_factor()};
}

Status checkWindow(const Window& window) {
  if (window.strideWidth < 1 || window.strideHeight < 1) {
    return badData("strides {}x{} (width x height), expected at least 1", window.strideWidth,
                   window.strideHeight);
  }
  if (window.dilationWidth < 1 || window.dilationHeight < 1) {
    return badData("dilation {}x{} (width x height), expected at least 1", window.dilationWidth,
                   window.dilationHeight);
  }
  return okStatus();
}

// Appends padding scheme, strides, [depth multiplier,] activation, [layout, dilation].
Status appendWindow(Node& node, const Window& window, std::optional<int32_t> depthMultiplier,
                    OperandIndexes& inputs) {
  HALYARD_ASSIGN_OR_RETURN(const int32_t padding, Node::paddingCode(window.padding));
  HALYARD_ASSIGN_OR_RETURN(const int32_t activation, Node::fuseCode(window.activation));
  std::vector<int32_t> values = {padding, window.strideWidth, window.strideHeight};
  if (depthMultiplier) values.push_back(*depthMultiplier);
  values.push_back(activation);
  for (int32_t value : values) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar, node.builder().int32Scalar(value));
    inputs.push_back(scalar);
  }
  if (window.dilationWidth == 1 && window.dilationHeight == 1) return okStatus();
  HALYARD_ASSIGN_OR_RETURN(const uint32_t nchw, node.builder().boolScalar(false));
  inputs.push_back(nchw);
  for (int32_t value : {window.dilationWidth, window.dilationHeight}) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar, node.builder().int32Scalar(value));
    inputs.push_back(scalar);
  }
  return okStatus();
}

Status checkRank4(const Operand& operand, std::string_view what) {
  if (operand.dimensions.size() == 4) return okStatus();
  return badData("the {} has shape {}, expected rank 4", what, shapeText(operand.dimensions));
}

// Checks the dimensions that must be known; the ranks are 4.
Status checkDepths(const Operand& x, const Operand& f) {
  if (x.dimensions[3] != 0 && knownElementCount(f.dimensions)) return okStatus();
  return unsupported(
      "the shapes {} of the input and {} of the filter, which only an execution knows",
      shapeText(x.dimensions), shapeText(f.dimensions));
}

Status convertConv2d(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 3, 1));
  const Window window = windowOf(*node.options<tfl::Conv2DOptions>());
  HALYARD_RETURN_IF_ERROR(checkWindow(window));
  HALYARD_ASSIGN_OR_RETURN(uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor weights, node.inputInfo(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t f, filter(node, x, weights, 0));
  HALYARD_RETURN_IF_ERROR(checkRank4(node.operand(x), "input"));
  HALYARD_RETURN_IF_ERROR(checkRank4(node.operand(f), "filter"));
  HALYARD_RETURN_IF_ERROR(checkDepths(node.operand(x), node.operand(f)));
  const uint32_t depth = node.operand(x).dimensions[3];
  const uint32_t filterDepth = node.operand(f).dimensions[3];
  if (depth != filterDepth && depth % filterDepth == 0) {
    return unsupported("a convolution in {} groups", depth / filterDepth);
  }
  if (isDynamicallyQuantized(node, x, weights)) {
    // One range for every image. A 1x1 window has one range for every pixel, because no other pixel
    // affects the result.
    const Shape& window2d = node.operand(f).dimensions;
    const bool isPointwise =
        window2d[1] == 1 && window2d[2] == 1 && window.strideWidth == 1 && window.strideHeight == 1;
    HALYARD_ASSIGN_OR_RETURN(x, dynamicallyQuantized(node, x, isPointwise ? 3 : 1));
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t b, bias(node, x, f, y, node.operand(f).dimensions[0]));
  OperandIndexes inputs = {x, f, b};
  HALYARD_RETURN_IF_ERROR(appendWindow(node, window, std::nullopt, inputs));
  return node.builder().addOperation(OperationType::CONV_2D, std::move(inputs), {y});
}

Status convertDepthwiseConv2d(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 3, 1));
  const Window window = windowOf(*node.options<tfl::DepthwiseConv2DOptions>());
  HALYARD_RETURN_IF_ERROR(checkWindow(window));
  HALYARD_ASSIGN_OR_RETURN(uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor weights, node.inputInfo(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t f, filter(node, x, weights, 3));
  HALYARD_RETURN_IF_ERROR(checkRank4(node.operand(x), "input"));
  HALYARD_RETURN_IF_ERROR(checkRank4(node.operand(f), "filter"));
  HALYARD_RETURN_IF_ERROR(checkDepths(node.operand(x), node.operand(f)));
  const uint32_t depth = node.operand(x).dimensions[3];
  const uint32_t channels = node.operand(f).dimensions[3];
  // The shapes decide, as in TFLite. The option of that name is not always filled in.
  if (channels % depth != 0) {
    return badData("the filter has {} channels, no multiple of the input's {}", channels, depth);
  }
  if (isDynamicallyQuantized(node, x, weights)) {
    HALYARD_ASSIGN_OR_RETURN(x, dynamicallyQuantized(node, x, 1));
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t b, bias(node, x, f, y, channels));
  OperandIndexes inputs = {x, f, b};
  HALYARD_RETURN_IF_ERROR(
      appendWindow(node, window, static_cast<int32_t>(channels / depth), inputs));
  return node.builder().addOperation(OperationType::DEPTHWISE_CONV_2D, std::move(inputs), {y});
}

// Where a transposed convolution has its input and its bias, and how its window moves.
struct TransposedWindow {
  size_t inputIndex, biasIndex;
  std::vector<int32_t> outputShape;
  int32_t padding, strideWidth, strideHeight, activation;
};

Status addTransposeConv(Node& node, const TransposedWindow& window) {
  if (window.strideWidth < 1 || window.strideHeight < 1) {
    return badData("strides {}x{} (width x height), expected at least 1", window.strideWidth,
                   window.strideHeight);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(window.inputIndex));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor weights, node.inputInfo(1));
  if (isDynamicallyQuantized(node, x, weights)) {
    return unsupported("dynamic-range quantisation ({})", weights.text());
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t f, filter(node, x, weights, 0));
  HALYARD_RETURN_IF_ERROR(checkRank4(node.operand(f), "filter"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t b,
                           bias(node, x, f, y, node.operand(f).dimensions[0], window.biasIndex));
  HALYARD_ASSIGN_OR_RETURN(
      const uint32_t target,
      node.builder().int32Tensor({static_cast<uint32_t>(window.outputShape.size())},
                                 window.outputShape));
  OperandIndexes inputs = {x, f, b, target};
  for (int32_t value :
       {window.padding, window.strideWidth, window.strideHeight, window.activation}) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar, node.builder().int32Scalar(value));
    inputs.push_back(scalar);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t nchw, node.builder().boolScalar(false));
  inputs.push_back(nchw);
  return node.builder().addOperation(OperationType::TRANSPOSE_CONV_2D, std::move(inputs), {y});
}

Status convertTransposeConv(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(3, 4, 1));
  const auto& options = *node.options<tfl::TransposeConvOptions>();
  HALYARD_ASSIGN_OR_RETURN(const int32_t padding, Node::paddingCode(options.padding()));
  HALYARD_ASSIGN_OR_RETURN(const int32_t activation,
                           Node::fuseCode(options.fused_activation_function()));
  HALYARD_ASSIGN_OR_RETURN(std::vector<int32_t> shape,
                           node.constantInts(0, "the shape of the output", 4));
  return addTransposeConv(
      node, {2, 3, std::move(shape), padding, options.stride_w(), options.stride_h(), activation});
}

// The shape of a fully connected layer: [batch, depth] x [units, depth] -> [batch, units]. The
// batch is 0 if only an execution knows it.
struct DenseShape {
  uint32_t batch, depth, units;
};

Result<DenseShape> denseShape(const Operand& x, const FileTensor& weights) {
  if (weights.dims.size() != 2) {
    return badData("the weights ({}) have shape {}, expected rank 2", weights.text(),
                   shapeText(weights.dims));
  }
  const uint32_t depth = weights.dims[1];
  const std::optional<uint32_t> count = knownElementCount(x.dimensions);
  if (!count && x.dimensions.back() == depth) return DenseShape{0, depth, weights.dims[0]};
  if (!count || *count % depth != 0) {
    return badData("the input {} is no multiple of the weights' depth {}", shapeText(x.dimensions),
                   depth);
  }
  return DenseShape{*count / depth, depth, weights.dims[0]};
}

// NNAPI's operation has no scales per channel, but a 1x1 convolution computes the same sum.
Status convertDensePerChannel(Node& node, const FileTensor& weights, const DenseShape& shape,
                              uint32_t x, uint32_t y, int32_t activation) {
  if (weights.quantizedDimension != 0) {
    return unsupported("{} has its scales along dimension {}, expected 0", weights.text(),
                       weights.quantizedDimension);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t image,
                           node.reshapedTo(x, {shape.batch, 1, 1, shape.depth}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t f,
                           addPerChannelFilter(node, weights, {shape.units, 1, 1, shape.depth}, 0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t b, bias(node, image, f, y, shape.units));
  const Operand declared = node.operand(y);
  HALYARD_ASSIGN_OR_RETURN(
      const uint32_t result,
      node.builder().addTemporary(declared.type, {shape.batch, 1, 1, shape.units}, declared.scale,
                                  declared.zeroPoint, node.builder().operandName(y) + " (image)"));
  OperandIndexes inputs = {image, f, b};
  const Window window{tfl::Padding::VALID, tfl::ActivationFunctionType(), 1, 1, 1, 1};
  HALYARD_RETURN_IF_ERROR(appendWindow(node, window, std::nullopt, inputs));
  HALYARD_ASSIGN_OR_RETURN(inputs.back(), node.builder().int32Scalar(activation));
  HALYARD_RETURN_IF_ERROR(
      node.builder().addOperation(OperationType::CONV_2D, std::move(inputs), {result}));
  return node.reshape(result, y);
}

Status convertFullyConnected(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 3, 1));
  const auto* options = node.options<tfl::FullyConnectedOptions>();
  if (options->weights_format() != tfl::FullyConnectedOptionsWeightsFormat::DEFAULT) {
    return unsupported("weights format {}", static_cast<int>(options->weights_format()));
  }
  HALYARD_ASSIGN_OR_RETURN(const int32_t activation,
                           Node::fuseCode(options->fused_activation_function()));
  HALYARD_ASSIGN_OR_RETURN(uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor weights, node.inputInfo(1));
  HALYARD_RETURN_IF_ERROR(refuseMixture(node, x, weights));
  HALYARD_ASSIGN_OR_RETURN(const DenseShape shape, denseShape(node.operand(x), weights));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));

  Shape expected = {shape.batch, shape.units};
  if (options->keep_num_dims()) {
    expected = node.operand(x).dimensions;
    if (expected.back() != shape.depth) {
      return badData("the input {} cannot keep its dimensions: the weights' depth is {}",
                     shapeText(expected), shape.depth);
    }
    expected.back() = shape.units;
  }
  HALYARD_RETURN_IF_ERROR(node.declareShape(y, expected));
  if (isPerChannel(weights) && !isFloat(node.operand(x).type)) {
    return convertDensePerChannel(node, weights, shape, x, y, activation);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t w, filter(node, x, weights, 0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t b, bias(node, x, w, y, shape.units));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t fuse, node.builder().int32Scalar(activation));
  const size_t rank = node.operand(x).dimensions.size();
  if (rank < 2 || rank > 4) {
    HALYARD_ASSIGN_OR_RETURN(x, node.reshapedTo(x, {shape.batch, shape.depth}));
  }
  if (isDynamicallyQuantized(node, x, weights)) {
    if (node.operand(x).dimensions.back() != shape.depth) {
      HALYARD_ASSIGN_OR_RETURN(x, node.reshapedTo(x, {shape.batch, shape.depth}));
    }
    HALYARD_ASSIGN_OR_RETURN(x,
                             dynamicallyQuantized(node, x, node.operand(x).dimensions.size() - 1));
  }
  if (expected.size() == 2) {
    return node.builder().addOperation(OperationType::FULLY_CONNECTED, {x, w, b, fuse}, {y});
  }
  const Operand declared = node.operand(y);
  HALYARD_ASSIGN_OR_RETURN(
      const uint32_t flat,
      node.builder().addTemporary(declared.type, {shape.batch, shape.units}, declared.scale,
                                  declared.zeroPoint, node.builder().operandName(y) + " (flat)"));
  HALYARD_RETURN_IF_ERROR(
      node.builder().addOperation(OperationType::FULLY_CONNECTED, {x, w, b, fuse}, {flat}));
  return node.reshape(flat, y);
}

constexpr Converter kConvolutionConverters[] = {
    {tfl::BuiltinOperator::CONV_2D, tfl::BuiltinOptions::Conv2DOptions, OptionsNeed::REQUIRED,
     convertConv2d, kTakesOpenDimensions | kTakesInt16},
    {tfl::BuiltinOperator::DEPTHWISE_CONV_2D, tfl::BuiltinOptions::DepthwiseConv2DOptions,
     OptionsNeed::REQUIRED, convertDepthwiseConv2d, kTakesOpenDimensions | kTakesInt16},
    {tfl::BuiltinOperator::FULLY_CONNECTED, tfl::BuiltinOptions::FullyConnectedOptions,
     OptionsNeed::REQUIRED, convertFullyConnected, kTakesOpenDimensions | kTakesInt16},
    {tfl::BuiltinOperator::TRANSPOSE_CONV, tfl::BuiltinOptions::TransposeConvOptions,
     OptionsNeed::REQUIRED, convertTransposeConv, kTakesInt16},
};

}  // namespace

std::span<const Converter> convolutionConverters() { return kConvolutionConverters; }

// The options are three INT32: the padding (1: SAME, 2: VALID) and the strides (width, height).
// Newer converters append more. The shape of the output is in the file only.
Status convertTransposeConvBias(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(3, 3, 1));
  int32_t values[3] = {};
  const std::span<const uint8_t> bytes = node.op().customOptions;
  if (bytes.size() < sizeof values) {
    return badData("has options of {} bytes, expected at least {}", bytes.size(), sizeof values);
  }
  std::memcpy(values, bytes.data(), sizeof values);
  const auto [padding, strideWidth, strideHeight] = values;
  if (padding < 1 || padding > 2) {
    return badData("the padding is {}, expected 1 (SAME) or 2 (VALID)", padding);
  }
  HALYARD_ASSIGN_OR_RETURN(const int32_t activation,
                           Node::fuseCode(tfl::ActivationFunctionType::NONE));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor output, node.outputInfo(0));
  if (output.dims.size() != 4) {
    return badData("the output ({}) has shape {}, expected rank 4", output.text(),
                   shapeText(output.dims));
  }
  return addTransposeConv(node, {0,
                                 2,
                                 {output.dims.begin(), output.dims.end()},
                                 padding,
                                 strideWidth,
                                 strideHeight,
                                 activation});
}

}  // namespace halyard::import
