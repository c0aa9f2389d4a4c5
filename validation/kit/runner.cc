#include "validation/kit/runner.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/process_pool.h"

namespace halyard::validation {
namespace {

using Json = nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kEndGrace{30};

double secondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  char text[32];
  ::gmtime_r(&seconds, &parts);
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return {text, length};
}

// Replaces control characters, which a terminal would obey. Line ends stay.
std::string printableText(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    result += (byte < 0x20 && c != '\n') || byte == 0x7f ? '?' : c;
  }
  return result;
}

// Runs one check in a process of the pool.
std::string doCheck(Target& target, const Check& check) {
  target.beginCheck();
  CheckResult result;
  try {
    result = check.run(target);
  } catch (const std::exception& exception) {
    result = opFailed("the check itself failed: {}", exception.what());
  }
  std::vector<std::string> ends = target.endCheck();
  if (ends.empty() && result.outcome == Outcome::FAILED) {
    // A process ends a little later than its connection.
    std::this_thread::sleep_for(kEndGrace);
    ends = target.endCheck();
  }
  if (!ends.empty()) {
    result.outcome = Outcome::CRASH;
    std::string text = fmt::format("{}", fmt::join(ends, "; "));
    if (!result.reason.empty()) text += "\n" + result.reason;
    result.reason = text;
  }
  Json figures = Json::array();
  for (const Figure& figure : result.figures) figures.push_back({figure.name, figure.value});
  return dumped({{"outcome", static_cast<int>(result.outcome)},
                 {"reason", result.reason},
                 {"figures", std::move(figures)}});
}

// A run from its first job to its report.
class Run {
 public:
  Run(const TargetSpec& target, std::span<const ListedCheck> checks,
      const Expectations& expectations, const RunSettings& settings)
      : target_(target), checks_(checks), expectations_(expectations), settings_(settings) {}

  Result<Report> run() {
    ProcessPoolOptions options;
    options.processes = settings_.processes;
    options.keepErrors = true;
    options.limitOf = [this](std::string_view job) { return checks_[numberOf(job)].check.limit; };
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<ProcessPool> pool,
                             ProcessPool::create(options, [this] { return startWorker(); }));
    const Json greeting = Json::parse(pool->greeting(), nullptr, /*allow_exceptions=*/false);
    report_.device = greeting.value("device", target_.name);
    report_.version = greeting.value("version", "");
    report_.hal = greeting.value("hal", "");
    if (const std::string problem = greeting.value("problem", ""); !problem.empty()) {
      report_.problems.push_back("the runtime does not take the driver: " + printableText(problem));
    }
    report_.began = now();
    for (const ListedCheck& one : checks_) expectedLeft_ += one.check.expectedSeconds;
    began_ = SteadyClock::now();
    pool->run(
        [this] { return nextJob(); },
        [this](size_t number, ProcessPool::Answer answer) { take(number, std::move(answer)); });
    if (Status ended = pool->finish(); !ended.ok()) report_.problems.push_back(ended.toString());
    report_.seconds = secondsSince(began_);
    return std::move(report_);
  }

 private:
  static size_t numberOf(std::string_view job) {
    return static_cast<size_t>(std::strtoull(std::string(job).c_str(), nullptr, 10));
  }

  // Starts a worker in a process of its own.
  Result<ProcessWorker> startWorker() const {
    if (target_.manifest) {
      // Checks that use the runtime see this driver and no other.
      ::setenv("HALYARD_DRIVER_FILES", target_.manifest->path.c_str(), 1);
      ::unsetenv("HALYARD_ADD_DRIVER_FILES");
    }
    const auto target = std::make_shared<Target>(target_);
    const auto device = target->device();
    // The driver runs, but its description of itself breaks the rules. Checks report the details.
    const bool isRefused = device.status().code() == ResultCode::OP_FAILED;
    if (!device.ok() && !isRefused) return device.status();
    Json greeting = {{"problem", isRefused ? device.status().message() : ""}};
    if (device.ok()) {
      const hal::DeviceInfo& info = (*device)->info();
      greeting["device"] = info.name;
      greeting["version"] = info.versionString;
      greeting["hal"] = halVersionName(info.halVersion);
    }
    return ProcessWorker{dumped(greeting), [this, target](std::string_view job) {
                           return doCheck(*target, checks_[numberOf(job)].check);
                         }};
  }

  std::optional<std::string> nextJob();
  void take(size_t number, ProcessPool::Answer answer);
  void tell(const std::string& current);

  const TargetSpec& target_;
  const std::span<const ListedCheck> checks_;
  const Expectations& expectations_;
  const RunSettings& settings_;
  Report report_;
  size_t next_ = 0;
  size_t bad_ = 0;
  double expectedDone_ = 0;
  double expectedLeft_ = 0;
  SteadyClock::time_point began_;
};

