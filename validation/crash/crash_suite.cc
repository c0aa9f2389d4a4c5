#include "validation/crash/crash_suite.h"

#include <optional>
#include <random>
#include <thread>

#include "validation/crash/client_process.h"
#include "validation/kit/target.h"

namespace halyard::validation {
namespace {

using std::chrono::milliseconds;
using End = ClientProcess::End;
using How = ClientProcess::How;

// The time that a client may take to end after its duration.
constexpr milliseconds kParallelGrace{20'000};
constexpr milliseconds kGrace{30'000};
// One round of a process alone, even on a slow machine.
constexpr milliseconds kOneRoundGrace{90'000};
// This client has a number of rounds to do, even on a slow machine.
constexpr milliseconds kGrowthGrace{90'000};
// The limit of a model's latency while others are compiled, divided by its latency alone.
constexpr double kMostDegradation = 1.5;
constexpr int kDegradationAttempts = 3;
// The most memory and objects that a driver may gain while the same work is repeated. It may have
// memory that is not freed yet, or that it keeps for the next request.
constexpr int64_t kMostBytes = int64_t{24} << 20;
constexpr int64_t kMostObjects = 24;
// The most time of a late round, as a multiple of an early one, and a difference that does not
// count.
constexpr double kMostSlowdown = 2;
constexpr double kSmallMilliseconds = 0.5;

const std::vector<std::string> kNetworks = {"mobilenet_v1_uint8", "mobilenet_v2_int8",
                                            "mobilenet_v2_float", "lstm_acoustic_float",
                                            "lstm_quant16",       "branches"};
// Models that compile quickly. Nearly every driver takes one of them.
const std::vector<std::string> kLiveliness = {"mobilenet_v2_uint8", "mobilenet_v2_float",
                                              "lstm_quant16", "branches"};

struct Context {
  const TargetSpec& target;
  milliseconds each;
  uint64_t seed;
  milliseconds limit;  // of the check; 0: the check's own

  // The limit for work that usually takes at most `usual`. A longer limit of the check means a slow
  // machine.
  milliseconds grace(milliseconds usual) const { return std::max(usual, limit / 2); }
};

StressPlan basePlan(const Context& context, std::vector<std::string> models) {
  StressPlan plan;
  if (context.target.manifest) plan.manifest = context.target.manifest->path.string();
  plan.device = context.target.name;
  plan.models = std::move(models);
  plan.duration = context.each;
  plan.seed = context.seed;
  return plan;
}

CheckResult resultOf(const End& end) {
  switch (end.how) {
    case How::HUNG:
      return CheckResult::hung(end.text);
    case How::CRASHED:
    case How::KILLED:
      return CheckResult::crashed(end.text);
    case How::FINISHED:
      break;
  }
  if (!end.result.failure.empty()) return opFailed("{}", end.result.failure);
  if (end.result.rounds == 0) {
    return end.result.unsupported > 0 ? CheckResult::skipped("the device takes none of the models")
                                      : CheckResult(opFailed("not a single round in the time"));
  }
  return CheckResult::passed(fmt::format("{} rounds", end.result.rounds));
}

CheckResult runOneClient(const StressPlan& plan, milliseconds grace) {
  auto client = ClientProcess::start(plan);
  if (!client.ok()) return client.takeStatus();
  return resultOf(client.value().wait(plan.duration + grace));
}

// A client beside others that must not affect it. Its duration must be that of the others.
class Liveliness {
 public:
  static Result<Liveliness> start(const Context& context, milliseconds duration,
                                  milliseconds grace) {
    StressPlan plan = basePlan(context, kLiveliness);
    plan.duration = duration;
    HALYARD_ASSIGN_OR_RETURN(ClientProcess client, ClientProcess::start(plan));
    return Liveliness(std::move(client), duration, grace);
  }
  // Returns `result`, unless this client has failed.
  CheckResult end(CheckResult result) {
    const CheckResult own = resultOf(client_.wait(duration_ + grace_));
    if (own.outcome == Outcome::PASSED || own.outcome == Outcome::SKIPPED) return result;
    CheckResult noticed = own;
    noticed.reason = "the client beside them: " + own.reason;
    return noticed;
  }

 private:
  Liveliness(ClientProcess client, milliseconds duration, milliseconds grace)
      : client_(std::move(client)), duration_(duration), grace_(grace) {}
  ClientProcess client_;
  milliseconds duration_;
  milliseconds grace_;
};

CheckResult parallelInference(const Context& context) {
  StressPlan plan = basePlan(context, kNetworks);
  plan.threads = 8;
  return runOneClient(plan, context.grace(kParallelGrace));
}

CheckResult parallelInferenceInProcess(const Context& context) {
  StressPlan plan = basePlan(context, kNetworks);
  plan.threads = 8;
  End end;
  end.result = runStress(plan);
  return resultOf(end);
}

CheckResult clientEarlyTermination(const Context& context) {
  StressPlan plan = basePlan(context, kNetworks);
  plan.threads = 4;
  plan.compileOnly = true;
  plan.duration = 4 * context.each;  // the client is killed earlier
  std::mt19937 random(static_cast<uint32_t>(context.seed));
  const milliseconds until(context.each.count() * (50 + random() % 50) / 100);
  auto alive = Liveliness::start(context, context.each, context.grace(kGrace));
  if (!alive.ok()) return alive.takeStatus();
  auto client = ClientProcess::start(plan);
  if (!client.ok()) return client.takeStatus();
  std::this_thread::sleep_for(until);
  client.value().kill();
  const End end = client.value().wait(context.grace(kGrace));
  const bool asMeant =
      end.how == How::KILLED || (end.how == How::FINISHED && end.result.failure.empty());
  return alive.value().end(asMeant ? CheckResult::passed("killed while it compiled")
                                   : resultOf(end));
}

CheckResult mappedModelLoad(const Context& context) {
  StressPlan plan = basePlan(context, kNetworks);
  plan.threads = 4;
  plan.compileOnly = true;
  plan.mapped = true;
  auto alive = Liveliness::start(context, context.each, context.grace(kGrace));
  if (!alive.ok()) return alive.takeStatus();
  return alive.value().end(runOneClient(plan, context.grace(kGrace)));
}

// Six processes with ten threads each. Each process kills itself with a chance of `killPercent`.
CheckResult manyProcesses(const Context& context, bool compileOnly, unsigned killPercent) {
  constexpr int kProcesses = 6;
  StressPlan plan = basePlan(context, kLiveliness);
  plan.threads = 10;
  plan.compileOnly = compileOnly;
  if (compileOnly) plan.pause = milliseconds(20);
  // Each process has a driver of its own, which compiles the same models again. So the time for a
  // round of all follows the time for a round of one process alone.
  StressPlan oneRound = plan;
  oneRound.duration = milliseconds(1);
  const auto start = std::chrono::steady_clock::now();
  CheckResult result = runOneClient(oneRound, context.grace(kOneRoundGrace));
  if (result.outcome != Outcome::PASSED) return result;
  const auto alone = std::chrono::ceil<milliseconds>(std::chrono::steady_clock::now() - start);
  const milliseconds grace = std::max(context.grace(kGrace), 2 * (kProcesses + 1) * alone);

  plan.killPercent = killPercent;
  auto alive = Liveliness::start(context, context.each, grace);
  if (!alive.ok()) return alive.takeStatus();
  std::vector<ClientProcess> clients;
  for (int i = 0; i < kProcesses; ++i) {
    auto client = ClientProcess::start(plan);
    if (!client.ok()) return client.takeStatus();
    clients.push_back(std::move(client).value());
  }
  result = CheckResult::passed();
  unsigned killed = 0;
  for (ClientProcess& client : clients) {
    const End end = client.wait(plan.duration + grace);
    if (end.how == How::KILLED && killPercent > 0) {
      ++killed;
      continue;
    }
    const CheckResult own = resultOf(end);
    if (isBad(own.outcome) && !isBad(result.outcome)) result = own;
  }
  if (result.outcome == Outcome::PASSED && killPercent > 0) {
    result =
        CheckResult::passed(fmt::format("{} of {} clients killed themselves", killed, kProcesses));
  }
  return alive.value().end(std::move(result));
}

// Models of 10 operations, then models of 100 operations.
CheckResult randomModels(const Context& context, bool compileOnly) {
  CheckResult result = CheckResult::passed();
  for (const unsigned operations : {10u, 100u}) {
    StressPlan plan = basePlan(context, {fmt::format("random/{}", operations)});
    plan.compileOnly = compileOnly;
    plan.threads = 2;
    plan.duration = context.each / 2;
    auto client = ClientProcess::start(plan);
    if (!client.ok()) return client.takeStatus();
    const End end = client.value().wait(plan.duration + context.grace(kGrace));
    // It is a success when the device takes no model: no work could fail.
    if (end.how != How::FINISHED || !end.result.failure.empty()) return resultOf(end);
    result =
        CheckResult::passed(fmt::format("{} models of {} operations; {} not taken",
                                        end.result.rounds, operations, end.result.unsupported));
  }
  return result;
}

// The mean latency, so that executions that wait for others count, even if they are few. Empty when
// the device supports no model.
Result<std::optional<double>> latency(const Context& context, bool besideCompilations) {
  StressPlan plan = basePlan(context, {kLiveliness[0], kLiveliness[1]});
  plan.duration = context.each / 2;
  if (besideCompilations) plan.beside = kLiveliness;
  HALYARD_ASSIGN_OR_RETURN(ClientProcess client, ClientProcess::start(plan));
  const End end = client.wait(plan.duration + context.grace(kGrace));
  if (end.how != How::FINISHED) return opFailed("{}", end.text);
  if (!end.result.failure.empty()) return opFailed("{}", end.result.failure);
  if (end.result.rounds == 0) return std::optional<double>();
  return std::optional<double>(end.result.meanMilliseconds);
}

CheckResult performanceDegradation(const Context& context) {
  std::string found;
  for (int attempt = 0; attempt < kDegradationAttempts; ++attempt) {
    auto alone = latency(context, false);
    if (!alone.ok()) return alone.takeStatus();
    if (!alone.value()) return CheckResult::skipped("the device takes none of the models");
    auto loaded = latency(context, true);
    if (!loaded.ok()) return loaded.takeStatus();
    const double ratio = loaded.value().value_or(0) / *alone.value();
    found = fmt::format("{:.2f} ms alone, {:.2f} ms beside a thread that compiles: {:.0f} % more",
                        *alone.value(), loaded.value().value_or(0), (ratio - 1) * 100);
    if (ratio <= kMostDegradation) return CheckResult::passed(found);
  }
  return opFailed("{}, expected at most {:.0f} %; {} attempts", found, (kMostDegradation - 1) * 100,
                  kDegradationAttempts);
}

// The driver's process must not grow when clients free their objects. In-process drivers are
// skipped: their process is the client's, where other memory grows too.
CheckResult resourceGrowth(const Context& context) {
  StressPlan plan = basePlan(context, {"branches", "lstm_quant16"});
  plan.anew = true;
  auto client = ClientProcess::start(plan);
  if (!client.ok()) return client.takeStatus();
  const End end = client.value().wait(plan.duration + context.grace(kGrowthGrace));
  const CheckResult result = resultOf(end);
  if (result.outcome != Outcome::PASSED) return result;
  if (context.target.isInProcess()) {
    return CheckResult::skipped("the driver has no process of its own");
  }
  const StressResult& found = end.result;
  if (found.moreBytes <= kMostBytes && found.moreDescriptors <= kMostObjects &&
      found.moreThreads <= kMostObjects) {
    return CheckResult::passed(fmt::format("{} rounds, {} KiB, {} descriptors and {} threads more",
                                           found.rounds, found.moreBytes >> 10,
                                           found.moreDescriptors, found.moreThreads));
  }
  return opFailed(
      "in the second half of {} rounds that compile, execute and free, the driver's process has "
      "gained {} KiB, {} descriptors and {} threads; expected at most {}, {} and {}",
      found.rounds, found.moreBytes >> 10, found.moreDescriptors, found.moreThreads,
      kMostBytes >> 10, kMostObjects, kMostObjects);
}

// A late round must take about as long as an early one.
CheckResult slowdown(const Context& context) {
  std::string found;
  for (int attempt = 0; attempt < kDegradationAttempts; ++attempt) {
    StressPlan plan = basePlan(context, {"branches", "lstm_quant16"});
    plan.anew = true;
    auto client = ClientProcess::start(plan);
    if (!client.ok()) return client.takeStatus();
    const End end = client.value().wait(plan.duration + context.grace(kGrowthGrace));
    const CheckResult result = resultOf(end);
    if (result.outcome != Outcome::PASSED) return result;
    const double early = end.result.earlyMilliseconds;
    const double late = end.result.lateMilliseconds;
    found = fmt::format("{:.2f} ms for an early round, {:.2f} ms for a late one of {}", early, late,
                        end.result.rounds);
    if (late <= kMostSlowdown * early + kSmallMilliseconds) return CheckResult::passed(found);
  }
  return opFailed("{}, expected at most {} times as long; {} attempts", found, kMostSlowdown,
                  kDegradationAttempts);
}

struct Kind {
  std::string name;
  std::string what;
  std::vector<std::string> requirements;
  std::function<CheckResult(const Context&)> run;
  double times = 1;  // the check lasts about this many durations
};

std::vector<Kind> kinds() {
  std::vector<Kind> all = {
      {"parallel-inference-stress",
       "8 threads of a client run several models at once",
       {"ND-035", "ND-040", "ND-061"},
       parallelInference},
      {"parallel-inference-stress-in-process",
       "8 threads of this process run models at once",
       {"ND-035", "ND-040", "ND-061"},
       parallelInferenceInProcess},
      {"client-early-termination-stress",
       "a client that is killed while it compiles is noticed by nobody",
       {"ND-061", "ND-062", "ND-064"},
       clientEarlyTermination},
      {"memory-mapped-model-load-stress",
       "4 threads load models whose constants are mapped files",
       {"ND-034", "ND-061", "ND-065"},
       mappedModelLoad},
  };
  for (const unsigned percent : {0u, 80u}) {
    all.push_back(
        {fmt::format("multi-process-inference-stress-{}", percent),
         fmt::format("6 processes with 10 threads each run a model; {} % of them kill "
                     "themselves, which the others do not notice",
                     percent),
         {"ND-040", "ND-061", "ND-064"},
         [percent](const Context& context) { return manyProcesses(context, false, percent); }});
  }
  for (const unsigned percent : {0u, 50u, 100u}) {
    all.push_back(
        {fmt::format("multi-process-model-load-stress-{}", percent),
         fmt::format("6 processes with 10 threads each load models; {} % of them kill "
                     "themselves, which the others do not notice",
                     percent),
         {"ND-035", "ND-061", "ND-062"},
         [percent](const Context& context) { return manyProcesses(context, true, percent); }});
  }
  all.push_back({"model-load-random-stress",
                 "random models are prepared",
                 {"ND-021", "ND-061"},
                 [](const Context& context) { return randomModels(context, true); }});
  all.push_back({"inference-random-stress",
                 "random models are prepared and run",
                 {"ND-021", "ND-061"},
                 [](const Context& context) { return randomModels(context, false); }});
  all.push_back({"resource-growth-stress",
                 "a client that compiles, runs and frees models leaves nothing in the driver",
                 {"ND-035", "ND-062", "ND-075"},
                 resourceGrowth});
  all.push_back({"slowdown-stress",
                 "compiling, running and freeing a model takes no longer the longer a client lives",
                 {"ND-061", "ND-062"},
                 slowdown});
  all.push_back({"performance-degradation-stress",
                 "a model is at most half as slow again beside a client that compiles",
                 {"ND-061"},
                 performanceDegradation,
                 2});
  return all;
}

}  // namespace

std::vector<Check> crashChecks(milliseconds each, uint64_t seed, milliseconds limit) {
  std::vector<Check> checks;
  for (const Kind& kind : kinds()) {
    Check check;
    check.name = kind.name;
    check.what = kind.what;
    check.requirements = kind.requirements;
    check.limit = limit.count() > 0 ? limit : 8 * each + milliseconds(120'000);
    check.expectedSeconds = std::chrono::duration<double>(each).count() * kind.times;
    check.run = [run = kind.run, each, seed, limit](Target& to) {
      return run({to.spec(), each, seed, limit});
    };
    checks.push_back(std::move(check));
  }
  return checks;
}

Result<std::vector<Check>> listCrash(const TargetSpec& /*target*/, const Plan& plan) {
  return crashChecks(plan.full ? milliseconds(30'000) : milliseconds(1500), plan.seed, plan.limit);
}

}  // namespace halyard::validation
