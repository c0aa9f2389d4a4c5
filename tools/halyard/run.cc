// halyard run: executes a model once, and shows its outputs.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/session.h"
#include "client/status.h"
#include "command_line/shared_options.h"
#include "import/tflite/importer.h"
#include "measure/device_choice.h"
#include "measure/labels.h"
#include "measure/port_arrays.h"
#include "measure/run_inputs.h"
#include "measure/tensor_values.h"
#include "media/npy.h"
#include "tools/halyard/cache_choice.h"
#include "tools/halyard/command.h"
#include "tools/halyard/explanation.h"
#include "tools/halyard/preference.h"
#include "tools/halyard/run_report.h"
#include "tools/halyard/terminal.h"

namespace halyard::cli {
namespace {

constexpr std::string_view kFooter =
    "Pictures are BMP, PNG or JPEG; they are resized to the model's height and width, without\n"
    "keeping the aspect ratio. Quantised inputs take raw pixels (0 to 255, or -128 to 127 if\n"
    "signed), which is what models expect whose quantised range is [-1,1], [0,1] or [0,255];\n"
    "float inputs take pixels scaled to [-1,1] for 3 channels and to [0,1] for one. Use\n"
    "--input-range, or --mean and --std, for a model that was trained otherwise.\n"
    "\n"
    "Outputs are shown as classes, detections or a segmentation where they are that, otherwise as\n"
    "numbers; --output keeps all of them.\n"
    "\n"
    "  halyard run mobilenet.tflite --image cat.png --labels imagenet.txt --device reference\n"
    "  halyard run model.tflite --input x=x.npy --input y=y.npy --output results\n"
    "\n"
    "Exit status: 0 success, 1 failure, 2 misuse.";

struct RunOptions {
  std::string model;
  std::string device;
  std::string image;
  std::vector<std::string> arrays;
  std::string labels;
  std::string output;
  std::vector<float> inputRange;
  std::vector<float> mean;
  std::vector<float> std;
  uint64_t randomSeed = 0;
  bool random = false;
  bool saveInputs = false;
  bool openDimensions = false;
  bool allowFloat16 = false;
  CacheOptions cache;
  std::optional<int32_t> preference;
  ReportOptions report;
};

double milliseconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

// Checks the options of the command line.
Result<measure::InputOptions> checkedInputOptions(const RunOptions& options) {
  measure::InputOptions inputs;
  inputs.image = options.image;
  for (const std::string& text : options.arrays) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return badData("--input {}: expected is NAME=FILE.npy", text);
    }
    inputs.arrays.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  if (!options.inputRange.empty()) {
    if (options.inputRange.size() != 2) {
      return badData("--input-range: expected is MIN,MAX, found are {} values",
                     options.inputRange.size());
    }
    inputs.pixels.range = {options.inputRange[0], options.inputRange[1]};
  }
  inputs.pixels.mean = options.mean;
  inputs.pixels.std = options.std;
  // The model determines the number of channels. All other options are checked now.
  HALYARD_RETURN_IF_ERROR(
      measure::checkPixelOptions(inputs.pixels,
                                 static_cast<uint32_t>(std::max<size_t>({1, options.mean.size()}))),
      "pixels");
  if (options.random) inputs.randomSeed = options.randomSeed;
  return inputs;
}

std::string processText(int64_t pid) {
  if (pid == 0) return "driver not running";
  if (pid == ::getpid()) return "in the application's own process";
  return fmt::format("driver process {}", pid);
}

// One line about where the model runs: on the chosen device, or on the devices of its partitions.
Result<std::string> deviceText(const client::Session& session,
                               const std::optional<client::Device>& chosen) {
  if (!chosen) {
    HALYARD_ASSIGN_OR_RETURN(const std::string report, session.report());
    HALYARD_ASSIGN_OR_RETURN(const std::string devices, devicesText(report));
    return fmt::format("{} (see halyard explain), application process {}", devices, ::getpid());
  }
  HALYARD_ASSIGN_OR_RETURN(const int64_t pid, client::driverProcessId(chosen->handle));
  return fmt::format("{} ({}), application process {}", chosen->name, processText(pid), ::getpid());
}

// Writes arrays and pictures into a folder, each under a name of its own.
class ResultFolder {
 public:
  explicit ResultFolder(std::string path) : path_(std::move(path)) {}

  Status create() {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error || !std::filesystem::is_directory(path_, error)) {
      return opFailed("cannot create the folder {}: {}", path_,
                      error ? error.message() : "it is no folder");
    }
    if (::access(path_.c_str(), W_OK | X_OK) == 0) return okStatus();
    return errnoStatus(ResultCode::OP_FAILED, errno,
                       fmt::format("cannot write into the folder {}", path_));
  }

