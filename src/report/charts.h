// Charts as inline SVG for an HtmlPage, whose colours they use.
// Thread safety: pure functions. Ownership: results own their text.
//
// Names are text and are escaped here. A chart with more series than there are colours (6) repeats
// them; one series has no legend, its name is in the caption. Every mark has a tooltip with its
// value. A chart never is the only place of a figure: put a table beside it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/statistics.h"

namespace halyard::report {

inline constexpr size_t kSeriesColours = 6;

// One value for each row; nullopt: no mark. `upper`, if not empty, is where a thin line from the
// value ends (a percentile).
struct Series {
  std::string name;
  std::vector<std::optional<double>> values;
  std::vector<std::optional<double>> upper = {};
};

struct RowChart {
  std::string caption;
  std::vector<std::string> rows;
  std::vector<Series> series;
  // Of values and of the axis; default: shortNumber.
  std::function<std::string(double)> format = {};
};

// A dot for each value on a logarithmic axis: for values of different magnitudes. Values that are
// not above 0 have no mark.
std::string dotChart(const RowChart& chart);

// Bars from 0. `reference`, if given, is a value that is marked by a line over all rows (1 for
// ratios). Values below 0 have no mark.
std::string barChart(const RowChart& chart, std::optional<double> reference = {});

// Columns for the steps of a histogram, `marks` (name and value) as lines over it.
struct HistogramMark {
  std::string name;
  double value = 0;
};
std::string histogramChart(const std::string& caption, const Histogram& histogram,
                           const std::vector<HistogramMark>& marks,
                           const std::function<std::string(double)>& format = {});

}  // namespace halyard::report
