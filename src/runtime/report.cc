// Keeping what happened.
#include "runtime/report.h"

#include <algorithm>
#include <bit>
#include <chrono>

namespace halyard::runtime {
namespace {

int64_t unixNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool isSame(const ReportEvent& a, const ReportEvent& b) {
  return a.kind == b.kind && a.device == b.device && a.target == b.target &&
         a.partition == b.partition && a.operations == b.operations && a.cause == b.cause;
}

}  // namespace

std::string_view reportEventKindName(ReportEvent::Kind kind) {
  using enum ReportEvent::Kind;
  switch (kind) {
    case PREPARE_FAILED:
      return "PREPARE_FAILED";
    case REPARTITIONED:
      return "REPARTITIONED";
    case EXECUTION_FAILED:
      return "EXECUTION_FAILED";
    case DRIVER_RESTARTED:
      return "DRIVER_RESTARTED";
    case RETRIED:
      return "RETRIED";
    case OTHER_DEVICE:
      return "OTHER_DEVICE";
    case CPU_FALLBACK:
      return "CPU_FALLBACK";
    case STRICT_REFUSED:
      return "STRICT_REFUSED";
    case QUARANTINED:
      return "QUARANTINED";
  }
  return "UNKNOWN";
}

void Report::setDecisions(std::vector<OperationReport> operations,
                          std::vector<PartitionReport> partitions, std::vector<Target> targets) {
  const std::lock_guard lock(mutex_);
  operations_ = std::move(operations);
  partitions_ = std::move(partitions);
  targets_ = std::move(targets);
}

void Report::add(ReportEvent event) {
  if (event.unixNanoseconds == 0) event.unixNanoseconds = unixNow();
  const std::lock_guard lock(mutex_);
  if (!events_.empty() && isSame(events_.back(), event)) {
    events_.back().count += event.count;
    return;
  }
  if (events_.size() == kMostEvents) {
    // The first half stays, the second half is of the last ones.
    events_.erase(events_.begin() + kMostEvents / 2);
    ++eventsDropped_;
  }
  events_.push_back(std::move(event));
}

void Report::setCache(size_t partition, CacheRecord record) {
  const std::lock_guard lock(mutex_);
  if (partition < partitions_.size()) partitions_[partition].cache = std::move(record);
}

void Report::addMeasurement(size_t partition, double nanoseconds) {
  const std::lock_guard lock(mutex_);
  if (partition >= partitions_.size()) return;
  PartitionReport& report = partitions_[partition];
  ++report.executions;
  report.measuredTotal += nanoseconds;
  report.measuredLast = nanoseconds;
  if (partition >= targets_.size() || report.executions == 1) return;
  Target& target = targets_[partition];
  target.best = target.best == 0 ? nanoseconds : std::min(target.best, nanoseconds);
  if (target.timings == nullptr || !std::has_single_bit(report.executions)) return;
  target.timings->add(target.predicted, target.best);
  target.best = 0;
}

void Report::updateShadow(const std::function<void(ShadowReport&)>& update) {
  const std::lock_guard lock(mutex_);
  update(shadow_);
}

ShadowReport Report::shadow() const {
  const std::lock_guard lock(mutex_);
  return shadow_;
}

std::vector<OperationReport> Report::operations() const {
  const std::lock_guard lock(mutex_);
  return operations_;
}

std::vector<PartitionReport> Report::partitions() const {
  const std::lock_guard lock(mutex_);
  return partitions_;
}

std::vector<ReportEvent> Report::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

}  // namespace halyard::runtime
