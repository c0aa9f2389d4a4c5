// Functions of one element, and conversions, against the reference kernels.
#include "kernels/kernel_for_test.h"

namespace halyard::cpudriver::testing {
namespace {

using enum OperandType;

constexpr OperandType kElementTypes[] = {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM,
                                         TENSOR_QUANT8_ASYMM_SIGNED};
const Shape kShapes[] = {{1}, {2, 3, 5, 7}, {129}, {3, 333}, {40, 1000}};

// Floats from far below 0 to far above, in which nothing is left out.
void stretch(RandomOperands& random, TestOperand* operand) {
  if (operand->tensor.type != TENSOR_FLOAT32) return;
  auto values = operand->values<float>();
  for (float& value : values) value *= random.oneOf({0.01f, 1.0f, 10.0f, 100.0f});
  std::memcpy(operand->bytes.data(), values.data(), operand->bytes.size());
}

TEST(UnaryKernel, IsTheReference) {
  RandomOperands random(41);
  for (const OperationType operation :
       {OperationType::FLOOR, OperationType::HARD_SWISH, OperationType::LOGISTIC,
        OperationType::RELU, OperationType::RELU1, OperationType::RELU6, OperationType::TANH}) {
    for (const OperandType type : kElementTypes) {
      if (operation == OperationType::FLOOR && type != TENSOR_FLOAT32) continue;
      for (const Shape& shape : kShapes) {
        KernelCase test;
        test.operation = operation;
        test.inputs = {random.tensor(type, shape)};
        stretch(random, &test.inputs[0]);
        const ops::Tensor& input = test.inputs[0].tensor;
        TestOperand output = TestOperand::output(type, input.scale, input.zeroPoint);
        const int low = type == TENSOR_QUANT8_ASYMM ? 0 : -128;
        if (operation == OperationType::LOGISTIC)
          output = TestOperand::output(type, 1.0f / 256, low);
        if (operation == OperationType::TANH) {
          output = TestOperand::output(type, 1.0f / 128, low + 128);
        }
        test.outputs = {output};
        test.slack = 1e-6;
        checkKernel(std::move(test), 3,
                    fmt::format("operation {} of {} {}", static_cast<int>(operation),
                                operandTypeName(type), shapeText(shape)));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(UnaryKernel, GeluIsTheReference) {
  RandomOperands random(43);
  for (const bool isApproximate : {false, true}) {
    for (const Shape& shape : kShapes) {
      KernelCase test;
      test.operation = OperationType::GELU;
      test.inputs = {random.tensor(TENSOR_FLOAT32, shape), TestOperand::boolean(isApproximate)};
      stretch(random, &test.inputs[0]);
      test.outputs = {TestOperand::output(TENSOR_FLOAT32)};
      test.slack = 1e-6;
      checkKernel(std::move(test), 3,
                  fmt::format("approximate {}, {}", isApproximate, shapeText(shape)));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(UnaryKernel, GeluOfNoNumbersAndOfLargeOnes) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kMost = std::numeric_limits<float>::max();
  const std::vector<float> values = {-kInfinity, kInfinity, std::nanf(""), -kMost, kMost,
                                     -1e31f,     -40};
  for (const bool isApproximate : {false, true}) {
    for (const ops::SimdLevel level : ops::kSimdLevels) {
      if (!ops::hasSimdLevel(level)) continue;
      SCOPED_TRACE(fmt::format("approximate {}, level {}", isApproximate, static_cast<int>(level)));
      const TestOperand input = TestOperand::of<float>(TENSOR_FLOAT32, {7}, values);
      const TestOperand choice = TestOperand::boolean(isApproximate);
      KernelCase test;
      test.inputs = {input, choice};
      test.outputs = {input};
      std::vector<ops::Tensor> inputs = {input.tensor, choice.tensor};
      inputs[1].data = const_cast<uint8_t*>(choice.bytes.data());
      const std::vector<ops::Tensor> outputs = {input.tensor};
      const auto kernel =
          makeKernel(*ops::definitionOf(OperationType::GELU), {inputs, outputs, level});
      ASSERT_NE(kernel, nullptr);
      TestOperand result = input;
      result.bytes = runKernel(*kernel, test)[0];
      const auto results = result.values<float>();
      EXPECT_EQ(results[1], kInfinity);
      EXPECT_TRUE(std::isnan(results[2]));
      EXPECT_EQ(results[4], kMost);
      for (const size_t below : {0, 3, 5, 6}) EXPECT_NEAR(results[below], 0, 1e-30f) << below;
    }
  }
}

TEST(UnaryKernel, KeepsWhatIsNotANumberAndSaturates) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {-kInfinity, kInfinity, std::nanf(""), 0, -0.0f, 1e30f, -1e30f};
  for (const OperationType operation : {OperationType::LOGISTIC, OperationType::TANH}) {
    for (const ops::SimdLevel level : ops::kSimdLevels) {
      if (!ops::hasSimdLevel(level)) continue;
      const TestOperand input = TestOperand::of<float>(TENSOR_FLOAT32, {7}, values);
      KernelCase test;
      test.inputs = {input};
      test.outputs = {input};
      const std::vector<ops::Tensor> tensors = {input.tensor};
      const auto kernel = makeKernel(*ops::definitionOf(operation), {tensors, tensors, level});
      ASSERT_NE(kernel, nullptr);
      TestOperand result = input;
      result.bytes = runKernel(*kernel, test)[0];
      const auto results = result.values<float>();
      const bool isTanh = operation == OperationType::TANH;
      const float low = isTanh ? -1.0f : 0.0f;
      EXPECT_NEAR(results[0], low, 1e-6f);
      EXPECT_NEAR(results[1], 1.0f, 1e-6f);
      EXPECT_TRUE(std::isnan(results[2]));
      EXPECT_NEAR(results[3], isTanh ? 0.0f : 0.5f, 1e-6f);
      EXPECT_NEAR(results[4], isTanh ? 0.0f : 0.5f, 1e-6f);
      EXPECT_NEAR(results[5], 1.0f, 1e-6f);
      EXPECT_NEAR(results[6], low, 1e-6f);
    }
  }
}

TEST(QuantizeKernel, IsTheReferenceAlsoAtTies) {
  RandomOperands random(42);
  for (const OperandType type : {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
    for (const Shape& shape : kShapes) {
      for (const float scale : {0.0625f, 0.013f}) {
        KernelCase test;
        test.operation = OperationType::QUANTIZE;
        test.inputs = {random.tensor(TENSOR_FLOAT32, shape)};
        auto values = test.inputs[0].values<float>();
        for (float& value : values) {
          // A multiple of half a step, or next to one.
          value = scale * 0.5f * static_cast<float>(random.between(-600, 600));
          if (random.coin()) value = std::nextafter(value, random.coin() ? 1e9f : -1e9f);
        }
        values[0] = random.oneOf({std::nanf(""), std::numeric_limits<float>::infinity(), 0.1f});
        std::memcpy(test.inputs[0].bytes.data(), values.data(), test.inputs[0].bytes.size());
        test.outputs = {TestOperand::output(
            type, scale, random.between(-100, 100) + (type == TENSOR_QUANT8_ASYMM ? 128 : 0))};
        checkKernel(std::move(test), 3,
                    fmt::format("to {} {}", operandTypeName(type), shapeText(shape)));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(DequantizeKernel, IsTheReference) {
  RandomOperands random(43);
  for (const OperandType type : {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
    for (const Shape& shape : kShapes) {
      KernelCase test;
      test.operation = OperationType::DEQUANTIZE;
      test.inputs = {random.tensor(type, shape)};
      test.outputs = {TestOperand::output(TENSOR_FLOAT32)};
      checkKernel(std::move(test), 3,
                  fmt::format("{} {}", operandTypeName(type), shapeText(shape)));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SoftmaxKernel, IsTheReference) {
  RandomOperands random(44);
  for (const OperandType type : kElementTypes) {
    for (const Shape& shape : {Shape{1, 10}, Shape{3, 1001}, Shape{2, 3, 4, 17}, Shape{1, 9001}}) {
      KernelCase test;
      test.operation = OperationType::SOFTMAX;
      test.inputs = {random.tensor(type, shape), TestOperand::float32(random.realBetween(0.1f, 3))};
      stretch(random, &test.inputs[0]);
      test.outputs = {
          TestOperand::output(type, 1.0f / 256, type == TENSOR_QUANT8_ASYMM ? 0 : -128)};
      test.slack = 1e-6;
      checkKernel(std::move(test), 3,
                  fmt::format("{} {}", operandTypeName(type), shapeText(shape)));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SoftmaxKernel, ThereIsNoneForOtherAxesThanTheLast) {
  RandomOperands random(45);
  const TestOperand input = random.tensor(TENSOR_FLOAT32, {2, 3});
  TestOperand beta = TestOperand::float32(1);
  TestOperand axis = TestOperand::int32(0);
  std::vector<ops::Tensor> inputs = {input.tensor, beta.tensor, axis.tensor};
  inputs[1].data = beta.bytes.data();
  inputs[2].data = axis.bytes.data();
  const std::vector<ops::Tensor> outputs = {input.tensor};
  EXPECT_EQ(makeKernel(*ops::definitionOf(OperationType::SOFTMAX), {inputs, outputs}), nullptr);
}

TEST(InstanceNormalizationKernel, IsTheReferenceInBothLayouts) {
  RandomOperands random(45);
  for (int round = 0; round < 60; ++round) {
    const bool nchw = random.coin();
    const auto size = [&](int most) { return static_cast<uint32_t>(random.between(1, most)); };
    const Shape dims = {size(3), size(40), 4 * size(9), size(40)};
    KernelCase test;
    test.operation = OperationType::INSTANCE_NORMALIZATION;
    test.inputs = {random.tensor(TENSOR_FLOAT32, dims),
                   TestOperand::float32(random.realBetween(0.5f, 2)),
                   TestOperand::float32(random.realBetween(-1, 1)), TestOperand::float32(1e-3f),
                   TestOperand::boolean(nchw)};
    test.outputs = {TestOperand::output(TENSOR_FLOAT32)};
    test.slack = 1e-5;
    const bool isLeft = nchw && dims[2] * dims[3] % 16 != 0;
    checkKernel(std::move(test), isLeft ? 0 : 3,
                fmt::format("{}, channels first {}", shapeText(dims), nchw));
    if (HasFatalFailure()) return;
  }
}

TEST(L2NormalizationKernel, IsTheReferenceAlongAllAxes) {
  RandomOperands random(29);
  const Shape shapes[] = {{2, 3, 5, 128}, {7, 1001}, {33}, {5, 3, 70}, {1, 40, 16}, {3, 4, 2, 1}};
  for (const Shape& shape : shapes) {
    for (const OperandType type :
         {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      const auto rank = static_cast<int>(shape.size());
      for (int axis = -rank; axis < rank; ++axis) {
        KernelCase test;
        test.operation = OperationType::L2_NORMALIZATION;
        test.inputs = {random.tensor(type, shape), TestOperand::int32(axis)};
        const bool isFloat = type == TENSOR_FLOAT32;
        test.outputs = {
            isFloat ? TestOperand::output(type)
                    : TestOperand::output(type, 1.0f / 128, type == TENSOR_QUANT8_ASYMM ? 128 : 0)};
        checkKernel(std::move(test), 3,
                    fmt::format("{} {}, axis {}", operandTypeName(type), shapeText(shape), axis));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Nothing to divide by, squares that floats have no room for, and lines too long for sums of bytes.
TEST(L2NormalizationKernel, IsTheReferenceAtTheLimits) {
  const auto run = [](TestOperand input, TestOperand output, int needed) {
    KernelCase test;
    test.operation = OperationType::L2_NORMALIZATION;
    test.inputs = {std::move(input)};
    test.outputs = {std::move(output)};
    checkKernel(std::move(test), needed, "limits");
  };
  std::vector<float> floats(3 * 40, 0.0f);
  for (size_t i = 0; i < 40; ++i) floats[40 + i] = i % 2 == 0 ? 3e30f : -4e30f;
  for (size_t i = 0; i < 40; ++i) floats[80 + i] = 1e-9f;
  run(TestOperand::of<float>(TENSOR_FLOAT32, {3, 40}, floats), TestOperand::output(TENSOR_FLOAT32),
      3);
  for (const uint32_t extent : {40u, 33'000u, 34'000u}) {
    for (const uint8_t value : {0, 7, 255}) {
      run(TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {2, extent},
                                   std::vector<uint8_t>(size_t{2} * extent, value), 0.1f, 0),
          TestOperand::output(TENSOR_QUANT8_ASYMM, 1.0f / 128, 128), extent > 33'025 ? 0 : 3);
    }
  }
}

}  // namespace
}  // namespace halyard::cpudriver::testing
