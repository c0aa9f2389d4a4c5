// The measurements of a run's checks, as tables.
// Thread safety: pure functions.
// Ownership: results own their data.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "validation/kit/report.h"

namespace halyard::validation {

// One table for the checks of an area whose names end in the same word: a row for each check, a
// column for each figure. Cells are texts; empty where a check has no such figure.
struct FigureTable {
  struct Row {
    std::string check;  // without the word
    Outcome outcome = Outcome::PASSED;
    std::vector<std::string> cells;
  };
  std::string title;                 // "models: accuracy"
  std::vector<std::string> columns;  // "median ms"
  std::vector<Row> rows;
};
// In the order of the records; those without figures are in none.
std::vector<FigureTable> figureTables(std::span<const CheckRecord> records);

// Four significant digits; of large numbers the whole part.
std::string figureText(double value);

}  // namespace halyard::validation
