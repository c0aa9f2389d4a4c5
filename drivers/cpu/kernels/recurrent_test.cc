// Recurrent cells against the reference kernels.
#include "kernels/kernel_for_test.h"
#include "ops/quantized_lstm_for_test.h"

namespace halyard::cpudriver::testing {
namespace {

using namespace ops::testing;
using enum OperandType;

// `steps` is 0 for one step of the operation that has no sequence.
KernelCase lstmCase(RandomOperands& random, const LstmParts& parts, uint32_t steps,
                    bool timeMajor) {
  const auto batch = static_cast<uint32_t>(random.oneOf({1, 1, 2, 5, 14}));
  LstmSizes sizes;
  sizes.inputs = static_cast<uint32_t>(random.between(1, 40));
  sizes.cells = static_cast<uint32_t>(random.between(1, 70));
  sizes.outputs = parts.projection ? static_cast<uint32_t>(random.between(1, 40)) : sizes.cells;
  KernelCase test;
  const bool isSequence = steps > 0;
  test.operation = isSequence ? OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM : OperationType::LSTM;
  Shape x = {batch, sizes.inputs};
  if (isSequence) x.insert(timeMajor ? x.begin() : x.begin() + 1, steps);
  test.inputs = {random.tensor(TENSOR_FLOAT32, x)};
  for (TestOperand& operand : lstmWeightOperands(random, TENSOR_FLOAT32, parts, sizes)) {
    // Small, so that what steps hand on does not make differences grow.
    auto values = operand.values<float>();
    for (float& value : values) value *= 0.2f;
    if (!values.empty()) std::memcpy(operand.bytes.data(), values.data(), operand.bytes.size());
    test.inputs.push_back(std::move(operand));
  }
  test.inputs.push_back(random.tensor(TENSOR_FLOAT32, {batch, sizes.outputs}));
  test.inputs.push_back(random.tensor(TENSOR_FLOAT32, {batch, sizes.cells}));
  test.inputs.push_back(TestOperand::int32(4));
  for (int clip = 0; clip < 2; ++clip) {
    test.inputs.push_back(TestOperand::float32(random.coin() ? 0 : random.realBetween(0.1f, 1)));
  }
  if (isSequence) test.inputs.push_back(TestOperand::boolean(timeMajor));
  for (TestOperand& operand :
       lstmGateOperands(random, TENSOR_FLOAT32, parts.layerNorm, parts.inputGate, {sizes.cells})) {
    test.inputs.push_back(std::move(operand));
  }
  test.outputs.assign(isSequence ? 3 : 4, TestOperand::output(TENSOR_FLOAT32));
  test.slack = 1e-5;
  return test;
}

TEST(LstmKernel, IsTheReference) {
  RandomOperands random(61);
  for (int round = 0; round < 200; ++round) {
    LstmParts parts = LstmParts::random(random);
    parts.peephole = round % 10 == 8;
    parts.layerNorm = round % 10 == 9;
    const auto steps = static_cast<uint32_t>(random.oneOf({0, 1, 7, 28}));
    const bool timeMajor = random.coin();
    const bool isPlain = !parts.peephole && !parts.layerNorm;
    checkKernel(lstmCase(random, parts, steps, timeMajor), isPlain ? 3 : 0,
                fmt::format("{}, {} steps, time major {}", parts.text(), steps, timeMajor));
    if (HasFatalFailure()) return;
  }
}

TEST(LstmKernel, ThereIsNoneForWeightsThatAreNoConstants) {
  RandomOperands random(62);
  KernelCase test = lstmCase(random, {}, 3, true);
  ASSERT_TRUE(runOperation(test.operation, test.inputs, test.outputs).ok());
  for (const size_t variable : {2, 6, 13}) {
    std::vector<ops::Tensor> inputs;
    for (TestOperand& input : test.inputs) {
      inputs.push_back(input.tensor);
      if (!input.tensor.omitted) inputs.back().data = input.bytes.data();
    }
    std::vector<ops::Tensor> outputs;
    for (const TestOperand& output : test.outputs) outputs.push_back(output.tensor);
    const auto& definition = *ops::definitionOf(test.operation);
    EXPECT_NE(makeKernel(definition, {inputs, outputs}), nullptr);
    inputs[variable].data = nullptr;
    EXPECT_EQ(makeKernel(definition, {inputs, outputs}), nullptr);
  }
}

TEST(QuantizedLstmKernel, IsTheReference) {
  RandomOperands random(63);
  for (int round = 0; round < 200; ++round) {
    QuantizedLstmCase sizes = QuantizedLstmCase::random(random);
    sizes.parts.projection = round % 10 == 9;
    sizes.cells = static_cast<uint32_t>(random.between(1, 50));
    sizes.outputs = sizes.parts.projection ? 5 : sizes.cells;
    KernelCase test;
    test.operation = OperationType::QUANTIZED_LSTM;
    test.inputs = sizes.inputsOf(random);
    test.outputs = sizes.outputsOf();
    checkKernel(std::move(test), sizes.parts.projection ? 0 : 3, sizes.parts.text());
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace halyard::cpudriver::testing
