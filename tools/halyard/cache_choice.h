// Chooses the folder in which the command line keeps compilations.
// Thread safety: pure functions over the environment and the file system. Ownership: results own
// their text.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "client/session.h"
#include "halyard/driver/status.h"

namespace halyard::cli {

// $XDG_CACHE_HOME/halyard/compilations, or $HOME/.cache/halyard/compilations. OP_FAILED when
// neither variable is an absolute path.
Result<std::string> defaultCacheFolder();

// The user's options for the cache.
struct CacheOptions {
  bool byDefault = true;  // whether a command without options uses the cache
  bool off = false;
  std::string folder;  // empty: the default one
};
// Adds --cache and, where it is on by default, --no-cache.
void addCacheOptions(CLI::App* app, CacheOptions* options);

// The cache for the model in `file`; nullopt when the user wants no cache. It is also nullopt when
// a cache is impossible. The function then writes one line to standard error.
std::optional<client::Caching> chooseCache(const CacheOptions& options, const std::string& file);

}  // namespace halyard::cli
