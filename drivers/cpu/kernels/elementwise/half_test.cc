// float16 operations by float32 kernels against the reference kernels. Values are few bits long, so
// that all sums are exact and both have to agree to the bit.
#include "kernels/kernel_for_test.h"

namespace halyard::cpudriver::testing {
namespace {

using enum OperandType;

// Multiples of 1 / `parts`, up to `most` of them.
TestOperand multiples(RandomOperands& random, const Shape& dims, int parts, int most) {
  std::vector<Float16> values(ops::testing::elementsOf(dims));
  for (Float16& value : values) {
    value = toFloat16(static_cast<float>(random.between(-most, most)) / static_cast<float>(parts));
  }
  return TestOperand::of<Float16>(TENSOR_FLOAT16, dims, values);
}
TestOperand sixteenths(RandomOperands& random, const Shape& dims) {
  return multiples(random, dims, 16, 48);
}
// Where layers are added in float16, these are few enough for exact sums there, too.
TestOperand factors(RandomOperands& random, const Shape& dims) {
  if (halfGemm(ops::newestSimdLevel()) == nullptr) return sixteenths(random, dims);
  return multiples(random, dims, 4, 2);
}

TEST(HalfKernel, IsTheReferenceForElements) {
  RandomOperands random(71);
  for (const Shape& shape : {Shape{1}, Shape{3, 37}, Shape{2, 5, 7, 9}, Shape{40, 1000}}) {
    for (const OperationType operation : {OperationType::RELU6, OperationType::FLOOR}) {
      KernelCase test;
      test.operation = operation;
      test.inputs = {sixteenths(random, shape)};
      test.outputs = {TestOperand::output(TENSOR_FLOAT16)};
      checkKernel(std::move(test), 3, shapeText(shape));
      if (HasFatalFailure()) return;
    }
    for (const size_t variables : {1, 2}) {
      KernelCase test;
      test.operation = OperationType::ADD;
      test.inputs = {sixteenths(random, shape), sixteenths(random, shape), TestOperand::int32(3)};
      test.variables = variables;
      test.outputs = {TestOperand::output(TENSOR_FLOAT16)};
      checkKernel(std::move(test), 3, shapeText(shape));
      if (HasFatalFailure()) return;
    }
  }
}

// A kernel reads its input even if that is a constant, as in a model that computes with nothing
// else.
TEST(HalfKernel, ConstantsThatAreNoWeightsAreThere) {
  RandomOperands random(73);
  KernelCase test;
  test.operation = OperationType::SOFTMAX;
  test.inputs = {sixteenths(random, {3, 37}), ops::testing::float16(1.5F)};
  test.variables = 0;
  test.outputs = {TestOperand::output(TENSOR_FLOAT16)};
  checkKernel(std::move(test), 3, "constant input");
}

// The weights are packed. Each run reads the tensor that they apply to, variable or not.
TEST(HalfKernel, IsTheReferenceForLayers) {
  RandomOperands random(72);
  for (const size_t variables : {1, 0}) {
    for (const uint32_t size : {1u, 3u}) {
      KernelCase test;
      test.operation = OperationType::CONV_2D;
      test.inputs = {factors(random, {2, 9, 17, 5}), factors(random, {37, size, size, 5}),
                     factors(random, {37}),          TestOperand::int32(1),
                     TestOperand::int32(1),          TestOperand::int32(1),
                     TestOperand::int32(1)};
      test.variables = variables;
      test.outputs = {TestOperand::output(TENSOR_FLOAT16)};
      checkKernel(std::move(test), 3, fmt::format("filter of {}, {} variable", size, variables));
      if (HasFatalFailure()) return;
    }
    KernelCase test;
    test.operation = OperationType::FULLY_CONNECTED;
    test.inputs = {factors(random, {3, 70}), factors(random, {40, 70}), factors(random, {40}),
                   TestOperand::int32(0)};
    test.variables = variables;
    test.outputs = {TestOperand::output(TENSOR_FLOAT16)};
    checkKernel(std::move(test), 3, fmt::format("full connection, {} variable", variables));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace halyard::cpudriver::testing
