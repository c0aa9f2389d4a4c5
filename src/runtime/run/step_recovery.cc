#include "runtime/run/step_recovery.h"

#include <algorithm>

#include "base/verbose_log.h"
#include "halyard/driver/trace.h"
#include "runtime/device/strict_mode.h"
#include "runtime/partition/support.h"

namespace halyard::runtime {
namespace {

// A driver that has died more often than this, without a long enough pause, is not started again.
constexpr unsigned kMostDeaths = 5;
constexpr std::chrono::minutes kLongPause{10};
// A transient failure counts only when it repeats.
constexpr unsigned kMostTransientFailures = 3;

bool isTransient(const Status& status) {
  return status.code() == ResultCode::RESOURCE_EXHAUSTED_TRANSIENT ||
         status.code() == ResultCode::UNAVAILABLE_DEVICE;
}

}  // namespace

bool isFinal(const Status& status) {
  switch (status.code()) {
    case ResultCode::NO_ERROR:
    case ResultCode::OUTPUT_INSUFFICIENT_SIZE:
    case ResultCode::MISSED_DEADLINE_TRANSIENT:
    case ResultCode::MISSED_DEADLINE_PERSISTENT:
      return true;
    default:
      return false;
  }
}

StepRecovery::StepRecovery(const Plan& plan, PlanContext context)
    : plan_(plan),
      context_(std::move(context)),
      hasVendorOperations_(hasVendorOperations(*context_.model)) {
  for (const ComputeStep& step : plan_.steps) {
    auto state = std::make_unique<StepState>();
    state->current = std::make_shared<const PreparedStep>(PreparedStep{step.device, step.prepared});
    states_.push_back(std::move(state));
  }
}

PreparedStepPtr StepRecovery::current(size_t step) const {
  const std::lock_guard lock(states_[step]->mutex);
  return states_[step]->current;
}

Status StepRecovery::checkUsable(const PreparedStep& by) {
  const Quarantine& quarantine = *by.device->quarantine();
  if (!quarantine.isSet()) return okStatus();
  return opFailed("device {} is not used any more in this process: {}", by.device->name(),
                  quarantine.reason());
}

const Device* StepRecovery::cpu() const {
  const auto it =
      std::ranges::find_if(context_.devices, [](const Device* device) { return device->isCpu(); });
  return it == context_.devices.end() ? nullptr : *it;
}

void StepRecovery::tell(ReportEvent::Kind kind, std::optional<size_t> step, const Device* device,
                        const Device* target, const Status& cause) const {
  ReportEvent event;
  event.kind = kind;
  if (device != nullptr) event.device = device->name();
  if (target != nullptr) event.target = target->name();
  if (step) {
    event.partition = static_cast<int32_t>(*step);
    if (!plan_.simple && plan_.steps[*step].subgraph == kMainSubgraph) {
      for (uint32_t operation : plan_.steps[*step].operations) {
        event.operations.push_back(context_.applicationOrder[operation]);
      }
      std::ranges::sort(event.operations);
    }
  }
  event.cause = cause.toString();
  vlog(VlogTag::EXECUTION, "{} of partition {} on {}{}{}: {}", reportEventKindName(kind),
       event.partition, event.device, target == nullptr ? "" : ", now ", event.target, event.cause);
  if (context_.report != nullptr) context_.report->add(std::move(event));
}

void StepRecovery::tellFencedFailure(const Status& cause) const {
  tell(ReportEvent::Kind::EXECUTION_FAILED, std::nullopt, nullptr, nullptr, cause);
}

void StepRecovery::tellFencedRetry(const Status& cause) const {
  tell(ReportEvent::Kind::RETRIED, std::nullopt, nullptr, nullptr, cause);
}

Status StepRecovery::recover(size_t step, const PreparedStepPtr& failed, Status cause,
                             const Attempt& attempt) {
  if (isFinal(cause)) return cause;
  tell(ReportEvent::Kind::EXECUTION_FAILED, step, failed->device, nullptr, cause);
  if (!context_.mayRecover) return cause;
  const Status first = cause;
  PreparedStepPtr last = failed;

  // Another thread may already have replaced the device of this step.
  if (PreparedStepPtr now = current(step); now != failed) {
    Status status = attempt(*now);
    if (isFinal(status)) return status;
    tell(ReportEvent::Kind::EXECUTION_FAILED, step, now->device, nullptr, status);
    last = std::move(now);
    cause = std::move(status);
  }

  if (cause.code() == ResultCode::DEAD_OBJECT) {
    Status reason;
    if (const PreparedStepPtr again = restarted(step, last, &reason)) {
      Status status = attempt(*again);
      if (isFinal(status)) {
        tell(ReportEvent::Kind::RETRIED, step, again->device, again->device, cause);
        return status;
      }
      tell(ReportEvent::Kind::EXECUTION_FAILED, step, again->device, nullptr, status);
      last = again;
      cause = std::move(status);
    } else {
      cause = makeStatus(ResultCode::DEAD_OBJECT, "{}; {}", cause.message(), reason.message());
    }
  }

  const Device* refused = nullptr;
  for (const Device* device : context_.devices) {
    if (device == last->device || device == failed->device) continue;
    if (!device->isCpu() && (hasFailed(*device) || device->quarantine()->isSet())) continue;
    if (!strictModeAllows(device->name())) {
      refused = device;
      continue;
    }
    Status reason;
    const PreparedStepPtr other = candidate(step, *device, &reason);
    if (other == nullptr) continue;
    Status status = attempt(*other);
    if (isFinal(status)) {
      tell(device->isCpu() ? ReportEvent::Kind::CPU_FALLBACK : ReportEvent::Kind::OTHER_DEVICE,
           step, failed->device, device, first);
      replace(step, last, other, isTransient(cause));
      return status;
    }
    tell(ReportEvent::Kind::EXECUTION_FAILED, step, device, nullptr, status);
    // The process of the device may be another one the next time.
    if (status.code() == ResultCode::DEAD_OBJECT) forgetCandidate(step, *device);
    cause = makeStatus(status.code(), "{}; before that: {}", status.message(), first.message());
  }
  if (refused == nullptr) return cause;
  tell(ReportEvent::Kind::STRICT_REFUSED, step, failed->device, refused, cause);
  return strictRefusal(fmt::format("partition {}", step), refused->name(), cause.message());
}

PreparedStepPtr StepRecovery::restarted(size_t step, const PreparedStepPtr& failed,
                                        Status* reason) {
  StepState& state = *states_[step];
  const std::lock_guard lock(state.preparing);
  if (PreparedStepPtr now = current(step); now != failed) return now;
  const Device& device = *failed->device;
  if (isLost(*failed)) {
    *reason =
        makeStatus(ResultCode::DEAD_OBJECT, "device {} has died {} times, and is not started again",
                   device.name(), kMostDeaths);
    return nullptr;
  }
  const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::COMPILATION,
                          "start the driver again", {.variant = trace::Variant::SUBTRACT});
  Status status = device.hal().wait();
  Candidate prepared;
  if (status.ok()) {
    const unsigned deaths = deathsOf(device);
    CacheRecord cache;
    auto model = preparePart(device, context_.caching.get(),
                             partOf(plan_.steps[step], plan_.simple), context_.options, &cache);
    if (model.ok()) {
      auto again =
          std::make_shared<const PreparedStep>(PreparedStep{&device, std::move(*model), deaths});
      {
        const std::lock_guard stateLock(state.mutex);
        state.current = again;
      }
      tell(ReportEvent::Kind::DRIVER_RESTARTED, step, &device, &device, okStatus());
      if (context_.report != nullptr) context_.report->setCache(step, std::move(cache));
      return again;
    }
    status = model.takeStatus();
  }
  *reason = std::move(status.annotate(fmt::format("starting device {} again", device.name())));
  return nullptr;
}

