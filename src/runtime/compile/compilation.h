// Compilation: an ANeuralNetworksCompilation: a model divided among devices and prepared there.
// Thread safety: one modifying thread at a time; once finished, any number of readers.
// Ownership: shares the finished model; the devices must outlive it.
#pragma once

#include <memory>
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
#include "runtime/report/report.h"
#include "runtime/run/plan_runner.h"
#include "runtime/run/shadow.h"

namespace halyard::runtime {

class Compilation {
 public:
  // `explicitDevices`: the application named `devices`, so that nothing else may be used; otherwise
  // they are all devices, and others take over what a driver fails to prepare. Not empty.
  static Result<std::unique_ptr<Compilation>> create(const ModelBuilder& model,
                                                     std::vector<const Device*> devices,
                                                     bool explicitDevices);

  Status setPreference(int32_t preference);  // ANEURALNETWORKS_PREFER_*
  Status setPriority(int32_t priority);      // ANEURALNETWORKS_PRIORITY_*
  // Nanoseconds from finish on; 0 clears. Only with one explicit device.
  Status setTimeout(uint64_t duration);
  // See ExtensionAttributeList. Only with one explicit device.
  Status addExtensionAttribute(const char* extensionName, uint16_t code, const void* data,
                               size_t length);
  // Where to cache: a folder, and what the compilation is known by there. The folder is looked at
  // in finish() only; what is wrong with it is no error but in the report. The last call counts, of
  // this and the next.
  Status setCaching(const std::string& folder, const hal::Token& token);
  // The same for files that the application has opened, as many as the device needs; duplicates are
  // kept. Only with one explicit device. BAD_DATA for another number of files, and for descriptors
  // that are not of regular files open for reading and writing.
  Status setCachingFromFds(std::span<const int> modelCache, std::span<const int> dataCache,
                           const hal::Token& token);
  // Every how many executions one is repeated on the CPU device and compared; 0: none. Else
  // HALYARD_SHADOW says.
  Status setShadow(uint32_t interval);
  Status finish();

  // BAD_STATE unless finish() succeeded.
  Status checkValid() const;
  bool hasExplicitDevices() const { return explicitDevices_; }
  bool hasSingleExplicitDevice() const { return explicitDevices_ && devices_.size() == 1; }

  const Model& model() const { return *model_; }
  ExtensionRegistry& extensions() const { return extensions_; }
  // Never that of another compilation, even of one that has ended.
  uint64_t id() const { return id_; }
  // For each operation of the model the application's index.
  const std::vector<uint32_t>& applicationOrder() const { return applicationOrder_; }
  // What was decided and what became of it; filled by finish(), also when it fails.
  const std::shared_ptr<Report>& report() const { return report_; }
  // The following only after a successful finish().
  const Plan& plan() const { return *plan_; }
  const std::shared_ptr<const Plan>& sharedPlan() const { return plan_; }
  // Runs the plan, for all executions of the compilation.
  PlanRunner& runner() const { return *runner_; }
  // Null when no executions are verified.
  Shadow* shadow() const { return shadow_.get(); }
  // Of a simple plan.
  hal::PreparedModel& preparedModel() const { return *plan_->steps[0].prepared; }
  const std::shared_ptr<hal::PreparedModel>& sharedPreparedModel() const {
    return plan_->steps[0].prepared;
  }
  const Device& device() const { return *plan_->steps[0].device; }
  // With hasSingleExplicitDevice().
  const Device& explicitDevice() const { return *devices_.front(); }
  // Alignment and padding in bytes that the devices like best, for any input or output.
  uint32_t preferredAlignment() const;
  uint32_t preferredPadding() const;

 private:
  enum class State { CREATED, VALID, INVALID };

  Compilation(const ModelBuilder& model, std::vector<const Device*> devices, bool explicitDevices);
  // Whether there is a cache, and a device that may save something in it.
  bool mayBeSaved() const;
  // The digests that caching needs, computed while the devices are asked what they support.
  std::jthread startDigesting() const;
  Status prepare();
  // A plan and a report of why the model can never be computed.
  void planNothing();
  // Who runs the plan. `caching`: of its steps, or null.
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
  const std::shared_ptr<Report> report_ = std::make_shared<Report>();
  std::optional<uint32_t> shadowInterval_;
  std::shared_ptr<Shadow> shadow_;  // last: it waits for what still uses the rest
};

// What ANeuralNetworksModel_getSupportedOperationsForDevices answers: for each operation in the
// application's order, whether any of the devices takes it. None takes one that can never be
// computed.
Result<std::vector<bool>> supportedOperations(const ModelBuilder& model,
                                              std::span<const Device* const> devices);

// `duration` nanoseconds from now, saturating at the end of time; nullopt for 0.
std::optional<hal::TimePoint> deadlineAfter(uint64_t duration);

}  // namespace halyard::runtime
