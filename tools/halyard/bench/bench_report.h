// The results of halyard bench as text and as a page.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/halyard/bench/beside.h"

namespace halyard::cli {

// `document`: the output of `halyard bench --json` (docs/benchmark.md).

// Tables for a terminal.
std::string benchText(const nlohmann::json& document, const Beside& beside);

// One self-contained file with charts.
std::string benchHtml(const nlohmann::json& document, const Beside& beside);

}  // namespace halyard::cli
