// Scenarios of IF and WHILE.
#include "partition_scenarios/scenario.h"

namespace halyard::runtime::scenarios {
namespace {

using enum OperationType;

// condition ? then(x) : else(x), with other operations before and after it if `inMiddle`.
TestModel branch(OperationType thenType, OperationType elseType, const Shape& shape = {4},
                 bool inMiddle = false) {
  TestModel model;
  const uint32_t condition = model.input({1}, OperandType::TENSOR_BOOL8);
  uint32_t x = model.input(shape);
  if (inMiddle) {
    const uint32_t before = model.temporary(shape);
    model.operation(ABS, {x}, {before});
    x = before;
  }
  const uint32_t thenModel = model.reference(chain({thenType}, shape));
  const uint32_t elseModel = model.reference(chain({elseType}, shape));
  const uint32_t out = inMiddle ? model.temporary(shape) : model.output(shape);
  model.operation(IF, {condition, thenModel, elseModel, x}, {out});
  if (inMiddle) model.operation(TANH, {out}, {model.output(shape)});
  return model;
}

// while (i < 5) { i += 2; x = |x| + 1 }, from i = -3 to 3 on; then SQRT of x if `rooted`. Each
// operation of the body is of a type of its own.
TestModel loop(const Shape& shape = {4}, bool rooted = false) {
  constexpr OperandType kInt = OperandType::TENSOR_INT32;
  TestModel condition;
  {
    const uint32_t i = condition.input({1}, kInt);
    condition.input(shape);
    const uint32_t limit = condition.constant<int32_t>(kInt, {1}, {5});
    condition.operation(LESS, {i, limit}, {condition.output({1}, OperandType::TENSOR_BOOL8)});
  }
  TestModel body;
  {
    const uint32_t i = body.input({1}, kInt);
    const uint32_t x = body.input(shape);
    const uint32_t two = body.constant<int32_t>(kInt, {1}, {2});
    body.add(i, two, body.output({1}, kInt));
    const uint32_t positive = body.temporary(shape);
    body.operation(ABS, {x}, {positive});
    const uint32_t one = body.constant<float>(OperandType::TENSOR_FLOAT32, {1}, {1});
    body.operation(MAXIMUM, {positive, one}, {body.output(shape)});
  }
  TestModel model;
  const uint32_t i = model.input({1}, kInt);
  const uint32_t x = model.input(shape);
  const uint32_t first = model.reference(condition);
  const uint32_t second = model.reference(body);
  const uint32_t out = rooted ? model.temporary(shape) : model.output(shape);
  model.operation(WHILE, {first, second, i, x}, {model.output({1}, kInt), out});
  if (rooted) {
    // ABS makes a square root possible for any result of the loop.
    const uint32_t positive = model.temporary(shape);
    model.operation(ABS, {out}, {positive});
    model.operation(SQRT, {positive}, {model.output(shape)});
  }
  return model;
}

// An IF in the body of a loop.
TestModel nested() {
  constexpr OperandType kInt = OperandType::TENSOR_INT32;
  TestModel condition;
  {
    const uint32_t i = condition.input({1}, kInt);
    condition.input({4});
    condition.input({1}, OperandType::TENSOR_BOOL8);
    const uint32_t limit = condition.constant<int32_t>(kInt, {1}, {4});
    condition.operation(LESS, {i, limit}, {condition.output({1}, OperandType::TENSOR_BOOL8)});
  }
  TestModel body;
  {
    const uint32_t i = body.input({1}, kInt);
    const uint32_t x = body.input({4});
    const uint32_t which = body.input({1}, OperandType::TENSOR_BOOL8);
    const uint32_t one = body.constant<int32_t>(kInt, {1}, {1});
    body.add(i, one, body.output({1}, kInt));
    const uint32_t thenModel = body.reference(chain({TANH}));
    const uint32_t elseModel = body.reference(chain({RELU}));
    body.operation(IF, {which, thenModel, elseModel, x}, {body.output({4})});
  }
  TestModel model;
  const uint32_t i = model.input({1}, kInt);
  const uint32_t x = model.input({4});
  const uint32_t which = model.input({1}, OperandType::TENSOR_BOOL8);
  const uint32_t first = model.reference(condition);
  const uint32_t second = model.reference(body);
  model.operation(WHILE, {first, second, i, x, which},
                  {model.output({1}, kInt), model.output({4})});
  return model;
}

std::string flowFigures(double time, double flow) {
  return fmt::format(R"("capabilities": {{"default": {{"exec_time": {0}, "power_usage": 1}},
                       "if": {{"exec_time": {1}, "power_usage": 1}},
                       "while": {{"exec_time": {1}, "power_usage": 1}}}})",
                     time, flow);
}

