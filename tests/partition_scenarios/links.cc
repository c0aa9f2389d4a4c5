// Scenarios of the cost of a link to a driver. Each operation takes a microsecond on the CPU
// device. Links cost nanoseconds for each partition and for each byte.
#include "partition_scenarios/scenario.h"

namespace halyard::runtime::scenarios {
namespace {

using enum OperationType;

// Wide values, one narrow one in the middle, wide values again: 6 wide operations on either side.
TestModel narrowMiddle() {
  TestModel model;
  const Shape wide = {1, 1000};
  uint32_t value = model.input(wide);
  const auto widely = [&](int count, bool last) {
    for (int i = 0; i < count; ++i) {
      const uint32_t next = last && i + 1 == count ? model.output(wide) : model.temporary(wide);
      model.operation(ABS, {value}, {next});
      value = next;
    }
  };
  widely(6, false);
  const uint32_t narrow = model.temporary({1, 1});
  const uint32_t axes = model.constant<int32_t>(OperandType::TENSOR_INT32, {1}, {1});
  model.operation(MEAN, {value, axes, model.int32(1)}, {narrow});
  const uint32_t again = model.temporary(wide);
  const uint32_t zeros =
      model.constant<float>(OperandType::TENSOR_FLOAT32, wide, std::vector<float>(1000, 0.25F));
  model.add(narrow, zeros, again);
  value = again;
  widely(5, true);
  return model;
}

// One input, branches of 8 operations, joined at the end.
TestModel branches(int count) {
  TestModel model;
  const uint32_t x = model.input({4});
  uint32_t sum = x;
  for (int b = 0; b < count; ++b) {
    uint32_t value = x;
    for (int i = 0; i < 8; ++i) {
      const uint32_t next = model.temporary({4});
      model.operation(b % 2 == 0 ? ABS : RELU, {value}, {next});
      value = next;
    }
    const uint32_t joined = b + 1 == count ? model.output({4}) : model.temporary({4});
    model.add(sum, value, joined);
    sum = joined;
  }
  return model;
}

void addDistances(std::vector<Scenario>& list) {
  list.push_back({.name = "TooFarForALittle",
                  .says = "A fast driver that is far away gets nothing of a short model.",
                  .drivers = {{"far", figures(0.1), "1.3", {5000, 0}}},
                  .model = chainOf({RELU, TANH}),
                  .plan = "nnapi-reference{0,1}",
                  .flatCosts = true,
                  .why = {{0, "far", "a part on this device costs 5 us and more"}}});
  list.push_back({.name = "FarButWorthIt",
                  .says = "The same driver has all of a model that is long enough.",
                  .drivers = {{"far", figures(0.1), "1.3", {5000, 0}}},
                  .model = chainOf(std::vector<OperationType>(10, RELU)),
                  .plan = "far{0,1,2,3,4,5,6,7,8,9}",
                  .flatCosts = true});
  list.push_back({.name = "TheNearerOfEquals",
                  .says = "Of two equal drivers the one that is nearer has all.",
                  .drivers = {{"far", figures(0.1), "1.3", {5000, 0}},
                              {"near", figures(0.1), "1.3", {1000, 0}}},
                  .model = chainOf(std::vector<OperationType>(10, RELU)),
                  .plan = "near{0,1,2,3,4,5,6,7,8,9}",
                  .flatCosts = true});
  list.push_back({.name = "NearAndSlowerForAShortModel",
                  .says = "A short model goes to the slower driver that is near.",
                  .drivers = {{"far", figures(0.01), "1.3", {8000, 0}},
                              {"near", figures(0.5), "1.3", {500, 0}}},
                  .model = chainOf(std::vector<OperationType>(6, RELU)),
                  .plan = "near{0,1,2,3,4,5}",
                  .flatCosts = true});
}

void addBytes(std::vector<Scenario>& list) {
  list.push_back({.name = "SlowLinkForLargeValues",
                  .says = "Bytes that cross a slow link cost more than a fast driver gains.",
                  .drivers = {{"narrow", figures(0.1), "1.3", {100, 2}}},
                  .model = chainOf(std::vector<OperationType>(6, ABS), {1000}),
                  .plan = "nnapi-reference{0,1,2,3,4,5}",
                  .flatCosts = true});
  list.push_back({.name = "SlowLinkForSmallValues",
                  .says = "Over the same link a model of small values goes.",
                  .drivers = {{"narrow", figures(0.1), "1.3", {100, 2}}},
                  .model = chainOf(std::vector<OperationType>(6, ABS), {10}),
                  .plan = "narrow{0,1,2,3,4,5}",
                  .flatCosts = true});
  list.push_back(
      {.name = "CutWhereLittleCrosses",
       .says = "Two drivers that each lack something meet where the value is narrow.",
       .drivers = {{"front", personality(figures(0.05), takes("ABS MEAN")), "1.3", {100, 0.1}},
                   {"back", personality(figures(0.05), takesAllBut("MEAN")), "1.3", {100, 0.1}}},
       .model = narrowMiddle,
       .plan = "front{0,1,2,3,4,5,6} back{7,8,9,10,11,12}",
       .flatCosts = true});
}

void addLimits(std::vector<Scenario>& list) {
  list.push_back(
      {.name = "FastButLimited",
       .says = "A fast driver that lacks one operation has the operations around it, if the "
               "way is short.",
       .drivers = {{"limited", personality(figures(0.1), takesAllBut("TANH")), "1.3", {500, 0}}},
       .model = chainOf(withMiddle(RELU, 9, TANH)),
       .plan = "limited{0,1,2,3} nnapi-reference{4} limited{5,6,7,8}",
       .flatCosts = true});
  list.push_back(
      {.name = "FastButLimitedAndFar",
       .says = "If the way is long, a slower driver that takes everything has it all.",
       .drivers = {{"limited", personality(figures(0.1), takesAllBut("TANH")), "1.3", {2000, 0}},
                   {"complete", figures(0.3), "1.3", {2000, 0}}},
       .model = chainOf(withMiddle(RELU, 9, TANH)),
       .plan = "complete{0,1,2,3,4,5,6,7,8}",
       .flatCosts = true,
       .why = {{0, "limited", "the model as a whole is predicted to be faster there"}}});
  list.push_back(
      {.name = "NoPingPong",
       .says = "Operations that alternate between two devices stay where they all can be.",
       .drivers = {{"half", personality(figures(0.5), takes("RELU")), "1.3", {1000, 0}}},
       .model = chainOf({RELU, TANH, RELU, TANH, RELU, TANH, RELU}),
       .plan = "nnapi-reference{0,1,2,3,4,5,6}",
       .flatCosts = true});
  list.push_back({.name = "TheTailIsWorthIt",
                  .says = "Behind such a stretch a long run goes to the driver that has it.",
                  .drivers = {{"half", personality(figures(0.5), takes("RELU")), "1.3", {1000, 0}}},
                  .model = chainOf({TANH, RELU, TANH, RELU, TANH, RELU, RELU, RELU, RELU, RELU}),
                  .plan = "nnapi-reference{0,1,2,3,4} half{5,6,7,8,9}",
                  .flatCosts = true});
  list.push_back({.name = "BranchesForTwoDrivers",
                  .says = "Branches go to the drivers that have them, and are joined on the way.",
                  .drivers = {{"abs", personality(figures(0.1), takes("ABS ADD")), "1.3", {200, 0}},
                              {"relu", personality(figures(0.1), takes("RELU")), "1.3", {200, 0}}},
                  .model = [] { return branches(2); },
                  .plan = "relu{9,10,11,12,13,14,15,16} abs{0,1,2,3,4,5,6,7,8,17}",
                  .flatCosts = true});
}

void addLearning(std::vector<Scenario>& list) {
  const auto liar = [](double time) {
    return personality(figures(time), R"("delays": {"execute_ms": 2})");
  };
  list.push_back(
      {.name = "SlowerThanItSays",
       .says = "A driver that takes far longer than it says loses the model to another one, at the "
               "next compilation.",
       .drivers = {{"liar", liar(0.1), "1.3", {1000, 0}}, {"new", figures(0.2), "1.3", {1000, 0}}},
       .model = chainOf(std::vector<OperationType>(12, RELU)),
       .plan = "liar{0,1,2,3,4,5,6,7,8,9,10,11}",
       .flatCosts = true,
       .planAgain = "new{0,1,2,3,4,5,6,7,8,9,10,11}",
       .runs = 64});
}

}  // namespace

std::vector<Scenario> linkScenarios() {
  std::vector<Scenario> list;
  addDistances(list);
  addBytes(list);
  addLimits(list);
  addLearning(list);
  return list;
}

}  // namespace halyard::runtime::scenarios
