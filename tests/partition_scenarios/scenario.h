// Partition scenarios: drivers with personalities, a model, and the expected partitions. The tables
// are in the files of this folder; docs/partition_scenarios.md lists them. Thread safety: plain
// data and pure functions. Ownership: values.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/model_for_test.h"
#include "runtime/compile/preparation.h"
#include "runtime/partition/cost_model.h"

namespace halyard::runtime::scenarios {

using cpu::testing::TestModel;

struct ScenarioDriver {
  std::string name;
  std::string personality;  // members of the JSON object, without hal_version
  const char* version = "1.3";
  LinkCosts link = {};  // with Scenario::flatCosts
};

struct Scenario {
  struct RejectedDevice {
    uint32_t operation;
    std::string device;
    std::string text;  // in the reason
  };

  std::string name = {};
  std::string says = {};  // the subject of the scenario, in a sentence
  std::vector<ScenarioDriver> drivers = {};
  std::function<TestModel()> model = {};
  // The partitions in the report after preparation: "fast{0,2} nnapi-reference{1}". Parts of
  // control flow are "fast{#0 IF: then}". Empty: the preparation fails with `error`.
  std::string plan = {};
  std::string error = {};  // in the text
  // Every operation takes a microsecond on the CPU device, and drivers have their links. Otherwise
  // NNAPI's rule chooses the best device for each operation.
  bool flatCosts = false;
  // Executions correct those costs for the next compilation, which then makes this plan.
  std::string planAgain = {};
  unsigned runs = 4;
  hal::ExecutionPreference preference = hal::ExecutionPreference::FAST_SINGLE_ANSWER;
  PartitionMode mode = PartitionMode::WITH_FALLBACK;
  std::vector<std::string> named = {};   // devices that the application names
  std::string strict = {};               // HALYARD_REQUIRE_DEVICE
  std::vector<std::string> events = {};  // of preparation and runs: "KIND device"
  std::vector<RejectedDevice> why = {};
  std::string runError = {};  // in the text of failed runs; empty: all runs succeed
};

inline void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.says; }

constexpr const char* kCpu = "nnapi-reference";

// The tables.
std::vector<Scenario> choiceScenarios();       // the choice of the best device
std::vector<Scenario> linkScenarios();         // the cost of a link to a driver
std::vector<Scenario> supportScenarios();      // the operations that devices support
std::vector<Scenario> borderScenarios();       // values that cross between partitions
std::vector<Scenario> controlFlowScenarios();  // IF and WHILE
std::vector<Scenario> failureScenarios();      // devices that fail
std::vector<Scenario> ruleScenarios();         // named devices, strict mode, switches

// --- Personalities

// "capabilities" with these figures for every type.
inline std::string figures(double time, double power = 1) {
  return fmt::format(R"("capabilities": {{"default": {{"exec_time": {}, "power_usage": {}}}}})",
                     time, power);
}
// Supports only these operations: "ADD MUL".
inline std::string takes(std::string_view operations, std::string_view list = "operations") {
  std::string names;
  for (size_t at = 0; at < operations.size();) {
    const size_t end = std::min(operations.find(' ', at), operations.size());
    names += fmt::format(R"({}"{}")", names.empty() ? "" : ", ", operations.substr(at, end - at));
    at = end + 1;
  }
  return fmt::format(R"("supports": {{"{}": [{}]}})", list, names);
}
inline std::string takesAllBut(std::string_view operations) {
  return takes(operations, "not_operations");
}
// One entry of the list of faults.
inline std::string fault(std::string_view members) {
  return fmt::format(R"("faults": [{{{}}}])", members);
}
template <typename... Fields>
std::string personality(const Fields&... fields) {
  return fmt::format("{}", fmt::join(std::vector<std::string>{std::string(fields)...}, ", "));
}

// Two drivers with an operation each.
inline std::vector<ScenarioDriver> reluAndTanh(const char* version = "1.3") {
  return {{"relu", personality(figures(0.5), takes("RELU")), version},
          {"tanh", personality(figures(0.5), takes("TANH")), version}};
}

// --- Models

// Operations with one input and one output in sequence.
inline TestModel chain(const std::vector<OperationType>& types, const Shape& shape = {4}) {
  TestModel model;
  uint32_t value = model.input(shape);
  for (size_t i = 0; i < types.size(); ++i) {
    const uint32_t next = i + 1 == types.size() ? model.output(shape) : model.temporary(shape);
    model.operation(types[i], {value}, {next});
    value = next;
  }
  return model;
}
inline std::function<TestModel()> chainOf(std::vector<OperationType> types, Shape shape = {4}) {
  return [types = std::move(types), shape = std::move(shape)] { return chain(types, shape); };
}
// `count` times `type` in a chain, with `middle` in the middle.
inline std::vector<OperationType> withMiddle(OperationType type, size_t count,
                                             OperationType middle) {
  std::vector<OperationType> types(count, type);
  types[count / 2] = middle;
  return types;
}
inline void quantize(TestModel& model, uint32_t operand, float scale, int32_t zeroPoint) {
  model.model().main.operands[operand].scale = scale;
  model.model().main.operands[operand].zeroPoint = zeroPoint;
}

}  // namespace halyard::runtime::scenarios
