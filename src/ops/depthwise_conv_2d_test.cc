// DEPTHWISE_CONV_2D against the definition as plain loops over real numbers, and its errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/window_for_test.h"

namespace halyard::ops::testing {
namespace {

using ::testing::HasSubstr;
using enum OperandType;

struct TypeCase {
  OperandType type;
  bool perChannel;
};
constexpr TypeCase kTypes[] = {{TENSOR_FLOAT32, false},
                               {TENSOR_FLOAT16, false},
                               {TENSOR_QUANT8_ASYMM, false},
                               {TENSOR_QUANT8_ASYMM, true},
                               {TENSOR_QUANT8_ASYMM_SIGNED, false},
                               {TENSOR_QUANT8_ASYMM_SIGNED, true}};

// [N,H',W',Co] before the activation.
std::vector<double> convolve(const TestWindow& window, const TestOperand& image,
                             const TestOperand& filter, const std::vector<double>& bias) {
  const std::vector<double> x = realValues(image);
  const std::vector<double> w = realValues(filter);
  const int batch = static_cast<int>(image.tensor.dims[0]);
  const int depth = static_cast<int>(image.tensor.dims[3]);
  const int channels = static_cast<int>(filter.tensor.dims[3]);
  const TestAxis& height = window.height;
  const TestAxis& width = window.width;
  std::vector<double> result;
  for (int n = 0; n < batch; ++n) {
    for (int i = 0; i < height.output; ++i) {
      for (int j = 0; j < width.output; ++j) {
        for (int c = 0; c < channels; ++c) {
          const int k = c / (channels / depth);
          double sum = bias[c];
          for (int u = 0; u < height.filter; ++u) {
            for (int v = 0; v < width.filter; ++v) {
              const int y = height.source(i, u);
              const int z = width.source(j, v);
              if (!height.inside(y) || !width.inside(z)) continue;
              sum += x[((n * height.input + y) * width.input + z) * depth + k] *
                     w[(u * width.filter + v) * channels + c];
            }
          }
          result.push_back(sum);
        }
      }
    }
  }
  return result;
}

void checkOne(RandomOperands& random, const TypeCase& type, const TestWindow& window,
              uint32_t batch, uint32_t depth, uint32_t multiplier) {
  const auto size = [](int n) { return static_cast<uint32_t>(n); };
  const uint32_t channels = depth * multiplier;
  const TestOperand image =
      random.tensor(type.type, {batch, size(window.height.input), size(window.width.input), depth});
  const Shape filterDims = {1, size(window.height.filter), size(window.width.filter), channels};
  const TestOperand filter = type.perChannel ? random.perChannelFilter(filterDims, 3)
                                             : random.tensor(type.type, filterDims);
  const TestOperand bias = random.bias(image, filter, channels);
  std::vector<double> biasReals = realValues(bias);
  if (type.perChannel) {
    for (size_t c = 0; c < channels; ++c) {
      biasReals[c] = static_cast<double>(image.tensor.scale) *
                     static_cast<double>(filter.tensor.channelQuant->scales[c]) *
                     bias.values<int32_t>()[c];
    }
  }
  const auto code = static_cast<FuseCode>(random.between(0, 3));
  std::vector<double> expected = convolve(window, image, filter, biasReals);
  double magnitude = 0.01;
  for (double value : expected) magnitude = std::max(magnitude, std::abs(value));

  std::vector<TestOperand> inputs = {window.nchw ? toNchw(image) : image, filter, bias};
  window.appendPaddingAndStrides(inputs);
  inputs.push_back(TestOperand::int32(static_cast<int>(multiplier)));
  inputs.push_back(TestOperand::int32(static_cast<int>(code)));
  window.appendLayoutAndDilations(inputs);
  std::vector<TestOperand> outputs = {random.output(type.type, magnitude)};
  const std::string what =
      fmt::format("{}{}, batch {}, depth {} x {}, activation {}, {}", operandTypeName(type.type),
                  type.perChannel ? " per channel" : "", batch, depth, multiplier,
                  static_cast<int>(code), window.text());
  const Status status = runOperation(OperationType::DEPTHWISE_CONV_2D, inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.toString() << "\n" << what;

  for (double& value : expected) value = activated(value, code);
  const Shape nhwc = {batch, size(window.height.output), size(window.width.output), channels};
  if (window.nchw) {
    EXPECT_EQ(outputs[0].tensor.dims, (Shape{nhwc[0], nhwc[3], nhwc[1], nhwc[2]})) << what;
    expected = permuted(expected, nhwc, false);
  } else {
    EXPECT_EQ(outputs[0].tensor.dims, nhwc) << what;
  }
  expectReals(outputs[0], expected, what);
}

TEST(DepthwiseConv2d, AgreesWithDefinitionInAllForms) {
  RandomOperands random(17);
  for (int round = 0; round < 250; ++round) {
    for (const TypeCase& type : kTypes) {
      const TestWindow window = randomWindow(random, /*mayDilate=*/true);
      checkOne(random, type, window, random.oneOf<uint32_t>({1, 1, 1, 2, 3, 0}),
               static_cast<uint32_t>(random.between(1, 9)),
               random.oneOf<uint32_t>({1, 1, 2, 3, 8}));
      if (HasFatalFailure()) return;
    }
  }
}

// More channels than vectors hold, and more sums than are kept at a time.
TEST(DepthwiseConv2d, AgreesWithDefinitionOnManyChannels) {
  RandomOperands random(18);
  TestWindow window;
  window.scheme = 1;
  window.height = {4, 3, 1, 1, 1, 1, 4};
  window.width = {19, 3, 2, 1, 1, 1, 10};
  for (const TypeCase& type : kTypes) {
    checkOne(random, type, window, 2, 1003, 1);
    checkOne(random, type, window, 1, 9001, 1);
    checkOne(random, type, window, 1, 1, 517);
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
