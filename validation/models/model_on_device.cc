#include "validation/models/model_on_device.h"

#include <algorithm>

#include "tools/halyard/tensor_values.h"

namespace halyard::validation {

Result<std::vector<std::vector<float>>> CompiledModel::compute(
    const import::ImportedModel& model, const std::vector<std::vector<uint8_t>>& inputs) {
  if (run_ == nullptr) {
    HALYARD_ASSIGN_OR_RETURN(run_, cli::RepeatedRun::create(*session_, inputs));
  } else {
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::ranges::copy(inputs[i], run_->input(i).begin());
    }
  }
  HALYARD_RETURN_IF_ERROR(run_->compute());
  std::vector<std::vector<float>> values;
  for (size_t o = 0; o < run_->outputCount(); ++o) {
    HALYARD_ASSIGN_OR_RETURN(const cli::ApiOutput output, run_->output(o));
    const import::ModelPort& port = model.outputs[o];
    HALYARD_ASSIGN_OR_RETURN(
        values.emplace_back(),
        cli::realValues({port.type, port.scale, port.zeroPoint}, output.bytes));
  }
  return values;
}

Result<Support> supportOf(const TargetSpec& target, const std::shared_ptr<const Model>& model) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<cli::ApiDevice> devices, cli::listApiDevices());
  Support support;
  for (const cli::ApiDevice& device : devices) {
    if (device.name == target.name) support.device = device.handle;
  }
  if (support.device == nullptr) {
    return opFailed("the runtime has {} devices, and none is '{}'", devices.size(), target.name);
  }
  support.cpu = devices.back().handle;
  HALYARD_ASSIGN_OR_RETURN(const auto session, cli::ApiSession::create(model));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<bool> answers,
                           session->supportedOperations(support.device));
  support.operations = answers.size();
  support.supported = static_cast<size_t>(std::ranges::count(answers, true));
  return support;
}

Result<CompiledModel> compileForDevice(const Support& support,
                                       const std::shared_ptr<const Model>& model) {
  HALYARD_ASSIGN_OR_RETURN(auto session, cli::ApiSession::create(model));
  std::vector<const ANeuralNetworksDevice*> devices = {support.device};
  if (support.supported < support.operations) devices.push_back(support.cpu);
  HALYARD_RETURN_IF_ERROR(session->compileFor(devices));
  return CompiledModel(std::move(session));
}

Result<CompiledModel> compileForCpu(const Support& support,
                                    const std::shared_ptr<const Model>& model) {
  HALYARD_ASSIGN_OR_RETURN(auto session, cli::ApiSession::create(model));
  HALYARD_RETURN_IF_ERROR(session->compile(support.cpu));
  return CompiledModel(std::move(session));
}

}  // namespace halyard::validation
