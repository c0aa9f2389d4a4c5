#include "tools/halyard/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace halyard::cli {

std::string alignedRows(const std::vector<TableRow>& rows) {
  if (rows.empty()) return {};
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const TableRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string result;
  for (const TableRow& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

}  // namespace halyard::cli
