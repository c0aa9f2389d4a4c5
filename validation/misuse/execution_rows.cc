// Misuses of the functions that set up executions, compute them, and ask about results.
#include <functional>

#include "validation/misuse/table.h"

namespace halyard::misuse {
namespace {

using Execution = ANeuralNetworksExecution;
using ExecutionSetter = std::function<int(World&, Execution*)>;

// The rows that are the same for every function that changes an execution: it must not have been
// started.
void addExecutionSetter(std::vector<Misuse>& rows, const std::string& name,
                        const ExecutionSetter& set) {
  const std::string text = "the execution has been started";
  rows.push_back({name + "_NullExecution", kUnexpectedNull, "execution is null",
                  [=](World& w) { return set(w, nullptr); }});
  rows.push_back({name + "_ComputedExecution", kBadState, text,
                  [=](World& w) { return set(w, w.computed()); }});
  rows.push_back({name + "_ExecutionBeingComputed", kBadState, text,
                  [=](World& w) { return set(w, w.computing()); }});
  rows.push_back({name + "_FailedExecution", kBadState, text,
                  [=](World& w) { return set(w, w.failedExecution()); }});
}

std::vector<Misuse> executionSetterRows() {
  std::vector<Misuse> rows = {
      {"Execution_create_NullCompilation", kUnexpectedNull, "compilation is null",
       [](World& w) { return ANeuralNetworksExecution_create(nullptr, w.out<Execution>()); }},
      {"Execution_create_NullResult", kUnexpectedNull, "execution is null",
       [](World& w) { return ANeuralNetworksExecution_create(w.compiled(), nullptr); }},
      {"Execution_create_UnfinishedCompilation", kBadState, "the compilation is not finished",
       [](World& w) {
         return ANeuralNetworksExecution_create(w.compilation(), w.out<Execution>());
       },
       [](World& w) { w.expectOutIsNull(); }},
      {"Execution_create_FailedCompilation", kBadState, "the compilation failed to finish",
       [](World& w) {
         return ANeuralNetworksExecution_create(w.failedCompilation(), w.out<Execution>());
       },
       [](World& w) { w.expectOutIsNull(); }},
      {"Execution_enableInputAndOutputPadding_InputSet", kBadState, "before any argument",
       [](World& w) {
         Execution* const e = w.execution();
         ROW_OK(ANeuralNetworksExecution_setInput(e, 0, nullptr, w.values, 8));
         return ANeuralNetworksExecution_enableInputAndOutputPadding(e, true);
       }},
      {"Execution_enableInputAndOutputPadding_OutputSet", kBadState, "before any argument",
       [](World& w) {
         Execution* const e = w.execution();
         ROW_OK(ANeuralNetworksExecution_setOutput(e, 0, nullptr, w.result, 8));
         return ANeuralNetworksExecution_enableInputAndOutputPadding(e, true);
       }},
      {"Execution_enableInputAndOutputPadding_InputSetFromMemory", kBadState, "before any argument",
       [](World& w) {
         Execution* const e = w.execution();
         ROW_OK(ANeuralNetworksExecution_setInputFromMemory(e, 0, nullptr, w.memory(), 0, 8));
         return ANeuralNetworksExecution_enableInputAndOutputPadding(e, true);
       }},
      {"Execution_enableInputAndOutputPadding_OutputSetFromMemory", kBadState,
       "before any argument",
       [](World& w) {
         Execution* const e = w.execution();
         ROW_OK(ANeuralNetworksExecution_setOutputFromMemory(e, 0, nullptr, w.memory(), 0, 8));
         return ANeuralNetworksExecution_enableInputAndOutputPadding(e, true);
       }},
      // An attempt to set an argument counts if its index and dimensions are valid.
      {"Execution_enableInputAndOutputPadding_InputOfAWrongLength", kBadState,
       "before any argument",
       [](World& w) {
         Execution* const e = w.execution();
         ROW_ERROR(ANeuralNetworksExecution_setInput(e, 0, nullptr, w.values, 12), kBadData,
                   "12 bytes");
         return ANeuralNetworksExecution_enableInputAndOutputPadding(e, true);
       },
       // Padding stays off.
       [](World& w) {
         ROW_ERROR(ANeuralNetworksExecution_setInput(w.execution(), 0, nullptr, w.values, 12),
                   kBadData, "12 bytes");
       }},
  };
  const std::string needsOne = "created for exactly one device";
  // The devices are checked before the state, which is invalid too.
  rows.push_back(
      {"Execution_setMeasureTiming_DevicesOfTheRuntimesChoice", kBadData, needsOne, [](World& w) {
         return ANeuralNetworksExecution_setMeasureTiming(w.computed(w.freelyCompiled()), true);
       }});
  rows.push_back(
      {"Execution_setTimeout_DevicesOfTheRuntimesChoice", kBadData, needsOne, [](World& w) {
         return ANeuralNetworksExecution_setTimeout(w.computed(w.freelyCompiled()), 1);
       }});
  addExecutionSetter(rows, "Execution_setReusable", [](World&, Execution* e) {
    return ANeuralNetworksExecution_setReusable(e, true);
  });
  addExecutionSetter(rows, "Execution_enableInputAndOutputPadding", [](World&, Execution* e) {
    return ANeuralNetworksExecution_enableInputAndOutputPadding(e, true);
  });
  addExecutionSetter(rows, "Execution_setLoopTimeout", [](World&, Execution* e) {
    return ANeuralNetworksExecution_setLoopTimeout(e, 1);
  });
  addExecutionSetter(rows, "Execution_setMeasureTiming", [](World&, Execution* e) {
    return ANeuralNetworksExecution_setMeasureTiming(e, true);
  });
  addExecutionSetter(rows, "Execution_setTimeout", [](World&, Execution* e) {
    return ANeuralNetworksExecution_setTimeout(e, 1);
  });
  // The state is checked before the index.
  addExecutionSetter(rows, "Execution_setInput", [](World& w, Execution* e) {
    return ANeuralNetworksExecution_setInput(e, 9, nullptr, w.values, 8);
  });
  addExecutionSetter(rows, "Execution_setOutput", [](World& w, Execution* e) {
    return ANeuralNetworksExecution_setOutput(e, 9, nullptr, w.result, 8);
  });
  addExecutionSetter(rows, "Execution_setInputFromMemory", [](World& w, Execution* e) {
    return ANeuralNetworksExecution_setInputFromMemory(e, 9, nullptr, w.memory(), 0, 8);
  });
  addExecutionSetter(rows, "Execution_setOutputFromMemory", [](World& w, Execution* e) {
    return ANeuralNetworksExecution_setOutputFromMemory(e, 9, nullptr, w.memory(), 0, 8);
  });
  return rows;
}

// A failed computation leaves only the fact that it has failed.
void expectFailed(World& w) {
  ROW_ERROR(ANeuralNetworksExecution_getOutputOperandRank(w.usedExecution, 0, &w.number), kBadState,
            "the execution failed");
  ROW_ERROR(ANeuralNetworksExecution_compute(w.usedExecution), kBadState, "not reusable");
}
// Set up as `ready`, except for one argument.
Execution* without(World& w, const std::string& left) {
  Execution* const e = w.usedExecution = w.execution();
  if (left != "input") {
    ROW_OK(ANeuralNetworksExecution_setInput(e, 0, nullptr, w.values, 8));
  }
  ROW_OK(ANeuralNetworksExecution_setInput(e, 1, nullptr, w.values, 8));
  if (left != "output") {
    ROW_OK(ANeuralNetworksExecution_setOutput(e, 0, nullptr, w.result, 8));
  }
  return e;
}
// Input 0 is device memory without contents.
Execution* fromUninitialised(World& w) {
  ANeuralNetworksCompilation* const c = w.compiled();
  Execution* const e = w.usedExecution = w.execution(c);
  ROW_OK(ANeuralNetworksExecution_setInputFromMemory(e, 0, nullptr, w.described(c), 0, 0));
  ROW_OK(ANeuralNetworksExecution_setInput(e, 1, nullptr, w.values, 8));
  ROW_OK(ANeuralNetworksExecution_setOutput(e, 0, nullptr, w.result, 8));
  return e;
}
Execution* withActivation999(World& w) {
  static constexpr int32_t kActivation = 999;
  Execution* const e = w.usedExecution = w.execution(w.compiled(w.sumWithActivationInput()));
  ROW_OK(ANeuralNetworksExecution_setInput(e, 0, nullptr, w.values, 8));
  ROW_OK(ANeuralNetworksExecution_setInput(e, 1, nullptr, w.values, 8));
  ROW_OK(ANeuralNetworksExecution_setInput(e, 2, nullptr, &kActivation, 4));
  ROW_OK(ANeuralNetworksExecution_setOutput(e, 0, nullptr, w.result, 8));
  return e;
}

// The rows that are the same for every way to compute.
void addWay(std::vector<Misuse>& rows, const std::string& name, const ExecutionSetter& compute,
            const std::function<void(World&)>& alsoAfter) {
  const auto after = [alsoAfter](std::function<void(World&)> more) {
    return [alsoAfter, more](World& w) {
      alsoAfter(w);
      if (more) more(w);
    };
  };
  rows.push_back({name + "_InputNeverSet", kBadData, "input 0 has not been set",
                  [=](World& w) { return compute(w, without(w, "input")); }, after(expectFailed)});
  rows.push_back({name + "_OutputNeverSet", kBadData, "output 0 has not been set",
                  [=](World& w) { return compute(w, without(w, "output")); }, after(expectFailed)});
  rows.push_back({name + "_ComputedExecution", kBadState, "not reusable",
                  [=](World& w) { return compute(w, w.computed()); }, after(nullptr)});
  rows.push_back({name + "_ExecutionBeingComputed", kBadState, "being computed",
                  [=](World& w) { return compute(w, w.computing()); }, after(nullptr)});
  rows.push_back({name + "_UninitialisedMemory", kOpFailed, "not initialised",
                  [=](World& w) { return compute(w, fromUninitialised(w)); }, after(expectFailed)});
}

std::vector<Misuse> computeRows() {
  std::vector<Misuse> rows = {
      {"Execution_compute_NullExecution", kUnexpectedNull, "execution is null",
       [](World&) { return ANeuralNetworksExecution_compute(nullptr); }},
      {"Execution_compute_ActivationThatIsNone", kOpFailed, "999",
       [](World& w) { return ANeuralNetworksExecution_compute(withActivation999(w)); },
       expectFailed, kDriversText},
      {"Execution_compute_OutputTooSmall", ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE, "output 0",
       [](World& w) { return ANeuralNetworksExecution_compute(w.usedExecution = w.tooSmall()); },
       [](World& w) {
         ROW_EQ(ANeuralNetworksExecution_getOutputOperandRank(w.usedExecution, 0, &w.number),
                ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE);
         ROW_EQ(w.number, 1u);
       },
       kDriversText},
      // [3] and [2] contradict each other. Only the inference of shapes finds this.
      {"Execution_compute_DimensionsThatContradict", kOpFailed, "operation #0 ADD",
       [](World& w) {
         Execution* const e = w.usedExecution = w.execution(w.compiled(w.finished(w.sum({0}))));
         const OperandDescription three(ANEURALNETWORKS_TENSOR_FLOAT32, {3});
         ROW_OK(ANeuralNetworksExecution_setInput(e, 0, three.get(), w.values, 12));
         ROW_OK(ANeuralNetworksExecution_setInput(e, 1, nullptr, w.values, 8));
         ROW_OK(ANeuralNetworksExecution_setOutput(e, 0, nullptr, w.result, 8));
         return ANeuralNetworksExecution_compute(e);
       },
       expectFailed, kDriversText},
      {"Execution_burstCompute_NullExecution", kUnexpectedNull, "execution is null",
       [](World& w) {
         return ANeuralNetworksExecution_burstCompute(nullptr, w.burst(w.compiled()));
       }},
      {"Execution_burstCompute_NullBurst", kUnexpectedNull, "burst is null",
       [](World& w) { return ANeuralNetworksExecution_burstCompute(w.ready(), nullptr); }},
      {"Execution_burstCompute_BurstOfAnotherCompilation", kBadData, "different compilations",
       [](World& w) {
         w.usedExecution = w.ready();
         return ANeuralNetworksExecution_burstCompute(w.usedExecution, w.burst(w.compiled()));
       },
       // The execution has not been started.
       [](World& w) { ROW_OK(ANeuralNetworksExecution_compute(w.usedExecution)); }},
      {"Execution_burstCompute_InputNeverSet", kBadData, "input 0 has not been set",
       [](World& w) {
         ANeuralNetworksCompilation* const c = w.compiled();
         w.usedExecution = w.execution(c);
         return ANeuralNetworksExecution_burstCompute(w.usedExecution, w.burst(c));
       },
       expectFailed},
      {"Execution_burstCompute_ComputedExecution", kBadState, "not reusable",
       [](World& w) {
         ANeuralNetworksCompilation* const c = w.compiled();
         return ANeuralNetworksExecution_burstCompute(w.computed(c), w.burst(c));
       }},
      // The event is checked first: nothing is written through the null pointer.
      {"Execution_startCompute_NullEvent", kUnexpectedNull, "event is null",
       [](World&) { return ANeuralNetworksExecution_startCompute(nullptr, nullptr); }},
      {"Execution_startCompute_NullExecution", kUnexpectedNull, "execution is null",
       [](World& w) {
         return ANeuralNetworksExecution_startCompute(nullptr, w.out<ANeuralNetworksEvent>());
       },
       [](World& w) { w.expectOutIsNull(); }},
  };
  addWay(
      rows, "Execution_compute",
      [](World&, Execution* e) { return ANeuralNetworksExecution_compute(e); }, [](World&) {});
  addWay(
      rows, "Execution_startCompute",
      [](World& w, Execution* e) {
        return ANeuralNetworksExecution_startCompute(e, w.out<ANeuralNetworksEvent>());
      },
      [](World& w) { w.expectOutIsNull(); });
  addWay(
      rows, "Execution_startComputeWithDependencies",
      [](World& w, Execution* e) {
        return ANeuralNetworksExecution_startComputeWithDependencies(e, nullptr, 0, 0,
                                                                     w.out<ANeuralNetworksEvent>());
      },
      [](World& w) { w.expectOutIsNull(); });
  return rows;
}

using Events = std::vector<const ANeuralNetworksEvent*>;
int start(World& w, Execution* execution, const Events& dependencies, uint64_t duration = 0) {
  return ANeuralNetworksExecution_startComputeWithDependencies(
      w.usedExecution = execution, dependencies.data(), static_cast<uint32_t>(dependencies.size()),
      duration, w.out<ANeuralNetworksEvent>());
}
void expectNoEvent(World& w) { w.expectOutIsNull(); }
void expectNoEventAndFailed(World& w) {
  w.expectOutIsNull();
  expectFailed(w);
}

std::vector<Misuse> fencedRows() {
  const std::string name = "Execution_startComputeWithDependencies_";
  return {
      {name + "NullEvent", kUnexpectedNull, "event is null",
       [](World&) {
         return ANeuralNetworksExecution_startComputeWithDependencies(nullptr, nullptr, 1, 0,
                                                                      nullptr);
       }},
      {name + "NullExecution", kUnexpectedNull, "execution is null",
       [](World& w) { return start(w, nullptr, {}); }, expectNoEvent},
      {name + "NullDependencies", kUnexpectedNull, "dependencies is null, num_dependencies 1",
       [](World& w) {
         return ANeuralNetworksExecution_startComputeWithDependencies(
             w.ready(), nullptr, 1, 0, w.out<ANeuralNetworksEvent>());
       },
       expectNoEvent},
      {name + "NullDependency", kUnexpectedNull, "dependencies[1] is null",
       [](World& w) {
         return start(w, w.ready(), {w.plainEvent(), nullptr});
       },
       [](World& w) {
         expectNoEvent(w);
         ROW_OK(ANeuralNetworksExecution_compute(w.usedExecution));
       }},
      {name + "DurationWithoutASingleDevice", kBadData, "created for exactly one device",
       [](World& w) { return start(w, w.ready(w.freelyCompiled()), {}, 1'000'000'000); },
       expectNoEventAndFailed},
      {name + "OutputOfUnknownDimensions", kBadData, "output 0 has dimensions [?]",
       [](World& w) { return start(w, w.tooSmall(), {}); }, expectNoEventAndFailed},
      {name + "DependencyWithoutAFenceThatFailed", kOpFailed, "dependency 0 has failed",
       [](World& w) {
         ANeuralNetworksEvent* failed = nullptr;
         ROW_OK(ANeuralNetworksExecution_startCompute(withActivation999(w), &failed));
         w.keep(client::Event(failed));
         return start(w, w.ready(), {failed});
       },
       expectNoEvent},
  };
}

int getRank(World& w, Execution* e, int32_t index) {
  return ANeuralNetworksExecution_getOutputOperandRank(e, index, &w.number);
}
int getDims(World& w, Execution* e, int32_t index) {
  return ANeuralNetworksExecution_getOutputOperandDimensions(e, index, &w.number);
}
// out = the rank of the input, which is a scalar.
Execution* withScalarOutput(World& w) {
  ANeuralNetworksModel* const m = w.model();
  ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
  ROW_OK(addOperand(m, ANEURALNETWORKS_INT32));
  ROW_OK(addOperation(m, ANEURALNETWORKS_RANK, {0}, {1}));
  ROW_OK(identifyInputsAndOutputs(m, {0}, {1}));
  Execution* const e = w.execution(w.compiled(w.finished(m)));
  ROW_OK(ANeuralNetworksExecution_setInput(e, 0, nullptr, w.values, 8));
  ROW_OK(ANeuralNetworksExecution_setOutput(e, 0, nullptr, w.result, 4));
  ROW_OK(ANeuralNetworksExecution_compute(e));
  return e;
}

std::vector<Misuse> shapeRows() {
  const auto untouched = [](World& w) { ROW_EQ(w.number, 77u); };
  std::vector<Misuse> rows;
  struct Query {
    const char* name;
    const char* argument;
    int (*call)(World&, Execution*, int32_t);
    int (*bare)(Execution*, int32_t, uint32_t*);
  };
  const Query queries[] = {
      {"Rank", "rank", getRank, ANeuralNetworksExecution_getOutputOperandRank},
      {"Dimensions", "dimensions", getDims, ANeuralNetworksExecution_getOutputOperandDimensions},
  };
  for (const Query& q : queries) {
    const std::string name = std::string("Execution_getOutputOperand") + q.name;
    rows.push_back({name + "_NullExecution", kUnexpectedNull, "execution is null",
                    [=](World& w) { return q.call(w, nullptr, 0); }, untouched});
    rows.push_back({name + "_NullResult", kUnexpectedNull, std::string(q.argument) + " is null",
                    [=](World& w) { return q.bare(w.computed(), 0, nullptr); }});
    // The state is checked before the index.
    rows.push_back({name + "_NotComputed", kBadState, "has not been computed",
                    [=](World& w) { return q.call(w, w.ready(), 9); }, untouched});
    rows.push_back({name + "_BeingComputed", kBadState, "being computed",
                    [=](World& w) { return q.call(w, w.computing(), 0); }, untouched});
    rows.push_back({name + "_Failed", kBadState, "the execution failed",
                    [=](World& w) { return q.call(w, w.failedExecution(), 9); }, untouched});
    rows.push_back({name + "_IndexTooLarge", kBadData, "output 1 of a model with 1",
                    [=](World& w) { return q.call(w, w.computed(), 1); }, untouched});
    rows.push_back({name + "_IndexNegative", kBadData, "output 4294967295 of a model with 1",
                    [=](World& w) { return q.call(w, w.computed(), -1); }, untouched});
    rows.push_back({name + "_OutputTooSmall", ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE,
                    "too small for shape [2]",
                    [=](World& w) {
                      Execution* const e = w.tooSmall();
                      ROW_EQ(ANeuralNetworksExecution_compute(e),
                             ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE);
                      return q.call(w, e, 0);
                    },
                    // The call reports the size that the output needs.
                    [=](World& w) { ROW_EQ(w.number, q.call == getRank ? 1u : 2u); }});
  }
  rows.push_back({"Execution_getOutputOperandDimensions_ScalarOutput", kBadData,
                  "output 0 is a scalar",
                  [](World& w) { return getDims(w, withScalarOutput(w), 0); }, untouched});
  return rows;
}

std::vector<Misuse> durationRows() {
  const auto ask = [](World& w, Execution* e, int32_t code) {
    return ANeuralNetworksExecution_getDuration(e, code, &w.time);
  };
  const auto measuring = [](World& w) {
    Execution* const e = w.ready();
    ROW_OK(ANeuralNetworksExecution_setMeasureTiming(e, true));
    return e;
  };
  const auto unknown = [](World& w) { ROW_EQ(w.time, UINT64_MAX); };
  const std::string name = "Execution_getDuration_";
  return {
      {name + "NullExecution", kUnexpectedNull, "execution is null",
       [=](World& w) { return ask(w, nullptr, 0); }},
      {name + "NullResult", kUnexpectedNull, "duration is null",
       [](World& w) { return ANeuralNetworksExecution_getDuration(w.computed(), 0, nullptr); }},
      // The duration code is checked before the state.
      {name + "CodeTooLarge", kBadData, "duration code 4",
       [=](World& w) { return ask(w, w.ready(), 4); }},
      {name + "CodeNegative", kBadData, "duration code -1",
       [=](World& w) { return ask(w, w.ready(), -1); }},
      {name + "NotComputed", kBadState, "has not been computed",
       [=](World& w) { return ask(w, measuring(w), 0); }, unknown},
      {name + "BeingComputed", kBadState, "being computed",
       [=](World& w) { return ask(w, w.computing(), 0); }, unknown},
      {name + "Failed", kBadState, "the execution failed",
       [=](World& w) {
         Execution* const e = w.execution();
         ROW_OK(ANeuralNetworksExecution_setMeasureTiming(e, true));
         ROW_EQ(ANeuralNetworksExecution_compute(e), kBadData);
         return ask(w, e, 1);
       },
       unknown},
      {name + "OutputTooSmall", kBadState, "the execution failed",
       [=](World& w) {
         Execution* const e = w.tooSmall();
         ROW_OK(ANeuralNetworksExecution_setMeasureTiming(e, true));
         ROW_EQ(ANeuralNetworksExecution_compute(e), ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE);
         return ask(w, e, 2);
       },
       unknown},
      {name + "TimingNotAskedFor", kBadState, "timing was not asked for",
       [=](World& w) { return ask(w, w.computed(), 3); }, unknown},
  };
}

}  // namespace

std::vector<Misuse> executionMisuses() {
  return joined({executionSetterRows(), computeRows(), fencedRows(), shapeRows(), durationRows()});
}

}  // namespace halyard::misuse
