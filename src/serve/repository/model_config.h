// Reads the config.json of a served model. docs/serve.md lists the fields.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/status.h"
#include "serve/scheduling/settings.h"

namespace halyard::serve {

struct ModelConfig {
  ModelSettings settings;
  std::string labelsFile;             // relative to the model's folder; empty: none
  std::vector<std::string> versions;  // to serve; empty: only the newest
  bool allVersions = false;
};

// The text is hostile until it is validated. BAD_DATA names the field, the expected and the found
// value. An unknown field is an error, so that a misspelt name does not go unseen. `defaults` are
// the values of absent fields.
Result<ModelConfig> parseModelConfig(std::string_view text, const ModelSettings& defaults);

}  // namespace halyard::serve
