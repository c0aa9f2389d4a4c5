#include "model/validation/extension_table.h"

#include <algorithm>
#include <set>

namespace halyard {

bool isExtensionName(std::string_view name) {
  return name.find('.') != std::string_view::npos &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
         });
}

Status validateExtensionTable(const std::vector<ExtensionNameAndPrefix>& table) {
  std::set<std::string_view> names;
  std::set<uint16_t> prefixes;
  for (const ExtensionNameAndPrefix& entry : table) {
    if (!isExtensionName(entry.name)) {
      return badData("'{}' is no legal name of an extension", entry.name);
    }
    if (entry.prefix == 0) return badData("extension '{}' has prefix 0", entry.name);
    if ((entry.name == kTfliteExtension) != (entry.prefix == kTfliteExtensionPrefix)) {
      return badData("extension '{}' has prefix {:#x}; {:#x} is the prefix of '{}' and no other",
                     entry.name, entry.prefix, kTfliteExtensionPrefix, kTfliteExtension);
    }
    if (!names.insert(entry.name).second) {
      return badData("extension '{}' is listed twice", entry.name);
    }
    if (!prefixes.insert(entry.prefix).second) {
      return badData("extension prefix {} is given twice", entry.prefix);
    }
  }
  return okStatus();
}

}  // namespace halyard
