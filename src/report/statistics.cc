#include "report/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace halyard::report {
namespace {

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> values(samples.begin(), samples.end());
  std::sort(values.begin(), values.end());
  return values;
}

double percentileOfSorted(std::span<const double> values, double p) {
  if (values.empty()) return 0;
  const double place = std::clamp(p, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

}  // namespace

double percentileOf(std::span<const double> samples, double p) {
  return percentileOfSorted(sorted(samples), p);
}

double medianOf(std::span<const double> samples) { return percentileOf(samples, 0.5); }

double meanOf(std::span<const double> samples) {
  if (samples.empty()) return 0;
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

Summary summaryOf(std::span<const double> samples) {
  if (samples.empty()) return {};
  const std::vector<double> values = sorted(samples);
  return {.count = values.size(),
          .least = values.front(),
          .median = percentileOfSorted(values, 0.5),
          .mean = meanOf(values),
          .p90 = percentileOfSorted(values, 0.9),
          .p99 = percentileOfSorted(values, 0.99),
          .most = values.back()};
}

Histogram histogramOf(std::span<const double> samples, size_t steps) {
  if (samples.empty()) return {};
  const std::vector<double> values = sorted(samples);
  const double start = values.front();
  const double width = percentileOfSorted(values, 0.99) - start;
  if (width <= 0) return {start, 0, {values.size()}};
  Histogram histogram{start, width / static_cast<double>(steps), std::vector<size_t>(steps)};
  for (const double value : values) {
    const auto step = static_cast<size_t>((value - start) / histogram.step);
    ++histogram.counts[std::min(step, steps - 1)];
  }
  return histogram;
}

}  // namespace halyard::report
