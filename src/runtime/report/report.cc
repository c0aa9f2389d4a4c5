// Stores the events.
#include "runtime/report/report.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

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
    case NEVER_COMPUTED:
      return "NEVER_COMPUTED";
    case QUARANTINED:
      return "QUARANTINED";
  }
  return "UNKNOWN";
}

void Report::setDecisions(Decisions decisions) {
  const std::lock_guard lock(mutex_);
  decisions_ = std::move(decisions);
  describe_ = nullptr;
}

void Report::setDecisionsLater(size_t partitions, std::function<Decisions()> describe) {
  const std::lock_guard lock(mutex_);
  decisions_ = {};
  decisions_.partitions.resize(partitions);
  describe_ = std::move(describe);
}

void Report::describeNow() const {
  if (!describe_) return;
  std::vector<PartitionReport> before = std::exchange(decisions_, describe_()).partitions;
  describe_ = nullptr;
  for (size_t p = 0; p < decisions_.partitions.size() && p < before.size(); ++p) {
    decisions_.partitions[p].cache = std::move(before[p].cache);
  }
}

void Report::add(ReportEvent event) {
  if (event.unixNanoseconds == 0) event.unixNanoseconds = unixNow();
  const std::lock_guard lock(mutex_);
  if (!events_.empty() && isSame(events_.back(), event)) {
    events_.back().count += event.count;
    return;
  }
  if (events_.size() == kMostEvents) {
    // The first half stays. The second half holds the most recent events.
    events_.erase(events_.begin() + kMostEvents / 2);
    ++eventsDropped_;
  }
  events_.push_back(std::move(event));
}

void Report::setCache(size_t partition, CacheRecord record) {
  const std::lock_guard lock(mutex_);
  std::vector<PartitionReport>& partitions = decisions_.partitions;
  if (partition < partitions.size()) partitions[partition].cache = std::move(record);
}

void Report::addMeasurement(size_t partition, double nanoseconds, uint64_t copiedBytes) {
  const std::lock_guard lock(mutex_);
  describeNow();
  if (partition >= decisions_.partitions.size()) return;
  PartitionReport& report = decisions_.partitions[partition];
  ++report.executions;
  report.measuredTotal += nanoseconds;
  report.measuredLast = nanoseconds;
  report.copiedTotal += copiedBytes;
  report.copiedLast = copiedBytes;
  if (partition >= decisions_.targets.size() || report.executions == 1) return;
  Target& target = decisions_.targets[partition];
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
  describeNow();
  return decisions_.operations;
}

std::vector<PartitionReport> Report::partitions() const {
  const std::lock_guard lock(mutex_);
  describeNow();
  return decisions_.partitions;
}

std::vector<ReportEvent> Report::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

}  // namespace halyard::runtime
