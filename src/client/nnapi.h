// The C++ wrapper of the C API: owners of its objects, whose methods are its functions.
//
// The rule of names: method `f` of class `X` is one call of ANeuralNetworksX_f, with the same
// arguments in the same order. Spans and vectors take the place of pairs of a count and a pointer.
// References take the place of the pointers through which a call gives its result.
//
// The rule of errors: a method returns a CallResult and never throws. A CallResult converts to the
// call's ResultCode, so a test compares it with the code that it expects. A caller that reports
// errors takes the text, which names the call. client/status.h makes a Status of it.
//
// The header includes the public C headers and the standard library, and nothing else.
//
// Thread safety: that of the C API's object, for all methods but `create...`, `reset` and
// assignment, which one thread at a time calls.
// Ownership: an object frees what it holds and can be moved. An empty object passes a null pointer
// to the C API. Arguments are the C API's own pointers, which the methods borrow.
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

// "BAD_DATA"; "code 77" for a number that is no ResultCode.
std::string codeName(int code);

// What one call has returned.
class [[nodiscard]] CallResult {
 public:
  // A call leaves the text of its failure (halyard_lastErrorText) or only its code.
  enum class Text : uint8_t { LEFT_BY_CALL, NONE };
  CallResult(int code, const char* call, Text text = Text::LEFT_BY_CALL)
      : code_(code), call_(call), text_(text) {}

  operator int() const { return code_; }  // NOLINT(google-explicit-constructor): a code, as in C
  int code() const { return code_; }
  bool ok() const { return code_ == ANEURALNETWORKS_NO_ERROR; }
  // The name of the C function.
  const char* call() const { return call_; }
  // The reason of a failure. It names the function: the runtime's own text, else
  // "ANeuralNetworksModel_finish: BAD_STATE". To be read before the thread's next call.
  std::string text() const;

 private:
  int code_;
  const char* call_;
  Text text_;
};

// An object of the C API and its end.
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
  // Frees the object and holds another, or none.
  void reset(T* object = nullptr) {
    T* const old = std::exchange(object_, object);
    if (old != nullptr) kFree(old);
  }
  // Gives the object away.
  T* release() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

using Dims = std::vector<uint32_t>;
using Indexes = std::vector<uint32_t>;

// An ANeuralNetworksOperandType with the dimensions that it points to.
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

// A device of the process. It lives as long as the process.
struct Device {
  const ANeuralNetworksDevice* handle = nullptr;
  std::string name;
};
// All devices, in the runtime's order (its own CPU device is the last).
CallResult listDevices(std::vector<Device>& devices);
// nullptr: `devices` has no device of that name.
const ANeuralNetworksDevice* deviceNamed(std::span<const Device> devices, std::string_view name);

// Methods of Model whose C form takes arrays, for a model that another object owns.
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
  // For a model with `operations` operations, which is how many answers there are.
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
  // halyard_compilationReport and halyard_compilationProfile, which leave no text of a failure.
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
  // Two calls: the rank, and the dimensions of an output that has some. The result is that of the
  // first that does not return NO_ERROR; OUTPUT_INSUFFICIENT_SIZE comes with dimensions.
  CallResult getOutputOperandDimensions(int32_t index, Dims& dimensions) const;
  CallResult getDuration(int32_t code, uint64_t& nanoseconds) const;
};

}  // namespace halyard::client

// One call of a C function that has no method: HALYARD_CALL(ANeuralNetworks_getDeviceCount,
// &count).
#define HALYARD_CALL(function, ...) ::halyard::client::CallResult(function(__VA_ARGS__), #function)
