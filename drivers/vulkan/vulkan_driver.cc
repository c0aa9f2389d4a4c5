#include "vulkan_driver.h"

#include <cctype>

#include "device/vulkan_device.h"
#include "plan/model_recording.h"
#include "plan/omitting_model.h"
#include "plan/vulkan_model.h"

namespace halyard::vulkandriver {
namespace {

// "vulkan-llvmpipe" for "llvmpipe (LLVM 15.0.6, 256 bits)": the part in brackets changes with
// updates.
std::string deviceName(const std::string& name) {
  std::string result = "vulkan-";
  for (const char c : name.substr(0, name.find(" ("))) {
    const bool isPlain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    result += isPlain ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '_';
  }
  return result;
}

hal::DeviceInfo describe(const VulkanDevice& device) {
  hal::DeviceInfo info;
  info.name = deviceName(device.name());
  info.versionString =
      fmt::format("{} on {}, driver {:#x}", HALYARD_VERSION, device.name(), device.driverVersion());
  info.halVersion = HalVersion::V1_3;
  info.featureLevel = FeatureLevel::FL8;
  info.type = hal::DeviceType::GPU;
  // Not measured: a user names the device. Otherwise the planner prefers the CPU.
  info.capabilities = hal::Capabilities::uniform({1.0f, 1.0f});
  info.ownMemory = true;
  return info;
}

Result<std::shared_ptr<hal::PreparedModel>> prepareOn(const std::shared_ptr<VulkanDevice>& device,
                                                      std::shared_ptr<const Model> model) {
  Recording recording(model->main.operands.size(), device->lanes());
  const std::vector<Status> answers = recordModel(*model, device->mostBytes(), recording);
  for (size_t i = 0; i < answers.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(Status(answers[i]), "{}",
                            operationText(i, model->main.operations[i].type));
  }
  return VulkanModel::create(device, std::move(model), recording);
}

class VulkanDriver final : public hal::Device {
 public:
  explicit VulkanDriver(std::shared_ptr<VulkanDevice> device)
      : info_(describe(*device)), device_(std::move(device)) {}

  const hal::DeviceInfo& info() const override { return info_; }

  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    Recording recording(model->main.operands.size(), device_->lanes());
    hal::SupportedOperations supported;
    for (const Status& answer : recordModel(*model, device_->mostBytes(), recording)) {
      supported.emplace_back(answer);
    }
    return supported;
  }

  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& options) override {
    if (options.deadline && hal::Clock::now() >= *options.deadline) {
      return makeStatus(ResultCode::MISSED_DEADLINE_PERSISTENT,
                        "the deadline has passed before the model was prepared");
    }
    const auto prepare = [device = device_](std::shared_ptr<const Model> given) {
      return prepareOn(device, std::move(given));
    };
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::PreparedModel> whole, prepare(model.share()));
    return std::shared_ptr<hal::PreparedModel>(
        std::make_shared<OmittingModel>(model.share(), std::move(whole), prepare));
  }

 private:
  const hal::DeviceInfo info_;
  const std::shared_ptr<VulkanDevice> device_;
};

}  // namespace

Result<std::shared_ptr<hal::Device>> makeVulkanDriver(std::span<const std::string> arguments) {
  bool software = false;
  bool gpuShaders = false;
  for (const std::string& argument : arguments) {
    if (argument == "--software") {
      software = true;
    } else if (argument == "--gpu-shaders") {
      gpuShaders = true;
    } else {
      return badData("argument {} of the Vulkan driver, expected --software or --gpu-shaders",
                     argument);
    }
  }
  HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<VulkanDevice> device,
                           VulkanDevice::open(software, gpuShaders));
  return std::shared_ptr<hal::Device>(std::make_shared<VulkanDriver>(std::move(device)));
}

}  // namespace halyard::vulkandriver
