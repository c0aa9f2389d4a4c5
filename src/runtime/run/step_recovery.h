// StepRecovery: who computes each step of a plan now, and what is done when that fails.
// Thread safety: all methods may be called from any thread.
// Ownership: shares the prepared models and the report; plan and devices must outlive it.
//
// A step that fails is computed by somebody else, and stays there: by its own driver, started
// again, if that has died; by another device that takes all of its operations; by the CPU device.
// A replacement counts only once it has computed the step: when all fail alike, the values are to
// blame, not the devices.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "runtime/cache/cached_preparation.h"
#include "runtime/partition/plan.h"
#include "runtime/report/report.h"

namespace halyard::runtime {

// What a compilation has decided beside its plan.
struct PlanContext {
  explicit PlanContext(ValidModel whole) : model(std::move(whole)) {}

  ValidModel model;
  std::vector<uint32_t> applicationOrder;  // of the main subgraph's operations
  std::vector<const Device*> devices;      // that may compute something, in the API's order
  // Otherwise nothing may be computed elsewhere than planned.
  bool mayRecover = true;
  hal::PrepareOptions options;  // its deadline is not used
  std::shared_ptr<Report> report;
  std::shared_ptr<const CachedPreparation> caching;  // null: the application asks for no cache
  uint64_t compilation = 0;                          // Compilation::id
};

// A step's model, or the whole model, prepared.
struct PreparedStep {
  const Device* device = nullptr;
  std::shared_ptr<hal::PreparedModel> prepared;
  unsigned deaths = 0;  // of the device that were known by then
};
using PreparedStepPtr = std::shared_ptr<const PreparedStep>;

// An end of an execution that nobody else's attempt could change: success, an output that is too
// small, a missed deadline.
bool isFinal(const Status& status);

class StepRecovery {
 public:
  // The steps' prepared models must be there.
  StepRecovery(const Plan& plan, PlanContext context);

  const PlanContext& context() const { return context_; }
  // Whether anything may be computed elsewhere than planned.
  bool mayRecover() const { return context_.mayRecover; }
  // For the record: a fenced execution has failed; it has been computed step by step after all.
  void tellFencedFailure(const Status& cause) const;
  void tellFencedRetry(const Status& cause) const;
  // Who computes the step.
  PreparedStepPtr current(size_t step) const;
  // Why `by` must not compute anything; OK when it may.
  static Status checkUsable(const PreparedStep& by);
  // Whether the step has never been computed by another device, or another process, than planned.
  bool asPlanned(size_t step, const PreparedStep& by) const {
    return plan_.steps[step].device == by.device;
  }

  // Computes the step, overwriting what a failed attempt may have written.
  using Attempt = std::function<Status(const PreparedStep& by)>;
  // After `failed` has failed to compute the step because of `cause`, which is not final: others
  // attempt it. The result is final, or the reason why nobody could compute it.
  Status recover(size_t step, const PreparedStepPtr& failed, Status cause, const Attempt& attempt);
  // After the steps could not be computed because of `cause`: the CPU device computes everything.
  Status computeOnCpu(Status cause, const Attempt& attempt);

 private:
  struct Candidate {
    PreparedStepPtr prepared;  // null: it cannot compute the step
    Status reason;
  };
  struct StepState {
    mutable std::mutex mutex;  // for `current`, and never held for long
    PreparedStepPtr current;
    std::mutex preparing;  // for what follows, held while a device prepares the step
    std::map<const Device*, Candidate> others;
    unsigned transientFailures = 0;
  };
  struct Health {
    unsigned deaths = 0;
    unsigned inARow = 0;  // without a pause
    hal::TimePoint last;
  };

  // The step prepared anew by its device after that has died; null with `reason` if it cannot.
  PreparedStepPtr restarted(size_t step, const PreparedStepPtr& failed, Status* reason);
  PreparedStepPtr candidate(size_t step, const Device& device, Status* reason);
  Candidate prepareOn(size_t step, const Device& device) const;
  // Counts the death of the process that `failed` was prepared in, once for all steps. Whether the
  // device has died so often that it is not started again.
  bool isLost(const PreparedStep& failed);
  unsigned deathsOf(const Device& device) const;
  void forgetCandidate(size_t step, const Device& device);
  bool hasFailed(const Device& device) const;
  void replace(size_t step, const PreparedStepPtr& failed, PreparedStepPtr by, bool transient);
  const Device* cpu() const;
  void tell(ReportEvent::Kind kind, std::optional<size_t> step, const Device* device,
            const Device* target, const Status& cause) const;

  const Plan& plan_;
  const PlanContext context_;
  const bool hasForeignOperations_;  // OEM or extensions: nothing for the CPU device
  std::vector<std::unique_ptr<StepState>> states_;

  mutable std::mutex healthMutex_;
  std::map<const Device*, Health> health_;
  std::set<const Device*> failed_;  // have been replaced somewhere

  std::mutex wholeMutex_;
  std::optional<Candidate> whole_;  // the whole model on the CPU device
};

}  // namespace halyard::runtime
