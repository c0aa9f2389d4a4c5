// Corrects predictions by measurements.
#include "runtime/device/device_timings.h"

#include <algorithm>

namespace halyard::runtime {
namespace {

// The relative standard deviation of a measurement. Its main cause is the error in the estimate of
// the part's work.
constexpr double kNoise = 0.5;
// A larger ratio of measurement to prediction counts as this one, because another process disturbed
// it.
constexpr double kLargestSurprise = 10;
// The allowed speed of a device's changes: the variance added with each measurement.
constexpr double kDrift = 1e-4;
constexpr double kSmallestFactor = 0.02;
constexpr double kLargestFactor = 100;

}  // namespace

void DeviceTimings::add(const PredictedParts& predicted, double nanoseconds) {
  const std::array<double, 3> shares = {predicted.wake, predicted.transfer, predicted.compute};
  const std::lock_guard lock(mutex_);
  double expected = 0;
  for (size_t i = 0; i < shares.size(); ++i) expected += shares[i] * factors_[i];
  if (!(expected > 0) || !(nanoseconds > 0)) return;
  const double measured =
      std::clamp(nanoseconds, expected / kLargestSurprise, expected * kLargestSurprise);
  std::array<double, 3> spread{};  // covariance times shares
  double variance = kNoise * kNoise * measured * measured;
  for (size_t i = 0; i < shares.size(); ++i) {
    covariance_[i][i] += kDrift;
    for (size_t j = 0; j < shares.size(); ++j) spread[i] += covariance_[i][j] * shares[j];
  }
  for (size_t i = 0; i < shares.size(); ++i) variance += spread[i] * shares[i];
  const double surprise = measured - expected;
  for (size_t i = 0; i < shares.size(); ++i) {
    factors_[i] =
        std::clamp(factors_[i] + spread[i] / variance * surprise, kSmallestFactor, kLargestFactor);
    for (size_t j = 0; j < shares.size(); ++j) {
      covariance_[i][j] -= spread[i] * spread[j] / variance;
    }
  }
  ++measurements_;
}

DeviceTimings::Factors DeviceTimings::factors() const {
  const std::lock_guard lock(mutex_);
  return {factors_[0], factors_[1], factors_[2]};
}

bool DeviceTimings::empty() const {
  const std::lock_guard lock(mutex_);
  return measurements_ == 0;
}

}  // namespace halyard::runtime
