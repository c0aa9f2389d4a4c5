// Where the command line keeps compilations.
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
std::optional<client::Caching> chooseCache(const CacheOptions& options, const std::string& file);

}  // namespace halyard::cli
