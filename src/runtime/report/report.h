// Report: what became of a compilation and its executions: decisions with their reasons, partitions
// with predicted and measured cost, and everything that went another way than planned.
// Thread safety: a Report may be used from any thread; the structs are plain data.
// Ownership: owns all text; knows devices by name only, so that it outlives everything else, and
// shares what is learned of their speed.
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
  std::string device;      // which computes it; empty when none does
  int32_t partition = -1;  // index into Report::partitions
  // An IF or WHILE that the runtime runs itself: the operations of its models are divided further.
  bool interpreted = false;
  struct WhyNot {
    std::string device;
    std::string reason;  // "does not support ...", "predicted 3.1 ms, slower than ..."
  };
  std::vector<WhyNot> others;  // every other device that was a candidate
};

struct PartitionReport {
  std::string device;
  // Of the application, ascending; for a part of an IF or WHILE that one, in the main subgraph.
  std::vector<uint32_t> operations;
  std::string within;           // for parts of IF and WHILE: "operation #3 WHILE: body"
  uint32_t operationCount = 0;  // of the part itself
  Cost predicted;
  bool sizesUnknown = false;  // the prediction counts unknown dimensions as 1
  uint64_t bytesIn = 0;       // known bytes that cross for each execution
  uint64_t bytesOut = 0;
  // Of the executions so far; medians are not kept, sums are.
  uint64_t executions = 0;
  double measuredTotal = 0;  // ns
  double measuredLast = 0;   // ns
  // Of the last time that the partition was prepared by its device: at first, or after the driver
  // was started again.
  CacheRecord cache;
};

// Something that did not go as planned, and what was done about it.
struct ReportEvent {
  enum class Kind : uint8_t {
    PREPARE_FAILED,    // a device did not prepare what it had said it supports
    REPARTITIONED,     // and its operations went elsewhere
    EXECUTION_FAILED,  // a step failed
    DRIVER_RESTARTED,  // its driver was started again and the step prepared anew
    RETRIED,           // the step was computed by the same device after all
    OTHER_DEVICE,      // the step was computed by another device
    CPU_FALLBACK,      // the step, or the whole model, was computed by the CPU device
    STRICT_REFUSED,    // a fallback that HALYARD_REQUIRE_DEVICE forbids
    NEVER_COMPUTED,    // the operations fail in every execution: no device was asked
    QUARANTINED,       // shadow verification has found results wrong: the device is not used again
  };
  Kind kind = Kind::EXECUTION_FAILED;
  std::string device;                // where it happened
  std::string target;                // who took over; empty when nobody did
  int32_t partition = -1;            // of the plan at that time
  std::vector<uint32_t> operations;  // of the application; empty: all
  std::string cause;                 // the whole chain: Status::toString()
  uint64_t count = 1;                // how often the same has happened in a row
  int64_t unixNanoseconds = 0;       // the first time
};
std::string_view reportEventKindName(ReportEvent::Kind kind);

// What has come of shadow verification (runtime/shadow.h).
struct ShadowReport {
  uint32_t interval = 0;  // every how many executions; 0: it is not asked for
  std::string off;        // why nothing is verified all the same; empty when it is
  uint64_t verified = 0;
  uint64_t failed = 0;                      // of those
  std::map<std::string, uint64_t> skipped;  // whose turn it was, by why they were not
  double largestAbsolute = 0;               // of the errors so far
  double largestRelative = 0;
};

class Report {
 public:
  // At most this many events are kept, the first and the last ones.
  static constexpr size_t kMostEvents = 256;

  // Where measurements of a partition go beside the report.
  struct Target {
    std::shared_ptr<DeviceTimings> timings;  // may be null
    PredictedParts predicted;
    double best = 0;  // of the executions since the last that was passed on
  };
  struct Decisions {
    std::vector<OperationReport> operations;
    std::vector<PartitionReport> partitions;
    std::vector<Target> targets;  // by partition, or empty
  };
  // Replaces the decisions; what was measured is forgotten with them, events are kept.
  void setDecisions(Decisions decisions);
  // The same, but `describe` says what they are, of so many partitions, when somebody asks or an
  // execution is over. Called by any thread, once or never; what it refers to must be there as long
  // as anybody may ask or execute.
  void setDecisionsLater(size_t partitions, std::function<Decisions()> describe);
  // A repetition of the last event counts it up.
  void add(ReportEvent event);
  void setCache(size_t partition, CacheRecord record);
  // One more successful execution of the partition took so long, from the call to the result. The
  // device's predictions learn from it, ever more rarely, as the same partition has ever less to
  // say, and not from the first execution, which may have had more to do.
  void addMeasurement(size_t partition, double nanoseconds);

  void updateShadow(const std::function<void(ShadowReport&)>& update);

  std::vector<OperationReport> operations() const;
  std::vector<PartitionReport> partitions() const;
  std::vector<ReportEvent> events() const;
  ShadowReport shadow() const;

 private:
  void describeNow() const;  // with the mutex held

  mutable std::mutex mutex_;
  mutable Decisions decisions_;
  mutable std::function<Decisions()> describe_;  // null once it has been called
  std::vector<ReportEvent> events_;
  uint64_t eventsDropped_ = 0;
  ShadowReport shadow_;
};

}  // namespace halyard::runtime
