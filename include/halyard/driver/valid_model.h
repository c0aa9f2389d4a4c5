// ValidModel: a model that has passed the validation. Every device gets its models in this form, so
// that no device validates a model again.
// Thread safety: the model never changes; copies may be used from any thread.
// Ownership: copies share the model.
#pragma once

#include <memory>
#include <utility>

#include "halyard/driver/export.h"
#include "halyard/driver/model.h"
#include "halyard/driver/nnapi_types.h"
#include "halyard/driver/status.h"

namespace halyard {

class HALYARD_EXPORT ValidModel {
 public:
  const Model& operator*() const { return *model_; }
  const Model* operator->() const { return model_.get(); }
  // Never null.
  const std::shared_ptr<const Model>& share() const { return model_; }
  // The model needs this feature level at most.
  FeatureLevel level() const { return level_; }

 private:
  friend class ModelValidator;  // the validation alone makes one
  ValidModel(std::shared_ptr<const Model> model, FeatureLevel level)
      : model_(std::move(model)), level_(level) {}

  std::shared_ptr<const Model> model_;
  FeatureLevel level_;
};

// Validates the whole model: tables, locations, lifetimes, the order of operations, and each
// operation against its signature. BAD_DATA names the subgraph, the operation and the operand. The
// caller does not change the model afterwards.
HALYARD_EXPORT Result<ValidModel> validated(std::shared_ptr<const Model> model);
HALYARD_EXPORT Result<ValidModel> validated(Model model);

}  // namespace halyard
