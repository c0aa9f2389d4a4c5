// Tests of CONV_2D and GROUPED_CONV_2D against the definition in plain loops over real numbers, and
// of their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/conv_for_test.h"

namespace halyard::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum OperandType;

// `groups` of 0 stands for CONV_2D.
void checkOne(RandomOperands& random, const ConvTypeCase& type, const TestWindow& window,
              uint32_t batch, uint32_t depth, uint32_t channels, int groups = 0) {
  const auto size = [](int n) { return static_cast<uint32_t>(n); };
  const uint32_t share = groups == 0 ? depth : depth / size(groups);
  const TestOperand image =
      random.tensor(type.type, {batch, size(window.height.input), size(window.width.input), depth});
  const Shape filterDims = {channels, size(window.height.filter), size(window.width.filter), share};
  const TestOperand filter = type.perChannel ? random.perChannelFilter(filterDims, 0)
                                             : random.tensor(type.type, filterDims);
  const TestOperand bias = random.bias(image, filter, channels);
  const auto code = static_cast<FuseCode>(random.between(0, 3));
  std::vector<TestOperand> rest = {filter, bias};
  window.appendPaddingAndStrides(rest);
  if (groups > 0) rest.push_back(TestOperand::int32(groups));
  rest.push_back(TestOperand::int32(static_cast<int>(code)));
  window.appendLayoutAndDilations(rest);
  // A float sum may be wrong by half a unit in its last place for each of its terms.
  const double slack = 0x1p-24 * share * window.height.filter * window.width.filter;
  checkImageOperation(
      random, groups == 0 ? OperationType::CONV_2D : OperationType::GROUPED_CONV_2D, window.nchw,
      image, rest,
      convolved(window, static_cast<int>(depth), std::max(groups, 1), realValues(image),
                realValues(filter), biasReals(bias, image, filter)),
      {batch, size(window.height.output), size(window.width.output), channels}, code,
      fmt::format("{}, batch {}, depth {} -> {}, groups {}, activation {}, {}", type.text(), batch,
                  depth, channels, groups, static_cast<int>(code), window.text()),
      slack);
}

TEST(Conv2d, AgreesWithDefinitionInAllForms) {
  RandomOperands random(7);
  for (int round = 0; round < 250; ++round) {
    for (const ConvTypeCase& type : kConvTypes) {
      const TestWindow window = randomWindow(random, /*mayDilate=*/true);
      checkOne(random, type, window, random.oneOf<uint32_t>({1, 1, 1, 2, 3, 0}),
               static_cast<uint32_t>(random.between(1, 7)),
               static_cast<uint32_t>(random.between(1, 9)));
      if (HasFatalFailure()) return;
    }
  }
}

// These sizes make the matrix product use several tiles, blocks of depth and strips.
TEST(Conv2d, AgreesWithDefinitionOnLargerImages) {
  RandomOperands random(8);
  TestWindow pointwise;
  pointwise.scheme = 1;
  pointwise.height = {20, 1, 1, 1, 0, 0, 20};
  pointwise.width = {17, 1, 1, 1, 0, 0, 17};
  TestWindow same;
  same.scheme = 1;
  same.height = {12, 3, 1, 1, 1, 1, 12};
  same.width = {15, 3, 2, 1, 1, 1, 8};
  for (const ConvTypeCase& type : kConvTypes) {
    checkOne(random, type, pointwise, 2, 35, 70);
    checkOne(random, type, pointwise, 1, 600, 33);
    checkOne(random, type, same, 2, 67, 41);
    checkOne(random, type, same, 1, 3, 300);
  }
}

TEST(GroupedConv2d, AgreesWithDefinitionInAllForms) {
  RandomOperands random(9);
  for (int round = 0; round < 150; ++round) {
    for (const ConvTypeCase& type : kConvTypes) {
      TestWindow window = randomWindow(random, /*mayDilate=*/false);
      window.layoutGiven = true;
      const int groups = random.between(1, 4);
      checkOne(random, type, window, random.oneOf<uint32_t>({1, 1, 2, 3}),
               static_cast<uint32_t>(groups * random.between(1, 4)),
               static_cast<uint32_t>(groups * random.between(1, 5)), groups);
      if (HasFatalFailure()) return;
    }
  }
}

