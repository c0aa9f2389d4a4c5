// DeviceTimings: the real costs of a device from its executions, as factors on the predictions.
// Thread safety: any thread.
// Ownership: plain data.
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

  // Adds the measured time of a part with this prediction.
  void add(const PredictedParts& predicted, double nanoseconds);
  Factors factors() const;
  // Returns true before the first measurement: the factors have no meaning then.
  bool empty() const;

 private:
  // An estimate of the three factors from all measurements (a Kalman filter). A measurement mainly
  // corrects the factor with a large share in it and a large uncertainty.
  mutable std::mutex mutex_;
  std::array<double, 3> factors_ = {1, 1, 1};
  std::array<std::array<double, 3>, 3> covariance_ = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  uint64_t measurements_ = 0;
};

}  // namespace halyard::runtime
