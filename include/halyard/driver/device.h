// The interfaces of the NN HAL in C++. A driver implements them, and the runtime calls them.
// Between the two are the remote proxy and the server. Thread safety: every method of every
// interface may be called from several threads at once, except Burst, which takes one execution at
// a time. Ownership: prepared models may outlive the other users of their Device object. Releasing
// the last reference frees their resources in the driver.
//
// A driver must implement only the pure virtual functions. hal::ClientSession adds the rest around
// it, in this process and in a driver's own. That is asynchronous, burst and fenced execution,
// buffers, deadlines, scheduling by priority, and the checks of models and requests.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/device_memory.h"
#include "halyard/driver/export.h"
#include "halyard/driver/hal_types.h"
#include "halyard/driver/valid_model.h"

namespace halyard::hal {

// One request that is executed again and again, with what its memory holds each time: it has been
// checked, and its memory found, once.
class HALYARD_EXPORT ReusableExecution {
 public:
  virtual ~ReusableExecution() = default;
  // As PreparedModel::executeSynchronously. One at a time.
  virtual ExecutionResult compute(const ExecuteOptions& options) = 0;
};

// A series of executions of one prepared model, with as little around each as possible: memory that
// came once is known from then on.
class HALYARD_EXPORT Burst {
 public:
  virtual ~Burst() = default;
  // As PreparedModel::executeSynchronously. BAD_STATE while another execution of the burst runs.
  virtual ExecutionResult execute(const Request& request, const ExecuteOptions& options) = 0;
  // As PreparedModel::createReusableExecution, for computations that are executions of the burst.
  // The result may outlive the burst.
  virtual Result<std::unique_ptr<ReusableExecution>> createReusableExecution(
      const Request& request) = 0;
};

// The result of executeFenced beside the fence.
class HALYARD_EXPORT FencedExecution {
 public:
  virtual ~FencedExecution() = default;
  // OP_FAILED before the execution has completed; its own error if it failed. Times only if they
  // were asked for.
  virtual FencedInfo getExecutionInfo() = 0;
};

struct FencedResult {
  Status status;
  // Signals when the outputs are written, or goes into its error state (sync_fence.h). Invalid with
  // OK: everything is done.
  UniqueFd fence;
  std::shared_ptr<FencedExecution> execution;  // not null with OK
};

class HALYARD_EXPORT PreparedModel {
 public:
  virtual ~PreparedModel() = default;
  // Runs once and returns when the outputs are written. The request is validated by the caller
  // (runtime) and again at a driver's process boundary. The pools of what a driver gets are shared
  // memory, or memory that it has allocated itself (Device::allocateMemory), never tokens.
  virtual ExecutionResult executeSynchronously(const Request& request,
                                               const ExecuteOptions& options) = 0;
  // Records a request that is computed again and again. Without an
  // implementation of the driver's own, each computation is an executeSynchronously. The prepared
  // model, and the request with all that it names, outlive the result.
  virtual Result<std::unique_ptr<ReusableExecution>> createReusableExecution(
      const Request& request);
  // Runs once all of `waitFor` (any pollable descriptors; borrowed, duplicated if needed) have
  // signalled. Output dimensions must be known from model and request. `duration` bounds the time
  // from the last fence's signal on. UNAVAILABLE_DEVICE for a driver without a ClientSession.
  virtual FencedResult executeFenced(const Request& request, std::span<const int> waitFor,
                                     const ExecuteOptions& options,
                                     std::optional<std::chrono::nanoseconds> duration);
  // UNAVAILABLE_DEVICE for a driver without a ClientSession.
  virtual Result<std::unique_ptr<Burst>> configureBurst();
  // The older form of caching: writes to two empty files. OP_FAILED unless a driver does it.
  virtual Status saveToCache(int modelCache, int dataCache, const Token& token);
};

// Memory of the driver's that stands for inputs and outputs of prepared models (IBuffer). A request
// names it by its token. Freed, with its token, by destruction.
class HALYARD_EXPORT Buffer {
 public:
  virtual ~Buffer() = default;
  virtual uint32_t token() const = 0;  // never 0
  // Copies everything out. BAD_DATA when the sizes differ, OP_FAILED while the buffer is
  // uninitialised or `destination` cannot be mapped.
  virtual Status copyTo(const SharedMemoryPtr& destination) = 0;
  // Copies everything in; `dimensions` may be empty when the buffer's own are all known. After an
  // error the buffer is uninitialised.
  virtual Status copyFrom(const SharedMemoryPtr& source, const Shape& dimensions) = 0;
};

// A compilation that came back from its files.
struct CachedModel {
  std::shared_ptr<PreparedModel> prepared;
  // The inputs and outputs of the prepared model, which requests are checked against. It is a
  // model's main subgraph with its types and dimensions, with or without operations. Not null.
  std::shared_ptr<const Model> interface;
  // The options of its preparation.
  ExecutionPreference preference = ExecutionPreference::FAST_SINGLE_ANSWER;
  Priority priority = Priority::MEDIUM;
};

// The answer of a device about one operation of a model. A bool or a Status becomes one: an error's
// message is the reason.
struct HALYARD_EXPORT OperationSupport {
  // Longer reasons are cut.
  static constexpr size_t kMaxReasonBytes = 256;

