// A driver as a shared object: y = x + x in float32, built with the SDK only. Each FAULT_*
// definition adds an error.
#include <halyard/driver/driver.h>

namespace {

using namespace halyard;  // NOLINT(google-build-using-namespace): this file is about nothing else

class Doubler final : public hal::PreparedModel {
 public:
  explicit Doubler(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& /*options*/) override {
    Result<hal::MappedRequest> mapped = hal::MappedRequest::map(*model_, request);
    if (!mapped.ok()) return {mapped.takeStatus(), {}, {}};
    const auto* const in = static_cast<const float*>(mapped->inputs()[0].data);
    auto* const out = static_cast<float*>(mapped->outputs()[0].data);
    for (size_t i = 0; i < mapped->inputs()[0].length / sizeof(float); ++i) out[i] = in[i] + in[i];
    return {};
  }

 private:
  const std::shared_ptr<const Model> model_;
};

class DoublingDevice final : public hal::Device {
 public:
  DoublingDevice() {
    info_.name = "test-library";
    info_.versionString = "1";
    info_.halVersion = HalVersion::V1_3;
    info_.featureLevel = FeatureLevel::FL4;
    info_.type = hal::DeviceType::CPU;
    info_.capabilities = hal::Capabilities::uniform({0.5f, 0.5f});
#ifdef FAULT_old
    info_.halVersion = HalVersion::V1_1;
#endif
#ifdef FAULT_other_name
    info_.name = "test-other";
#endif
  }

  const hal::DeviceInfo& info() const override { return info_; }
  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    hal::SupportedOperations supported;
    for (const Operation& operation : model->main.operations) {
      supported.push_back(operation.type == OperationType::ADD &&
                          operation.inputs[0] == operation.inputs[1]);
    }
    return supported;
  }
  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& /*options*/) override {
    if (model->main.operations.size() != 1) return badData("one ADD is expected");
    return std::shared_ptr<hal::PreparedModel>(std::make_shared<Doubler>(model.share()));
  }

 private:
  hal::DeviceInfo info_;
};

Result<std::shared_ptr<hal::Device>> makeDevice() {
#ifdef FAULT_failing
  return opFailed("/dev/doubler0 is not there");
#endif
  return std::shared_ptr<hal::Device>(std::make_shared<DoublingDevice>());
}

}  // namespace

#ifdef FAULT_abi
#undef HALYARD_DRIVER_ABI
#define HALYARD_DRIVER_ABI "0.0 of old"
#endif
HALYARD_DRIVER_LIBRARY(makeDevice);
