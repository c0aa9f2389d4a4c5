#include "client/cache_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace halyard::client {

Status makeCacheFolder(const std::string& folder) {
  for (size_t end = 1; end != std::string::npos; ++end) {
    end = folder.find('/', end);
    const std::string part = folder.substr(0, end);
    if (::mkdir(part.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
      return opFailed("{}: {}", part, std::strerror(errno));  // NOLINT(concurrency-mt-unsafe)
    }
    if (end == std::string::npos) break;
  }
  return checkCacheFolder(folder);
}

Status checkCacheFolder(const std::string& folder) {
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

}  // namespace halyard::client