// Groups that justify several threads each, and many small ones.
TEST(GroupedConv2d, AgreesWithDefinitionOnLargerImages) {
  RandomOperands random(10);
  TestWindow same;
  same.scheme = 1;
  same.layoutGiven = true;
  same.height = {20, 3, 1, 1, 1, 1, 20};
  same.width = {45, 3, 2, 1, 1, 1, 23};
  for (const ConvTypeCase& type : kConvTypes) {
    checkOne(random, type, same, 1, 106, 80, 2);
    checkOne(random, type, same, 1, 60, 60, 60);
  }
}

TEST(Conv2d, WindowsOfPaddingOnlyGiveTheBias) {
  // Dilation 4 with two taps: the middle windows do not touch the only cell of the image.
  std::vector<TestOperand> inputs = {
      TestOperand::of<float>(TENSOR_FLOAT32, {1, 1, 1, 1}, {5}),
      TestOperand::of<float>(TENSOR_FLOAT32, {1, 1, 2, 1}, {10, 100}),
      TestOperand::of<float>(TENSOR_FLOAT32, {1}, {1})};
  for (int scalar : {4, 4, 0, 0, 1, 1, 0}) inputs.push_back(TestOperand::int32(scalar));
  inputs.push_back(TestOperand::boolean(false));
  inputs.push_back(TestOperand::int32(4));
  inputs.push_back(TestOperand::int32(1));
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  const Status status = runOperation(OperationType::CONV_2D, inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.toString();
  EXPECT_THAT(outputs[0].values<float>(), ElementsAre(501, 1, 1, 1, 51));
}

// The product of the scales exceeds float's range; its ratio to the output's scale does not.
TEST(Conv2d, ExtremeScales) {
  struct Case {
    float inputScale;
    float filterScale;
    float outputScale;
    uint8_t x;
    uint8_t expected;  // the zero points are 3 and 128, the filter is 127
  };
  for (const Case& c : {Case{1e20f, 1e20f, 1e38f, 3, 128},                 // 0 times 100
                        Case{1e20f, 1e20f, 1e38f, 4, 255},                 // 127 * 100
                        Case{0x1p127f, 0x1p127f, 0x1p-149f, 3, 128},       // 0 times 2^403
                        Case{0x1p-80f, 0x1p-80f, 0x1p-149f, 19, 129},      // 127 * 16 / 2^11
                        Case{0x1p-80f, 0x1p-80f, 0x1p-148f, 195, 134}}) {  // 127 * 192 / 2^12
    SymmPerChannelQuantParams quant{{c.filterScale}, 0};
    std::vector<TestOperand> inputs = {
        TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {1, 1, 1, 1}, {c.x}, c.inputScale, 3),
        TestOperand::of<int8_t>(TENSOR_QUANT8_SYMM_PER_CHANNEL, {1, 1, 1, 1}, {127}),
        TestOperand::of<int32_t>(TENSOR_INT32, {1}, {0})};
    inputs[1].tensor.channelQuant = &quant;
    for (int scalar : {2, 1, 1, 0}) inputs.push_back(TestOperand::int32(scalar));
    std::vector<TestOperand> outputs = {
        TestOperand::output(TENSOR_QUANT8_ASYMM, c.outputScale, 128)};
    const Status status = runOperation(OperationType::CONV_2D, inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(outputs[0].bytes[0], c.expected) << c.inputScale << " " << int{c.x};
  }
}

class Conv2dErrors : public ::testing::Test {
 protected:
  // 1x4x5x3 image, 2x3x2x3 filter, no padding.
  std::vector<TestOperand> validInputs() {
    std::vector<TestOperand> inputs = {random_.tensor(TENSOR_QUANT8_ASYMM, {1, 4, 5, 3}),
                                       random_.tensor(TENSOR_QUANT8_ASYMM, {2, 3, 2, 3})};
    inputs.push_back(random_.bias(inputs[0], inputs[1], 2));
    for (int scalar : {0, 0, 0, 0, 1, 1, 0}) inputs.push_back(TestOperand::int32(scalar));
    inputs.push_back(TestOperand::boolean(false));
    inputs.push_back(TestOperand::int32(1));
    inputs.push_back(TestOperand::int32(1));
    return inputs;
  }
  std::string errorOf(std::vector<TestOperand> inputs) {
    std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_QUANT8_ASYMM, 0.1f, 100)};
    return runOperation(OperationType::CONV_2D, inputs, outputs).toString();
  }
  std::string errorWithScalar(size_t index, int32_t value) {
    std::vector<TestOperand> inputs = validInputs();
    inputs[index] = TestOperand::int32(value);
    return errorOf(std::move(inputs));
  }
  RandomOperands random_{3};
};

