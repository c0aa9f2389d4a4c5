// halyard random-graphs: compares random models on one device with the CPU device.
#include <errno.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/environment.h"
#include "base/process_pool.h"
#include "base/shell_word.h"
#include "command_line/shared_options.h"
#include "conformance/hal_target.h"
#include "cpu/cpu_device.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "measure/device_choice.h"
#include "media/file_bytes.h"
#include "model/dump.h"
#include "tools/halyard/kit/commands.h"
#include "tools/halyard/kit/conformance_target.h"
#include "tools/halyard/terminal.h"
#include "validation/random_graphs/session.h"

namespace halyard::cli {
namespace {

using conformance::VectorCase;
using random_graphs::Choice;
using random_graphs::Verdict;
using Json = nlohmann::json;

constexpr double kDefaultGraphTimeout = 60;

struct RandomGraphsOptions {
  std::string device;
  std::string via = "hal";
  uint64_t seed = 1;
  uint64_t count = 100;
  size_t operations = 40;
  std::vector<std::string> types;
  std::string folder = ".";
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  double timeout = kDefaultGraphTimeout;
};

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// --- In the worker process.

// A job is an object: {"what": "seed", "seed": 7, "choices": "1101..."}, or "supported" or "check"
// with a case's "line".
class Worker {
 public:
  explicit Worker(const RandomGraphsOptions& options, std::vector<Choice> choices)
      : options_(options), choices_(std::move(choices)) {}

  Status open() {
    HALYARD_ASSIGN_OR_RETURN(tested_, openConformanceTarget(options_.via, {&options_.device, 1}));
    if (reference_ == nullptr) {
      reference_ = conformance::makeHalTarget(hal::ClientSession::ofRuntime(
          cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 1), std::make_shared<hal::SessionServices>()));
    }
    return okStatus();
  }
  std::string greeting() const { return tested_->device(); }

  std::string work(std::string_view job) {
    const Json json = Json::parse(job, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return dumped({{"error", "a job that is none"}});
    // The target that saw its driver end starts it again with growing delays. A new one starts it
    // now.
    if (wasKilled_) {
      if (Status status = open(); !status.ok()) return dumped({{"error", status.toString()}});
      wasKilled_ = false;
    }
    const int64_t process = tested_->processId();
    const Json answer = json.value("what", "") == "seed" ? runSeed(json) : runCase(json);
    wasKilled_ = tested_->processId() != process;
    return dumped(answer);
  }

 private:
  static Json describe(const Verdict& verdict) {
    return {{"kind", static_cast<int>(verdict.kind)}, {"reason", verdict.reason}};
  }

  Json runSeed(const Json& job) {
    const std::string chosen = job.value("choices", "");
    std::vector<Choice> choices;
    for (size_t i = 0; i < choices_.size() && i < chosen.size(); ++i) {
      if (chosen[i] == '1') choices.push_back(choices_[i]);
    }
    random_graphs::TargetRunner runner(*tested_, *reference_);
    const auto graph = random_graphs::graphFor(
        {job.value("seed", uint64_t{0}), options_.operations, std::move(choices)}, runner);
    if (!graph.ok()) return describe({Verdict::Kind::FAILED, graph.status().toString()});
    if (!graph->has_value()) return describe({Verdict::Kind::UNSUPPORTED, ""});
    Json answer = describe(runner.check(**graph));
    std::set<int32_t> operations;
    const auto note = [&](const Subgraph& subgraph) {
      for (const Operation& operation : subgraph.operations) {
        operations.insert(static_cast<int32_t>(operation.type));
      }
    };
    note((*graph)->model.main);
    for (const Subgraph& subgraph : (*graph)->model.referenced) note(subgraph);
    answer["operations"] = operations;
    answer["size"] = random_graphs::operationCount(**graph);
    return answer;
  }

  Json runCase(const Json& job) {
    const auto vectorCase = conformance::parseVectorCase(job.value("line", ""));
    if (!vectorCase.ok()) return {{"error", vectorCase.status().toString()}};
    random_graphs::TargetRunner runner(*tested_, *reference_);
    if (job.value("what", "") == "check") return describe(runner.check(*vectorCase));
    const auto supported = runner.supported(*vectorCase);
    if (!supported.ok()) return {{"error", supported.status().toString()}};
    return {{"supported", *supported}};
  }

  const RandomGraphsOptions& options_;
  const std::vector<Choice> choices_;
  std::unique_ptr<conformance::Target> tested_;
  std::unique_ptr<conformance::Target> reference_;
  bool wasKilled_ = false;
};

// --- In the command's process.

Json parsedAnswer(const ProcessPool::Answer& answer) {
  if (!answer.response) return {{"error", answer.failure}, {"ended", true}};
  Json json = Json::parse(*answer.response, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) json = {{"error", "the process gave no sensible answer"}};
  return json;
}

Verdict verdictOf(const Json& answer) {
  // The device also fails when its process ends or exceeds the time limit.
  if (answer.contains("error")) return {Verdict::Kind::FAILED, answer.value("error", "")};
  return {static_cast<Verdict::Kind>(answer.value("kind", 1)), answer.value("reason", "")};
}

class PoolRunner final : public random_graphs::GraphRunner {
 public:
  explicit PoolRunner(ProcessPool& pool) : pool_(pool) {}

