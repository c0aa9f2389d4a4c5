// Tests of AVERAGE_POOL_2D, L2_POOL_2D and MAX_POOL_2D against the definition in plain loops, and
// of their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/random_for_test.h"
#include "ops/testing/random_window.h"

namespace halyard::ops::testing {
namespace {

using ::testing::HasSubstr;
using enum OperandType;

constexpr OperandType kPoolTypes[] = {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM,
                                      TENSOR_QUANT8_ASYMM_SIGNED};

std::vector<double> pool(OperationType type, const TestWindow& window, const TestOperand& image) {
  const std::vector<double> x = realValues(image);
  const int batch = static_cast<int>(image.tensor.dims[0]);
  const int channels = static_cast<int>(image.tensor.dims[3]);
  const TestAxis& height = window.height;
  const TestAxis& width = window.width;
  std::vector<double> result;
  for (int n = 0; n < batch; ++n) {
    for (int i = 0; i < height.output; ++i) {
      for (int j = 0; j < width.output; ++j) {
        for (int c = 0; c < channels; ++c) {
          double sum = 0;
          double squares = 0;
          double largest = -1e30;
          int count = 0;
          for (int u = 0; u < height.filter; ++u) {
            for (int v = 0; v < width.filter; ++v) {
              const int y = height.source(i, u);
              const int z = width.source(j, v);
              if (!height.inside(y) || !width.inside(z)) continue;
              const double value = x[((n * height.input + y) * width.input + z) * channels + c];
              sum += value;
              squares += value * value;
              largest = std::max(largest, value);
              ++count;
            }
          }
          result.push_back(type == OperationType::MAX_POOL_2D  ? largest
                           : type == OperationType::L2_POOL_2D ? std::sqrt(squares / count)
                                                               : sum / count);
        }
      }
    }
  }
  return result;
}

void checkOne(RandomOperands& random, OperationType operation, OperandType type,
              const TestWindow& window, uint32_t batch, uint32_t channels) {
  const auto size = [](int n) { return static_cast<uint32_t>(n); };
  const TestOperand image =
      random.tensor(type, {batch, size(window.height.input), size(window.width.input), channels});
  const auto code = static_cast<FuseCode>(random.between(0, 3));
  std::vector<double> expected = pool(operation, window, image);
  std::vector<TestOperand> inputs = {window.nchw ? toNchw(image) : image};
  window.appendPaddingAndStrides(inputs);
  inputs.push_back(TestOperand::int32(window.width.filter));
  inputs.push_back(TestOperand::int32(window.height.filter));
  inputs.push_back(TestOperand::int32(static_cast<int>(code)));
  window.appendLayoutAndDilations(inputs);
  std::vector<TestOperand> outputs = {
      isQuant8Asymm(type) ? TestOperand::output(type, image.tensor.scale, image.tensor.zeroPoint)
                          : TestOperand::output(type)};
  const std::string what =
      fmt::format("{} {}, batch {}, channels {}, activation {}, {}", operationTypeName(operation),
                  operandTypeName(type), batch, channels, static_cast<int>(code), window.text());
  const Status status = runOperation(operation, inputs, outputs);
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

TEST(Pool2d, AgreesWithDefinitionInAllForms) {
  RandomOperands random(37);
  for (int round = 0; round < 200; ++round) {
    for (OperandType type : kPoolTypes) {
      for (OperationType operation : {OperationType::AVERAGE_POOL_2D, OperationType::L2_POOL_2D,
                                      OperationType::MAX_POOL_2D}) {
        if (operation == OperationType::L2_POOL_2D && isQuant8Asymm(type)) continue;
        const TestWindow window = randomWindow(random, /*mayDilate=*/false);
        checkOne(random, operation, type, window, random.oneOf<uint32_t>({1, 1, 1, 2, 3, 0}),
                 static_cast<uint32_t>(random.between(1, 70)));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Pool2d, AveragesRoundHalfAwayFromZero) {
  // Averages of 2.5 and -2.5, in stored values.
  std::vector<TestOperand> inputs = {
      TestOperand::of<int8_t>(TENSOR_QUANT8_ASYMM_SIGNED, {1, 1, 2, 2}, {2, -2, 3, -3}, 1.0f, 0)};
  for (int scalar : {2, 1, 1, 2, 1, 0}) inputs.push_back(TestOperand::int32(scalar));
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_QUANT8_ASYMM_SIGNED, 1.0f, 0)};
  ASSERT_TRUE(runOperation(OperationType::AVERAGE_POOL_2D, inputs, outputs).ok());
  EXPECT_EQ(outputs[0].values<int8_t>(), (std::vector<int8_t>{3, -3}));
}

// More cells than int32 can add up at 255 each.
TEST(Pool2d, AveragesHugeWindows) {
  constexpr uint32_t kSide = 3000;
  std::vector<TestOperand> inputs = {
      TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {1, kSide, kSide, 1},
                               std::vector<uint8_t>(kSide * kSide, 255), 1.0f, 0)};
  for (int scalar : {2, 1, 1, 3000, 3000, 0}) inputs.push_back(TestOperand::int32(scalar));
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_QUANT8_ASYMM, 1.0f, 0)};
  ASSERT_TRUE(runOperation(OperationType::AVERAGE_POOL_2D, inputs, outputs).ok());
  EXPECT_EQ(outputs[0].values<uint8_t>(), std::vector<uint8_t>{255});
}

class Pool2dErrors : public ::testing::Test {
 protected:
  // Inputs 1 to 9 of the explicit form: pads, strides, filter sizes, activation.
  std::string errorOf(std::vector<int32_t> scalars, Shape dims = {1, 4, 5, 2},
                      float outputScale = 0.5f) {
    for (OperationType operation : {OperationType::AVERAGE_POOL_2D, OperationType::MAX_POOL_2D}) {
      std::vector<TestOperand> inputs = {random_.tensor(TENSOR_QUANT8_ASYMM, dims)};
      inputs[0].tensor.scale = 0.5f;
      inputs[0].tensor.zeroPoint = 3;
      for (int32_t scalar : scalars) inputs.push_back(TestOperand::int32(scalar));
      std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_QUANT8_ASYMM, outputScale, 3)};
      text_[operation == OperationType::MAX_POOL_2D] =
          runOperation(operation, inputs, outputs).toString();
    }
    EXPECT_EQ(text_[0], text_[1]);
    return text_[0];
  }
  RandomOperands random_{3};
  std::string text_[2];
};

