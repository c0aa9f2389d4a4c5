#include "report/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html.h"
#include "report/numbers.h"

namespace halyard::report {
namespace {

// In units of the SVG, which are pixels at full width.
constexpr double kWidth = 900;
// The width of a character in the widest usual fonts at 12 px.
constexpr double kCharacter = 7;
constexpr double kCapital = 9;
constexpr double kMostLabel = 300;
constexpr double kRight = 70;
constexpr double kTop = 6;
constexpr double kAxis = 24;
constexpr double kBar = 12;
constexpr double kGap = 2;

using Format = std::function<std::string(double)>;

std::string colourOf(size_t series) {
  return fmt::format("var(--series-{})", series % kSeriesColours + 1);
}

std::string frame(const std::string& caption, const std::string& legend, double height,
                  const std::string& marks) {
  return fmt::format(
      "<figure><figcaption>{}</figcaption>\n{}<svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">\n{}</svg></figure>\n",
      text(caption), legend, kWidth, height, text(caption), marks);
}

std::string legendOf(const std::vector<Series>& series) {
  if (series.size() < 2) return "";
  std::string html = "<div class=\"legend\">";
  for (size_t i = 0; i < series.size(); ++i) {
    html += fmt::format("<span><i style=\"background:{}\"></i>{}</span>", colourOf(i),
                        text(series[i].name));
  }
  return html + "</div>\n";
}

std::string verticalLine(double x, double top, double bottom, const char* style) {
  return fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" {3}/>\n", x,
                     top, bottom, style);
}
constexpr const char* kGridStyle = "stroke=\"var(--line)\"";
constexpr const char* kAxisStyle = "stroke=\"var(--axis)\"";
constexpr const char* kMarkStyle = "stroke=\"var(--ink)\" stroke-dasharray=\"4 3\"";

// "row, series: value".
std::string tooltip(const RowChart& chart, size_t row, const Series& series,
                    const std::string& value) {
  return fmt::format("<title>{}{}{}: {}</title>", text(chart.rows[row]),
                     series.name.empty() ? "" : ", ", text(series.name), text(value));
}

// The names of the rows, and the position where the marks begin.
struct Labels {
  double width = 0;
  size_t most = 0;  // in characters

  explicit Labels(const std::vector<std::string>& rows) {
    double widest = 0;
    for (const std::string& row : rows) {
      const auto capitals = static_cast<double>(
          std::ranges::count_if(row, [](char c) { return c >= 'A' && c <= 'Z'; }));
      const auto others = static_cast<double>(row.size()) - capitals;
      widest = std::max(widest, capitals * kCapital + others * kCharacter);
    }
    width = std::min(kMostLabel, widest + 14);
    most = static_cast<size_t>(kMostLabel / kCharacter);
  }
  std::string draw(const std::string& name, double y) const {
    std::string shown = name;
    if (shown.size() > most) {
      size_t end = most - 1;
      // Does not cut inside a character of several bytes.
      while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80) --end;
      shown = shown.substr(0, end) + "\xE2\x80\xA6";
    }
    return fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}<title>{}</title>"
        "</text>\n",
        width - 8, y + 4, text(shown), text(name));
  }
};

std::string axisText(double x, double y, const std::string& label) {
  return fmt::format(
      "<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x, y,
      text(label));
}

std::optional<double> valueAt(const std::vector<std::optional<double>>& values, size_t row) {
  return row < values.size() ? values[row] : std::nullopt;
}

// Returns 1, 2 or 5 times a power of ten, so that about five steps make `most`.
double stepFor(double most) {
  const double rough = most / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power) return factor * power;
  }
  return 10 * power;
}

// The powers of ten that enclose all values.
struct Decades {
  int first = 0;
  int last = 0;

  explicit Decades(const std::vector<Series>& series) {
    double least = INFINITY;
    double most = 0;
    for (const Series& one : series) {
      for (const auto* values : {&one.values, &one.upper}) {
        for (const auto& value : *values) {
          if (!value || !(*value > 0) || !std::isfinite(*value)) continue;
          least = std::min(least, *value);
          most = std::max(most, *value);
        }
      }
    }
    if (most == 0) return;
    first = static_cast<int>(std::floor(std::log10(least)));
    last = std::max(first + 1, static_cast<int>(std::ceil(std::log10(most))));
  }
  bool empty() const { return first == last; }
  double place(double value) const { return (std::log10(value) - first) / (last - first); }
};

}  // namespace

std::string dotChart(const RowChart& chart) {
  const Decades decades(chart.series);
  if (decades.empty()) return "";
  const Format format = chart.format ? chart.format : Format(shortNumber);
  const Labels labels(chart.rows);
  const double across = kWidth - labels.width - kRight;
  const auto xOf = [&](double value) { return labels.width + decades.place(value) * across; };
  // Each series has its own line in a row, because equal values would hide each other.
  constexpr double kLine = 9;
  const auto lines = static_cast<double>(chart.series.size());
  const double rowHeight = std::max(26.0, kLine * lines + 12);
  const double bottom = kTop + rowHeight * static_cast<double>(chart.rows.size());
  std::string marks;
  for (int decade = decades.first; decade <= decades.last; ++decade) {
    const double value = std::pow(10, decade);
    marks += verticalLine(xOf(value), kTop, bottom, kGridStyle);
    marks += axisText(xOf(value), bottom + 17, format(value));
  }
  for (size_t row = 0; row < chart.rows.size(); ++row) {
    const double middle = kTop + rowHeight * (static_cast<double>(row) + 0.5);
    marks += labels.draw(chart.rows[row], middle);
    for (size_t i = 0; i < chart.series.size(); ++i) {
      const Series& series = chart.series[i];
      const auto value = valueAt(series.values, row);
      if (!value || !(*value > 0) || !std::isfinite(*value)) continue;
      const double y = middle + kLine * (static_cast<double>(i) - (lines - 1) / 2);
      const auto upper = valueAt(series.upper, row);
      std::string told = format(*value);
      if (upper && *upper > *value && std::isfinite(*upper)) {
        marks += fmt::format(
            "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
            "stroke-width=\"2\"/>\n",
            xOf(*value), y, xOf(*upper), y, colourOf(i));
        told += " to " + format(*upper);
      }
      marks += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5.5\" fill=\"{}\" stroke=\"var(--page)\" "
          "stroke-width=\"1.5\">{}</circle>\n",
          xOf(*value), y, colourOf(i), tooltip(chart, row, series, told));
    }
  }
  return frame(chart.caption, legendOf(chart.series), bottom + kAxis, marks);
}

