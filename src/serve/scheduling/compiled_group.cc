#include "serve/scheduling/compiled_group.h"

namespace halyard::serve {

Result<std::unique_ptr<CompiledGroup>> CompiledGroup::create(const std::string& file,
                                                             CompileSettings settings,
                                                             std::vector<uint32_t> sizes) {
  std::unique_ptr<CompiledGroup> created(new CompiledGroup(std::move(settings), std::move(sizes)));
  for (const uint32_t size : created->sizes_) {
    CompileSettings each = created->settings_;
    each.batch = size;
    HALYARD_ASSIGN_OR_RETURN(created->models_[size], CompiledModel::create(file, each));
  }
  return created;
}

std::shared_ptr<const CompiledModel> CompiledGroup::model(uint32_t size) const {
  const std::lock_guard lock(mutex_);
  return models_.at(size);
}

Result<std::shared_ptr<const CompiledModel>> CompiledGroup::replacement(
    uint32_t size, const std::shared_ptr<const CompiledModel>& dead) {
  const std::lock_guard compiling(compiling_);
  if (auto present = model(size); present != dead) return present;
  CompileSettings each = settings_;
  each.batch = size;
  HALYARD_ASSIGN_OR_RETURN(auto made, dead->again(each));
  const std::lock_guard lock(mutex_);
  models_[size] = made;
  return made;
}

}  // namespace halyard::serve
