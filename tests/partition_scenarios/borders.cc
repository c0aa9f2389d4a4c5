// Scenarios of values that cross between partitions.
#include "partition_scenarios/scenario.h"

namespace halyard::runtime::scenarios {
namespace {

using enum OperationType;

TestModel sharedInput() {
  TestModel model;
  const uint32_t x = model.input({4});
  model.operation(RELU, {x}, {model.output({4})});
  model.operation(TANH, {x}, {model.output({4})});
  model.operation(ABS, {x}, {model.output({4})});
  return model;
}

// A temporary that two partitions read; it is also an output if `isOutput`.
TestModel sharedValue(bool isOutput) {
  TestModel model;
  const uint32_t shared = isOutput ? model.output({4}) : model.temporary({4});
  const uint32_t other = model.temporary({4});
  model.operation(RELU, {model.input({4})}, {shared});
  model.operation(TANH, {shared}, {other});
  model.add(shared, other, model.output({4}));
  return model;
}

// Two devices add the same constant; `inPool`: it lies in memory of the model.
TestModel sharedConstant(bool inPool) {
  TestModel model;
  const std::vector<float> values = {1, -2, 3, -4};
  uint32_t constant = 0;
  if (inPool) {
    auto pool = SharedMemory::create(256, "constants").value();
    std::memcpy(pool->mapped().value()->data() + 64, values.data(), 16);
    model.model().pools.push_back(std::move(pool));
    constant = model.poolConstant(OperandType::TENSOR_FLOAT32, {4}, {0, 64, 16});
  } else {
    constant = model.constant<float>(OperandType::TENSOR_FLOAT32, {4}, values);
  }
  const uint32_t sum = model.temporary({4});
  model.add(model.input({4}), constant, sum);
  model.operation(MUL, {sum, constant, model.int32(0)}, {model.output({4})});
  return model;
}

// RELU -> TANH -> RELU with a size that only executions determine.
TestModel openSizes() {
  TestModel model = chain({RELU, TANH, RELU});
  for (Operand& operand : model.model().main.operands) operand.dimensions = {0};
  return model;
}
TestModel openTemporary() {
  TestModel model = chain({RELU, TANH});
  model.model().main.operands[1].dimensions = {0};
  return model;
}

// tanh(constant) + x, then RELU.
TestModel withoutInputs() {
  TestModel model;
  const uint32_t constant = model.constant<float>(OperandType::TENSOR_FLOAT32, {4}, {1, 2, 3, 4});
  const uint32_t first = model.temporary({4});
  const uint32_t second = model.temporary({4});
  model.operation(TANH, {constant}, {first});
  model.add(first, model.input({4}), second);
  model.operation(RELU, {second}, {model.output({4})});
  return model;
}
TestModel withoutOutputs() {
  TestModel model;
  const uint32_t x = model.input({4});
  model.operation(TANH, {x}, {model.temporary({4})});
  model.operation(RELU, {x}, {model.output({4})});
  return model;
}

// RANK gives a scalar, and FILL reads it.
TestModel scalarBetween() {
  TestModel model;
  const uint32_t rank = model.temporary({}, OperandType::INT32);
  const uint32_t dims = model.constant<int32_t>(OperandType::TENSOR_INT32, {2}, {2, 3});
  model.operation(RANK, {model.input({1, 2, 2})}, {rank});
  model.operation(FILL, {dims, rank}, {model.output({2, 3}, OperandType::TENSOR_INT32)});
  return model;
}

TestModel omittedInput() {
  TestModel model;
  const uint32_t turned = model.temporary({3, 2});
  model.operation(TRANSPOSE, {model.input({2, 3}), model.omitted(OperandType::TENSOR_INT32, {2})},
                  {turned});
  model.operation(RELU, {turned}, {model.output({3, 2})});
  return model;
}

TestModel splitInThree() {
  TestModel model;
  std::vector<uint32_t> pieces;
  for (int i = 0; i < 3; ++i) pieces.push_back(model.temporary({2}));
  model.operation(SPLIT, {model.input({6}), model.int32(0), model.int32(3)}, pieces);
  model.operation(RELU, {pieces[0]}, {model.output({2})});
  model.operation(TANH, {pieces[1]}, {model.output({2})});
  model.operation(ABS, {pieces[2]}, {model.output({2})});
  return model;
}

TestModel quantizedBorder() {
  TestModel model;
  const auto quantized = [&](float scale, int32_t zeroPoint) {
    const uint32_t operand = model.temporary({4}, OperandType::TENSOR_QUANT8_ASYMM);
    quantize(model, operand, scale, zeroPoint);
    return operand;
  };
  const uint32_t coarse = quantized(0.5F, 3);
  const uint32_t positive = quantized(0.5F, 3);
  model.operation(QUANTIZE, {model.input({4})}, {coarse});
  model.operation(RELU, {coarse}, {positive});
  model.operation(DEQUANTIZE, {positive}, {model.output({4})});
  return model;
}

// Device a reads the results of b, which reads the results of a, and so on, in branches that could
// run in parallel.
TestModel zigzag() {
  TestModel model;
  std::vector<uint32_t> lanes;
  for (int i = 0; i < 3; ++i) lanes.push_back(model.input({4}));
  for (int layer = 0; layer < 3; ++layer) {
    for (size_t i = 0; i < lanes.size(); ++i) {
      const uint32_t next = layer == 2 ? model.output({4}) : model.temporary({4});
      model.operation((layer + static_cast<int>(i)) % 2 == 0 ? RELU : TANH, {lanes[i]}, {next});
      lanes[i] = next;
    }
  }
  return model;
}

void addSharedValues(std::vector<Scenario>& list) {
  list.push_back({.name = "AnInputForAll",
                  .says = "An input of the model is read by partitions on three devices.",
                  .drivers = reluAndTanh(),
                  .model = sharedInput,
                  .plan = "nnapi-reference{2} tanh{1} relu{0}"});
  list.push_back({.name = "ATemporaryForTwo",
                  .says = "A temporary is read by two partitions on other devices.",
                  .drivers = reluAndTanh(),
                  .model = [] { return sharedValue(false); },
                  .plan = "relu{0} tanh{1} nnapi-reference{2}"});
  list.push_back({.name = "AnOutputThatIsReadOn",
                  .says = "An output of the model is read by later partitions as well.",
                  .drivers = reluAndTanh(),
                  .model = [] { return sharedValue(true); },
                  .plan = "relu{0} tanh{1} nnapi-reference{2}"});
  list.push_back({.name = "AConstantForTwo",
                  .says = "A small constant is part of two partitions.",
                  .drivers = {{"add", personality(figures(0.5), takes("ADD"))},
                              {"mul", personality(figures(0.5), takes("MUL"))}},
                  .model = [] { return sharedConstant(false); },
                  .plan = "add{0} mul{1}"});
  list.push_back({.name = "AConstantInMemoryForTwo",
                  .says = "A constant in memory is part of two partitions in two processes.",
                  .drivers = {{"add", personality(figures(0.5), takes("ADD"))},
                              {"mul", personality(figures(0.5), takes("MUL"))}},
                  .model = [] { return sharedConstant(true); },
                  .plan = "add{0} mul{1}"});
}

void addOpenSizes(std::vector<Scenario>& list) {
  list.push_back({.name = "SizesThatExecutionsKnow",
                  .says = "Values whose sizes only executions know go from driver to driver.",
                  .drivers = reluAndTanh(),
                  .model = openSizes,
                  .plan = "relu{0} tanh{1} relu{2}"});
  list.push_back({.name = "ATemporaryThatDriversSize",
                  .says = "A temporary of unknown size between two partitions grows as needed.",
                  .drivers = reluAndTanh("1.2"),
                  .model = openTemporary,
                  .plan = "relu{0} tanh{1}"});
  list.push_back({.name = "OldDriversKnowNoUnknownSizes",
                  .says =
                      "A driver before HAL 1.2 cannot give such a temporary: the CPU device has "
                      "the whole model.",
                  .drivers = reluAndTanh("1.1"),
                  .model = openTemporary,
                  .plan = "nnapi-reference{0,1}",
                  .events = {"CPU_FALLBACK -> nnapi-reference"}});
  list.push_back({.name = "APartWithoutInputs",
                  .says =
                      "By the plain rule a partition without inputs makes the plan fail: the CPU "
                      "device has the whole model.",
                  .drivers = {{"tanh", personality(figures(0.5), takes("TANH"))}},
                  .model = withoutInputs,
                  .plan = "nnapi-reference{0,1,2}",
                  .events = {"CPU_FALLBACK -> nnapi-reference"}});
  list.push_back(
      {.name = "APartWithoutInputsMoves",
       .says = "By predicted cost it goes to a neighbour that can have it.",
       .drivers = {{"tanh", personality(figures(0.001), takes("TANH")), "1.3", {10, 0}},
                   {"both", personality(figures(0.001), takes("ADD TANH")), "1.3", {10, 0}}},
       .model = withoutInputs,
       .plan = "both{0,1} nnapi-reference{2}",
       .flatCosts = true});
  list.push_back({.name = "APartWithoutOutputs",
                  .says =
                      "A partition without a reader of its results is no partition: the CPU device "
                      "has the whole model.",
                  .drivers = {{"tanh", personality(figures(0.5), takes("TANH"))}},
                  .model = withoutOutputs,
                  .plan = "nnapi-reference{0,1}",
                  .events = {"CPU_FALLBACK -> nnapi-reference"}});
}

void addKindsOfValues(std::vector<Scenario>& list) {
  list.push_back({.name = "AScalarCrosses",
                  .says = "A scalar that one partition computes is read by another.",
                  .drivers = {{"rank", personality(figures(0.5), takes("RANK"))},
                              {"fill", personality(figures(0.5), takes("FILL"))}},
                  .model = scalarBetween,
                  .plan = "rank{0} fill{1}"});
  list.push_back({.name = "AnOmittedInput",
                  .says = "An input that the model omits stays omitted in the partition.",
                  .drivers = {{"turn", personality(figures(0.5), takes("TRANSPOSE"))}},
                  .model = omittedInput,
                  .plan = "turn{0} nnapi-reference{1}"});
  list.push_back({.name = "AnOperationWithManyOutputs",
                  .says = "The outputs of one operation go to three devices.",
                  .drivers = {{"split", personality(figures(0.4), takes("SPLIT"))},
                              {"relu", personality(figures(0.5), takes("RELU"))},
                              {"tanh", personality(figures(0.5), takes("TANH"))}},
                  .model = splitInThree,
                  .plan = "split{0} nnapi-reference{3} tanh{2} relu{1}"});
  list.push_back({.name = "QuantisedValuesCross",
                  .says = "Scale and zero point are the same on both sides of a border.",
                  .drivers = {{"relu", personality(figures(0.5), takes("RELU"))},
                              {"back", personality(figures(0.5), takes("DEQUANTIZE"))}},
                  .model = quantizedBorder,
                  .plan = "nnapi-reference{0} relu{1} back{2}"});
  list.push_back(
      {.name = "PartsAreCollected",
       .says = "Operations that are ready for the same device go there in one partition.",
       .drivers = reluAndTanh(),
       .model = zigzag,
       .plan = "tanh{1} relu{0,2,4} tanh{3,5,7} relu{6,8}"});
  list.push_back(
      {.name = "ManyPartitions",
       .says = "Twelve operations that alternate make twelve partitions by the plain rule.",
       .drivers = reluAndTanh(),
       .model = chainOf({RELU, TANH, RELU, TANH, RELU, TANH, RELU, TANH, RELU, TANH, RELU, TANH}),
       .plan = "relu{0} tanh{1} relu{2} tanh{3} relu{4} tanh{5} relu{6} tanh{7} relu{8} "
               "tanh{9} relu{10} tanh{11}"});
}

}  // namespace

std::vector<Scenario> borderScenarios() {
  std::vector<Scenario> list;
  addSharedValues(list);
  addOpenSizes(list);
  addKindsOfValues(list);
  return list;
}

}  // namespace halyard::runtime::scenarios