TEST_F(Conv2dErrors, TheBaseOfTheseTestsIsValid) { EXPECT_EQ(errorOf(validInputs()), "OK"); }

TEST_F(Conv2dErrors, NameTheScalar) {
  EXPECT_EQ(errorWithScalar(3, -1), "OP_FAILED: left padding is -1, expected 0 or more");
  EXPECT_EQ(errorWithScalar(4, 2),
            "OP_FAILED: right padding is 2, expected less than the width of the dilated filter, 2");
  EXPECT_EQ(errorWithScalar(6, 3),
            "OP_FAILED: bottom padding is 3, expected less than the height of the dilated filter, "
            "3");
  EXPECT_EQ(errorWithScalar(7, 0), "OP_FAILED: stride width is 0, expected more than 0");
  EXPECT_EQ(errorWithScalar(8, -2), "OP_FAILED: stride height is -2, expected more than 0");
  EXPECT_EQ(errorWithScalar(11, 0), "OP_FAILED: dilation width is 0, expected more than 0");
  EXPECT_THAT(errorWithScalar(9, 4), HasSubstr("activation is 4, expected"));
  EXPECT_EQ(errorWithScalar(12, 2),
            "OP_FAILED: the dilated filter's height 5 exceeds the padded input's 4");
}

TEST_F(Conv2dErrors, HugeScalarsDoNotOverflow) {
  EXPECT_EQ(errorWithScalar(7, INT32_MAX), "OK");
  EXPECT_THAT(errorWithScalar(12, INT32_MAX), HasSubstr("height 4294967295 exceeds"));
  EXPECT_THAT(errorWithScalar(3, INT32_MAX), HasSubstr("left padding is 2147483647"));
  std::vector<TestOperand> inputs = validInputs();
  inputs[4] = TestOperand::int32(INT32_MAX);
  inputs[11] = TestOperand::int32(INT32_MAX);
  EXPECT_EQ(errorOf(inputs), "OK");  // 2^31 cells under the filter, so the padding is legal
  inputs[3] = inputs[4] = TestOperand::int32(INT32_MAX - 1);
  EXPECT_THAT(errorOf(inputs), HasSubstr("more than 4294967295 bytes"));
}

