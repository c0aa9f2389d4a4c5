// halyard validate: runs every check of the kit on a driver, and writes one report.
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "base/shell_word.h"
#include "command_line/shared_options.h"
#include "tools/halyard/kit/commands.h"
#include "tools/halyard/kit/conformance_target.h"
#include "tools/halyard/kit/validation_target.h"
#include "tools/halyard/output_file.h"
#include "tools/halyard/terminal.h"
#include "validation/kit/runner.h"
#include "validation/suites.h"

namespace halyard::cli {
namespace {

namespace fs = std::filesystem;
using validation::CheckRecord;
using validation::Expectations;
using validation::ListedCheck;
using validation::Report;
using validation::TargetSpec;

struct ValidateOptions {
  std::string target;
  bool quick = false;
  bool full = false;
  bool list = false;
  std::vector<std::string> areas;
  std::vector<std::string> checks;
  std::vector<std::string> except;
  std::vector<std::string> vectors;
  std::vector<std::string> models;
  std::string data;
  std::string labels;
  std::string html;
  std::string junit;
  std::string json;
  std::string expectations;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  size_t maxFailures = 0;
  double timeout = 0;  // seconds; 0: each check has its own limit
  uint64_t seed = 1;
};

// Progress on standard error, when that is a terminal; the report goes to standard output.
class ProgressBar {
 public:
  void show(const validation::Progress& progress) {
    if (!isTerminal_) return;
    const std::string line = printable(validation::progressLine(progress, width()));
    const std::string text = "\r" + line + "\x1b[K";
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    shown_ = true;
  }
  void clear() {
    if (!shown_) return;
    (void)!::write(STDERR_FILENO, "\r\x1b[K", 4);
    shown_ = false;
  }

 private:
  static size_t width() {
    winsize size{};
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 79;
    return size.ws_col - 1u;
  }

  const bool isTerminal_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
};

class Validation {
 public:
  explicit Validation(const ValidateOptions& options) : options_(options) {}

  // Checks everything that can fail before the first check.
  Status prepare() {
    if (options_.quick && options_.full) return badData("--quick and --full exclude each other");
    HALYARD_ASSIGN_OR_RETURN(target_, findValidationTarget(options_.target));
    HALYARD_RETURN_IF_ERROR(chooseSuites());
    HALYARD_RETURN_IF_ERROR(loadExpectations());
    validation::Plan plan;
    plan.full = options_.full;
    plan.vectors = options_.vectors;
    plan.models = options_.models;
    plan.data = options_.data;
    plan.labels = options_.labels;
    plan.prefix = installationPrefix();
    plan.seed = options_.seed;
    plan.limit = std::chrono::milliseconds(static_cast<int64_t>(options_.timeout * 1000));
    HALYARD_ASSIGN_OR_RETURN(std::vector<ListedCheck> all,
                             validation::listChecks(suites_, target_, plan));
    for (const ListedCheck& one : all) ids_.push_back(one.id());
    for (ListedCheck& one : all) {
      if (plan.limit.count() > 0) one.check.limit = plan.limit;
      if (isWanted(one)) checks_.push_back(std::move(one));
    }
    if (checks_.empty()) return badData("no check is asked for; --list has all");
    for (const std::string& path : {options_.html, options_.junit, options_.json}) {
      HALYARD_RETURN_IF_ERROR(checkOutputFile(path));
    }
    return okStatus();
  }

  CommandResult list() const {
    for (const ListedCheck& one : checks_) {
      print("{:<56} {}{}\n", one.id(), one.check.what,
            one.check.requirements.empty()
                ? ""
                : fmt::format(" ({})", fmt::join(one.check.requirements, ", ")));
    }
    return {};
  }

