#include "measure/device_choice.h"

#include <android/NeuralNetworksExtensions.h>

#include <algorithm>
#include <optional>

#include "client/status.h"
#include "halyard/tflite_extension.h"

namespace halyard::measure {
namespace {

std::optional<size_t> indexOf(std::span<const std::string> names, std::string_view name) {
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return std::nullopt;
  return static_cast<size_t>(it - names.begin());
}

}  // namespace

Result<size_t> chooseDevice(std::span<const std::string> names, std::string_view wanted) {
  if (const auto index = indexOf(names, wanted)) return *index;
  // This comes before the CPU device "nnapi-reference", because "halyard-reference" has the same
  // ending.
  if (const auto index = indexOf(names, fmt::format("halyard-{}", wanted))) return *index;
  if (wanted == "cpu") {
    if (const auto index = indexOf(names, "nnapi-reference")) return *index;
  }
  const std::string ending = fmt::format("-{}", wanted);
  std::optional<size_t> found;
  bool several = false;
  for (size_t i = 0; i < names.size() && !wanted.empty(); ++i) {
    if (!names[i].ends_with(ending)) continue;
    several = found.has_value();
    found = i;
    if (several) break;
  }
  if (found && !several) return *found;
  return badData(
      "{} device '{}'; the devices are: {}{}", several ? "more than one" : "no", wanted,
      fmt::join(names, ", "),
      several ? "" : ". 'halyard devices' has the reasons for drivers that are not there");
}

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

}  // namespace halyard::measure
