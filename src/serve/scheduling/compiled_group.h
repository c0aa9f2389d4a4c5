// CompiledGroup: a model compiled for one choice of devices, once for each size of batch.
// Thread safety: any thread. Ownership: shares the compilations with their users.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/scheduling/compiled_model.h"

namespace halyard::serve {

class CompiledGroup {
 public:
  // Compiles for each of `sizes`, ascending; 0 stands for the file's own dimensions. `settings`
  // without its batch. The errors are those of CompiledModel.
  static Result<std::unique_ptr<CompiledGroup>> create(const std::string& file,
                                                       CompileSettings settings,
                                                       std::vector<uint32_t> sizes);

  const std::vector<uint32_t>& sizes() const { return sizes_; }
  std::shared_ptr<const CompiledModel> model(uint32_t size) const;
  // Compiles again after the death of a driver, unless another thread has already replaced `dead`.
  Result<std::shared_ptr<const CompiledModel>> replacement(
      uint32_t size, const std::shared_ptr<const CompiledModel>& dead);

 private:
  CompiledGroup(CompileSettings settings, std::vector<uint32_t> sizes)
      : settings_(std::move(settings)), sizes_(std::move(sizes)) {}

  const CompileSettings settings_;
  const std::vector<uint32_t> sizes_;
  std::mutex compiling_;  // held for a whole compilation
  mutable std::mutex mutex_;
  std::map<uint32_t, std::shared_ptr<const CompiledModel>> models_;
};

}  // namespace halyard::serve
