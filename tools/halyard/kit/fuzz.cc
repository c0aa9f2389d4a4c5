// halyard fuzz: runs the fuzzers with random inputs for a given time.
#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/shell_word.h"
#include "command_line/shared_options.h"
#include "tools/halyard/kit/commands.h"
#include "tools/halyard/kit/conformance_target.h"
#include "tools/halyard/kit/fuzzers.h"
#include "tools/halyard/kit/validation_target.h"
#include "tools/halyard/terminal.h"
#include "tools/halyard/text_table.h"
#include "validation/hostile/hostile_suite.h"
#include "validation/kit/runner.h"

namespace halyard::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kDriver = "driver";

struct FuzzOptions {
  std::vector<std::string> targets;
  bool all = false;
  double minutes = 1;
  std::string fuzzers;
  std::string corpus;
  std::string crashes = "fuzz-crashes";
  std::string device;
  uint64_t seed = 1;
  uint64_t first = 0;
};

constexpr std::string_view kHowToBuild =
    "they are made by clang: cmake --preset asan && cmake --build --preset asan --target fuzzers";

// Finds the fuzzers in the installation, or beside this program's build folder.
Result<std::vector<Fuzzer>> knownFuzzers(const FuzzOptions& options) {
  const fs::path prefix = installationPrefix();
  std::vector<fs::path> folders = {prefix / "libexec/halyard/fuzz",
                                   prefix.parent_path() / "asan/bin"};
  if (!options.fuzzers.empty()) folders = {options.fuzzers};
  for (const fs::path& folder : folders) {
    HALYARD_ASSIGN_OR_RETURN(std::vector<Fuzzer> found, findFuzzers(folder));
    if (!found.empty()) return found;
  }
  return std::vector<Fuzzer>();
}

CommandResult listTargets(const std::vector<Fuzzer>& fuzzers) {
  std::vector<TableRow> rows = {
      {std::string(kDriver), "a driver's process, from outside (--device D)"}};
  for (const Fuzzer& fuzzer : fuzzers) rows.push_back({fuzzer.name, fuzzer.program.string()});
  writeOutput(alignedRows(rows));
  if (fuzzers.empty()) print("no other targets are here; {}\n", kHowToBuild);
  return {};
}

fs::path corpusOf(const FuzzOptions& options, const std::string& name) {
  if (!options.corpus.empty()) return fs::path(options.corpus) / name;
  const char* const cache = environmentVariable("XDG_CACHE_HOME");
  const char* const home = environmentVariable("HOME");
  const fs::path base = cache != nullptr && *cache == '/' ? fs::path(cache)
                        : home != nullptr && *home == '/' ? fs::path(home) / ".cache"
                                                          : fs::temp_directory_path();
  return base / "halyard/fuzz" / name;
}

class ProgressLine {
 public:
  void show(const std::string& text) {
    const auto now = Clock::now();
    if (!isTerminal_ || now - last_ < std::chrono::milliseconds(300)) return;
    last_ = now;
    const std::string line = "\r" + text + "\x1b[K";
    (void)!::write(STDERR_FILENO, line.data(), line.size());
    shown_ = true;
  }
  void clear() {
    if (shown_) (void)!::write(STDERR_FILENO, "\r\x1b[K", 4);
    shown_ = false;
  }

 private:
  const bool isTerminal_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  Clock::time_point last_{};
};

Result<bool> runProgram(const FuzzOptions& options, const Fuzzer& fuzzer) {
  ProgressLine line;
  FuzzSettings settings;
  settings.duration = std::chrono::seconds(std::max(1L, std::lround(options.minutes * 60)));
  settings.corpus = corpusOf(options, fuzzer.name);
  settings.crashes = options.crashes;
  settings.progress = [&](uint64_t runs, uint64_t coverage) {
    line.show(fmt::format("{}: {} inputs, {} edges reached", fuzzer.name, runs, coverage));
  };
  const auto start = Clock::now();
  HALYARD_ASSIGN_OR_RETURN(const FuzzResult result, runFuzzer(fuzzer, settings));
  line.clear();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (result.problem.empty()) {
    print("{}: {} inputs in {:.0f} s, {} edges reached, nothing found\n", fuzzer.name, result.runs,
          seconds, result.coverage);
    (void)flushOutput();
    return true;
  }
  print("{}\n{}: FAILED after {} inputs: {}\n", printable(result.log), fuzzer.name, result.runs,
        printable(result.problem));
  for (const fs::path& input : result.found) {
    print("  repeat: {} {}\n", shellWord(fuzzer.program.string()), shellWord(input.string()));
  }
  (void)flushOutput();
  return false;
}

