// A model that adds, through the C API, on one device and in every way of computing.
// Thread safety: one thread at a time. Ownership: owns its objects.
//
// Errors are texts, empty on success: the child of a fork and a process that exits have no test to
// report to.
#pragma once

#include <android/NeuralNetworks.h>
#include <halyard/halyard.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace halyard::lifetime {

inline std::string errorOf(int code, const char* call) {
  if (code == ANEURALNETWORKS_NO_ERROR) return {};
  return std::string(call) + ": code " + std::to_string(code) + ": " + halyard_lastErrorText();
}
#define HALYARD_LIFETIME_TRY(call)                                                           \
  do {                                                                                       \
    if (std::string failed_ = ::halyard::lifetime::errorOf((call), #call); !failed_.empty()) \
      return failed_;                                                                        \
  } while (false)

inline std::vector<std::string> allDevices() {
  std::vector<std::string> names;
  uint32_t count = 0;
  if (ANeuralNetworks_getDeviceCount(&count) != ANEURALNETWORKS_NO_ERROR) return names;
  for (uint32_t i = 0; i < count; ++i) {
    ANeuralNetworksDevice* device = nullptr;
    const char* name = "";
    ANeuralNetworks_getDevice(i, &device);
    ANeuralNetworksDevice_getName(device, &name);
    names.emplace_back(name);
  }
  return names;
}

inline ANeuralNetworksDevice* findDevice(const std::string& wanted) {
  const std::vector<std::string> names = allDevices();
  for (uint32_t i = 0; i < names.size(); ++i) {
    ANeuralNetworksDevice* device = nullptr;
    if (names[i] == wanted) ANeuralNetworks_getDevice(i, &device);
    if (device != nullptr) return device;
  }
  return nullptr;
}

// -1 when there is no such device.
inline int64_t processOf(const std::string& device) {
  int64_t pid = -1;
  halyard_deviceProcessId(findDevice(device), &pid);
  return pid;
}

class Adder {
 public:
  enum class Way { COMPUTE, BURST, EVENT, FENCED };
  static constexpr Way kWays[] = {Way::COMPUTE, Way::BURST, Way::EVENT, Way::FENCED};

  Adder() = default;
  ~Adder() { free(); }
  Adder(const Adder&) = delete;
  Adder& operator=(const Adder&) = delete;

  // `length`: the number of additions in sequence, each of `count` elements.
  std::string make(const std::string& device, uint32_t count = 100, uint32_t length = 1) {
    count_ = count;
    length_ = length;
    const ANeuralNetworksDevice* const found = findDevice(device);
    if (found == nullptr) return "there is no device " + device;
    HALYARD_LIFETIME_TRY(ANeuralNetworksModel_create(&model));
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &count_, 0, 0};
    const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, nullptr, 0, 0};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    HALYARD_LIFETIME_TRY(ANeuralNetworksModel_addOperand(model, &scalar));
    HALYARD_LIFETIME_TRY(ANeuralNetworksModel_setOperandValue(model, 0, &none, sizeof none));
    HALYARD_LIFETIME_TRY(ANeuralNetworksModel_addOperand(model, &tensor));
    HALYARD_LIFETIME_TRY(ANeuralNetworksModel_addOperand(model, &tensor));
    const uint32_t ends[] = {1, 2};
    uint32_t last = 2;
    for (uint32_t i = 0; i < length; ++i) {
      HALYARD_LIFETIME_TRY(ANeuralNetworksModel_addOperand(model, &tensor));
      const uint32_t inputs[] = {last, 1, 0};
      const uint32_t output = 3 + i;
      HALYARD_LIFETIME_TRY(
          ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, &output));
      last = output;
    }
    HALYARD_LIFETIME_TRY(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, ends, 1, &last));
    HALYARD_LIFETIME_TRY(ANeuralNetworksModel_finish(model));
    HALYARD_LIFETIME_TRY(
        ANeuralNetworksCompilation_createForDevices(model, &found, 1, &compilation));
    HALYARD_LIFETIME_TRY(ANeuralNetworksCompilation_finish(compilation));
    HALYARD_LIFETIME_TRY(ANeuralNetworksBurst_create(compilation, &burst));
    return {};
  }

  // Computes and checks each value. `timeoutNs`: of the execution; 0: no limit. "wrong: ..."
  // reports a wrong result.
  std::string compute(Way way, uint32_t seed, uint64_t timeoutNs = 0) {
    std::vector<float> a(count_);
    std::vector<float> b(count_);
    std::vector<float> out(count_, -1);
    for (uint32_t i = 0; i < count_; ++i) {
      a[i] = static_cast<float>((seed * 7919 + i * 31) % 1000);
      b[i] = static_cast<float>((seed * 104729 + i * 17) % 1000);
    }
    ANeuralNetworksExecution* execution = nullptr;
    HALYARD_LIFETIME_TRY(ANeuralNetworksExecution_create(compilation, &execution));
    const std::string error = computeIn(execution, way, timeoutNs, a, b, out);
    ANeuralNetworksExecution_free(execution);
    if (!error.empty()) return error;
    for (uint32_t i = 0; i < count_; ++i) {
      const float expected = b[i] + static_cast<float>(length_) * a[i];
      if (out[i] == expected) continue;
      return "wrong: element " + std::to_string(i) + " is " + std::to_string(out[i]) +
             ", expected " + std::to_string(expected);
    }
    return {};
  }
  std::string computeInAllWays(uint32_t seed) {
    for (const Way way : kWays) {
      if (std::string error = compute(way, seed); !error.empty()) return error;
    }
    return {};
  }

  void free() {
    ANeuralNetworksBurst_free(burst);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    burst = nullptr;
    compilation = nullptr;
    model = nullptr;
  }
  // Drops its objects without freeing them.
  void forget() {
    burst = nullptr;
    compilation = nullptr;
    model = nullptr;
  }

  ANeuralNetworksModel* model = nullptr;
  ANeuralNetworksCompilation* compilation = nullptr;
  ANeuralNetworksBurst* burst = nullptr;

 private:
  std::string computeIn(ANeuralNetworksExecution* execution, Way way, uint64_t timeoutNs,
                        const std::vector<float>& a, const std::vector<float>& b,
                        std::vector<float>& out) {
    const size_t bytes = count_ * sizeof(float);
    HALYARD_LIFETIME_TRY(ANeuralNetworksExecution_setInput(execution, 0, nullptr, a.data(), bytes));
    HALYARD_LIFETIME_TRY(ANeuralNetworksExecution_setInput(execution, 1, nullptr, b.data(), bytes));
    HALYARD_LIFETIME_TRY(
        ANeuralNetworksExecution_setOutput(execution, 0, nullptr, out.data(), bytes));
    if (timeoutNs != 0) {
      HALYARD_LIFETIME_TRY(ANeuralNetworksExecution_setTimeout(execution, timeoutNs));
    }
    ANeuralNetworksEvent* event = nullptr;
    std::string error;
    switch (way) {
      case Way::COMPUTE:
        return errorOf(ANeuralNetworksExecution_compute(execution), "compute");
      case Way::BURST:
        return errorOf(ANeuralNetworksExecution_burstCompute(execution, burst), "burstCompute");
      case Way::EVENT:
        error = errorOf(ANeuralNetworksExecution_startCompute(execution, &event), "startCompute");
        break;
      case Way::FENCED:
        error = errorOf(
            ANeuralNetworksExecution_startComputeWithDependencies(execution, nullptr, 0, 0, &event),
            "startComputeWithDependencies");
        break;
    }
    if (error.empty()) error = errorOf(ANeuralNetworksEvent_wait(event), "wait");
    ANeuralNetworksEvent_free(event);
    return error;
  }

  uint32_t count_ = 0;
  uint32_t length_ = 0;
};

}  // namespace halyard::lifetime
