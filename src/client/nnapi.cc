// Each method calls the C function of the same name.
#include "client/nnapi.h"

#include <memory>

namespace halyard::client {
namespace {

// Stores the object that a `create` function returns through its last argument in the owner.
template <typename Owner, typename Call>
CallResult make(Owner& owner, const char* name, Call call) {
  decltype(owner.get()) made = nullptr;
  const int code = call(&made);
  owner.reset(made);
  return {code, name};
}

template <typename Call>
CallResult takeText(std::string& text, const char* name, Call call) {
  char* made = nullptr;
  const int code = call(&made);
  text = made == nullptr ? "" : made;
  halyard_free(made);
  return {code, name, CallResult::Text::NONE};
}

uint32_t countOf(std::span<const uint32_t> values) { return static_cast<uint32_t>(values.size()); }

// The C API refuses null pointers, also for empty lists.
const uint32_t* dataOf(const Indexes& indexes) {
  static constexpr uint32_t kNoIndex = 0;
  return indexes.empty() ? &kNoIndex : indexes.data();
}

}  // namespace

// Calls `function`, which returns an object, and stores the object in this owner.
#define HALYARD_MAKE(function, ...) \
  make(*this, #function, [&](auto** made) { return function(__VA_ARGS__, made); })

std::string codeName(int code) {
  switch (code) {
    case ANEURALNETWORKS_NO_ERROR:
      return "NO_ERROR";
    case ANEURALNETWORKS_OUT_OF_MEMORY:
      return "OUT_OF_MEMORY";
    case ANEURALNETWORKS_INCOMPLETE:
      return "INCOMPLETE";
    case ANEURALNETWORKS_UNEXPECTED_NULL:
      return "UNEXPECTED_NULL";
    case ANEURALNETWORKS_BAD_DATA:
      return "BAD_DATA";
    case ANEURALNETWORKS_OP_FAILED:
      return "OP_FAILED";
    case ANEURALNETWORKS_BAD_STATE:
      return "BAD_STATE";
    case ANEURALNETWORKS_UNMAPPABLE:
      return "UNMAPPABLE";
    case ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE:
      return "OUTPUT_INSUFFICIENT_SIZE";
    case ANEURALNETWORKS_UNAVAILABLE_DEVICE:
      return "UNAVAILABLE_DEVICE";
    case ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT:
      return "MISSED_DEADLINE_TRANSIENT";
    case ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT:
      return "MISSED_DEADLINE_PERSISTENT";
    case ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT:
      return "RESOURCE_EXHAUSTED_TRANSIENT";
    case ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT:
      return "RESOURCE_EXHAUSTED_PERSISTENT";
    case ANEURALNETWORKS_DEAD_OBJECT:
      return "DEAD_OBJECT";
    default:
      return "code " + std::to_string(code);
  }
}

std::string CallResult::text() const {
  if (text_ == Text::LEFT_BY_CALL && !ok()) {
    std::string text = halyard_lastErrorText();
    if (!text.empty()) return text;
  }
  return std::string(call_) + ": " + codeName(code_);
}

CallResult listDevices(std::vector<Device>& devices) {
  devices.clear();
  uint32_t count = 0;
  CallResult result = HALYARD_CALL(ANeuralNetworks_getDeviceCount, &count);
  for (uint32_t i = 0; i < count && result.ok(); ++i) {
    ANeuralNetworksDevice* handle = nullptr;
    const char* name = nullptr;
    result = HALYARD_CALL(ANeuralNetworks_getDevice, i, &handle);
    if (result.ok()) result = HALYARD_CALL(ANeuralNetworksDevice_getName, handle, &name);
    if (result.ok()) devices.push_back({handle, name});
  }
  return result;
}

const ANeuralNetworksDevice* deviceNamed(std::span<const Device> devices, std::string_view name) {
  for (const Device& device : devices) {
    if (device.name == name) return device.handle;
  }
  return nullptr;
}

CallResult addOperand(ANeuralNetworksModel* model, int32_t type, const Dims& dims, float scale,
                      int32_t zeroPoint) {
  const ANeuralNetworksOperandType operand = {
      type, countOf(dims), dims.empty() ? nullptr : dims.data(), scale, zeroPoint};
  return HALYARD_CALL(ANeuralNetworksModel_addOperand, model, &operand);
}

CallResult addOperation(ANeuralNetworksModel* model, int32_t type, const Indexes& inputs,
                        const Indexes& outputs) {
  return HALYARD_CALL(ANeuralNetworksModel_addOperation, model, type, countOf(inputs),
                      dataOf(inputs), countOf(outputs), dataOf(outputs));
}

CallResult identifyInputsAndOutputs(ANeuralNetworksModel* model, const Indexes& inputs,
                                    const Indexes& outputs) {
  return HALYARD_CALL(ANeuralNetworksModel_identifyInputsAndOutputs, model, countOf(inputs),
                      dataOf(inputs), countOf(outputs), dataOf(outputs));
}

CallResult MemoryDesc::create() {
  return make(*this, "ANeuralNetworksMemoryDesc_create", ANeuralNetworksMemoryDesc_create);
}

CallResult MemoryDesc::addInputRole(const ANeuralNetworksCompilation* compilation, uint32_t index,
                                    float frequency) const {
  return HALYARD_CALL(ANeuralNetworksMemoryDesc_addInputRole, get(), compilation, index, frequency);
}

CallResult MemoryDesc::addOutputRole(const ANeuralNetworksCompilation* compilation, uint32_t index,
                                     float frequency) const {
  return HALYARD_CALL(ANeuralNetworksMemoryDesc_addOutputRole, get(), compilation, index,
                      frequency);
}

CallResult MemoryDesc::setDimensions(std::span<const uint32_t> dimensions) const {
  return HALYARD_CALL(ANeuralNetworksMemoryDesc_setDimensions, get(), countOf(dimensions),
                      dimensions.data());
}

CallResult MemoryDesc::finish() const {
  return HALYARD_CALL(ANeuralNetworksMemoryDesc_finish, get());
}

CallResult Memory::createFromFd(size_t size, int protection, int fd, size_t offset) {
  return HALYARD_MAKE(ANeuralNetworksMemory_createFromFd, size, protection, fd, offset);
}

CallResult Memory::createFromAHardwareBuffer(const AHardwareBuffer* buffer) {
  return HALYARD_MAKE(ANeuralNetworksMemory_createFromAHardwareBuffer, buffer);
}

CallResult Memory::createFromDesc(const ANeuralNetworksMemoryDesc* desc) {
  return HALYARD_MAKE(ANeuralNetworksMemory_createFromDesc, desc);
}

CallResult Model::create() {
  return make(*this, "ANeuralNetworksModel_create", ANeuralNetworksModel_create);
}

CallResult Model::addOperand(const ANeuralNetworksOperandType& type) const {
  return HALYARD_CALL(ANeuralNetworksModel_addOperand, get(), &type);
}

CallResult Model::setOperandValue(int32_t index, const void* value, size_t length) const {
  return HALYARD_CALL(ANeuralNetworksModel_setOperandValue, get(), index, value, length);
}

CallResult Model::setOperandValueFromMemory(int32_t index, const ANeuralNetworksMemory* memory,
                                            size_t offset, size_t length) const {
  return HALYARD_CALL(ANeuralNetworksModel_setOperandValueFromMemory, get(), index, memory, offset,
                      length);
}

CallResult Model::setOperandValueFromModel(int32_t index, const ANeuralNetworksModel* value) const {
  return HALYARD_CALL(ANeuralNetworksModel_setOperandValueFromModel, get(), index, value);
}

CallResult Model::setOperandSymmPerChannelQuantParams(
    int32_t index, const ANeuralNetworksSymmPerChannelQuantParams& params) const {
  return HALYARD_CALL(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams, get(), index,
                      &params);
}

CallResult Model::setOperandExtensionData(int32_t index, const void* data, size_t length) const {
  return HALYARD_CALL(ANeuralNetworksModel_setOperandExtensionData, get(), index, data, length);
}

CallResult Model::getExtensionOperandType(const char* extension, uint16_t code,
                                          int32_t& type) const {
  return HALYARD_CALL(ANeuralNetworksModel_getExtensionOperandType, get(), extension, code, &type);
}

CallResult Model::getExtensionOperationType(const char* extension, uint16_t code,
                                            ANeuralNetworksOperationType& type) const {
  return HALYARD_CALL(ANeuralNetworksModel_getExtensionOperationType, get(), extension, code,
                      &type);
}

CallResult Model::relaxComputationFloat32toFloat16(bool allow) const {
  return HALYARD_CALL(ANeuralNetworksModel_relaxComputationFloat32toFloat16, get(), allow);
}

CallResult Model::finish() const { return HALYARD_CALL(ANeuralNetworksModel_finish, get()); }

CallResult Model::getSupportedOperationsForDevices(
    std::span<const ANeuralNetworksDevice* const> devices, size_t operations,
    std::vector<bool>& supported) const {
  const auto answers = std::make_unique<bool[]>(operations);
  const CallResult result =
      HALYARD_CALL(ANeuralNetworksModel_getSupportedOperationsForDevices, get(), devices.data(),
                   static_cast<uint32_t>(devices.size()), answers.get());
  supported.assign(answers.get(), answers.get() + operations);
  return result;
}

CallResult Compilation::create(ANeuralNetworksModel* model) {
  return HALYARD_MAKE(ANeuralNetworksCompilation_create, model);
}

CallResult Compilation::createForDevices(ANeuralNetworksModel* model,
                                         std::span<const ANeuralNetworksDevice* const> devices) {
  return HALYARD_MAKE(ANeuralNetworksCompilation_createForDevices, model, devices.data(),
                      static_cast<uint32_t>(devices.size()));
}

CallResult Compilation::setCaching(const char* folder, const uint8_t* token) const {
  return HALYARD_CALL(ANeuralNetworksCompilation_setCaching, get(), folder, token);
}

CallResult Compilation::setPreference(int32_t preference) const {
  return HALYARD_CALL(ANeuralNetworksCompilation_setPreference, get(), preference);
}

CallResult Compilation::setPriority(int32_t priority) const {
  return HALYARD_CALL(ANeuralNetworksCompilation_setPriority, get(), priority);
}

CallResult Compilation::setTimeout(uint64_t nanoseconds) const {
  return HALYARD_CALL(ANeuralNetworksCompilation_setTimeout, get(), nanoseconds);
}

CallResult Compilation::finish() const {
  return HALYARD_CALL(ANeuralNetworksCompilation_finish, get());
}

CallResult Compilation::report(std::string& json) const {
  return takeText(json, "halyard_compilationReport",
                  [&](char** text) { return halyard_compilationReport(get(), text); });
}

CallResult Compilation::profile(std::string& json) const {
  return takeText(json, "halyard_compilationProfile",
                  [&](char** text) { return halyard_compilationProfile(get(), text); });
}

CallResult Burst::create(ANeuralNetworksCompilation* compilation) {
  return HALYARD_MAKE(ANeuralNetworksBurst_create, compilation);
}

CallResult Event::createFromSyncFenceFd(int fd) {
  return HALYARD_MAKE(ANeuralNetworksEvent_createFromSyncFenceFd, fd);
}

CallResult Event::getSyncFenceFd(int& fd) const {
  return HALYARD_CALL(ANeuralNetworksEvent_getSyncFenceFd, get(), &fd);
}

CallResult Event::wait() const { return HALYARD_CALL(ANeuralNetworksEvent_wait, get()); }

CallResult Execution::create(ANeuralNetworksCompilation* compilation) {
  return HALYARD_MAKE(ANeuralNetworksExecution_create, compilation);
}

CallResult Execution::setInput(int32_t index, const ANeuralNetworksOperandType* type,
                               const void* data, size_t length) const {
  return HALYARD_CALL(ANeuralNetworksExecution_setInput, get(), index, type, data, length);
}

CallResult Execution::setInputFromMemory(int32_t index, const ANeuralNetworksOperandType* type,
                                         const ANeuralNetworksMemory* memory, size_t offset,
                                         size_t length) const {
  return HALYARD_CALL(ANeuralNetworksExecution_setInputFromMemory, get(), index, type, memory,
                      offset, length);
}

CallResult Execution::setOutput(int32_t index, const ANeuralNetworksOperandType* type, void* data,
                                size_t length) const {
  return HALYARD_CALL(ANeuralNetworksExecution_setOutput, get(), index, type, data, length);
}

CallResult Execution::setOutputFromMemory(int32_t index, const ANeuralNetworksOperandType* type,
                                          const ANeuralNetworksMemory* memory, size_t offset,
                                          size_t length) const {
  return HALYARD_CALL(ANeuralNetworksExecution_setOutputFromMemory, get(), index, type, memory,
                      offset, length);
}

CallResult Execution::setReusable(bool reusable) const {
  return HALYARD_CALL(ANeuralNetworksExecution_setReusable, get(), reusable);
}

CallResult Execution::setMeasureTiming(bool measure) const {
  return HALYARD_CALL(ANeuralNetworksExecution_setMeasureTiming, get(), measure);
}

CallResult Execution::setTimeout(uint64_t nanoseconds) const {
  return HALYARD_CALL(ANeuralNetworksExecution_setTimeout, get(), nanoseconds);
}

CallResult Execution::setLoopTimeout(uint64_t nanoseconds) const {
  return HALYARD_CALL(ANeuralNetworksExecution_setLoopTimeout, get(), nanoseconds);
}

CallResult Execution::enableInputAndOutputPadding(bool enable) const {
  return HALYARD_CALL(ANeuralNetworksExecution_enableInputAndOutputPadding, get(), enable);
}

CallResult Execution::compute() const {
  return HALYARD_CALL(ANeuralNetworksExecution_compute, get());
}

CallResult Execution::burstCompute(ANeuralNetworksBurst* burst) const {
  return HALYARD_CALL(ANeuralNetworksExecution_burstCompute, get(), burst);
}

CallResult Execution::startCompute(Event& event) const {
  return make(event, "ANeuralNetworksExecution_startCompute", [&](ANeuralNetworksEvent** made) {
    return ANeuralNetworksExecution_startCompute(get(), made);
  });
}

CallResult Execution::startComputeWithDependencies(
    std::span<const ANeuralNetworksEvent* const> dependencies, uint64_t nanoseconds,
    Event& event) const {
  return make(event, "ANeuralNetworksExecution_startComputeWithDependencies",
              [&](ANeuralNetworksEvent** made) {
                return ANeuralNetworksExecution_startComputeWithDependencies(
                    get(), dependencies.data(), static_cast<uint32_t>(dependencies.size()),
                    nanoseconds, made);
              });
}

CallResult Execution::getOutputOperandRank(int32_t index, uint32_t& rank) const {
  return HALYARD_CALL(ANeuralNetworksExecution_getOutputOperandRank, get(), index, &rank);
}

CallResult Execution::getOutputOperandDimensions(int32_t index, Dims& dimensions) const {
  uint32_t rank = 0;
  const CallResult ranked = getOutputOperandRank(index, rank);
  dimensions.assign(rank, 0);
  if (rank == 0) return ranked;
  const CallResult result = HALYARD_CALL(ANeuralNetworksExecution_getOutputOperandDimensions, get(),
                                         index, dimensions.data());
  return ranked.ok() ? result : ranked;
}

CallResult Execution::getDuration(int32_t code, uint64_t& nanoseconds) const {
  return HALYARD_CALL(ANeuralNetworksExecution_getDuration, get(), code, &nanoseconds);
}

#undef HALYARD_MAKE

}  // namespace halyard::client
