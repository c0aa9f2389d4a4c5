// Products, pools, moves and resizes at the edges of tiles, against the reference kernels.
// Both forms of the shaders are tested: for devices that compute on the processor, and for GPUs.
#include <gtest/gtest.h>

#include <random>

#include "case_for_test.h"
#include "ops/testing/searched_case.h"
#include "shader_forms_for_test.h"

namespace halyard::vulkandriver {
namespace {

using ops::testing::LegalCase;
using ops::testing::TestOperand;

// One operation on an image of `size` x `size`.
struct Layer {
  OperationType type = OperationType::CONV_2D;
  uint32_t size = 5;
  uint32_t depth = 8;
  uint32_t channels = 8;
  uint32_t filter = 1;
  int32_t stride = 1;
  uint32_t batch = 1;
  int32_t activation = 0;
  int32_t dilation = 1;
  bool nchw = false;
  int32_t biases = 1000;    // of bytes: less than this
  bool isVariable = false;  // filter and bias are inputs
};

// The types of input and filter, with their quantisation.
struct TileTypes {
  OperandType input = OperandType::TENSOR_FLOAT32;
  OperandType filter = OperandType::TENSOR_FLOAT32;
  OperandType bias = OperandType::TENSOR_FLOAT32;
  float scale = 0;
  int32_t zeroPoint = 0;
  float filterScale = 0;
  int32_t filterZeroPoint = 0;
  bool isRelaxed = false;
};

TestOperand randomOperand(OperandType type, const Shape& dims, float scale, int32_t zeroPoint,
                          std::mt19937& random, int32_t most = 1000) {
  size_t count = 1;
  for (const uint32_t extent : dims) count *= extent;
  if (type == OperandType::TENSOR_FLOAT32) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(random() % 2001) / 1000 - 1;
    return TestOperand::of<float>(type, dims, values);
  }
  if (type == OperandType::TENSOR_FLOAT16) {
    std::vector<uint16_t> values(count);
    for (uint16_t& value : values) value = static_cast<uint16_t>(random() & 0x3fff);  // below 2
    return TestOperand::of<uint16_t>(type, dims, values);
  }
  if (type == OperandType::TENSOR_INT32) {
    std::vector<int32_t> values(count);
    const int64_t range = int64_t{most} * 2 + 1;
    for (int32_t& value : values) {
      value = static_cast<int32_t>(static_cast<int64_t>(random()) % range - most);
    }
    return TestOperand::of<int32_t>(type, dims, values, scale, zeroPoint);
  }
  std::vector<uint8_t> values(count);
  for (uint8_t& value : values) value = static_cast<uint8_t>(random());
  return TestOperand::of<uint8_t>(type, dims, values, scale, zeroPoint);
}

LegalCase caseOf(const Layer& layer, const TileTypes& types) {
  std::mt19937 random(layer.size * 31 + layer.channels);
  LegalCase legal;
  legal.type = layer.type;
  const bool isPool =
      layer.type == OperationType::MAX_POOL_2D || layer.type == OperationType::AVERAGE_POOL_2D;
  const bool isDepthwise = layer.type == OperationType::DEPTHWISE_CONV_2D;
  const bool isFull = layer.type == OperationType::FULLY_CONNECTED;
  const bool isTransposed = layer.type == OperationType::TRANSPOSE_CONV_2D;
  Shape image = {layer.batch, layer.size, layer.size, layer.depth};
  if (layer.nchw) image = {layer.batch, layer.depth, layer.size, layer.size};
  if (isFull) image = {layer.batch, layer.depth};
  legal.inputs.push_back(randomOperand(types.input, image, types.scale, types.zeroPoint, random));
  const float sumScale = types.scale * types.filterScale;
  if (!isPool) {
    Shape filter = {layer.channels, layer.filter, layer.filter, layer.depth};
    if (isDepthwise) filter = {1, layer.filter, layer.filter, layer.channels};
    if (isFull) filter = {layer.channels, layer.depth};
    legal.inputs.push_back(
        randomOperand(types.filter, filter, types.filterScale, types.filterZeroPoint, random));
    legal.inputs.push_back(
        randomOperand(types.bias, {layer.channels}, sumScale, 0, random, layer.biases));
  }
  const auto add = [&](int32_t value) { legal.inputs.push_back(TestOperand::int32(value)); };
  if (isTransposed) {
    // The last rows and columns of some phases are outside.
    const auto side = static_cast<int32_t>(layer.size) * layer.stride - layer.stride / 2;
    legal.inputs.push_back(
        TestOperand::of<int32_t>(OperandType::TENSOR_INT32, {4}, {1, side, side, 1}));
  }
  if (!isFull) {
    add(1);  // SAME
    add(layer.stride);
    add(layer.stride);
    if (isPool) add(static_cast<int32_t>(layer.filter));
    if (isPool) add(static_cast<int32_t>(layer.filter));
    if (isDepthwise) add(static_cast<int32_t>(layer.channels / layer.depth));
  }
  add(layer.activation);
  if (layer.nchw || layer.dilation > 1 || isTransposed) {
    legal.inputs.push_back(TestOperand::boolean(layer.nchw));
  }
  if (layer.dilation > 1) {
    add(layer.dilation);
    add(layer.dilation);
  }
  const float scale = isPool ? types.scale : sumScale * 300;
  legal.outputs.push_back(TestOperand::output(types.input, scale, types.zeroPoint));
  return legal;
}

// The model of a case; all inputs but the first `variables` are constants.
Model modelOf(const LegalCase& legal, uint32_t variables) {
  Model model = ops::testing::toModel(legal);
  for (const uint32_t input : model.main.inputIndexes) {
    if (input < variables) continue;
    Operand& operand = model.main.operands[input];
    const std::vector<uint8_t>& bytes = legal.inputs[input].bytes;
    operand.lifetime = Lifetime::CONSTANT_COPY;
    operand.location = appendConstant(model, bytes.data(), bytes.size());
  }
  std::erase_if(model.main.inputIndexes, [&](uint32_t input) { return input >= variables; });
  return model;
}

class TilesTest : public testing::ShaderFormsTest {
 protected:
  // The first `variables` inputs are the model's.
  void checkCase(LegalCase& legal, uint32_t variables = 1, bool isRelaxed = false) {
    const Status tried = ops::testing::tryCase(*ops::definitionOf(legal.type), legal);
    ASSERT_TRUE(tried.ok()) << tried.toString();
    Model model = modelOf(legal, variables);
    model.relaxComputationFloat32toFloat16 = isRelaxed;
    EXPECT_TRUE(testing::check(*device_, model, legal));
  }

