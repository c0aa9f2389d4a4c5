// Products of matrices that are both known only when the model runs, against the reference kernels.
#include "kernels/kernel_for_test.h"

namespace halyard::cpudriver::testing {
namespace {

using namespace ops::testing;
using enum OperandType;

struct Sizes {
  Shape batch;
  uint32_t rows;
  uint32_t depth;
  uint32_t columns;
};

void checkMatmul(RandomOperands& random, OperandType type, const Sizes& sizes, bool adjointLeft,
                 bool adjointRight, int needed) {
  const auto shape = [&](uint32_t first, uint32_t second, bool isSwapped) {
    Shape result = sizes.batch;
    result.push_back(isSwapped ? second : first);
    result.push_back(isSwapped ? first : second);
    return result;
  };
  KernelCase test;
  test.operation = OperationType::BATCH_MATMUL;
  test.inputs = {random.tensor(type, shape(sizes.rows, sizes.depth, adjointLeft)),
                 random.tensor(type, shape(sizes.depth, sizes.columns, adjointRight)),
                 TestOperand::boolean(adjointLeft), TestOperand::boolean(adjointRight)};
  test.variables = 2;
  test.outputs = {random.output(type, std::sqrt(sizes.depth) * 2)};
  test.slack = 0x1p-22 * sizes.depth;
  checkKernel(std::move(test), needed,
              fmt::format("{} [{}] {} x {} x {}, adjoint {} {}", operandTypeName(type),
                          fmt::join(sizes.batch, ","), sizes.rows, sizes.depth, sizes.columns,
                          adjointLeft, adjointRight));
}

TEST(BatchMatmulKernel, IsTheReference) {
  RandomOperands random(41);
  const auto size = [&](int high) { return static_cast<uint32_t>(random.between(1, high)); };
  for (int round = 0; round < 80; ++round) {
    for (const OperandType type : {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM_SIGNED}) {
      const Shape batch = random.coin() ? Shape{} : random.coin() ? Shape{3} : Shape{2, 2};
      const Sizes sizes = {batch, size(40), size(80), size(90)};
      const bool adjointRight = random.coin();
      const bool isLeft = adjointRight && sizes.rows < 4;
      checkMatmul(random, type, sizes, random.coin(), adjointRight, isLeft ? 0 : kAllLevels);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(BatchMatmulKernel, IsTheReferenceOnLargerMatrices) {
  RandomOperands random(42);
  for (const OperandType type : {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM_SIGNED}) {
    for (const bool adjoint : {false, true}) {
      checkMatmul(random, type, {{2}, 300, 64, 20}, adjoint, false, kAllLevels);
      checkMatmul(random, type, {{}, 50, 2048, 130}, false, adjoint, kAllLevels);
      checkMatmul(random, type, {{}, 17, 512, 64}, false, adjoint, kAllLevels);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(FullyConnectedKernel, IsTheReferenceWithWeightsThatAreNoConstants) {
  RandomOperands random(43);
  for (int round = 0; round < 60; ++round) {
    for (const OperandType type :
         {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      const auto rows = static_cast<uint32_t>(random.oneOf({4, 14, 40}));
      const auto depth = static_cast<uint32_t>(random.between(1, 300));
      const auto units = static_cast<uint32_t>(random.between(1, 100));
      KernelCase test;
      test.operation = OperationType::FULLY_CONNECTED;
      const TestOperand input = random.tensor(type, {rows, depth});
      const TestOperand weights = random.tensor(type, {units, depth});
      const int code = random.between(0, 3);
      test.inputs = {input, weights, random.bias(input, weights, units), TestOperand::int32(code)};
      test.variables = 2;
      test.outputs = {random.output(type, 20)};
      test.slack = 0x1p-22 * depth;
      checkKernel(std::move(test), kAllLevels,
                  fmt::format("{}, {} x {} x {}, activation {}", operandTypeName(type), rows, depth,
                              units, code));
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace halyard::cpudriver::testing
