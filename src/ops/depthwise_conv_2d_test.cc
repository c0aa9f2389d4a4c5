// Tests of DEPTHWISE_CONV_2D against the definition in plain loops over real numbers, and of its
// errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/conv_for_test.h"

namespace halyard::ops::testing {
namespace {

using ::testing::HasSubstr;
using enum OperandType;

void checkDepthwise(RandomOperands& random, const ConvTypeCase& type, const TestWindow& window,
                    uint32_t batch, uint32_t depth, uint32_t multiplier) {
  const auto size = [](int n) { return static_cast<uint32_t>(n); };
  const uint32_t channels = depth * multiplier;
  const TestOperand image =
      random.tensor(type.type, {batch, size(window.height.input), size(window.width.input), depth});
  const Shape filterDims = {1, size(window.height.filter), size(window.width.filter), channels};
  const TestOperand filter = type.perChannel ? random.perChannelFilter(filterDims, 3)
                                             : random.tensor(type.type, filterDims);
  const TestOperand bias = random.bias(image, filter, channels);
  const auto code = static_cast<FuseCode>(random.between(0, 3));
  std::vector<TestOperand> rest = {filter, bias};
  window.appendPaddingAndStrides(rest);
  rest.push_back(TestOperand::int32(static_cast<int>(multiplier)));
  rest.push_back(TestOperand::int32(static_cast<int>(code)));
  window.appendLayoutAndDilations(rest);
  checkImageOperation(
      random, OperationType::DEPTHWISE_CONV_2D, window.nchw, image, rest,
      convolved(window, static_cast<int>(depth), static_cast<int>(depth), realValues(image),
                depthwiseAsGrouped(realValues(filter), channels), biasReals(bias, image, filter)),
      {batch, size(window.height.output), size(window.width.output), channels}, code,
      fmt::format("{}, batch {}, depth {} x {}, activation {}, {}", type.text(), batch, depth,
                  multiplier, static_cast<int>(code), window.text()),
      0);
}

TEST(DepthwiseConv2d, AgreesWithDefinitionInAllForms) {
  RandomOperands random(17);
  for (int round = 0; round < 250; ++round) {
    for (const ConvTypeCase& type : kConvTypes) {
      const TestWindow window = randomWindow(random, /*mayDilate=*/true);
      checkDepthwise(random, type, window, random.oneOf<uint32_t>({1, 1, 1, 2, 3, 0}),
                     static_cast<uint32_t>(random.between(1, 9)),
                     random.oneOf<uint32_t>({1, 1, 2, 3, 8}));
      if (HasFatalFailure()) return;
    }
  }
}

// More channels than vectors hold, and more sums than the kernel keeps at a time.
TEST(DepthwiseConv2d, AgreesWithDefinitionOnManyChannels) {
  RandomOperands random(18);
  TestWindow window;
  window.scheme = 1;
  window.height = {4, 3, 1, 1, 1, 1, 4};
  window.width = {19, 3, 2, 1, 1, 1, 10};
  for (const ConvTypeCase& type : kConvTypes) {
    checkDepthwise(random, type, window, 2, 1003, 1);
    checkDepthwise(random, type, window, 1, 9001, 1);
    checkDepthwise(random, type, window, 1, 1, 517);
  }
}

class DepthwiseConv2dErrors : public ::testing::Test {
 protected:
  // 1x4x5x3 image, 3x2 filter, multiplier 2, no padding.
  std::vector<TestOperand> validInputs() {
    std::vector<TestOperand> inputs = {random_.tensor(TENSOR_FLOAT32, {1, 4, 5, 3}),
                                       random_.tensor(TENSOR_FLOAT32, {1, 3, 2, 6}),
                                       random_.tensor(TENSOR_FLOAT32, {6})};
    for (int scalar : {0, 0, 0, 0, 1, 1, 2, 0}) inputs.push_back(TestOperand::int32(scalar));
    return inputs;
  }
  std::string errorOf(std::vector<TestOperand> inputs) {
    std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
    return runOperation(OperationType::DEPTHWISE_CONV_2D, inputs, outputs).toString();
  }
  RandomOperands random_{3};
};

TEST_F(DepthwiseConv2dErrors, NameWhatIsWrong) {
  EXPECT_EQ(errorOf(validInputs()), "OK");
  std::vector<TestOperand> inputs = validInputs();
  inputs[1] = random_.tensor(TENSOR_FLOAT32, {2, 3, 2, 6});
  EXPECT_EQ(errorOf(inputs), "OP_FAILED: filter [2,3,2,6] has a first dimension of 2, expected 1");
  inputs = validInputs();
  inputs[9] = TestOperand::int32(3);
  EXPECT_EQ(errorOf(inputs),
            "OP_FAILED: filter has 6 channels, expected 3 of the input times depth multiplier 3");
  for (int multiplier : {0, -2, INT32_MIN}) {
    inputs[9] = TestOperand::int32(multiplier);
    EXPECT_THAT(errorOf(inputs), HasSubstr("expected more than 0"));
  }
  inputs[9] = TestOperand::int32(INT32_MAX);
  EXPECT_THAT(errorOf(inputs), HasSubstr("times depth multiplier 2147483647"));
  inputs = validInputs();
  inputs[2] = random_.tensor(TENSOR_FLOAT32, {3});
  EXPECT_THAT(errorOf(inputs), HasSubstr("bias has shape [3], expected [6]"));
  inputs = validInputs();
  inputs[8] = TestOperand::int32(0);
  EXPECT_EQ(errorOf(inputs), "OP_FAILED: stride height is 0, expected more than 0");
  inputs = validInputs();
  inputs[10] = TestOperand::int32(-1);
  EXPECT_THAT(errorOf(inputs), HasSubstr("activation is -1"));
}

TEST(DepthwiseConv2dSignature, PerChannelScalesRunAlongTheLastDimension) {
  const OperationDefinition* definition = definitionOf(OperationType::DEPTHWISE_CONV_2D);
  for (uint32_t channelDim : {0u, 3u}) {
    Model model;
    const auto add = [&](OperandType type, Shape dims, float scale) {
      Operand operand;
      operand.type = type;
      operand.dimensions = std::move(dims);
      operand.scale = scale;
      model.main.operands.push_back(operand);
      return static_cast<uint32_t>(model.main.operands.size() - 1);
    };
    Operation operation;
    operation.type = OperationType::DEPTHWISE_CONV_2D;
    operation.inputs = {add(TENSOR_QUANT8_ASYMM, {1, 2, 2, 1}, 1),
                        add(TENSOR_QUANT8_SYMM_PER_CHANNEL, {1, 1, 1, 1}, 0),
                        add(TENSOR_INT32, {1}, 0)};
    model.main.operands[1].extraParams = SymmPerChannelQuantParams{{1.0f}, channelDim};
    for (int i = 0; i < 5; ++i) operation.inputs.push_back(add(INT32, {}, 0));
    operation.outputs = {add(TENSOR_QUANT8_ASYMM, {1, 2, 2, 1}, 1)};
    model.main.operations = {operation};
    const Result<FeatureLevel> level =
        checkSignature(definition->signature, OperationView(model, model.main, operation));
    if (channelDim == 3) {
      ASSERT_TRUE(level.ok()) << level.status().toString();
      EXPECT_EQ(level.value(), FeatureLevel::FL3);
    } else {
      EXPECT_THAT(level.status().toString(), HasSubstr("dimension 0, expected dimension 3"));
    }
  }
}

}  // namespace
}  // namespace halyard::ops::testing
