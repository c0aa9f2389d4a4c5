// Layers of common models, and operations that move their values.
#include "bench/kernel_cases.h"

#include <algorithm>

namespace halyard::bench {
namespace {

using ops::testing::TestOperand;

constexpr LayerCase kLayers[] = {
    {"conv 1x1", OperationType::CONV_2D, 56, 1, 1, 128, 128},
    {"conv 1x1", OperationType::CONV_2D, 14, 1, 1, 512, 512},
    {"conv 1x1", OperationType::CONV_2D, 7, 1, 1, 1024, 1024},
    {"conv 1x1", OperationType::CONV_2D, 112, 1, 1, 16, 96},
    {"conv 3x3", OperationType::CONV_2D, 56, 3, 1, 64, 64},
    {"conv 3x3", OperationType::CONV_2D, 28, 3, 1, 128, 128},
    {"conv 3x3", OperationType::CONV_2D, 14, 3, 1, 256, 256},
    {"conv 3x3", OperationType::CONV_2D, 224, 3, 2, 3, 32},
    {"conv variable", OperationType::CONV_2D, 28, 3, 1, 128, 128, 1, false},
    {"depthwise 3x3", OperationType::DEPTHWISE_CONV_2D, 112, 3, 1, 32, 32},
    {"depthwise 3x3", OperationType::DEPTHWISE_CONV_2D, 56, 3, 1, 128, 128},
    {"depthwise 3x3", OperationType::DEPTHWISE_CONV_2D, 56, 3, 2, 128, 128},
    {"depthwise 3x3", OperationType::DEPTHWISE_CONV_2D, 14, 3, 1, 512, 512},
    {"depthwise x 4", OperationType::DEPTHWISE_CONV_2D, 56, 3, 1, 32, 128},
    {"depthwise 1 x 8", OperationType::DEPTHWISE_CONV_2D, 48, 8, 2, 1, 8},
    {"grouped 3x3 / 32", OperationType::GROUPED_CONV_2D, 28, 3, 1, 256, 256, 32},
    {"grouped 1x1 / 3", OperationType::GROUPED_CONV_2D, 28, 1, 1, 240, 240, 3},
    {"transposed 2x2", OperationType::TRANSPOSE_CONV_2D, 28, 2, 2, 128, 64},
    {"transposed 4x4", OperationType::TRANSPOSE_CONV_2D, 28, 4, 2, 64, 64},
    {"full connection", OperationType::FULLY_CONNECTED, 1, 1, 1, 1024, 1001},
    {"full connection", OperationType::FULLY_CONNECTED, 8, 1, 1, 640, 128},
    {"full variable", OperationType::FULLY_CONNECTED, 1, 1, 1, 1024, 1001, 1, false},
};

// The operands of a layer that follow its tensors.
void appendScalars(const LayerCase& layer, std::vector<TestOperand>* inputs) {
  using enum OperationType;
  const auto int32 = [&](uint32_t value) {
    inputs->push_back(TestOperand::int32(static_cast<int32_t>(value)));
  };
  if (layer.operation == TRANSPOSE_CONV_2D) {
    const auto side = static_cast<int32_t>(layer.size * layer.stride);
    inputs->push_back(TestOperand::of<int32_t>(OperandType::TENSOR_INT32, {4}, {1, side, side, 1}));
  }
  if (layer.operation != FULLY_CONNECTED) {
    int32(1);
    int32(layer.stride);
    int32(layer.stride);
  }
  if (layer.operation == DEPTHWISE_CONV_2D) int32(layer.channels / layer.depth);
  if (layer.operation == GROUPED_CONV_2D) int32(layer.groups);
  int32(3);
  if (layer.operation == GROUPED_CONV_2D || layer.operation == TRANSPOSE_CONV_2D) {
    inputs->push_back(TestOperand::boolean(false));
  }
}

}  // namespace

std::span<const LayerCase> layerCases() { return kLayers; }

std::vector<TestOperand> layerInputs(const LayerCase& layer, OperandType type) {
  const bool isFull = layer.operation == OperationType::FULLY_CONNECTED;
  const bool isDepthwise = layer.operation == OperationType::DEPTHWISE_CONV_2D;
  const bool isFloat = type == OperandType::TENSOR_FLOAT32;
  const OperandType biasType = isFloat ? type : OperandType::TENSOR_INT32;
  const Shape filter =
      isFull        ? Shape{layer.channels, layer.depth}
      : isDepthwise ? Shape{1, layer.filter, layer.filter, layer.channels}
                    : Shape{layer.channels, layer.filter, layer.filter, layer.depth / layer.groups};
  const Shape image =
      isFull ? Shape{layer.size, layer.depth} : Shape{1, layer.size, layer.size, layer.depth};
  std::vector<TestOperand> inputs = {bytes(type, image, 0.5f, 120), bytes(type, filter, 0.25f, 128),
                                     bytes(biasType, {layer.channels}, 0.125f, 0)};
  appendScalars(layer, &inputs);
  return inputs;
}

std::vector<TestOperand> matmulInputs(OperandType type, const MatmulSize& size, bool isTransposed) {
  const Shape right =
      isTransposed ? Shape{12, size.columns, size.depth} : Shape{12, size.depth, size.columns};
  return {bytes(type, {12, size.rows, size.depth}, 0.5f, 20), bytes(type, right, 0.25f, 3),
          TestOperand::boolean(false), TestOperand::boolean(isTransposed)};
}

std::vector<TestOperand> lstmInputs(uint32_t cells, uint32_t steps, bool isFull) {
  const OperandType type = OperandType::TENSOR_FLOAT32;
  std::vector<TestOperand> inputs = {bytes(type, {steps, 1, cells}, 0, 0)};
  const auto add = [&](int count, const Shape& dims, bool isThere = true) {
    for (int i = 0; i < count; ++i) {
      inputs.push_back(isThere ? bytes(type, dims, 0, 0) : TestOperand::omitted(type));
    }
  };
  add(8, {cells, cells});
  add(3, {cells}, isFull);
  add(4, {cells});
  add(1, {cells, cells}, isFull);
  add(1, {cells}, isFull);
  add(2, {1, cells});
  inputs.push_back(TestOperand::int32(4));
  for (int clip = 0; clip < 2; ++clip) inputs.push_back(TestOperand::float32(0));
  inputs.push_back(TestOperand::boolean(true));
  add(4, {cells}, isFull);
  return inputs;
}

TestOperand bytes(OperandType type, const Shape& dims, float scale, int32_t zeroPoint) {
  TestOperand operand = TestOperand::output(type, scale, zeroPoint);
  operand.tensor.dims = dims;
  operand.bytes.resize(operand.tensor.elementCount() * elementSize(type));
  for (size_t i = 0; i < operand.bytes.size(); ++i) {
    operand.bytes[i] = static_cast<uint8_t>(i * 7919 >> 3);
  }
  if (type == OperandType::TENSOR_FLOAT32) {
    auto* const values = reinterpret_cast<float*>(operand.bytes.data());
    for (size_t i = 0; i < operand.bytes.size() / 4; ++i) {
      values[i] = static_cast<float>(i * 7919 % 256) / 256 - 0.5f;
    }
  }
  if (type == OperandType::TENSOR_INT32) {
    std::fill(operand.bytes.begin(), operand.bytes.end(), uint8_t{0});
  }
  return operand;
}

namespace {

// A step of a fixed-point cell with as many values as cells, for one sequence.
MoveCase byteLstm(uint32_t cells) {
  using enum OperandType;
  constexpr float kWeightScale = 1.0f / 256;
  MoveCase move = {.name = "lstm of bytes",
                   .operation = OperationType::QUANTIZED_16BIT_LSTM,
                   .inputs = {bytes(TENSOR_QUANT8_ASYMM, {1, cells}, 1.0f / 128, 128)},
                   .output = TestOperand::output(TENSOR_QUANT16_SYMM, 1.0f / 2048),
                   .second = TestOperand::output(TENSOR_QUANT8_ASYMM, 1.0f / 128, 128)};
  move.inputs.resize(9, bytes(TENSOR_QUANT8_ASYMM, {cells, cells}, kWeightScale, 120));
  move.inputs.resize(13, bytes(TENSOR_INT32, {cells}, kWeightScale / 128, 0));
  move.inputs.push_back(bytes(TENSOR_QUANT16_SYMM, {1, cells}, 1.0f / 2048, 0));
  move.inputs.push_back(bytes(TENSOR_QUANT8_ASYMM, {1, cells}, 1.0f / 128, 128));
  return move;
}

}  // namespace

std::vector<MoveCase> moveCases() {
  using enum OperandType;
  using enum OperationType;
  const auto f32 = [](const Shape& dims) { return bytes(TENSOR_FLOAT32, dims, 0, 0); };
  const auto u8 = [](const Shape& dims) { return bytes(TENSOR_QUANT8_ASYMM, dims, 0.5f, 120); };
  const auto int32 = [](int32_t value) { return TestOperand::int32(value); };
  const TestOperand outF32 = TestOperand::output(TENSOR_FLOAT32);
  const TestOperand sameU8 = TestOperand::output(TENSOR_QUANT8_ASYMM, 0.5f, 120);
  const TestOperand farU8 = TestOperand::output(TENSOR_QUANT8_ASYMM, 30.0f, 120);
  const TestOperand unitU8 = TestOperand::output(TENSOR_QUANT8_ASYMM, 1.0f / 256, 0);
  const TestOperand axes = TestOperand::of<int32_t>(TENSOR_INT32, {2}, {1, 2});
  const auto ints = [](const std::vector<int32_t>& values) {
    return TestOperand::of<int32_t>(TENSOR_INT32, {static_cast<uint32_t>(values.size())}, values);
  };
  const TestOperand pads = TestOperand::of<int32_t>(TENSOR_INT32, {4, 2}, {0, 0, 1, 1, 1, 1, 0, 0});
  std::vector<int32_t> lines;
  for (int32_t i = 0; i < 1000; ++i) lines.push_back(i * 7 % 1000);
  const TestOperand rows = ints(lines);
  const auto pooled = [&](TestOperand image, int32_t size) {
    return std::vector<TestOperand>{std::move(image), int32(2),    int32(size), int32(size),
                                    int32(size),      int32(size), int32(0)};
  };
  return {
      {"logistic", LOGISTIC, {f32({1, 56, 56, 64})}, outF32},
      {"logistic u8", LOGISTIC, {u8({1, 1917, 91})}, unitU8},
      {"relu6", RELU6, {f32({1, 56, 56, 64})}, outF32},
      {"quantize", QUANTIZE, {f32({1, 224, 224, 3})}, sameU8},
      {"dequantize", DEQUANTIZE, {u8({1, 224, 224, 3})}, outF32},
      {"maximum", MAXIMUM, {f32({1, 56, 56, 64}), f32({1, 56, 56, 64})}, outF32, 2},
      {"add", ADD, {f32({1, 56, 56, 64}), f32({1, 56, 56, 64}), int32(0)}, outF32, 2},
      {"add u8", ADD, {u8({1, 56, 56, 64}), u8({1, 56, 56, 64}), int32(0)}, sameU8, 2},
      {"multiply u8", MUL, {u8({1, 56, 56, 64}), u8({1, 56, 56, 64}), int32(0)}, farU8, 2},
      {"prelu", PRELU, {f32({1, 56, 56, 64}), f32({64})}, outF32},
      {"prelu u8", PRELU, {u8({1, 56, 56, 64}), u8({64})}, sameU8},
      {"concatenation",
       CONCATENATION,
       {f32({1, 33, 33, 256}), f32({1, 33, 33, 256}), int32(3)},
       outF32,
       2},
      {"mean 7x7", MEAN, {f32({1, 7, 7, 1280}), axes, int32(1)}, outF32},
      {"average pool 7x7", AVERAGE_POOL_2D, pooled(f32({1, 7, 7, 1280}), 7), outF32},
      {"max pool 2x2", MAX_POOL_2D, pooled(f32({1, 112, 112, 64}), 2), outF32},
      {"max pool 2x2 u8", MAX_POOL_2D, pooled(u8({1, 112, 112, 64}), 2), sameU8},
      {"transpose to NCHW", TRANSPOSE, {f32({1, 56, 56, 64}), ints({0, 3, 1, 2})}, outF32},
      {"transpose to NCHW u8", TRANSPOSE, {u8({1, 56, 56, 64}), ints({0, 3, 1, 2})}, sameU8},
      {"transpose heads", TRANSPOSE, {f32({1, 128, 12, 64}), ints({0, 2, 1, 3})}, outF32},
      {"slice", SLICE, {f32({1, 56, 56, 64}), ints({0, 0, 0, 16}), ints({1, 56, 56, 32})}, outF32},
      {"strided slice",
       STRIDED_SLICE,
       {f32({1, 112, 112, 16}), ints({0, 0, 0, 0}), ints({1, 112, 112, 16}), ints({1, 2, 2, 1}),
        int32(0), int32(0), int32(0)},
       outF32},
      {"split", SPLIT, {f32({1, 56, 56, 64}), int32(3), int32(1)}, outF32},
      {"pad", PAD, {f32({1, 56, 56, 64}), pads}, outF32},
      {"pad u8", PAD, {u8({1, 112, 112, 32}), pads}, sameU8},
      {"space to depth", SPACE_TO_DEPTH, {f32({1, 112, 112, 16}), int32(2)}, outF32},
      {"depth to space u8", DEPTH_TO_SPACE, {u8({1, 112, 112, 12}), int32(2)}, sameU8},
      {"tile", TILE, {f32({1, 28, 28, 64}), ints({1, 2, 2, 1})}, outF32},
      {"gather", GATHER, {f32({1000, 256}), int32(0), rows}, outF32},
      {"resize 33 to 257", RESIZE_BILINEAR, {f32({1, 33, 33, 21}), int32(257), int32(257)}, outF32},
      {"resize 33 u8", RESIZE_BILINEAR, {u8({1, 33, 33, 21}), int32(257), int32(257)}, sameU8},
      {"resize x 2 u8", RESIZE_BILINEAR, {u8({1, 28, 28, 64}), int32(56), int32(56)}, sameU8},
      {"resize image u8", RESIZE_BILINEAR, {u8({1, 480, 640, 3}), int32(224), int32(224)}, sameU8},
      {"nearest x 2 u8",
       RESIZE_NEAREST_NEIGHBOR,
       {u8({1, 28, 28, 64}), int32(56), int32(56), TestOperand::boolean(false)},
       sameU8},
      {"nearest image u8",
       RESIZE_NEAREST_NEIGHBOR,
       {u8({1, 480, 640, 3}), int32(224), int32(224), TestOperand::boolean(false)},
       sameU8},
      {"l2 norm", L2_NORMALIZATION, {f32({1000, 128})}, outF32},
      {"l2 norm u8",
       L2_NORMALIZATION,
       {u8({1000, 128})},
       TestOperand::output(TENSOR_QUANT8_ASYMM, 1.0f / 128, 128)},
      {"top 5 of 1001",
       TOPK_V2,
       {f32({8, 1001}), int32(5)},
       outF32,
       1,
       TestOperand::output(TENSOR_INT32)},
      {"top 5 of 1001 u8",
       TOPK_V2,
       {u8({8, 1001}), int32(5)},
       sameU8,
       1,
       TestOperand::output(TENSOR_INT32)},
      {"top 100 of 20000",
       TOPK_V2,
       {f32({1, 20000}), int32(100)},
       outF32,
       1,
       TestOperand::output(TENSOR_INT32)},
      {"instance norm",
       INSTANCE_NORMALIZATION,
       {f32({1, 56, 56, 64}), TestOperand::float32(1), TestOperand::float32(0),
        TestOperand::float32(1e-3f), TestOperand::boolean(false)},
       outF32},
      {"softmax 1001", SOFTMAX, {f32({8, 1001}), TestOperand::float32(1)}, outF32},
      {"softmax 1001 u8", SOFTMAX, {u8({8, 1001}), TestOperand::float32(1)}, unitU8},
      byteLstm(128),
  };
}

}  // namespace halyard::bench
