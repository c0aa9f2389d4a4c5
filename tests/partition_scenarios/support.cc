// Scenarios of the operations that devices support.
#include "partition_scenarios/scenario.h"

namespace halyard::runtime::scenarios {
namespace {

using enum OperationType;

// An operation of each version: ADD, SUB, MAXIMUM, HARD_SWISH.
TestModel ofEachVersion() {
  TestModel model;
  const uint32_t a = model.input({4});
  const uint32_t b = model.input({4});
  const uint32_t sum = model.temporary({4});
  const uint32_t difference = model.temporary({4});
  model.add(a, b, sum);
  model.operation(SUB, {a, b, model.int32(0)}, {difference});
  model.operation(MAXIMUM, {sum, difference}, {model.output({4})});
  model.operation(HARD_SWISH, {difference}, {model.output({4})});
  return model;
}

// float32 in, DEQUANTIZE(QUANTIZE(x)), ADD.
TestModel quantizedMiddle() {
  TestModel model;
  const uint32_t x = model.input({4});
  const uint32_t q = model.temporary({4}, OperandType::TENSOR_QUANT8_ASYMM);
  const uint32_t r = model.temporary({4}, OperandType::TENSOR_QUANT8_ASYMM);
  const uint32_t back = model.temporary({4});
  for (const uint32_t operand : {q, r}) quantize(model, operand, 0.25F, 100);
  model.operation(QUANTIZE, {x}, {q});
  model.operation(RELU, {q}, {r});
  model.operation(DEQUANTIZE, {r}, {back});
  model.add(back, x, model.output({4}));
  return model;
}

// A comparison, and a selection by its result.
TestModel chosen() {
  TestModel model;
  const uint32_t a = model.input({4});
  const uint32_t b = model.input({4});
  const uint32_t less = model.temporary({4}, OperandType::TENSOR_BOOL8);
  const uint32_t sum = model.temporary({4});
  model.operation(LESS, {a, b}, {less});
  model.add(a, b, sum);
  model.operation(SELECT, {less, a, sum}, {model.output({4})});
  return model;
}

// BATCH_MATMUL is of feature level 6, RELU of 1.
TestModel newAndOld() {
  TestModel model;
  const uint32_t a = model.input({2, 2, 2});
  const uint32_t product = model.temporary({2, 2, 2});
  const uint32_t no = model.constant<uint8_t>(OperandType::BOOL, {}, {0});
  model.operation(BATCH_MATMUL, {a, a, no, no}, {product});
  model.operation(RELU, {product}, {model.output({2, 2, 2})});
  return model;
}

void addOperations(std::vector<Scenario>& list) {
  list.push_back({.name = "EachTakesWhatItCan",
                  .says = "Two drivers with an operation each make a partition each.",
                  .drivers = {{"relu", personality(figures(0.5), takes("RELU"))},
                              {"tanh", personality(figures(0.5), takes("TANH"))}},
                  .model = chainOf({RELU, TANH}),
                  .plan = "relu{0} tanh{1}",
                  .why = {{1, "relu", "its personality does not allow TANH"}}});
  list.push_back({.name = "NobodyTakesAnything",
                  .says = "When no driver takes anything, the CPU device has the whole model.",
                  .drivers = {{"picky", personality(figures(0.1), takes("LSTM"))}},
                  .model = chainOf({RELU, TANH}),
                  .plan = "nnapi-reference{0,1}"});
  list.push_back({.name = "ThreeWays",
                  .says = "Two drivers and the CPU device, each with what only it has.",
                  .drivers = {{"relu", personality(figures(0.5), takes("RELU"))},
                              {"tanh", personality(figures(0.5), takes("TANH"))}},
                  .model = chainOf({RELU, ABS, TANH, RELU}),
                  .plan = "relu{0} nnapi-reference{1} tanh{2} relu{3}"});
}

void addVersions(std::vector<Scenario>& list) {
  list.push_back({.name = "FourHalVersions",
                  .says = "Operations of four HAL versions go to the oldest driver that has them, "
                          "which is the fastest.",
                  .drivers = {{"v1_0", figures(0.6), "1.0"},
                              {"v1_1", figures(0.7), "1.1"},
                              {"v1_2", figures(0.8), "1.2"},
                              {"v1_3", figures(0.9), "1.3"}},
                  .model = ofEachVersion,
                  .plan = "v1_1{1} v1_3{3} v1_0{0} v1_2{2}",
                  .why = {{3, "v1_2", "needs feature level 4 (HAL 1.3)"}}});
  list.push_back(
      {.name = "AnOldDriver",
       .says = "A driver of HAL 1.0 has the operations of that version, and is shown only those.",
       .drivers = {{"v1_0", figures(0.6), "1.0"}},
       .model = ofEachVersion,
       .plan = "nnapi-reference{1,3} v1_0{0} nnapi-reference{2}"});
  list.push_back({.name = "AnOldFeatureLevel",
                  .says = "A driver of HAL 1.3 that says feature level 5 gets nothing newer.",
                  .drivers = {{"level5", personality(figures(0.5), R"("feature_level": 5)")}},
                  .model = newAndOld,
                  .plan = "nnapi-reference{0} level5{1}",
                  .why = {{0, "level5", "needs feature level 6"}}});
  list.push_back({.name = "ANewFeatureLevel",
                  .says = "One that says feature level 8 has it all.",
                  .drivers = {{"level8", personality(figures(0.5), R"("feature_level": 8)")}},
                  .model = newAndOld,
                  .plan = "level8{0,1}"});
}

void addTypes(std::vector<Scenario>& list) {
  list.push_back(
      {.name = "OnlyQuantised",
       .says = "A driver for quantised values has the quantised middle of a float model.",
       .drivers = {{"bytes", personality(figures(0.5),
                                         R"("supports": {"deciding_types":
                                                       ["TENSOR_QUANT8_ASYMM"]})")}},
       .model = quantizedMiddle,
       .plan = "nnapi-reference{0} bytes{1,2} nnapi-reference{3}"});
  list.push_back({.name = "NoBooleans",
                  .says = "A driver that takes no TENSOR_BOOL8 leaves comparisons and choices.",
                  .drivers = {{"floats", personality(figures(0.5),
                                                     R"("supports": {"not_operand_types":
                                                        ["TENSOR_BOOL8"]})")}},
                  .model = chosen,
                  .plan = "nnapi-reference{0} floats{1} nnapi-reference{2}"});
  list.push_back(
      {.name = "DecidedByAnotherInput",
       .says = "A driver may decide by another input than the first, as SELECT's second.",
       .drivers = {{"floats", personality(figures(0.5),
                                          R"("supports": {"deciding_types":
                                                        ["TENSOR_FLOAT32"],
                                                        "deciding_input": {"SELECT": 1}})")}},
       .model = chosen,
       .plan = "floats{0,1,2}"});
}

void addSilent(std::vector<Scenario>& list) {
  list.push_back(
      {.name = "CannotBeAsked",
       .says = "A driver that cannot name its operations supports nothing.",
       .drivers = {{"silent", personality(figures(0.1), fault(R"("at": "get_supported_operations",
                                                              "do": "fail", "text": "not now")"))}},
       .model = chainOf({RELU, TANH}),
       .plan = "nnapi-reference{0,1}",
       .why = {{0, "silent", "not now"}}});
  list.push_back(
      {.name = "DiesOfTheQuestion",
       .says = "A driver that dies when it is asked gets nothing; the others do.",
       .drivers = {{"frail", personality(figures(0.1), fault(R"("at": "get_supported_operations",
                                                             "do": "crash")"))},
                   {"sound", figures(0.5)}},
       .model = chainOf({RELU, TANH}),
       .plan = "sound{0,1}",
       .why = {{0, "frail", "signal 11"}}});
}

}  // namespace

std::vector<Scenario> supportScenarios() {
  std::vector<Scenario> list;
  addOperations(list);
  addVersions(list);
  addTypes(list);
  addSilent(list);
  return list;
}

}  // namespace halyard::runtime::scenarios
