// Charts as inline SVG for an HtmlPage, with the page's colours.
// Thread safety: pure functions.
// Ownership: results own their text.
//
// Names are plain text; the functions escape them. A chart with more series than colours (6)
// repeats colours. One series has no legend, because the caption has its name. Every mark has a
// tooltip with its value. A figure must not appear in a chart only: put a table beside it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/statistics.h"

namespace halyard::report {

inline constexpr size_t kSeriesColours = 6;

// One value for each row; nullopt: no mark. A thin line connects each value with its `upper` value
// (a percentile), if not empty.
struct Series {
  std::string name;
  std::vector<std::optional<double>> values;
  std::vector<std::optional<double>> upper = {};
};

struct RowChart {
  std::string caption;
  std::vector<std::string> rows;
  std::vector<Series> series;
  // Formats values and axis labels; default: shortNumber.
  std::function<std::string(double)> format = {};
};

// Draws a dot for each value on a logarithmic axis, for values of different magnitudes. Values that
// are not above 0 have no mark.
std::string dotChart(const RowChart& chart);

// Draws bars from 0. A line over all rows marks `reference`, if given (1 for ratios). Values below
// 0 have no mark.
std::string barChart(const RowChart& chart, std::optional<double> reference = {});

// Draws columns for the steps of a histogram, and `marks` (name and value) as lines over it.
struct HistogramMark {
  std::string name;
  double value = 0;
};
std::string histogramChart(const std::string& caption, const Histogram& histogram,
                           const std::vector<HistogramMark>& marks,
                           const std::function<std::string(double)>& format = {});

}  // namespace halyard::report
