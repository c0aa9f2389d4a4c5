// TestDevice: the smallest device that computes something, with ways to misbehave; for tests.
// Thread safety: as hal::Device. Ownership: shares the last prepared model with the test.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "halyard/driver/device.h"

namespace halyard::hal::testing {

// First values of the first input that make an execution misbehave.
inline constexpr float kHang = 777;            // computes for ever
inline constexpr float kUntilCancelled = 888;  // computes until it is cancelled
inline constexpr float kAbort = 666;           // aborts the process
inline constexpr float kThrow = 555;           // throws an exception
inline constexpr float kTooSmall = 444;        // OUTPUT_INSUFFICIENT_SIZE

// An extension's attribute: a float, which is added to every sum of the prepared model, or of the
// execution, that it is given to.
inline constexpr const char* kTestExtension = "com.acme.things";
inline constexpr uint16_t kBiasAttribute = 7;

// Does ADD of float32 tensors of the same shape, without activation: the first operation of a model
// is computed from its first two operands, model inputs or constants, to the first output. Takes
// images as well: the pixels of the first row, 4 bytes each, are the tensor's elements. With
// cache files in its info it saves "model" and "data", and the token's first byte, to them; what
// comes back from files with such a text is addModel(4).
class TestDevice final : public Device {
 public:
  explicit TestDevice(HalVersion version = HalVersion::V1_3);

  const DeviceInfo& info() const override { return info_; }
  Result<std::vector<bool>> getSupportedOperations(const ValidModel& model) override;
  Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel& model,
                                                      const PrepareOptions& options) override;
  Result<CachedModel> prepareModelFromCache(const std::optional<ValidModel>& model,
                                            const PrepareOptions& options) override;

  DeviceInfo& mutableInfo() { return info_; }
  // Called at the start of every prepareModel; may throw. To be set before the first.
  std::function<void()> onPrepare;
  // Called as each prepared model ends. To be set before the first.
  std::function<void()> onRelease;
  // Called in place of all that prepareModelFromCache does, with what it would give; may throw. To
  // be set before the first.
  std::function<Result<CachedModel>(CachedModel)> onLoad;
  // What prepareModel got last, but for the cache's files, which it lets go of.
  std::shared_ptr<const Model> lastModel() const;
  PrepareOptions lastOptions() const;
  // The numbers of cache files that came with it; nullopt: no cache.
  struct GivenCache {
    size_t modelFiles;
    size_t dataFiles;
    Token token;
  };
  std::optional<GivenCache> lastCache() const;
  // How many prepared models there are.
  size_t preparedModels() const { return static_cast<size_t>(alive_.use_count()) - 1; }
  // How many executions run until they are cancelled.
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

// out[n] = a[n] + b[n]; n = 0 leaves the size open.
Model addModel(uint32_t n);
// out[n] = a[n] + constant, the constant in the model's operandValues.
Model addConstantModel(const std::vector<float>& constant);
// A request with pointers to `a` (and `b`, unless null) and `out`, of `n` floats each.
Request pointerRequest(const float* a, const float* b, float* out, uint32_t n);

}  // namespace halyard::hal::testing
