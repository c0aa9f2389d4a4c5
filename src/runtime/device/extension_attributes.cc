#include "runtime/device/extension_attributes.h"

#include <algorithm>

#include "base/log.h"

namespace halyard::runtime {
namespace {

void warnOf(const Device& device, const char* extensionName, uint16_t code) {
  const auto& extensions = device.info().extensions;
  const bool offered =
      std::any_of(extensions.begin(), extensions.end(),
                  [&](const hal::Extension& each) { return each.name == extensionName; });
  if (!offered) {
    logWarning("device {} does not offer the extension '{}': attribute {} has no meaning for it",
               device.name(), extensionName, code);
  } else if (device.featureLevel() < FeatureLevel::FL8) {
    logWarning("device {} has {}: it is not sent attribute {} of '{}', which needs {}",
               device.name(), featureLevelName(device.featureLevel()), code, extensionName,
               featureLevelName(FeatureLevel::FL8));
  }
}

}  // namespace

Status ExtensionAttributeList::add(ExtensionRegistry& extensions, const Device& device,
                                   const char* extensionName, uint16_t code, const void* data,
                                   size_t length) {
  if (length > UINT32_MAX) {
    return badData("attribute {} of '{}': {} bytes, at most 4294967295 are possible", code,
                   extensionName, length);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint16_t prefix, extensions.prefixOf(extensionName));
  if (attributes_.find(extensionName, code) != nullptr) {
    return badData("attribute {} of '{}' has been added already", code, extensionName);
  }
  warnOf(device, extensionName, code);
  auto& names = attributes_.extensionNameToPrefix;
  if (std::none_of(names.begin(), names.end(), [prefix](const ExtensionNameAndPrefix& each) {
        return each.prefix == prefix;
      })) {
    names.push_back({extensionName, prefix});
  }
  const auto* bytes = static_cast<const uint8_t*>(data);
  attributes_.attributes.push_back(
      {(uint32_t{prefix} << 16) | code, std::vector<uint8_t>(bytes, bytes + length)});
  return okStatus();
}

}  // namespace halyard::runtime
