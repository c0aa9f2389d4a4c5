// Tests of TRANSPOSE_CONV_2D against the definition in plain loops over real numbers, and of its
// errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/conv_for_test.h"
#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum OperandType;

enum class Padding { EXPLICIT, SAME, VALID };

// One axis; `requested` is the size in the output shape operand.
struct Axis {
  TestAxis axis;
  int requested = 0;
};

Axis randomTransposedAxis(RandomOperands& random, Padding padding) {
  while (true) {
    Axis result;
    TestAxis& axis = result.axis;
    axis.filter = random.between(1, 5);
    axis.stride = random.between(1, 4);
    axis.input = random.between(1, 5);
    result.requested = random.between(1, 20);
    if (padding == Padding::EXPLICIT) {
      axis.padBefore = random.between(0, 3);
      axis.padAfter = random.between(-3, 3);
    } else if (padding == Padding::SAME) {
      // The size from which a convolution would make the input.
      if (random.coin())
        result.requested = axis.input * axis.stride - random.between(0, axis.stride - 1);
      const int steps = (result.requested + axis.stride - 1) / axis.stride;
      const int surplus = (steps - 1) * axis.stride + axis.filter - result.requested;
      axis.padBefore = std::max(0, surplus) / 2;
      axis.padAfter = surplus - axis.padBefore;
    }
    axis.output = (axis.input - 1) * axis.stride + axis.filter - axis.padBefore - axis.padAfter;
    if (axis.output > 0) return result;
  }
}

std::vector<TestOperand> scalars(const Axis& height, const Axis& width, Padding padding, bool nchw,
                                 FuseCode code) {
  TestWindow window;
  window.explicitPadding = padding == Padding::EXPLICIT;
  window.scheme = padding == Padding::SAME ? 1 : 2;
  window.layoutGiven = true;
  window.nchw = nchw;
  window.height = height.axis;
  window.width = width.axis;
  std::vector<TestOperand> result;
  if (!window.explicitPadding) {
    // Batch and channels of the output shape are ignored.
    result.push_back(nchw ? intList({9, 9, height.requested, width.requested})
                          : intList({9, height.requested, width.requested, 9}));
  }
  window.appendPaddingAndStrides(result);
  result.push_back(TestOperand::int32(static_cast<int>(code)));
  window.appendLayoutAndDilations(result);
  return result;
}

void checkOne(RandomOperands& random, const ConvTypeCase& type, const Axis& height,
              const Axis& width, Padding padding, uint32_t batch, uint32_t depth,
              uint32_t channels) {
  const auto size = [](int n) { return static_cast<uint32_t>(n); };
  const TestOperand image =
      random.tensor(type.type, {batch, size(height.axis.input), size(width.axis.input), depth});
  const Shape filterDims = {channels, size(height.axis.filter), size(width.axis.filter), depth};
  const TestOperand filter = type.perChannel ? random.perChannelFilter(filterDims, 0)
                                             : random.tensor(type.type, filterDims);
  const TestOperand bias = random.bias(image, filter, channels);
  const auto code = static_cast<FuseCode>(random.between(0, 3));
  const bool nchw = random.coin();
  TestWindow window;
  window.height = height.axis;
  window.width = width.axis;
  std::vector<TestOperand> rest = {filter, bias};
  for (const TestOperand& scalar : scalars(height, width, padding, nchw, code)) {
    rest.push_back(scalar);
  }
  checkImageOperation(
      random, OperationType::TRANSPOSE_CONV_2D, nchw, image, rest,
      transposeConvolved(window, static_cast<int>(depth), realValues(image), realValues(filter),
                         biasReals(bias, image, filter)),
      {batch, size(height.axis.output), size(width.axis.output), channels}, code,
      fmt::format("{}, padding {}, batch {}, depth {} -> {}, activation {}, nchw {}, {}",
                  type.text(), static_cast<int>(padding), batch, depth, channels,
                  static_cast<int>(code), nchw, window.text()),
      0x1p-24 * depth * height.axis.filter * width.axis.filter);
}

