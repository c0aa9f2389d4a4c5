// Checks the information that a device gives about itself.
#include <set>

#include "halyard/driver/hal_types.h"
#include "model/validation/extension_table.h"

namespace halyard::hal {
namespace {

constexpr uint32_t kMaxCacheFiles = 32;

// Names such as com.vendor.feature must be unique. Types must have a size, and be unique in their
// extension.
Status checkExtensions(const std::vector<Extension>& extensions) {
  std::set<std::string_view> names;
  for (const Extension& extension : extensions) {
    const std::string& name = extension.name;
    if (!isExtensionName(name)) {
      return badData("extension '{}' is not named like vendor.feature, of a-z, 0-9, '_' and '.'",
                     name);
    }
    if (!names.insert(name).second) return badData("extension '{}' is listed twice", name);
    std::set<uint16_t> types;
    for (const ExtensionOperandType& type : extension.operandTypes) {
      if (!types.insert(type.type).second) {
        return badData("extension '{}' describes operand type {} twice", name, type.type);
      }
      if (type.byteSize == 0) {
        return badData("extension '{}': operand type {} has size 0", name, type.type);
      }
    }
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
  if (info.imports > kEveryImport || (info.imports != 0 && !info.ownMemory)) {
    return badData("its set of imported memory is {}, expected {}", info.imports,
                   info.ownMemory ? "at most 3" : "0 without memory of its own");
  }
  if (info.halVersion < HalVersion::V1_2) return okStatus();
  if (info.versionString.empty()) return badData("its version string is empty");
  if (info.type < DeviceType::OTHER || info.type > DeviceType::ACCELERATOR) {
    return badData("its type {} is not one of 1 to 4", static_cast<int32_t>(info.type));
  }
  return checkExtensions(info.extensions);
}

}  // namespace halyard::hal