TEST_F(Conv2dErrors, NameTheShapes) {
  std::vector<TestOperand> inputs = validInputs();
  inputs[0] = random_.tensor(TENSOR_QUANT8_ASYMM, {1, 4, 5});
  EXPECT_EQ(errorOf(inputs), "OP_FAILED: input has rank 3 [1,4,5], expected rank 4");
  inputs = validInputs();
  inputs[1] = random_.tensor(TENSOR_QUANT8_ASYMM, {2, 3, 6});
  EXPECT_EQ(errorOf(inputs), "OP_FAILED: filter has rank 3 [2,3,6], expected rank 4");
  inputs = validInputs();
  inputs[1] = random_.tensor(TENSOR_QUANT8_ASYMM, {2, 3, 2, 4});
  EXPECT_EQ(errorOf(inputs), "OP_FAILED: filter has depth_in 4, input has 3");
  inputs = validInputs();
  inputs[2] = random_.bias(inputs[0], inputs[1], 3);
  EXPECT_EQ(errorOf(inputs),
            "OP_FAILED: bias has shape [3], expected [2], one value for each output channel");
  inputs = validInputs();
  inputs[0] = random_.tensor(TENSOR_QUANT8_ASYMM, {1, 0, 5, 3});
  EXPECT_THAT(errorOf(inputs), HasSubstr("zero-sized dimension that is not the batch"));
  inputs = validInputs();
  inputs[1] = random_.tensor(TENSOR_QUANT8_ASYMM, {0, 3, 2, 3});
  EXPECT_THAT(errorOf(inputs), HasSubstr("filter has no output channels"));
}

TEST_F(Conv2dErrors, NameTheBiasScale) {
  std::vector<TestOperand> inputs = validInputs();
  inputs[2].tensor.scale *= 1.00001f;
  EXPECT_THAT(errorOf(inputs), HasSubstr("expected that of input times filter"));
  inputs = validInputs();
  inputs[2].tensor.scale = 0;
  EXPECT_THAT(errorOf(inputs), HasSubstr("bias has scale 0, expected"));
  inputs = validInputs();
  inputs[2].tensor.zeroPoint = 1;
  EXPECT_THAT(errorOf(inputs), HasSubstr("bias has zero point 1, expected 0"));
  inputs = validInputs();
  inputs[1] = random_.perChannelFilter({2, 3, 2, 3}, 0);
  EXPECT_EQ(errorOf(inputs), "OK");  // it has no meaning then
  inputs[2].tensor.scale = 0;
  EXPECT_EQ(errorOf(inputs), "OK");
}

TEST_F(Conv2dErrors, OfGroups) {
  // 1x4x5x6 image, 4x3x2x3 filter, 2 groups.
  std::vector<TestOperand> valid = {random_.tensor(TENSOR_QUANT8_ASYMM, {1, 4, 5, 6}),
                                    random_.tensor(TENSOR_QUANT8_ASYMM, {4, 3, 2, 3})};
  valid.push_back(random_.bias(valid[0], valid[1], 4));
  for (int scalar : {2, 1, 1, 2, 0}) valid.push_back(TestOperand::int32(scalar));
  valid.push_back(TestOperand::boolean(false));
  const auto errorWith = [&](size_t index, const TestOperand& operand) {
    std::vector<TestOperand> inputs = valid;
    inputs[index] = operand;
    std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_QUANT8_ASYMM, 0.1f, 100)};
    return runOperation(OperationType::GROUPED_CONV_2D, inputs, outputs).toString();
  };
  EXPECT_EQ(errorWith(0, valid[0]), "OK");
  for (int groups : {0, -3}) {
    EXPECT_THAT(errorWith(6, TestOperand::int32(groups)), HasSubstr("expected more than 0"));
  }
  EXPECT_EQ(errorWith(6, TestOperand::int32(1)), "OP_FAILED: filter has depth_in 3, input has 6");
  for (int groups : {3, INT32_MAX}) {
    EXPECT_EQ(
        errorWith(6, TestOperand::int32(groups)),
        fmt::format("OP_FAILED: filter has depth_in 3 for each of {} groups, input has 6", groups));
  }
  TestOperand odd = random_.tensor(TENSOR_QUANT8_ASYMM, {3, 3, 2, 3});
  EXPECT_EQ(errorWith(1, odd),
            "OP_FAILED: filter has 3 output channels, expected a multiple of the 2 groups");
  EXPECT_THAT(errorWith(2, random_.bias(valid[0], valid[1], 2)), HasSubstr("expected [4]"));
  EXPECT_THAT(errorWith(7, TestOperand::int32(4)), HasSubstr("activation is 4"));
  TestOperand bias = valid[2];
  bias.tensor.scale *= 1.00001f;
  EXPECT_THAT(errorWith(2, bias), HasSubstr("expected that of input times filter"));
  EXPECT_THAT(errorWith(0, random_.tensor(TENSOR_QUANT8_ASYMM, {0, 4, 5, 6})),
              HasSubstr("zero-sized"));
}

