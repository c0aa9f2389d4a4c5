// halyard_worker: runs one model on one device through the public C API, for bench/peers.
//
//   halyard_worker MODEL DEVICE INPUT...
//
// Each INPUT is a file with an input's bytes. Each line of standard input is a command. Each line
// of standard output is its answer. Both are JSON:
//
//   {"do": "load", "batch": N}       {"ms", "first_ms", "parts"}: loads and compiles the model, for
//                                    N times the inputs if N is not 0. Then makes an execution with
//                                    its memory and executes it once
//   {"do": "run", "seconds": S, "warm": W}   {"us": [...]}: executions for S seconds, after W
//                                    seconds without times
//   {"do": "arrive", "start": T, "at": [...]}   {"us": [...]}: executions that are due at these
//                                    seconds after T, on the monotonic clock, and one after the
//                                    other. The times count from when they are due
//   {"do": "output", "folder": F}    {"files": [...]}: the outputs of one execution as .npy
//   {"do": "classify", "file": F}    {"classes": [...]}: the greatest element of the first output
//                                    for each of the first inputs in the file
//   {"do": "memory"}                 {"base_kib", "peak_kib", "driver_kib", "shared_kib"}: peaks,
//                                    and the part of files that both processes have mapped now
//
// An answer {"error": text} ends the program.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "client/session.h"
#include "client/status.h"
#include "import/tflite/importer.h"
#include "measure/device_choice.h"
#include "measure/model_source.h"
#include "measure/repeated_run.h"
#include "measure/tensor_values.h"
#include "media/npy.h"

namespace {

using namespace halyard;  // NOLINT(google-build-using-namespace)
using client::Session;
using measure::RepeatedRun;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

// A field of /proc/PID/status in KiB; 0 without the field.
int64_t memoryField(int64_t pid, const std::string& field) {
  std::ifstream file(pid == 0 ? "/proc/self/status" : fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1));
  }
  return 0;
}

// Each mapping of a file by device, inode and offset. The value is the KiB that are in memory and
// that another process also maps.
std::map<std::string, int64_t> sharedPages(int64_t pid) {
  std::map<std::string, int64_t> files;
  std::ifstream smaps(pid == 0 ? "/proc/self/smaps" : fmt::format("/proc/{}/smaps", pid));
  int64_t* current = nullptr;
  for (std::string line; std::getline(smaps, line);) {
    std::istringstream words(line);
    std::string first;
    std::string second;
    words >> first >> second;
    if (!first.ends_with(':')) {  // range, protection, offset, device, inode
      std::string offset;
      std::string device;
      std::string inode;
      words >> offset >> device >> inode;
      current = inode == "0" ? nullptr : &files[fmt::format("{} {} {}", device, inode, offset)];
    } else if (current != nullptr && first.starts_with("Shared_")) {
      *current += std::stoll(second);
    }
  }
  return files;
}

// An upper bound of the KiB that this process and the other one share.
int64_t sharedWith(int64_t pid) {
  const std::map<std::string, int64_t> mine = sharedPages(0);
  int64_t shared = 0;
  for (const auto& [file, theirs] : sharedPages(pid)) {
    const auto at = mine.find(file);
    if (at != mine.end()) shared += std::min(at->second, theirs);
  }
  return shared;
}

class Worker {
 public:
  Worker(std::string path, const ANeuralNetworksDevice* device,
         std::vector<std::vector<uint8_t>> inputs, int64_t baseKib)
      : path_(std::move(path)), device_(device), inputs_(std::move(inputs)), baseKib_(baseKib) {}

  Result<Json> answer(const Json& command) {
    const std::string what = command.value("do", "");
    if (what == "load") return load(command.value("batch", 0u));
    if (what == "run") return run(command.value("seconds", 0.05), command.value("warm", 0.0));
    if (what == "arrive") {
      return arrive(command.value("start", 0.0), command.value("at", std::vector<double>()));
    }
    if (what == "output") return output(command.value("folder", "."));
    if (what == "classify") return classify(command.value("file", ""));
    if (what == "memory") return memory();
    return badData("command {}", command.dump());
  }

 private:
  // The inputs of each element, one behind the other.
  std::vector<std::vector<uint8_t>> inputsFor(uint32_t batch) const {
    std::vector<std::vector<uint8_t>> inputs = inputs_;
    for (std::vector<uint8_t>& input : inputs) {
      const std::vector<uint8_t> one = input;
      for (uint32_t i = 1; i < batch; ++i) input.insert(input.end(), one.begin(), one.end());
    }
    return inputs;
  }

