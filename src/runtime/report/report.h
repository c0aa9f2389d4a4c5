// Report: describes a compilation and its executions: decisions with their reasons, partitions with
// predicted and measured cost, and all deviations from the plan.
// Thread safety: a Report may be used from any thread; the structs are plain data.
// Ownership: owns all text. Names devices only, so that it outlives all other objects. Shares the
// measurements of their speed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "halyard/driver/nnapi_types.h"
#include "halyard/driver/status.h"
#include "runtime/device/device_timings.h"
#include "runtime/partition/plan.h"

namespace halyard::runtime {

// One operation of the main subgraph, by the application's index.
struct OperationReport {
  uint32_t index = 0;
  OperationType type = {};
  std::string device;      // the computing device; empty without one
  int32_t partition = -1;  // index into Report::partitions
  // The operation is an IF or WHILE that the runtime runs itself. The operations of its models are
  // divided further.
  bool interpreted = false;
  struct RejectedDevice {
    std::string device;
    std::string reason;  // "does not support ...", "predicted 3.1 ms, slower than ..."
  };
  std::vector<RejectedDevice> others;  // all other candidates
};

struct PartitionReport {
  std::string device;
  // The application's indices, ascending. A part of an IF or WHILE has the index of that operation.
  std::vector<uint32_t> operations;
  std::string within;           // for parts of IF and WHILE: "operation #3 WHILE: body"
  uint32_t operationCount = 0;  // of the part itself
  Cost predicted;
  bool sizesUnknown = false;  // the prediction counts unknown dimensions as 1
  uint64_t bytesIn = 0;       // known bytes that cross for each execution
  uint64_t bytesOut = 0;
  // Figures of all executions so far. The report keeps sums, not medians.
  uint64_t executions = 0;
  double measuredTotal = 0;  // ns
  double measuredLast = 0;   // ns
  // Bytes of arguments that were copied: by the runtime, on the way, and by the driver into memory
  // of its own and back.
  uint64_t copiedTotal = 0;
  uint64_t copiedLast = 0;
  // The record of the last preparation by the device: the first one, or the one after a restart of
  // the driver.
  CacheRecord cache;
};

// A deviation from the plan, and the reaction to it.
struct ReportEvent {
  enum class Kind : uint8_t {
    PREPARE_FAILED,    // a device did not prepare a model that it had reported as supported
    REPARTITIONED,     // the same, and its operations went to other devices
    EXECUTION_FAILED,  // a step failed
    DRIVER_RESTARTED,  // its driver was restarted and the step prepared again
    RETRIED,           // the same device computed the step at a later attempt
    OTHER_DEVICE,      // another device computed the step
    CPU_FALLBACK,      // the CPU device computed the step, or the whole model
    STRICT_REFUSED,    // a fallback that HALYARD_REQUIRE_DEVICE forbids
    NEVER_COMPUTED,    // the operations fail in every execution: no device was asked
    QUARANTINED,       // shadow verification has found wrong results: the device is not used again
  };
  Kind kind = Kind::EXECUTION_FAILED;
  std::string device;                // the device with the problem
  std::string target;                // the replacement; empty without one
  int32_t partition = -1;            // of the plan at that time
  std::vector<uint32_t> operations;  // the application's indices; empty: all
  std::string cause;                 // the whole chain: Status::toString()
  uint64_t count = 1;                // number of equal events in a row
  int64_t unixNanoseconds = 0;       // the first time
};
std::string_view reportEventKindName(ReportEvent::Kind kind);

// The results of shadow verification (runtime/shadow.h).
struct ShadowReport {
  uint32_t interval = 0;  // executions per verification; 0: not requested
  std::string off;        // the reason why nothing is verified; empty when active
  uint64_t verified = 0;
  uint64_t failed = 0;                      // of the verified ones
  std::map<std::string, uint64_t> skipped;  // executions due but not verified, by reason
  double largestAbsolute = 0;               // of the errors so far
  double largestRelative = 0;
};

class Report {
 public:
  // `relaxed`: the model's relaxComputationFloat32toFloat16.
  explicit Report(bool relaxed = false) : relaxed_(relaxed) {}

  // At most this number of events is kept: the first and the last ones.
  static constexpr size_t kMostEvents = 256;

  // The destination of a partition's measurements besides the report.
  struct Target {
    std::shared_ptr<DeviceTimings> timings;  // may be null
    PredictedParts predicted;
    double best = 0;  // of the executions since the last one passed on
  };
  struct Decisions {
    std::vector<OperationReport> operations;
    std::vector<PartitionReport> partitions;
    std::vector<Target> targets;  // by partition, or empty
  };
  // Replaces the decisions and discards their measurements. Events stay.
  void setDecisions(Decisions decisions);
  // The same, but `describe` returns the decisions, with this number of partitions. The report
  // calls it when a caller asks or an execution has ended, from any thread, at most once. The
  // objects that it refers to must live as long as calls and executions are possible.
  void setDecisionsLater(size_t partitions, std::function<Decisions()> describe);
  // A repetition of the last event increases its count.
  void add(ReportEvent event);
  void setCache(size_t partition, CacheRecord record);
  // Adds the time of a successful execution of the partition, from the call to the result. The
  // device's predictions learn from it, except from the first execution, which may include other
  // work. They learn less often over time, because the same partition adds less information.
  // `copiedBytes`: see PartitionReport::copiedTotal.
  void addMeasurement(size_t partition, double nanoseconds, uint64_t copiedBytes);

  void updateShadow(const std::function<void(ShadowReport&)>& update);

  bool relaxed() const { return relaxed_; }
  std::vector<OperationReport> operations() const;
  std::vector<PartitionReport> partitions() const;
  std::vector<ReportEvent> events() const;
  ShadowReport shadow() const;

 private:
  void describeNow() const;  // with the mutex held

  const bool relaxed_;
  mutable std::mutex mutex_;
  mutable Decisions decisions_;
  mutable std::function<Decisions()> describe_;  // null after its call
  std::vector<ReportEvent> events_;
  uint64_t eventsDropped_ = 0;
  ShadowReport shadow_;
};

}  // namespace halyard::runtime
