// halyard conformance: runs cases with known results on one device.
#include <errno.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "base/process_pool.h"
#include "base/shell_word.h"
#include "conformance/case_source.h"
#include "conformance/report.h"
#include "measure/device_choice.h"
#include "tools/halyard/kit/commands.h"
#include "tools/halyard/kit/conformance_target.h"
#include "tools/halyard/output_file.h"
#include "tools/halyard/terminal.h"

namespace halyard::cli {
namespace {

using conformance::CaseRecord;
using conformance::CaseResult;
using conformance::Outcome;
using conformance::RunReport;
using conformance::SourceCase;
using conformance::Variant;
using Json = nlohmann::json;

constexpr double kDefaultCaseTimeout = 60;

struct ConformanceOptions {
  std::vector<std::string> paths;
  std::vector<std::string> devices = {"nnapi-reference"};
  std::string via = "api";
  std::vector<std::string> variants = {"plain"};
  conformance::CaseFilter filter;
  std::string junit;
  std::string json;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  double timeout = kDefaultCaseTimeout;
};

Result<std::vector<Variant>> variantsOf(const std::vector<std::string>& names) {
  std::vector<Variant> variants;
  for (const std::string& name : names) {
    if (name == "all") continue;
    const auto variant = conformance::variantFromName(name);
    if (!variant) {
      std::vector<std::string_view> known;
      for (const auto& traits : conformance::allVariants()) known.push_back(traits.name);
      return badData("no variant '{}'; the variants are: {}, all", name, fmt::join(known, ", "));
    }
    if (std::find(variants.begin(), variants.end(), *variant) == variants.end()) {
      variants.push_back(*variant);
    }
  }
  return variants;
}

// The greeting of a worker process, which the parent process reads when the worker is ready.
std::string makeGreeting(conformance::Target& target) {
  Json refused = Json::object();
  for (const conformance::VariantTraits& traits : conformance::allVariants()) {
    const Status status = target.supports(traits.variant);
    if (!status.ok()) refused[std::string(traits.name)] = status.message();
  }
  const Json greeting = {{"device", target.device()}, {"refused", std::move(refused)}};
  return greeting.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A job is one character for the variant, then the line of the case. An answer is one character for
// the outcome, then the reason.
std::string makeJob(Variant variant, std::string_view text) {
  std::string job(1, static_cast<char>(variant));
  return job.append(text);
}

std::string doJob(conformance::Target& target, std::string_view job) {
  CaseResult result;
  const auto vectorCase = conformance::parseVectorCase(job.substr(1));
  if (!vectorCase.ok()) {
    result = {Outcome::FAILED, vectorCase.status().toString()};
  } else {
    result = conformance::runCase(target, *vectorCase, static_cast<Variant>(job[0]));
  }
  return std::string(1, static_cast<char>(result.outcome)) + result.reason;
}

CaseResult resultOf(const ProcessPool::Answer& answer) {
  if (!answer.response) return {Outcome::FAILED, answer.failure};
  const std::string& response = *answer.response;
  if (response.empty() || static_cast<uint8_t>(response[0]) > 2) {
    return {Outcome::FAILED, "the process that ran the case gave no sensible answer"};
  }
  return {static_cast<Outcome>(response[0]), response.substr(1)};
}

// One run of the command, from its options to its report.
class ConformanceRun {
 public:
  explicit ConformanceRun(const ConformanceOptions& options) : options_(options) {}

  // Checks everything that can fail before the first case.
  CommandResult prepare() {
    auto variants = variantsOf(options_.variants);
    if (!variants.ok()) return {variants.takeStatus(), true};
    auto files = conformance::findVectorFiles(options_.paths);
    if (!files.ok()) return {files.takeStatus(), true};
    files_ = std::move(files).value();
    for (const std::string& path : {options_.junit, options_.json}) {
      Status writable = checkOutputFile(path);
      if (!writable.ok()) return {std::move(writable), true};
    }
    const auto milliseconds = static_cast<int64_t>(options_.timeout * 1000);
    auto pool = ProcessPool::create(
        {options_.jobs, std::chrono::milliseconds(60'000), std::chrono::milliseconds(milliseconds)},
        [this] { return startWorker(); });
    if (!pool.ok()) return refusedChoice(pool.takeStatus());
    pool_ = std::move(pool).value();
    return {chooseVariants(*variants), true};
  }

  CommandResult run() {
    const auto start = std::chrono::steady_clock::now();
    conformance::CaseSource source(files_, options_.filter);
    pool_->run([&] { return nextJob(source); },
               [&](size_t number, ProcessPool::Answer answer) { take(number, std::move(answer)); });
    if (report_.cases.empty()) return {noCases(), true};
    if (Status ended = pool_->finish(); !ended.ok()) {
      addFailure("the end of the run", 0, ended.message(), "");
    }
    report_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const Status written = writeReports();
    if (!written.ok()) return {written, false};
    print("{}", printableLines(conformance::summaryText(report_)));
    const size_t failures = report_.count(Outcome::FAILED);
    if (failures == 0) return {};
    return {opFailed("{} failed", failures), false, true};
  }

 private:
  // Runs in the worker process.
  Result<ProcessWorker> startWorker() const {
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<conformance::Target> opened,
                             openConformanceTarget(options_.via, options_.devices));
    std::shared_ptr<conformance::Target> target = std::move(opened);
    return ProcessWorker{makeGreeting(*target),
                         [target](std::string_view job) { return doJob(*target, job); }};
  }

  // Chooses the named variants, which must exist. With "all", it chooses every variant that exists.
  Status chooseVariants(const std::vector<Variant>& named) {
    const Json greeting = Json::parse(pool_->greeting(), nullptr, /*allow_exceptions=*/false);
    if (!greeting.is_object()) return opFailed("a process of the run said nothing of its device");
    report_.device = greeting.value("device", "");
    report_.via = options_.via;
    const Json& refused = greeting["refused"];
    const bool all = std::find(options_.variants.begin(), options_.variants.end(), "all") !=
                     options_.variants.end();
    for (const conformance::VariantTraits& traits : conformance::allVariants()) {
      const bool isNamed = std::find(named.begin(), named.end(), traits.variant) != named.end();
      const auto reason = refused.find(std::string(traits.name));
      if (isNamed && reason != refused.end()) {
        return badData("variant {} cannot be run: {}", traits.name, reason->get<std::string>());
      }
      if (!isNamed && (!all || reason != refused.end())) continue;
      variants_.push_back(traits.variant);
      report_.variants.emplace_back(traits.name);
    }
    return okStatus();
  }

  // Adds a record for each job.
  std::optional<std::string> nextJob(conformance::CaseSource& source) {
    while (nextVariant_ == variants_.size() || !current_) {
      current_ = source.next();
      if (!current_) return std::nullopt;
      nextVariant_ = 0;
      if (current_->error.ok()) break;
      takeUnreadable(*current_);
      current_.reset();
    }
    const Variant variant = variants_[nextVariant_++];
    CaseRecord record;
    record.file = current_->file;
    record.line = current_->line;
    record.name = current_->name;
    record.variant = conformance::traitsOf(variant).name;
    recordOfJob_.push_back(report_.cases.size());
    report_.cases.push_back(std::move(record));
    return makeJob(variant, current_->text);
  }

  void takeUnreadable(const SourceCase& found) {
    // The case may be outside the filter.
    if (!options_.filter.isEmpty()) {
      if (firstUnreadable_.ok()) firstUnreadable_ = found.error;
      return;
    }
    addFailure(found.file, found.line, found.error.message(),
               repeatCommand(found.file, "", conformance::traitsOf(variants_.front()).name));
  }

  void addFailure(const std::string& file, size_t line, const std::string& reason,
                  std::string repeat) {
    CaseRecord record;
    record.file = file;
    record.line = line;
    record.result = {Outcome::FAILED, reason};
    record.repeat = std::move(repeat);
    print("{}", printableLines(conformance::failureText(report_, record)));
    report_.cases.push_back(std::move(record));
  }

  void take(size_t number, ProcessPool::Answer answer) {
    CaseRecord& record = report_.cases[recordOfJob_[number]];
    record.result = resultOf(answer);
    record.seconds = std::chrono::duration<double>(answer.duration).count();
    if (record.result.outcome == Outcome::PASSED) return;
    record.repeat = repeatCommand(record.file, record.name, record.variant);
    if (record.result.outcome == Outcome::SKIPPED) return;
    print("{}", printableLines(conformance::failureText(report_, record)));
    // A long run shows each failure immediately.
    (void)flushOutput();
  }

  std::string repeatCommand(const std::string& file, const std::string& name,
                            std::string_view variant) const {
    std::string command;
    for (const char* variable : {"HALYARD_DRIVER_FILES", "HALYARD_ADD_DRIVER_FILES"}) {
      const char* value = environmentVariable(variable);
      if (value == nullptr) continue;
      command += fmt::format("{}={} ", variable, shellWord(value));
    }
    command +=
        fmt::format("{} conformance {}", shellWord(program_invocation_name), shellWord(file));
    if (!name.empty()) command += " --case " + shellWord(name);
    command += fmt::format(" --variants {} --via {}", variant, options_.via);
    for (const std::string& device : options_.devices) {
      command += " --device " + shellWord(options_.devices.size() == 1 ? report_.device : device);
    }
    if (options_.timeout != kDefaultCaseTimeout) {
      command += fmt::format(" --timeout {}", options_.timeout);
    }
    return command;
  }

  Status noCases() const {
    if (!firstUnreadable_.ok()) {
      return badData("no case found; {}", firstUnreadable_.message());
    }
    return badData("no case{} in {} ({} files)",
                   options_.filter.isEmpty() ? "" : " that is asked for",
                   fmt::join(options_.paths, ", "), files_.size());
  }

  Status writeReports() const {
    HALYARD_RETURN_IF_ERROR(writeOutputFile(options_.junit, conformance::junitText(report_)));
    return writeOutputFile(options_.json, conformance::jsonText(report_));
  }

  // Texts of drivers and names in files may contain control sequences of the terminal.
  static std::string printableLines(const std::string& text) {
    std::string result;
    for (size_t from = 0; from < text.size();) {
      const size_t end = std::min(text.find('\n', from), text.size());
      result += printable(std::string_view(text).substr(from, end - from)) + "\n";
      from = end + 1;
    }
    return result;
  }

  const ConformanceOptions& options_;
  std::vector<std::string> files_;
  std::unique_ptr<ProcessPool> pool_;
  std::vector<Variant> variants_;
  std::optional<SourceCase> current_;
  size_t nextVariant_ = 0;
  Status firstUnreadable_;
  std::vector<size_t> recordOfJob_;  // index into report_.cases
  RunReport report_;
};

CommandResult runConformance(const ConformanceOptions& options) {
  ConformanceRun run(options);
  CommandResult prepared = run.prepare();
  if (!prepared.status.ok()) return prepared;
  return run.run();
}

std::string conformanceFooter() {
  std::string text = "Variants:\n";
  for (const conformance::VariantTraits& traits : conformance::allVariants()) {
    text += fmt::format("  {:<20}{}\n", traits.name, traits.description);
  }
  return text +
         "  all                 every one that the interface has\n"
         "\n"
         "Each failure comes with the command that repeats it. docs/conformance.md says more.\n"
         "\n"
         "  halyard conformance vectors --device reference --variants all --junit report.xml\n"
         "  halyard conformance vectors/V1_0/add.jsonl.gz --case add --via hal\n"
         "\n"
         "Exit status: 0 nothing failed, 1 something did, 2 misuse or no case found.";
}

}  // namespace

Command addConformanceCommand(CLI::App& parent) {
  auto options = std::make_shared<ConformanceOptions>();
  CLI::App* app = parent.add_subcommand(kConformanceCommand.name, kConformanceCommand.description);
  app->footer(conformanceFooter());
  app->add_option("PATH", options->paths,
                  "Files of vectors, or folders with files NAME.jsonl.gz or NAME.jsonl")
      ->required();
  app->add_option(
         "--device", options->devices,
         fmt::format("The device: {}. Once for each of several, with --via api (default: {})",
                     measure::kDeviceRule, options->devices.front()))
      ->allow_extra_args(false)
      ->option_text("D");
  app->add_option("--via", options->via,
                  "api: through the C API; hal: straight to the device (default: api)")
      ->check(CLI::IsMember({"api", "hal"}))
      ->option_text("api|hal");
  app->add_option("--variants", options->variants, "How each case is run (default: plain)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("V,...");
  app->add_option("--case", options->filter.names, "Only the case of this name; may be repeated")
      ->allow_extra_args(false)
      ->option_text("NAME");
  app->add_option("--filter", options->filter.patterns,
                  "Only cases whose name matches, with * and ?; may be repeated")
      ->allow_extra_args(false)
      ->option_text("GLOB");
  app->add_option("--junit", options->junit, "Write a JUnit XML report")->option_text("FILE");
  app->add_option("--json", options->json, "Write a JSON report")->option_text("FILE");
  app->add_option("-j,--jobs", options->jobs,
                  "Processes that run cases at once (default: one per processor)")
      ->check(CLI::Range(1u, 1024u))
      ->option_text("N");
  app->add_option("--timeout", options->timeout,
                  "Seconds after which a case has failed (default: 60)")
      ->check(CLI::Range(0.001, 86400.0))
      ->option_text("S");
  return {app, [options] { return runConformance(*options); }};
}

}  // namespace halyard::cli
