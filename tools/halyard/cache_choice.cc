#include "tools/halyard/cache_choice.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/environment.h"
#include "base/log.h"
#include "base/sha256.h"

namespace halyard::cli {

Result<std::string> defaultCacheFolder() {
  constexpr const char* kOwn = "/halyard/compilations";
  const char* const cache = environmentVariable("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + kOwn;
  const char* const home = environmentVariable("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.cache" + kOwn;
  return opFailed("neither XDG_CACHE_HOME nor HOME is an absolute path");
}

Status makeCacheFolder(const std::string& folder) {
  for (size_t end = 1; end != std::string::npos; ++end) {
    end = folder.find('/', end);
    const std::string part = folder.substr(0, end);
    if (::mkdir(part.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
      return opFailed("{}: {}", part, std::strerror(errno));  // NOLINT(concurrency-mt-unsafe)
    }
    if (end == std::string::npos) break;
  }
  struct stat st {};
  if (::stat(folder.c_str(), &st) != 0) {
    return opFailed("{}: {}", folder, std::strerror(errno));  // NOLINT(concurrency-mt-unsafe)
  }
  if (!S_ISDIR(st.st_mode)) return opFailed("{} is not a folder", folder);
  if (st.st_uid != ::geteuid()) {
    return opFailed("{} belongs to user {}, expected {}", folder, st.st_uid, ::geteuid());
  }
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return opFailed("others may write to {} (mode {:o})", folder, st.st_mode & 07777U);
  }
  return okStatus();
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
  app->add_flag("--no-cache", options->off, "Compile anew, and keep nothing")->excludes(folder);
}

std::optional<CacheChoice> chooseCache(const CacheOptions& options, const std::string& file) {
  if (options.off || (!options.byDefault && options.folder.empty())) return std::nullopt;
  CacheChoice choice;
  const auto choose = [&]() -> Status {
    choice.folder = options.folder;
    if (choice.folder.empty()) {
      HALYARD_ASSIGN_OR_RETURN(choice.folder, defaultCacheFolder());
    }
    HALYARD_RETURN_IF_ERROR(makeCacheFolder(choice.folder));
    HALYARD_ASSIGN_OR_RETURN(choice.token, sha256OfFile(file));
    return okStatus();
  };
  const Status status = choose();
  if (status.ok()) return choice;
  logWarning("the compilation is not cached: {}", status.message());
  return std::nullopt;
}

}  // namespace halyard::cli