TEST(TransposeConv2d, AgreesWithDefinitionInAllForms) {
  RandomOperands random(91);
  for (int round = 0; round < 100; ++round) {
    for (const ConvTypeCase& type : kConvTypes) {
      for (Padding padding : {Padding::EXPLICIT, Padding::SAME, Padding::VALID}) {
        const Axis height = randomTransposedAxis(random, padding);
        const Axis width = randomTransposedAxis(random, padding);
        checkOne(random, type, height, width, padding, random.oneOf<uint32_t>({1, 1, 2, 3, 0}),
                 static_cast<uint32_t>(random.between(1, 7)),
                 static_cast<uint32_t>(random.between(1, 9)));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(TransposeConv2d, AgreesWithDefinitionOnLargerImages) {
  RandomOperands random(92);
  const Axis height = {{20, 4, 2, 1, 1, 1, 40}, 40};
  const Axis width = {{23, 3, 2, 1, 0, 1, 46}, 46};
  for (const ConvTypeCase& type : kConvTypes) {
    checkOne(random, type, height, width, Padding::SAME, 2, 65, 40);
  }
}

// The filter touches only every third output position.
TEST(TransposeConv2d, GapsHoldTheActivatedBias) {
  std::vector<TestOperand> inputs = {TestOperand::of<float>(TENSOR_FLOAT32, {1, 1, 2, 1}, {1, 2}),
                                     TestOperand::of<float>(TENSOR_FLOAT32, {1, 1, 1, 1}, {10}),
                                     TestOperand::of<float>(TENSOR_FLOAT32, {1}, {-3})};
  for (int scalar : {1, -2, 0, 0, 3, 1, 0}) inputs.push_back(TestOperand::int32(scalar));
  inputs.push_back(TestOperand::boolean(false));
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  ASSERT_TRUE(runOperation(OperationType::TRANSPOSE_CONV_2D, inputs, outputs).ok());
  EXPECT_THAT(outputs[0].values<float>(), ElementsAre(-3, -3, 17, -3, -3));
  inputs[9] = TestOperand::int32(1);
  ASSERT_TRUE(runOperation(OperationType::TRANSPOSE_CONV_2D, inputs, outputs).ok());
  EXPECT_THAT(outputs[0].values<float>(), ElementsAre(0, 0, 17, 0, 0));
}

// Records the longest loop of the kernel.
class CountingServices : public InlineServices {
 public:
  void parallelFor(size_t count, size_t grain,
                   const std::function<void(size_t, size_t)>& body) override {
    most = std::max(most, count);
    InlineServices::parallelFor(count, grain, body);
  }
  size_t most = 0;
};

// A tiny model with large strides. Apart from filling the output line by line, the work depends on
// the taps only.
TEST(TransposeConv2d, LargeStridesCostNoProducts) {
  for (const auto& [stride, pad] : std::vector<std::pair<int, int>>{{1000, 0}, {1000, 1}}) {
    std::vector<TestOperand> inputs = {
        TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {1, 2, 2, 1}, {11, 12, 13, 14}, 1, 10),
        TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {1, 1, 1, 1}, {2}, 1, 0),
        TestOperand::of<int32_t>(TENSOR_INT32, {1}, {5}, 1)};
    for (int scalar : {pad, 0, pad, 0, stride, stride, 0}) {
      inputs.push_back(TestOperand::int32(scalar));
    }
    inputs.push_back(TestOperand::boolean(false));
    std::vector<Tensor> in;
    for (TestOperand& operand : inputs) {
      in.push_back(operand.tensor);
      in.back().data = operand.bytes.data();
    }
    std::vector<Tensor> out = {TestOperand::output(TENSOR_QUANT8_ASYMM, 1, 0).tensor};
    CountingServices services;
    OperationContext context(in, out, &services);
    const OperationDefinition& definition = *definitionOf(OperationType::TRANSPOSE_CONV_2D);
    ASSERT_TRUE(inferShapes(definition, context).ok());
    const auto size = static_cast<uint32_t>(stride + 1 - pad);
    ASSERT_EQ(out[0].dims, (Shape{1, size, size, 1}));
    std::vector<uint8_t> results(out[0].elementCount());
    out[0].data = results.data();
    ASSERT_TRUE(runReference(definition, context).ok());
    EXPECT_LE(services.most, size);
    std::vector<uint8_t> expected(results.size(), 5);
    const size_t last = results.size() - 1;
    expected[last] = 5 + 8;
    if (pad == 0) {
      expected[0] = 5 + 2;
      expected[size - 1] = 5 + 4;
      expected[last - (size - 1)] = 5 + 6;
    }
    EXPECT_EQ(results, expected);
  }
}

class TransposeConv2dErrors : public ::testing::Test {
 protected:
  // 1x2x3x4 image, 5x2x3x4 filter, stride 2 in both directions.
  std::vector<TestOperand> validInputs(bool explicitPadding) {
    std::vector<TestOperand> inputs = {random_.tensor(TENSOR_QUANT8_ASYMM, {1, 2, 3, 4}),
                                       random_.tensor(TENSOR_QUANT8_ASYMM, {5, 2, 3, 4})};
    inputs.push_back(random_.bias(inputs[0], inputs[1], 5));
    if (!explicitPadding) inputs.push_back(intList({1, 4, 6, 5}));
    for (int scalar : explicitPadding ? std::vector<int>{0, 0, 0, 0} : std::vector<int>{1}) {
      inputs.push_back(TestOperand::int32(scalar));
    }
    for (int scalar : {2, 2, 0}) inputs.push_back(TestOperand::int32(scalar));
    inputs.push_back(TestOperand::boolean(false));
    return inputs;
  }
  std::string errorWith(bool explicitPadding, size_t index, const TestOperand& operand) {
    std::vector<TestOperand> inputs = validInputs(explicitPadding);
    inputs[index] = operand;
    std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_QUANT8_ASYMM, 0.1f, 100)};
    return runOperation(OperationType::TRANSPOSE_CONV_2D, inputs, outputs).toString();
  }
  std::string errorWithScalar(bool explicitPadding, size_t index, int32_t value) {
    return errorWith(explicitPadding, index, TestOperand::int32(value));
  }
  RandomOperands random_{3};
};

