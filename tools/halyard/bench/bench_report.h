// What halyard bench has measured, as text and as a page.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/halyard/bench/beside.h"

namespace halyard::cli {

// `document`: what `halyard bench --json` writes (docs/benchmark.md).

// Tables for a terminal.
std::string benchText(const nlohmann::json& document, const Beside& beside);

// One file with charts, which needs nothing else.
std::string benchHtml(const nlohmann::json& document, const Beside& beside);

}  // namespace halyard::cli
