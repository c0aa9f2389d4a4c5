// HalClient: a client of a driver in any HAL version. It makes single calls, also those that no
// well-behaved client makes. It checks, adapts and hides nothing.
// Thread safety: all methods may be called from any thread except an RPC loop's.
// Ownership: owns the connection; prepared models and buffers keep it. A driver in a process of its
// own ends with the last of them. A driver of this process is served over a socket.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hal/client/driver_connection.h"
#include "halyard/driver/hal_types.h"
#include "halyard/driver/model.h"
#include "validation/kit/target.h"

namespace halyard::validation {

// A status as on the wire. DEAD_OBJECT and similar errors are errors of the call itself.
using Code = wire::ErrorStatus;
std::string_view codeName(Code code);

using ModelEdit = std::function<void(wire::Model::Builder)>;
using RequestEdit = std::function<void(wire::Request::Builder)>;

// The number of calls of a callback. More than one is an error, which may appear late.
using Notifications = std::shared_ptr<std::atomic<unsigned>>;

// An object of the driver, released with this object.
class DriverObject {
 public:
  enum class Kind : uint8_t { PREPARED_MODEL, BUFFER };
  DriverObject(std::shared_ptr<hal::DriverConnection> connection, Kind kind, uint64_t key)
      : connection_(std::move(connection)), kind_(kind), key_(key) {}
  ~DriverObject();
  DriverObject(const DriverObject&) = delete;
  DriverObject& operator=(const DriverObject&) = delete;
  uint64_t key() const { return key_; }
  const std::shared_ptr<hal::DriverConnection>& connection() const { return connection_; }

 private:
  const std::shared_ptr<hal::DriverConnection> connection_;
  const Kind kind_;
  const uint64_t key_;
};
using DriverObjectPtr = std::shared_ptr<const DriverObject>;

struct SupportedAnswer {
  Code status = Code::NONE;
  std::vector<bool> supported;
  std::string message;
  // As sent, with the flags of `supported`; empty without details.
  hal::SupportedOperations details = {};
};

// A handle of a cache file: its descriptors. A valid handle has one.
using CacheHandle = std::vector<int>;
struct CacheHandles {
  std::vector<CacheHandle> modelCache;
  std::vector<CacheHandle> dataCache;
  hal::Token token = {};
  size_t tokenBytes =
      hal::Token().size();  // the number of bytes that are sent; additional bytes are 0
};

struct PrepareCall {
  int preference = 1;
  int priority = 1;
  std::optional<hal::TimePoint> deadline = {};
  const CacheHandles* cache = nullptr;
  ModelEdit edit = {};
  bool nullCallback = false;
};
struct Preparation {
  Code launch = Code::NONE;
  std::optional<Code> callback;  // empty: it was dropped without a call
  bool hasModel = false;         // with any status
  DriverObjectPtr model;
  std::string message;
  Notifications notifications;
  std::optional<HalVersion> form;  // the version whose notify was called
};

enum class Path : uint8_t { ASYNCHRONOUS, SYNCHRONOUS };
std::string_view pathName(Path path);
struct ExecuteCall {
  bool measure = false;
  std::optional<int> measureNumber = {};  // sent in place of `measure`
  std::optional<hal::TimePoint> deadline = {};
  std::optional<std::chrono::nanoseconds> loopTimeout = {};
  RequestEdit edit = {};
  bool nullCallback = false;
  bool callbackThrows = false;  // after it has recorded the notification
};
struct ExecutionAnswer {
  Code launch = Code::NONE;  // of a synchronous call: the status
  std::optional<Code> callback;
  std::vector<hal::OutputShape> shapes;
  hal::Timing timing;
  std::string message;
  Notifications notifications;
  std::optional<HalVersion> form;  // as in Preparation

