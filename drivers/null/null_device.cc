#include "null_device.h"

namespace acme {
namespace {

using namespace halyard;  // NOLINT(google-build-using-namespace): the only namespace here

hal::DeviceInfo describeDevice() {
  hal::DeviceInfo info;
  info.name = "acme-null";
  info.versionString = "acme-null 0.1.0";  // change it with results or caches
  info.halVersion = HalVersion::V1_3;
  info.featureLevel = FeatureLevel::FL4;
  info.type = hal::DeviceType::OTHER;
  // Time and power as the reference CPU, for every type. Smaller is better.
  info.capabilities = hal::Capabilities::uniform({1.0f, 1.0f});
  return info;
}

// OK for an operation that the device can do. Otherwise the reason, for the answer of
// getSupportedOperations and the error of prepareModel.
Status checkOperation(const Model& /*model*/, size_t index, const Operation& operation) {
  return badData("{} is not supported", operationText(index, operation.type));
}

class NullDevice : public hal::Device {
 public:
  const hal::DeviceInfo& info() const override { return info_; }

  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    hal::SupportedOperations supported;
    for (size_t i = 0; i < model->main.operations.size(); ++i) {
      supported.push_back(checkOperation(*model, i, model->main.operations[i]));
    }
    return supported;
  }

  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& /*options*/) override {
    // The same check as in getSupportedOperations, whose OK promises success here.
    for (size_t i = 0; i < model->main.operations.size(); ++i) {
      HALYARD_RETURN_IF_ERROR(checkOperation(*model, i, model->main.operations[i]));
    }
    // A driver that supports something returns its hal::PreparedModel here. See
    // docs/write_a_driver.md.
    return badData("there is nothing that the null driver could prepare");
  }

 private:
  const hal::DeviceInfo info_ = describeDevice();
};

}  // namespace

Result<std::shared_ptr<hal::Device>> makeNullDevice() {
  return std::shared_ptr<hal::Device>(std::make_shared<NullDevice>());
}

}  // namespace acme
