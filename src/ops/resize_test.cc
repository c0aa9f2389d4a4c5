// Tests of RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR against the definition in plain loops, and
// of their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ops/random_for_test.h"

namespace halyard::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum OperandType;

struct ResizeCase {
  uint32_t batch;
  uint32_t height;
  uint32_t width;
  uint32_t channels;
  uint32_t newHeight;
  uint32_t newWidth;
  size_t optional;  // number of given options: layout, align corners, half pixel centers
  bool nchw = false;
  bool align = false;
  bool half = false;

  std::string text() const {
    return fmt::format("[{},{},{},{}] to {}x{}, nchw {}, align {}, half {}", batch, height, width,
                       channels, newHeight, newWidth, nchw, align, half);
  }
};

struct Neighbours {
  size_t low;
  size_t high;
  double weight;
};

Neighbours neighbours(const ResizeCase& test, uint32_t o, uint32_t in, uint32_t out) {
  const double ratio = test.align && out > 1 ? (in - 1.0) / (out - 1.0) : double(in) / out;
  // The definition computes in float, which matters for positions close to a pixel.
  const auto position = test.half
                            ? (static_cast<float>(o) + 0.5f) * static_cast<float>(ratio) - 0.5f
                            : static_cast<float>(o) * static_cast<float>(ratio);
  const auto low = static_cast<size_t>(std::max(std::floor(position), 0.0f));
  const size_t high = std::min<size_t>(low + 1, in - 1);
  return {low, high, low == high || position < 0 ? 0.0 : position - static_cast<double>(low)};
}

// Returns the one relevant pixel as both neighbours.
Neighbours nearest(const ResizeCase& test, uint32_t o, uint32_t in, uint32_t out) {
  const double ratio = test.align && out > 1 ? (in - 1.0) / (out - 1.0) : double(in) / out;
  const float position =
      (static_cast<float>(o) + (test.half ? 0.5f : 0.0f)) * static_cast<float>(ratio);
  const auto chosen =
      static_cast<size_t>(test.align ? std::floor(double{position} + 0.5) : std::floor(position));
  return {std::min<size_t>(chosen, in - 1), std::min<size_t>(chosen, in - 1), 0};
}

std::vector<double> resized(const ResizeCase& test, const std::vector<double>& x, bool linear) {
  std::vector<double> result;
  const auto sources = linear ? neighbours : nearest;
  for (uint32_t n = 0; n < test.batch; ++n) {
    for (uint32_t i = 0; i < test.newHeight; ++i) {
      for (uint32_t j = 0; j < test.newWidth; ++j) {
        const Neighbours row = sources(test, i, test.height, test.newHeight);
        const Neighbours column = sources(test, j, test.width, test.newWidth);
        for (uint32_t c = 0; c < test.channels; ++c) {
          const auto at = [&](size_t y, size_t z) {
            return x[((n * test.height + y) * test.width + z) * test.channels + c];
          };
          const double top = at(row.low, column.low) * (1 - column.weight) +
                             at(row.low, column.high) * column.weight;
          const double bottom = at(row.high, column.low) * (1 - column.weight) +
                                at(row.high, column.high) * column.weight;
          result.push_back(top * (1 - row.weight) + bottom * row.weight);
        }
      }
    }
  }
  return result;
}

