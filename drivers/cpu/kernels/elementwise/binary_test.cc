// Element by element operations of the driver against the reference kernels.
#include "kernels/kernel_for_test.h"

namespace halyard::cpudriver::testing {
namespace {

using enum OperandType;

const std::pair<Shape, Shape> kPairsOfShapes[] = {
    {{2, 3, 5, 7}, {2, 3, 5, 7}}, {{4, 37}, {37}},      {{4, 37}, {4, 1}}, {{1}, {3, 70}},
    {{3, 1, 9}, {1, 33, 9}},      {{40, 1000}, {1000}}, {{5, 1}, {1, 6}},  {{1, 1}, {1}},
    {{2, 30, 41, 3}, {1, 1, 3}}};

TEST(BinaryKernel, IsTheReferenceForAllWaysOfBroadcasting) {
  RandomOperands random(31);
  for (const auto& [a, b] : kPairsOfShapes) {
    for (const OperationType operation :
         {OperationType::ADD, OperationType::SUB, OperationType::MUL}) {
      for (const OperandType type :
           {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
        for (int code = 0; code < 4; ++code) {
          KernelCase test;
          test.operation = operation;
          test.variables = 2;
          test.inputs = {random.tensor(type, a), random.tensor(type, b), TestOperand::int32(code)};
          test.outputs = {random.output(type, random.realBetween(0.5f, 12.0f))};
          checkKernel(std::move(test), 3,
                      fmt::format("operation {} of {}, {} and {}, activation {}",
                                  static_cast<int>(operation), operandTypeName(type), shapeText(a),
                                  shapeText(b), code));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(BinaryKernel, QuotientsAndExtremesOfFloatsAreTheReference) {
  RandomOperands random(33);
  for (const auto& [a, b] : kPairsOfShapes) {
    for (const OperationType operation : {OperationType::DIV, OperationType::MAXIMUM,
                                          OperationType::MINIMUM, OperationType::PRELU}) {
      // A slope has no more elements than the input that it applies to.
      if (operation == OperationType::PRELU && (a.size() < b.size() || a == Shape{5, 1})) continue;
      KernelCase test;
      test.operation = operation;
      test.variables = 2;
      test.inputs = {random.tensor(TENSOR_FLOAT32, a), random.tensor(TENSOR_FLOAT32, b)};
      const float nan = std::nanf("");
      if (operation == OperationType::DIV) {
        test.inputs.push_back(TestOperand::int32(random.between(0, 3)));
      } else {
        std::memcpy(test.inputs[static_cast<size_t>(random.between(0, 1))].bytes.data(), &nan,
                    sizeof nan);
      }
      test.outputs = {TestOperand::output(TENSOR_FLOAT32)};
      checkKernel(std::move(test), 3,
                  fmt::format("operation {} of {} and {}", static_cast<int>(operation),
                              shapeText(a), shapeText(b)));
      if (HasFatalFailure()) return;
    }
  }
}

// All values times all others, with scales of all kinds. Products that lie in the middle between
// two results are rounded as in the reference kernel.
TEST(BinaryKernel, ProductsOfBytesAreTheReferenceForAllPairs) {
  RandomOperands random(34);
  for (int round = 0; round < 60; ++round) {
    for (const OperandType type : {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      TestOperand a = random.tensor(type, {256, 1});
      TestOperand b = random.tensor(type, {1, 256});
      for (size_t i = 0; i < 256; ++i) a.bytes[i] = b.bytes[i] = static_cast<uint8_t>(i);
      const bool isRound = round % 3 == 0;  // many products are in the middle then
      if (isRound) a.tensor.scale = b.tensor.scale = 0.125f;
      const float scale = a.tensor.scale * b.tensor.scale;
      KernelCase test;
      test.operation = OperationType::MUL;
      test.variables = 2;
      test.inputs = {a, b, TestOperand::int32(random.between(0, 3))};
      const float factor = isRound ? static_cast<float>(random.oneOf({2, 8, 64, 256}))
                                   : random.realBetween(1.01f, 400.0f);
      test.outputs = {
          TestOperand::output(type, scale * factor,
                              random.between(-128, 127) + (type == TENSOR_QUANT8_ASYMM ? 128 : 0))};
      checkKernel(std::move(test), isRound ? 3 : 0,
                  fmt::format("{}, scale {} times {}", operandTypeName(type), scale, factor));
      if (HasFatalFailure()) return;
    }
  }
}

// All values with all slopes. The input's scale may be the output's, or a multiple of it.
TEST(BinaryKernel, PreluOfBytesIsTheReferenceForAllPairs) {
  RandomOperands random(36);
  for (int round = 0; round < 60; ++round) {
    for (const OperandType type : {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      TestOperand x = random.tensor(type, {256, 1});
      TestOperand slope = random.tensor(type, {1, 256});
      for (size_t i = 0; i < 256; ++i) x.bytes[i] = slope.bytes[i] = static_cast<uint8_t>(i);
      const bool isRound = round % 3 == 0;  // many products are in the middle then
      if (isRound) x.tensor.scale = slope.tensor.scale = 0.125f;
      const float factor =
          isRound ? random.oneOf({0.5f, 1.0f, 4.0f}) : random.realBetween(0.3f, 3.0f);
      KernelCase test;
      test.operation = OperationType::PRELU;
      test.variables = 2;
      test.inputs = {x, slope};
      test.outputs = {
          TestOperand::output(type, x.tensor.scale * factor,
                              random.between(-128, 127) + (type == TENSOR_QUANT8_ASYMM ? 128 : 0))};
      checkKernel(std::move(test), 3,
                  fmt::format("{}, scales {} and {}, output's {} of the first",
                              operandTypeName(type), x.tensor.scale, slope.tensor.scale, factor));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(BinaryKernel, PreluOfBytesIsTheReferenceForAllWaysOfBroadcasting) {
  RandomOperands random(37);
  for (const auto& [a, b] : kPairsOfShapes) {
    if (a.size() < b.size() || a == Shape{5, 1}) continue;  // as for floats
    for (const OperandType type : {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      KernelCase test;
      test.operation = OperationType::PRELU;
      test.variables = 2;
      test.inputs = {random.tensor(type, a), random.tensor(type, b)};
      test.outputs = {random.output(type, test.inputs[0].tensor.scale * 200)};
      checkKernel(std::move(test), 3,
                  fmt::format("{}, {} and {}", operandTypeName(type), shapeText(a), shapeText(b)));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(BinaryKernel, SumsOfBytesAreTheReferenceForAllPairs) {
  RandomOperands random(35);
  for (int round = 0; round < 40; ++round) {
    for (const OperandType type : {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      std::vector<uint8_t> firsts;
      std::vector<uint8_t> seconds;
      for (size_t i = 0; i < 65536; ++i) {
        firsts.push_back(static_cast<uint8_t>(i));
        seconds.push_back(static_cast<uint8_t>(i >> 8));
      }
      KernelCase test;
      test.operation = round % 4 == 3 ? OperationType::SUB : OperationType::ADD;
      test.variables = 2;
      TestOperand a = random.tensor(type, {1});
      TestOperand b = random.tensor(type, {1});
      const float scale =
          std::max(a.tensor.scale, b.tensor.scale) * std::exp2(random.realBetween(-7.5f, 9.5f));
      a.tensor.dims = b.tensor.dims = {65536};
      a.bytes = firsts;
      b.bytes = seconds;
      test.inputs = {a, b, TestOperand::int32(random.between(0, 3))};
      test.outputs = {TestOperand::output(
          type, scale, random.between(-128, 127) + (type == TENSOR_QUANT8_ASYMM ? 128 : 0))};
      checkKernel(std::move(test), 3,
                  fmt::format("{}, scales {}, {}, {}", operandTypeName(type), a.tensor.scale,
                              b.tensor.scale, scale));
      if (HasFatalFailure()) return;
    }
  }
}

// A ratio of scales beyond the fixed point's range is the reference kernel's affair.
TEST(BinaryKernel, ThereIsNoneForRatiosOfScalesThatFixedPointDoesNotHold) {
  RandomOperands random(32);
  TestOperand a = random.tensor(TENSOR_QUANT8_ASYMM, {2, 3});
  TestOperand code = TestOperand::int32(0);
  TestOperand out = TestOperand::output(TENSOR_QUANT8_ASYMM, a.tensor.scale / 300, 7);
  out.tensor.dims = {2, 3};
  std::vector<ops::Tensor> inputs = {a.tensor, a.tensor, code.tensor};
  inputs[2].data = code.bytes.data();
  const std::vector<ops::Tensor> outputs = {out.tensor};
  EXPECT_EQ(makeKernel(*ops::definitionOf(OperationType::ADD), {inputs, outputs}), nullptr);
}

}  // namespace
}  // namespace halyard::cpudriver::testing
