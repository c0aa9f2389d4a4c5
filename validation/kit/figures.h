// The measurements of a run's checks, as tables.
// Thread safety: pure functions.
// Ownership: results own their data.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "validation/kit/report.h"

namespace halyard::validation {

// A table of the checks of an area whose names end in the same word. A row is a check, and a column
// a figure. A cell is empty if the check does not have the figure.
struct FigureTable {
  struct Row {
    std::string check;  // without the last word
    Outcome outcome = Outcome::PASSED;
    std::vector<std::string> cells;
  };
  std::string title;                 // "models: accuracy"
  std::vector<std::string> columns;  // "median ms"
  std::vector<Row> rows;
};
// In the order of the records. Checks without figures are in no table.
std::vector<FigureTable> figureTables(std::span<const CheckRecord> records);

// Four significant digits. From 1000 on, the whole integer part.
std::string figureText(double value);

}  // namespace halyard::validation
