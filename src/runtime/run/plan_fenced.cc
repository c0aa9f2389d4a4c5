#include "runtime/run/plan_fenced.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "halyard/driver/sync_fence.h"
#include "runtime/run/plan_execution.h"

namespace halyard::runtime {
namespace {

hal::FencedResult failed(Status status) { return {std::move(status), {}, nullptr}; }

class FencedChain final : public hal::FencedExecution {
 public:
  FencedChain(PlanRunner& runner, const hal::Request& request, const MemoryArguments& memories,
              const hal::ExecuteOptions& options)
      : runner_(runner),
        request_(request),
        options_(options),
        arguments_{request_, memories},
        execution_(runner, arguments_, options_, nullptr) {}
  // Releases the memory between the steps for later runs, if no device writes to it any more.
  ~FencedChain() override {
    if (!complete_) return;
    const Result<FenceState> state =
        last_.valid() ? fenceState(last_.get()) : Result<FenceState>(FenceState::SIGNALLED);
    if (state.ok() && *state == FenceState::SIGNALLED) execution_.setDone();
  }
  FencedChain(const FencedChain&) = delete;
  FencedChain& operator=(const FencedChain&) = delete;

  // Launches all steps and returns the fence of the last one.
  Result<UniqueFd> launch(std::span<const int> waitFor) {
    Result<UniqueFd> fence = launchSteps(waitFor);
    // The launched steps must end before the caller computes the model again.
    if (!fence.ok() && last_.valid()) (void)waitFence(last_.get());
    complete_ = fence.ok();
    return fence;
  }

  hal::FencedInfo getExecutionInfo() override {
    for (const Launched& step : launched_) {
      hal::FencedInfo info = step.execution->getExecutionInfo();
      if (info.status.ok()) continue;
      info.status.annotate(runner_.stepText(step.step, *step.device));
      return info;
    }
    return {};
  }

 private:
  struct Launched {
    size_t step;
    const Device* device;
    std::shared_ptr<hal::FencedExecution> execution;
  };

  Result<UniqueFd> launchSteps(std::span<const int> waitFor) {
    HALYARD_RETURN_IF_ERROR(execution_.prepareMain());
    const std::vector<FrameNode>& nodes = runner_.layout().main.nodes;
    std::vector<int> before(waitFor.begin(), waitFor.end());
    for (size_t i = 0; i < nodes.size(); ++i) {
      const PreparedStepPtr by = runner_.recovery().current(nodes[i].step);
      const StepMark mark(runner_, nodes[i].step, *by->device);
      HALYARD_ASSIGN_OR_RETURN(const hal::Request request, execution_.requestFor(i));
      hal::FencedResult result =
          by->prepared->executeFenced(request, before, options_, std::nullopt);
      if (result.status.ok() && result.execution == nullptr) {
        result.status = opFailed("it reports success without an execution");
      }
      HALYARD_RETURN_IF_ERROR(result.status, "{}", runner_.stepText(nodes[i].step, *by->device));
      launched_.push_back({nodes[i].step, by->device, std::move(result.execution)});
      last_ = std::move(result.fence);
      before.clear();
      if (last_.valid()) before.push_back(last_.get());
    }
    if (!last_.valid()) return UniqueFd();
    UniqueFd fence(::fcntl(last_.get(), F_DUPFD_CLOEXEC, 0));
    if (!fence.valid()) {
      return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno, "duplicating a fence");
    }
    return fence;
  }

  PlanRunner& runner_;
  const hal::Request request_;
  const hal::ExecuteOptions options_;
  const RunArguments arguments_;
  PlanExecution execution_;
  std::vector<Launched> launched_;
  UniqueFd last_;
  bool complete_ = false;
};

// Whether the device of the step knows all buffers whose tokens the request contains.
bool knowsTokens(const PlanRunner& runner, size_t step, const hal::Request& request,
                 const MemoryArguments& memories) {
  const PreparedStepPtr by = runner.recovery().current(step);
  return std::ranges::all_of(request.pools, [&](const hal::RequestPool& pool) {
    const auto* const token = std::get_if<uint32_t>(&pool);
    if (token == nullptr) return true;
    const std::shared_ptr<DescribedMemory> memory = memories.find(*token);
    return memory != nullptr && memory->isKnownTo(*by->prepared);
  });
}

}  // namespace

bool canChain(const PlanRunner& runner, const hal::Request& request,
              const MemoryArguments& memories) {
  if (!runner.plan().whyNever.ok()) return true;  // startFencedPlan() reports the error
  if (!runner.plan().simple && !runner.layout().isChain) return false;
  for (size_t i = 0; i < runner.plan().steps.size(); ++i) {
    if (!StepRecovery::checkUsable(*runner.recovery().current(i)).ok()) return false;
  }
  // Later steps must be able to read outputs that are also their inputs. For write-only memory, a
  // run copies these outputs at the end.
  const bool isWriteOnly = std::ranges::any_of(request.outputs, [&](const auto& output) {
    if (output.kind != hal::RequestArgument::Kind::POOL) return false;
    const auto* const memory =
        std::get_if<SharedMemoryPtr>(&request.pools[output.location.poolIndex]);
    return memory != nullptr && ((*memory)->prot() & PROT_READ) == 0;
  });
  if (isWriteOnly && !runner.plan().simple) return false;
  if (memories.empty()) return true;
  for (size_t i = 0; i < runner.plan().steps.size(); ++i) {
    if (!knowsTokens(runner, i, request, memories)) return false;
  }
  return true;
}

hal::FencedResult startFencedPlan(PlanRunner& runner, const hal::Request& request,
                                  const MemoryArguments& memories, std::span<const int> waitFor,
                                  const hal::ExecuteOptions& options,
                                  std::optional<std::chrono::nanoseconds> duration) {
  if (!runner.plan().whyNever.ok()) return failed(runner.plan().whyNever);
  if (runner.plan().simple) {
    const PreparedStepPtr by = runner.recovery().current(0);
    const StepMark mark(runner, 0, *by->device);
    hal::FencedResult result = by->prepared->executeFenced(request, waitFor, options, duration);
    if (result.status.ok() && result.execution == nullptr) {
      result.status = opFailed("it reports success without an execution");
    }
    result.status.annotate(runner.stepText(0, *by->device));
    return result;
  }
  auto chain = std::make_shared<FencedChain>(runner, request, memories, options);
  Result<UniqueFd> fence = chain->launch(waitFor);
  if (!fence.ok()) return failed(fence.takeStatus());
  return {okStatus(), std::move(*fence), std::move(chain)};
}

Status waitForFences(std::span<const int> fences) {
  for (size_t i = 0; i < fences.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(const FenceState state, waitFence(fences[i]), "fence {}", i);
    if (state != FenceState::SIGNALLED) return opFailed("fence {} is in its error state", i);
  }
  return okStatus();
}

}  // namespace halyard::runtime
