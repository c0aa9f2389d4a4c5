// halyard profile: the time of each operation of a model, and of the other work.
#include <halyard/halyard.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "client/session.h"
#include "command_line/shared_options.h"
#include "import/tflite/importer.h"
#include "measure/device_choice.h"
#include "measure/model_runs.h"
#include "tools/halyard/command.h"
#include "tools/halyard/output_file.h"
#include "tools/halyard/profile_report.h"
#include "tools/halyard/terminal.h"

namespace halyard::cli {
namespace {

constexpr uint32_t kMostSlices = 1 << 20;

struct ProfileOptions {
  std::string model;
  std::vector<std::string> devices;
  unsigned runs = 20;
  unsigned warmUp = 3;
  std::string trace;
  bool json = false;
  bool allowFloat16 = false;
  ProfileReportOptions text;
};

// A slice of the trace that this command records.
class AppSlice {
 public:
  AppSlice(HalyardPhase phase, const char* text) { halyard_traceBegin(phase, text); }
  ~AppSlice() { halyard_traceEnd(); }
  AppSlice(const AppSlice&) = delete;
  AppSlice& operator=(const AppSlice&) = delete;
};

using ImportedPtr = std::shared_ptr<const import::ImportedModel>;

Result<std::unique_ptr<client::Session>> prepare(const ImportedPtr& imported) {
  const AppSlice slice(HALYARD_PHASE_PREPARATION, "build the model");
  return client::Session::create(std::shared_ptr<const Model>(imported, &imported->model));
}

using Devices = std::vector<const ANeuralNetworksDevice*>;

Status compile(const Devices& devices, client::Session& session) {
  const AppSlice slice(HALYARD_PHASE_COMPILATION, "compile");
  return session.compileFor(devices);
}

Result<std::unique_ptr<client::Session>> runTraced(const ProfileOptions& options,
                                                   const Devices& devices,
                                                   const ImportedPtr& imported) {
  const AppSlice whole(HALYARD_PHASE_OVERALL, "halyard profile");
  HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<client::Session> session, prepare(imported), "{}",
                           options.model);
  HALYARD_RETURN_IF_ERROR(compile(devices, *session));
  if (options.warmUp > 0) {
    const AppSlice slice(HALYARD_PHASE_WARMUP, "warm-up");
    HALYARD_RETURN_IF_ERROR(measure::runOften(*session, *imported, options.warmUp));
  }
  const AppSlice slice(HALYARD_PHASE_BENCHMARK, "benchmark");
  HALYARD_RETURN_IF_ERROR(measure::runOften(*session, *imported, options.runs));
  return session;
}

Status writeTrace(const std::string& path) {
  char* created = nullptr;
  const int code = halyard_traceJson(&created);
  if (code != ANEURALNETWORKS_NO_ERROR) {
    return Status(static_cast<ResultCode>(code), "the runtime gave no trace");
  }
  Status status = writeOutputFile(path, created);
  halyard_free(created);
  return status;
}

Status profile(const ProfileOptions& options, const Devices& devices) {
  HALYARD_ASSIGN_OR_RETURN(import::ImportOptions how, measure::importOptionsFor(devices));
  how.allowFloat16 = options.allowFloat16;
  HALYARD_ASSIGN_OR_RETURN(import::ImportedModel read,
                           import::importTfliteFile(options.model, how));
  const auto imported = std::make_shared<const import::ImportedModel>(std::move(read));
  const size_t operations = imported->model.main.operations.size();
  // An upper bound of the slices of the operations and of the API's calls per model and execution.
  const uint64_t slices = (operations + 64) * (options.runs + options.warmUp + uint64_t{1}) * 2 +
                          4 * imported->model.main.operands.size() + 1000;
  const int code =
      halyard_traceStart(static_cast<uint32_t>(std::min<uint64_t>(slices, kMostSlices)));
  if (code != ANEURALNETWORKS_NO_ERROR) {
    return Status(static_cast<ResultCode>(code), "the runtime began no trace (HALYARD_TRACE has?)");
  }
  auto session = runTraced(options, devices, imported);
  (void)halyard_traceStop();
  HALYARD_RETURN_IF_ERROR(session.status());
  if (!options.trace.empty()) HALYARD_RETURN_IF_ERROR(writeTrace(options.trace));
  HALYARD_ASSIGN_OR_RETURN(const std::string json, (*session)->profile());
  if (options.json) {
    print("{}\n", json);
    return okStatus();
  }
  HALYARD_ASSIGN_OR_RETURN(const std::string text, profileReport(json, options.text));
  print("model   {}, {} operations, {} executions after {} to warm up\n", printable(options.model),
        operations, options.runs, options.warmUp);
  if (!options.trace.empty()) print("trace   {} (open it in ui.perfetto.dev)\n", options.trace);
  writeOutput(text);
  return okStatus();
}

}  // namespace

Command addProfileCommand(CLI::App& parent) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* app = parent.add_subcommand(
      "profile", "Show what each operation takes, and what the way to the devices costs");
  app->footer(fmt::format(
      "D is {}.\n\nInputs are random. Without --device the runtime chooses among all devices, "
      "with\n"
      "it among those. Times are recorded where they pass: in this process and in the drivers'.\n"
      "MEDIAN, SHARE and the partitions are of all executions, also those to warm up.",
      measure::kDeviceRule));
  app->add_option("MODEL", options->model, "A model, .tflite")->required();
  app->add_option("--device", options->devices, "A device that may be used; once for each")
      ->allow_extra_args(false)
      ->option_text("D");
  command_line::addAllowFloat16Option(*app, options->allowFloat16);
  app->add_option("--runs", options->runs, "Executions that count (20)")
      ->check(CLI::Range(1, 1'000'000))
      ->option_text("N");
  app->add_option("--warm-up", options->warmUp, "Executions before those (3)")
      ->check(CLI::Range(0, 1'000'000))
      ->option_text("N");
  app->add_option("--trace", options->trace, "Write everything there, for ui.perfetto.dev")
      ->option_text("FILE");
  CLI::Option* json = app->add_flag("--json", options->json, "The profile as JSON");
  app->add_flag("--all", options->text.everyOperation, "All operations, in the model's order")
      ->excludes(json);
  return {app, [options]() -> CommandResult {
            const Result<Devices> devices = measure::devicesOf(options->devices);
            if (!devices.ok()) return refusedChoice(devices.status());
            Status writable = checkOutputFile(options->trace);
            if (!writable.ok()) return {std::move(writable), true};
            return {profile(*options, *devices)};
          }};
}

}  // namespace halyard::cli
