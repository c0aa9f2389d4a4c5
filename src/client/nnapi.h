// C++ wrapper of the C API: owners of the objects of the API. Their methods are the functions of
// the API.
//
// The rule of names: method `f` of class `X` is one call of ANeuralNetworksX_f, with the same
// arguments in the same order. Spans and vectors take the place of pairs of a count and a pointer.
// A reference takes the place of a pointer through which a call returns a result.
//
// The rule of errors: a method returns a CallResult and never throws. A CallResult converts to the
// ResultCode of the call, so a test compares it with the expected code. A caller that reports
// errors uses the text, which names the call. client/status.h makes a Status of a CallResult.
//
// The header includes only the public C headers and the standard library.
//
// Thread safety: that of the object of the C API. One thread at a time may call `create...`,
// `reset` and assignment.
// Ownership: an object frees the API object that it holds. It can be moved. An empty object passes
// a null pointer to the C API. Arguments are pointers of the C API, which the methods borrow.
#pragma once

#include <android/NeuralNetworks.h>
#include <android/NeuralNetworksExtensions.h>
#include <halyard/halyard.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halyard::client {

// For example "BAD_DATA", or "code 77" for a number that is no ResultCode.
std::string codeName(int code);

// The result of one call.
class [[nodiscard]] CallResult {
 public:
  // Whether the call sets the text of its failure (halyard_lastErrorText) or returns only a code.
  enum class Text : uint8_t { LEFT_BY_CALL, NONE };
  CallResult(int code, const char* call, Text text = Text::LEFT_BY_CALL)
      : code_(code), call_(call), text_(text) {}

  operator int() const { return code_; }  // NOLINT(google-explicit-constructor): a code, as in C
  int code() const { return code_; }
  bool ok() const { return code_ == ANEURALNETWORKS_NO_ERROR; }
  // The name of the C function.
  const char* call() const { return call_; }
  // The reason of a failure, with the name of the function. It is the text of the runtime, if the
  // call has one. Otherwise it has the form "ANeuralNetworksModel_finish: BAD_STATE". Read it
  // before the next call in this thread.
  std::string text() const;

 private:
  int code_;
  const char* call_;
  Text text_;
};

// Owns an object of the C API and frees it.
template <typename T, void (*kFree)(T*)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T* object) : object_(object) {}
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) reset(std::exchange(other.object_, nullptr));
    return *this;
  }
  ~Owned() { reset(); }

  T* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(std::nullptr_t) const { return object_ == nullptr; }
  // Frees the object and takes another one, or stays empty.
  void reset(T* object = nullptr) {
    T* const old = std::exchange(object_, object);
    if (old != nullptr) kFree(old);
  }
  // Gives up the ownership of the object.
  T* release() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

using Dims = std::vector<uint32_t>;
using Indexes = std::vector<uint32_t>;

// An ANeuralNetworksOperandType that owns its dimensions.
class OperandDescription {
 public:
  explicit OperandDescription(int32_t type, Dims dims = {}, float scale = 0, int32_t zeroPoint = 0)
      : dims_(std::move(dims)),
        type_{type, static_cast<uint32_t>(dims_.size()), dims_.empty() ? nullptr : dims_.data(),
              scale, zeroPoint} {}
  OperandDescription(const OperandDescription&) = delete;
  OperandDescription& operator=(const OperandDescription&) = delete;
  const ANeuralNetworksOperandType* get() const { return &type_; }

 private:
  const Dims dims_;
  const ANeuralNetworksOperandType type_;
};

// A device of the process. It exists as long as the process.
struct Device {
  const ANeuralNetworksDevice* handle = nullptr;
  std::string name;
};
// Lists all devices in the order of the runtime. The CPU device of the runtime is the last one.
CallResult listDevices(std::vector<Device>& devices);
// nullptr if `devices` has no device with that name.
const ANeuralNetworksDevice* deviceNamed(std::span<const Device> devices, std::string_view name);

// The methods of Model whose C functions take arrays, for a model that another object owns.
CallResult addOperand(ANeuralNetworksModel* model, int32_t type, const Dims& dims = {},
                      float scale = 0, int32_t zeroPoint = 0);
CallResult addOperation(ANeuralNetworksModel* model, int32_t type, const Indexes& inputs,
                        const Indexes& outputs);
CallResult identifyInputsAndOutputs(ANeuralNetworksModel* model, const Indexes& inputs,
                                    const Indexes& outputs);

class MemoryDesc : public Owned<ANeuralNetworksMemoryDesc, ANeuralNetworksMemoryDesc_free> {
 public:
  using Owned::Owned;
  CallResult create();
  CallResult addInputRole(const ANeuralNetworksCompilation* compilation, uint32_t index,
                          float frequency) const;
  CallResult addOutputRole(const ANeuralNetworksCompilation* compilation, uint32_t index,
                           float frequency) const;
  CallResult setDimensions(std::span<const uint32_t> dimensions) const;
  CallResult finish() const;
};

class Memory : public Owned<ANeuralNetworksMemory, ANeuralNetworksMemory_free> {
 public:
  using Owned::Owned;
  CallResult createFromFd(size_t size, int protection, int fd, size_t offset);
  CallResult createFromAHardwareBuffer(const AHardwareBuffer* buffer);
  CallResult createFromDesc(const ANeuralNetworksMemoryDesc* desc);
};

