// The HAL's rules for models, V1 to V17: a row for each way to keep or to break one.
// Thread safety: constant. Ownership: static; a model that is made belongs to the caller.
#pragma once

#include <optional>
#include <span>

#include "validation/vts/hal_client.h"

namespace halyard::validation {

struct ModelRow {
  const char* rule;
  const char* name;
  void (*change)(Model&);                        // of out[4] = a[4] + b[4]
  void (*edit)(wire::Model::Builder) = nullptr;  // of the message, for what a Model cannot say
  // The first version that accepts the model; older ones refuse it. Without a value: each version
  // refuses it.
  std::optional<HalVersion> right = std::nullopt;

  Model model() const;
  bool isRight(HalVersion method) const { return right && method >= *right; }
};
std::span<const ModelRow> modelRows();

// Three operations, of which two read each other's output: each version refuses it.
Model cyclicModel();

}  // namespace halyard::validation
