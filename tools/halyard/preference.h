// --preference: what a command compiles a model for.
// Thread safety: pure function. Ownership: borrows both for as long as the application parses.
#pragma once

#include <cstdint>
#include <optional>

#include <CLI/CLI.hpp>

namespace halyard::cli {

// Adds --preference, which takes the names of NNAPI's values and sets `preference` to one of them
// (ANeuralNetworksCompilation_setPreference); without it that stays as it is.
void addPreferenceOption(CLI::App* app, std::optional<int32_t>* preference);

}  // namespace halyard::cli