TEST_F(TransposeConv2dErrors, NameWhatIsWrong) {
  EXPECT_EQ(errorWithScalar(true, 3, 0), "OK");
  EXPECT_EQ(errorWithScalar(false, 4, 1), "OK");
  EXPECT_EQ(errorWithScalar(true, 3, -1), "OP_FAILED: left padding is -1, expected 0 or more");
  EXPECT_EQ(errorWithScalar(true, 5, -1), "OP_FAILED: top padding is -1, expected 0 or more");
  EXPECT_EQ(errorWithScalar(true, 4, 7),
            "OP_FAILED: output width would be 0, expected 1 to 4294967295");
  EXPECT_EQ(errorWithScalar(true, 7, 0), "OP_FAILED: stride width is 0, expected more than 0");
  EXPECT_EQ(errorWithScalar(true, 8, -1), "OP_FAILED: stride height is -1, expected more than 0");
  EXPECT_THAT(errorWithScalar(true, 9, 5), HasSubstr("activation is 5"));
  EXPECT_THAT(errorWith(true, 0, random_.tensor(TENSOR_QUANT8_ASYMM, {1, 2, 3})),
              HasSubstr("input has rank 3"));
  EXPECT_THAT(errorWith(true, 1, random_.tensor(TENSOR_QUANT8_ASYMM, {5, 2, 3, 3})),
              HasSubstr("filter has depth_in 3, input has 4"));
  EXPECT_THAT(errorWith(true, 1, random_.tensor(TENSOR_QUANT8_ASYMM, {0, 2, 3, 4})),
              HasSubstr("filter has no output channels"));
  EXPECT_THAT(errorWith(true, 0, random_.tensor(TENSOR_QUANT8_ASYMM, {1, 0, 3, 4})),
              HasSubstr("zero-sized dimension that is not the batch"));
  const std::vector<TestOperand> valid = validInputs(true);
  EXPECT_THAT(errorWith(true, 2, random_.bias(valid[0], valid[1], 4)), HasSubstr("expected [5]"));
  EXPECT_THAT(errorWith(true, 2, valid[2]), HasSubstr("expected that of input times filter"));
  // With scales per channel, the bias's own scale has no meaning.
  EXPECT_EQ(errorWith(true, 1, random_.perChannelFilter({5, 2, 3, 4}, 0)), "OK");
  EXPECT_THAT(errorWith(false, 3, intList({1, 4, 6})), HasSubstr("[3], expected [4]"));
  EXPECT_EQ(errorWith(false, 3, intList({1, 0, 6, 5})),
            "OP_FAILED: output shape [1,0,6,5] has height 0, expected more than 0");
  EXPECT_EQ(errorWith(false, 3, intList({1, 4, -6, 5})),
            "OP_FAILED: output shape [1,4,-6,5] has width -6, expected more than 0");
}

