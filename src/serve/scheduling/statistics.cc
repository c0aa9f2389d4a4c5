#include "serve/scheduling/statistics.h"

#include <algorithm>

namespace halyard::serve {
namespace {

constexpr size_t kMostRecent = 1024;

double microseconds(std::chrono::nanoseconds duration) {
  return static_cast<double>(duration.count()) / 1000;
}

}  // namespace

void StatisticsKeeper::addSuccess(std::chrono::nanoseconds queue, std::chrono::nanoseconds total) {
  const double latency = microseconds(total);
  const auto* const bound =
      std::ranges::find_if(kLatencyBounds, [&](uint64_t each) { return latency <= double(each); });
  const std::lock_guard lock(mutex_);
  sums_.success.add(total);
  sums_.queue.add(queue);
  ++sums_.latencies[static_cast<size_t>(bound - kLatencyBounds.begin())];
  if (sums_.recent.size() < kMostRecent) {
    sums_.recent.push_back(latency);
  } else {
    sums_.recent[nextRecent_++ % kMostRecent] = latency;
  }
}

void StatisticsKeeper::addFailure(Fault fault, std::chrono::nanoseconds total) {
  const std::lock_guard lock(mutex_);
  sums_.fail.add(total);
  ++sums_.failures[static_cast<size_t>(fault)];
}

void StatisticsKeeper::addExecution(uint32_t rows, size_t requests, const ExecutionTimes& times) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::lock_guard lock(mutex_);
  sums_.lastInference =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  sums_.inferences += rows;
  ++sums_.executions;
  // As clients of the protocol expect, the phases count once for each request.
  for (size_t i = 0; i < requests; ++i) {
    sums_.input.add(times.input);
    sums_.infer.add(times.infer);
    sums_.output.add(times.output);
  }
  BatchStatistics& batch = sums_.batches[rows];
  batch.input.add(times.input);
  batch.infer.add(times.infer);
  batch.output.add(times.output);
}

void StatisticsKeeper::addRecovery() {
  const std::lock_guard lock(mutex_);
  ++sums_.recoveries;
}

ModelStatistics StatisticsKeeper::snapshot() const {
  const std::lock_guard lock(mutex_);
  return sums_;
}

}  // namespace halyard::serve
