// Scenarios of the choice of the best device by its capability figures.
#include "partition_scenarios/scenario.h"

namespace halyard::runtime::scenarios {
namespace {

using enum OperationType;

// float32: x -> RELU -> TANH; quantised: q -> RELU -> MAX(q, RELU(q)).
TestModel twoTypes() {
  TestModel model;
  const uint32_t x = model.input({4});
  const uint32_t positive = model.temporary({4});
  model.operation(RELU, {x}, {positive});
  model.operation(TANH, {positive}, {model.output({4})});
  constexpr OperandType kQuant = OperandType::TENSOR_QUANT8_ASYMM;
  const uint32_t q = model.input({4}, kQuant);
  const uint32_t above = model.temporary({4}, kQuant);
  const uint32_t out = model.output({4}, kQuant);
  for (const uint32_t operand : {q, above, out}) quantize(model, operand, 0.5F, 128);
  model.operation(RELU, {q}, {above});
  model.operation(MAXIMUM, {q, above}, {out});
  return model;
}

TestModel relaxedChain() {
  TestModel model = chain({RELU, TANH});
  model.model().relaxComputationFloat32toFloat16 = true;
  return model;
}

std::string figuresOfType(const char* type, double time) {
  return fmt::format(
      R"("capabilities": {{"default": {{"exec_time": 5, "power_usage": 1}},
                           "operand_types": {{"{}": {{"exec_time": {}, "power_usage": 1}}}}}})",
      type, time);
}
std::string relaxedFigures(double relaxed) {
  return fmt::format(
      R"("capabilities": {{"default": {{"exec_time": 3, "power_usage": 1}},
                           "relaxed_tensor": {{"exec_time": {}, "power_usage": 1}}}})",
      relaxed);
}

}  // namespace

std::vector<Scenario> choiceScenarios() {
  std::vector<Scenario> list;
  list.push_back({.name = "TheFastestHasAll",
                  .says = "Of two drivers that take everything, the faster has the whole model.",
                  .drivers = {{"slow", figures(0.9)}, {"fast", figures(0.5)}},
                  .model = chainOf({RELU, TANH}),
                  .plan = "fast{0,1}",
                  .why = {{0, "slow", "its figure is 0.9, that of fast is 0.5"}}});
  list.push_back({.name = "TheCpuWinsTies",
                  .says = "A driver that is as fast as the CPU device gets nothing.",
                  .drivers = {{"slower", figures(1.1)}, {"equal", figures(1.0)}},
                  .model = chainOf({RELU, TANH}),
                  .plan = "nnapi-reference{0,1}",
                  .why = {{0, "equal", "its figure is 1, as that of nnapi-reference"}}});
  list.push_back({.name = "TheFirstOfEqualsWins",
                  .says = "Of two equal drivers the one that was found first has all.",
                  .drivers = {{"first", figures(0.5)}, {"second", figures(0.5)}},
                  .model = chainOf({RELU, TANH}),
                  .plan = "first{0,1}"});
  list.push_back({.name = "SlowerThanTheCpu",
                  .says = "A driver that is slower than the CPU device gets nothing.",
                  .drivers = {{"slow", figures(1.5)}},
                  .model = chainOf({RELU, TANH}),
                  .plan = "nnapi-reference{0,1}"});
  list.push_back({.name = "PowerWhenPowerIsPreferred",
                  .says = "With the low power preference the frugal driver wins over the fast one.",
                  .drivers = {{"fast", figures(0.2, 2)}, {"frugal", figures(2, 0.5)}},
                  .model = chainOf({RELU, TANH}),
                  .plan = "frugal{0,1}",
                  .preference = hal::ExecutionPreference::LOW_POWER});
  list.push_back({.name = "TimeForSustainedSpeed",
                  .says = "With the sustained speed preference it is time that counts.",
                  .drivers = {{"fast", figures(0.2, 2)}, {"frugal", figures(2, 0.5)}},
                  .model = chainOf({RELU, TANH}),
                  .plan = "fast{0,1}",
                  .preference = hal::ExecutionPreference::SUSTAINED_SPEED});
  list.push_back({.name = "FiguresOfEachType",
                  .says = "Each type of tensor goes where that type is fast.",
                  .drivers = {{"floats", figuresOfType("TENSOR_FLOAT32", 0.5)},
                              {"bytes", figuresOfType("TENSOR_QUANT8_ASYMM", 0.5)}},
                  .model = twoTypes,
                  .plan = "bytes{2,3} floats{0,1}"});
  list.push_back({.name = "RelaxedFigures",
                  .says = "In a relaxed model a driver's figure for relaxed tensors counts.",
                  .drivers = {{"half", relaxedFigures(0.3)}},
                  .model = relaxedChain,
                  .plan = "half{0,1}"});
  list.push_back({.name = "RelaxedFiguresOnlyWhenRelaxed",
                  .says = "In a model that is not relaxed that figure does not count.",
                  .drivers = {{"half", relaxedFigures(0.3)}},
                  .model = chainOf({RELU, TANH}),
                  .plan = "nnapi-reference{0,1}"});
  list.push_back({.name = "TypesWithoutFigures",
                  .says = "A driver of HAL 1.0 gives no figure for types that are newer.",
                  .drivers = {{"old", figures(0.5), "1.0"}, {"new", figures(0.9)}},
                  .model =
                      [] {
                        TestModel model = twoTypes();
                        const uint32_t x = model.input({4}, OperandType::TENSOR_BOOL8);
                        model.operation(LOGICAL_NOT, {x},
                                        {model.output({4}, OperandType::TENSOR_BOOL8)});
                        return model;
                      },
                  .plan = "new{4} old{0,1,2} new{3}"});
  return list;
}

}  // namespace halyard::runtime::scenarios
