// halyard crash-test: tests devices with many clients, with clients that die, and under high load.
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/shell_word.h"
#include "command_line/shared_options.h"
#include "cpu/cpu_device.h"
#include "hal/manifest/manifest.h"
#include "tools/halyard/kit/commands.h"
#include "tools/halyard/kit/conformance_target.h"
#include "tools/halyard/kit/validation_target.h"
#include "tools/halyard/terminal.h"
#include "tools/halyard/text_table.h"
#include "validation/crash/crash_suite.h"
#include "validation/crash/stress.h"
#include "validation/kit/runner.h"

namespace halyard::cli {
namespace {

using validation::CheckRecord;

struct CrashTestOptions {
  std::vector<std::string> devices;
  std::vector<std::string> tests;
  double seconds = 5;
  uint64_t seed = 1;
  bool list = false;
};

// The words of NNAPI's ML test suite.
std::string_view outcomeWord(validation::Outcome outcome) {
  using validation::Outcome;
  switch (outcome) {
    case Outcome::PASSED:
    case Outcome::EXPECTED_FAILURE:
      return "SUCCESS";
    case Outcome::SKIPPED:
      return "SKIPPED";
    case Outcome::HANG:
      return "HANG";
    case Outcome::CRASH:
      return "CRASH";
    case Outcome::FAILED:
    case Outcome::UNEXPECTED_PASS:
      return "FAILURE";
  }
  return "FAILURE";
}

std::vector<std::string> availableDevices() {
  std::vector<std::string> names;
  for (const auto& manifest : hal::discoverManifests(installationPrefix()).manifests) {
    names.push_back(manifest.name);
  }
  names.push_back(cpu::cpuDeviceInfo().name);
  return names;
}

Result<std::vector<validation::ListedCheck>> chosenTests(const CrashTestOptions& options) {
  const auto each = std::chrono::milliseconds(static_cast<int64_t>(options.seconds * 1000));
  std::vector<validation::ListedCheck> chosen;
  std::vector<bool> used(options.tests.size());
  for (validation::Check& check : validation::crashChecks(each, options.seed)) {
    bool wanted = options.tests.empty();
    for (size_t i = 0; i < options.tests.size(); ++i) {
      if (!validation::matchesGlob(options.tests[i], check.name)) continue;
      wanted = used[i] = true;
    }
    if (wanted) chosen.push_back({"crash", std::move(check)});
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) return badData("no test '{}'; --list has all", options.tests[i]);
  }
  return chosen;
}

// Returns whether all checks passed.
Result<bool> testDevice(const CrashTestOptions& options, const std::string& device,
                        const std::vector<validation::ListedCheck>& checks,
                        std::vector<TableRow>* rows) {
  HALYARD_ASSIGN_OR_RETURN(const validation::TargetSpec target, findValidationTarget(device));
  validation::RunSettings settings;
  settings.processes = 1;  // each test has the machine to itself
  settings.repeat = [&](const CheckRecord& record) {
    return fmt::format("{} crash-test --device {} --test {} --seconds {} --seed {}",
                       shellWord(program_invocation_name), shellWord(device), record.name,
                       options.seconds, options.seed);
  };
  settings.done = [&](const CheckRecord& record) {
    if (!validation::isBad(record.outcome)) return;
    print("{}\n", validation::failureText(record));
    (void)flushOutput();
  };
  HALYARD_ASSIGN_OR_RETURN(
      const validation::Report report,
      validation::runChecks(target, checks, validation::Expectations(), settings));
  for (const CheckRecord& record : report.records) {
    const std::string reason = record.reason.substr(0, record.reason.find('\n'));
    rows->push_back({target.name, record.name, std::string(outcomeWord(record.outcome)),
                     fmt::format("{:.1f} s", record.seconds), printable(reason)});
  }
  return report.passed();
}

CommandResult runCrashTest(const CrashTestOptions& options) {
  auto checks = chosenTests(options);
  if (!checks.ok()) return {checks.takeStatus(), true};
  if (options.list) {
    for (const auto& one : checks.value()) print("{:<38} {}\n", one.check.name, one.check.what);
    return {};
  }
  std::vector<TableRow> rows = {{"DEVICE", "TEST", "RESULT", "TOOK", ""}};
  bool passed = true;
  for (const std::string& device : options.devices.empty() ? availableDevices() : options.devices) {
    auto result = testDevice(options, device, checks.value(), &rows);
    if (!result.ok()) return refusedChoice(result.takeStatus());
    passed = passed && result.value();
  }
  writeOutput(alignedRows(rows));
  if (passed) return {};
  return {opFailed("a device has failed"), false, true};
}

}  // namespace

Command addCrashTestCommand(CLI::App& parent) {
  auto options = std::make_shared<CrashTestOptions>();
  CLI::App* app = parent.add_subcommand(kCrashTestCommand.name, kCrashTestCommand.description);
  app->footer(
      "Each test runs in processes of its own. SUCCESS, FAILURE (with what went wrong), HANG and\n"
      "CRASH are told apart; the driver's standard error comes with a failure.\n"
      "\n"
      "  halyard crash-test --device npu --seconds 60\n"
      "  halyard crash-test --test 'multi-process-*'\n"
      "\n"
      "Exit status: 0 nothing failed, 1 something did, 2 misuse.");
  app->add_option("--device", options->devices,
                  "A manifest's path, or a device's name; may be repeated (default: all devices)")
      ->allow_extra_args(false)
      ->option_text("D");
  app->add_option("--test", options->tests,
                  "Only tests whose name matches, with * and ?; may be repeated")
      ->allow_extra_args(false)
      ->option_text("GLOB");
  app->add_option("--seconds", options->seconds, "How long each test runs (default: 5)")
      ->check(CLI::Range(0.1, 1e6))
      ->option_text("S");
  app->add_option("--seed", options->seed, "Seed of the random choices (default: 1)")
      ->check(command_line::isWholeNumber())
      ->option_text("N");
  app->add_flag("--list", options->list, "Print the tests and run none");
  return {app, [options] { return runCrashTest(*options); }};
}

Command addStressClientCommand(CLI::App& parent) {
  auto text = std::make_shared<std::string>();
  CLI::App* app = parent.add_subcommand("stress-client", "A client of crash-test");
  app->group("");  // not listed
  app->add_option("PLAN", *text, "What to do, as JSON")->required();
  return {app, [text]() -> CommandResult {
            auto plan = validation::StressPlan::fromJson(*text);
            if (!plan.ok()) return {plan.takeStatus(), true};
            // The kernel kills this client when its test process ends, even if the client hangs.
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            print("{}\n", validation::runStress(plan.value()).toJson());
            return {};
          }};
}

}  // namespace halyard::cli
