#include "validation/kit/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace halyard::validation {
namespace {

size_t columnOf(std::vector<std::string>* columns, const std::string& figure) {
  std::string column = figure;
  std::replace(column.begin(), column.end(), '_', ' ');
  const auto found = std::find(columns->begin(), columns->end(), column);
  if (found != columns->end()) return static_cast<size_t>(found - columns->begin());
  columns->push_back(std::move(column));
  return columns->size() - 1;
}

}  // namespace

std::string figureText(double value) {
  return std::abs(value) < 1000 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}

std::vector<FigureTable> figureTables(std::span<const CheckRecord> records) {
  std::vector<FigureTable> tables;
  for (const CheckRecord& record : records) {
    if (record.figures.empty()) continue;
    const size_t slash = record.name.rfind('/');
    const size_t word = slash == std::string::npos ? 0 : slash + 1;
    const std::string title = record.area + ": " + record.name.substr(word);
    auto table = std::find_if(tables.begin(), tables.end(),
                              [&](const FigureTable& one) { return one.title == title; });
    if (table == tables.end()) {
      tables.push_back({title, {}, {}});
      table = tables.end() - 1;
    }
    FigureTable::Row row{record.name.substr(0, word == 0 ? word : slash), record.outcome, {}};
    for (const Figure& figure : record.figures) {
      const size_t column = columnOf(&table->columns, figure.name);
      if (row.cells.size() <= column) row.cells.resize(column + 1);
      row.cells[column] = figureText(figure.value);
    }
    table->rows.push_back(std::move(row));
  }
  for (FigureTable& table : tables) {
    for (FigureTable::Row& row : table.rows) row.cells.resize(table.columns.size());
  }
  return tables;
}

}  // namespace halyard::validation
