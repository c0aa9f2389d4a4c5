// TouchingDevice: a device that touches all memory that it gets, up to the last byte. It tests the
// checks of the server.
// Thread safety: that of hal::Device. Ownership: shares its models.
#pragma once

#include "halyard/driver/device.h"

namespace halyard::hal::testing {

// Prepares each model. An execution reads all constants and inputs and writes all outputs.
// It ends the process when the server has missed an error. Examples are a range outside its memory,
// memory without the needed access, a token, or an invalid cache file.
// It saves the bytes of a model. Loading accepts any file with the bytes of a model, because the
// contents of files are not trusted.
class TouchingDevice final : public Device {
 public:
  TouchingDevice();

  const DeviceInfo& info() const override { return info_; }
  Result<SupportedOperations> getSupportedOperations(const ValidModel& model) override;
  Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel& model,
                                                      const PrepareOptions& options) override;
  Result<CachedModel> prepareModelFromCache(const std::optional<ValidModel>& model,
                                            const PrepareOptions& options) override;

 private:
  DeviceInfo info_;
};

}  // namespace halyard::hal::testing
