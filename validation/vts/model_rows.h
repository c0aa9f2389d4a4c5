// The HAL's rules for models, V1 to V17. Each row keeps or breaks one rule in one way.
// Thread safety: constant.
// Ownership: static. The caller owns a model that a row makes.
#pragma once

#include <optional>
#include <span>

#include "validation/vts/hal_client.h"

namespace halyard::validation {

struct ModelRow {
  const char* rule;
  const char* name;
  void (*change)(Model&);  // of out[4] = a[4] + b[4]
  void (*edit)(wire::Model::Builder) =
      nullptr;  // of the message, for values that a Model cannot have
  // The first version that accepts the model. Older versions refuse it. If empty, each version
  // refuses it.
  std::optional<HalVersion> right = std::nullopt;

  Model model() const;
  bool isRight(HalVersion method) const { return right && method >= *right; }
};
std::span<const ModelRow> modelRows();

// Three operations. Two of them read each other's output, so each version refuses the model.
Model cyclicModel();

}  // namespace halyard::validation
