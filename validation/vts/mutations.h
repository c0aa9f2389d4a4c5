// Mutations: models that break one rule each, made from any valid model. The families are those of
// the HAL's own test suite.
// Thread safety: pure functions.
// Ownership: results own their data.
#pragma once

#include <functional>
#include <string>

#include "halyard/driver/model.h"
#include "validation/vts/hal_client.h"

namespace halyard::validation {

struct Mutation {
  std::string what;
  Model model;
  ModelEdit edit;  // of the message; may be empty
};

// Calls `use` with every mutation of the main subgraph that the rules forbid at `level`. Changes
// that leave the model valid are left out. Returns the first error of `use`.
Status forEachMutation(const Model& model, FeatureLevel level,
                       const std::function<Status(const Mutation&)>& use);

}  // namespace halyard::validation
