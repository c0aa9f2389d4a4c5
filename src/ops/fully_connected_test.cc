// Tests of FULLY_CONNECTED against the definition in plain loops over real numbers, and of its
// errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/random_for_test.h"

namespace halyard::ops::testing {
namespace {

using ::testing::HasSubstr;
using enum OperandType;

void checkOne(RandomOperands& random, OperandType type, const Shape& inputDims, uint32_t units,
              uint32_t depth) {
  const TestOperand input = random.tensor(type, inputDims);
  const TestOperand weights = random.tensor(type, {units, depth});
  const TestOperand bias = random.bias(input, weights, units);
  const auto code = static_cast<FuseCode>(random.between(0, 3));
  const std::vector<double> x = realValues(input);
  const std::vector<double> w = realValues(weights);
  const std::vector<double> b = realValues(bias);
  const auto batch = static_cast<uint32_t>(x.size() / depth);
  std::vector<double> expected;
  double magnitude = 0.01;
  for (size_t row = 0; row < batch; ++row) {
    for (size_t unit = 0; unit < units; ++unit) {
      double sum = b[unit];
      for (size_t k = 0; k < depth; ++k) sum += x[row * depth + k] * w[unit * depth + k];
      magnitude = std::max(magnitude, std::abs(sum));
      expected.push_back(activated(sum, code));
    }
  }
  std::vector<TestOperand> inputs = {input, weights, bias,
                                     TestOperand::int32(static_cast<int>(code))};
  std::vector<TestOperand> outputs = {random.output(type, magnitude)};
  const std::string what = fmt::format("{}, {} times {}x{}, activation {}", operandTypeName(type),
                                       batch, units, depth, static_cast<int>(code));
  const Status status = runOperation(OperationType::FULLY_CONNECTED, inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.toString() << "\n" << what;
  EXPECT_EQ(outputs[0].tensor.dims, (Shape{batch, units})) << what;
  expectReals(outputs[0], expected, what, 0x1p-24 * depth);
}

TEST(FullyConnected, AgreesWithDefinition) {
  RandomOperands random(27);
  for (int round = 0; round < 60; ++round) {
    for (OperandType type :
         {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      const auto depth = static_cast<uint32_t>(random.between(1, 70));
      const auto units = static_cast<uint32_t>(random.between(1, 70));
      const auto batch = static_cast<uint32_t>(random.between(0, 9));
      checkOne(random, type, {batch, depth}, units, depth);
      // Only together do these dimensions make rows of `depth`.
      checkOne(random, type, {batch, 2, depth}, units, depth);
      checkOne(random, type, {2 * batch, 3, 1, depth}, units, 2 * depth);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(FullyConnected, AgreesWithDefinitionOnLargeOnes) {
  RandomOperands random(28);
  for (OperandType type : {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
    checkOne(random, type, {1, 1280}, 1001, 1280);
    checkOne(random, type, {37, 515}, 301, 515);
  }
}

class FullyConnectedErrors : public ::testing::Test {
 protected:
  std::string errorOf(const Shape& input, const Shape& weights, const Shape& bias,
                      int activation = 0) {
    std::vector<TestOperand> inputs = {
        random_.tensor(TENSOR_FLOAT32, input), random_.tensor(TENSOR_FLOAT32, weights),
        random_.tensor(TENSOR_FLOAT32, bias), TestOperand::int32(activation)};
    std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
    return runOperation(OperationType::FULLY_CONNECTED, inputs, outputs).toString();
  }
  RandomOperands random_{3};
};

TEST_F(FullyConnectedErrors, NameWhatIsWrong) {
  EXPECT_EQ(errorOf({2, 6}, {4, 3}, {4}), "OK");
  EXPECT_EQ(errorOf({5}, {4, 5}, {4}), "OP_FAILED: input has rank 1 [5], expected rank 2 to 4");
  EXPECT_EQ(errorOf({2, 5}, {4, 5, 1}, {4}),
            "OP_FAILED: weights has rank 3 [4,5,1], expected rank 2");
  EXPECT_EQ(errorOf({2, 5}, {4, 3}, {4}),
            "OP_FAILED: input [2,5] cannot be split into rows of 3, the second dimension of "
            "weights [4,3]");
  EXPECT_THAT(errorOf({2, 5}, {0, 5}, {0}), HasSubstr("weights are zero-sized [0,5]"));
  EXPECT_THAT(errorOf({2, 5}, {4, 0}, {4}), HasSubstr("weights are zero-sized [4,0]"));
  EXPECT_THAT(errorOf({2, 0}, {4, 5}, {4}), HasSubstr("not the batch"));
  EXPECT_THAT(errorOf({2, 5}, {4, 5}, {5}), HasSubstr("bias has shape [5], expected [4]"));
  EXPECT_THAT(errorOf({2, 5}, {4, 5}, {4}, 9), HasSubstr("activation is 9"));
}

TEST(FullyConnectedSignature, FeatureLevels) {
  const OperationDefinition* definition = definitionOf(OperationType::FULLY_CONNECTED);
  const auto levelOf = [&](OperandType type, OperandType bias, float outputScale) {
    Model model;
    const float scale = isQuant8Asymm(type) ? 0.5f : 0.0f;
    for (const auto& [operandType, dims, operandScale] :
         {std::tuple{type, Shape{2, 3}, scale}, std::tuple{type, Shape{4, 3}, scale},
          std::tuple{bias, Shape{4}, scale * scale}, std::tuple{INT32, Shape{}, 0.0f},
          std::tuple{type, Shape{2, 4}, outputScale}}) {
      Operand operand;
      operand.type = operandType;
      operand.dimensions = dims;
      operand.scale = operandScale;
      model.main.operands.push_back(operand);
    }
    model.main.operations = {{OperationType::FULLY_CONNECTED, {0, 1, 2, 3}, {4}}};
    const Result<FeatureLevel> level = checkSignature(
        definition->signature, OperationView(model, model.main, model.main.operations[0]));
    return level.ok() ? static_cast<int>(level.value()) : 0;
  };
  EXPECT_EQ(levelOf(TENSOR_FLOAT32, TENSOR_FLOAT32, 0), 1);
  EXPECT_EQ(levelOf(TENSOR_FLOAT16, TENSOR_FLOAT16, 0), 3);
  EXPECT_EQ(levelOf(TENSOR_QUANT8_ASYMM, TENSOR_INT32, 0.3f), 1);
  EXPECT_EQ(levelOf(TENSOR_QUANT8_ASYMM, TENSOR_INT32, 0.25f), 3);
  EXPECT_EQ(levelOf(TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_INT32, 0.25f), 4);
  EXPECT_EQ(levelOf(TENSOR_QUANT8_ASYMM, TENSOR_FLOAT32, 0.3f), 0);
}

}  // namespace
}  // namespace halyard::ops::testing
