// HalClient: a driver as a client of any HAL version meets it, call by call, with calls that no
// well-behaved client makes; nothing is checked, adapted or hidden on the way.
// Thread safety: all methods may be called from any thread but an RPC loop's.
// Ownership: owns the connection; what is prepared and allocated keeps it. A driver in a process of
// its own ends with the last of them; one of this process is served over a socket.
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

// A status as on the wire; DEAD_OBJECT and the like are errors of the call itself.
using Code = wire::ErrorStatus;
std::string_view codeName(Code code);

using ModelEdit = std::function<void(wire::Model::Builder)>;
using RequestEdit = std::function<void(wire::Request::Builder)>;

// How often a callback was called: more than once is a breach that shows itself late.
using Notifications = std::shared_ptr<std::atomic<unsigned>>;

// An object of the driver's, dropped with this.
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
};

// A handle of a cache file: the descriptors in it, one when all is well.
using CacheHandle = std::vector<int>;
struct CacheHandles {
  std::vector<CacheHandle> modelCache;
  std::vector<CacheHandle> dataCache;
  hal::Token token = {};
  size_t tokenBytes = hal::Token().size();  // as many of them are sent; more: followed by zeros
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
  std::optional<Code> callback;  // nullopt: it was dropped without a call
  bool hasModel = false;         // whatever the status
  DriverObjectPtr model;
  std::string message;
  Notifications notifications;
  std::optional<HalVersion> form;  // the version whose notify was called
};

enum class Path : uint8_t { ASYNCHRONOUS, SYNCHRONOUS };
std::string_view pathName(Path path);
struct ExecuteCall {
  bool measure = false;
  std::optional<int> measureNumber = {};  // sent instead of `measure`
  std::optional<hal::TimePoint> deadline = {};
  std::optional<std::chrono::nanoseconds> loopTimeout = {};
  RequestEdit edit = {};
  bool nullCallback = false;
  bool callbackThrows = false;  // after it has taken note
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
  // The execution's callback; there if hasCallback.
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

// What a driver says of itself by the calls of a version.
struct DeviceFacts {
  hal::DeviceStatus status = hal::DeviceStatus::UNKNOWN;
  Code capabilitiesStatus = Code::NONE;
  hal::Capabilities capabilities;                // as on the wire: nothing is sorted or completed
  std::vector<hal::PerformanceInfo> oldFigures;  // HAL 1.0 and 1.1
  std::vector<std::string> newerFigures;         // what came and is of a newer version
  // HAL 1.2 on.
  std::string versionString;
  int type = 0;
  std::vector<hal::Extension> extensions;
  uint32_t modelCacheFiles = 0;
  uint32_t dataCacheFiles = 0;
  uint32_t cachedPreferences = 0;
  uint32_t featureLevel = 0;          // HAL 1.3
  std::vector<std::string> problems;  // calls that were not answered with NONE
};

// What a call without arguments of one of the device's methods came to.
struct MethodAnswer {
  const char* name;
  HalVersion since;
  Code expected = Code::NONE;
  std::optional<Code> status = {};  // nullopt: the method is not there
};

class HalClient {
 public:
  // A driver of its own for the caller. `watched`: that it ends during a check is a crash.
  static Result<std::shared_ptr<HalClient>> open(Target& target, bool watched = true);
  ~HalClient();
  HalClient(const HalClient&) = delete;
  HalClient& operator=(const HalClient&) = delete;

  // The newest version of the manifest.
  HalVersion version() const { return version_; }
  pid_t processId() const { return connection_->processId(); }
  bool dead() const { return connection_->dead(); }
  const std::shared_ptr<hal::DriverConnection>& connection() const { return connection_; }

  Result<DeviceFacts> facts(HalVersion method);
  // The version that the driver itself says it serves; at least version().
  Result<HalVersion> driversVersion();
  // Calls each method that needs no arguments, of every version, whether served or not.
  Result<std::vector<MethodAnswer>> methods();
  // Ends the connection and says how the driver's process ended; one that goes on is killed after
  // 2 s. Not for drivers of this process.
  Result<std::string> disconnect();

  // A call that computes nothing: what was sent before it has arrived when it is answered.
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

  // Null pointers among `models` are sent as such.
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

// The client that the checks of a process share; a new one when its driver has ended.
Result<std::shared_ptr<HalClient>> sharedClient(Target& target);
// The versions that a driver serves, oldest first.
std::vector<HalVersion> servedVersions(HalVersion newest);

}  // namespace halyard::validation