std::string barChart(const RowChart& chart, std::optional<double> reference) {
  double most = reference.value_or(0);
  for (const Series& series : chart.series) {
    for (const auto& value : series.values) {
      if (value && std::isfinite(*value)) most = std::max(most, *value);
    }
  }
  if (most <= 0) return "";
  const Format format = chart.format ? chart.format : Format(shortNumber);
  const Labels labels(chart.rows);
  const double across = kWidth - labels.width - kRight;
  const auto lengthOf = [&](double value) { return value / most * across; };
  const double inRow = static_cast<double>(chart.series.size()) * (kBar + kGap);
  const double rowHeight = inRow + 10;
  const double bottom = kTop + rowHeight * static_cast<double>(chart.rows.size());
  std::string marks;
  std::string values;  // drawn over everything else
  const double step = stepFor(most);
  for (double value = 0; value <= most * 1.0001; value += step) {
    marks += verticalLine(labels.width + lengthOf(value), kTop, bottom,
                          value == 0 ? kAxisStyle : kGridStyle);
    marks += axisText(labels.width + lengthOf(value), bottom + 17, format(value));
  }
  for (size_t row = 0; row < chart.rows.size(); ++row) {
    const double top = kTop + rowHeight * static_cast<double>(row) + 5;
    marks += labels.draw(chart.rows[row], top + inRow / 2 - 1);
    for (size_t i = 0; i < chart.series.size(); ++i) {
      const Series& series = chart.series[i];
      const auto value = valueAt(series.values, row);
      if (!value || !(*value >= 0) || !std::isfinite(*value)) continue;
      const double y = top + static_cast<double>(i) * (kBar + kGap);
      // A bar starts straight and ends round.
      const double length = std::max(lengthOf(*value), 1.0);
      const double radius = std::min(4.0, length);
      marks += fmt::format(
          "<path d=\"M{0:.1f} {1:.1f}h{2:.1f}q{3:.1f} 0 {3:.1f} {3:.1f}v{4:.1f}q0 {3:.1f} -{3:.1f} "
          "{3:.1f}h-{2:.1f}z\" fill=\"{5}\">{6}</path>\n",
          labels.width, y, length - radius, radius, kBar - 2 * radius, colourOf(i),
          tooltip(chart, row, series, format(*value)));
      values += fmt::format("<text class=\"value\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                            labels.width + length + 5, y + kBar - 2, text(format(*value)));
    }
  }
  if (reference) {
    marks += verticalLine(labels.width + lengthOf(*reference), kTop, bottom, kMarkStyle);
  }
  return frame(chart.caption, legendOf(chart.series), bottom + kAxis, marks + values);
}

std::string histogramChart(const std::string& caption, const Histogram& histogram,
                           const std::vector<HistogramMark>& marks, const Format& given) {
  if (histogram.counts.empty()) return "";
  const Format format = given ? given : Format(shortNumber);
  constexpr double kHeight = 120;
  constexpr double kSide = 30;
  const size_t most = std::max<size_t>(1, std::ranges::max(histogram.counts));
  const double bottom = kTop + kAxis + kHeight;
  const auto columns = static_cast<double>(histogram.counts.size());
  const double column = (kWidth - 2 * kSide) / columns;
  std::string drawn =
      fmt::format("<line x1=\"{0}\" y1=\"{2:.1f}\" x2=\"{1}\" y2=\"{2:.1f}\" {3}/>\n", kSide,
                  kWidth - kSide, bottom, kAxisStyle);
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    const double height =
        static_cast<double>(histogram.counts[i]) / static_cast<double>(most) * kHeight;
    const double from = histogram.start + static_cast<double>(i) * histogram.step;
    drawn += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"><title>{} "
        "to "
        "{}: {}</title></rect>\n",
        kSide + static_cast<double>(i) * column + kGap / 2, bottom - height,
        std::max(1.0, column - kGap), height, colourOf(0), text(format(from)),
        text(format(from + histogram.step)), histogram.counts[i]);
  }
  const double width = histogram.step * columns;
  for (size_t i = 0; i < marks.size(); ++i) {
    const double share = width > 0 ? (marks[i].value - histogram.start) / width : 0.5;
    const double x = kSide + std::clamp(share, 0.0, 1.0) * (kWidth - 2 * kSide);
    drawn += verticalLine(x, kTop + kAxis, bottom, kMarkStyle);
    drawn += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{} {}</text>\n", x,
                         kTop + (i % 2 == 0 ? 8 : 21), share > 0.8 ? "end" : "start",
                         text(marks[i].name), text(format(marks[i].value)));
  }
  drawn += axisText(kSide, bottom + 17, format(histogram.start));
  if (width > 0) drawn += axisText(kWidth - kSide, bottom + 17, format(histogram.start + width));
  return frame(caption, "", bottom + kAxis, drawn);
}

}  // namespace halyard::report