  Code status() const { return launch != Code::NONE ? launch : callback.value_or(launch); }
};

struct FencedCall {
  std::vector<int> waitFor = {};  // -1: a null handle
  bool measure = false;
  std::optional<hal::TimePoint> deadline = {};
  std::optional<std::chrono::nanoseconds> loopTimeout = {};
  std::optional<std::chrono::nanoseconds> duration = {};
  RequestEdit edit = {};
};
struct FencedAnswer {
  Code status = Code::NONE;
  bool hasFence = false;
  bool hasCallback = false;
  UniqueFd fence;
  std::string message;
  // The information from the execution's callback. Set if hasCallback.
  struct Info {
    Code status = Code::NONE;
    hal::Timing launched;
    hal::Timing fenced;
    std::string message;
  };
  std::function<Result<Info>()> info;
};

struct BufferAnswer {
  Code status = Code::NONE;
  bool hasBuffer = false;
  DriverObjectPtr buffer;
  uint32_t token = 0;
  std::string message;
};
struct StatusAnswer {
  Code status = Code::NONE;
  std::string message;
};

// The driver's description of itself, by the calls of one version.
struct DeviceFacts {
  hal::DeviceStatus status = hal::DeviceStatus::UNKNOWN;
  Code capabilitiesStatus = Code::NONE;
  hal::Capabilities capabilities;                // as on the wire: not sorted, not completed
  std::vector<hal::PerformanceInfo> oldFigures;  // HAL 1.0 and 1.1
  std::vector<std::string> newerFigures;         // received values that only a newer version has
  // From HAL 1.2 on.
  std::string versionString;
  int type = 0;
  std::vector<hal::Extension> extensions;
  uint32_t modelCacheFiles = 0;
  uint32_t dataCacheFiles = 0;
  uint32_t cachedPreferences = 0;
  uint32_t featureLevel = 0;          // HAL 1.3
  std::vector<std::string> problems;  // calls that were not answered with NONE
};

// The answer to a call without arguments of one of the device's methods.
struct MethodAnswer {
  const char* name;
  HalVersion since;
  Code expected = Code::NONE;
  std::optional<Code> status = {};  // empty: the method does not exist
};

class HalClient {
 public:
  // Opens a driver for this caller alone. `watched`: the driver's end during a check is a crash.
  static Result<std::shared_ptr<HalClient>> open(Target& target, bool watched = true);
  ~HalClient();
  HalClient(const HalClient&) = delete;
  HalClient& operator=(const HalClient&) = delete;

  // The manifest's version, which is the newest that is used.
  HalVersion version() const { return version_; }
  pid_t processId() const { return connection_->processId(); }
  bool dead() const { return connection_->dead(); }
  const std::shared_ptr<hal::DriverConnection>& connection() const { return connection_; }

  Result<DeviceFacts> facts(HalVersion method);
  // The version that the driver itself reports. At least version().
  Result<HalVersion> driversVersion();
  // Calls each method that needs no arguments, of every version, even if it is not served.
  Result<std::vector<MethodAnswer>> methods();
  // Ends the connection, and returns how the driver's process ended. After 2 s the process is
  // killed. Not for drivers of this process.
  Result<std::string> disconnect();

  // A call without a computation. When it is answered, all earlier messages have arrived.
  Status roundTrip();

  Result<SupportedAnswer> supported(HalVersion method, const Model& model,
                                    const ModelEdit& edit = nullptr);
  Result<Preparation> prepare(HalVersion method, const Model& model, const PrepareCall& call = {});
  Result<Preparation> prepareFromCache(HalVersion method, const CacheHandles& cache,
                                       std::optional<hal::TimePoint> deadline = std::nullopt,
                                       bool nullCallback = false);

  Result<ExecutionAnswer> execute(HalVersion method, Path path, const DriverObjectPtr& model,
                                  const hal::Request& request, const ExecuteCall& call = {});
  Result<FencedAnswer> executeFenced(const DriverObjectPtr& model, const hal::Request& request,
                                     const FencedCall& call = {});

  // Null pointers among `models` are sent as null.
  Result<BufferAnswer> allocate(const Shape& dimensions, const std::vector<DriverObjectPtr>& models,
                                const std::vector<hal::BufferRole>& inputRoles,
                                const std::vector<hal::BufferRole>& outputRoles);
  Result<StatusAnswer> copyTo(const DriverObjectPtr& buffer, const SharedMemoryPtr& memory);
  Result<StatusAnswer> copyFrom(const DriverObjectPtr& buffer, const SharedMemoryPtr& memory,
                                const Shape& dimensions);

 private:
  class LocalService;
  HalClient() = default;

  std::shared_ptr<LocalService> service_;  // of a driver in this process
  std::shared_ptr<hal::DriverConnection> connection_;
  HalVersion version_ = HalVersion::V1_3;
};

// The client that the checks of a process share. It is a new one when its driver has ended.
Result<std::shared_ptr<HalClient>> sharedClient(Target& target);
// The versions that a driver serves, oldest first.
std::vector<HalVersion> servedVersions(HalVersion newest);

}  // namespace halyard::validation
