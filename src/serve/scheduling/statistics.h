// Statistics of a served model: counts and times since it was loaded.
// Thread safety: ModelStatistics is plain data; StatisticsKeeper may be used from any thread.
// Ownership: owns its data.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "serve/protocol/outcome.h"

namespace halyard::serve {

struct DurationSum {
  uint64_t count = 0;
  uint64_t ns = 0;
  void add(std::chrono::nanoseconds duration) {
    ++count;
    ns += duration.count() > 0 ? static_cast<uint64_t>(duration.count()) : 0;
  }
};

// The phases of one execution.
struct ExecutionTimes {
  std::chrono::nanoseconds input{};   // copies the inputs of the requests
  std::chrono::nanoseconds infer{};   // computes
  std::chrono::nanoseconds output{};  // copies the outputs into the answers
};

struct BatchStatistics {
  DurationSum input;
  DurationSum infer;
  DurationSum output;
};

// The upper bounds of the histogram of latencies, in microseconds. A last step has no bound.
inline constexpr std::array<uint64_t, 15> kLatencyBounds = {
    100,    250,     500,     1'000,   2'500,     5'000,     10'000,    25'000,
    50'000, 100'000, 250'000, 500'000, 1'000'000, 2'500'000, 10'000'000};

struct ModelStatistics {
  uint64_t lastInference = 0;  // milliseconds since 1970
  uint64_t inferences = 0;     // a batch of n counts n
  uint64_t executions = 0;
  DurationSum success;  // from arrival to answer
  DurationSum fail;
  DurationSum queue;
  DurationSum input;
  DurationSum infer;
  DurationSum output;
  std::map<uint32_t, BatchStatistics> batches;  // by the number of inferences in them
  std::array<uint64_t, kFaultCount> failures = {};
  std::array<uint64_t, kLatencyBounds.size() + 1> latencies = {};
  uint64_t recoveries = 0;  // compilations after the death of a driver
  // The latencies of the last successes in microseconds, in no order.
  std::vector<double> recent;
};

class StatisticsKeeper {
 public:
  void addSuccess(std::chrono::nanoseconds queue, std::chrono::nanoseconds total);
  void addFailure(Fault fault, std::chrono::nanoseconds total);
  void addExecution(uint32_t rows, size_t requests, const ExecutionTimes& times);
  void addRecovery();
  ModelStatistics snapshot() const;

 private:
  mutable std::mutex mutex_;
  ModelStatistics sums_;
  size_t nextRecent_ = 0;
};

}  // namespace halyard::serve
