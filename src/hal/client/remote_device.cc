#include "hal/client/remote_device.h"

#include <algorithm>
#include <system_error>

#include "base/signals_blocked.h"
#include "hal/client/device_calls.h"
#include "hal/client/driver_connection.h"
#include "hal/client/remote_buffer.h"
#include "hal/client/remote_prepared_model.h"
#include "hal/core/version_adaptation.h"
#include "hal/wire/wire_cache.h"
#include "hal/wire/wire_model.h"
#include "halyard/driver/trace.h"
#include "model/validation/validation.h"

namespace halyard::hal {
namespace {

using calls::ask;
using calls::askCapabilities;
using calls::deviceOf;
using calls::fitsInMessage;
using calls::methodName;
using calls::orElse;
using calls::pack;
using calls::Packed;
using calls::Side;

constexpr std::chrono::milliseconds kDefaultStartTimeout{10'000};
constexpr std::chrono::milliseconds kFirstBackOff{100};
constexpr std::chrono::milliseconds kLongestBackOff{5'000};

std::chrono::milliseconds startTimeoutFromEnvironment() {
  return millisecondsFromEnvironment("HALYARD_DRIVER_START_TIMEOUT_MS", kDefaultStartTimeout);
}

// Whether the driver's feature level has extension attributes.
bool takesAttributes(const DeviceInfo& info) { return offeredLevel(info) >= FeatureLevel::FL8; }

Status checkNotPassed(const std::optional<TimePoint>& deadline) {
  if (!deadline || Clock::now() < *deadline) return okStatus();
  return makeStatus(ResultCode::MISSED_DEADLINE_PERSISTENT,
                    "the deadline has passed before the model was prepared");
}

}  // namespace

RemoteDevice::RemoteDevice(std::shared_ptr<RpcLoop> loop, Manifest manifest,
                           std::chrono::milliseconds startTimeout,
                           std::shared_ptr<SessionServices> services)
    : loop_(std::move(loop)),
      manifest_(std::move(manifest)),
      startTimeout_(startTimeout),
      fencing_{services->fences()} {}

RemoteDevice::~RemoteDevice() {
  if (starter_.joinable()) starter_.join();
}

Result<std::shared_ptr<RemoteDevice>> RemoteDevice::open(
    std::shared_ptr<RpcLoop> loop, Manifest manifest,
    std::optional<std::chrono::milliseconds> startTimeout,
    std::shared_ptr<SessionServices> services) {
  if (services == nullptr) services = std::make_shared<SessionServices>();
  if (manifest.kind == Manifest::Kind::LIBRARY) {
    return badState("driver '{}' is a library, without a process of its own", manifest.name);
  }
  std::shared_ptr<RemoteDevice> device(
      new RemoteDevice(std::move(loop), std::move(manifest),
                       startTimeout.value_or(startTimeoutFromEnvironment()), std::move(services)));
  HALYARD_RETURN_IF_ERROR(device->fetchInfo());
  return device;
}

Status RemoteDevice::fetchInfo() {
  HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<DriverConnection> driver, connection());
  // Before the driver's properties are known, all these calls together have the start's time limit.
  const CallLimit limit = CallLimit::prompt(Clock::now() + startTimeout_);
  const HalVersion version = manifest_.halVersion;
  info_.name = manifest_.name;
  info_.halVersion = version;
  HALYARD_ASSIGN_OR_RETURN(
      info_.capabilities,
      driver->call<Capabilities>(
          methodName("getCapabilities", version),
          [version](Side& side) { return askCapabilities(side, version); }, limit));
  if (version < HalVersion::V1_2) {
    info_.versionString = "UNKNOWN";
    return validateDeviceInfo(info_)
        .annotate(fmt::format("driver '{}'", info_.name))
        .withCode(ResultCode::OP_FAILED);
  }
  using Device12 = wire::v1_2::IDevice;
  HALYARD_ASSIGN_OR_RETURN(info_.versionString,
                           driver->call<std::string>(
                               "getVersionString",
                               [](Side& side) {
                                 return ask<std::string>(
                                     deviceOf<Device12>(side).getVersionStringRequest(),
                                     [](auto& response) -> Result<std::string> {
                                       return safeText(response.getVersion());
                                     },
                                     "getVersionString");
                               },
                               limit));
  HALYARD_ASSIGN_OR_RETURN(info_.type,
                           driver->call<DeviceType>(
                               "getType",
                               [](Side& side) {
                                 return ask<DeviceType>(
                                     deviceOf<Device12>(side).getTypeRequest(),
                                     [](auto& response) -> Result<DeviceType> {
                                       return static_cast<DeviceType>(response.getType());
                                     },
                                     "getType");
                               },
                               limit));
  if (version >= HalVersion::V1_3) HALYARD_RETURN_IF_ERROR(fetchFeatureLevel(*driver, limit));
  using Extensions = std::vector<Extension>;
  HALYARD_ASSIGN_OR_RETURN(info_.extensions,
                           driver->call<Extensions>(
                               "getSupportedExtensions",
                               [](Side& side) {
                                 return ask<Extensions>(
                                     deviceOf<Device12>(side).getSupportedExtensionsRequest(),
                                     [](auto& response) -> Result<Extensions> {
                                       return decodeExtensions(response.getExtensions());
                                     },
                                     "getSupportedExtensions");
                               },
                               limit));
  struct Caching {
    uint32_t modelFiles;
    uint32_t dataFiles;
    uint32_t preferences;
  };
  HALYARD_ASSIGN_OR_RETURN(const Caching caching,
                           driver->call<Caching>(
                               "getNumberOfCacheFilesNeeded",
                               [](Side& side) {
                                 return ask<Caching>(
                                     deviceOf<Device12>(side).getNumberOfCacheFilesNeededRequest(),
                                     [](auto& response) -> Result<Caching> {
                                       return Caching{response.getNumModelCache(),
                                                      response.getNumDataCache(),
                                                      response.getPreferences()};
                                     },
                                     "getNumberOfCacheFilesNeeded");
                               },
                               limit));
  info_.modelCacheFiles = caching.modelFiles;
  info_.dataCacheFiles = caching.dataFiles;
  info_.cachedPreferences = caching.preferences;
  return validateDeviceInfo(info_)
      .annotate(fmt::format("driver '{}'", info_.name))
      .withCode(ResultCode::OP_FAILED);
}

Status RemoteDevice::fetchFeatureLevel(DriverConnection& driver, const CallLimit& limit) {
  struct Features {
    FeatureLevel level = FeatureLevel::FL4;
    bool ownMemory = false;
    uint32_t imports = 0;
  };
  HALYARD_ASSIGN_OR_RETURN(
      const Features features,
      driver.call<Features>(
          "getFeatureLevel",
          [](Side& side) {
            return orElse(
                ask<Features>(deviceOf<wire::v1_3::IDevice>(side).getFeatureLevelRequest(),
                              [](auto& response) -> Result<Features> {
                                const unsigned level = response.getLevel();
                                if (level < 4 || level > 8) {
                                  return opFailed("feature level {}, expected 4 to 8", level);
                                }
                                return Features{static_cast<FeatureLevel>(level),
                                                response.getOwnMemory(), response.getImports()};
                              }),
                Features());
          },
          limit));
  info_.featureLevel = features.level;
  info_.ownMemory = features.ownMemory;
  // A newer driver may know more kinds.
  info_.imports = features.ownMemory ? features.imports & kEveryImport : 0;
  return okStatus();
}

Result<std::shared_ptr<DriverConnection>> RemoteDevice::connection(
    std::optional<TimePoint> deadline) {
  std::unique_lock lock(mutex_);
  if (connection_ != nullptr && !connection_->dead()) return connection_;
  if (!starting_) {
    if (failedStarts_ > 1 && Clock::now() < nextStart_) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(nextStart_ - Clock::now());
      return makeStatus(ResultCode::UNAVAILABLE_DEVICE,
                        "driver '{}' has failed to start {} times; the next attempt is in {} ms",
                        manifest_.name, failedStarts_, left.count() + 1);
    }
    starting_ = true;
    // A caller with a deadline does not wait for a longer start. A thread completes it for later
    // callers.
    if (!deadline || !startInThread()) {
      lock.unlock();
      start();
      lock.lock();
    }
  }
  const auto done = [this] { return !starting_; };
  if (!deadline) {
    started_.wait(lock, done);
  } else if (!started_.wait_until(lock, *deadline, done)) {
    return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT,
                      "driver '{}' has not started by the deadline of the call", manifest_.name);
  }
  HALYARD_RETURN_IF_ERROR(lastStart_);
  return connection_;
}