  CommandResult run() {
    ProgressBar bar;
    validation::RunSettings settings;
    settings.processes = options_.jobs;
    settings.maxBad = options_.maxFailures;
    settings.repeat = [this](const CheckRecord& record) { return repeatCommand(record); };
    settings.progress = [&](const validation::Progress& progress) { bar.show(progress); };
    settings.done = [&](const CheckRecord& record) {
      if (!validation::isBad(record.outcome)) return;
      bar.clear();
      print("{}\n", validation::failureText(record));
      (void)flushOutput();
    };
    auto made = validation::runChecks(target_, checks_, expectations_, settings);
    bar.clear();
    if (!made.ok()) {
      const bool misuse = made.status().code() == ResultCode::BAD_DATA;
      return {made.takeStatus(), misuse};
    }
    Report report = std::move(made).value();
    report.target = options_.target;
    report.expectations = expectationsPath_;
    report.full = options_.full;
    for (std::string& text : expectations_.unused(ids_, areas_)) {
      report.problems.push_back(std::move(text));
    }
    Status written = writeReports(report);
    if (!written.ok()) return {std::move(written), false};
    print("{}", validation::summaryText(report));
    if (report.passed()) return {};
    return {opFailed("{} failed", report.bad() + report.problems.size()), false, true};
  }

 private:
  Status chooseSuites() {
    std::vector<std::string_view> known;
    for (const validation::Suite& suite : validation::allSuites()) {
      known.push_back(suite.area);
      const bool named = std::find(options_.areas.begin(), options_.areas.end(), suite.area) !=
                         options_.areas.end();
      if (!named && !options_.areas.empty()) continue;
      if (!mayHaveChecks(suite.area)) continue;
      suites_.push_back(suite);
      areas_.emplace_back(suite.area);
    }
    for (const std::string& area : options_.areas) {
      if (std::find(known.begin(), known.end(), area) == known.end()) {
        return badData("no area '{}'; the areas are: {}", area, fmt::join(known, ", "));
      }
    }
    return okStatus();
  }

  // --check AREA/NAME needs only the list of its own area.
  bool mayHaveChecks(std::string_view area) const {
    if (options_.checks.empty()) return true;
    return std::any_of(options_.checks.begin(), options_.checks.end(), [&](const std::string& one) {
      const std::string first = one.substr(0, one.find('/'));
      const bool isArea =
          std::any_of(validation::allSuites().begin(), validation::allSuites().end(),
                      [&](const auto& suite) { return suite.area == first; });
      return !isArea || first == area;
    });
  }

  bool isWanted(const ListedCheck& check) const {
    return (options_.checks.empty() || matchesAny(options_.checks, check)) &&
           !matchesAny(options_.except, check);
  }

  static bool matchesAny(const std::vector<std::string>& globs, const ListedCheck& check) {
    return std::any_of(globs.begin(), globs.end(), [&](const std::string& one) {
      return validation::matchesGlob(one, check.id()) ||
             validation::matchesGlob(one, check.check.name);
    });
  }

  Status loadExpectations() {
    expectationsPath_ = options_.expectations;
    if (expectationsPath_.empty() && target_.manifest) {
      const fs::path beside = validation::expectationsBeside(target_.manifest->path);
      std::error_code error;
      if (fs::exists(beside, error)) expectationsPath_ = beside.string();
    }
    if (expectationsPath_.empty()) return okStatus();
    HALYARD_ASSIGN_OR_RETURN(expectations_, Expectations::load(expectationsPath_));
    return okStatus();
  }

  std::string repeatCommand(const CheckRecord& record) const {
    std::string command;
    if (!isManifestPath(options_.target)) {
      for (const char* variable : {"HALYARD_DRIVER_FILES", "HALYARD_ADD_DRIVER_FILES"}) {
        const char* value = environmentVariable(variable);
        if (value == nullptr) continue;
        command += fmt::format("{}={} ", variable, shellWord(value));
      }
    }
    command += fmt::format("{} validate {} --check {}", shellWord(program_invocation_name),
                           shellWord(options_.target), shellWord(record.id()));
    for (const std::string& path : options_.vectors) command += " --vectors " + shellWord(path);
    for (const std::string& path : options_.models) command += " --models " + shellWord(path);
    if (!options_.data.empty()) command += " --data " + shellWord(options_.data);
    if (!options_.labels.empty()) command += " --labels " + shellWord(options_.labels);
    if (options_.full) command += " --full";
    if (options_.timeout > 0) command += fmt::format(" --timeout {}", options_.timeout);
    if (options_.seed != 1) command += fmt::format(" --seed {}", options_.seed);
    if (!options_.expectations.empty()) {
      command += " --expectations " + shellWord(options_.expectations);
    }
    return command;
  }

  Status writeReports(const Report& report) const {
    HALYARD_RETURN_IF_ERROR(writeOutputFile(options_.html, validation::htmlText(report)));
    HALYARD_RETURN_IF_ERROR(writeOutputFile(options_.junit, validation::junitText(report)));
    return writeOutputFile(options_.json, validation::jsonText(report));
  }