  Status addTensor(const std::string& name, const import::ModelPort& port, const Shape& dims,
                   std::span<const uint8_t> bytes) {
    HALYARD_ASSIGN_OR_RETURN(const media::NpyArray array, measure::toPortArray(port, dims, bytes),
                             "{}", name);
    return media::saveNpy(array, freePath(name, ".npy"));
  }
  Status addPicture(const std::string& name, const media::Image& image) {
    return media::writePng(image, freePath(name, ".png"));
  }
  const std::vector<std::string>& written() const { return written_; }

 private:
  // Different names of tensors may give equal names of files.
  std::string freePath(const std::string& name, const char* extension) {
    std::string path;
    for (int number = 1;; ++number) {
      const std::string suffix = number == 1 ? "" : fmt::format("_{}", number);
      path = fmt::format("{}/{}{}{}", path_, name, suffix, extension);
      if (taken_.insert(path).second) break;
    }
    written_.push_back(path);
    return path;
  }

  const std::string path_;
  std::set<std::string> taken_;
  std::vector<std::string> written_;
};

Status saveResults(const RunOptions& options, const import::ImportedModel& imported,
                   const measure::PreparedInputs& inputs, std::span<const client::Output> outputs,
                   const Report& report, ResultFolder& folder) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const import::ModelPort& port = imported.outputs[i];
    HALYARD_RETURN_IF_ERROR(
        folder.addTensor(measure::fileNameOf(port.name, fmt::format("output_{}", i)), port,
                         outputs[i].dimensions, outputs[i].bytes));
  }
  for (size_t i = 0; i < inputs.inputs.size() && options.saveInputs; ++i) {
    const import::ModelPort& port = imported.inputs[i];
    HALYARD_RETURN_IF_ERROR(
        folder.addTensor("input_" + measure::fileNameOf(port.name, std::to_string(i)), port,
                         inputs.inputs[i].dimensions, inputs.inputs[i].bytes));
  }
  for (const ReportPicture& picture : report.pictures) {
    HALYARD_RETURN_IF_ERROR(folder.addPicture(picture.name, picture.image));
  }
  for (const std::string& path : folder.written()) print("wrote   {}\n", printable(path));
  return okStatus();
}

std::vector<client::Input> apiInputs(const import::ImportedModel& imported,
                                     const measure::PreparedInputs& prepared) {
  std::vector<client::Input> inputs;
  for (size_t i = 0; i < prepared.inputs.size(); ++i) {
    const measure::PreparedInput& input = prepared.inputs[i];
    const bool known = knownByteSize(imported.inputs[i].type, imported.inputs[i].dims).has_value();
    inputs.push_back({input.bytes, known ? Shape() : input.dimensions, false});
  }
  return inputs;
}

// The device of --device; nothing without that option.
Result<std::optional<client::Device>> chosenDevice(const RunOptions& options) {
  if (options.device.empty()) return std::optional<client::Device>();
  HALYARD_ASSIGN_OR_RETURN(const std::vector<client::Device> devices, client::allDevices());
  std::vector<std::string> names;
  for (const client::Device& device : devices) names.push_back(device.name);
  HALYARD_ASSIGN_OR_RETURN(const size_t index, measure::chooseDevice(names, options.device));
  return std::optional(devices[index]);
}

