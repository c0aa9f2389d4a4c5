// Tables in plain text.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <string>
#include <vector>

namespace halyard::cli {

using TableRow = std::vector<std::string>;

// Columns as wide as their longest cell, two blanks apart; all rows as long as the first. Nothing
// for no rows.
std::string alignedRows(const std::vector<TableRow>& rows);

}  // namespace halyard::cli