std::optional<std::string> Run::nextJob() {
  if (settings_.maxBad > 0 && bad_ >= settings_.maxBad) {
    report_.stoppedEarly = next_ < checks_.size();
    return std::nullopt;
  }
  if (next_ == checks_.size()) return std::nullopt;
  tell(checks_[next_].id());
  return std::to_string(next_++);
}

Outcome outcomeOf(ProcessPool::How how) {
  switch (how) {
    case ProcessPool::How::TIMED_OUT:
      return Outcome::HANG;
    case ProcessPool::How::ENDED:
      return Outcome::CRASH;
    default:
      return Outcome::FAILED;
  }
}

void Run::take(size_t number, ProcessPool::Answer answer) {
  const ListedCheck& listed = checks_[number];
  CheckRecord record;
  record.area = listed.area;
  record.name = listed.check.name;
  record.what = listed.check.what;
  record.requirements = listed.check.requirements;
  record.seconds = std::chrono::duration<double>(answer.duration).count();
  Outcome outcome = outcomeOf(answer.how);
  std::string reason = answer.failure;
  if (answer.response) {
    const Json found = Json::parse(*answer.response, nullptr, /*allow_exceptions=*/false);
    if (found.is_object()) {
      outcome = static_cast<Outcome>(found.value("outcome", static_cast<int>(Outcome::FAILED)));
      reason = found.value("reason", "");
      for (const Json& figure : found.value("figures", Json::array())) {
        // A figure that is not finite has become null.
        const bool isFigure = figure.is_array() && figure.size() == 2 && figure[0].is_string() &&
                              figure[1].is_number();
        if (isFigure) record.figures.push_back({figure[0], figure[1]});
      }
    } else {
      reason = "the process that ran the check gave no sensible answer";
    }
  }
  const CheckResult result = expectations_.apply(listed.id(), outcome, printableText(reason));
  record.outcome = result.outcome;
  record.reason = result.reason;
  if (isBad(record.outcome)) {
    ++bad_;
    record.log = printableText(answer.errors);
    if (settings_.repeat) record.repeat = settings_.repeat(record);
  }
  expectedDone_ += listed.check.expectedSeconds;
  expectedLeft_ -= listed.check.expectedSeconds;
  if (settings_.done) settings_.done(record);
  report_.records.push_back(std::move(record));
  tell(listed.id());
}

void Run::tell(const std::string& current) {
  if (!settings_.progress) return;
  Progress progress;
  progress.done = report_.records.size();
  progress.all = checks_.size();
  progress.bad = bad_;
  progress.current = current;
  const double elapsed = secondsSince(began_);
  if (elapsed > 2 && expectedDone_ > 0) {
    progress.secondsLeft = elapsed * std::max(expectedLeft_, 0.0) / expectedDone_;
  }
  settings_.progress(progress);
}

}  // namespace

Result<std::vector<ListedCheck>> listChecks(std::span<const Suite> suites, const TargetSpec& target,
                                            const Plan& plan) {
  std::vector<ListedCheck> checks;
  std::set<std::string> ids;
  for (const Suite& suite : suites) {
    HALYARD_ASSIGN_OR_RETURN(std::vector<Check> listed, suite.list(target, plan), "area {}",
                             suite.area);
    for (Check& check : listed) {
      checks.push_back({std::string(suite.area), std::move(check)});
      if (!ids.insert(checks.back().id()).second) {
        return badData("there are two checks {}", checks.back().id());
      }
    }
  }
  return checks;
}

Result<Report> runChecks(const TargetSpec& target, std::span<const ListedCheck> checks,
                         const Expectations& expectations, const RunSettings& settings) {
  return Run(target, checks, expectations, settings).run();
}

std::string progressLine(const Progress& progress, size_t width) {
  constexpr size_t kBar = 20;
  const size_t filled = progress.all == 0 ? 0 : kBar * progress.done / progress.all;
  std::string line = fmt::format("[{}{}] {}/{}", std::string(filled, '#'),
                                 std::string(kBar - filled, ' '), progress.done, progress.all);
  if (progress.bad > 0) line += fmt::format("  {} bad", progress.bad);
  if (progress.secondsLeft >= 90) {
    line += fmt::format("  about {:.0f} min left", progress.secondsLeft / 60);
  } else if (progress.secondsLeft >= 0) {
    line += fmt::format("  about {:.0f} s left", progress.secondsLeft);
  }
  line += "  " + progress.current;
  return line.size() > width ? line.substr(0, width) : line;
}

}  // namespace halyard::validation
