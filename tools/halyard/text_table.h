// Renders tables in plain text.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <string>
#include <vector>

namespace halyard::cli {

using TableRow = std::vector<std::string>;

// Columns are as wide as their longest cell, two blanks apart. Each row has as many cells as the
// first. Empty without rows.
std::string alignedRows(const std::vector<TableRow>& rows);

}  // namespace halyard::cli
