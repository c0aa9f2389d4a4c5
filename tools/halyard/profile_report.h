// Renders the profile of a compilation as a text for users.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <string>
#include <string_view>

#include "halyard/driver/status.h"

namespace halyard::cli {

struct ProfileReportOptions {
  bool everyOperation = false;  // in the model's order, instead of the slowest operations
  size_t mostOperations = 15;   // the limit otherwise
};

// `json`: as halyard_compilationProfile writes it. The text shows operations with their times,
// and the time by layer and phase. For each partition it shows the cost of the way to the device
// and back. OP_FAILED when the text is not such a document.
Result<std::string> profileReport(std::string_view json, const ProfileReportOptions& options);

}  // namespace halyard::cli