bool StepRecovery::isLost(const PreparedStep& failed) {
  const std::lock_guard lock(healthMutex_);
  Health& health = health_[failed.device];
  if (failed.deaths < health.deaths) return health.inARow > kMostDeaths;  // counted already
  const hal::TimePoint now = hal::Clock::now();
  if (now - health.last > kLongPause) health.inARow = 0;
  health.last = now;
  ++health.deaths;
  return ++health.inARow > kMostDeaths;
}

unsigned StepRecovery::deathsOf(const Device& device) const {
  const std::lock_guard lock(healthMutex_);
  const auto it = health_.find(&device);
  return it == health_.end() ? 0 : it->second.deaths;
}

void StepRecovery::forgetCandidate(size_t step, const Device& device) {
  StepState& state = *states_[step];
  const std::lock_guard lock(state.preparing);
  state.others.erase(&device);
}

bool StepRecovery::hasFailed(const Device& device) const {
  const std::lock_guard lock(healthMutex_);
  return failed_.contains(&device);
}

PreparedStepPtr StepRecovery::candidate(size_t step, const Device& device, Status* reason) {
  StepState& state = *states_[step];
  const std::lock_guard lock(state.preparing);
  auto it = state.others.find(&device);
  if (it == state.others.end()) it = state.others.emplace(&device, prepareOn(step, device)).first;
  *reason = it->second.reason;
  return it->second.prepared;
}