// Puts an operation into a model for checkSignature.
struct ModelWithOperation {
  Model model;
  Result<FeatureLevel> level() {
    const OperationDefinition* definition = definitionOf(model.main.operations[0].type);
    return checkSignature(definition->signature,
                          OperationView(model, model.main, model.main.operations[0]));
  }
  explicit ModelWithOperation(const std::vector<Operand>& inputs, const Operand& output,
                              OperationType type = OperationType::CONV_2D) {
    model.main.operands = inputs;
    model.main.operands.push_back(output);
    Operation operation;
    operation.type = type;
    for (uint32_t i = 0; i < inputs.size(); ++i) operation.inputs.push_back(i);
    operation.outputs = {static_cast<uint32_t>(inputs.size())};
    model.main.operations = {operation};
  }
};

Operand plainOperand(OperandType type, Shape dims = {}, float scale = 0) {
  Operand operand;
  operand.type = type;
  operand.dimensions = std::move(dims);
  operand.scale = scale;
  return operand;
}

std::vector<Operand> modelInputs(OperandType type, OperandType filter,
                                 const std::vector<OperandType>& scalars) {
  const bool quantized = isQuant8Asymm(type);
  std::vector<Operand> inputs = {
      plainOperand(type, {1, 4, 4, 3}, quantized ? 0.5f : 0),
      plainOperand(filter, {2, 1, 1, 3}, isQuant8Asymm(filter) ? 0.5f : 0),
      plainOperand(quantized ? TENSOR_INT32 : type, {2}, quantized ? 0.25f : 0)};
  if (filter == TENSOR_QUANT8_SYMM_PER_CHANNEL) {
    inputs[1].extraParams = SymmPerChannelQuantParams{{1.0f, 1.0f}, 0};
  }
  for (OperandType scalar : scalars) inputs.push_back(plainOperand(scalar));
  return inputs;
}

const std::vector<OperandType> kImplicit(4, INT32);
const std::vector<OperandType> kExplicit(7, INT32);

FeatureLevel levelOf(std::vector<Operand> inputs, OperandType type, float outputScale) {
  ModelWithOperation model(inputs, plainOperand(type, {1, 4, 4, 2}, outputScale));
  const Result<FeatureLevel> level = model.level();
  EXPECT_TRUE(level.ok()) << level.status().toString();
  return level.ok() ? level.value() : FeatureLevel::FL8;
}

TEST(Conv2dSignature, FeatureLevels) {
  using enum FeatureLevel;
  EXPECT_EQ(levelOf(modelInputs(TENSOR_FLOAT32, TENSOR_FLOAT32, kImplicit), TENSOR_FLOAT32, 0),
            FL1);
  EXPECT_EQ(levelOf(modelInputs(TENSOR_FLOAT16, TENSOR_FLOAT16, kExplicit), TENSOR_FLOAT16, 0),
            FL3);
  const auto quant8 = modelInputs(TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM, kImplicit);
  EXPECT_EQ(levelOf(quant8, TENSOR_QUANT8_ASYMM, 0.26f), FL1);
  EXPECT_EQ(levelOf(quant8, TENSOR_QUANT8_ASYMM, 0.25f), FL3);
  EXPECT_EQ(levelOf(modelInputs(TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL, kImplicit),
                    TENSOR_QUANT8_ASYMM, 0.26f),
            FL3);
  for (OperandType filter : {TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_SYMM_PER_CHANNEL}) {
    EXPECT_EQ(levelOf(modelInputs(TENSOR_QUANT8_ASYMM_SIGNED, filter, kExplicit),
                      TENSOR_QUANT8_ASYMM_SIGNED, 0.26f),
              FL4);
  }
  for (std::vector<OperandType> scalars : {kImplicit, kExplicit}) {
    scalars.push_back(BOOL);
    EXPECT_EQ(levelOf(modelInputs(TENSOR_FLOAT32, TENSOR_FLOAT32, scalars), TENSOR_FLOAT32, 0),
              FL3);
    scalars.push_back(INT32);
    scalars.push_back(INT32);
    EXPECT_EQ(levelOf(modelInputs(TENSOR_FLOAT32, TENSOR_FLOAT32, scalars), TENSOR_FLOAT32, 0),
              FL3);
  }
}

