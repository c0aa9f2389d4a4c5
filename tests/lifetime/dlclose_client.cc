// A program that loads libneuralnetworks.so by itself and closes it while the library's threads
// run.
//
//   dlclose_client LIBRARY DEVICE
//
// The exit status is 42. Another status comes with an error text on standard error.
#include <android/NeuralNetworks.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "dlclose_client: %s\n", what);
  std::exit(1);
}

struct Library {
  explicit Library(const char* path) : object(::dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (object == nullptr) check(false, ::dlerror());
  }
  template <typename Function>
  Function* find(const char* name) const {
    auto* const found = reinterpret_cast<Function*>(::dlsym(object, name));
    check(found != nullptr, name);
    return found;
  }
  void* object;
};
#define FIND(name) const auto name##_ = library.find<decltype(::name)>(#name)

constexpr uint32_t kCount = 100'000;
constexpr uint32_t kLength = 400;

// Begins an execution that takes some tenths of a second, and releases all objects.
void work(const char* path, const std::string& wanted, std::vector<float>& in,
          std::vector<float>& out) {
  const Library library(path);
  FIND(ANeuralNetworks_getDeviceCount);
  FIND(ANeuralNetworks_getDevice);
  FIND(ANeuralNetworksDevice_getName);
  FIND(ANeuralNetworksModel_create);
  FIND(ANeuralNetworksModel_addOperand);
  FIND(ANeuralNetworksModel_setOperandValue);
  FIND(ANeuralNetworksModel_addOperation);
  FIND(ANeuralNetworksModel_identifyInputsAndOutputs);
  FIND(ANeuralNetworksModel_finish);
  FIND(ANeuralNetworksCompilation_createForDevices);
  FIND(ANeuralNetworksCompilation_finish);
  FIND(ANeuralNetworksExecution_create);
  FIND(ANeuralNetworksExecution_setInput);
  FIND(ANeuralNetworksExecution_setOutput);
  FIND(ANeuralNetworksExecution_startCompute);
  uint32_t count = 0;
  ANeuralNetworks_getDeviceCount_(&count);
  ANeuralNetworksDevice* device = nullptr;
  for (uint32_t i = 0; i < count; ++i) {
    ANeuralNetworksDevice* each = nullptr;
    const char* name = "";
    ANeuralNetworks_getDevice_(i, &each);
    ANeuralNetworksDevice_getName_(each, &name);
    if (wanted == name) device = each;
  }
  check(device != nullptr, "there is no such device");
  ANeuralNetworksModel* model = nullptr;
  ANeuralNetworksModel_create_(&model);
  const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &kCount, 0, 0};
  const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, nullptr, 0, 0};
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  ANeuralNetworksModel_addOperand_(model, &scalar);
  ANeuralNetworksModel_setOperandValue_(model, 0, &none, sizeof none);
  ANeuralNetworksModel_addOperand_(model, &tensor);
  for (uint32_t i = 1; i <= kLength; ++i) {
    ANeuralNetworksModel_addOperand_(model, &tensor);
    const uint32_t inputs[] = {i, 1, 0};
    const uint32_t output = i + 1;
    ANeuralNetworksModel_addOperation_(model, ANEURALNETWORKS_ADD, 3, inputs, 1, &output);
  }
  const uint32_t first = 1;
  const uint32_t last = kLength + 1;
  ANeuralNetworksModel_identifyInputsAndOutputs_(model, 1, &first, 1, &last);
  check(ANeuralNetworksModel_finish_(model) == 0, "Model_finish");
  ANeuralNetworksCompilation* compilation = nullptr;
  ANeuralNetworksCompilation_createForDevices_(model, &device, 1, &compilation);
  check(ANeuralNetworksCompilation_finish_(compilation) == 0, "Compilation_finish");
  ANeuralNetworksExecution* execution = nullptr;
  ANeuralNetworksExecution_create_(compilation, &execution);
  const size_t bytes = kCount * sizeof(float);
  ANeuralNetworksExecution_setInput_(execution, 0, nullptr, in.data(), bytes);
  ANeuralNetworksExecution_setOutput_(execution, 0, nullptr, out.data(), bytes);
  ANeuralNetworksEvent* event = nullptr;
  check(ANeuralNetworksExecution_startCompute_(execution, &event) == 0, "startCompute");
  check(::dlclose(library.object) == 0, "dlclose");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  // Not freed: the second execution runs until the process ends.
  auto& in = *new std::vector<float>(kCount, 1);
  auto& out = *new std::vector<float>(kCount, 0);
  work(argv[1], argv[2], in, out);
  // The thread of the execution writes its last value at its end.
  const volatile float& value = out[kCount - 1];
  for (int i = 0; i < 3000 && value == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  check(value == kLength + 1, "the execution did not end as it should");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  work(argv[1], argv[2], in, out);
  return 42;
}
