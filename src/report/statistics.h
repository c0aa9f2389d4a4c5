// Figures that say what many measurements are like.
// Thread safety: pure functions over values. Ownership: results own their data.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace halyard::report {

// The value below which the share `p` of [0, 1] of the samples lies, interpolated between the two
// nearest. 0 for no samples.
double percentileOf(std::span<const double> samples, double p);
double medianOf(std::span<const double> samples);
double meanOf(std::span<const double> samples);

struct Summary {
  size_t count = 0;
  double least = 0;
  double median = 0;
  double mean = 0;
  double p90 = 0;
  double p99 = 0;
  double most = 0;
};
Summary summaryOf(std::span<const double> samples);

// How many samples lie in each of some equal steps: step i begins at `start` + i * `step`. The last
// step has those that lie beyond it, too.
struct Histogram {
  double start = 0;
  double step = 0;
  std::vector<size_t> counts;
};
// From the least sample to the 99th percentile. `steps` at least 1; one step of width 0 when all
// samples are equal; no steps for no samples.
Histogram histogramOf(std::span<const double> samples, size_t steps);

}  // namespace halyard::report