  const ValidateOptions& options_;
  TargetSpec target_;
  std::vector<validation::Suite> suites_;
  std::vector<std::string> areas_;
  std::vector<std::string> ids_;  // of all checks of the areas
  std::vector<ListedCheck> checks_;
  Expectations expectations_;
  std::string expectationsPath_;
};

CommandResult runValidate(const ValidateOptions& options) {
  Validation validation(options);
  Status prepared = validation.prepare();
  if (!prepared.ok()) return {std::move(prepared), true};
  return options.list ? validation.list() : validation.run();
}

std::string validateFooter() {
  std::string text = "Areas:\n";
  for (const validation::Suite& suite : validation::allSuites()) {
    text += fmt::format("  {:<18}{}\n", suite.area, suite.what);
  }
  return text +
         "\n"
         "Each failure comes with the command that repeats it. docs/validation.md says more.\n"
         "\n"
         "  halyard validate build/acme-npu.json --html report.html\n"
         "  halyard validate build/acme-npu.json --check 'hal/model/*'\n"
         "\n"
         "Exit status: 0 nothing failed, 1 something did, 2 misuse.";
}

}  // namespace

Command addValidateCommand(CLI::App& parent) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App* app = parent.add_subcommand(kValidateCommand.name, kValidateCommand.description);
  app->footer(validateFooter());
  app->add_option("MANIFEST", options->target,
                  "The driver: its manifest's path, or the device's name as halyard run takes it")
      ->required();
  app->add_flag("--quick", options->quick, "The checks of one to two minutes (the default)");
  app->add_flag("--full", options->full, "All checks, and the long forms of those that have one");
  app->add_option("--area", options->areas, "Only this area; may be repeated")
      ->allow_extra_args(false)
      ->option_text("A");
  app->add_option("--check", options->checks,
                  "Only checks whose AREA/NAME or NAME matches, with * and ?; may be repeated")
      ->allow_extra_args(false)
      ->option_text("GLOB");
  app->add_option("--except", options->except,
                  "Leave out the checks whose AREA/NAME or NAME matches; may be repeated")
      ->allow_extra_args(false)
      ->option_text("GLOB");
  app->add_flag("--list", options->list, "Print the checks and run none");
  app->add_option("--html", options->html, "Write a report for a browser")->option_text("FILE");
  app->add_option("--junit", options->junit, "Write a JUnit XML report")->option_text("FILE");
  app->add_option("--json", options->json, "Write a JSON report")->option_text("FILE");
  app->add_option("--expectations", options->expectations,
                  "Known failures (default: MANIFEST's name .expectations.json)")
      ->option_text("FILE");
  app->add_option("--vectors", options->vectors,
                  "More conformance vectors, a file or a folder; may be repeated")
      ->allow_extra_args(false)
      ->option_text("PATH");
  app->add_option("--models", options->models,
                  "Models for the area models, a .tflite file or a folder; may be repeated")
      ->allow_extra_args(false)
      ->option_text("PATH");
  CLI::Option* data = app->add_option("--data", options->data,
                                      "Pictures for the models: FOLDER/CLASS/*.png, "
                                      "FOLDER/*_CLASS.png, or MNIST's files")
                          ->option_text("FOLDER");
  app->add_option("--labels", options->labels, "Names of the pictures' classes, one a line")
      ->needs(data)
      ->option_text("FILE");
  app->add_option("-j,--jobs", options->jobs,
                  "Processes that run checks at once (default: one per processor)")
      ->check(CLI::Range(1u, 1024u))
      ->option_text("N");
  app->add_option("--max-failures", options->maxFailures,
                  "Stop when so many checks are bad (default: never)")
      ->check(command_line::isWholeNumber())
      ->option_text("N");
  app->add_option("--timeout", options->timeout,
                  "Seconds after which a check hangs (default: each has its own limit)")
      ->check(CLI::Range(0.001, 86400.0))
      ->option_text("S");
  app->add_option("--seed", options->seed, "Seed of the random choices (default: 1)")
      ->check(command_line::isWholeNumber())
      ->option_text("N");
  return {app, [options] { return runValidate(*options); }};
}

}  // namespace halyard::cli
