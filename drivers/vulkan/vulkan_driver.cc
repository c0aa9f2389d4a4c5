#include "vulkan_driver.h"

#include "device/vulkan_device.h"
#include "halyard/driver/capabilities_file.h"
#include "plan/model_cache.h"
#include "plan/model_recording.h"
#include "plan/omitting_model.h"
#include "plan/speed_store.h"
#include "plan/vulkan_memory.h"
#include "plan/vulkan_model.h"

namespace halyard::vulkandriver {
namespace {

// A pipeline cache without code is a header of this size.
constexpr size_t kEmptyCodeBytes = 32;

hal::DeviceInfo describe(const VulkanDevice& device, const DriverSettings& settings, bool saves) {
  hal::DeviceInfo info;
  info.name = driverName(device.name());
  info.versionString =
      fmt::format("{} on {}, driver {:#x}", HALYARD_VERSION, device.name(), device.driverVersion());
  info.halVersion = HalVersion::V1_3;
  info.featureLevel = FeatureLevel::FL8;
  info.type = hal::DeviceType::GPU;
  // Without measured figures a user names the device, or the CPU is preferred.
  info.capabilities = settings.capabilities.value_or(hal::Capabilities::uniform({1.0f, 1.0f}));
  info.extensions = {{std::string(kTfliteExtension), {}}};
  info.ownMemory = true;
  info.modelCacheFiles = saves ? 1 : 0;
  info.dataCacheFiles = saves ? 1 : 0;
  return info;
}

class VulkanDriver final : public hal::Device {
 public:
  VulkanDriver(std::shared_ptr<VulkanDevice> device, hal::DeviceInfo info,
               std::unique_ptr<ModelCache> cache, std::unique_ptr<SpeedStore> speeds,
               bool predictsCosts)
      : info_(std::move(info)),
        device_(std::move(device)),
        cache_(std::move(cache)),
        speeds_(std::move(speeds)),
        predictsCosts_(predictsCosts) {}

  const hal::DeviceInfo& info() const override { return info_; }

  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    Recording recording(model->main.operands.size(), device_->forms());
    hal::SupportedOperations supported;
    const auto speed =
        predictsCosts_ && speeds_ != nullptr ? speeds_->speedOf(device_) : std::nullopt;
    for (const Status& answer : recordModel(*model, device_->mostBytes(), recording)) {
      const Operation& operation = model->main.operations[supported.size()];
      hal::OperationSupport& support = supported.emplace_back(answer);
      if (answer.ok() && speed) support.cost = predictedTime(model->main, operation, *speed);
    }
    return supported;
  }

  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& options) override {
    HALYARD_ASSIGN_OR_RETURN(auto prepared, prepare(model, options));
    if (cache_ != nullptr && options.cache != nullptr) save(*model, options);
    return prepared;
  }

  Result<hal::CachedModel> prepareModelFromCache(const std::optional<ValidModel>&,
                                                 const hal::PrepareOptions& options) override {
    if (cache_ == nullptr) return opFailed("the driver saves no models");
    HALYARD_ASSIGN_OR_RETURN(const SavedModel saved, cache_->load(options));
    HALYARD_RETURN_IF_ERROR(device_->addPipelineData(saved.code));
    hal::CachedModel cached;
    hal::PrepareOptions as = options;
    as.priority = saved.priority;
    HALYARD_ASSIGN_OR_RETURN(cached.prepared, prepare(saved.model, as));
    cached.interface = saved.model.share();
    cached.preference = saved.preference;
    cached.priority = saved.priority;
    return cached;
  }

  Result<hal::DeviceMemoryPtr> allocateMemory(const hal::MemoryOrder& order) override {
    return VulkanMemory::create(device_, order.bytes);
  }