class Model : public Owned<ANeuralNetworksModel, ANeuralNetworksModel_free> {
 public:
  using Owned::Owned;
  CallResult create();
  CallResult addOperand(const ANeuralNetworksOperandType& type) const;
  CallResult addOperand(int32_t type, const Dims& dims = {}, float scale = 0,
                        int32_t zeroPoint = 0) const {
    return client::addOperand(get(), type, dims, scale, zeroPoint);
  }
  CallResult setOperandValue(int32_t index, const void* value, size_t length) const;
  CallResult setOperandValueFromMemory(int32_t index, const ANeuralNetworksMemory* memory,
                                       size_t offset, size_t length) const;
  CallResult setOperandValueFromModel(int32_t index, const ANeuralNetworksModel* value) const;
  CallResult setOperandSymmPerChannelQuantParams(
      int32_t index, const ANeuralNetworksSymmPerChannelQuantParams& params) const;
  CallResult setOperandExtensionData(int32_t index, const void* data, size_t length) const;
  CallResult getExtensionOperandType(const char* extension, uint16_t code, int32_t& type) const;
  CallResult getExtensionOperationType(const char* extension, uint16_t code,
                                       ANeuralNetworksOperationType& type) const;
  CallResult addOperation(int32_t type, const Indexes& inputs, const Indexes& outputs) const {
    return client::addOperation(get(), type, inputs, outputs);
  }
  CallResult identifyInputsAndOutputs(const Indexes& inputs, const Indexes& outputs) const {
    return client::identifyInputsAndOutputs(get(), inputs, outputs);
  }
  CallResult relaxComputationFloat32toFloat16(bool allow) const;
  CallResult finish() const;
  // `operations` must be the number of operations in the model. `supported` receives one answer for
  // each.
  CallResult getSupportedOperationsForDevices(std::span<const ANeuralNetworksDevice* const> devices,
                                              size_t operations,
                                              std::vector<bool>& supported) const;
};

class Compilation : public Owned<ANeuralNetworksCompilation, ANeuralNetworksCompilation_free> {
 public:
  using Owned::Owned;
  CallResult create(ANeuralNetworksModel* model);
  CallResult createForDevices(ANeuralNetworksModel* model,
                              std::span<const ANeuralNetworksDevice* const> devices);
  CallResult setCaching(const char* folder, const uint8_t* token) const;
  CallResult setPreference(int32_t preference) const;
  CallResult setPriority(int32_t priority) const;
  CallResult setTimeout(uint64_t nanoseconds) const;
  CallResult finish() const;
  // halyard_compilationReport and halyard_compilationProfile. They do not set a text of a failure.
  CallResult report(std::string& json) const;
  CallResult profile(std::string& json) const;
};

class Burst : public Owned<ANeuralNetworksBurst, ANeuralNetworksBurst_free> {
 public:
  using Owned::Owned;
  CallResult create(ANeuralNetworksCompilation* compilation);
};

class Event : public Owned<ANeuralNetworksEvent, ANeuralNetworksEvent_free> {
 public:
  using Owned::Owned;
  CallResult createFromSyncFenceFd(int fd);
  CallResult getSyncFenceFd(int& fd) const;
  CallResult wait() const;
};

class Execution : public Owned<ANeuralNetworksExecution, ANeuralNetworksExecution_free> {
 public:
  using Owned::Owned;
  CallResult create(ANeuralNetworksCompilation* compilation);
  CallResult setInput(int32_t index, const ANeuralNetworksOperandType* type, const void* data,
                      size_t length) const;
  CallResult setInputFromMemory(int32_t index, const ANeuralNetworksOperandType* type,
                                const ANeuralNetworksMemory* memory, size_t offset,
                                size_t length) const;
  CallResult setOutput(int32_t index, const ANeuralNetworksOperandType* type, void* data,
                       size_t length) const;
  CallResult setOutputFromMemory(int32_t index, const ANeuralNetworksOperandType* type,
                                 const ANeuralNetworksMemory* memory, size_t offset,
                                 size_t length) const;
  CallResult setReusable(bool reusable) const;
  CallResult setMeasureTiming(bool measure) const;
  CallResult setTimeout(uint64_t nanoseconds) const;
  CallResult setLoopTimeout(uint64_t nanoseconds) const;
  CallResult enableInputAndOutputPadding(bool enable) const;
  CallResult compute() const;
  CallResult burstCompute(ANeuralNetworksBurst* burst) const;
  CallResult startCompute(Event& event) const;
  CallResult startComputeWithDependencies(std::span<const ANeuralNetworksEvent* const> dependencies,
                                          uint64_t nanoseconds, Event& event) const;
  CallResult getOutputOperandRank(int32_t index, uint32_t& rank) const;
  // Makes two calls: for the rank, and for the dimensions if the rank is not 0. Returns the first
  // result that is not NO_ERROR. OUTPUT_INSUFFICIENT_SIZE also sets `dimensions`.
  CallResult getOutputOperandDimensions(int32_t index, Dims& dimensions) const;
  CallResult getDuration(int32_t code, uint64_t& nanoseconds) const;
};

}  // namespace halyard::client

// Calls a C function that has no method, for example HALYARD_CALL(ANeuralNetworks_getDeviceCount,
// &count).
#define HALYARD_CALL(function, ...) ::halyard::client::CallResult(function(__VA_ARGS__), #function)