StepRecovery::Candidate StepRecovery::prepareOn(size_t step, const Device& device) const {
  const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::COMPILATION,
                          "prepare on another device", {.variant = trace::Variant::SUBTRACT});
  const ValidModel& model = plan_.steps[step].model;
  const Result<hal::SupportedOperations> supported = device.hal().getSupportedOperations(model);
  if (!supported.ok()) return {nullptr, supported.status()};
  if (supported->size() != model->main.operations.size() || !hal::supportsAll(*supported)) {
    return {nullptr, opFailed("device {} does not take all operations", device.name())};
  }
  const unsigned deaths = deathsOf(device);
  CacheRecord unused;
  auto prepared = preparePart(device, context_.caching.get(),
                              partOf(plan_.steps[step], plan_.simple), context_.options, &unused);
  if (!prepared.ok()) return {nullptr, prepared.takeStatus()};
  return {std::make_shared<const PreparedStep>(PreparedStep{&device, std::move(*prepared), deaths}),
          {}};
}

void StepRecovery::replace(size_t step, const PreparedStepPtr& failed, PreparedStepPtr by,
                           bool transient) {
  StepState& state = *states_[step];
  const std::lock_guard preparing(state.preparing);
  if (transient && ++state.transientFailures < kMostTransientFailures) return;
  const Device* const device = failed->device;
  {
    const std::lock_guard lock(state.mutex);
    if (state.current->device != device) return;
    state.current = std::move(by);
  }
  const std::lock_guard lock(healthMutex_);
  failed_.insert(device);
}

Status StepRecovery::computeOnCpu(Status cause, const Attempt& attempt) {
  const Device* const device = cpu();
  if (!context_.mayRecover || device == nullptr || hasVendorOperations_) return cause;
  if (!strictModeAllows(device->name())) return cause;
  Candidate whole;
  {
    const std::lock_guard lock(wholeMutex_);
    if (!whole_) {
      const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::COMPILATION,
                              "prepare on the CPU device", {.variant = trace::Variant::SUBTRACT});
      auto prepared = device->hal().prepareModel(context_.model, hal::PrepareOptions());
      whole_.emplace();
      if (prepared.ok()) {
        whole_->prepared =
            std::make_shared<const PreparedStep>(PreparedStep{device, std::move(*prepared)});
      } else {
        whole_->reason = prepared.takeStatus();
      }
    }
    whole = *whole_;
  }
  if (whole.prepared == nullptr) return cause;
  Status status = attempt(*whole.prepared);
  if (isFinal(status)) tell(ReportEvent::Kind::CPU_FALLBACK, std::nullopt, nullptr, device, cause);
  return status;
}

}  // namespace halyard::runtime
