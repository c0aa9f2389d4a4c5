// Measures the cost of a batch that only executions determine. It compares the same model with a
// known and with an unknown batch, in turns through the C API. The CPU driver runs in its own
// process, or as a library in this one:
//
//   shapes_bench [--library] [--rounds N] [--threads N] [MODEL...]
//
// Models are named as for cpu_bench. By default they are resnet_cifar10_int8,
// mobilenet_v1_0.25_128_quant and kws_ref_int8 beside the source tree. The figures are medians of
// single executions with batch 1: the first and the second one of a compilation, and later ones in
// a burst. Also those of the reference kernels (the runtime's own device), and the first execution
// with another batch.
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/bench_models.h"
#include "client/canonical_model.h"
#include "client/status.h"

namespace {

using namespace halyard;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kDriver = "halyard-cpu";
constexpr const char* kReference = "nnapi-reference";
constexpr size_t kHotTimes = 40;  // executions of one model in a turn

double median(std::vector<double> times) {
  std::ranges::nth_element(times, times.begin() + static_cast<ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

// Makes operation `reshape` compute the number of rows where its shape says one.
void openReshape(const Operation& reshape, Model* model) {
  const Operand& shape = model->main.operands[reshape.inputs[1]];
  if (shape.lifetime != Lifetime::CONSTANT_COPY || shape.location.length < sizeof(int32_t)) return;
  std::vector<int32_t> dims(shape.location.length / sizeof(int32_t));
  std::memcpy(dims.data(), model->operandValues.data() + shape.location.offset,
              shape.location.length);
  if (dims[0] != 1 || std::ranges::find(dims, -1) != dims.end()) return;
  dims[0] = -1;
  model->main.operands[reshape.inputs[1]].location =
      appendConstant(*model, dims.data(), dims.size() * sizeof(int32_t));
}

// The model with a batch that only executions determine.
std::shared_ptr<const Model> openModel(const Model& model) {
  Model open = model;
  for (const Operation& operation : model.main.operations) {
    if (operation.type == OperationType::RESHAPE) openReshape(operation, &open);
  }
  for (Operand& operand : open.main.operands) {
    const bool isValue = operand.lifetime == Lifetime::SUBGRAPH_INPUT ||
                         operand.lifetime == Lifetime::SUBGRAPH_OUTPUT ||
                         operand.lifetime == Lifetime::TEMPORARY_VARIABLE;
    if (isValue && !operand.dimensions.empty()) operand.dimensions[0] = 0;
  }
  return std::make_shared<const Model>(std::move(open));
}

// Memory for executions of a model with a given batch.
class Buffers {
 public:
  Buffers(const Model& known, uint32_t batch) {
    const auto add = [&](const std::vector<uint32_t>& indexes, auto* arguments) {
      for (const uint32_t index : indexes) {
        Operand operand = known.main.operands[index];
        if (!operand.dimensions.empty()) operand.dimensions[0] *= batch;
        const size_t bytes = knownByteSize(operand.type, operand.dimensions).value_or(1 << 16);
        arguments->push_back({operand, std::vector<uint8_t>(bytes, uint8_t{1})});
      }
    };
    add(known.main.inputIndexes, &inputs_);
    add(known.main.outputIndexes, &outputs_);
  }

  Result<client::Execution> begin(ANeuralNetworksCompilation* compilation) {
    client::Execution execution;
    HALYARD_RETURN_IF_FAILED(execution.create(compilation));
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const auto& [operand, bytes] = inputs_[i];
      const ANeuralNetworksOperandType type = client::operandType(operand, operand.dimensions);
      HALYARD_RETURN_IF_FAILED(
          execution.setInput(static_cast<int32_t>(i), &type, bytes.data(), bytes.size()));
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      auto& bytes = outputs_[i].second;
      HALYARD_RETURN_IF_FAILED(
          execution.setOutput(static_cast<int32_t>(i), nullptr, bytes.data(), bytes.size()));
    }
    return execution;
  }

 private:
  using Argument = std::pair<Operand, std::vector<uint8_t>>;
  std::vector<Argument> inputs_;
  std::vector<Argument> outputs_;
};

Result<double> timeOf(ANeuralNetworksCompilation* compilation, ANeuralNetworksBurst* burst,
                      Buffers& buffers) {
  HALYARD_ASSIGN_OR_RETURN(const auto execution, buffers.begin(compilation));
  const Clock::time_point start = Clock::now();
  if (burst == nullptr) {
    HALYARD_RETURN_IF_FAILED(execution.compute());
  } else {
    HALYARD_RETURN_IF_FAILED(execution.burstCompute(burst));
  }
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// Microseconds.
struct Times {
  std::vector<double> first;
  std::vector<double> second;
  std::vector<double> plain;  // later executions
  std::vector<double> burst;
  std::vector<double> otherBatch;  // the first execution with another batch
};

// A compilation with its first executions.
class Subject {
 public:
  static Result<Subject> create(const std::shared_ptr<const Model>& model, const Model& known,
                                const ANeuralNetworksDevice* device) {
    Subject subject;
    HALYARD_ASSIGN_OR_RETURN(subject.model_, client::CanonicalModel::create(model));
    HALYARD_ASSIGN_OR_RETURN(subject.compilation_,
                             subject.model_->createCompilation(std::span(&device, 1)));
    HALYARD_RETURN_IF_FAILED(
        subject.compilation_.setPreference(ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER));
    HALYARD_RETURN_IF_FAILED(subject.compilation_.finish());
    HALYARD_RETURN_IF_FAILED(subject.burst_.create(subject.compilation_.get()));
    subject.buffers_.emplace_back(known, 1);
    return subject;
  }

  Status begin(Times* times) {
    for (auto* list : {&times->first, &times->second}) {
      HALYARD_RETURN_IF_ERROR(add(/*inBurst=*/false, list));
    }
    return okStatus();
  }
  Status goOn(Times* times) {
    for (const bool inBurst : {false, true}) {
      std::vector<double> warmUp;
      for (int i = 0; i < 3; ++i) HALYARD_RETURN_IF_ERROR(add(inBurst, &warmUp));
      for (size_t i = 0; i < kHotTimes; ++i) {
        HALYARD_RETURN_IF_ERROR(add(inBurst, inBurst ? &times->burst : &times->plain));
      }
    }
    return okStatus();
  }
  Status otherBatch(const Model& known, Times* times) {
    Buffers other(known, 2);
    HALYARD_ASSIGN_OR_RETURN(const double time, timeOf(compilation_.get(), nullptr, other));
    times->otherBatch.push_back(time);
    return okStatus();
  }

 private:
  Subject() = default;
  Status add(bool inBurst, std::vector<double>* to) {
    HALYARD_ASSIGN_OR_RETURN(
        const double time,
        timeOf(compilation_.get(), inBurst ? burst_.get() : nullptr, buffers_[0]));
    to->push_back(time);
    return okStatus();
  }

  std::unique_ptr<client::CanonicalModel> model_;
  client::Compilation compilation_;
  client::Burst burst_;
  std::vector<Buffers> buffers_;
};

struct Wishes {
  int rounds = 15;
  bool isLibrary = false;
  std::string threads;
  std::vector<std::string> models;
};

// Measures the model with a known and with an unknown batch.
Result<std::array<Times, 2>> measure(const std::shared_ptr<const Model>& known,
                                     const std::shared_ptr<const Model>& open,
                                     const ANeuralNetworksDevice* device, const Wishes& wishes) {
  std::array<Times, 2> times;
  for (int round = 0; round < wishes.rounds; ++round) {
    std::vector<Subject> subjects;
    for (size_t i = 0; i < 2; ++i) {
      HALYARD_ASSIGN_OR_RETURN(Subject subject,
                               Subject::create(i == 0 ? known : open, *known, device));
      HALYARD_RETURN_IF_ERROR(subject.begin(&times[i]));
      subjects.push_back(std::move(subject));
    }
    for (int turn = 0; turn < 4; ++turn) {
      for (size_t i = 0; i < 2; ++i) HALYARD_RETURN_IF_ERROR(subjects[i].goOn(&times[i]));
    }
    // Some models do not work with every batch.
    (void)subjects[1].otherBatch(*known, &times[1]);
  }
  return times;
}

void print(const std::string& model, const std::string& device, const std::array<Times, 2>& times) {
  const auto pair = [&](std::vector<double> Times::*list) {
    const double known = median(times[0].*list);
    const double open = median(times[1].*list);
    return fmt::format("{:8.1f} {:8.1f} {:5.2f}", known, open, open / known);
  };
  const auto& other = times[1].otherBatch;
  fmt::print("{:<28} {:<20} {} | {} | {} | {} | {}\n", model, device, pair(&Times::first),
             pair(&Times::second), pair(&Times::plain), pair(&Times::burst),
             other.empty() ? "-" : fmt::format("{:.1f}", median(other)));
  std::fflush(stdout);
}

void makeDriver(const fs::path& folder, const Wishes& wishes) {
  const std::string& threads = wishes.threads;
  nlohmann::json manifest = {{"name", kDriver}, {"version", "1"}, {"hal_version", "1.3"}};
  if (wishes.isLibrary) {
    manifest["library"] = HALYARD_CPU_LIBRARY;
    if (!threads.empty()) ::setenv("HALYARD_CPU_THREADS", threads.c_str(), 1);
  } else {
    manifest["executable"] = HALYARD_CPU_DRIVER;
    if (!threads.empty()) manifest["arguments"] = {"--threads=" + threads};
  }
  const fs::path path = folder / "cpu.json";
  std::ofstream(path) << manifest.dump();
  ::setenv("HALYARD_DRIVER_FILES", path.c_str(), 1);
  ::setenv("XDG_STATE_HOME", (folder / "state").c_str(), 1);
}

int run(const Wishes& wishes) {
  const auto devices = client::allDevices();
  if (!devices.ok()) {
    fmt::print(stderr, "shapes_bench: {}\n", devices.status().toString());
    return 1;
  }
  fmt::print("{:<28} {:<20} {:^23} | {:^23} | {:^23} | {:^23} | {}\n", "us: known, open, ratio", "",
             "first", "second", "later", "in a burst", "other batch");
  for (const std::string& path : wishes.models) {
    const auto found = bench::findModel(path);
    if (!found.ok()) {
      fmt::print("{}: {}\n", path, found.status().toString());
      continue;
    }
    const std::shared_ptr<const Model>& known = *found;
    const std::shared_ptr<const Model> open = openModel(*known);
    for (const char* name : {kDriver, kReference}) {
      const auto device = std::ranges::find(*devices, name, &client::Device::name);
      if (device == devices->end()) continue;
      const auto times = measure(known, open, device->handle, wishes);
      const std::string title = fs::path(path).stem();
      if (times.ok()) {
        print(title, name, *times);
      } else {
        fmt::print("{:<28} {:<20} {}\n", title, name, times.status().toString());
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Wishes wishes;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--rounds" && i + 1 < argc) {
      wishes.rounds = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--threads" && i + 1 < argc) {
      wishes.threads = argv[++i];
    } else if (word == "--library") {
      wishes.isLibrary = true;
    } else if (word[0] == '-') {
      fmt::print(stderr, "usage: shapes_bench [--library] [--rounds N] [--threads N] [MODEL...]\n");
      return 2;
    } else {
      wishes.models.push_back(word);
    }
  }
  if (wishes.models.empty()) {
    const fs::path folder = fs::path(HALYARD_SOURCE_DIR).parent_path() / "shared/models";
    for (const char* name :
         {"resnet_cifar10_int8", "mobilenet_v1_0.25_128_quant", "kws_ref_int8"}) {
      wishes.models.push_back((folder / name).string() + ".tflite");
    }
  }
  std::string folder = (fs::temp_directory_path() / "shapes_bench_XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    std::perror("shapes_bench: temporary folder");
    return 1;
  }
  makeDriver(folder, wishes);
  const int status = run(wishes);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return status;
}
