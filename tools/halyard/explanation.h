// Renders the report of a compilation as a text for users.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <string>
#include <string_view>

#include "halyard/driver/status.h"

namespace halyard::cli {

struct ExplanationOptions {
  bool everyOperation = false;  // prints a line for each operation, and all reasons
  size_t mostReasons = 8;       // the limit for each device otherwise
};

// `json`: as halyard_compilationReport writes it. The text shows partitions with predicted and
// measured cost, and all events. For each device it shows why operations run elsewhere; equal
// reasons are grouped. OP_FAILED when the text is not such a document.
Result<std::string> explanation(std::string_view json, const ExplanationOptions& options);

// The devices of the partitions in one line: "acme-npu #0-#64, nnapi-reference #65". Errors are the
// same.
Result<std::string> devicesText(std::string_view json);

// The use of the cache in one line: "hit, 4.2 MB read: key 1.2 ms, open 0.1 ms, load 3.4 ms", or
// "hit for 2 of 3 partitions, ...". Errors are the same.
Result<std::string> cacheText(std::string_view json);

}  // namespace halyard::cli
