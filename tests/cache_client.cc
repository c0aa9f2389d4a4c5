// An application for caching_test: compiles out = (in + weights) * scale with caching, and runs it.
// For each compilation it prints the result of the cache, "hit", "miss" or "off", and the reason.
// The exit status is 0 unless a call failed or a result was wrong.
//
//   cache_client DEVICES FOLDER [NAME=VALUE...]
//
// DEVICES: names separated by commas. FOLDER: as for setCaching; "-": no caching. Names:
//   token       of the first compilation
//   rounds      number of compilations
//   tokens      number of different tokens, in turn; by default all rounds use the same one
//   weight, rows, preference, priority
//   large       number of floats in the weights
//   fds         1: the descriptor form, with files in FOLDER
//   kill        1: the driver dies between two executions; the output is of its second start
//   all         1: no device is named
#include <android/NeuralNetworks.h>
#include <fcntl.h>
#include <halyard/halyard.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::map<std::string, int> options = {
    {"token", 0}, {"rounds", 1}, {"tokens", 1},     {"weight", 1}, {"rows", 1}, {"preference", 1},
    {"large", 4}, {"fds", 0},    {"priority", 100}, {"kill", 0},   {"all", 0}};

[[noreturn]] void die(const std::string& what) {
  std::printf("%s: %s\n", what.c_str(), halyard_lastErrorText());
  std::fflush(stdout);
  std::_Exit(1);
}

void must(int code, const char* what) {
  if (code != ANEURALNETWORKS_NO_ERROR) die(what);
}

std::vector<float> weights() {
  std::vector<float> values(static_cast<size_t>(options["large"]), 2.0F);
  values.back() = static_cast<float>(options["weight"]);
  return values;
}

// `weights` must live as long as the model.
ANeuralNetworksModel* makeModel(const std::vector<float>& values) {
  ANeuralNetworksModel* model = nullptr;
  must(ANeuralNetworksModel_create(&model), "create");
  const auto columns = static_cast<uint32_t>(values.size());
  const uint32_t shape[] = {static_cast<uint32_t>(options["rows"]), columns};
  const uint32_t row[] = {columns};
  const uint32_t one[] = {1};
  const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 2, shape, 0, 0};
  const ANeuralNetworksOperandType vector = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, row, 0, 0};
  const ANeuralNetworksOperandType single = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, one, 0, 0};
  const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, nullptr, 0, 0};
  // 0 in, 1 weights, 2 activation, 3 sum, 4 scale, 5 out.
  for (const auto* type : {&tensor, &vector, &scalar, &tensor, &single, &tensor}) {
    must(ANeuralNetworksModel_addOperand(model, type), "addOperand");
  }
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  const float scale = 3;
  must(ANeuralNetworksModel_setOperandValue(model, 1, values.data(), values.size() * sizeof(float)),
       "setOperandValue");
  must(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none), "setOperandValue");
  must(ANeuralNetworksModel_setOperandValue(model, 4, &scale, sizeof scale), "setOperandValue");
  const uint32_t add[] = {0, 1, 2};
  const uint32_t mul[] = {3, 4, 2};
  const uint32_t ends[] = {0, 3, 5};
  must(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, add, 1, &ends[1]), "add");
  must(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_MUL, 3, mul, 1, &ends[2]), "mul");
  must(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &ends[0], 1, &ends[2]), "identify");
  must(ANeuralNetworksModel_finish(model), "finish model");
  return model;
}

std::vector<const ANeuralNetworksDevice*> findDevices(const std::string& names) {
  std::vector<const ANeuralNetworksDevice*> found;
  std::stringstream list(names);
  for (std::string wanted; std::getline(list, wanted, ',');) {
    uint32_t count = 0;
    must(ANeuralNetworks_getDeviceCount(&count), "getDeviceCount");
    for (uint32_t i = 0; i < count; ++i) {
      ANeuralNetworksDevice* device = nullptr;
      const char* name = nullptr;
      must(ANeuralNetworks_getDevice(i, &device), "getDevice");
      must(ANeuralNetworksDevice_getName(device, &name), "getName");
      if (wanted == name) found.push_back(device);
    }
  }
  if (found.empty()) die("no device " + names);
  return found;
}

