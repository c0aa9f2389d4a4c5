// StepRecovery: the device that computes each step of a plan now, and the recovery from failures.
// Thread safety: all methods may be called from any thread.
// Ownership: shares the prepared models and the report. Plan and devices must outlive it.
//
// A step that fails goes to another device and stays there. If its own driver has died, the driver
// is started again. Otherwise another device that supports all operations of the step computes it,
// and last the CPU device. A replacement stays only after it has computed the step. When all
// devices fail, the values are the cause, not the devices.
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

// The decisions of a compilation that are not in its plan.
struct PlanContext {
  explicit PlanContext(ValidModel whole) : model(std::move(whole)) {}

  ValidModel model;
  // For each operation of the main subgraph, its index in the application.
  std::vector<uint32_t> applicationOrder;
  std::vector<const Device*> devices;  // may compute steps; in the order of the API
  // False: each step must stay on its planned device.
  bool mayRecover = true;
  hal::PrepareOptions options;  // its deadline is not used
  std::shared_ptr<Report> report;
  std::shared_ptr<const CachedPreparation> caching;  // null: the application asks for no cache
  uint64_t compilation = 0;                          // Compilation::id
};

// A prepared model of a step, or of the whole model.
struct PreparedStep {
  const Device* device = nullptr;
  std::shared_ptr<hal::PreparedModel> prepared;
  unsigned deaths = 0;  // number of known deaths of the device at that time
};
using PreparedStepPtr = std::shared_ptr<const PreparedStep>;

// Whether another attempt cannot change the status: success, an output that is too small, or a
// missed deadline.
bool isFinal(const Status& status);

class StepRecovery {
 public:
  // The prepared models of all steps must exist.
  StepRecovery(const Plan& plan, PlanContext context);

  const PlanContext& context() const { return context_; }
  // Whether a step may move to a device other than the planned one.
  bool mayRecover() const { return context_.mayRecover; }
  // Record in the report that a fenced execution has failed, or that it was then computed step by
  // step.
  void tellFencedFailure(const Status& cause) const;
  void tellFencedRetry(const Status& cause) const;
  // The device that computes the step now, with its prepared model.
  PreparedStepPtr current(size_t step) const;
  // OK if `by` may compute. Otherwise the reason why it must not.
  static Status checkUsable(const PreparedStep& by);
  // Whether `by` is on the device that the plan has for the step.
  bool asPlanned(size_t step, const PreparedStep& by) const {
    return plan_.steps[step].device == by.device;
  }

  // Computes the step. It overwrites any results of a failed attempt.
  using Attempt = std::function<Status(const PreparedStep& by)>;
  // Lets other devices attempt the step after `failed` has failed with `cause`, which must not be
  // final. Returns a final status, or the reason why no device could compute the step.
  Status recover(size_t step, const PreparedStepPtr& failed, Status cause, const Attempt& attempt);
  // Lets the CPU device compute the whole model after the steps have failed with `cause`.
  Status computeOnCpu(Status cause, const Attempt& attempt);

 private:
  struct Candidate {
    PreparedStepPtr prepared;  // null: the device cannot compute the step
    Status reason;
  };
  struct StepState {
    mutable std::mutex mutex;  // for `current`; held only for a short time
    PreparedStepPtr current;
    std::mutex preparing;  // for the members below; held while a device prepares the step
    std::map<const Device*, Candidate> others;
    unsigned transientFailures = 0;
  };
  struct Health {
    unsigned deaths = 0;
    unsigned inARow = 0;  // without a pause of kLongPause
    hal::TimePoint last;
  };

  // Prepares the step again on its device after the driver has died. Null, with `reason`, if that
  // fails.
  PreparedStepPtr restarted(size_t step, const PreparedStepPtr& failed, Status* reason);
  PreparedStepPtr candidate(size_t step, const Device& device, Status* reason);
  Candidate prepareOn(size_t step, const Device& device) const;
  // Counts the death of the process in which `failed` was prepared, once for all steps. Returns
  // whether the device has died too often to be started again.
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
  // OEM or extension operations, which the CPU device does not support.
  const bool hasVendorOperations_;
  std::vector<std::unique_ptr<StepState>> states_;

  mutable std::mutex healthMutex_;
  std::map<const Device*, Health> health_;
  std::set<const Device*> failed_;  // devices that have been replaced in at least one step

  std::mutex wholeMutex_;
  std::optional<Candidate> whole_;  // the whole model on the CPU device
};

}  // namespace halyard::runtime
