#include "fused_device.h"

#include <cmath>
#include <cstring>

#include "fused_operations.h"

namespace example {
namespace {

using namespace halyard;  // NOLINT(google-build-using-namespace): this file is about nothing else

// The attribute of that number; nullopt if it is missing. A driver ignores unknown attributes, but
// known ones must be right.
Result<std::optional<float>> attribute(const hal::ExtensionAttributes& attributes, uint16_t code) {
  const std::vector<uint8_t>* const bytes = attributes.find(FUSED_EXTENSION_NAME, code);
  if (bytes == nullptr) return std::optional<float>();
  float value = 0;
  if (bytes->size() != sizeof value) {
    return badData("attribute {} of {} has {} bytes, expected a float of {}", code,
                   FUSED_EXTENSION_NAME, bytes->size(), sizeof value);
  }
  std::memcpy(&value, bytes->data(), sizeof value);
  if (!(value > 0) || !std::isfinite(value)) {
    return badData("attribute {} of {} is {}, expected more than 0", code, FUSED_EXTENSION_NAME,
                   value);
  }
  return std::optional<float>(value);
}

class FusedModel : public hal::PreparedModel {
 public:
  FusedModel(std::shared_ptr<const Model> model, std::vector<Step> steps)
      : model_(std::move(model)), steps_(std::move(steps)) {}

  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& options) override {
    const auto temperature = attribute(options.attributes, FUSED_TEMPERATURE);
    if (!temperature.ok()) return {temperature.status(), {}, {}};
    const Result<hal::MappedRequest> mapped = hal::MappedRequest::map(*model_, request);
    if (!mapped.ok()) return {mapped.status(), {}, {}};
    hal::ExecutionResult result;
    result.status = run(*mapped, temperature->value_or(1.0f), options);
    if (!result.status.ok()) return result;
    for (const uint32_t output : model_->main.outputIndexes) {
      result.outputShapes.push_back({model_->main.operands[output].dimensions, true});
    }
    return result;
  }

 private:
  // Only the driver knows the sizes of its extension's values, so the lengths are not checked yet.
  Status bind(const std::vector<hal::MappedArgument>& arguments,
              const std::vector<uint32_t>& indexes, std::vector<void*>* data) const {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const size_t needed = byteSize(*model_, indexes[i]);
      if (arguments[i].data == nullptr || arguments[i].length < needed) {
        return badData("an argument of {} bytes, expected {} for {}", arguments[i].length, needed,
                       operandText(model_->main.operands[indexes[i]]));
      }
      (*data)[indexes[i]] = arguments[i].data;
    }
    return okStatus();
  }

  Status run(const hal::MappedRequest& request, float temperature,
             const hal::ExecuteOptions& options) const {
    std::vector<void*> data(model_->main.operands.size());
    HALYARD_RETURN_IF_ERROR(bind(request.inputs(), model_->main.inputIndexes, &data));
    HALYARD_RETURN_IF_ERROR(bind(request.outputs(), model_->main.outputIndexes, &data));
    std::vector<std::vector<uint8_t>> temporaries;
    for (const Step& step : steps_) {
      HALYARD_RETURN_IF_ERROR(hal::checkMayContinue(options));
      void*& out = data[step.output];
      if (out == nullptr) out = temporaries.emplace_back(byteSize(*model_, step.output)).data();
      if (step.isSoftmax) {
        scaledSoftmax(step, temperature, static_cast<const FusedBlock*>(data[step.input]),
                      static_cast<float*>(out));
      } else {
        quantizeBlocks(step, static_cast<const float*>(data[step.input]),
                       static_cast<FusedBlock*>(out));
      }
    }
    return okStatus();
  }

  const std::shared_ptr<const Model> model_;
  const std::vector<Step> steps_;
};

class FusedDevice : public hal::Device {
 public:
  FusedDevice() {
    info_.name = "example-fused";
    info_.versionString = "example-fused 1.0.0";
    info_.halVersion = HalVersion::V1_3;
    info_.featureLevel = FeatureLevel::FL8;  // for attributes
    info_.type = hal::DeviceType::ACCELERATOR;
    info_.capabilities = hal::Capabilities::uniform({0.5f, 0.5f});
    info_.extensions = {{FUSED_EXTENSION_NAME,
                         {{FUSED_TENSOR_QUANT_BLOCK, true, sizeof(FusedBlock)},
                          {FUSED_SOFTMAX_PARAMS, false, sizeof(FusedSoftmaxParams)}}}};
  }

  const hal::DeviceInfo& info() const override { return info_; }

  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    hal::SupportedOperations supported;
    for (size_t i = 0; i < model->main.operations.size(); ++i) {
      supported.push_back(makeStep(*model, i).status());
    }
    return supported;
  }

  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& options) override {
    HALYARD_ASSIGN_OR_RETURN(const std::optional<float> limit,
                             attribute(options.attributes, FUSED_LIMIT));
    std::vector<Step> steps;
    for (size_t i = 0; i < model->main.operations.size(); ++i) {
      HALYARD_ASSIGN_OR_RETURN(Step step, makeStep(*model, i), "{}",
                               operationText(i, model->main.operations[i].type));
      step.limit = limit;
      steps.push_back(std::move(step));
    }
    return std::shared_ptr<hal::PreparedModel>(
        std::make_shared<FusedModel>(model.share(), std::move(steps)));
  }

 private:
  hal::DeviceInfo info_;
};

}  // namespace

Result<std::shared_ptr<hal::Device>> makeFusedDevice() {
  return std::shared_ptr<hal::Device>(std::make_shared<FusedDevice>());
}

}  // namespace example