 private:
  Result<std::shared_ptr<hal::PreparedModel>> prepare(const ValidModel& model,
                                                      const hal::PrepareOptions& options) {
    if (device_->isLost()) return makeStatus(ResultCode::DEAD_OBJECT, "the device is lost");
    if (options.deadline && hal::Clock::now() >= *options.deadline) {
      return makeStatus(ResultCode::MISSED_DEADLINE_PERSISTENT,
                        "the deadline has passed before the model was prepared");
    }
    Sharing sharing = {options.priority};
    if (speeds_ != nullptr) sharing.speed = speeds_->speedOf(device_);
    const auto make = [device = device_, sharing](std::shared_ptr<const Model> given) {
      return VulkanModel::prepare(device, std::move(given), sharing);
    };
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::PreparedModel> whole, make(model.share()));
    return std::shared_ptr<hal::PreparedModel>(
        std::make_shared<OmittingModel>(model.share(), std::move(whole), make));
  }

  // Its failure does not fail the preparation.
  void save(const Model& model, const hal::PrepareOptions& options) const {
    const auto code = device_->pipelineData();
    const Status saved = code.ok() ? cache_->save(model, *code, options) : code.status();
    if (!saved.ok()) {
      fmt::print(stderr, "halyard: warning: driver '{}' saved no model: {}\n", info_.name,
                 saved.message());
    }
  }

  const hal::DeviceInfo info_;
  const std::shared_ptr<VulkanDevice> device_;
  const std::unique_ptr<ModelCache> cache_;   // null: nothing is saved
  const std::unique_ptr<SpeedStore> speeds_;  // null: it predicts no times
  const bool predictsCosts_;                  // of operations, for the runtime
};

// Whether Vulkan gives code out. Devices of Mesa that compute on the processor do not.
bool givesCode(VulkanDevice& device) {
  if (!device.pipeline(Shader::MOVE, {4, 0, 0, 0}).ok()) return false;
  const auto data = device.pipelineData();
  return data.ok() && data->size() > kEmptyCodeBytes;
}

std::unique_ptr<SpeedStore> openSpeeds(const VulkanDevice& device, const DriverSettings& settings) {
  std::filesystem::path file = settings.cacheFolder / "speed";
  if (settings.cacheFolder.empty()) {
    // Without a home, the speed is measured in each process.
    const auto usual = hal::BlobStore::defaultFile(driverName(device.name()));
    file = usual.ok() ? *usual : std::filesystem::path();
  }
  return std::make_unique<SpeedStore>(
      hal::CompileCache::buildIdOfThisProgram() + device.codeIdentity(), file);
}

struct Arguments {
  DeviceChoice choice;
  DriverSettings settings;
};

Result<Arguments> parse(std::span<const std::string> texts) {
  Arguments arguments;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i] == "--software") {
      arguments.choice.software = true;
    } else if (texts[i] == "--gpu-shaders") {
      arguments.choice.gpuShaders = true;
    } else if (texts[i] == "--gpu-arithmetic") {
      arguments.choice.gpuArithmetic = true;
    } else if (texts[i] == "--device" && i + 1 < texts.size()) {
      arguments.choice.device = texts[++i];
    } else if (texts[i] == "--capabilities" && i + 1 < texts.size()) {
      HALYARD_ASSIGN_OR_RETURN(arguments.settings.capabilities, hal::loadCapabilities(texts[++i]));
    } else {
      return badData(
          "argument {} of the Vulkan driver, expected --software, --gpu-shaders, "
          "--gpu-arithmetic, --device NAME or --capabilities FILE",
          texts[i]);
    }
  }
  return arguments;
}

}  // namespace

Result<std::shared_ptr<hal::Device>> makeVulkanDriver(
    std::span<const std::string> arguments, const std::function<void(const Status&)>& onLost) {
  HALYARD_ASSIGN_OR_RETURN(Arguments parsed, parse(arguments));
  parsed.choice.onLost = onLost;
  HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<VulkanDevice> device, VulkanDevice::open(parsed.choice));
  return makeVulkanDriverOn(std::move(device), parsed.settings);
}

std::shared_ptr<hal::Device> makeVulkanDriverOn(std::shared_ptr<VulkanDevice> device,
                                                const DriverSettings& settings) {
  std::unique_ptr<ModelCache> cache;
  if (settings.saves.value_or(false) || (!settings.saves && givesCode(*device))) {
    auto opened =
        ModelCache::open(driverName(device->name()), device->codeIdentity(), settings.cacheFolder);
    if (opened.ok()) {
      cache = std::move(*opened);
    } else {
      fmt::print(stderr, "halyard: warning: driver '{}' saves no models: {}\n",
                 driverName(device->name()), opened.status().message());
    }
  }
  std::unique_ptr<SpeedStore> speeds;
  if (settings.measuresSpeed) speeds = openSpeeds(*device, settings);
  hal::DeviceInfo info = describe(*device, settings, cache != nullptr);
  return std::make_shared<VulkanDriver>(std::move(device), std::move(info), std::move(cache),
                                        std::move(speeds), !settings.capabilities);
}

}  // namespace halyard::vulkandriver
