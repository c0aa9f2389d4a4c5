// The profile of a compilation as a text for people.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <string>
#include <string_view>

#include "halyard/driver/status.h"

namespace halyard::cli {

struct ProfileReportOptions {
  bool everyOperation = false;  // in the model's order, not only those that take most
  size_t mostOperations = 15;   // otherwise
};

// `json`: as halyard_compilationProfile writes it. Operations with their times, partitions with
// what the way to the device and back costs, and the time by layer and phase. OP_FAILED when the
// text is no such document.
Result<std::string> profileReport(std::string_view json, const ProfileReportOptions& options);

}  // namespace halyard::cli
