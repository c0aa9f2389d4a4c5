// An application for crash_points_test: what one does with the C API, on the device halyard-crash
// whose driver may fail at any moment, and then without naming a device. Prints the first call that
// failed. Ends with 0 unless a result was wrong, an error had no text, or the runtime's own way out
// failed.
#include <android/NeuralNetworks.h>
#include <halyard/halyard.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

namespace {

constexpr uint32_t kValues = 4;
constexpr uint64_t kTimeout = 1'500'000'000;  // ns
constexpr float kA[kValues] = {1, 2, 3, 4};
constexpr float kB[kValues] = {10, 20, 30, 40};

// A damaged message may make another request of the one that was sent.
bool mayBeWrong = false;

[[noreturn]] void die(const char* what) {
  std::printf("%s: %s\n", what, halyard_lastErrorText());
  std::fflush(stdout);
  std::_Exit(1);
}

void must(int code, const char* what) {
  if (code != ANEURALNETWORKS_NO_ERROR) die(what);
}

ANeuralNetworksModel* makeModel() {
  ANeuralNetworksModel* model = nullptr;
  must(ANeuralNetworksModel_create(&model), "create");
  const uint32_t dims[] = {kValues};
  const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, dims, 0, 0};
  const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, nullptr, 0, 0};
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  const uint32_t inputs[] = {0, 1, 2};
  const uint32_t output = 3;
  must(ANeuralNetworksModel_addOperand(model, &tensor), "addOperand");
  must(ANeuralNetworksModel_addOperand(model, &tensor), "addOperand");
  must(ANeuralNetworksModel_addOperand(model, &scalar), "addOperand");
  must(ANeuralNetworksModel_addOperand(model, &tensor), "addOperand");
  must(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none), "setOperandValue");
  must(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, &output),
       "addOperation");
  must(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, &output), "identify");
  must(ANeuralNetworksModel_finish(model), "finish");
  return model;
}

ANeuralNetworksDevice* findDevice() {
  uint32_t count = 0;
  must(ANeuralNetworks_getDeviceCount(&count), "getDeviceCount");
  for (uint32_t i = 0; i < count; ++i) {
    ANeuralNetworksDevice* device = nullptr;
    const char* name = nullptr;
    must(ANeuralNetworks_getDevice(i, &device), "getDevice");
    must(ANeuralNetworksDevice_getName(device, &name), "getName");
    if (std::strcmp(name, "halyard-crash") == 0) return device;
  }
  return nullptr;
}