Result<bool> runDriver(const FuzzOptions& options) {
  if (options.device.empty()) return badData("the target driver needs --device");
  HALYARD_ASSIGN_OR_RETURN(const validation::TargetSpec target,
                           findValidationTarget(options.device));
  if (target.isInProcess()) {
    return badData("device {} is not in a process of its own: there is no boundary to attack",
                   target.name);
  }
  constexpr uint64_t kChecksAtOnce = 40;
  ProgressLine line;
  validation::RunSettings settings;
  settings.processes = 2;
  settings.maxBad = 1;
  settings.repeat = [&](const validation::CheckRecord& record) {
    const std::string first = record.name.substr(record.name.rfind('/') + 1);
    return fmt::format("{} fuzz driver --device {} --seed {} --first {} --minutes 0.01",
                       shellWord(program_invocation_name), shellWord(options.device), options.seed,
                       first);
  };
  const auto end = Clock::now() + std::chrono::duration<double>(options.minutes * 60);
  uint64_t session = options.first;
  while (Clock::now() < end) {
    std::vector<validation::ListedCheck> checks(kChecksAtOnce);
    for (validation::ListedCheck& check : checks) {
      check.area = "hostile";
      check.check = validation::hostileCheck(target, options.seed, session);
      session += validation::kHostileSessions;
    }
    HALYARD_ASSIGN_OR_RETURN(
        const validation::Report report,
        validation::runChecks(target, checks, validation::Expectations(), settings));
    if (report.bad() != 0) {
      line.clear();
      for (const validation::CheckRecord& record : report.records) {
        if (validation::isBad(record.outcome)) print("{}\n", validation::failureText(record));
      }
      (void)flushOutput();
      return false;
    }
    line.show(fmt::format("driver: {} hostile clients", session - options.first));
  }
  line.clear();
  print("driver: {} survived {} hostile clients\n", target.name, session - options.first);
  return true;
}

CommandResult runFuzz(const FuzzOptions& options) {
  auto found = knownFuzzers(options);
  if (!found.ok()) return {found.takeStatus(), true};
  const std::vector<Fuzzer>& fuzzers = found.value();
  if (options.targets.empty() && !options.all) return listTargets(fuzzers);
  std::vector<const Fuzzer*> chosen;
  bool driver = false;
  for (const std::string& name : options.targets) {
    const auto it = std::find_if(fuzzers.begin(), fuzzers.end(),
                                 [&](const Fuzzer& fuzzer) { return fuzzer.name == name; });
    if (it != fuzzers.end()) {
      chosen.push_back(&*it);
    } else if (name == kDriver) {
      driver = true;
    } else {
      const std::string hint = fuzzers.empty() ? fmt::format("; {}", kHowToBuild) : "";
      return {badData("no target '{}'; 'halyard fuzz' lists those that are here{}", name, hint),
              true};
    }
  }
  if (options.all) {
    if (fuzzers.empty()) return {badData("there are no fuzzers here; {}", kHowToBuild), true};
    chosen.clear();
    for (const Fuzzer& fuzzer : fuzzers) chosen.push_back(&fuzzer);
  }
  bool clean = true;
  const auto note = [&](Result<bool> result) {
    if (!result.ok()) return result.takeStatus();
    clean = clean && result.value();
    return okStatus();
  };
  if (driver) {
    Status status = note(runDriver(options));
    if (!status.ok()) return {status, status.code() == ResultCode::BAD_DATA};
  }
  for (const Fuzzer* const fuzzer : chosen) {
    Status status = note(runProgram(options, *fuzzer));
    if (!status.ok()) return {status, false};
  }
  if (clean) return {};
  return {opFailed("the fuzzers have found something"), false, true};
}

}  // namespace

Command addFuzzCommand(CLI::App& parent) {
  auto options = std::make_shared<FuzzOptions>();
  CLI::App* app = parent.add_subcommand(kFuzzCommand.name, kFuzzCommand.description);
  app->footer(
      "Without a target, those that are here are listed. Each but 'driver' is a libFuzzer program\n"
      "that clang has built with its sanitizers; inputs that reach something new are kept in the\n"
      "corpus, from where the next run goes on.\n"
      "\n"
      "  halyard fuzz server api --minutes 10\n"
      "  halyard fuzz driver --device build/acme-npu.json --minutes 10\n"
      "\n"
      "Exit status: 0 nothing found, 1 something was, 2 misuse.");
  app->add_option("TARGET", options->targets, "Programs to run");
  app->add_flag("--all", options->all, "Every target but 'driver'");
  app->add_option("--minutes", options->minutes, "How long, for each target (default: 1)")
      ->check(CLI::Range(0.01, 100000.0))
      ->option_text("N");
  app->add_option("--device", options->device,
                  "For 'driver': its manifest's path, or the device's name")
      ->option_text("D");
  app->add_option("--seed", options->seed, "For 'driver': seed of the random choices (default: 1)")
      ->check(command_line::isWholeNumber())
      ->option_text("N");
  app->add_option("--first", options->first, "For 'driver': the client to begin with (default: 0)")
      ->check(command_line::isWholeNumber())
      ->option_text("N");
  app->add_option("--corpus", options->corpus,
                  "Where found inputs are kept, by target (default: ~/.cache/halyard/fuzz)")
      ->option_text("DIR");
  app->add_option("--crashes", options->crashes,
                  "Where inputs that crash are written (default: fuzz-crashes)")
      ->option_text("DIR");
  app->add_option("--fuzzers", options->fuzzers,
                  "Where the programs are (default: installed, or build/asan/bin)")
      ->option_text("DIR");
  return {app, [options] { return runFuzz(*options); }};
}

}  // namespace halyard::cli
