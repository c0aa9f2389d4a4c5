// Statistics that summarise many measurements.
// Thread safety: pure functions over values.
// Ownership: results own their data.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace halyard::report {

// Returns the value below which the share `p` of [0, 1] of the samples lies. It interpolates
// between the two nearest samples. Returns 0 for no samples.
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

// The number of samples in each of several equal steps. Step i begins at `start` + i * `step`. The
// last step also has all samples beyond it.
struct Histogram {
  double start = 0;
  double step = 0;
  std::vector<size_t> counts;
};
// Returns the histogram from the smallest sample to the 99th percentile. `steps` is at least 1.
// Equal samples give one step of width 0; no samples give no steps.
Histogram histogramOf(std::span<const double> samples, size_t steps);

}  // namespace halyard::report
