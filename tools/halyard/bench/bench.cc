// halyard bench: the execution times of models on devices, their distance from the machine's
// limits, and a driver's capability figures.
#include <halyard/halyard.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "client/status.h"
#include "command_line/shared_options.h"
#include "measure/device_choice.h"
#include "measure/model_figures.h"
#include "measure/model_source.h"
#include "tools/halyard/bench/bench_report.h"
#include "tools/halyard/bench/beside.h"
#include "tools/halyard/bench/capabilities.h"
#include "tools/halyard/bench/machine.h"
#include "tools/halyard/bench/own_process.h"
#include "tools/halyard/command.h"
#include "tools/halyard/output_file.h"
#include "tools/halyard/preference.h"
#include "tools/halyard/terminal.h"
#include "workloads/workloads.h"

namespace halyard::cli {
namespace {

using Json = nlohmann::json;

// Limit for one model on one device, in addition to the requested duration.
constexpr std::chrono::minutes kPatience{10};

struct BenchCommandOptions {
  std::vector<std::string> models;
  std::vector<std::string> devices;
  std::string mode = "sync";
  measure::BenchOptions measure;
  bool noCache = false;
  bool noOperations = false;
  bool capabilities = false;
  std::string beside;
  std::string json;
  std::string html;
};

// "a, b, c", broken into lines.
std::string workloadNames() {
  std::string names;
  size_t line = 0;
  for (const workloads::Workload& workload : workloads::referenceWorkloads()) {
    const std::string_view comma = names.empty() ? "" : line > 70 ? ",\n" : ", ";
    line = comma == ",\n" ? 0 : line;
    names += fmt::format("{}{}", comma, workload.name);
    line += comma.size() + workload.name.size();
  }
  return names;
}

// The names of all devices. Another process asks for them: this process forks later, and must not
// hold a driver then.
Result<std::vector<std::string>> deviceNames() {
  HALYARD_ASSIGN_OR_RETURN(const Json names, inOwnProcess(kPatience, []() -> Result<Json> {
                             HALYARD_ASSIGN_OR_RETURN(const auto devices, client::allDevices());
                             Json list = Json::array();
                             for (const client::Device& device : devices)
                               list.push_back(device.name);
                             return list;
                           }));
  return names.get<std::vector<std::string>>();
}

Result<std::vector<std::string>> chosenDevices(const std::vector<std::string>& wanted) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<std::string> all, deviceNames());
  if (wanted.empty()) return all;
  std::vector<std::string> chosen;
  for (const std::string& name : wanted) {
    HALYARD_ASSIGN_OR_RETURN(const size_t index, measure::chooseDevice(all, name));
    if (std::ranges::find(chosen, all[index]) != chosen.end()) {
      return badData("--device names {} twice", all[index]);
    }
    chosen.push_back(all[index]);
  }
  return chosen;
}

Json peaksJson(const measure::MachinePeaks& peaks) {
  return {{"processors", peaks.processors},
          {"float_gflop_per_s", peaks.floatFlopPerNs},
          {"byte_gop_per_s", peaks.byteOpPerNs},
          {"cache_gb_per_s", peaks.cacheBytesPerNs},
          {"memory_gb_per_s", peaks.memoryBytesPerNs}};
}

Json measureAll(const BenchCommandOptions& options, const measure::BenchOptions& measure,
                const std::vector<std::string>& devices) {
  const measure::MachinePeaks peaks = measure::measureMachinePeaks();
  Json document = {{"version", 1},
                   {"halyard", halyard_version()},
                   {"date", dateText()},
                   {"machine", machineName()},
                   {"peaks", peaksJson(peaks)},
                   {"mode", options.mode},
                   {"seconds", measure.seconds},
                   {"warm_up_seconds", measure.warmUp},
                   {"results", Json::array()}};
  const auto& models = options.models.empty() ? measure::defaultBenchModels() : options.models;
  for (const std::string& model : models) {
    for (const std::string& device : devices) {
      const auto result = inOwnProcess(
          kPatience, [&] { return measure::measureModel(model, device, measure, peaks); });
      if (result.ok()) {
        document["results"].push_back(*result);
      } else {
        document["results"].push_back({{"model", measure::benchModelName(model)},
                                       {"device", device},
                                       {"error", result.status().toString()}});
      }
    }
  }
  return document;
}

Status bench(const BenchCommandOptions& options, const measure::BenchOptions& measure,
             const std::vector<std::string>& devices, const Beside& beside) {
  const Json document = measureAll(options, measure, devices);
  writeOutput(benchText(document, beside));
  HALYARD_RETURN_IF_ERROR(writeOutputFile(options.json, document.dump(1) + "\n"));
  HALYARD_RETURN_IF_ERROR(writeOutputFile(options.html, benchHtml(document, beside)));
  size_t failed = 0;
  for (const Json& result : document["results"]) failed += result.contains("error");
  if (failed > 0) {
    return opFailed("{} of {} measurements failed", failed, document["results"].size());
  }
  return okStatus();
}