  void check(const std::vector<Layer>& layers) {
    const TileTypes kTypes[] = {
        {},
        {.isRelaxed = true},
        {OperandType::TENSOR_FLOAT16, OperandType::TENSOR_FLOAT16, OperandType::TENSOR_FLOAT16},
        {OperandType::TENSOR_QUANT8_ASYMM, OperandType::TENSOR_QUANT8_ASYMM,
         OperandType::TENSOR_INT32, 0.5f, 127, 0.25f, 3},
        {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, OperandType::TENSOR_QUANT8_ASYMM_SIGNED,
         OperandType::TENSOR_INT32, 0.5f, -5, 0.25f, 0},
    };
    for (const TileTypes& types : kTypes) {
      for (const Layer& layer : layers) {
        LegalCase legal = caseOf(layer, types);
        checkCase(legal, layer.isVariable ? 3 : 1, types.isRelaxed);
        if (HasFailure()) {
          FAIL() << operationTypeName(layer.type) << " of " << operandTypeName(types.input)
                 << (types.isRelaxed ? ", relaxed" : "") << ": size " << layer.size << ", depth "
                 << layer.depth << ", channels " << layer.channels << ", filter " << layer.filter
                 << ", stride " << layer.stride;
        }
      }
    }
  }
};

TEST_P(TilesTest, ConvolutionsOfAnyNumberOfChannels) {
  std::vector<Layer> layers;
  for (const uint32_t channels : {1, 3, 4, 7, 8, 9, 12, 33}) {
    for (const uint32_t depth : {1, 3, 4, 6, 20}) {
      layers.push_back({.depth = depth, .channels = channels, .activation = 1});
      layers.push_back({.depth = depth, .channels = channels, .filter = 3, .stride = 2});
    }
  }
  check(layers);
}

TEST_P(TilesTest, ConvolutionsOfAnyNumberOfPositions) {
  std::vector<Layer> layers;
  for (const uint32_t size : {1, 2, 3, 4, 6, 7, 9, 17}) {
    layers.push_back({.size = size, .channels = 16});
    layers.push_back({.size = size, .channels = 16, .filter = 3, .batch = 3});
    layers.push_back({.size = size, .channels = 4, .filter = 3, .dilation = 2});
  }
  check(layers);
}

// The sums of bytes take several chunks.
TEST_P(TilesTest, LongSums) {
  check({{.size = 3, .depth = 1024, .channels = 16},
         {.size = 4, .depth = 260, .channels = 12, .filter = 3},
         {.size = 4, .depth = 64, .channels = 8, .filter = 5, .stride = 2}});
}

// Convolutions with enough tiles and channels for Winograd's.
TEST_P(TilesTest, ManyTiles) {
  check({{.size = 13, .depth = 64, .channels = 64, .filter = 3, .activation = 3},
         {.size = 16, .depth = 68, .channels = 72, .filter = 3},
         {.size = 14, .depth = 512, .channels = 64, .filter = 3},
         {.size = 7, .depth = 64, .channels = 72, .filter = 3, .batch = 5, .activation = 1}});
}

TEST_P(TilesTest, LargeImages) {
  check({{.size = 96, .depth = 3, .channels = 24, .filter = 3, .stride = 2, .activation = 3},
         {.size = 64, .depth = 24, .channels = 96, .activation = 3}});
}

// Tiles of cooperative matrices, with rows, channels and depths that do not fill them.
TEST_P(TilesTest, TilesOfMatrices) {
  std::vector<Layer> layers;
  for (const uint32_t channels : {32, 33, 100}) {
    for (const uint32_t depth : {30, 64, 80}) {
      layers.push_back({.size = 8, .depth = depth, .channels = channels, .activation = 1});
      layers.push_back({.size = 9, .depth = depth, .channels = channels, .batch = 2});
      layers.push_back(
          {.size = 17, .depth = depth, .channels = channels, .filter = 3, .stride = 2});
    }
  }
  layers.push_back({.size = 10, .depth = 64, .channels = 48, .filter = 3, .dilation = 2});
  layers.push_back({.size = 10, .depth = 64, .channels = 48, .filter = 5, .nchw = true});
  layers.push_back(
      {.type = OperationType::FULLY_CONNECTED, .depth = 300, .channels = 129, .batch = 130});
  check(layers);
}

TEST_P(TilesTest, FullConnections) {
  std::vector<Layer> layers;
  for (const uint32_t rows : {1, 2, 6, 7, 40}) {
    for (const uint32_t channels : {1, 10, 16, 129}) {
      layers.push_back({.type = OperationType::FULLY_CONNECTED,
                        .depth = rows == 2 ? 30u : 512u,
                        .channels = channels,
                        .batch = rows});
    }
  }
  check(layers);
}

TEST_P(TilesTest, DepthwiseConvolutionsAndPools) {
  std::vector<Layer> layers;
  for (const OperationType type : {OperationType::DEPTHWISE_CONV_2D, OperationType::MAX_POOL_2D,
                                   OperationType::AVERAGE_POOL_2D}) {
    for (const uint32_t size : {1, 2, 4, 5, 9, 32}) {
      for (const uint32_t channels : {3, 4, 20}) {
        for (const int32_t stride : {1, 2}) {
          layers.push_back({.type = type,
                            .size = size,
                            .depth = channels,
                            .channels = channels,
                            .filter = 3,
                            .stride = stride,
                            .batch = 2});
        }
      }
    }
  }
  layers.push_back({.type = OperationType::DEPTHWISE_CONV_2D, .channels = 8, .filter = 5});
  layers.push_back(
      {.type = OperationType::DEPTHWISE_CONV_2D, .size = 9, .filter = 3, .dilation = 2});
  check(layers);
}

// The filter and the bias come with an execution. Large biases leave 32 bits.
TEST_P(TilesTest, VariableFilters) {
  std::vector<Layer> layers;
  for (const uint32_t channels : {1, 4, 9, 40}) {
    for (const uint32_t depth : {3, 4, 30, 32}) {
      layers.push_back({.depth = depth, .channels = channels, .filter = 3, .isVariable = true});
      layers.push_back(
          {.depth = depth, .channels = channels, .biases = 2147483000, .isVariable = depth != 4});
      for (const uint32_t rows : {1, 9}) {
        layers.push_back({.type = OperationType::FULLY_CONNECTED,
                          .depth = depth,
                          .channels = channels,
                          .batch = rows,
                          .isVariable = true});
      }
    }
  }
  layers.push_back({.type = OperationType::DEPTHWISE_CONV_2D, .filter = 3, .isVariable = true});
  layers.push_back({.type = OperationType::DEPTHWISE_CONV_2D, .filter = 3, .biases = 2147483000});
  check(layers);
}

TEST_P(TilesTest, TransposedConvolutions) {
  std::vector<Layer> layers;
  for (const uint32_t size : {1, 2, 5, 8}) {
    for (const uint32_t filter : {1, 2, 3, 4, 5}) {
      for (const int32_t stride : {1, 2, 3}) {
        layers.push_back({.type = OperationType::TRANSPOSE_CONV_2D,
                          .size = size,
                          .depth = filter == 3 ? 20u : 3u,
                          .channels = stride == 2 ? 9u : 16u,
                          .filter = filter,
                          .stride = stride,
                          .batch = 2,
                          .activation = 1,
                          .nchw = size == 2,
                          .isVariable = size == 5});
      }
    }
  }
  check(layers);
}

TEST_P(TilesTest, ChannelsBeforePositions) {
  std::vector<Layer> layers;
  for (const uint32_t size : {1, 3, 4, 8}) {
    for (const uint32_t channels : {4, 7, 16}) {
      for (const OperationType type :
           {OperationType::CONV_2D, OperationType::DEPTHWISE_CONV_2D, OperationType::MAX_POOL_2D}) {
        layers.push_back({.type = type,
                          .size = size,
                          .depth = channels,
                          .channels = channels,
                          .filter = 3,
                          .batch = 2,
                          .nchw = true});
      }
    }
  }
  check(layers);
}

TEST_P(TilesTest, DepthwiseConvolutionsWithMultiplier) {
  std::vector<Layer> layers;
  for (const uint32_t depth : {1, 3, 4, 20}) {
    for (const uint32_t multiplier : {2, 3, 4, 5, 8}) {
      for (const uint32_t filter : {3, 4}) {
        layers.push_back({.type = OperationType::DEPTHWISE_CONV_2D,
                          .size = 6,
                          .depth = depth,
                          .channels = depth * multiplier,
                          .filter = filter,
                          .stride = filter == 3 ? 1 : 2,
                          .batch = 2});
      }
    }
  }
  check(layers);
}

TEST_P(TilesTest, ProductsOfMatrices) {
  std::mt19937 random(1);
  for (const uint32_t rows : {1, 5, 33, 70}) {
    for (const uint32_t columns : {1, 6, 8, 20}) {
      for (const uint32_t depth : {4, 7, 32}) {
        for (const int sides : {0, 1, 2, 3}) {
          const bool isBytes = rows == 5 || columns == 8;
          const OperandType type =
              isBytes ? OperandType::TENSOR_QUANT8_ASYMM_SIGNED : OperandType::TENSOR_FLOAT32;
          const auto scaleOf = [&](float scale) { return isBytes ? scale : 0; };
          const auto zeroOf = [&](int32_t zeroPoint) { return isBytes ? zeroPoint : 0; };
          const bool isLeft = (sides & 1) != 0;
          const bool isRight = (sides & 2) != 0;
          LegalCase legal;
          legal.type = OperationType::BATCH_MATMUL;
          const Shape left = isLeft ? Shape{3, depth, rows} : Shape{3, rows, depth};
          const Shape right = isRight ? Shape{3, columns, depth} : Shape{3, depth, columns};
          legal.inputs = {randomOperand(type, left, scaleOf(0.5f), zeroOf(7), random),
                          randomOperand(type, right, scaleOf(0.25f), zeroOf(-9), random),
                          TestOperand::boolean(isLeft), TestOperand::boolean(isRight)};
          legal.outputs = {TestOperand::output(type, scaleOf(20.0f), zeroOf(3))};
          checkCase(legal, sides == 1 ? 1 : 2);
          ASSERT_FALSE(HasFailure())
              << rows << " x " << depth << " x " << columns << ", transposed " << isLeft << isRight;
        }
      }
    }
  }
}

// The last two scales of the result leave the fixed point of sums.
TEST_P(TilesTest, SumsOfBytes) {
  std::mt19937 random(1);
  for (const OperationType operation : {OperationType::ADD, OperationType::SUB}) {
    for (const OperandType type :
         {OperandType::TENSOR_QUANT8_ASYMM, OperandType::TENSOR_QUANT8_ASYMM_SIGNED}) {
      for (const float scale : {0.5f, 1.0f, 0.0123f, 100.0f, 0.001f, 1000.0f}) {
        for (const Shape& second : {Shape{2, 8, 4}, Shape{8, 4}, Shape{4}, Shape{1}, Shape{8, 1}}) {
          LegalCase legal;
          legal.type = operation;
          const int32_t zeroPoint = type == OperandType::TENSOR_QUANT8_ASYMM ? 200 : -77;
          legal.inputs = {randomOperand(type, {2, 8, 4}, 0.5f, zeroPoint, random),
                          randomOperand(type, second, 0.37f, zeroPoint - 30, random),
                          TestOperand::int32(scale == 1.0f ? 1 : 0)};
          legal.outputs = {TestOperand::output(type, scale, zeroPoint - 5)};
          checkCase(legal, 2);
          ASSERT_FALSE(HasFailure())
              << operationTypeName(operation) << " of " << operandTypeName(type) << " to " << scale
              << ", second " << shapeText(second);
        }
      }
    }
  }
}

// In blocks of 4 x 4 elements, if all distances are multiples of four.
TEST_P(TilesTest, Transpositions) {
  const Shape kShapes[] = {{2, 8, 12, 4}, {1, 5, 8, 8}, {3, 4, 4, 16}, {1, 6, 7, 3}};
  const std::vector<int32_t> kOrders[] = {
      {0, 3, 1, 2}, {0, 2, 3, 1}, {3, 2, 1, 0}, {0, 2, 1, 3}, {1, 0, 3, 2}};
  std::mt19937 random(1);
  for (const Shape& shape : kShapes) {
    for (const std::vector<int32_t>& order : kOrders) {
      for (const OperandType type : {OperandType::TENSOR_FLOAT32, OperandType::TENSOR_FLOAT16,
                                     OperandType::TENSOR_QUANT8_ASYMM}) {
        const bool isByte = type == OperandType::TENSOR_QUANT8_ASYMM;
        LegalCase legal;
        legal.type = OperationType::TRANSPOSE;
        legal.inputs = {randomOperand(type, shape, isByte ? 1.0f : 0, 0, random),
                        TestOperand::of<int32_t>(OperandType::TENSOR_INT32, {4}, order)};
        legal.outputs = {TestOperand::output(type, isByte ? 1.0f : 0)};
        checkCase(legal);
        ASSERT_FALSE(HasFailure()) << operandTypeName(type) << " " << shapeText(shape) << " by "
                                   << order[0] << order[1] << order[2] << order[3];
      }
    }
  }
}

TEST_P(TilesTest, Resizes) {
  std::mt19937 random(1);
  for (const OperationType operation :
       {OperationType::RESIZE_BILINEAR, OperationType::RESIZE_NEAREST_NEIGHBOR}) {
    for (const uint32_t channels : {1, 3, 4, 6, 8}) {
      for (const int options : {0, 1, 2, 4, 5}) {
        for (const int32_t size : {3, 13}) {
          for (const bool isByte : {false, true}) {
            const OperandType type =
                isByte ? OperandType::TENSOR_QUANT8_ASYMM : OperandType::TENSOR_FLOAT32;
            const bool nchw = options >= 4;
            const Shape shape = nchw ? Shape{2, channels, 7, 5} : Shape{2, 7, 5, channels};
            LegalCase legal;
            legal.type = operation;
            legal.inputs = {randomOperand(type, shape, isByte ? 1.0f : 0, 0, random),
                            TestOperand::int32(size),
                            TestOperand::int32(size + 1),
                            TestOperand::boolean(nchw),
                            TestOperand::boolean((options & 1) != 0),
                            TestOperand::boolean((options & 2) != 0)};
            legal.outputs = {TestOperand::output(type, isByte ? 1.0f : 0)};
            checkCase(legal);
            ASSERT_FALSE(HasFailure()) << operationTypeName(operation) << " of " << channels
                                       << " channels, options " << options << ", to " << size;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shaders, TilesTest, testing::kShaderForms, testing::shaderFormName);

}  // namespace
}  // namespace halyard::vulkandriver
