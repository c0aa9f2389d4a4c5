// StepRun: runs the steps of one subgraph over one block of memory, any number of times.
// Thread safety: none; a run belongs to one thread. Its loops may use other threads.
// Ownership: borrows the plan, the block and the bound memory; owns copies of inputs.
#pragma once

#include <chrono>
#include <vector>

#include "cpu/execution_plan.h"
#include "cpu/run_services.h"
#include "cpu/step_plan.h"

namespace halyard::cpu {

class StepRun {
 public:
  // The plan has steps.
  explicit StepRun(const SubgraphPlan& plan);

  // Sets the memory of the steps' places, which has as many bytes as they need. It must outlive the
  // next run.
  void bindArena(std::byte* arena);

  // Sets the memory of an argument, which is aligned and large enough. `shared`: another process
  // can write to the input at any time. The input is copied then if its readers need that.
  void bindInput(size_t i, void* data, bool shared);
  void bindOutput(size_t i, void* data);

  // Runs all steps within the limits of the execution. Adds the time of each step to `times`, if
  // any.
  Status run(const RunServices& services, std::vector<std::chrono::nanoseconds>* times = nullptr);

 private:
  // The operands of a step without a kernel.
  struct View {
    std::vector<ops::Tensor> inputs;
    std::vector<ops::Tensor> outputs;
  };

  Status runStep(const Step& step, size_t index, const RunServices& services);
  Status runReference(const Step& step, View& view, const RunServices& services);
  Status runControlFlow(const Step& step, View& view, const RunServices& services);
  void deliver();

  const SubgraphPlan& plan_;
  const StepPlan& steps_;
  std::byte* arena_ = nullptr;
  std::vector<void*> data_;  // by operand
  std::vector<View> views_;  // by step
  // By step: whether it has been so short that only the time before it is checked for a limit. The
  // checks within a loop divide it into short ranges, which can take longer.
  std::vector<bool> isShort_;
  std::vector<BlockPool::Block> inputCopies_;  // by input
  std::vector<void*> outputs_;                 // by output
};

}  // namespace halyard::cpu
