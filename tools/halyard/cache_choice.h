// Where the command line keeps compilations.
// Thread safety: pure functions over the environment and the file system. Ownership: results own
// their text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "halyard/driver/status.h"

namespace halyard::cli {

// A folder, and what the model is known by there.
struct CacheChoice {
  std::string folder;
  std::array<uint8_t, 32> token = {};
};

// $XDG_CACHE_HOME/halyard/compilations, or $HOME/.cache/halyard/compilations. OP_FAILED when
// neither variable is an absolute path.
Result<std::string> defaultCacheFolder();

// Makes the folder with its parents, mode 0700, unless it is there. OP_FAILED with its name, also
// when it is there and belongs to another user, or others may write to it.
Status makeCacheFolder(const std::string& folder);

// What the user has said of the cache.
struct CacheOptions {
  bool byDefault = true;  // without an option, there is one
  bool off = false;
  std::string folder;  // empty: the default one
};
// Adds --cache and, where it is on by default, --no-cache.
void addCacheOptions(CLI::App* app, CacheOptions* options);

// For the model in `file`: nullopt when there is to be no cache, or can be none, which is worth a
// line on standard error and nothing more.
std::optional<CacheChoice> chooseCache(const CacheOptions& options, const std::string& file);

}  // namespace halyard::cli
