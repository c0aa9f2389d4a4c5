// Element by element operations of the driver against the reference kernels.
#include "kernels/kernel_for_test.h"

namespace halyard::cpudriver::testing {
namespace {

using enum OperandType;

const std::pair<Shape, Shape> kShapes[] = {
    {{2, 3, 5, 7}, {2, 3, 5, 7}}, {{4, 37}, {37}},      {{4, 37}, {4, 1}}, {{1}, {3, 70}},
    {{3, 1, 9}, {1, 33, 9}},      {{40, 1000}, {1000}}, {{5, 1}, {1, 6}},  {{1, 1}, {1}}};

TEST(BinaryKernel, IsTheReferenceForAllWaysOfBroadcasting) {
  RandomOperands random(31);
  for (const auto& [a, b] : kShapes) {
    for (const OperationType operation :
         {OperationType::ADD, OperationType::SUB, OperationType::MUL}) {
      for (const OperandType type :
           {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
        const bool isProduct = operation == OperationType::MUL;
        for (int code = 0; code < 4; ++code) {
          KernelCase test;
          test.operation = operation;
          test.variables = 2;
          test.inputs = {random.tensor(type, a), random.tensor(type, b), TestOperand::int32(code)};
          test.outputs = {random.output(type, random.realBetween(0.5f, 12.0f))};
          checkKernel(std::move(test), isProduct && type != TENSOR_FLOAT32 ? 0 : 3,
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
  for (const auto& [a, b] : kShapes) {
    for (const OperationType operation :
         {OperationType::DIV, OperationType::MAXIMUM, OperationType::MINIMUM}) {
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
