#include "measure/model_runs.h"

#include <android/NeuralNetworksExtensions.h>
#include <halyard/halyard.h>

#include "client/status.h"
#include "measure/device_choice.h"
#include "measure/run_inputs.h"

namespace halyard::measure {

Result<std::vector<const ANeuralNetworksDevice*>> devicesOf(
    const std::vector<std::string>& wanted) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<client::Device> devices, client::allDevices());
  std::vector<std::string> names;
  for (const client::Device& device : devices) names.push_back(device.name);
  std::vector<const ANeuralNetworksDevice*> chosen;
  for (const std::string& name : wanted) {
    HALYARD_ASSIGN_OR_RETURN(const size_t index, chooseDevice(names, name));
    chosen.push_back(devices[index].handle);
  }
  return chosen;
}

Result<import::ImportOptions> importOptionsFor(
    std::span<const ANeuralNetworksDevice* const> devices) {
  std::vector<const ANeuralNetworksDevice*> all;
  if (devices.empty()) {
    HALYARD_ASSIGN_OR_RETURN(const std::vector<client::Device> listed, client::allDevices());
    for (const client::Device& device : listed) all.push_back(device.handle);
    devices = all;
  }
  size_t offering = 0;
  for (const ANeuralNetworksDevice* device : devices) {
    bool offers = false;
    HALYARD_RETURN_IF_FAILED(HALYARD_CALL(ANeuralNetworksDevice_getExtensionSupport, device,
                                          kTfliteExtension.data(), &offers));
    if (offers) ++offering;
  }
  import::ImportOptions options;
  options.extension = offering == devices.size() ? import::ExtensionUse::PREFERRED
                      : offering > 0             ? import::ExtensionUse::WHERE_NEEDED
                                                 : import::ExtensionUse::NONE;
  return options;
}

Status runOften(const client::Session& session, const import::ImportedModel& imported,
                unsigned runs) {
  InputOptions random;
  random.randomSeed = 1;
  HALYARD_ASSIGN_OR_RETURN(const PreparedInputs prepared, prepareInputs(imported.inputs, random));
  std::vector<client::Input> inputs;
  for (const PreparedInput& input : prepared.inputs) {
    inputs.push_back({input.bytes, input.dimensions, false});
  }
  for (unsigned i = 0; i < runs; ++i) {
    halyard_traceBegin(HALYARD_PHASE_EXECUTION, "execution");
    const Status status = session.execute(inputs).status();
    halyard_traceEnd();
    HALYARD_RETURN_IF_ERROR(status, "execution {}", i + 1);
  }
  return okStatus();
}

}  // namespace halyard::measure