  Result<Json> load(uint32_t batch) {
    // The previous objects are released first, as in LiteRT's worker.
    run_.reset();
    session_.reset();
    imported_.reset();
    const auto start = Clock::now();
    HALYARD_ASSIGN_OR_RETURN(import::ImportOptions options,
                             measure::importOptionsFor({&device_, 1}));
    options.batch = batch;
    HALYARD_ASSIGN_OR_RETURN(imported_, measure::loadBenchModel(path_, options));
    const double imported = milliseconds(start);
    HALYARD_ASSIGN_OR_RETURN(session_, client::Session::create(std::shared_ptr<const Model>(
                                           imported_, &imported_->model)));
    const double built = milliseconds(start);
    HALYARD_RETURN_IF_ERROR(session_->compile(device_));
    const double all = milliseconds(start);
    const auto first = Clock::now();
    HALYARD_ASSIGN_OR_RETURN(run_, RepeatedRun::create(*session_, inputsFor(batch)));
    HALYARD_RETURN_IF_ERROR(run_->compute());
    return Json{
        {"ms", all},
        {"first_ms", milliseconds(first)},
        {"parts", {{"import", imported}, {"model", built - imported}, {"compile", all - built}}}};
  }

  Status compute() const {
    if (run_ == nullptr) return badState("nothing is loaded");
    return run_->compute();
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

  Result<Json> arrive(double start, const std::vector<double>& at) const {
    std::vector<double> times;
    for (const double seconds : at) {
      const Clock::time_point due(std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(start + seconds)));
      std::this_thread::sleep_until(due);
      HALYARD_RETURN_IF_ERROR(compute());
      times.push_back(milliseconds(due) * 1000);
    }
    return Json{{"us", std::move(times)}};
  }

  Result<Json> classify(const std::string& path) const {
    if (run_ == nullptr) return badState("nothing is loaded");
    std::ifstream file(path, std::ios::binary);
    const std::span<uint8_t> input = run_->input(0);
    const import::ModelPort& port = imported_->outputs[0];
    Json classes = Json::array();
    while (file.read(reinterpret_cast<char*>(input.data()),
                     static_cast<std::streamsize>(input.size()))) {
      HALYARD_RETURN_IF_ERROR(compute());
      HALYARD_ASSIGN_OR_RETURN(const client::Output output, run_->output(0));
      HALYARD_ASSIGN_OR_RETURN(
          const std::vector<float> scores,
          measure::realValues({port.type, port.scale, port.zeroPoint}, output.bytes));
      classes.push_back(std::ranges::max_element(scores) - scores.begin());
    }
    return Json{{"classes", std::move(classes)}};
  }

  Result<Json> output(const std::string& folder) const {
    HALYARD_RETURN_IF_ERROR(compute());
    Json files = Json::array();
    for (size_t i = 0; i < run_->outputCount(); ++i) {
      HALYARD_ASSIGN_OR_RETURN(const client::Output output, run_->output(i));
      HALYARD_ASSIGN_OR_RETURN(
          const media::NpyArray array,
          measure::toNpy(imported_->outputs[i].type, output.dimensions, output.bytes));
      files.push_back(fmt::format("{}/halyard_{}.npy", folder, i));
      HALYARD_RETURN_IF_ERROR(media::saveNpy(array, files.back()));
    }
    return Json{{"files", std::move(files)}};
  }

  Result<Json> memory() const {
    HALYARD_ASSIGN_OR_RETURN(const int64_t pid, client::driverProcessId(device_));
    const bool apart = pid != 0 && pid != ::getpid();
    return Json{{"base_kib", baseKib_},
                {"peak_kib", memoryField(0, "VmHWM")},
                {"driver_kib", apart ? memoryField(pid, "VmHWM") : 0},
                {"shared_kib", apart ? sharedWith(pid) : 0}};
  }

  const std::string path_;
  const ANeuralNetworksDevice* const device_;
  const std::vector<std::vector<uint8_t>> inputs_;
  const int64_t baseKib_;  // resident memory before the first call
  std::shared_ptr<const import::ImportedModel> imported_;
  std::unique_ptr<client::Session> session_;
  std::unique_ptr<RepeatedRun> run_;
};

Status serve(int argc, char** argv) {
  const int64_t baseKib = memoryField(0, "VmRSS");
  if (argc < 3) return badData("expected MODEL DEVICE INPUT...");
  std::vector<std::vector<uint8_t>> inputs;
  for (int i = 3; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) return badData("cannot read {}", argv[i]);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  HALYARD_ASSIGN_OR_RETURN(const auto devices, measure::devicesOf({argv[2]}));
  Worker worker(argv[1], devices[0], std::move(inputs), baseKib);
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