void RemoteDevice::start() {
  auto started = DriverConnection::open(loop_, manifest_, startTimeout_);
  std::shared_ptr<DriverConnection> previous;  // ends after the lock, because that takes long
  const std::lock_guard lock(mutex_);
  previous = std::move(connection_);
  lastStart_ = started.status();
  if (started.ok()) {
    failedStarts_ = 0;
    connection_ = std::move(*started);
  } else {
    const unsigned doublings = std::min(failedStarts_++, 10u);
    nextStart_ = Clock::now() + std::min(kLongestBackOff, kFirstBackOff * (1 << doublings));
  }
  starting_ = false;
  started_.notify_all();
}

bool RemoteDevice::startInThread() {
  // The thread of the last start. That start is over.
  if (starter_.joinable()) starter_.join();
  const SignalsBlocked blocked;
  try {
    starter_ = std::thread([this] { start(); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

DeviceStatus RemoteDevice::status() {
  std::shared_ptr<DriverConnection> driver;
  {
    const std::lock_guard lock(mutex_);
    driver = connection_;
  }
  if (driver == nullptr || driver->dead()) return DeviceStatus::OFFLINE;
  const auto status = driver->call<DeviceStatus>("getStatus", [](Side& side) {
    return deviceOf<wire::v1_0::IDevice>(side).getStatusRequest().send().then(
        [](auto&& response) -> Result<DeviceStatus> {
          return static_cast<DeviceStatus>(response.getStatus());
        });
  });
  if (!status.ok()) return DeviceStatus::OFFLINE;
  return *status <= DeviceStatus::OFFLINE ? *status : DeviceStatus::UNKNOWN;
}

Result<SupportedOperations> RemoteDevice::getSupportedOperations(const ValidModel& model) {
  return supportedOperations(model, offeredLevel(info_),
                             [this](const ValidModel& part) { return askAbout(part); });
}

Result<SupportedOperations> RemoteDevice::askAbout(const ValidModel& model) {
  const HalVersion version = manifest_.halVersion;
  HALYARD_ASSIGN_OR_RETURN(const Packed packed, pack(model, version), "driver '{}'",
                           manifest_.name);
  HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<DriverConnection> driver, connection());
  return driver->call<SupportedOperations>(
      methodName("getSupportedOperations", version),
      [&](Side& side) { return calls::askSupported(side, version, packed.outgoing()); },
      CallLimit::prompt(), {.phase = trace::Phase::COMPILATION});
}

Result<std::shared_ptr<PreparedModel>> RemoteDevice::prepareModel(const ValidModel& model,
                                                                  const PrepareOptions& given) {
  PrepareOptions options = given;
  if (!takesAttributes(info_)) options.attributes = {};
  const HalVersion version = manifest_.halVersion;
  HALYARD_RETURN_IF_ERROR(compliantWith(*model, offeredLevel(info_)), "driver '{}'",
                          manifest_.name);
  // Older drivers have no deadlines. Their clients must not notice the difference.
  const auto deadline = version >= HalVersion::V1_3 ? options.deadline : std::nullopt;
  HALYARD_RETURN_IF_ERROR(checkNotPassed(deadline), "driver '{}'", manifest_.name);
  HALYARD_ASSIGN_OR_RETURN(const Packed packed, pack(model, version), "driver '{}'",
                           manifest_.name);
  HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<DriverConnection> driver, connection(deadline));
  if (!fitsInMessage(options.cache.get(), *packed.model)) options.cache = nullptr;
  const auto start = [&](Side& side) {
    return calls::prepare(side, version, packed.outgoing(), options);
  };
  HALYARD_ASSIGN_OR_RETURN(
      const uint64_t key,
      driver->call<uint64_t>(methodName("prepareModel", version), start,
                             CallLimit::computing(deadline), {.phase = trace::Phase::COMPILATION}));
  return preparedModel(driver, model.share(), options, key);
}

Result<SupportedPreparation> RemoteDevice::prepareIfSupported(const ValidModel& model,
                                                              const PrepareOptions& options) {
  if (mayPrepareJointly(*model, options)) {
    HALYARD_ASSIGN_OR_RETURN(std::optional<SupportedPreparation> result,
                             prepareJointly(model, options));
    if (result) return std::move(*result);
  }
  return Device::prepareIfSupported(model, options);
}

Result<std::optional<SupportedPreparation>> RemoteDevice::prepareJointly(const ValidModel& model,
                                                                         PrepareOptions options) {
  const HalVersion version = manifest_.halVersion;
  if (!takesAttributes(info_)) options.attributes = {};
  HALYARD_ASSIGN_OR_RETURN(const Packed packed, pack(model, version), "driver '{}'",
                           manifest_.name);
  HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<DriverConnection> driver, connection());
  const std::string name = methodName("prepareSupported", version);  // borrowed by the Scope
  const trace::Scope both(trace::Layer::IPC, trace::Phase::COMPILATION, name,
                          driver->traceDetails());
  // The answer must be prompt; the preparation may take any time.
  HALYARD_ASSIGN_OR_RETURN(
      calls::JointAnswer answer,
      driver->call<calls::JointAnswer>(
          methodName("getSupportedOperations", version),
          [&](Side& side) { return calls::prepareSupported(side, packed.outgoing(), options); },
          CallLimit::prompt(), {.phase = trace::Phase::COMPILATION}));
  if (!answer.isImplemented) {
    lacksJointPreparation_ = true;
    return std::optional<SupportedPreparation>();
  }
  SupportedPreparation result;
  result.supported = std::move(answer.supported);
  if (!answer.preparation) return std::optional(std::move(result));
  const Result<uint64_t> key = driver->call<uint64_t>(
      methodName("prepareModel", version),
      [&](Side& side) { return calls::preparedBy(side, *answer.preparation); },
      CallLimit::computing(options.deadline), {.phase = trace::Phase::COMPILATION});
  if (key.ok()) {
    result.prepared = preparedModel(driver, model.share(), options, *key);
  } else {
    result.prepared = Result<std::shared_ptr<PreparedModel>>(key.status());
  }
  return std::optional(std::move(result));
}

bool RemoteDevice::mayPrepareJointly(const Model& model, const PrepareOptions& options) const {
  return manifest_.halVersion >= HalVersion::V1_3 && !lacksJointPreparation_ &&
         options.cache == nullptr && compliantWith(model, offeredLevel(info_)).ok() &&
         checkNotPassed(options.deadline).ok();
}

std::shared_ptr<PreparedModel> RemoteDevice::preparedModel(
    const std::shared_ptr<DriverConnection>& driver, std::shared_ptr<const Model> model,
    const PrepareOptions& options, uint64_t key) const {
  return std::make_shared<RemotePreparedModel>(
      RemotePreparedModel::Parts{driver, model, manifest_.halVersion, takesAttributes(info_),
                                 options.priority, fencing_,
                                 OperandSizes(*model, info_.extensions)},
      key);
}

Result<CachedModel> RemoteDevice::prepareModelFromCache(const std::optional<ValidModel>& model,
                                                        const PrepareOptions& options) {
  const HalVersion version = manifest_.halVersion;
  if (version < HalVersion::V1_2) {
    return opFailed("driver '{}' is of HAL {}; caches came with 1.2", manifest_.name,
                    halVersionName(version));
  }
  if (!model || options.cache == nullptr) {
    return badData("driver '{}': a model from the cache needs the model and its files",
                   manifest_.name);
  }
  if (countDescriptors(options.cache.get()) > wire::MAX_FDS_PER_MESSAGE) {
    return badData("driver '{}': {} cache files; a message takes at most {}", manifest_.name,
                   countDescriptors(options.cache.get()),
                   static_cast<uint32_t>(wire::MAX_FDS_PER_MESSAGE));
  }
  HALYARD_RETURN_IF_ERROR(compliantWith(**model, offeredLevel(info_)), "driver '{}'",
                          manifest_.name);
  const auto deadline = version >= HalVersion::V1_3 ? options.deadline : std::nullopt;
  HALYARD_RETURN_IF_ERROR(checkNotPassed(deadline), "driver '{}'", manifest_.name);
  HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<DriverConnection> driver, connection(deadline));
  const auto start = [&](Side& side) { return calls::prepareFromCache(side, version, options); };
  HALYARD_ASSIGN_OR_RETURN(
      const uint64_t key,
      driver->call<uint64_t>(methodName("prepareModelFromCache",
                                        version >= HalVersion::V1_3 ? version : HalVersion::V1_0),
                             start, CallLimit::computing(deadline),
                             {.phase = trace::Phase::COMPILATION}));
  CachedModel cached;
  cached.interface = model->share();
  cached.preference = options.preference;
  cached.priority = options.priority;
  cached.prepared = preparedModel(driver, model->share(), options, key);
  return cached;
}

Result<std::unique_ptr<Buffer>> RemoteDevice::allocate(
    const Shape& dimensions, std::span<const std::shared_ptr<PreparedModel>> preparedModels,
    std::span<const BufferRole> inputRoles, std::span<const BufferRole> outputRoles) {
  if (manifest_.halVersion < HalVersion::V1_3) {
    return makeStatus(ResultCode::UNAVAILABLE_DEVICE,
                      "driver '{}' is of HAL {}; buffers came with 1.3", manifest_.name,
                      halVersionName(manifest_.halVersion));
  }
  std::shared_ptr<DriverConnection> driver;
  {
    const std::lock_guard lock(mutex_);
    driver = connection_;
  }
  return allocateRemotely(driver, {dimensions, preparedModels, inputRoles, outputRoles});
}

pid_t RemoteDevice::processId() const {
  const std::lock_guard lock(mutex_);
  return connection_ != nullptr && !connection_->dead() ? connection_->processId() : 0;
}

IsolationReport RemoteDevice::isolation() const {
  const std::lock_guard lock(mutex_);
  return connection_ != nullptr && !connection_->dead() ? connection_->isolation()
                                                        : IsolationReport();
}

Status RemoteDevice::wait() { return connection().status(); }

}  // namespace halyard::hal
