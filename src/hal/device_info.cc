// What a device may say of itself.
#include <algorithm>
#include <set>

#include "halyard/driver/hal_types.h"

namespace halyard::hal {
namespace {

constexpr uint32_t kMaxCacheFiles = 32;

// Names such as com.vendor.feature, each once.
Status checkExtensions(const std::vector<Extension>& extensions) {
  std::set<std::string_view> names;
  for (const Extension& extension : extensions) {
    const std::string& name = extension.name;
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    });
    if (!plain || name.find('.') == std::string::npos) {
      return badData("extension '{}' is not named like vendor.feature, of a-z, 0-9, '_' and '.'",
                     name);
    }
    if (!names.insert(name).second) return badData("extension '{}' is listed twice", name);
  }
  return okStatus();
}

}  // namespace

Status validateDeviceInfo(const DeviceInfo& info) {
  HALYARD_RETURN_IF_ERROR(validateCapabilities(info.capabilities), "capabilities");
  if (info.modelCacheFiles > kMaxCacheFiles || info.dataCacheFiles > kMaxCacheFiles) {
    return badData("it wants {} model and {} data cache files; at most {} each are allowed",
                   info.modelCacheFiles, info.dataCacheFiles, kMaxCacheFiles);
  }
  if (info.halVersion < HalVersion::V1_2) return okStatus();
  if (info.versionString.empty()) return badData("its version string is empty");
  if (info.type < DeviceType::OTHER || info.type > DeviceType::ACCELERATOR) {
    return badData("its type {} is not one of 1 to 4", static_cast<int32_t>(info.type));
  }
  return checkExtensions(info.extensions);
}

}  // namespace halyard::hal