// One execution: its arguments, and a way to compute it.
class Run {
 public:
  explicit Run(ANeuralNetworksCompilation* compilation) {
    must(ANeuralNetworksExecution_create(compilation, &execution_), "Execution_create");
    must(ANeuralNetworksExecution_setInput(execution_, 0, nullptr, kA, sizeof kA), "setInput");
    must(ANeuralNetworksExecution_setInput(execution_, 1, nullptr, kB, sizeof kB), "setInput");
    must(ANeuralNetworksExecution_setOutput(execution_, 0, nullptr, out_, sizeof out_),
         "setOutput");
  }
  ~Run() { ANeuralNetworksExecution_free(execution_); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  int compute(const std::function<int(ANeuralNetworksExecution*)>& how) {
    const int code = how(execution_);
    if (code == ANEURALNETWORKS_NO_ERROR && !isRight()) die("wrong values with NO_ERROR");
    return code;
  }

 private:
  bool isRight() const {
    if (mayBeWrong) return true;
    for (uint32_t i = 0; i < kValues; ++i) {
      if (out_[i] != kA[i] + kB[i]) return false;
    }
    return true;
  }

  ANeuralNetworksExecution* execution_ = nullptr;
  float out_[kValues] = {};
};

int withEvent(ANeuralNetworksExecution* execution) {
  ANeuralNetworksEvent* event = nullptr;
  int code = ANeuralNetworksExecution_startCompute(execution, &event);
  if (code == ANEURALNETWORKS_NO_ERROR) code = ANeuralNetworksEvent_wait(event);
  ANeuralNetworksEvent_free(event);
  return code;
}

int withFence(ANeuralNetworksExecution* execution) {
  ANeuralNetworksEvent* event = nullptr;
  int code =
      ANeuralNetworksExecution_startComputeWithDependencies(execution, nullptr, 0, 0, &event);
  if (code == ANEURALNETWORKS_NO_ERROR) code = ANeuralNetworksEvent_wait(event);
  ANeuralNetworksEvent_free(event);
  return code;
}

// The name of the first call that failed; null: none. Its text must be there.
const char* useDevice(ANeuralNetworksModel* model, const ANeuralNetworksDevice* device) {
  const auto failed = [](int code) {
    if (code == ANEURALNETWORKS_NO_ERROR) return false;
    if (std::strlen(halyard_lastErrorText()) < 10) die("an error without text");
    return true;
  };
  bool supported = false;
  if (failed(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device, 1, &supported)))
    return "getSupportedOperationsForDevices";
  ANeuralNetworksCompilation* compilation = nullptr;
  must(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation), "create");
  must(ANeuralNetworksCompilation_setTimeout(compilation, kTimeout), "setTimeout");
  const char* step = nullptr;
  ANeuralNetworksBurst* burst = nullptr;
  if (failed(ANeuralNetworksCompilation_finish(compilation))) {
    step = "Compilation_finish";
  } else {
    must(ANeuralNetworksBurst_create(compilation, &burst), "Burst_create");
    const auto computed = [](ANeuralNetworksExecution* execution) {
      must(ANeuralNetworksExecution_setTimeout(execution, kTimeout), "setTimeout");
      return ANeuralNetworksExecution_compute(execution);
    };
    const auto bursted = [burst](ANeuralNetworksExecution* execution) {
      must(ANeuralNetworksExecution_setTimeout(execution, kTimeout), "setTimeout");
      return ANeuralNetworksExecution_burstCompute(execution, burst);
    };
    const auto evented = [](ANeuralNetworksExecution* execution) {
      must(ANeuralNetworksExecution_setTimeout(execution, kTimeout), "setTimeout");
      return withEvent(execution);
    };
    const auto fenced = [](ANeuralNetworksExecution* execution) {
      must(ANeuralNetworksExecution_setTimeout(execution, kTimeout), "setTimeout");
      return withFence(execution);
    };
    if (failed(Run(compilation).compute(computed))) {
      step = "compute";
    } else if (failed(Run(compilation).compute(evented))) {
      step = "startCompute";
    } else if (failed(Run(compilation).compute(bursted))) {
      step = "burstCompute";
    } else if (failed(Run(compilation).compute(fenced))) {
      step = "startComputeWithDependencies";
    }
  }
  if (step != nullptr) std::printf("%s: %s\n", step, halyard_lastErrorText());
  ANeuralNetworksBurst_free(burst);
  ANeuralNetworksCompilation_free(compilation);
  return step;
}

// Without a device named, whatever has become of the driver. One that dies in the very execution
// may make that one fail, but not the next.
void useAny(ANeuralNetworksModel* model) {
  constexpr int kTries = 3;
  for (int tries = 1;; ++tries) {
    ANeuralNetworksCompilation* compilation = nullptr;
    must(ANeuralNetworksCompilation_create(model, &compilation), "Compilation_create");
    must(ANeuralNetworksCompilation_finish(compilation), "Compilation_finish, any device");
    const int code = Run(compilation).compute(ANeuralNetworksExecution_compute);
    ANeuralNetworksCompilation_free(compilation);
    if (code == ANEURALNETWORKS_NO_ERROR) return;
    if (tries == kTries) die("compute, any device");
  }
}

}  // namespace

int main() {
  const char* const point = std::getenv("HALYARD_CRASH_POINT");
  mayBeWrong = point != nullptr && std::strstr(point, ":bit") != nullptr;
  ANeuralNetworksModel* const model = makeModel();
  if (ANeuralNetworksDevice* const device = findDevice()) {
    const char* const step = useDevice(model, device);
    if (step == nullptr) std::printf("completes\n");
  } else {
    std::printf("the device is not there\n");
  }
  // Drivers that are started from now on are good ones.
  ::unsetenv("HALYARD_CRASH_POINT");
  useAny(model);
  ANeuralNetworksModel_free(model);
  return 0;
}
