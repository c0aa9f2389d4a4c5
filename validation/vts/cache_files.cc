#include "validation/vts/cache_files.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace halyard::validation {

hal::Token newToken() {
  static std::atomic<uint32_t> count = 0;
  const uint64_t numbers[] = {static_cast<uint64_t>(::getpid()), ++count,
                              static_cast<uint64_t>(hal::Clock::now().time_since_epoch().count())};
  hal::Token token = {};
  std::memcpy(token.data(), numbers, sizeof numbers);
  return token;
}

Result<MemoryFiles> MemoryFiles::make(uint32_t modelFiles, uint32_t dataFiles, bool full) {
  MemoryFiles made;
  for (uint32_t i = 0; i < modelFiles + dataFiles; ++i) {
    made.fds_.emplace_back(::memfd_create("cache of a check", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    const int fd = made.fds_.back().get();
    if (fd < 0 || (full && ::fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) != 0)) {
      return errnoStatus(ResultCode::OP_FAILED, errno, "making a file in memory");
    }
  }
  made.modelFiles_ = modelFiles;
  return made;
}

std::string MemoryFiles::content(size_t i) const {
  std::string text(static_cast<size_t>(std::max<off_t>(::lseek(fds_[i].get(), 0, SEEK_END), 0)),
                   '\0');
  const ssize_t count = ::pread(fds_[i].get(), text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return text;
}

std::vector<std::string> MemoryFiles::contents() const {
  std::vector<std::string> all;
  for (size_t i = 0; i < count(); ++i) all.push_back(content(i));
  return all;
}

void MemoryFiles::write(size_t i, const std::string& text) const {
  (void)!::ftruncate(fds_[i].get(), 0);
  (void)!::pwrite(fds_[i].get(), text.data(), text.size(), 0);
}

void MemoryFiles::writeAll(const std::vector<std::string>& contents) const {
  for (size_t i = 0; i < count(); ++i) write(i, contents[i]);
}

CacheHandles MemoryFiles::open(const hal::Token& token, off_t offset, int mode,
                               std::optional<size_t> onlyMode) {
  opened_.clear();
  CacheHandles handles;
  handles.token = token;
  for (size_t i = 0; i < count(); ++i) {
    const int flags = !onlyMode || *onlyMode == i ? mode : O_RDWR;
    opened_.emplace_back(
        ::open(fmt::format("/proc/self/fd/{}", fds_[i].get()).c_str(), flags | O_CLOEXEC));
    (void)::lseek(opened_.back().get(), offset, SEEK_SET);
    (i < modelFiles_ ? handles.modelCache : handles.dataCache).push_back({opened_.back().get()});
  }
  return handles;
}

hal::CacheFiles MemoryFiles::copy(const hal::Token& token) const {
  hal::CacheFiles files;
  files.token = token;
  for (size_t i = 0; i < count(); ++i) {
    (i < modelFiles_ ? files.modelCache : files.dataCache).push_back(fds_[i].duplicate());
  }
  return files;
}

}  // namespace halyard::validation
