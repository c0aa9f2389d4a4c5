// World: objects of the C API in each of their states, made when a row of a table asks for them.
// Thread safety: one thread. Findings belong to the thread.
// Ownership: frees all objects that it has made, the last first.
#pragma once

#include <android/NeuralNetworksOEM.h>
#include <android/hardware_buffer.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/nnapi.h"
#include "client/sum_model.h"
#include "halyard/driver/sync_fence.h"
#include "validation/misuse/findings.h"

namespace halyard::misuse {

using client::addOperand;
using client::addOperation;
using client::Dims;
using client::identifyInputsAndOutputs;
using client::OperandDescription;

class World {
 public:
  // Models are compiled for `device`, or for the CPU device if only that supports the model.
  explicit World(const ANeuralNetworksDevice* device) : device_(device) {}
  ~World() {
    for (auto it = owned_.rbegin(); it != owned_.rend(); ++it) (*it)();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const ANeuralNetworksDevice* device() const { return device_; }
  // The runtime's own CPU device, which is the last in the list.
  static const ANeuralNetworksDevice* cpu() {
    std::vector<client::Device> devices;
    ROW_OK(client::listDevices(devices));
    return devices.back().handle;
  }

  // Whether the device's interface is older than an object needs. Then the findings do not count.
  bool isTooOld() const { return isTooOld_; }

  // An empty model.
  ANeuralNetworksModel* model() {
    client::Model made;
    ROW_OK(made.create());
    return keep(std::move(made));
  }
  // out = a + b, float32, not finished. Operands: 0 a, 1 b, 2 activation (constant), 3 out.
  ANeuralNetworksModel* sum(const Dims& a = {2}, const Dims& b = {2}, const Dims& out = {2}) {
    ANeuralNetworksModel* const made = model();
    ROW_OK(client::addSum(made, a, b, out));
    return made;
  }
  ANeuralNetworksModel* finished(ANeuralNetworksModel* model) {
    ROW_OK(ANeuralNetworksModel_finish(model));
    return model;
  }
  ANeuralNetworksModel* finishedSum() { return finished(sum()); }
  // A model whose finish has failed.
  ANeuralNetworksModel* invalid() {
    ANeuralNetworksModel* const made = model();
    ROW_EQ(ANeuralNetworksModel_finish(made), ANEURALNETWORKS_BAD_DATA);
    return made;
  }
  // A sum whose activation is an input, finished. Operands: 0 a, 1 b, 2 activation, 3 out.
  ANeuralNetworksModel* sumWithActivationInput() {
    ANeuralNetworksModel* const made = model();
    for (const int i : {0, 1}) {
      (void)i;
      ROW_OK(addOperand(made, ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
    }
    ROW_OK(addOperand(made, ANEURALNETWORKS_INT32));
    ROW_OK(addOperand(made, ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
    ROW_OK(addOperation(made, ANEURALNETWORKS_ADD, {0, 1, 2}, {3}));
    ROW_OK(identifyInputsAndOutputs(made, {0, 1, 2}, {3}));
    return finished(made);
  }
  // A model with an operation that no device here has.
  ANeuralNetworksModel* oem() {
    ANeuralNetworksModel* const made = model();
    for (const int i : {0, 1}) {
      (void)i;
      ROW_OK(addOperand(made, ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
    }
    ROW_OK(addOperation(made, ANEURALNETWORKS_OEM_OPERATION, {0}, {1}));
    ROW_OK(identifyInputsAndOutputs(made, {0}, {1}));
    return finished(made);
  }

  // A compilation for one device, not finished.
  ANeuralNetworksCompilation* compilation(ANeuralNetworksModel* model) {
    return compilationFor(model, deviceFor(model));
  }
  ANeuralNetworksCompilation* compilationFor(ANeuralNetworksModel* model,
                                             const ANeuralNetworksDevice* device) {
    client::Compilation made;
    ROW_OK(made.createForDevices(model, {&device, 1}));
    return keep(std::move(made));
  }
  ANeuralNetworksCompilation* compilation() { return compilation(finishedSum()); }
  // A compilation for devices of the runtime's choice, not finished.
  ANeuralNetworksCompilation* freeCompilation(ANeuralNetworksModel* model) {
    client::Compilation made;
    ROW_OK(made.create(model));
    return keep(std::move(made));
  }
  ANeuralNetworksCompilation* finished(ANeuralNetworksCompilation* compilation) {
    ROW_OK(ANeuralNetworksCompilation_finish(compilation));
    return compilation;
  }
  ANeuralNetworksCompilation* compiled() { return finished(compilation()); }
  ANeuralNetworksCompilation* compiled(ANeuralNetworksModel* model) {
    return finished(compilation(model));
  }
  ANeuralNetworksCompilation* freelyCompiled() { return finished(freeCompilation(finishedSum())); }
  // A compilation whose finish has failed.
  ANeuralNetworksCompilation* failedCompilation() {
    ANeuralNetworksCompilation* const made = compilation(oem());
    ROW_EQ(ANeuralNetworksCompilation_finish(made), ANEURALNETWORKS_BAD_DATA);
    return made;
  }

  ANeuralNetworksExecution* execution(ANeuralNetworksCompilation* compilation) {
    client::Execution made;
    ROW_OK(made.create(compilation));
    return keep(std::move(made));
  }
  ANeuralNetworksExecution* execution() { return execution(compiled()); }
  // An execution with all arguments set. Without other sizes, each argument has two floats.
  ANeuralNetworksExecution* ready(ANeuralNetworksCompilation* compilation) {
    ANeuralNetworksExecution* const made = execution(compilation);
    ROW_OK(ANeuralNetworksExecution_setInput(made, 0, nullptr, values, 8));
    ROW_OK(ANeuralNetworksExecution_setInput(made, 1, nullptr, values, 8));
    ROW_OK(ANeuralNetworksExecution_setOutput(made, 0, nullptr, result, 8));
    return made;
  }
  ANeuralNetworksExecution* ready() { return ready(compiled()); }
  ANeuralNetworksExecution* computed(ANeuralNetworksCompilation* compilation) {
    ANeuralNetworksExecution* const made = ready(compilation);
    ROW_OK(ANeuralNetworksExecution_compute(made));
    return made;
  }
  ANeuralNetworksExecution* computed() { return computed(compiled()); }
  // An execution that is being computed until the world ends: it waits for a fence.
  ANeuralNetworksExecution* computing() {
    ANeuralNetworksExecution* const made = ready();
    auto fence = std::make_shared<NewFence>(createFence().value());
    const ANeuralNetworksEvent* const dependency = eventOf(fence->fence.get());
    ANeuralNetworksEvent* event = nullptr;
    ROW_OK(ANeuralNetworksExecution_startComputeWithDependencies(made, &dependency, 1, 0, &event));
    keep(client::Event(event));
    atEnd([fence, event] {
      fence->signaller.signal();
      ROW_OK(ANeuralNetworksEvent_wait(event));
    });
    return made;
  }
  // An execution whose computation has failed.
  ANeuralNetworksExecution* failedExecution() {
    ANeuralNetworksExecution* const made = execution();
    ROW_EQ(ANeuralNetworksExecution_compute(made), ANEURALNETWORKS_BAD_DATA);
    return made;
  }
  // out[?] = a[?] + b[1], with two elements for an output with room for one.
  ANeuralNetworksExecution* tooSmall() {
    needLevel(ANEURALNETWORKS_FEATURE_LEVEL_3);
    ANeuralNetworksExecution* const made = execution(compiled(finished(sum({0}, {1}, {0}))));
    const OperandDescription two(ANEURALNETWORKS_TENSOR_FLOAT32, {2});
    ROW_OK(ANeuralNetworksExecution_setInput(made, 0, two.get(), values, 8));
    ROW_OK(ANeuralNetworksExecution_setInput(made, 1, nullptr, values, 4));
    ROW_OK(ANeuralNetworksExecution_setOutput(made, 0, nullptr, result, 4));
    return made;
  }

  ANeuralNetworksBurst* burst(ANeuralNetworksCompilation* compilation) {
    client::Burst made;
    ROW_OK(made.create(compilation));
    return keep(std::move(made));
  }

  ANeuralNetworksEvent* eventOf(int fd) {
    client::Event made;
    ROW_OK(made.createFromSyncFenceFd(fd));
    return keep(std::move(made));
  }
  // An event with a fence that has failed.
  ANeuralNetworksEvent* failedEvent() {
    NewFence fence = createFence().value();
    ANeuralNetworksEvent* const made = eventOf(fence.fence.get());
    fence.signaller.fail();
    return made;
  }
  // An event without a fence. Its execution is done, because all executions of a world write to the
  // same place.
  ANeuralNetworksEvent* plainEvent() {
    ANeuralNetworksExecution* const started = ready();
    ANeuralNetworksEvent* made = nullptr;
    ROW_OK(ANeuralNetworksExecution_startCompute(started, &made));
    ROW_OK(ANeuralNetworksEvent_wait(made));
    return keep(client::Event(made));
  }

  // Shared memory of `size` bytes.
  ANeuralNetworksMemory* memory(size_t size = 64, int protection = PROT_READ | PROT_WRITE) {
    const int fd = ::memfd_create("misuse", MFD_CLOEXEC);
    ROW_EQ(::ftruncate(fd, static_cast<off_t>(size)), 0);
    client::Memory made;
    ROW_OK(made.createFromFd(size, protection, fd, 0));
    ::close(fd);
    return keep(std::move(made));
  }
  // A memory of a hardware buffer that is an image.
  ANeuralNetworksMemory* image() {
    const AHardwareBuffer_Desc shape{
        4, 4, 1, AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN,
        0, 0, 0};
    AHardwareBuffer* buffer = nullptr;
    ROW_EQ(AHardwareBuffer_allocate(&shape, &buffer), 0);
    atEnd([buffer] { AHardwareBuffer_release(buffer); });
    client::Memory made;
    ROW_OK(made.createFromAHardwareBuffer(buffer));
    return keep(std::move(made));
  }
  ANeuralNetworksMemoryDesc* desc() {
    client::MemoryDesc made;
    ROW_OK(made.create());
    return keep(std::move(made));
  }
  ANeuralNetworksMemoryDesc* finished(ANeuralNetworksMemoryDesc* desc) {
    ROW_OK(ANeuralNetworksMemoryDesc_finish(desc));
    return desc;
  }
  // A finished descriptor for the first input.
  ANeuralNetworksMemoryDesc* inputDesc(ANeuralNetworksCompilation* compilation) {
    ANeuralNetworksMemoryDesc* const made = desc();
    ROW_OK(ANeuralNetworksMemoryDesc_addInputRole(made, compilation, 0, 1));
    return finished(made);
  }
  // A memory of a descriptor for the first input, without contents.
  ANeuralNetworksMemory* described(ANeuralNetworksCompilation* compilation) {
    return fromDesc(inputDesc(compilation));
  }
  ANeuralNetworksMemory* fromDesc(const ANeuralNetworksMemoryDesc* desc) {
    needLevel(ANEURALNETWORKS_FEATURE_LEVEL_4);
    client::Memory made;
    ROW_OK(made.createFromDesc(desc));
    return keep(std::move(made));
  }

  // The place for an object that a call makes. It is not null before the call. `after` checks its
  // value.
  template <typename T>
  T** out() {
    out_ = this;
    return reinterpret_cast<T**>(&out_);
  }
  void expectOutIsNull() { ROW_EQ(out_, nullptr); }
  void expectOutIsUntouched() { ROW_EQ(out_, this); }

  // Owns the object until the world ends.
  template <typename T, void (*kFree)(T*)>
  T* keep(client::Owned<T, kFree> object) {
    const auto kept = std::make_shared<client::Owned<T, kFree>>(std::move(object));
    atEnd([kept] { kept->reset(); });
    return kept->get();
  }
  void atEnd(std::function<void()> action) { owned_.push_back(std::move(action)); }

  const float values[16] = {1, 2, 3, 4};
  float result[16] = {};
  // Numbers that a call writes, and objects of the call that `after` needs.
  uint32_t number = 77;
  uint64_t time = 77;
  int signedNumber = 77;
  const char* name = nullptr;
  ANeuralNetworksModel* usedModel = nullptr;
  ANeuralNetworksCompilation* usedCompilation = nullptr;
  ANeuralNetworksExecution* usedExecution = nullptr;
  ANeuralNetworksMemory* usedMemory = nullptr;

 private:
  // The CPU device if it supports the model and the device does not; otherwise the device.
  const ANeuralNetworksDevice* deviceFor(const ANeuralNetworksModel* model) {
    return !takes(device_, model) && takes(cpu(), model) ? cpu() : device_;
  }
  void needLevel(int64_t level) {
    int64_t own = 0;
    ROW_OK(ANeuralNetworksDevice_getFeatureLevel(device_, &own));
    isTooOld_ = isTooOld_ || own < level;
  }
  // Models here have one operation.
  static bool takes(const ANeuralNetworksDevice* device, const ANeuralNetworksModel* model) {
    bool supported = false;
    ROW_OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device, 1, &supported));
    return supported;
  }

  const ANeuralNetworksDevice* const device_;
  bool isTooOld_ = false;
  std::vector<std::function<void()>> owned_;
  void* out_ = nullptr;
};

// A device that does not exist.
inline ANeuralNetworksDevice* stranger(World& w) {
  return reinterpret_cast<ANeuralNetworksDevice*>(&w);
}

}  // namespace halyard::misuse
