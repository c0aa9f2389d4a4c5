// Scenarios of devices that fail.
#include "partition_scenarios/scenario.h"

namespace halyard::runtime::scenarios {
namespace {

using enum OperationType;

std::string prepareFault(const char* members) {
  return fault(fmt::format(R"("at": "prepare", {})", members));
}
std::string executeFault(const char* members) {
  return fault(fmt::format(R"("at": "execute", {})", members));
}

std::vector<ScenarioDriver> manyThatFail(int count) {
  std::vector<ScenarioDriver> drivers;
  for (int i = 0; i < count; ++i) {
    drivers.push_back({fmt::format("bad{}", i),
                       personality(figures(0.1 + 0.01 * i), prepareFault(R"("do": "fail")"))});
  }
  return drivers;
}

void addPreparing(std::vector<Scenario>& list) {
  list.push_back(
      {.name = "PreparingFails",
       .says = "A driver fails to prepare a model that it has promised: the next best has it.",
       .drivers = {{"bad", personality(figures(0.1), prepareFault(R"("do": "fail",
                                                                  "text": "no tiles")"))},
                   {"good", figures(0.5)}},
       .model = chainOf({RELU, TANH}),
       .plan = "good{0,1}",
       .events = {"PREPARE_FAILED bad", "REPARTITIONED bad -> good"},
       .why = {{0, "bad", "no tiles"}}});
  list.push_back({.name = "PreparingOneOperationFails",
                  .says = "It fails with one operation only: it keeps the partition without that.",
                  .drivers = {{"bad", personality(figures(0.1), takesAllBut("ABS"),
                                                  prepareFault(R"("do": "fail",
                                                                  "operation": "TANH")"))},
                              {"good", figures(0.5)}},
                  .model = chainOf({RELU, ABS, TANH}),
                  .plan = "bad{0} good{1,2}",
                  .events = {"PREPARE_FAILED bad", "REPARTITIONED bad"}});
  list.push_back({.name = "PreparingKillsTheDriver",
                  .says = "A driver that dies while it prepares gets nothing more.",
                  .drivers = {{"frail", personality(figures(0.1), takesAllBut("ABS"),
                                                    prepareFault(R"("do": "crash",
                                                                    "operation": "TANH")"))},
                              {"good", figures(0.5)}},
                  .model = chainOf({RELU, ABS, TANH}),
                  .plan = "good{0,1,2}",
                  .events = {"PREPARE_FAILED frail", "REPARTITIONED frail -> good"},
                  .why = {{0, "frail", "is left out, as it failed to prepare"}}});
  list.push_back(
      {.name = "PreparingFailsEverywhere",
       .says = "Two drivers fail to prepare, one after the other: the CPU device has it.",
       .drivers = manyThatFail(2),
       .model = chainOf({RELU, TANH}),
       .plan = "nnapi-reference{0,1}",
       .events = {"PREPARE_FAILED bad0", "REPARTITIONED bad0 -> bad1", "PREPARE_FAILED bad1",
                  "REPARTITIONED bad1 -> nnapi-reference"}});
  list.push_back(
      {.name = "FiveFailuresAreEnough",
       .says = "After five failures the CPU device has the whole model, though a sixth "
               "driver could.",
       .drivers =
           [] {
             std::vector<ScenarioDriver> drivers = manyThatFail(5);
             drivers.push_back({"good", figures(0.5)});
             return drivers;
           }(),
       .model = chainOf({RELU, TANH}),
       .plan = "nnapi-reference{0,1}",
       .events = {"PREPARE_FAILED bad0", "REPARTITIONED bad0 -> bad1", "PREPARE_FAILED bad1",
                  "REPARTITIONED bad1 -> bad2", "PREPARE_FAILED bad2", "REPARTITIONED bad2 -> bad3",
                  "PREPARE_FAILED bad3", "REPARTITIONED bad3 -> bad4", "PREPARE_FAILED bad4",
                  "CPU_FALLBACK bad4 -> nnapi-reference"}});
  list.push_back(
      {.name = "PreparingIsTooMuch",
       .says = "A driver without room for the model leaves it to the next one.",
       .drivers = {{"full", personality(figures(0.1), prepareFault(R"("do": "fail", "status":
                                                       "RESOURCE_EXHAUSTED_PERSISTENT")"))},
                   {"good", figures(0.5)}},
       .model = chainOf({RELU, TANH}),
       .plan = "good{0,1}",
       .events = {"PREPARE_FAILED full", "REPARTITIONED full -> good"}});
}

void addComputing(std::vector<Scenario>& list) {
  list.push_back({.name = "ComputingFails",
                  .says = "A partition fails: another driver computes it, and keeps it.",
                  .drivers = {{"bad", personality(figures(0.1), takesAllBut("ABS"),
                                                  executeFault(R"("do": "fail",
                                                                  "text": "no power")"))},
                              {"good", figures(0.5)}},
                  .model = chainOf({ABS, RELU}),
                  .plan = "good{0} bad{1}",
                  .events = {"EXECUTION_FAILED bad", "OTHER_DEVICE bad -> good"}});
  list.push_back(
      {.name = "ComputingFailsOnce",
       .says = "It fails once since memory is short: computed elsewhere, the next time there.",
       .drivers = {{"full", personality(figures(0.1), takesAllBut("ABS"),
                                        executeFault(R"("nth": 2, "times": 1,
                                                       "do": "fail", "status":
                                                       "RESOURCE_EXHAUSTED_TRANSIENT")"))},
                   {"good", figures(0.5)}},
       .model = chainOf({ABS, RELU}),
       .plan = "good{0} full{1}",
       .events = {"EXECUTION_FAILED full", "OTHER_DEVICE full -> good"}});
  list.push_back(
      {.name = "ComputingFailsEverywhere",
       .says = "Both drivers fail at a partition: the CPU device computes it.",
       .drivers = {{"bad",
                    personality(figures(0.1), takes("RELU"), executeFault(R"("do": "fail")"))},
                   {"worse", personality(figures(0.2), executeFault(R"("operation": "RELU",
                                                                    "do": "fail")"))}},
       .model = chainOf({ABS, RELU}),
       .plan = "worse{0} bad{1}",
       .events = {"EXECUTION_FAILED bad", "EXECUTION_FAILED worse",
                  "CPU_FALLBACK bad -> nnapi-reference"}});
}

void addDying(std::vector<Scenario>& list) {
  list.push_back({.name = "ComputingKillsTheDriverOnce",
                  .says = "A driver dies of an execution: it is started again and computes it.",
                  .drivers = {{"frail", personality(figures(0.1), takesAllBut("ABS"),
                                                    executeFault(R"("nth": 2, "times": 1,
                                                                    "do": "crash")"))},
                              {"good", figures(0.5)}},
                  .model = chainOf({ABS, RELU}),
                  .plan = "good{0} frail{1}",
                  .events = {"EXECUTION_FAILED frail", "DRIVER_RESTARTED frail", "RETRIED frail",
                             "EXECUTION_FAILED frail", "DRIVER_RESTARTED frail", "RETRIED frail",
                             "EXECUTION_FAILED frail", "DRIVER_RESTARTED frail", "RETRIED frail"}});
  list.push_back({.name = "ComputingKillsTheDriver",
                  .says = "A driver dies of every execution: started again once, then another one "
                          "has the partition.",
                  .drivers = {{"frail", personality(figures(0.1), takesAllBut("ABS"),
                                                    executeFault(R"("do": "abort")"))},
                              {"good", figures(0.5)}},
                  .model = chainOf({ABS, RELU}),
                  .plan = "good{0} frail{1}",
                  .events = {"EXECUTION_FAILED frail", "DRIVER_RESTARTED frail",
                             "EXECUTION_FAILED frail", "OTHER_DEVICE frail -> good"}});
  list.push_back({.name = "ComputingStops",
                  .says = "A driver that stands still is given up, and another one computes.",
                  .drivers = {{"still", personality(figures(0.1), takesAllBut("ABS"),
                                                    executeFault(R"("do": "stop")"))},
                              {"good", figures(0.5)}},
                  .model = chainOf({ABS, RELU}),
                  .plan = "good{0} still{1}",
                  .events = {"EXECUTION_FAILED still", "DRIVER_RESTARTED still",
                             "EXECUTION_FAILED still", "OTHER_DEVICE still -> good"}});
  list.push_back({.name = "TheWholeModelFails",
                  .says = "A driver that has the whole model fails: the CPU device computes it.",
                  .drivers = {{"bad", personality(figures(0.1), executeFault(R"("do": "fail")"))}},
                  .model = chainOf({ABS, RELU}),
                  .plan = "bad{0,1}",
                  .events = {"EXECUTION_FAILED bad", "CPU_FALLBACK bad -> nnapi-reference"}});
}

std::vector<ScenarioDriver> failingAndGood() {
  return {{"bad", personality(figures(0.1), prepareFault(R"("do": "fail", "text": "no tiles")"))},
          {"good", figures(0.5)}};
}
std::vector<ScenarioDriver> tiredAndGood() {
  return {{"tired", personality(figures(0.1), executeFault(R"("do": "fail", "text": "no power")"))},
          {"good", figures(0.5)}};
}

void addNamed(std::vector<Scenario>& list) {
  list.push_back({.name = "NamedDevicesCoverTheModel",
                  .says = "Two named devices without the CPU device have the model between them.",
                  .drivers = reluAndTanh(),
                  .model = chainOf({RELU, TANH}),
                  .plan = "relu{0} tanh{1}",
                  .named = {"relu", "tanh"}});
  list.push_back(
      {.name = "NamedDevicesDoNot",
       .says = "An operation that no named device takes is an error that names all of them.",
       .drivers = reluAndTanh(),
       .model = chainOf({RELU, ABS}),
       .error = "no device takes operation #1 ABS: device relu: its personality does "
                "not allow ABS",
       .named = {"relu", "tanh"}});
  list.push_back({.name = "TheCpuDeviceAmongTheNamed",
                  .says = "With the CPU device among the named ones it has the rest.",
                  .drivers = reluAndTanh(),
                  .model = chainOf({RELU, TANH, ABS}),
                  .plan = "relu{0} nnapi-reference{1,2}",
                  .named = {"relu", kCpu}});
  list.push_back({.name = "ANamedDeviceFailsToPrepare",
                  .says = "With named devices a failure to prepare is the result.",
                  .drivers = failingAndGood(),
                  .model = chainOf({RELU}),
                  .error = "no tiles",
                  .named = {"bad", "good"},
                  .events = {"PREPARE_FAILED bad"}});
  list.push_back({.name = "ANamedDeviceFailsToCompute",
                  .says = "With named devices a failure to compute is the result, each time.",
                  .drivers = tiredAndGood(),
                  .model = chainOf({RELU}),
                  .plan = "tired{0}",
                  .named = {"tired", "good"},
                  .events = {"EXECUTION_FAILED tired x4"},
                  .runError = "no power"});
}

void addSwitches(std::vector<Scenario>& list) {
  list.push_back({.name = "NoPartitions",
                  .says = "HALYARD_PARTITION=0 leaves everything to the CPU device.",
                  .drivers = reluAndTanh(),
                  .model = chainOf({RELU, TANH}),
                  .plan = "nnapi-reference{0,1}",
                  .mode = PartitionMode::NONE,
                  .why = {{0, "relu", "HALYARD_PARTITION=0 leaves everything"}}});
  list.push_back({.name = "PartitionsWithoutFallback",
                  .says = "HALYARD_PARTITION=2 makes an error of a failure to prepare.",
                  .drivers = failingAndGood(),
                  .model = chainOf({RELU}),
                  .error = "no tiles",
                  .mode = PartitionMode::WITHOUT_FALLBACK,
                  .events = {"PREPARE_FAILED bad"}});
  list.push_back({.name = "RequiredDevicesHaveAll",
                  .says = "HALYARD_REQUIRE_DEVICE keeps faster devices out.",
                  .drivers = {{"fast", figures(0.1)}, {"wanted", figures(3)}},
                  .model = chainOf({RELU, TANH}),
                  .plan = "wanted{0,1}",
                  .strict = "wanted",
                  .why = {{0, "fast", "HALYARD_REQUIRE_DEVICE does not name it"}}});
  list.push_back({.name = "RequiredDevicesDoNot",
                  .says = "An operation that they do not take is an error.",
                  .drivers = reluAndTanh(),
                  .model = chainOf({RELU, TANH}),
                  .error = "HALYARD_REQUIRE_DEVICE=relu",
                  .strict = "relu",
                  .events = {"STRICT_REFUSED"}});
  list.push_back({.name = "RequiredDevicesFail",
                  .says = "A failure to compute is an error, as no other device may compute.",
                  .drivers = tiredAndGood(),
                  .model = chainOf({RELU}),
                  .plan = "tired{0}",
                  .strict = "tired",
                  .events = {"EXECUTION_FAILED tired", "STRICT_REFUSED tired -> nnapi-reference",
                             "EXECUTION_FAILED tired", "STRICT_REFUSED tired -> nnapi-reference",
                             "EXECUTION_FAILED tired", "STRICT_REFUSED tired -> nnapi-reference",
                             "EXECUTION_FAILED tired", "STRICT_REFUSED tired -> nnapi-reference"},
                  .runError = "no power"});
}

}  // namespace

std::vector<Scenario> failureScenarios() {
  std::vector<Scenario> list;
  addPreparing(list);
  addComputing(list);
  addDying(list);
  return list;
}

std::vector<Scenario> ruleScenarios() {
  std::vector<Scenario> list;
  addNamed(list);
  addSwitches(list);
  return list;
}

}  // namespace halyard::runtime::scenarios
