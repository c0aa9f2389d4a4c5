// --preference: the goal for which a command compiles a model.
// Thread safety: pure function. Ownership: borrows both arguments while the application parses.
#pragma once

#include <cstdint>
#include <optional>

#include <CLI/CLI.hpp>

namespace halyard::cli {

// Adds --preference, which takes the names of NNAPI's values
// (ANeuralNetworksCompilation_setPreference). It sets `preference` to one of them. Without the
// option `preference` keeps its value.
void addPreferenceOption(CLI::App* app, std::optional<int32_t>* preference);

}  // namespace halyard::cli
