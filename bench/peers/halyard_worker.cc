// halyard_worker: one model on one device through the public C API, at the command of bench/peers.
//
//   halyard_worker MODEL DEVICE CACHE INPUT...
//
// CACHE is a folder for compilations, or "" for none; each INPUT a file with an input's bytes. A
// line of standard input is one command, a line of standard output its answer, both JSON:
//
//   {"do": "load", "fresh": B}       {"ms", "first_ms", "parts"}: loads and compiles the model,
//   with an
//                                    empty cache if B, and executes it once
//   {"do": "run", "seconds": S, "warm": W}   {"us": [...]}: executions for S seconds, after W
//   untimed
//   {"do": "output", "folder": F}    {"files": [...]}: the outputs of one execution as .npy
//   {"do": "classify", "file": F}    {"classes": [...]}: the greatest element of the first output
//   for
//                                    each of the first inputs that the file consists of
//   {"do": "memory"}                 {"base_kib", "peak_kib", "driver_kib"}
//
// An answer {"error": text} ends the program.
#include <halyard/halyard.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "import/tflite/importer.h"
#include "media/npy.h"
#include "tools/halyard/api_model.h"
#include "tools/halyard/cache_choice.h"
#include "tools/halyard/model_runs.h"
#include "tools/halyard/tensor_values.h"

namespace {

using namespace halyard;  // NOLINT(google-build-using-namespace)
using cli::ApiHandle;
using cli::ApiModel;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

// Of an output whose size the model leaves open.
constexpr size_t kOpenOutputBytes = 64 << 10;

double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

// A field of /proc/PID/status in KiB; 0 where there is none.
int64_t memoryField(int64_t pid, const std::string& field) {
  std::ifstream file(pid == 0 ? "/proc/self/status" : fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1));
  }
  return 0;
}

// What is loaded of a model, in the order in which it is to be made.
struct Loaded {
  std::shared_ptr<const import::ImportedModel> imported;
  std::unique_ptr<ApiModel> model;
  ApiHandle<ANeuralNetworksCompilation> compilation;
  std::vector<std::vector<uint8_t>> outputs;
  ApiHandle<ANeuralNetworksExecution> execution;
};

class Worker {
 public:
  Worker(std::string path, const ANeuralNetworksDevice* device, std::string cache,
         std::vector<std::vector<uint8_t>> inputs, int64_t baseKib)
      : path_(std::move(path)),
        device_(device),
        cache_(std::move(cache)),
        inputs_(std::move(inputs)),
        baseKib_(baseKib) {}

  Result<Json> answer(const Json& command) {
    const std::string what = command.value("do", "");
    if (what == "load") return load(command.value("fresh", false));
    if (what == "run") return run(command.value("seconds", 0.05), command.value("warm", 0.0));
    if (what == "output") return output(command.value("folder", "."));
    if (what == "classify") return classify(command.value("file", ""));
    if (what == "memory") return memory();
    return badData("command {}", command.dump());
  }

 private:
  Result<Json> load(bool fresh) {
    loaded_ = Loaded();
    if (fresh && !cache_.empty()) {
      std::error_code error;
      std::filesystem::remove_all(cache_, error);
    }
    const auto start = Clock::now();
    HALYARD_ASSIGN_OR_RETURN(import::ImportedModel read, import::importTfliteFile(path_));
    loaded_.imported = std::make_shared<const import::ImportedModel>(std::move(read));
    const double imported = milliseconds(start);
    HALYARD_ASSIGN_OR_RETURN(loaded_.model, ApiModel::create(std::shared_ptr<const Model>(
                                                loaded_.imported, &loaded_.imported->model)));
    const double built = milliseconds(start);
    HALYARD_RETURN_IF_ERROR(compile());
    const double all = milliseconds(start);
    HALYARD_RETURN_IF_ERROR(prepareExecution());
    const auto first = Clock::now();
    HALYARD_RETURN_IF_ERROR(compute());
    return Json{
        {"ms", all},
        {"first_ms", milliseconds(first)},
        {"parts", {{"import", imported}, {"model", built - imported}, {"compile", all - built}}}};
  }

  Status compile() {
    HALYARD_ASSIGN_OR_RETURN(loaded_.compilation,
                             loaded_.model->createCompilation(std::span(&device_, 1)));
    if (!cache_.empty()) {
      cli::CacheOptions options;
      options.folder = cache_;
      const auto choice = cli::chooseCache(options, path_);
      if (!choice) return opFailed("no cache in {}", cache_);
      HALYARD_API_CALL(ANeuralNetworksCompilation_setCaching, loaded_.compilation.get(),
                       choice->folder.c_str(), choice->token.data());
    }
    HALYARD_API_CALL(ANeuralNetworksCompilation_finish, loaded_.compilation.get());
    return okStatus();
  }

