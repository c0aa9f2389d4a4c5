// Attributes of vendor extensions; see hal_types.h.
#include <algorithm>
#include <set>

#include "halyard/driver/hal_types.h"
#include "model/validation/extension_table.h"

namespace halyard::hal {

const std::vector<uint8_t>* ExtensionAttributes::find(std::string_view name, uint16_t code) const {
  const auto extension =
      std::find_if(extensionNameToPrefix.begin(), extensionNameToPrefix.end(),
                   [name](const ExtensionNameAndPrefix& entry) { return entry.name == name; });
  if (extension == extensionNameToPrefix.end()) return nullptr;
  const uint32_t token = (uint32_t{extension->prefix} << 16) | code;
  const auto it =
      std::find_if(attributes.begin(), attributes.end(),
                   [token](const ExtensionAttribute& each) { return each.token == token; });
  return it == attributes.end() ? nullptr : &it->value;
}

Status validateExtensionAttributes(const ExtensionAttributes& attributes) {
  HALYARD_RETURN_IF_ERROR(validateExtensionTable(attributes.extensionNameToPrefix),
                          "extension attributes");
  std::set<uint16_t> prefixes;
  for (const ExtensionNameAndPrefix& entry : attributes.extensionNameToPrefix) {
    prefixes.insert(entry.prefix);
  }
  std::set<uint32_t> tokens;
  for (const ExtensionAttribute& attribute : attributes.attributes) {
    if (!prefixes.contains(static_cast<uint16_t>(attribute.token >> 16))) {
      return badData("extension attribute {:#010x} belongs to no extension that is named with it",
                     attribute.token);
    }
    if (!tokens.insert(attribute.token).second) {
      return badData("extension attribute {:#010x} is given twice", attribute.token);
    }
  }
  return okStatus();
}

}  // namespace halyard::hal
