// Recurrent cells against the reference kernels.
#include "kernels/kernel_for_test.h"
#include "ops/quantized_lstm_for_test.h"

namespace halyard::cpudriver::testing {
namespace {

using namespace ops::testing;
using enum OperandType;

// Small, so that what steps hand on does not make differences grow.
TestOperand dampened(TestOperand operand) {
  auto values = operand.values<float>();
  for (float& value : values) value *= 0.2f;
  if (!values.empty()) std::memcpy(operand.bytes.data(), values.data(), operand.bytes.size());
  return operand;
}

void append(const std::vector<TestOperand>& operands, KernelCase* test) {
  for (const TestOperand& operand : operands) test->inputs.push_back(dampened(operand));
}

// `steps` is 0 for one step of the operation that has no sequence. The other numbers are random
// where they are 0.
KernelCase lstmCase(RandomOperands& random, const LstmParts& parts, uint32_t steps, bool timeMajor,
                    uint32_t cells = 0, uint32_t batch = 0, uint32_t width = 0) {
  if (batch == 0) batch = static_cast<uint32_t>(random.oneOf({1, 1, 2, 5, 14}));
  LstmSizes sizes;
  sizes.inputs = width > 0 ? width : static_cast<uint32_t>(random.between(1, 40));
  // The difference of few values from their mean may be little more than rounding.
  sizes.cells =
      cells > 0 ? cells : static_cast<uint32_t>(random.between(parts.layerNorm ? 8 : 1, 70));
  sizes.outputs = parts.projection ? static_cast<uint32_t>(random.between(1, 40)) : sizes.cells;
  KernelCase test;
  const bool isSequence = steps > 0;
  test.operation = isSequence ? OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM : OperationType::LSTM;
  Shape x = {batch, sizes.inputs};
  if (isSequence) x.insert(timeMajor ? x.begin() : x.begin() + 1, steps);
  test.inputs = {random.tensor(TENSOR_FLOAT32, x)};
  append(lstmWeightOperands(random, TENSOR_FLOAT32, parts, sizes), &test);
  test.inputs.push_back(random.tensor(TENSOR_FLOAT32, {batch, sizes.outputs}));
  test.inputs.push_back(random.tensor(TENSOR_FLOAT32, {batch, sizes.cells}));
  test.inputs.push_back(TestOperand::int32(random.oneOf({0, 1, 2, 3, 4, 4, 4, 6})));
  for (int clip = 0; clip < 2; ++clip) {
    test.inputs.push_back(TestOperand::float32(random.coin() ? 0 : random.realBetween(0.1f, 1)));
  }
  if (isSequence) test.inputs.push_back(TestOperand::boolean(timeMajor));
  for (TestOperand& operand :
       lstmGateOperands(random, TENSOR_FLOAT32, parts.layerNorm, parts.inputGate, {sizes.cells})) {
    test.inputs.push_back(std::move(operand));
  }
  test.outputs.assign(isSequence ? 3 : 4, TestOperand::output(TENSOR_FLOAT32));
  test.slack = parts.layerNorm ? 1e-4 : 1e-5;
  return test;
}

TEST(LstmKernel, IsTheReference) {
  RandomOperands random(61);
  for (int round = 0; round < 200; ++round) {
    const LstmParts parts = LstmParts::random(random);
    const auto steps = static_cast<uint32_t>(random.oneOf({0, 1, 7, 28}));
    const bool timeMajor = random.coin();
    checkKernel(lstmCase(random, parts, steps, timeMajor), kAllLevels,
                fmt::format("{}, {} steps, time major {}", parts.text(), steps, timeMajor));
    if (HasFatalFailure()) return;
  }
}

// Its steps go through the matrix from both ends in turn. The last panel has few columns.
TEST(LstmKernel, IsTheReferenceWithALargeMatrixOfItsState) {
  RandomOperands random(65);
  for (const bool timeMajor : {false, true}) {
    checkKernel(lstmCase(random, {}, 5, timeMajor, 197), kAllLevels,
                fmt::format("time major {}", timeMajor));
    if (HasFatalFailure()) return;
  }
}

// Both matrices are packed as bytes with one sequence, that of the inputs with several.
TEST(LstmKernel, IsTheReferenceWithWeightsOfBytes) {
  RandomOperands random(66);
  for (const uint32_t batch : {1u, 5u}) {
    KernelCase test = lstmCase(random, {}, 20, false, 197, batch, 211);
    for (size_t i = 1; i < 9; ++i) {
      const float step = 0.2f / static_cast<float>(90 + 4 * i);
      std::vector<float> values = test.inputs[i].values<float>();
      for (float& value : values) value = step * std::clamp(std::rint(value / step), -128.f, 127.f);
      if (!values.empty()) {
        std::memcpy(test.inputs[i].bytes.data(), values.data(), test.inputs[i].bytes.size());
      }
    }
    checkKernel(std::move(test), kAllLevels, fmt::format("{} sequences", batch));
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

// Inputs of a bidirectional operation that do not depend on its cell.
struct Both {
  uint32_t steps;
  uint32_t batch;
  uint32_t inputs;
  uint32_t aux;
  int linking;  // 0 none, 1 parallel, 2 cross
  bool isMerged;
  bool timeMajor;
  bool hasStates;

  explicit Both(RandomOperands& random)
      : steps(static_cast<uint32_t>(random.between(1, 9))),
        batch(static_cast<uint32_t>(random.between(1, 5))),
        inputs(static_cast<uint32_t>(random.between(1, 40))),
        aux(static_cast<uint32_t>(random.between(1, 40))),
        linking(random.between(0, 2)),
        isMerged(random.coin()),
        timeMajor(random.coin()),
        hasStates(random.coin()) {}

  TestOperand sequence(RandomOperands& random, uint32_t size) const {
    return random.tensor(TENSOR_FLOAT32,
                         timeMajor ? Shape{steps, batch, size} : Shape{batch, steps, size});
  }
  TestOperand auxSequence(RandomOperands& random) const {
    return linking == 0 ? TestOperand::omitted(TENSOR_FLOAT32) : sequence(random, aux);
  }
  uint32_t inputSize(int direction) const { return direction == 1 && linking == 1 ? aux : inputs; }
  size_t outputs(size_t states) const { return (isMerged ? 1 : 2) + (hasStates ? states : 0); }
  std::string text() const {
    return fmt::format("{} steps of {}, linking {}, merged {}, time major {}, states {}", steps,
                       batch, linking, isMerged, timeMajor, hasStates);
  }
};

TEST(BidirectionalLstmKernel, IsTheReference) {
  RandomOperands random(64);
  for (int round = 0; round < 150; ++round) {
    const Both both(random);
    KernelCase test;
    test.operation = OperationType::BIDIRECTIONAL_SEQUENCE_LSTM;
    test.inputs = {both.sequence(random, both.inputs)};
    LstmParts parts[2];
    LstmSizes sizes[2];
    for (const int d : {0, 1}) {
      parts[d] = LstmParts::random(random);
      sizes[d].inputs = both.inputSize(d);
      sizes[d].cells = static_cast<uint32_t>(random.between(parts[d].layerNorm ? 8 : 1, 50));
      sizes[d].outputs =
          parts[d].projection ? static_cast<uint32_t>(random.between(1, 30)) : sizes[d].cells;
      append(lstmWeightOperands(random, TENSOR_FLOAT32, parts[d], sizes[d]), &test);
    }
    for (const int d : {0, 1}) {
      append({random.tensor(TENSOR_FLOAT32, {both.batch, sizes[d].outputs}),
              random.tensor(TENSOR_FLOAT32, {both.batch, sizes[d].cells})},
             &test);
    }
    test.inputs.push_back(both.auxSequence(random));
    for (const int d : {0, 1}) {
      append(lstmGateOperands(random, TENSOR_FLOAT32, both.linking == 2, parts[d].inputGate,
                              {sizes[d].cells, both.aux}),
             &test);
    }
    test.inputs.push_back(TestOperand::int32(random.oneOf({4, 4, 6})));
    for (const float clip : {0.0f, 0.5f}) test.inputs.push_back(TestOperand::float32(clip));
    test.inputs.push_back(TestOperand::boolean(both.isMerged));
    test.inputs.push_back(TestOperand::boolean(both.timeMajor));
    for (const int d : {0, 1}) {
      append(lstmGateOperands(random, TENSOR_FLOAT32, parts[d].layerNorm, parts[d].inputGate,
                              {sizes[d].cells}),
             &test);
    }
    test.outputs.assign(both.outputs(4), TestOperand::output(TENSOR_FLOAT32));
    test.slack = 1e-4;
    checkKernel(std::move(test), kAllLevels,
                parts[0].text() + "; " + parts[1].text() + "; " + both.text());
    if (HasFatalFailure()) return;
  }
}

// The weights, the recurrent weights, the bias and the state of a plain cell.
std::vector<TestOperand> rnnOperands(RandomOperands& random, uint32_t batch, uint32_t inputs,
                                     uint32_t units) {
  return {random.tensor(TENSOR_FLOAT32, {units, inputs}),
          random.tensor(TENSOR_FLOAT32, {units, units}), random.tensor(TENSOR_FLOAT32, {units}),
          random.tensor(TENSOR_FLOAT32, {batch, units})};
}

TEST(RnnKernel, IsTheReference) {
  RandomOperands random(65);
  for (int round = 0; round < 150; ++round) {
    const auto steps = static_cast<uint32_t>(random.oneOf({0, 1, 7, 20}));
    const auto batch = static_cast<uint32_t>(random.oneOf({1, 2, 5, 14}));
    const auto inputs = static_cast<uint32_t>(random.between(1, 40));
    const auto units = static_cast<uint32_t>(random.between(1, 70));
    const bool timeMajor = random.coin();
    KernelCase test;
    test.operation = steps == 0 ? OperationType::RNN : OperationType::UNIDIRECTIONAL_SEQUENCE_RNN;
    Shape x = {batch, inputs};
    if (steps > 0) x.insert(timeMajor ? x.begin() : x.begin() + 1, steps);
    test.inputs = {random.tensor(TENSOR_FLOAT32, x)};
    append(rnnOperands(random, batch, inputs, units), &test);
    test.inputs.push_back(TestOperand::int32(random.oneOf({0, 1, 2, 3, 4, 6})));
    if (steps > 0) test.inputs.push_back(TestOperand::int32(timeMajor ? 1 : 0));
    test.outputs.assign(steps > 0 && random.coin() ? 1 : 2, TestOperand::output(TENSOR_FLOAT32));
    test.slack = 1e-4;
    checkKernel(std::move(test), kAllLevels,
                fmt::format("{} steps of {}, {} -> {}, time major {}", steps, batch, inputs, units,
                            timeMajor));
    if (HasFatalFailure()) return;
  }
}

TEST(BidirectionalRnnKernel, IsTheReference) {
  RandomOperands random(66);
  for (int round = 0; round < 150; ++round) {
    const Both both(random);
    KernelCase test;
    test.operation = OperationType::BIDIRECTIONAL_SEQUENCE_RNN;
    test.inputs = {both.sequence(random, both.inputs)};
    uint32_t units[2];
    for (const int d : {0, 1}) {
      units[d] = static_cast<uint32_t>(random.between(1, 40));
      append(rnnOperands(random, both.batch, both.inputSize(d), units[d]), &test);
    }
    test.inputs.push_back(both.auxSequence(random));
    for (const int d : {0, 1}) {
      const bool isCross = both.linking == 2;
      append({isCross ? random.tensor(TENSOR_FLOAT32, {units[d], both.aux})
                      : TestOperand::omitted(TENSOR_FLOAT32)},
             &test);
    }
    test.inputs.push_back(TestOperand::int32(random.oneOf({1, 4, 6})));
    test.inputs.push_back(TestOperand::boolean(both.timeMajor));
    test.inputs.push_back(TestOperand::boolean(both.isMerged));
    test.outputs.assign(both.outputs(2), TestOperand::output(TENSOR_FLOAT32));
    test.slack = 1e-4;
    checkKernel(std::move(test), kAllLevels, both.text());
    if (HasFatalFailure()) return;
  }
}

TEST(SvdfKernel, IsTheReference) {
  RandomOperands random(67);
  for (int round = 0; round < 150; ++round) {
    const auto batch = static_cast<uint32_t>(random.oneOf({1, 1, 2, 7}));
    const auto inputs = static_cast<uint32_t>(random.between(1, 60));
    const auto units = static_cast<uint32_t>(random.between(1, 60));
    const auto rank = static_cast<uint32_t>(random.between(1, 4));
    const auto memory = static_cast<uint32_t>(random.between(1, 30));
    KernelCase test;
    test.operation = OperationType::SVDF;
    test.inputs = {random.tensor(TENSOR_FLOAT32, {batch, inputs}),
                   random.tensor(TENSOR_FLOAT32, {units * rank, inputs}),
                   random.tensor(TENSOR_FLOAT32, {units * rank, memory}),
                   random.coin() ? random.tensor(TENSOR_FLOAT32, {units})
                                 : TestOperand::omitted(TENSOR_FLOAT32),
                   random.tensor(TENSOR_FLOAT32, {batch, memory * units * rank}),
                   TestOperand::int32(static_cast<int32_t>(rank)),
                   TestOperand::int32(random.oneOf({0, 1, 2, 3, 4, 6}))};
    test.outputs.assign(2, TestOperand::output(TENSOR_FLOAT32));
    test.slack = 1e-4;
    checkKernel(
        std::move(test), kAllLevels,
        fmt::format("{} of {} -> {}, rank {}, memory {}", batch, inputs, units, rank, memory));
    if (HasFatalFailure()) return;
  }
}

// Each tenth has a projection, for which there is no kernel.
QuantizedLstmCase quantizedLstmCase(RandomOperands& random, int round) {
  QuantizedLstmCase sizes = QuantizedLstmCase::random(random);
  sizes.parts.projection = round % 10 == 9;
  sizes.cells = static_cast<uint32_t>(random.between(1, 50));
  sizes.outputs = sizes.parts.projection ? 5 : sizes.cells;
  return sizes;
}

TEST(QuantizedLstmKernel, IsTheReference) {
  RandomOperands random(63);
  for (int round = 0; round < 200; ++round) {
    const QuantizedLstmCase sizes = quantizedLstmCase(random, round);
    KernelCase test;
    test.operation = OperationType::QUANTIZED_LSTM;
    test.inputs = sizes.inputsOf(random);
    test.outputs = sizes.outputsOf();
    checkKernel(std::move(test), sizes.parts.projection ? 0 : 3, sizes.parts.text());
    if (HasFatalFailure()) return;
  }
}

TEST(QuantizedLstmKernel, IsTheReferenceAlongASequence) {
  RandomOperands random(72);
  for (int round = 0; round < 200; ++round) {
    const QuantizedLstmCase sizes = quantizedLstmCase(random, round);
    const bool timeMajor = random.coin();
    const auto steps = static_cast<uint32_t>(random.between(1, 9));
    KernelCase test;
    test.operation = OperationType::QUANTIZED_SEQUENCE_LSTM;
    test.inputs = sizes.inputsOf(random);
    const ops::Tensor step = test.inputs[0].tensor;
    test.inputs[0] = random.tensor(step.type, timeMajor ? Shape{steps, sizes.batch, sizes.inputs}
                                                        : Shape{sizes.batch, steps, sizes.inputs});
    test.inputs[0].tensor.scale = step.scale;
    test.inputs[0].tensor.zeroPoint = step.zeroPoint;
    test.inputs.push_back(TestOperand::boolean(timeMajor));
    test.outputs = {sizes.outputsOf()[0]};
    checkKernel(std::move(test), sizes.parts.projection ? 0 : 3,
                fmt::format("{}, {} steps", sizes.parts.text(), steps));
    if (HasFatalFailure()) return;
  }
}

// The steps of an unrolled LSTM, which all read the same weights.
TEST(QuantizedLstmKernel, SharesWeights) {
  RandomOperands random(71);
  QuantizedLstmCase sizes = QuantizedLstmCase::random(random);
  sizes.parts.projection = false;
  sizes.outputs = sizes.cells;
  KernelCase test;
  test.operation = OperationType::QUANTIZED_LSTM;
  test.inputs = sizes.inputsOf(random);
  test.outputs = sizes.outputsOf();
  const Status status = ops::testing::runOperation(test.operation, test.inputs, test.outputs);
  ASSERT_TRUE(status.ok()) << status.toString();
  std::vector<ops::Tensor> inputs;
  std::vector<ops::Tensor> outputs;
  std::vector<uint32_t> operands;
  for (TestOperand& input : test.inputs) {
    operands.push_back(static_cast<uint32_t>(operands.size()));
    inputs.push_back(input.tensor);
    if (operands.size() > 1) inputs.back().data = input.bytes.data();
  }
  for (const TestOperand& output : test.outputs) outputs.push_back(output.tensor);
  PackingWatch packing;
  SharedParts parts;
  const auto make = [&] {
    return makeKernel(*ops::definitionOf(test.operation), {.inputs = inputs,
                                                           .outputs = outputs,
                                                           .packing = &packing,
                                                           .operands = operands,
                                                           .parts = &parts});
  };
  const auto first = make();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(packing.pieces(), 2u);
  const auto second = make();
  EXPECT_EQ(packing.pieces(), 2u);
  EXPECT_EQ(runKernel(*second, test), runKernel(*first, test));
  expectSame(runKernel(*second, test)[0], test.outputs[0], 0, "the second");
  // Values of another zero point, or weights that are other operands, are something else.
  inputs[0].zeroPoint += 1;
  ASSERT_NE(make(), nullptr);
  EXPECT_EQ(packing.pieces(), 3u);
  for (uint32_t& operand : operands) operand += 100;
  ASSERT_NE(make(), nullptr);
  EXPECT_EQ(packing.pieces(), 5u);
}

TEST(ByteLstmKernel, IsTheReference) {
  RandomOperands random(64);
  for (int round = 0; round < 120; ++round) {
    const auto batch = static_cast<uint32_t>(random.between(1, 3));
    const auto inputs = static_cast<uint32_t>(random.between(1, 40));
    const auto cells = static_cast<uint32_t>(random.between(1, 50));
    // From gates that hardly move to those at their limits.
    const float scale = random.oneOf({0.0005f, 0.004f, 0.03f});
    const int zeroPoint = random.between(0, 255);
    const auto bytes = [&](const Shape& dims, float step, int zero) {
      TestOperand operand = random.tensor(TENSOR_QUANT8_ASYMM, dims);
      operand.tensor.scale = step;
      operand.tensor.zeroPoint = zero;
      return operand;
    };
    KernelCase test;
    test.operation = OperationType::QUANTIZED_16BIT_LSTM;
    test.inputs = {bytes({batch, inputs}, 1.0f / 128, 128)};
    for (int gate = 0; gate < 4; ++gate) {
      test.inputs.push_back(bytes({cells, inputs}, scale, zeroPoint));
    }
    for (int gate = 0; gate < 4; ++gate) {
      test.inputs.push_back(bytes({cells, cells}, scale, zeroPoint));
    }
    for (int gate = 0; gate < 4; ++gate) {
      std::vector<int32_t> values(cells);
      for (int32_t& value : values) value = random.between(-20000, 20000);
      test.inputs.push_back(TestOperand::of<int32_t>(TENSOR_INT32, {cells}, values, scale / 128));
    }
    std::vector<int16_t> state(size_t{batch} * cells);
    for (int16_t& value : state) value = static_cast<int16_t>(random.between(-32768, 32767));
    test.inputs.push_back(
        TestOperand::of<int16_t>(TENSOR_QUANT16_SYMM, {batch, cells}, state, 1.0f / 2048));
    test.inputs.push_back(bytes({batch, cells}, 1.0f / 128, 128));
    test.outputs = {TestOperand::output(TENSOR_QUANT16_SYMM, 1.0f / 2048, 0),
                    TestOperand::output(TENSOR_QUANT8_ASYMM, 1.0f / 128, 128)};
    checkKernel(std::move(test), 3,
                fmt::format("batch {}, {} to {}, scale {}, zero point {}", batch, inputs, cells,
                            scale, zeroPoint));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace halyard::cpudriver::testing