std::vector<std::string> repeated(const std::vector<std::string>& events, int times) {
  std::vector<std::string> all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), events.begin(), events.end());
  return all;
}

void addBranches(std::vector<Scenario>& list) {
  list.push_back({.name = "ABranchForAnOldDriver",
                  .says = "A driver of HAL 1.0 has no IF: the runtime chooses, the driver computes "
                          "either side.",
                  .drivers = {{"old", figures(0.5), "1.0"}},
                  .model = [] { return branch(RELU, TANH); },
                  .plan = "old{#0 IF: then} old{#0 IF: else}"});
  list.push_back({.name = "ABranchAsAWhole",
                  .says = "A driver that has IF and all that is in it has the branch as a whole.",
                  .drivers = {{"whole", figures(0.5)}},
                  .model = [] { return branch(RELU, TANH); },
                  .plan = "whole{0}"});
  list.push_back({.name = "ABranchOnTwoSides",
                  .says = "The sides of a branch are computed by two drivers.",
                  .drivers = {{"relu", personality(figures(0.5), takes("RELU"))},
                              {"tanh", personality(figures(0.5), takes("TANH"))}},
                  .model = [] { return branch(RELU, TANH); },
                  .plan = "relu{#0 IF: then} tanh{#0 IF: else}"});
  list.push_back({.name = "ABranchWithOneSideAtHome",
                  .says = "One side goes to a driver, the other stays on the CPU device.",
                  .drivers = {{"relu", personality(figures(0.5), takes("RELU"))}},
                  .model = [] { return branch(RELU, TANH); },
                  .plan = "relu{#0 IF: then} nnapi-reference{#0 IF: else}"});
  list.push_back({.name = "ABranchInTheMiddle",
                  .says = "Partitions before and behind a branch that the runtime chooses.",
                  .drivers = {{"relu", personality(figures(0.5), takes("RELU ABS"))},
                              {"tanh", personality(figures(0.5), takes("TANH"))}},
                  .model = [] { return branch(RELU, LOGISTIC, {4}, true); },
                  .plan = "relu{0} relu{#1 IF: then} nnapi-reference{#1 IF: else} tanh{2}"});
  list.push_back({.name = "ABranchOfUnknownSizes",
                  .says = "Control flow of unknown sizes is left to the CPU device.",
                  .drivers = {{"whole", figures(0.5)}},
                  .model = [] { return branch(RELU, TANH, {0}); },
                  .plan = "nnapi-reference{0}",
                  .why = {{0, "whole", "control flow of unknown sizes"}}});
}