Status benchCapabilities(const BenchCommandOptions& options, const std::string& device) {
  HALYARD_ASSIGN_OR_RETURN(const Json document, inOwnProcess(kPatience, [&] {
                             return measureCapabilities(device, options.measure.seconds,
                                                        options.models);
                           }));
  writeOutput(capabilitiesText(document));
  return writeOutputFile(options.json, document.dump(2) + "\n");
}

CommandResult runBench(const BenchCommandOptions& options) {
  for (const std::string& path : {options.json, options.html}) {
    Status writable = checkOutputFile(path);
    if (!writable.ok()) return {std::move(writable), true};
  }
  if (options.capabilities) {
    if (options.devices.size() != 1) {
      return {
          badData("--capabilities: expected is one --device, found are {}", options.devices.size()),
          true};
    }
    for (const std::string& name : options.models) {
      if (workloads::findWorkload(name) == nullptr) {
        return {badData("--capabilities: there is no workload '{}'", name), true};
      }
    }
    const auto devices = chosenDevices(options.devices);
    if (!devices.ok()) return refusedChoice(devices.status());
    return {benchCapabilities(options, devices->front())};
  }
  measure::BenchOptions measure = options.measure;
  measure.cache = !options.noCache;
  measure.operations = !options.noOperations;
  Result<measure::ComputeMode> mode = measure::computeModeNamed(options.mode);
  if (!mode.ok()) return {mode.status(), true};
  measure.mode = *mode;
  Beside beside;
  if (!options.beside.empty()) {
    Result<Beside> read = Beside::load(options.beside);
    if (!read.ok()) return {read.status(), true};
    beside = std::move(*read);
  }
  const auto devices = chosenDevices(options.devices);
  if (!devices.ok()) return refusedChoice(devices.status());
  return {bench(options, measure, *devices, beside)};
}

void addMeasuringOptions(CLI::App* app, BenchCommandOptions* options) {
  app->add_option("--seconds", options->measure.seconds, "Executions that count, for so long (1)")
      ->check(CLI::Range(0.01, 3600.0))
      ->option_text("S");
  app->add_option("--warm-up", options->measure.warmUp, "Executions before those (0.2)")
      ->check(CLI::Range(0.0, 3600.0))
      ->option_text("S");
  app->add_option("--mode", options->mode, "sync, burst or fenced (sync)")->option_text("MODE");
  addPreferenceOption(app, &options->measure.preference);
  command_line::addAllowFloat16Option(*app, options->measure.allowFloat16);
  app->add_flag("--no-cache", options->noCache, "Do not measure loading from a cache");
  app->add_flag("--no-operations", options->noOperations, "Do not measure operations");
}

void addDataOptions(CLI::App* app, BenchCommandOptions* options) {
  CLI::Option* data =
      app->add_option("--data", options->measure.data,
                      "Measure accuracy with these pictures: FOLDER/CLASS/*.png, or MNIST's files")
          ->option_text("FOLDER");
  app->add_option("--labels", options->measure.labels, "Names of its classes, one a line")
      ->needs(data)
      ->option_text("FILE");
  app->add_option("--images", options->measure.images, "At most so many of the pictures")
      ->check(CLI::Range(1, 10'000'000))
      ->option_text("N");
}

}  // namespace

Command addBenchCommand(CLI::App& parent) {
  auto options = std::make_shared<BenchCommandOptions>();
  CLI::App* app =
      parent.add_subcommand("bench", "Measure models on devices, or a driver's capability figures");
  app->footer(
      fmt::format("D is {}.\nWithout --device all are measured.\n\n"
                  "MODEL is a .tflite file or a reference workload; without one, MobileNet v1 and "
                  "v2 in float32\n"
                  "and 8 bits and an LSTM. Each model runs on each device in a process of its own. "
                  "Accuracy is\n"
                  "measured on Fashion-MNIST where it is installed (Debian: dataset-fashion-mnist) "
                  "and the model\n"
                  "is for it, or on --data.\n\n"
                  "The reference workloads: {}.",
                  measure::kDeviceRule, workloadNames()));
  app->add_option("MODEL", options->models, "A model, .tflite, or a workload's name");
  app->add_option("--device", options->devices, "A device to measure; once for each")
      ->allow_extra_args(false)
      ->option_text("D");
  addMeasuringOptions(app, options.get());
  addDataOptions(app, options.get());
  app->add_option("--beside", options->beside,
                  "Show other runtimes' figures, of bench/peers/run --json")
      ->option_text("FILE");
  app->add_option("--json", options->json, "Write all figures there")->option_text("FILE");
  app->add_option("--html", options->html, "Write a page with charts there")->option_text("FILE");
  app->add_flag("--capabilities", options->capabilities,
                "Measure the device's capability figures, for its driver (with --json)")
      ->excludes("--allow-fp16");
  return {app, [options] { return runBench(*options); }};
}

}  // namespace halyard::cli
