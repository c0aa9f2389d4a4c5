// TestDevice: a minimal device that computes sums and can misbehave, for tests.
// Thread safety: that of hal::Device. Ownership: shares the last prepared model with the test.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "halyard/driver/device.h"

namespace halyard::hal::testing {

// An execution misbehaves if the first value of the first input is one of these.
inline constexpr float kHang = 777;            // computes forever
inline constexpr float kUntilCancelled = 888;  // computes until it is cancelled
inline constexpr float kAbort = 666;           // aborts the process
inline constexpr float kThrow = 555;           // throws an exception
inline constexpr float kTooSmall = 444;        // OUTPUT_INSUFFICIENT_SIZE

// An attribute of an extension: a float. It is added to each sum of the prepared model or of the
// execution that gets the attribute.
inline constexpr const char* kTestExtension = "com.acme.things";
inline constexpr uint16_t kBiasAttribute = 7;

// The prediction of TestDevice for an ADD.
inline constexpr std::chrono::nanoseconds kCostOfAddition{1234};

// Computes ADD of float32 tensors of the same shape, without activation. It reads the first two
// operands of the first operation, which are model inputs or constants. It writes the first output.
// It also accepts images. Their elements are the pixels of the first row, with 4 bytes each.
// If its info has cache files, prepareModel writes "model" or "data" and the first byte of the
// token to each file. Loading such files gives addModel(4).
class TestDevice final : public Device {
 public:
  explicit TestDevice(HalVersion version = HalVersion::V1_3);

  const DeviceInfo& info() const override { return info_; }
  Result<SupportedOperations> getSupportedOperations(const ValidModel& model) override;
  Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel& model,
                                                      const PrepareOptions& options) override;
  Result<CachedModel> prepareModelFromCache(const std::optional<ValidModel>& model,
                                            const PrepareOptions& options) override;

  DeviceInfo& mutableInfo() { return info_; }
  // Called at the start of each prepareModel; may throw. Set it before the first call.
  std::function<void()> onPrepare;
  // Called at the end of each prepared model. Set it before the first preparation.
  std::function<void()> onRelease;
  // Replaces the checks of prepareModelFromCache. It gets the result for valid files and may throw.
  // Set it before the first call.
  std::function<Result<CachedModel>(CachedModel)> onLoad;
  // The arguments of the last prepareModel, without the files of the cache.
  std::shared_ptr<const Model> lastModel() const;
  PrepareOptions lastOptions() const;
  // The numbers of cache files in these arguments; nullopt: no cache.
  struct GivenCache {
    size_t modelFiles;
    size_t dataFiles;
    Token token;
  };
  std::optional<GivenCache> lastCache() const;
  // The number of existing prepared models.
  size_t preparedModels() const { return static_cast<size_t>(alive_.use_count()) - 1; }
  // The number of executions that run until they are cancelled.
  int running() const { return *alive_; }

 private:
  DeviceInfo info_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Model> lastModel_;
  PrepareOptions lastOptions_;
  std::optional<GivenCache> lastCache_;
  std::shared_ptr<std::atomic<int>> alive_ =
      std::make_shared<std::atomic<int>>(0);  // each prepared model has a reference
};

// out[n] = a[n] + b[n]. With n = 0, the size is unknown.
Model addModel(uint32_t n);
// out[n] = a[n] + constant. The constant is in the operandValues of the model.
Model addConstantModel(const std::vector<float>& constant);
// A request with pointers to `a`, `b` (unless null) and `out`. Each has `n` floats.
Request pointerRequest(const float* a, const float* b, float* out, uint32_t n);

}  // namespace halyard::hal::testing