Status runModel(const RunOptions& options, const measure::InputOptions& inputOptions,
                const std::optional<client::Device>& chosen) {
  measure::Labels labels;
  if (!options.labels.empty()) {
    HALYARD_ASSIGN_OR_RETURN(labels, measure::Labels::load(options.labels));
  }
  ResultFolder folder(options.output);
  if (!options.output.empty()) HALYARD_RETURN_IF_ERROR(folder.create());
  HALYARD_ASSIGN_OR_RETURN(
      import::ImportOptions how,
      measure::importOptionsFor(chosen ? std::span(&chosen->handle, 1)
                                       : std::span<const ANeuralNetworksDevice* const>()));
  how.keepsOpenDimensions = options.openDimensions;
  how.allowFloat16 = options.allowFloat16;
  HALYARD_ASSIGN_OR_RETURN(import::ImportedModel read,
                           import::importTfliteFile(options.model, how));
  const auto shared = std::make_shared<const import::ImportedModel>(std::move(read));
  const import::ImportedModel& imported = *shared;
  HALYARD_ASSIGN_OR_RETURN(const measure::PreparedInputs prepared,
                           measure::prepareInputs(imported.inputs, inputOptions), "{}",
                           options.model);
  const size_t operationCount = imported.model.main.operations.size();
  HALYARD_ASSIGN_OR_RETURN(
      const std::unique_ptr<client::Session> session,
      client::Session::create(std::shared_ptr<const Model>(shared, &shared->model)), "{}",
      options.model);
  if (auto cache = chooseCache(options.cache, options.model)) session->setCaching(*cache);
  if (options.preference) session->setPreference(*options.preference);
  const auto start = std::chrono::steady_clock::now();
  HALYARD_RETURN_IF_ERROR(session->compile(chosen ? chosen->handle : nullptr));
  const auto compileTime = std::chrono::steady_clock::now() - start;
  HALYARD_ASSIGN_OR_RETURN(const client::Computation execution,
                           session->execute(apiInputs(imported, prepared)));
  HALYARD_ASSIGN_OR_RETURN(const std::string where, deviceText(*session, chosen));
  print("model   {}, {} operations\n", printable(options.model), operationCount);
  print("device  {}\n", where);
  for (size_t i = 0; i < prepared.inputs.size(); ++i) {
    print("input   {}: {}\n", measure::portText(imported.inputs[i]), prepared.inputs[i].how);
  }
  print("time    compile {:.2f} ms, execution {:.2f} ms\n", milliseconds(compileTime),
        milliseconds(execution.duration));
  HALYARD_ASSIGN_OR_RETURN(const std::string compilation, session->report());
  HALYARD_ASSIGN_OR_RETURN(const std::string cache, cacheText(compilation));
  print("cache   {}\n", cache);
  const Report report =
      describeOutputs(imported, execution.outputs, labels, prepared.picture, options.report);
  writeOutput(report.text);
  if (options.output.empty()) return okStatus();
  return saveResults(options, imported, prepared, execution.outputs, report, folder);
}

void addPixelOptions(CLI::App* app, RunOptions* options) {
  app->add_option("--input-range", options->inputRange,
                  "The numbers that the model's training used for black and white")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("MIN,MAX");
  CLI::Option* mean = app->add_option("--mean", options->mean,
                                      "Pixels become (p - mean) / std, p from 0 to 255; one value, "
                                      "or one per channel with commas")
                          ->delimiter(',')
                          ->allow_extra_args(false)
                          ->option_text("NUMBER[,...]");
  CLI::Option* std = app->add_option("--std", options->std, "See --mean")
                         ->delimiter(',')
                         ->allow_extra_args(false)
                         ->option_text("NUMBER[,...]");
  mean->needs(std);
  std->needs(mean);
}

}  // namespace

Command addRunCommand(CLI::App& parent) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* app = parent.add_subcommand("run", "Run a model once and show its outputs");
  app->footer(fmt::format("D is {}.\n\n{}", measure::kDeviceRule, kFooter));
  app->add_option("MODEL", options->model, "A model, .tflite")->required();
  app->add_option("--device", options->device,
                  "Where to run, see below; without it the runtime decides")
      ->option_text("D");
  app->add_option("--image", options->image, "Picture for the input that has the shape of one")
      ->option_text("FILE");
  app->add_option("--input", options->arrays,
                  "Value of an input (its name or number), once for each; elements and shape must "
                  "be the model's")
      ->allow_extra_args(false)
      ->option_text("NAME=FILE.npy");
  CLI::Option* random =
      app->add_option("--random-inputs", options->randomSeed, "Random values for all other inputs")
          ->check(command_line::isWholeNumber())
          ->option_text("SEED");
  app->add_flag("--open-dimensions", options->openDimensions,
                "Inputs of any size in dimensions that the file leaves open, instead of the size "
                "that it begins with");
  app->add_option("--labels", options->labels, "Names of the classes, one a line")
      ->option_text("FILE");
  CLI::Option* output =
      app->add_option("--output", options->output,
                      "Folder for each output as .npy, and for pictures of the results")
          ->option_text("DIR");
  app->add_flag("--save-inputs", options->saveInputs, "Write the inputs into that folder too")
      ->needs(output);
  addPixelOptions(app, options.get());
  addCacheOptions(app, &options->cache);
  addPreferenceOption(app, &options->preference);
  command_line::addAllowFloat16Option(*app, options->allowFloat16);
  app->add_option("--top", options->report.top,
                  fmt::format("How many classes to list (default {})", options->report.top))
      ->check(CLI::Range(1, 1000000))
      ->option_text("N");
  app->add_option(
         "--min-score", options->report.minScore,
         fmt::format("Least score of a detection (default {:g})", options->report.minScore))
      ->option_text("S");
  return {app, [options, random] {
            options->random = random->count() != 0;
            const Result<measure::InputOptions> inputs = checkedInputOptions(*options);
            if (!inputs.ok()) return CommandResult{inputs.status(), true};
            const auto device = chosenDevice(*options);
            if (!device.ok()) return refusedChoice(device.status());
            return CommandResult{runModel(*options, *inputs, *device)};
          }};
}

}  // namespace halyard::cli