TEST_F(Pool2dErrors, NameWhatIsWrong) {
  EXPECT_EQ(errorOf({0, 0, 0, 0, 1, 1, 2, 3, 0}), "OK");
  EXPECT_EQ(errorOf({0, 0, 0, 0, 1, 1, 0, 3, 0}),
            "OP_FAILED: filter width is 0, expected more than 0");
  EXPECT_EQ(errorOf({0, 0, 0, 0, 1, -1, 2, 3, 0}),
            "OP_FAILED: stride height is -1, expected more than 0");
  EXPECT_EQ(errorOf({0, 0, 3, 0, 1, 1, 2, 3, 0}),
            "OP_FAILED: top padding is 3, expected less than the height of the dilated filter, 3");
  EXPECT_THAT(errorOf({0, 0, 0, 0, 1, 1, 2, 5, 0}), HasSubstr("exceeds the padded input's 4"));
  EXPECT_THAT(errorOf({0, 0, 0, 0, 1, 1, 2, 3, 7}), HasSubstr("activation is 7"));
  EXPECT_THAT(errorOf({0, 0, 0, 0, 1, 1, 2, 3, 0}, {4, 5, 2}), HasSubstr("expected rank 4"));
  EXPECT_THAT(errorOf({0, 0, 0, 0, 1, 1, 2, 3, 0}, {1, 4, 5, 0}), HasSubstr("zero-sized"));
  EXPECT_THAT(errorOf({0, 0, 0, 0, 1, 1, 2, 3, 0}, {1, 4, 5, 2}, 0.25f),
              HasSubstr("expected those of the input"));
}

TEST_F(Pool2dErrors, HugeScalarsDoNotOverflow) {
  constexpr int32_t kMax = INT32_MAX;
  EXPECT_THAT(errorOf({kMax - 1, kMax - 1, kMax - 1, kMax - 1, 1, 1, kMax, kMax, 0}),
              HasSubstr("more than 4294967295 bytes"));
  EXPECT_EQ(errorOf({kMax - 1, 0, kMax - 1, 0, kMax, kMax, kMax, kMax, 0}), "OK");
  // Implicit, SAME.
  EXPECT_EQ(errorOf({1, kMax, kMax, kMax, kMax, 0}), "OK");
}

TEST(Pool2dSignature, FeatureLevels) {
  OperationType pooling = OperationType::AVERAGE_POOL_2D;
  const auto levelOf = [&](OperandType type, size_t scalars, bool layout) {
    Model model;
    Operation operation;
    operation.type = pooling;
    const auto add = [&](OperandType operandType, Shape dims) {
      Operand operand;
      operand.type = operandType;
      operand.dimensions = std::move(dims);
      model.main.operands.push_back(operand);
      return static_cast<uint32_t>(model.main.operands.size() - 1);
    };
    operation.inputs = {add(type, {1, 2, 2, 3})};
    for (size_t i = 0; i < scalars; ++i) operation.inputs.push_back(add(INT32, {}));
    if (layout) operation.inputs.push_back(add(BOOL, {}));
    operation.outputs = {add(type, {})};
    model.main.operations = {operation};
    const Result<FeatureLevel> level = checkSignature(definitionOf(pooling)->signature,
                                                      OperationView(model, model.main, operation));
    return level.ok() ? static_cast<int>(level.value()) : 0;
  };
  for (size_t scalars : {size_t{6}, size_t{9}}) {
    EXPECT_EQ(levelOf(TENSOR_FLOAT32, scalars, false), 1);
    EXPECT_EQ(levelOf(TENSOR_QUANT8_ASYMM, scalars, false), 1);
    EXPECT_EQ(levelOf(TENSOR_QUANT8_ASYMM, scalars, true), 3);
    EXPECT_EQ(levelOf(TENSOR_FLOAT16, scalars, false), 3);
    EXPECT_EQ(levelOf(TENSOR_QUANT8_ASYMM_SIGNED, scalars, true), 4);
  }
  EXPECT_EQ(levelOf(TENSOR_FLOAT32, 8, false), 0);
  EXPECT_EQ(levelOf(TENSOR_INT32, 6, false), 0);
  pooling = OperationType::L2_POOL_2D;
  EXPECT_EQ(levelOf(TENSOR_FLOAT32, 6, false), 1);
  EXPECT_EQ(levelOf(TENSOR_FLOAT32, 9, true), 3);
  EXPECT_EQ(levelOf(TENSOR_FLOAT16, 6, false), 3);
  EXPECT_EQ(levelOf(TENSOR_QUANT8_ASYMM, 6, false), 0);
  EXPECT_EQ(levelOf(TENSOR_QUANT8_ASYMM_SIGNED, 6, false), 0);
}

}  // namespace
}  // namespace halyard::ops::testing
