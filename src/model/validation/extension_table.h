// Names of vendor extensions, and the table that assigns a prefix to each extension of a model.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <string_view>
#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"

namespace halyard {

// A valid name has the characters a-z, 0-9, '_' and '.', and at least one '.', such as
// com.vendor.feature.
bool isExtensionName(std::string_view name);

// Returns BAD_DATA unless every name is valid, every prefix is at least 1, and names and prefixes
// are unique. kTfliteExtension and its prefix must belong together.
Status validateExtensionTable(const std::vector<ExtensionNameAndPrefix>& table);

}  // namespace halyard