TEST_F(TransposeConv2dErrors, HugeScalarsDoNotOverflow) {
  constexpr int32_t kMax = INT32_MAX;
  EXPECT_THAT(errorWithScalar(true, 3, kMax), HasSubstr("output width would be -2147483640"));
  EXPECT_THAT(errorWithScalar(true, 4, INT32_MIN), HasSubstr("more than 4294967295 bytes"));
  EXPECT_THAT(errorWithScalar(true, 7, kMax), HasSubstr("output width would be 4294967297"));
  // The requested size decides the padding; the size follows from it.
  EXPECT_EQ(errorWith(false, 3, intList({1, kMax, kMax, 5})), "OK");
  EXPECT_THAT(errorWithScalar(false, 5, kMax), HasSubstr("output width would be 4294967300"));
}

TEST(TransposeConv2dInference, AsksForTheOutputShapeWhereItCounts) {
  RandomOperands random(5);
  for (const bool same : {true, false}) {
    const TestOperand image = random.tensor(TENSOR_FLOAT32, {1, 2, 3, 1});
    std::vector<Tensor> inputs;
    const std::vector<TestOperand> operands = {image,
                                               random.tensor(TENSOR_FLOAT32, {1, 2, 2, 1}),
                                               random.tensor(TENSOR_FLOAT32, {1}),
                                               intList({1, 4, 6, 1}),
                                               TestOperand::int32(same ? 1 : 2),
                                               TestOperand::int32(2),
                                               TestOperand::int32(2),
                                               TestOperand::int32(0),
                                               TestOperand::boolean(false)};
    for (const TestOperand& operand : operands) {
      inputs.push_back(operand.tensor);
      inputs.back().data = const_cast<uint8_t*>(operand.bytes.data());
    }
    inputs[3].data = nullptr;
    std::vector<Tensor> outputs = {TestOperand::output(TENSOR_FLOAT32).tensor};
    OperationContext context(inputs, outputs, nullptr);
    const Status status = inferShapes(*definitionOf(OperationType::TRANSPOSE_CONV_2D), context);
    EXPECT_EQ(status.code(), same ? ResultCode::INCOMPLETE : ResultCode::NO_ERROR);
    if (!same) {
      EXPECT_EQ(outputs[0].dims, (Shape{1, 4, 6, 1}));
    }
  }
}

TEST(TransposeConv2dSignature, FeatureLevels) {
  const auto levelOf = [](OperandType type, OperandType filter, bool explicitPadding,
                          size_t scalars) {
    Model model;
    Operation operation;
    operation.type = OperationType::TRANSPOSE_CONV_2D;
    const auto add = [&](OperandType operandType, Shape dims = {}) {
      Operand operand;
      operand.type = operandType;
      operand.dimensions = std::move(dims);
      if (operandType == TENSOR_QUANT8_SYMM_PER_CHANNEL) {
        operand.extraParams = SymmPerChannelQuantParams{{1.0f}, 0};
      }
      model.main.operands.push_back(operand);
      return static_cast<uint32_t>(model.main.operands.size() - 1);
    };
    operation.inputs = {add(type), add(filter, {1, 1, 1, 1}),
                        add(isQuant8Asymm(type) ? TENSOR_INT32 : type)};
    if (!explicitPadding) operation.inputs.push_back(add(TENSOR_INT32, {4}));
    for (size_t i = 0; i < scalars; ++i) operation.inputs.push_back(add(INT32));
    operation.inputs.push_back(add(BOOL));
    operation.outputs = {add(type)};
    model.main.operations = {operation};
    const Result<FeatureLevel> level = checkSignature(definitionOf(operation.type)->signature,
                                                      OperationView(model, model.main, operation));
    return level.ok() ? static_cast<int>(level.value()) : 0;
  };
  for (const bool explicitPadding : {true, false}) {
    const size_t scalars = explicitPadding ? 7 : 4;
    for (OperandType type : {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM}) {
      EXPECT_EQ(levelOf(type, type, explicitPadding, scalars), 3);
      EXPECT_EQ(levelOf(type, type, explicitPadding, scalars - 1), 0);
    }
    const OperandType perChannel = TENSOR_QUANT8_SYMM_PER_CHANNEL;
    EXPECT_EQ(levelOf(TENSOR_QUANT8_ASYMM, perChannel, explicitPadding, scalars), 3);
    EXPECT_EQ(levelOf(TENSOR_QUANT8_ASYMM_SIGNED, perChannel, explicitPadding, scalars), 4);
    EXPECT_EQ(levelOf(TENSOR_FLOAT32, perChannel, explicitPadding, scalars), 0);
  }
}

}  // namespace
}  // namespace halyard::ops::testing
