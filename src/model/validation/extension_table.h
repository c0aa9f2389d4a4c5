// Names of vendor extensions, and the table that gives each of a model's a prefix.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <string_view>
#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"

namespace halyard {

// a-z, 0-9, '_' and '.', at least one '.', such as com.vendor.feature.
bool isExtensionName(std::string_view name);

// BAD_DATA unless every name is one, every prefix is 1 or more, none of either comes twice, and
// kTfliteExtension and its prefix belong together.
Status validateExtensionTable(const std::vector<ExtensionNameAndPrefix>& table);

}  // namespace halyard