void execute(ANeuralNetworksCompilation* compilation, const std::vector<float>& values) {
  const auto rows = static_cast<size_t>(options["rows"]);
  std::vector<float> in(rows * values.size(), 10);
  std::vector<float> out(in.size(), -1);
  ANeuralNetworksExecution* execution = nullptr;
  must(ANeuralNetworksExecution_create(compilation, &execution), "create execution");
  must(ANeuralNetworksExecution_setInput(execution, 0, nullptr, in.data(), in.size() * 4), "input");
  must(ANeuralNetworksExecution_setOutput(execution, 0, nullptr, out.data(), out.size() * 4),
       "output");
  must(ANeuralNetworksExecution_compute(execution), "compute");
  ANeuralNetworksExecution_free(execution);
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] != (10 + values[i % values.size()]) * 3) die("wrong result");
  }
}

void setFds(ANeuralNetworksCompilation* compilation, const ANeuralNetworksDevice* device,
            const std::string& folder, const uint8_t* token) {
  uint32_t counts[2] = {};
  if (halyard_deviceCacheFiles(device, &counts[0], &counts[1]) != ANEURALNETWORKS_NO_ERROR) {
    die("deviceCacheFiles");
  }
  std::vector<int> fds[2];
  for (int kind = 0; kind < 2; ++kind) {
    for (uint32_t i = 0; i < counts[kind]; ++i) {
      const std::string path = folder + "/own" + std::to_string(kind) + std::to_string(i);
      fds[kind].push_back(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    }
  }
  must(halyard_compilationSetCachingFromFds(compilation, fds[0].data(), counts[0], fds[1].data(),
                                            counts[1], token),
       "setCachingFromFds");
  for (const auto& list : fds) {
    for (const int fd : list) ::close(fd);
  }
}

// The state of the partitions on drivers.
void printCache(const ANeuralNetworksCompilation* compilation) {
  char* text = nullptr;
  if (halyard_compilationReport(compilation, &text) != ANEURALNETWORKS_NO_ERROR) die("report");
  const auto report = nlohmann::json::parse(text);
  halyard_free(text);
  for (const auto& partition : report.at("partitions")) {
    if (partition.at("device") == "nnapi-reference") continue;
    const auto& cache = partition.at("cache");
    std::printf("%s %s\n", cache.at("state").get<std::string>().c_str(),
                cache.at("reason").get<std::string>().c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string folder = argv[2];
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    if (equals == std::string::npos || !options.contains(word.substr(0, equals))) return 2;
    options[word.substr(0, equals)] = std::atoi(word.c_str() + equals + 1);
  }
  const std::vector<const ANeuralNetworksDevice*> devices = findDevices(argv[1]);
  const std::vector<float> values = weights();
  for (int round = 0; round < options["rounds"]; ++round) {
    ANeuralNetworksModel* model = makeModel(values);
    ANeuralNetworksCompilation* compilation = nullptr;
    if (options["all"] != 0) {
      must(ANeuralNetworksCompilation_create(model, &compilation), "create compilation");
    } else {
      must(ANeuralNetworksCompilation_createForDevices(
               model, devices.data(), static_cast<uint32_t>(devices.size()), &compilation),
           "create compilation");
    }
    must(ANeuralNetworksCompilation_setPreference(compilation, options["preference"]), "prefer");
    must(ANeuralNetworksCompilation_setPriority(compilation, options["priority"]), "priority");
    uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {};
    token[0] = static_cast<uint8_t>(options["token"] + round % options["tokens"]);
    if (options["fds"] != 0) {
      setFds(compilation, devices[0], folder, token);
    } else if (folder != "-") {
      must(ANeuralNetworksCompilation_setCaching(compilation, folder.c_str(), token), "setCaching");
    }
    must(ANeuralNetworksCompilation_finish(compilation), "finish");
    execute(compilation, values);
    if (options["kill"] != 0) {
      int64_t pid = 0;
      if (halyard_deviceProcessId(devices[0], &pid) != ANEURALNETWORKS_NO_ERROR || pid <= 1 ||
          pid == ::getpid()) {
        die("no driver's process");
      }
      ::kill(static_cast<pid_t>(pid), SIGKILL);
      execute(compilation, values);
    }
    printCache(compilation);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
  }
  return 0;
}
