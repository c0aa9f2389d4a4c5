// Convolutions, full connections and pools at the edges of tiles, against the reference kernels.
// Both forms of the shaders are tested: for devices that compute on the processor, and for GPUs.
#include <gtest/gtest.h>

#include <random>

#include "case_for_test.h"
#include "ops/testing/searched_case.h"
#include "vulkan_driver.h"

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
};

// The types of input and filter, with their quantisation.
struct Types {
  OperandType input = OperandType::TENSOR_FLOAT32;
  OperandType filter = OperandType::TENSOR_FLOAT32;
  OperandType bias = OperandType::TENSOR_FLOAT32;
  float scale = 0;
  int32_t zeroPoint = 0;
  float filterScale = 0;
  int32_t filterZeroPoint = 0;
};

TestOperand randomOperand(OperandType type, const Shape& dims, float scale, int32_t zeroPoint,
                          std::mt19937& random) {
  size_t count = 1;
  for (const uint32_t extent : dims) count *= extent;
  if (type == OperandType::TENSOR_FLOAT32) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(random() % 2001) / 1000 - 1;
    return TestOperand::of<float>(type, dims, values);
  }
  if (type == OperandType::TENSOR_INT32) {
    std::vector<int32_t> values(count);
    for (int32_t& value : values) value = static_cast<int32_t>(random() % 2001) - 1000;
    return TestOperand::of<int32_t>(type, dims, values, scale, zeroPoint);
  }
  std::vector<uint8_t> values(count);
  for (uint8_t& value : values) value = static_cast<uint8_t>(random());
  return TestOperand::of<uint8_t>(type, dims, values, scale, zeroPoint);
}

LegalCase caseOf(const Layer& layer, const Types& types) {
  std::mt19937 random(layer.size * 31 + layer.channels);
  LegalCase legal;
  legal.type = layer.type;
  const bool isPool =
      layer.type == OperationType::MAX_POOL_2D || layer.type == OperationType::AVERAGE_POOL_2D;
  const bool isDepthwise = layer.type == OperationType::DEPTHWISE_CONV_2D;
  const bool isFull = layer.type == OperationType::FULLY_CONNECTED;
  const Shape image = isFull ? Shape{layer.batch, layer.depth}
                             : Shape{layer.batch, layer.size, layer.size, layer.depth};
  legal.inputs.push_back(randomOperand(types.input, image, types.scale, types.zeroPoint, random));
  const float sumScale = types.scale * types.filterScale;
  if (!isPool) {
    Shape filter = {layer.channels, layer.filter, layer.filter, layer.depth};
    if (isDepthwise) filter = {1, layer.filter, layer.filter, layer.channels};
    if (isFull) filter = {layer.channels, layer.depth};
    legal.inputs.push_back(
        randomOperand(types.filter, filter, types.filterScale, types.filterZeroPoint, random));
    legal.inputs.push_back(randomOperand(types.bias, {layer.channels}, sumScale, 0, random));
  }
  const auto add = [&](int32_t value) { legal.inputs.push_back(TestOperand::int32(value)); };
  if (!isFull) {
    add(1);  // SAME
    add(layer.stride);
    add(layer.stride);
    if (isPool) add(static_cast<int32_t>(layer.filter));
    if (isPool) add(static_cast<int32_t>(layer.filter));
    if (isDepthwise) add(static_cast<int32_t>(layer.channels / layer.depth));
  }
  add(layer.activation);
  if (layer.dilation > 1) {
    legal.inputs.push_back(TestOperand::boolean(false));
    add(layer.dilation);
    add(layer.dilation);
  }
  const float scale = isPool ? types.scale : sumScale * 300;
  legal.outputs.push_back(TestOperand::output(types.input, scale, types.zeroPoint));
  return legal;
}

// The model of a case; all inputs but the first are constants.
Model modelOf(const LegalCase& legal) {
  Model model = ops::testing::toModel(legal);
  for (const uint32_t input : model.main.inputIndexes) {
    if (input == 0) continue;
    Operand& operand = model.main.operands[input];
    const std::vector<uint8_t>& bytes = legal.inputs[input].bytes;
    operand.lifetime = Lifetime::CONSTANT_COPY;
    operand.location = appendConstant(model, bytes.data(), bytes.size());
  }
  model.main.inputIndexes = {0};
  return model;
}

class TilesTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::vector<std::string> arguments = {"--software"};
    if (!GetParam().empty()) arguments.push_back(GetParam());
    const auto made = makeVulkanDriver(arguments);
    if (!made.ok()) {
      GTEST_SKIP() << "NO VULKAN DEVICE, NOTHING IS TESTED: " << made.status().toString();
    }
    device_ = *made;
  }

  void check(const std::vector<Layer>& layers) {
    const Types kTypes[] = {
        {},
        {OperandType::TENSOR_QUANT8_ASYMM, OperandType::TENSOR_QUANT8_ASYMM,
         OperandType::TENSOR_INT32, 0.5f, 127, 0.25f, 3},
        {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, OperandType::TENSOR_QUANT8_ASYMM_SIGNED,
         OperandType::TENSOR_INT32, 0.5f, -5, 0.25f, 0},
    };
    for (const Types& types : kTypes) {
      for (const Layer& layer : layers) {
        LegalCase legal = caseOf(layer, types);
        const Status tried = ops::testing::tryCase(*ops::definitionOf(layer.type), legal);
        ASSERT_TRUE(tried.ok()) << tried.toString();
        EXPECT_TRUE(testing::check(*device_, modelOf(legal), legal));
        if (HasFailure()) {
          FAIL() << operationTypeName(layer.type) << " of " << operandTypeName(types.input)
                 << ": size " << layer.size << ", depth " << layer.depth << ", channels "
                 << layer.channels << ", filter " << layer.filter << ", stride " << layer.stride;
        }
      }
    }
  }

  std::shared_ptr<hal::Device> device_;
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

TEST_P(TilesTest, LargeImages) {
  check({{.size = 96, .depth = 3, .channels = 24, .filter = 3, .stride = 2, .activation = 3},
         {.size = 64, .depth = 24, .channels = 96, .activation = 3}});
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

TEST_P(TilesTest, ProductsOfMatrices) {
  std::mt19937 random(1);
  for (const uint32_t rows : {1, 5, 33, 70}) {
    for (const uint32_t columns : {1, 6, 8, 20}) {
      for (const uint32_t depth : {4, 7, 32}) {
        for (const bool isTransposed : {false, true}) {
          LegalCase legal;
          legal.type = OperationType::BATCH_MATMUL;
          const auto type = OperandType::TENSOR_FLOAT32;
          const Shape right = isTransposed ? Shape{3, columns, depth} : Shape{3, depth, columns};
          legal.inputs = {randomOperand(type, {3, rows, depth}, 0, 0, random),
                          randomOperand(type, right, 0, 0, random), TestOperand::boolean(false),
                          TestOperand::boolean(isTransposed)};
          legal.outputs = {TestOperand::output(type)};
          const Status tried = ops::testing::tryCase(*ops::definitionOf(legal.type), legal);
          ASSERT_TRUE(tried.ok()) << tried.toString();
          EXPECT_TRUE(testing::check(*device_, modelOf(legal), legal));
          ASSERT_FALSE(HasFailure()) << rows << " x " << depth << " x " << columns;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shaders, TilesTest, ::testing::Values("", "--gpu-shaders"),
                         [](const auto& info) { return info.param.empty() ? "Software" : "Gpu"; });

}  // namespace
}  // namespace halyard::vulkandriver