  Result<std::vector<bool>> supported(const VectorCase& vectorCase) override {
    const Json answer = run("supported", vectorCase);
    if (answer.contains("error")) return opFailed("{}", answer.value("error", ""));
    return answer.value("supported", std::vector<bool>());
  }
  Verdict check(const VectorCase& vectorCase) override {
    return verdictOf(run("check", vectorCase));
  }

 private:
  Json run(std::string_view what, const VectorCase& vectorCase) {
    const auto line = conformance::vectorLine(vectorCase);
    if (!line.ok()) return {{"error", line.status().toString()}};
    std::optional<std::string> job = dumped({{"what", what}, {"line", *line}});
    Json result;
    pool_.run([&] { return std::exchange(job, std::nullopt); },
              [&](size_t, ProcessPool::Answer answer) { result = parsedAnswer(answer); });
    return result;
  }

  ProcessPool& pool_;
};

class RandomGraphsRun {
 public:
  explicit RandomGraphsRun(const RandomGraphsOptions& options) : options_(options) {}

  CommandResult run() {
    const auto types = random_graphs::typesFromNames(options_.types);
    if (!types.ok()) return {types.status(), true};
    all_ = random_graphs::allChoices(*types);
    const auto milliseconds = static_cast<int64_t>(options_.timeout * 1000);
    auto pool = ProcessPool::create(
        {options_.jobs, std::chrono::milliseconds(60'000), std::chrono::milliseconds(milliseconds)},
        [this]() -> Result<ProcessWorker> {
          auto worker = std::make_shared<Worker>(options_, all_);
          HALYARD_RETURN_IF_ERROR(worker->open());
          return ProcessWorker{worker->greeting(),
                               [worker](auto job) { return worker->work(job); }};
        });
    if (!pool.ok()) return refusedChoice(pool.takeStatus());
    pool_ = std::move(*pool);
    if (Status status = choose(); !status.ok()) return {std::move(status)};
    runSeeds();
    for (const auto& [seed, verdict] : failed_) {
      if (Status status = examine(seed, verdict); !status.ok()) return {std::move(status)};
    }
    return summarise();
  }

 private:
  Status choose() {
    PoolRunner runner(*pool_);
    HALYARD_ASSIGN_OR_RETURN(choices_, random_graphs::supportedChoices(runner, all_));
    std::set<std::pair<OperationType, std::array<size_t, 4>>> supported;
    const auto keyOf = [](const Choice& choice) {
      const auto& v = choice.variant;
      return std::pair(choice.definition->type, std::array{v.form, v.row, v.inputs, v.outputs});
    };
    std::set<OperationType> operations;
    for (const Choice& choice : choices_) {
      supported.insert(keyOf(choice));
      operations.insert(choice.definition->type);
    }
    for (const Choice& choice : all_) bits_ += supported.contains(keyOf(choice)) ? '1' : '0';
    print("{}: graphs of {} operations, {} of {} forms and types\n", printable(pool_->greeting()),
          operations.size(), choices_.size(), all_.size());
    return flushOutput();
  }

  void runSeeds() {
    uint64_t next = 0;
    pool_->run(
        [&]() -> std::optional<std::string> {
          if (next == options_.count) return std::nullopt;
          return dumped({{"what", "seed"}, {"seed", options_.seed + next++}, {"choices", bits_}});
        },
        [&](size_t number, ProcessPool::Answer answer) {
          take(options_.seed + number, parsedAnswer(answer));
        });
  }

  void take(uint64_t seed, const Json& answer) {
    const Verdict verdict = verdictOf(answer);
    for (const int32_t code : answer.value("operations", std::vector<int32_t>())) {
      covered_.insert(code);
    }
    switch (verdict.kind) {
      case Verdict::Kind::PASSED:
        ++passed_;
        return;
      case Verdict::Kind::UNSUPPORTED:
        ++skipped_;
        return;
      case Verdict::Kind::FAILED:
      case Verdict::Kind::BROKEN:
        break;
    }
    print("seed {} failed: {}\n", seed, printable(verdict.reason));
    (void)flushOutput();
    failed_.emplace(seed, verdict);
  }

  // Makes a failing graph smaller, and writes it to a file.
  Status examine(uint64_t seed, const Verdict& verdict) {
    PoolRunner runner(*pool_);
    auto graph = random_graphs::graphFor({seed, options_.operations, choices_}, runner);
    if (!graph.ok() || !graph->has_value()) {
      print("seed {}: the graph cannot be made again: {}\n", seed,
            graph.ok() ? "nothing is supported" : printable(graph.status().message()));
      return okStatus();
    }
    const size_t before = random_graphs::operationCount(**graph);
    const random_graphs::SmallestFailure smallest =
        verdict.kind == Verdict::Kind::BROKEN
            ? random_graphs::SmallestFailure{std::move(**graph), verdict}
            : random_graphs::findSmallest(std::move(**graph), verdict, runner);
    const std::filesystem::path base =
        std::filesystem::path(options_.folder) / fmt::format("random_graph_{}", seed);
    const std::string vectors = base.string() + ".jsonl";
    const std::string picture = base.string() + ".dot";
    HALYARD_ASSIGN_OR_RETURN(const std::string line, conformance::vectorLine(smallest.vectorCase));
    HALYARD_RETURN_IF_ERROR(write(vectors, line + "\n"));
    HALYARD_RETURN_IF_ERROR(write(picture, modelGraphviz(smallest.vectorCase.model, {}, true)));
    print(
        "\nseed {}: of {} operations {} left, {}\n  {}\n  {}, {}\n  {}halyard random-graphs "
        "--device "
        "{} --via {} --seed {} --count 1 --operations {}{}\n  {}halyard conformance {} --device {} "
        "--via {}\n",
        seed, before, random_graphs::operationCount(smallest.vectorCase),
        operationNames(smallest.vectorCase), printable(smallest.verdict.reason), vectors, picture,
        environment(), options_.device, options_.via, seed, options_.operations,
        options_.types.empty() ? "" : fmt::format(" --types {}", fmt::join(options_.types, ",")),
        environment(), shellWord(vectors), options_.device, options_.via);
    return flushOutput();
  }

  static std::string operationNames(const VectorCase& vectorCase) {
    std::vector<std::string> names;
    for (const Operation& operation : vectorCase.model.main.operations) {
      names.push_back(operationTypeName(operation.type));
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  static std::string environment() {
    std::string result;
    for (const char* variable : {"HALYARD_DRIVER_FILES", "HALYARD_ADD_DRIVER_FILES"}) {
      const char* const value = environmentVariable(variable);
      if (value != nullptr) result += fmt::format("{}={} ", variable, shellWord(value));
    }
    return result;
  }

  static Status write(const std::string& path, const std::string& text) {
    return media::writeFileBytes(path,
                                 {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }

  CommandResult summarise() {
    if (Status ended = pool_->finish(); !ended.ok()) {
      print("the end of the run: {}\n", printable(ended.message()));
      return {std::move(ended)};
    }
    print("{} passed, {} failed, {} skipped; {} operations covered\n", passed_, failed_.size(),
          skipped_, covered_.size());
    if (failed_.empty()) return {};
    return {opFailed("{} failed", failed_.size()), false, true};
  }

  const RandomGraphsOptions& options_;
  std::vector<Choice> all_;
  std::vector<Choice> choices_;
  std::string bits_;  // marks which of all_ are in choices_
  std::unique_ptr<ProcessPool> pool_;
  std::map<uint64_t, Verdict> failed_;
  std::set<int32_t> covered_;
  size_t passed_ = 0;
  size_t skipped_ = 0;
};

}  // namespace

Command addRandomGraphsCommand(CLI::App& parent) {
  auto options = std::make_shared<RandomGraphsOptions>();
  CLI::App* app =
      parent.add_subcommand(kRandomGraphsCommand.name, kRandomGraphsCommand.description);
  app->footer(
      fmt::format("Graphs consist of what the device supports. One that fails is made as small as "
                  "possible, and\nwritten to random_graph_SEED.jsonl, which halyard conformance "
                  "runs, with a picture\nrandom_graph_SEED.dot. docs/random_graphs.md says more.\n"
                  "\nTypes: {}\n\nExit status: 0 nothing failed, 1 something did, 2 misuse.",
                  fmt::join(random_graphs::typeNames(), ", ")));
  app->add_option("--device", options->device, fmt::format("The device: {}", measure::kDeviceRule))
      ->required()
      ->option_text("D");
  app->add_option("--via", options->via,
                  "api: through the C API; hal: straight to the device (default: hal)")
      ->check(CLI::IsMember({"api", "hal"}))
      ->option_text("api|hal");
  app->add_option("--seed", options->seed, "The first seed (default: 1)")
      ->check(command_line::isWholeNumber())
      ->option_text("N");
  app->add_option("--count", options->count, "How many graphs, one for each seed (default: 100)")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40))
      ->option_text("N");
  app->add_option("--operations", options->operations,
                  "The most operations of a graph (default: 40)")
      ->check(CLI::Range(size_t{1}, size_t{1000}))
      ->option_text("N");
  app->add_option("--types", options->types, "Types of first inputs (default: all)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("T,...");
  app->add_option("--output,-o", options->folder, "Where to write graphs that fail (default: here)")
      ->check(CLI::ExistingDirectory)
      ->option_text("FOLDER");
  app->add_option("-j,--jobs", options->jobs,
                  "Processes that run graphs at once (default: one per processor)")
      ->check(CLI::Range(1U, 1024U))
      ->option_text("N");
  app->add_option("--timeout", options->timeout,
                  "Seconds after which a graph has failed (default: 60)")
      ->check(CLI::Range(0.001, 86400.0))
      ->option_text("S");
  return {app, [options] { return RandomGraphsRun(*options).run(); }};
}

}  // namespace halyard::cli