  OperationSupport() = default;
  // NOLINTBEGIN(google-explicit-constructor): answers are lists of these
  OperationSupport(bool isSupported) : supported(isSupported) {}
  OperationSupport(const Status& status) : supported(status.ok()), reason(status.message()) {}
  // NOLINTEND(google-explicit-constructor)
  OperationSupport(const char*) = delete;  // it would become a bool
  static OperationSupport yes(std::chrono::duration<double, std::nano> cost);
  static OperationSupport no(std::string reason);
  friend bool operator==(const OperationSupport&, const OperationSupport&) = default;

  bool supported = false;
  // For users, if not supported: the fault and the device's limit, such as "filter of 9 x 9, at
  // most 7 x 7". Empty: the driver gives no reason.
  std::string reason;
  // If supported: the predicted time of the operation on the device, in nanoseconds, more than 0.
  // It does not include the way to the device, nor copies of the model's inputs and outputs. It
  // replaces the prediction from the device's capabilities. Absent: the driver has no prediction.
  std::optional<double> cost;
};
// One for each operation of the main subgraph.
using SupportedOperations = std::vector<OperationSupport>;
HALYARD_EXPORT bool supportsAll(const SupportedOperations& operations);

// An input or output of a prepared model, which a memory holds.
struct MemoryRole {
  std::shared_ptr<PreparedModel> preparedModel;  // of the device itself
  bool isInput = false;
  uint32_t index = 0;  // among the inputs or outputs
};

// The argument of Device::allocateMemory.
struct MemoryOrder {
  size_t bytes = 0;  // in NNAPI's dense form; more than 0
  OperandType type = OperandType::TENSOR_FLOAT32;
  Shape dimensions;               // an entry 0, or no entries for a tensor: not known yet
  std::vector<MemoryRole> roles;  // those of prepared models that still exist
};

// The result of Device::prepareIfSupported.
struct SupportedPreparation {
  SupportedOperations supported;  // the answer of getSupportedOperations
  // The answer of prepareModel; absent unless all operations are supported.
  std::optional<Result<std::shared_ptr<PreparedModel>>> prepared;
};

class HALYARD_EXPORT Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual DeviceStatus status() { return DeviceStatus::AVAILABLE; }
  // One answer per operation of model.main. `supported` is a promise that prepareModel cannot fail
  // because of that operation.
  virtual Result<SupportedOperations> getSupportedOperations(const ValidModel& model) = 0;
  // The device may keep the model, which never changes.
  virtual Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel& model,
                                                              const PrepareOptions& options) = 0;
  // Loads the compilation that an earlier prepareModel saved in files under the same token.
  // OP_FAILED, with the reason, for all other files: incomplete, changed, of another build, driver
  // or user. `model` is the model that the caller expects in the files. It is absent in a driver's
  // process, where only the files arrive. The device reads the deadline and the user of `options`;
  // `cache` is not null.
  virtual Result<CachedModel> prepareModelFromCache(const std::optional<ValidModel>& model,
                                                    const PrepareOptions& options);
  // A buffer for the given roles, which name inputs and outputs of `preparedModels` (of this very
  // device object). BAD_DATA for roles that contradict each other, OP_FAILED when the size cannot
  // be known. UNAVAILABLE_DEVICE for a driver without a ClientSession. A driver implements
  // allocateMemory instead.
  virtual Result<std::unique_ptr<Buffer>> allocate(
      const Shape& dimensions, std::span<const std::shared_ptr<PreparedModel>> preparedModels,
      std::span<const BufferRole> inputRoles, std::span<const BufferRole> outputRoles);
  // Memory of the driver's own for one buffer of a client, filled with zeros, so that it never
  // shows another client's data. Requests then name it as a pool. The client's ClientSession checks
  // everything else. The default is UNAVAILABLE_DEVICE: the buffer lies in shared memory. Any other
  // error fails the client's call.
  virtual Result<DeviceMemoryPtr> allocateMemory(const MemoryOrder& order);
  // The process that runs the driver: this one for an in-process device, 0 when it is not running.
  virtual pid_t processId() const;
  // Blocks until the device serves again after DEAD_OBJECT; OK at once when it does.
  virtual Status wait() { return okStatus(); }
  // getSupportedOperations and, if all operations are supported, prepareModel, where one trip to
  // the device does for both. A driver need not implement it: the default makes the two calls. An
  // error is that of getSupportedOperations.
  virtual Result<SupportedPreparation> prepareIfSupported(const ValidModel& model,
                                                          const PrepareOptions& options);
};

}  // namespace halyard::hal
