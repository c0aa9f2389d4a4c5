#include "hal/client/library_device.h"

#include <dlfcn.h>

#include "hal/core/version_adaptation.h"
#include "hal/session/client_session.h"
#include "halyard/driver/driver_library.h"
#include "model/validation/validation.h"
#include "trace/trace_collection.h"

namespace halyard::hal {
namespace {

// A device that is offered with the manifest's HAL version, which may be older than its own.
class CappedDevice final : public Device {
 public:
  CappedDevice(std::shared_ptr<Device> device, HalVersion version)
      : device_(std::move(device)), info_(device_->info()) {
    if (version == info_.halVersion) return;
    info_.halVersion = version;
    info_.featureLevel = std::min(info_.featureLevel, featureLevelOf(version));
    info_.ownMemory = false;
    info_.imports = 0;
    if (version >= HalVersion::V1_2) return;
    // These versions have no methods for these properties.
    info_.versionString = "UNKNOWN";
    info_.type = DeviceType::UNKNOWN;
    info_.extensions.clear();
    info_.modelCacheFiles = 0;
    info_.dataCacheFiles = 0;
  }

  const DeviceInfo& info() const override { return info_; }
  DeviceStatus status() override { return device_->status(); }
  Result<SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    return device_->getSupportedOperations(model);
  }
  Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel& model,
                                                      const PrepareOptions& options) override {
    return device_->prepareModel(model, options);
  }
  Result<CachedModel> prepareModelFromCache(const std::optional<ValidModel>& model,
                                            const PrepareOptions& options) override {
    return device_->prepareModelFromCache(model, options);
  }
  Result<DeviceMemoryPtr> allocateMemory(const MemoryOrder& order) override {
    return device_->allocateMemory(order);
  }
  Status wait() override { return device_->wait(); }

 private:
  const std::shared_ptr<Device> device_;
  DeviceInfo info_;
};

// Adapts the runtime's models to the device's version.
class LibraryDevice final : public Device {
 public:
  LibraryDevice(std::shared_ptr<Device> device, std::shared_ptr<SessionServices> services)
      : session_(std::move(device), std::move(services)) {}

  const DeviceInfo& info() const override { return session_.info(); }
  DeviceStatus status() override { return session_.status(); }
  Result<SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    return supportedOperations(model, offeredLevel(info()), [this](const ValidModel& part) {
      return withVersion(part, [this](const ValidModel& converted) {
        return session_.getSupportedOperations(converted);
      });
    });
  }
  Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel& model,
                                                      const PrepareOptions& options) override {
    HALYARD_RETURN_IF_ERROR(compliantWith(*model, offeredLevel(info())));
    return withVersion(model, [&](const ValidModel& converted) {
      return session_.prepareModel(converted, options);
    });
  }
  Result<CachedModel> prepareModelFromCache(const std::optional<ValidModel>& model,
                                            const PrepareOptions& options) override {
    if (!model) return badData("a model from the cache needs the model");
    HALYARD_RETURN_IF_ERROR(compliantWith(**model, offeredLevel(info())));
    return withVersion(*model, [&](const ValidModel& converted) {
      return session_.prepareModelFromCache(converted, options);
    });
  }
  Result<std::unique_ptr<Buffer>> allocate(
      const Shape& dimensions, std::span<const std::shared_ptr<PreparedModel>> preparedModels,
      std::span<const BufferRole> inputRoles, std::span<const BufferRole> outputRoles) override {
    return session_.allocate(dimensions, preparedModels, inputRoles, outputRoles);
  }
  pid_t processId() const override { return session_.processId(); }
  Status wait() override { return session_.wait(); }

 private:
  template <typename Use>
  auto withVersion(const ValidModel& model, Use use) -> decltype(use(model)) {
    HALYARD_ASSIGN_OR_RETURN(const ValidModel converted, convertTo(model, info().halVersion));
    return use(converted);
  }

  ClientSession session_;
};

std::string loaderError() {
  const char* const text = ::dlerror();
  return text == nullptr ? "unknown error" : text;
}

Result<std::shared_ptr<Device>> load(const Manifest& manifest) {
  // The object is never closed: threads of the driver may still run.
  void* const object = ::dlopen(manifest.target.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) return badData("it cannot be loaded: {}", loaderError());
  const auto* const library =
      static_cast<const DriverLibrary*>(::dlsym(object, kDriverLibrarySymbol));
  if (library == nullptr || library->abi == nullptr) {
    return badData("it is no driver: it does not export {}", kDriverLibrarySymbol);
  }
  if (std::string_view(library->abi) != HALYARD_DRIVER_ABI) {
    return badData("it was built for the driver interface '{}', this is '{}'", library->abi,
                   HALYARD_DRIVER_ABI);
  }
  const auto* const traced = static_cast<const DriverTrace*>(::dlsym(object, kDriverTraceSymbol));
  if (traced != nullptr && traced->version == 1 && traced->attach != nullptr) {
    trace::TraceCollection::ofProcess().addLibrary(traced->attach);
  }
  HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, library->make());
  if (device == nullptr) return opFailed("it has made no device");
  HALYARD_RETURN_IF_ERROR(validateDeviceInfo(device->info()));
  if (device->info().name != manifest.name) {
    return badData("its device is called '{}', the manifest '{}'", device->info().name,
                   manifest.name);
  }
  if (device->info().halVersion < manifest.halVersion) {
    return badData("it is of HAL {}, the manifest says {}",
                   halVersionName(device->info().halVersion), halVersionName(manifest.halVersion));
  }
  return device;
}

}  // namespace

Result<std::shared_ptr<Device>> loadLibrary(const Manifest& manifest) {
  HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, load(manifest), "driver '{}': {}",
                           manifest.name, manifest.target);
  return std::shared_ptr<Device>(
      std::make_shared<CappedDevice>(std::move(device), manifest.halVersion));
}

Result<std::shared_ptr<Device>> openLibrary(const Manifest& manifest,
                                            std::shared_ptr<SessionServices> services) {
  HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, loadLibrary(manifest));
  return std::shared_ptr<Device>(
      std::make_shared<LibraryDevice>(std::move(device), std::move(services)));
}

IsolationReport libraryIsolation() {
  return {
      {"process", IsolationMeasure::State::OFF, "its manifest has it loaded into the application"}};
}

}  // namespace halyard::hal
