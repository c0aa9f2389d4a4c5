// Tests of DEQUANTIZE against its formula, for all four quantisations.
#include <gtest/gtest.h>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TEST(Dequantize, AgreesWithFormula) {
  RandomOperands random(41);
  for (int round = 0; round < 30; ++round) {
    for (OperandType from : {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_SYMM,
                             TENSOR_QUANT8_SYMM_PER_CHANNEL}) {
      for (OperandType to : {TENSOR_FLOAT32, TENSOR_FLOAT16}) {
        const Shape dims = randomShape(random, 1, 4, 6);
        TestOperand x = random.tensor(from, dims);
        if (from == TENSOR_QUANT8_SYMM) x.tensor.zeroPoint = 0;
        if (from == TENSOR_QUANT8_SYMM_PER_CHANNEL) {
          const int last = static_cast<int>(dims.size()) - 1;
          x = random.perChannelFilter(dims, static_cast<uint32_t>(random.between(0, last)));
        }
        std::vector<TestOperand> inputs = {x};
        std::vector<TestOperand> outputs = {TestOperand::output(to)};
        const Status status = runOperation(OperationType::DEQUANTIZE, inputs, outputs);
        ASSERT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(outputs[0].tensor.dims, dims);
        expectReals(outputs[0], realValues(x), operandTypeName(from));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Dequantize, ZeroSized) {
  RandomOperands random(42);
  EXPECT_EQ(inferredShapes(OperationType::DEQUANTIZE, {random.tensor(TENSOR_QUANT8_ASYMM, {2, 0})},
                           {TestOperand::output(TENSOR_FLOAT32)})[0],
            (Shape{2, 0}));
}

TEST(Dequantize, Refuses) {
  RandomOperands random(43);
  const TestOperand output = TestOperand::output(TENSOR_FLOAT32);
  TestOperand channels = random.perChannelFilter({2, 3}, 1);
  channels.tensor.channelQuant = nullptr;
  expectFailure(OperationType::DEQUANTIZE, {channels}, {output}, "no per-channel scales");
  SymmPerChannelQuantParams tooFew{{1.0f}, 1};
  channels.tensor.channelQuant = &tooFew;
  expectFailure(OperationType::DEQUANTIZE, {channels}, {output},
                "input [2,3] has 1 scales along dimension 1");
  SymmPerChannelQuantParams outside{{1.0f}, 2};
  channels.tensor.channelQuant = &outside;
  expectFailure(OperationType::DEQUANTIZE, {channels}, {output}, "along dimension 2");
  expectFailure(OperationType::DEQUANTIZE, {random.tensor(TENSOR_QUANT8_ASYMM, {1, 1, 1, 1, 1})},
                {output}, "rank 5");
}

}  // namespace
}  // namespace halyard::ops::testing
