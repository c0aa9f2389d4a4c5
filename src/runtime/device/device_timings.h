// DeviceTimings: what executions have shown of a device's real costs, as factors on the
// predictions. Thread safety: any thread. Ownership: plain data.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace halyard::runtime {

// The uncorrected prediction of a part, in nanoseconds.
struct PredictedParts {
  double wake = 0;
  double transfer = 0;
  double compute = 0;
};

class DeviceTimings {
 public:
  struct Factors {
    double wake = 1;
    double transfer = 1;
    double compute = 1;
  };

  // A part that was predicted like that took so long.
  void add(const PredictedParts& predicted, double nanoseconds);
  Factors factors() const;
  // Nothing has been measured yet: the factors say nothing.
  bool empty() const;

 private:
  // An estimate of the three factors by what was measured so far (a Kalman filter): a measurement
  // corrects most what contributes most to it and is known least.
  mutable std::mutex mutex_;
  std::array<double, 3> factors_ = {1, 1, 1};
  std::array<std::array<double, 3>, 3> covariance_ = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  uint64_t measurements_ = 0;
};

}  // namespace halyard::runtime
