// Compilation: the implementation of ANeuralNetworksCompilation. It divides a model among devices
// and prepares it there.
// Thread safety: one modifying thread at a time. After finish(), any number of threads may read.
// Ownership: shares the finished model. The devices must outlive it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "halyard/driver/device.h"
#include "runtime/cache/cached_preparation.h"
#include "runtime/device/device_manager.h"
#include "runtime/device/extension_attributes.h"
#include "runtime/model/model_builder.h"
#include "runtime/partition/plan.h"
#include "runtime/report/diagnostics.h"
#include "runtime/report/report.h"
#include "runtime/run/plan_runner.h"
#include "runtime/run/shadow.h"

namespace halyard::runtime {

class Compilation {
 public:
  // `devices` must not be empty. `explicitDevices`: the application named `devices`, and no other
  // device may be used. Otherwise they are all devices, and another device computes the operations
  // that a driver fails to prepare.
  static Result<std::unique_ptr<Compilation>> create(const ModelBuilder& model,
                                                     std::vector<const Device*> devices,
                                                     bool explicitDevices);

  Status setPreference(int32_t preference);  // ANEURALNETWORKS_PREFER_*
  Status setPriority(int32_t priority);      // ANEURALNETWORKS_PRIORITY_*
  // In nanoseconds from the call of finish(); 0: no timeout. BAD_DATA without a single explicit
  // device.
  Status setTimeout(uint64_t duration);
  // See ExtensionAttributeList. BAD_DATA without a single explicit device.
  Status addExtensionAttribute(const char* extensionName, uint16_t code, const void* data,
                               size_t length);
  // Sets the folder of the cache and the token of the compilation. Only finish() reads the folder.
  // An error there goes to the report and does not fail finish(). Of the calls of this and the next
  // method, the last one counts.
  Status setCaching(const std::string& folder, const hal::Token& token);
  // Does the same for files that the application has opened, as many as the device needs. The
  // compilation keeps duplicates of the descriptors.
  // BAD_DATA without a single explicit device, for another number of files, and for descriptors
  // that are not of regular files open for reading and writing.
  Status setCachingFromFds(std::span<const int> modelCache, std::span<const int> dataCache,
                           const hal::Token& token);
  // The CPU device repeats each `interval`-th execution, and the results are compared. 0: no
  // execution. Without a call, HALYARD_SHADOW gives the interval.
  Status setShadow(uint32_t interval);
  Status finish();

  // BAD_STATE unless finish() has succeeded.
  Status checkValid() const;
  bool hasExplicitDevices() const { return explicitDevices_; }
  bool hasSingleExplicitDevice() const { return explicitDevices_ && devices_.size() == 1; }

  const Model& model() const { return *model_; }
  ExtensionRegistry& extensions() const { return extensions_; }
  // Unique among all compilations of the process, including those that no longer exist.
  uint64_t id() const { return id_; }
  // The application's index of each operation of the model.
  const std::vector<uint32_t>& applicationOrder() const { return applicationOrder_; }
  // The decisions of finish() and the events of executions. finish() fills it even when it fails.
  const std::shared_ptr<Report>& report() const { return report_; }
  // For the callbacks of diagnostics. The first call, after finish(), computes them.
  const CompilationFacts& facts() const;
  // The methods below may be called only after a successful finish().
  const Plan& plan() const { return *plan_; }
  const std::shared_ptr<const Plan>& sharedPlan() const { return plan_; }
  // The runner for all executions of the compilation.
  PlanRunner& runner() const { return *runner_; }
  // Null when no executions are verified.
  Shadow* shadow() const { return shadow_.get(); }
  // For a simple plan only.
  hal::PreparedModel& preparedModel() const { return *plan_->steps[0].prepared; }
  const std::shared_ptr<hal::PreparedModel>& sharedPreparedModel() const {
    return plan_->steps[0].prepared;
  }
  const Device& device() const { return *plan_->steps[0].device; }
  // Only if hasSingleExplicitDevice().
  const Device& explicitDevice() const { return *devices_.front(); }
  // The preferred alignment and padding of inputs and outputs, in bytes.
  uint32_t preferredAlignment() const;
  uint32_t preferredPadding() const;

 private:
  enum class State { CREATED, VALID, INVALID };

  Compilation(const ModelBuilder& model, std::vector<const Device*> devices, bool explicitDevices);
  // Whether there is a cache and a device that may save data in it.
  bool mayBeSaved() const;
  // Starts to compute the digests for caching. The runtime asks the devices for supported
  // operations at the same time.
  std::jthread startDigesting() const;
  Status prepare();
  // Makes a plan and a report for a model that can never be computed.
  void planNothing();
  // Makes the runner of the plan. `caching` is for the steps of the plan and may be null.
  void makeRunner(std::shared_ptr<const CachedPreparation> caching);

  const uint64_t id_;
  ValidModel model_;
  std::shared_ptr<const cpu::SureFailures> sureFailures_;
  std::vector<uint32_t> applicationOrder_;
  ExtensionRegistry& extensions_;
  std::vector<const Device*> devices_;
  bool explicitDevices_;
  State state_ = State::CREATED;
  hal::ExecutionPreference preference_ = hal::ExecutionPreference::FAST_SINGLE_ANSWER;
  hal::Priority priority_ = hal::Priority::MEDIUM;
  uint64_t timeout_ = 0;  // ns; 0: none
  ExtensionAttributeList attributes_;
  std::optional<CachingRequest> caching_;
  const std::shared_ptr<ConstantDigests> constantDigests_;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<PlanRunner> runner_;
  mutable std::once_flag factsComputed_;
  mutable CompilationFacts facts_;
  const std::shared_ptr<Report> report_;
  std::optional<uint32_t> shadowInterval_;
  std::shared_ptr<Shadow> shadow_;  // destroyed first: it waits for the users of the other members
};

// The answer of ANeuralNetworksModel_getSupportedOperationsForDevices. For each operation, in the
// order of the application, it tells whether at least one device supports it. An operation that can
// never be computed is not supported.
Result<std::vector<bool>> supportedOperations(const ModelBuilder& model,
                                              std::span<const Device* const> devices);

// The time `duration` nanoseconds from now, at most the largest time. nullopt for 0.
std::optional<hal::TimePoint> deadlineAfter(uint64_t duration);

}  // namespace halyard::runtime
