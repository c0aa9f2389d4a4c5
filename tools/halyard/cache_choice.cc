#include "tools/halyard/cache_choice.h"

#include "base/environment.h"
#include "base/log.h"
#include "base/sha256.h"
#include "client/cache_folder.h"

namespace halyard::cli {

Result<std::string> defaultCacheFolder() {
  constexpr const char* kOwn = "/halyard/compilations";
  const char* const cache = environmentVariable("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + kOwn;
  const char* const home = environmentVariable("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.cache" + kOwn;
  return opFailed("neither XDG_CACHE_HOME nor HOME is an absolute path");
}

void addCacheOptions(CLI::App* app, CacheOptions* options) {
  CLI::Option* folder =
      app->add_option("--cache", options->folder,
                      options->byDefault
                          ? "Folder to keep compilations in (default "
                            "$XDG_CACHE_HOME/halyard/compilations)"
                          : "Take the compilation from this folder, or keep it there")
          ->option_text("DIR");
  if (!options->byDefault) return;
  app->add_flag("--no-cache", options->off, "Compile again, and save nothing")->excludes(folder);
}

std::optional<client::Caching> chooseCache(const CacheOptions& options, const std::string& file) {
  if (options.off || (!options.byDefault && options.folder.empty())) return std::nullopt;
  client::Caching choice;
  const auto choose = [&]() -> Status {
    choice.folder = options.folder;
    if (choice.folder.empty()) {
      HALYARD_ASSIGN_OR_RETURN(choice.folder, defaultCacheFolder());
    }
    HALYARD_RETURN_IF_ERROR(client::makeCacheFolder(choice.folder));
    HALYARD_ASSIGN_OR_RETURN(choice.token, sha256OfFile(file));
    return okStatus();
  };
  const Status status = choose();
  if (status.ok()) return choice;
  logWarning("the compilation is not cached: {}", status.message());
  return std::nullopt;
}

}  // namespace halyard::cli