  Status prepareExecution() {
    const Subgraph& main = loaded_.imported->model.main;
    if (inputs_.size() != main.inputIndexes.size()) {
      return badData("{} inputs for a model with {}", inputs_.size(), main.inputIndexes.size());
    }
    ANeuralNetworksExecution* created = nullptr;
    HALYARD_API_CALL(ANeuralNetworksExecution_create, loaded_.compilation.get(), &created);
    loaded_.execution.reset(created);
    HALYARD_API_CALL(ANeuralNetworksExecution_setReusable, created, true);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      HALYARD_API_CALL(ANeuralNetworksExecution_setInput, created, static_cast<int32_t>(i), nullptr,
                       inputs_[i].data(), inputs_[i].size());
    }
    for (size_t i = 0; i < main.outputIndexes.size(); ++i) {
      const Operand& operand = main.operands[main.outputIndexes[i]];
      auto& bytes = loaded_.outputs.emplace_back(
          knownByteSize(operand.type, operand.dimensions).value_or(kOpenOutputBytes));
      HALYARD_API_CALL(ANeuralNetworksExecution_setOutput, created, static_cast<int32_t>(i),
                       nullptr, bytes.data(), bytes.size());
    }
    return okStatus();
  }

  Status compute() const {
    if (!loaded_.execution) return badState("nothing is loaded");
    HALYARD_API_CALL(ANeuralNetworksExecution_compute, loaded_.execution.get());
    return okStatus();
  }

  Result<Json> run(double seconds, double warm) const {
    const auto later = [](double delay) {
      return Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(delay));
    };
    for (const auto end = later(warm); Clock::now() < end;) HALYARD_RETURN_IF_ERROR(compute());
    std::vector<double> times;
    for (const auto end = later(seconds); times.empty() || Clock::now() < end;) {
      const auto start = Clock::now();
      HALYARD_RETURN_IF_ERROR(compute());
      times.push_back(milliseconds(start) * 1000);
    }
    return Json{{"us", std::move(times)}};
  }

  Result<Json> classify(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<uint8_t>& input = inputs_[0];
    const Subgraph& main = loaded_.imported->model.main;
    const Operand& operand = main.operands[main.outputIndexes[0]];
    Json classes = Json::array();
    while (file.read(reinterpret_cast<char*>(input.data()), static_cast<long>(input.size()))) {
      HALYARD_RETURN_IF_ERROR(compute());
      HALYARD_ASSIGN_OR_RETURN(
          const std::vector<float> scores,
          cli::realValues({operand.type, operand.scale, operand.zeroPoint}, loaded_.outputs[0]));
      classes.push_back(std::ranges::max_element(scores) - scores.begin());
    }
    return Json{{"classes", std::move(classes)}};
  }

  Result<Json> output(const std::string& folder) const {
    HALYARD_RETURN_IF_ERROR(compute());
    const Subgraph& main = loaded_.imported->model.main;
    Json files = Json::array();
    for (size_t i = 0; i < loaded_.outputs.size(); ++i) {
      const OperandType type = main.operands[main.outputIndexes[i]].type;
      HALYARD_ASSIGN_OR_RETURN(const Shape dims,
                               cli::apiOutputDimensions(loaded_.execution.get(), i));
      const auto size = knownByteSize(type, dims);
      if (!size || *size > loaded_.outputs[i].size()) return opFailed("output {} is too large", i);
      HALYARD_ASSIGN_OR_RETURN(const media::NpyArray array,
                               cli::toNpy(type, dims, std::span(loaded_.outputs[i]).first(*size)));
      files.push_back(fmt::format("{}/halyard_{}.npy", folder, i));
      HALYARD_RETURN_IF_ERROR(media::saveNpy(array, files.back()));
    }
    return Json{{"files", std::move(files)}};
  }

  Result<Json> memory() const {
    HALYARD_ASSIGN_OR_RETURN(const int64_t pid, cli::driverProcessId(device_));
    const bool apart = pid != 0 && pid != ::getpid();
    return Json{{"base_kib", baseKib_},
                {"peak_kib", memoryField(0, "VmHWM")},
                {"driver_kib", apart ? memoryField(pid, "VmHWM") : 0}};
  }

  const std::string path_;
  const ANeuralNetworksDevice* const device_;
  const std::string cache_;
  std::vector<std::vector<uint8_t>> inputs_;
  const int64_t baseKib_;  // resident before the first call
  Loaded loaded_;
};

Status serve(int argc, char** argv) {
  const int64_t baseKib = memoryField(0, "VmRSS");
  if (argc < 4) return badData("expected MODEL DEVICE CACHE INPUT...");
  std::vector<std::vector<uint8_t>> inputs;
  for (int i = 4; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) return badData("cannot read {}", argv[i]);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  HALYARD_ASSIGN_OR_RETURN(const auto devices, cli::devicesOf({argv[2]}));
  Worker worker(argv[1], devices[0], argv[3], std::move(inputs), baseKib);
  for (std::string line; std::getline(std::cin, line);) {
    const Json command = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!command.is_object()) return badData("no command: {}", line);
    HALYARD_ASSIGN_OR_RETURN(const Json answer, worker.answer(command));
    std::cout << answer.dump() << std::endl;
  }
  return okStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const Status status = serve(argc, argv);
  if (status.ok()) return 0;
  std::cout << Json{{"error", status.toString()}}.dump() << std::endl;
  return 1;
}