TEST(GroupedConv2dSignature, LevelsAndRejections) {
  using enum FeatureLevel;
  const auto levelWith = [](OperandType type, OperandType filter, std::vector<OperandType> scalars,
                            uint32_t channelDim = 0) {
    std::vector<Operand> inputs = modelInputs(type, filter, scalars);
    if (filter == TENSOR_QUANT8_SYMM_PER_CHANNEL) {
      inputs[1].extraParams = SymmPerChannelQuantParams{{1.0f, 1.0f}, channelDim};
    }
    ModelWithOperation model(inputs, plainOperand(type, {1, 4, 4, 2}, 1.0f),
                             OperationType::GROUPED_CONV_2D);
    const Result<FeatureLevel> level = model.level();
    return level.ok() ? static_cast<int>(level.value()) : 0;
  };
  const std::vector<OperandType> implicit = {INT32, INT32, INT32, INT32, INT32, BOOL};
  std::vector<OperandType> explicitForm(8, INT32);
  explicitForm.push_back(BOOL);
  for (const auto& scalars : {implicit, explicitForm}) {
    for (OperandType type : {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM}) {
      EXPECT_EQ(levelWith(type, type, scalars), 3);
    }
    EXPECT_EQ(levelWith(TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL, scalars), 3);
    EXPECT_EQ(levelWith(TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL, scalars, 3), 0);
    EXPECT_EQ(levelWith(TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_ASYMM_SIGNED, scalars), 4);
    EXPECT_EQ(levelWith(TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_SYMM_PER_CHANNEL, scalars), 4);
    // The layout is not optional, and there are no dilations.
    std::vector<OperandType> others = scalars;
    others.pop_back();
    EXPECT_EQ(levelWith(TENSOR_FLOAT32, TENSOR_FLOAT32, others), 0);
    others = scalars;
    others.insert(others.end(), {INT32, INT32});
    EXPECT_EQ(levelWith(TENSOR_FLOAT32, TENSOR_FLOAT32, others), 0);
  }
}

TEST(Conv2dSignature, Rejects) {
  const Operand output = plainOperand(TENSOR_QUANT8_ASYMM, {1, 4, 4, 2}, 1.0f);
  auto inputs = modelInputs(TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL, kImplicit);
  inputs[1].extraParams = SymmPerChannelQuantParams{{1.0f, 1.0f, 1.0f}, 3};
  EXPECT_THAT(ModelWithOperation(inputs, output).level().status().toString(),
              HasSubstr("scales along dimension 3, expected dimension 0"));
  inputs = modelInputs(TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM, kImplicit);
  inputs[1].dimensions = {2, 1, 3};
  EXPECT_FALSE(ModelWithOperation(inputs, output).level().ok());
  // One dilation alone.
  std::vector<OperandType> scalars = kImplicit;
  scalars.insert(scalars.end(), {BOOL, INT32});
  inputs = modelInputs(TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM, scalars);
  EXPECT_FALSE(ModelWithOperation(inputs, output).level().ok());
  inputs = modelInputs(TENSOR_QUANT8_ASYMM, TENSOR_FLOAT32, kImplicit);
  EXPECT_FALSE(ModelWithOperation(inputs, output).level().ok());
}

}  // namespace
}  // namespace halyard::ops::testing
