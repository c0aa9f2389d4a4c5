// ModelCache: saves prepared models in the files of an application, and finds them again: the
// model, and the device's code for its shaders. hal::CompileCache verifies every byte before it is
// read here, and before Vulkan sees it.
// Thread safety: all methods may be called from several threads at once.
// Ownership: owns its store; files and models are the caller's.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "halyard/driver/compile_cache.h"
#include "halyard/driver/valid_model.h"

namespace halyard::vulkandriver {

struct SavedModel {
  ValidModel model;
  std::vector<uint8_t> code;  // VulkanDevice::pipelineData()
  hal::ExecutionPreference preference;
  hal::Priority priority;
};

class ModelCache {
 public:
  // `codeIdentity`: a change makes all saved models misses. `folder`: of the store; empty: that of
  // the user.
  static Result<std::unique_ptr<ModelCache>> open(const std::string& driver,
                                                  const std::string& codeIdentity,
                                                  const std::filesystem::path& folder = {});
  explicit ModelCache(std::shared_ptr<hal::CompileCache> store) : store_(std::move(store)) {}

  // In `options.cache`, which has one file of each kind.
  Status save(const Model& model, std::span<const uint8_t> code,
              const hal::PrepareOptions& options) const;
  // OP_FAILED for files that are not exactly the saved ones.
  Result<SavedModel> load(const hal::PrepareOptions& options) const;

 private:
  const std::shared_ptr<hal::CompileCache> store_;
};

}  // namespace halyard::vulkandriver