void checkOne(RandomOperands& random, OperationType operation, OperandType type,
              const ResizeCase& test, bool byScale) {
  const TestOperand image =
      random.tensor(type, {test.batch, test.height, test.width, test.channels});
  std::vector<TestOperand> inputs = {test.nchw ? toNchw(image) : image};
  for (const auto& [from, to] :
       {std::pair{test.width, test.newWidth}, std::pair{test.height, test.newHeight}}) {
    // A slightly larger scale than the size needs, so that the product does not round below it.
    const float scale = (static_cast<float>(to) + 0.25f) / static_cast<float>(from);
    if (!byScale) {
      inputs.push_back(TestOperand::int32(static_cast<int32_t>(to)));
    } else if (type == TENSOR_FLOAT16) {
      inputs.push_back(TestOperand::of<Float16>(FLOAT16, {}, {toFloat16(scale)}));
    } else {
      inputs.push_back(TestOperand::float32(scale));
    }
  }
  const bool flags[] = {test.nchw, test.align, test.half};
  for (size_t i = 0; i < test.optional; ++i) inputs.push_back(TestOperand::boolean(flags[i]));
  std::vector<TestOperand> outputs = {
      isQuant8Asymm(type) ? TestOperand::output(type, image.tensor.scale, image.tensor.zeroPoint)
                          : TestOperand::output(type)};
  const bool linear = operation == OperationType::RESIZE_BILINEAR;
  const std::string what =
      fmt::format("{}{} {}", operandTypeName(type), linear ? "" : ", nearest,", test.text());
  const Status status = runOperation(operation, inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.toString() << "\n" << what;
  std::vector<double> expected = resized(test, realValues(image), linear);
  const Shape nhwc = {test.batch, test.newHeight, test.newWidth, test.channels};
  if (test.nchw) {
    ASSERT_EQ(outputs[0].tensor.dims, (Shape{nhwc[0], nhwc[3], nhwc[1], nhwc[2]})) << what;
    expected = permuted(expected, nhwc, false);
  } else {
    ASSERT_EQ(outputs[0].tensor.dims, nhwc) << what;
  }
  expectReals(outputs[0], expected, what, 1e-6);
}

class Resize : public ::testing::TestWithParam<OperationType> {};

TEST_P(Resize, AgreesWithDefinitionInAllForms) {
  RandomOperands random(47);
  const int leastOptional = GetParam() == OperationType::RESIZE_BILINEAR ? 0 : 1;
  const auto size = [&](int low, int high) {
    return static_cast<uint32_t>(random.between(low, high));
  };
  for (int round = 0; round < 300; ++round) {
    for (OperandType type :
         {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      ResizeCase test = {size(0, 2),
                         size(1, 9),
                         size(1, 9),
                         size(1, 20),
                         size(1, 12),
                         size(1, 12),
                         size(leastOptional, 3)};
      test.nchw = test.optional >= 1 && random.coin();
      test.align = test.optional >= 2 && random.coin();
      test.half = test.optional >= 3 && !test.align && random.coin();
      checkOne(random, GetParam(), type, test, random.coin());
      if (HasFatalFailure()) return;
    }
  }
}

// 256 channels for whole ranges of work, one for copies of single elements.
TEST_P(Resize, AgreesWithDefinitionOnLargerImages) {
  RandomOperands random(48);
  for (OperandType type : {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM}) {
    for (const bool nchw : {false, true}) {
      checkOne(random, GetParam(), type, {2, 15, 17, 256, 31, 40, 1, nchw}, false);
      checkOne(random, GetParam(), type, {1, 150, 170, 1, 311, 407, 3, nchw, false, true}, false);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, Resize,
                         ::testing::Values(OperationType::RESIZE_BILINEAR,
                                           OperationType::RESIZE_NEAREST_NEIGHBOR),
                         [](const auto& test) { return operationTypeName(test.param); });

TEST_P(Resize, VeryWideImages) {
  RandomOperands random(49);
  for (OperandType type : {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM}) {
    for (bool nchw : {false, true}) {
      checkOne(random, GetParam(), type,
               {.batch = 2,
                .height = 2,
                .width = 7,
                .channels = 2,
                .newHeight = 3,
                .newWidth = 40000,
                .optional = 1,
                .nchw = nchw},
               false);
    }
  }

  // Scratch memory does not grow with the width, because a model can request any width at no cost.
  struct CountingServices : InlineServices {
    void* scratch(size_t size) override {
      bytes += size;
      return InlineServices::scratch(size);
    }
    size_t bytes = 0;
  } services;
  constexpr int kWidth = 1 << 20;
  const TestOperand operands[] = {
      TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {1, 1, 2, 1}, {1, 2}, 1),
      TestOperand::int32(kWidth), TestOperand::int32(1), TestOperand::boolean(false)};
  std::vector<Tensor> inputs;
  for (const TestOperand& operand : operands) {
    inputs.push_back(operand.tensor);
    inputs.back().data = const_cast<uint8_t*>(operand.bytes.data());
  }
  std::vector<Tensor> outputs = {TestOperand::output(TENSOR_QUANT8_ASYMM, 1).tensor};
  OperationContext context(inputs, outputs, &services);
  const OperationDefinition& definition = *definitionOf(GetParam());
  ASSERT_TRUE(inferShapes(definition, context).ok());
  std::vector<uint8_t> result(kWidth);
  outputs[0].data = result.data();
  ASSERT_TRUE(runReference(definition, context).ok());
  EXPECT_EQ(result.back(), 2);
  EXPECT_LE(services.bytes, result.size());
}

TEST(ResizeNearest, RoundsAsTheFlagsSay) {
  const auto rowOf = [](uint32_t width, std::vector<bool> flags) {
    std::vector<TestOperand> inputs = {
        TestOperand::of<float>(TENSOR_FLOAT32, {1, 1, 3, 1}, {1, 2, 3}),
        TestOperand::int32(static_cast<int32_t>(width)), TestOperand::int32(1)};
    for (bool flag : flags) inputs.push_back(TestOperand::boolean(flag));
    std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
    EXPECT_TRUE(runOperation(OperationType::RESIZE_NEAREST_NEIGHBOR, inputs, outputs).ok());
    return outputs[0].values<float>();
  };
  EXPECT_THAT(rowOf(5, {false}), ElementsAre(1, 1, 2, 2, 3));
  // Positions 0, 0.5, 1, 1.5, 2: ties go up.
  EXPECT_THAT(rowOf(5, {false, true}), ElementsAre(1, 2, 2, 3, 3));
  EXPECT_THAT(rowOf(5, {false, false, true}), ElementsAre(1, 1, 2, 3, 3));
  EXPECT_THAT(rowOf(1, {false, true}), ElementsAre(1));
  EXPECT_THAT(rowOf(1, {false, false, true}), ElementsAre(2));
}

TEST(ResizeBilinear, KeepsPixelsAtTheSameSize) {
  std::vector<float> values = {1, -2, std::numeric_limits<float>::max(), 4, 5, 6};
  std::vector<TestOperand> inputs = {TestOperand::of<float>(TENSOR_FLOAT32, {1, 2, 3, 1}, values),
                                     TestOperand::int32(3), TestOperand::int32(2)};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  ASSERT_TRUE(runOperation(OperationType::RESIZE_BILINEAR, inputs, outputs).ok());
  EXPECT_EQ(outputs[0].values<float>(), values);
}

class ResizeErrors : public ::testing::TestWithParam<OperationType> {
 protected:
  std::string errorOf(TestOperand width, TestOperand height, std::vector<bool> flags = {false},
                      Shape dims = {1, 3, 4, 2}) {
    std::vector<TestOperand> inputs = {random_.tensor(TENSOR_FLOAT32, dims), std::move(width),
                                       std::move(height)};
    for (bool flag : flags) inputs.push_back(TestOperand::boolean(flag));
    std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
    return runOperation(GetParam(), inputs, outputs).toString();
  }
  RandomOperands random_{3};
};

TEST_P(ResizeErrors, NameWhatIsWrong) {
  const TestOperand five = TestOperand::int32(5);
  const TestOperand two = TestOperand::float32(2);
  EXPECT_EQ(errorOf(five, five), "OK");
  EXPECT_EQ(errorOf(TestOperand::int32(0), five),
            "OP_FAILED: output width is 0, expected more than 0");
  EXPECT_EQ(errorOf(five, TestOperand::int32(-7)),
            "OP_FAILED: output height is -7, expected more than 0");
  EXPECT_EQ(errorOf(two, TestOperand::float32(0.25f)),
            "OP_FAILED: height scale 0.25 makes 0 of the input's 3, expected 1 to 2147483647");
  for (float bad : {-1.0f, 0.0f, 1e30f, std::numeric_limits<float>::infinity(),
                    std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THAT(errorOf(TestOperand::float32(bad), two), HasSubstr("width scale")) << bad;
  }
  EXPECT_THAT(errorOf(TestOperand::int32(INT32_MAX), TestOperand::int32(INT32_MAX)),
              HasSubstr("more than 4294967295 bytes"));
  EXPECT_THAT(errorOf(five, five, {false, true, true}), HasSubstr("expected one at most"));
  EXPECT_THAT(errorOf(five, five, {false}, {3, 4, 2}), HasSubstr("expected rank 4"));
  EXPECT_THAT(errorOf(five, five, {false}, {1, 0, 4, 2}), HasSubstr("zero-sized"));
}

INSTANTIATE_TEST_SUITE_P(Operations, ResizeErrors,
                         ::testing::Values(OperationType::RESIZE_BILINEAR,
                                           OperationType::RESIZE_NEAREST_NEIGHBOR),
                         [](const auto& test) { return operationTypeName(test.param); });

TEST(ResizeSignature, FeatureLevels) {
  OperationType resize = OperationType::RESIZE_BILINEAR;
  const auto levelOf = [&](OperandType type, OperandType size, size_t flags) {
    Model model;
    Operation operation;
    operation.type = resize;
    const auto add = [&](OperandType operandType) {
      Operand operand;
      operand.type = operandType;
      model.main.operands.push_back(operand);
      return static_cast<uint32_t>(model.main.operands.size() - 1);
    };
    operation.inputs = {add(type), add(size), add(size)};
    for (size_t i = 0; i < flags; ++i) operation.inputs.push_back(add(BOOL));
    operation.outputs = {add(type)};
    model.main.operations = {operation};
    const Result<FeatureLevel> level = checkSignature(definitionOf(resize)->signature,
                                                      OperationView(model, model.main, operation));
    return level.ok() ? static_cast<int>(level.value()) : 0;
  };
  const auto levels = [&](OperandType type, OperandType size) {
    std::vector<int> result;
    for (size_t flags = 0; flags <= 4; ++flags) result.push_back(levelOf(type, size, flags));
    return result;
  };
  EXPECT_THAT(levels(TENSOR_FLOAT32, INT32), ElementsAre(1, 3, 4, 4, 0));
  EXPECT_THAT(levels(TENSOR_FLOAT32, FLOAT32), ElementsAre(3, 3, 4, 4, 0));
  EXPECT_THAT(levels(TENSOR_FLOAT16, FLOAT16), ElementsAre(3, 3, 4, 4, 0));
  EXPECT_THAT(levels(TENSOR_QUANT8_ASYMM, INT32), ElementsAre(3, 3, 4, 4, 0));
  EXPECT_THAT(levels(TENSOR_QUANT8_ASYMM_SIGNED, FLOAT32), ElementsAre(4, 4, 4, 4, 0));
  EXPECT_EQ(levelOf(TENSOR_FLOAT16, FLOAT32, 0), 0);
  EXPECT_EQ(levelOf(TENSOR_QUANT8_ASYMM, FLOAT16, 0), 0);
  EXPECT_EQ(levelOf(TENSOR_INT32, INT32, 0), 0);
  resize = OperationType::RESIZE_NEAREST_NEIGHBOR;
  for (OperandType size : {INT32, FLOAT32}) {
    EXPECT_THAT(levels(TENSOR_FLOAT32, size), ElementsAre(0, 3, 4, 4, 0));
    EXPECT_THAT(levels(TENSOR_QUANT8_ASYMM, size), ElementsAre(0, 3, 4, 4, 0));
    EXPECT_THAT(levels(TENSOR_QUANT8_ASYMM_SIGNED, size), ElementsAre(0, 4, 4, 4, 0));
  }
  EXPECT_THAT(levels(TENSOR_FLOAT16, FLOAT16), ElementsAre(0, 3, 4, 4, 0));
  EXPECT_EQ(levelOf(TENSOR_FLOAT16, FLOAT32, 1), 0);
}

}  // namespace
}  // namespace halyard::ops::testing
