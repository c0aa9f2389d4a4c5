// The arithmetic of products: its choice by device and model, and the precision of float16.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "case_for_test.h"
#include "plan/model_recording.h"
#include "svdf_for_test.h"
#include "vulkan_driver.h"

namespace halyard::vulkandriver {
namespace {

constexpr uint32_t kDepth = 4608;
constexpr uint32_t kChannels = 32;

struct Types {
  OperandType type;
  bool isRelaxed = false;
  bool hasConstantBias = true;
};

// A full connection of `rows` with random weights from -1 to 1, and a bias of zeros.
struct FullConnection {
  Model model;
  std::vector<float> weights;
};
FullConnection fullConnection(uint32_t rows, const Types& types) {
  FullConnection made;
  Model& model = made.model;
  std::mt19937 random(rows);
  for (size_t i = 0; i < size_t{kChannels} * kDepth; ++i) {
    made.weights.push_back(static_cast<float>(random() % 2001) / 1000 - 1);
  }
  const bool isReal = types.type == OperandType::TENSOR_FLOAT32;
  const uint32_t in = testing::add(model, types.type, {rows, kDepth}, Lifetime::SUBGRAPH_INPUT);
  const uint32_t weights =
      testing::add(model, types.type, {kChannels, kDepth}, Lifetime::CONSTANT_COPY);
  const std::vector<uint8_t> zeros(size_t{kChannels} * kDepth * 4);
  model.main.operands[weights].location =
      appendConstant(model, isReal ? static_cast<const void*>(made.weights.data()) : zeros.data(),
                     size_t{kChannels} * kDepth * elementSize(types.type));
  const OperandType biasType = isQuant8Asymm(types.type) ? OperandType::TENSOR_INT32 : types.type;
  const uint32_t bias =
      testing::add(model, biasType, {kChannels},
                   types.hasConstantBias ? Lifetime::CONSTANT_COPY : Lifetime::SUBGRAPH_INPUT);
  if (types.hasConstantBias) {
    model.main.operands[bias].location =
        appendConstant(model, zeros.data(), kChannels * elementSize(biasType));
  }
  const uint32_t activation = testing::addInteger(model, 0);
  const uint32_t out =
      testing::add(model, types.type, {rows, kChannels}, Lifetime::SUBGRAPH_OUTPUT);
  for (const uint32_t operand : {in, weights, bias, out}) {
    if (isQuant8Asymm(types.type)) model.main.operands[operand].scale = 1;
  }
  model.main.operations = {
      {OperationType::FULLY_CONNECTED, {in, weights, bias, activation}, {out}}};
  model.relaxComputationFloat32toFloat16 = types.isRelaxed;
  return made;
}

Shader formOf(const Types& types, const ShaderForms& forms, uint32_t rows = 1) {
  const Model model = fullConnection(rows, types).model;
  Recording recording(model.main.operands.size(), forms);
  const Status answer = recordModel(model, INT32_MAX, recording).front();
  EXPECT_TRUE(answer.ok()) << answer.toString();
  return recording.dispatches().back().shader;
}

TEST(ArithmeticTest, IsThatOfDeviceAndModel) {
  using enum OperandType;
  const ShaderForms plain = {64, false, false};
  const ShaderForms all = {64, true, true};
  EXPECT_EQ(formOf({TENSOR_FLOAT32}, all), Shader::PRODUCT);
  EXPECT_EQ(formOf({TENSOR_FLOAT32, true}, plain), Shader::PRODUCT);
  EXPECT_EQ(formOf({TENSOR_FLOAT32, true}, all), Shader::PRODUCT_OF_HALVES);
  EXPECT_EQ(formOf({TENSOR_FLOAT16}, plain), Shader::PRODUCT);
  EXPECT_EQ(formOf({TENSOR_FLOAT16}, all), Shader::PRODUCT_OF_HALVES);
  for (const OperandType type : {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
    EXPECT_EQ(formOf({type}, plain), Shader::PRODUCT);
    EXPECT_EQ(formOf({type}, all), Shader::PRODUCT_OF_DOTS);
    // Such a sum may leave 32 bits.
    EXPECT_EQ(formOf({type, false, false}, all), Shader::PRODUCT);
  }
}

TEST(ArithmeticTest, MatricesNeedManyRows) {
  using enum OperandType;
  ShaderForms forms = {64, true, true};
  forms.matrices = {16, 16, 16, 2};
  EXPECT_EQ(formOf({TENSOR_FLOAT16}, forms, 63), Shader::PRODUCT_OF_HALVES);
  EXPECT_EQ(formOf({TENSOR_FLOAT16}, forms, 64), Shader::MATRICES);
  EXPECT_EQ(formOf({TENSOR_FLOAT32, true}, forms, 64), Shader::MATRICES);
  EXPECT_EQ(formOf({TENSOR_FLOAT32}, forms, 64), Shader::PRODUCT);
  EXPECT_EQ(formOf({TENSOR_QUANT8_ASYMM}, forms, 64), Shader::PRODUCT_OF_DOTS);
  forms.byteMatrices = {16, 16, 32, 2};
  EXPECT_EQ(formOf({TENSOR_QUANT8_ASYMM}, forms, 64), Shader::BYTE_MATRICES);
  EXPECT_EQ(formOf({TENSOR_QUANT8_ASYMM, false, false}, forms, 64), Shader::PRODUCT);
}

// Those of a device that computes on the processor are for tests only.
TEST(ArithmeticTest, MatricesAreThoseOfTheDevice) {
  DeviceChoice choice;
  choice.software = true;
  choice.gpuShaders = true;
  const auto plain = VulkanDevice::open(choice);
  if (!plain.ok()) GTEST_SKIP() << "NO VULKAN DEVICE: " << plain.status().toString();
  EXPECT_FALSE((*plain)->forms().matrices.isThere());
  EXPECT_FALSE((*plain)->forms().byteMatrices.isThere());
  choice.gpuArithmetic = true;
  const auto device = VulkanDevice::open(choice);
  ASSERT_TRUE(device.ok()) << device.status().toString();
  const ShaderForms& forms = (*device)->forms();
  if (!forms.matrices.isThere()) GTEST_SKIP() << "THE DEVICE HAS NO COOPERATIVE MATRICES";
  for (const MatrixSize& size : {forms.matrices, forms.byteMatrices}) {
    if (!size.isThere()) continue;
    EXPECT_EQ(64 % size.rows, 0u);
    EXPECT_EQ(32 % size.columns, 0u);
    EXPECT_EQ(64 / size.rows * (32 / size.columns) % size.subgroups, 0u);
  }
}

// The error of the sums, relative to the sums; both are root mean squares.
void checkPrecision(hal::Device& device, uint32_t rows) {
  const FullConnection full = fullConnection(rows, {OperandType::TENSOR_FLOAT32, true});
  const auto prepared = device.prepareModel(validated(full.model).value(), {});
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  std::mt19937 random(7);
  std::vector<float> in(size_t{rows} * kDepth);
  for (float& value : in) value = static_cast<float>(random() % 2001) / 1000 - 1;
  std::vector<float> out(size_t{rows} * kChannels);
  hal::Request request;
  request.inputs = {testing::argumentFor(in)};
  request.outputs = {testing::argumentFor(out)};
  const auto result = (*prepared)->executeSynchronously(request, {});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  double errors = 0;
  double squares = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    double sum = 0;
    for (size_t d = 0; d < kDepth; ++d) {
      sum += double{in[i / kChannels * kDepth + d]} * full.weights[i % kChannels * kDepth + d];
    }
    errors += (out[i] - sum) * (out[i] - sum);
    squares += sum * sum;
  }
  const double error = std::sqrt(errors / squares);
  EXPECT_LT(error, std::ldexp(1.0, -10)) << rows << " rows";
  // Otherwise float32 has been computed.
  EXPECT_GT(error, std::ldexp(1.0, -16)) << rows << " rows";
}

TEST(ArithmeticTest, SumsOfFloat16ArePrecise) {
  const std::string arguments[] = {"--software", "--gpu-arithmetic"};
  const auto device = makeVulkanDriver(arguments);
  if (!device.ok()) GTEST_SKIP() << "NO VULKAN DEVICE: " << device.status().toString();
  for (const uint32_t rows : {1, 40, 70}) checkPrecision(**device, rows);
}

}  // namespace
}  // namespace halyard::vulkandriver