void addLoops(std::vector<Scenario>& list) {
  list.push_back({.name = "ALoopAcrossDevices",
                  .says = "The body of a loop on a driver, its condition on the CPU device.",
                  .drivers = {{"body", personality(figures(0.5), takes("ABS MAXIMUM ADD"))}},
                  .model = [] { return loop(); },
                  .plan = "nnapi-reference{#0 WHILE: condition} body{#0 WHILE: body}"});
  list.push_back({.name = "ALoopInThreeParts",
                  .says = "Condition and body of a loop on three devices.",
                  .drivers = {{"less", personality(figures(0.5), takes("LESS"))},
                              {"abs", personality(figures(0.5), takes("ABS MAXIMUM"))}},
                  .model = [] { return loop(); },
                  .plan = "less{#0 WHILE: condition} nnapi-reference{#0 WHILE: body} "
                          "abs{#0 WHILE: body}"});
  list.push_back({.name = "ALoopAsAWhole",
                  .says = "A driver that has WHILE and all that is in it has the loop as a whole.",
                  .drivers = {{"whole", figures(0.5)}},
                  .model = [] { return loop(); },
                  .plan = "whole{0}"});
  list.push_back(
      {.name = "ALoopOfUnknownSizes",
       .says = "A loop of unknown sizes is the CPU device's, the operations behind it are not.",
       .drivers = {{"fast", figures(0.5)}},
       .model = [] { return loop({0}, true); },
       .plan = "nnapi-reference{0} fast{1,2}"});
  list.push_back({.name = "PoorControlFlow",
                  .says = "A driver that is slow at loops gets the parts of one, not the loop.",
                  .drivers = {{"poor", flowFigures(0.5, 50)}},
                  .model = [] { return loop(); },
                  .plan = "poor{#0 WHILE: condition} poor{#0 WHILE: body}"});
  list.push_back({.name = "ABranchInALoop",
                  .says = "The runtime runs a branch within a loop, on three devices.",
                  .drivers = {{"tanh", personality(figures(0.5), takes("TANH"))},
                              {"relu", personality(figures(0.5), takes("RELU"))}},
                  .model = nested,
                  .plan = "nnapi-reference{#0 WHILE: condition} tanh{#0 WHILE: body: #1 IF: then} "
                          "relu{#0 WHILE: body: #1 IF: else} nnapi-reference{#0 WHILE: body}"});
}

void addFailures(std::vector<Scenario>& list) {
  list.push_back({.name = "AFailureBehindALoop",
                  .says = "A driver fails behind a loop that the runtime has run: only its own "
                          "partition is computed again.",
                  .drivers = {{"root", personality(figures(0.5), takes("SQRT"),
                                                   fault(R"("at": "execute", "do": "fail",
                                                            "text": "no roots today")"))},
                              {"body", personality(figures(0.6), takes("ABS MAXIMUM ADD"))}},
                  .model = [] { return loop({4}, true); },
                  .plan = "nnapi-reference{#0 WHILE: condition} body{#0 WHILE: body} body{1} "
                          "root{2}",
                  .events = {"EXECUTION_FAILED root", "CPU_FALLBACK root -> nnapi-reference"}});
  list.push_back(
      {.name = "ADeathInTheBody",
       .says = "A driver dies of every seventh execution, in the midst of loops: it is started "
               "again, and the loop goes on.",
       .drivers = {{"body", personality(figures(0.5), takes("ABS MAXIMUM ADD"),
                                        fault(R"("at": "execute", "nth": 7,
                                                            "times": 1, "do": "kill")"))}},
       .model = [] { return loop({4}, true); },
       .plan = "nnapi-reference{#0 WHILE: condition} body{#0 WHILE: body} body{1} "
               "nnapi-reference{2}",
       .events = repeated({"EXECUTION_FAILED body", "DRIVER_RESTARTED body", "RETRIED body"}, 4)});
  list.push_back(
      {.name = "FarAwayFromALoop",
       .says = "A loop is divided only when that is worth the way, ten times over.",
       .drivers =
           {{"body", personality(figures(0.01), takes("ABS MAXIMUM ADD")), "1.3", {5000, 0}}},
       .model = [] { return loop(); },
       .plan = "nnapi-reference{0}",
       .flatCosts = true});
}

}  // namespace

std::vector<Scenario> controlFlowScenarios() {
  std::vector<Scenario> list;
  addBranches(list);
  addLoops(list);
  addFailures(list);
  return list;
}

}  // namespace halyard::runtime::scenarios
