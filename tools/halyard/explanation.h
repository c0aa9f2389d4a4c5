// The report of a compilation as a text for people.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <string>
#include <string_view>

#include "halyard/driver/status.h"

namespace halyard::cli {

struct ExplanationOptions {
  bool everyOperation = false;  // a line for each operation, and all reasons
  size_t mostReasons = 8;       // of each device, otherwise
};

// `json`: as halyard_compilationReport writes it. Partitions with predicted and measured cost, for
// each device the reasons why operations are elsewhere, grouped where they are the same, and all
// events. OP_FAILED when the text is no such document.
Result<std::string> explanation(std::string_view json, const ExplanationOptions& options);

// The devices of the partitions in one line: "acme-npu #0-#64, nnapi-reference #65". The same
// errors.
Result<std::string> devicesText(std::string_view json);

// What became of the cache, in one line: "hit, 4.2 MB read: key 1.2 ms, open 0.1 ms, load 3.4 ms",
// or "hit for 2 of 3 partitions, ...". The same errors.
Result<std::string> cacheText(std::string_view json);

}  // namespace halyard::cli
