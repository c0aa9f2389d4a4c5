// TouchingDevice: a device that uses all that it is given, to its last byte; for tests of what the
// server lets through.
// Thread safety: as hal::Device. Ownership: none beyond its models.
#pragma once

#include "halyard/driver/device.h"

namespace halyard::hal::testing {

// Prepares every model and "executes" it: reads the bytes of all constants and inputs, writes those
// of all outputs. Ends the process when something that is validated before a device sees it does
// not hold: a location out of range, memory without the right, a token, a cache file that is none.
// Saves models as their bytes, and takes from a cache whatever are a model's bytes: nothing in a
// file is trusted.
class TouchingDevice final : public Device {
 public:
  TouchingDevice();

  const DeviceInfo& info() const override { return info_; }
  Result<std::vector<bool>> getSupportedOperations(const ValidModel& model) override;
  Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel& model,
                                                      const PrepareOptions& options) override;
  Result<CachedModel> prepareModelFromCache(const std::optional<ValidModel>& model,
                                            const PrepareOptions& options) override;

 private:
  DeviceInfo info_;
};

}  // namespace halyard::hal::testing
