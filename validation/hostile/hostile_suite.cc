#include "validation/hostile/hostile_suite.h"

#include "validation/hostile/hostile_client.h"
#include "validation/kit/target.h"

namespace halyard::validation {
namespace {

constexpr uint64_t kQuickChecks = 40;
constexpr uint64_t kFullChecks = 1000;

CheckResult runSessions(Target& target, uint64_t seed, uint64_t first) {
  auto loop = target.loop();
  if (!loop.ok()) return loop.takeStatus();
  for (uint64_t i = first; i < first + kHostileSessions; ++i) {
    const std::vector<uint8_t> input = hostileInput(seed, i);
    Status status = attackDriver(*loop.value(), *target.spec().manifest, input);
    if (!status.ok()) return status.annotate(fmt::format("session {}", i));
  }
  return CheckResult::passed();
}

}  // namespace

Check hostileCheck(const TargetSpec& target, uint64_t seed, uint64_t first) {
  Check check;
  check.name = fmt::format("client/{}", first);
  check.what = fmt::format(
      "the driver answers and outlives hostile clients {} to {}, and ends when they are gone",
      first, first + kHostileSessions - 1);
  check.requirements = {"ND-042", "ND-043", "ND-061", "ND-062", "ND-065"};
  check.limit = std::chrono::seconds(300);
  check.expectedSeconds = 0.2;
  if (target.isInProcess()) {
    check.run = [](Target&) {
      return CheckResult::skipped("the driver is not in a process of its own");
    };
  } else {
    check.run = [seed, first](Target& to) { return runSessions(to, seed, first); };
  }
  return check;
}

namespace {

Check descriptorsCheck(const TargetSpec& target) {
  Check check;
  check.name = "descriptors";
  check.what =
      "the driver goes on answering, and ends with its client, when closing what it was sent "
      "blocks";
  check.requirements = {"ND-061"};
  check.limit = std::chrono::seconds(300);
  check.expectedSeconds = 0.5;
  if (target.isInProcess()) {
    check.run = [](Target&) {
      return CheckResult::skipped("the driver is not in a process of its own");
    };
  } else {
    check.run = [](Target& to) -> CheckResult {
      Status status = attackWithDescriptors(*to.spec().manifest);
      return status.ok() ? CheckResult::passed() : CheckResult(std::move(status));
    };
  }
  return check;
}

}  // namespace

Result<std::vector<Check>> listHostile(const TargetSpec& target, const Plan& plan) {
  std::vector<Check> checks;
  checks.push_back(descriptorsCheck(target));
  for (uint64_t i = 0; i < (plan.full ? kFullChecks : kQuickChecks); ++i) {
    checks.push_back(hostileCheck(target, plan.seed, i * kHostileSessions));
  }
  return checks;
}

}  // namespace halyard::validation
