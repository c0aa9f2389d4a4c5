// The files of compilations that checks of caching hand to a driver.
// Thread safety: one thread for each object. Ownership: owns its files.
#pragma once

#include <fcntl.h>

#include <optional>
#include <string>
#include <vector>

#include "halyard/driver/unique_fd.h"
#include "validation/vts/hal_client.h"

namespace halyard::validation {

// A token that no earlier check had, in whatever process: a driver may keep something for each.
hal::Token newToken();

// The files of one compilation, in memory; they can be opened in any way.
class MemoryFiles {
 public:
  // `full`: nothing can be written, as on a full disk.
  static Result<MemoryFiles> make(uint32_t modelFiles, uint32_t dataFiles, bool full = false);

  size_t modelFiles() const { return modelFiles_; }
  size_t count() const { return fds_.size(); }

  std::string content(size_t i) const;
  std::vector<std::string> contents() const;
  void write(size_t i, const std::string& text) const;
  void writeAll(const std::vector<std::string>& contents) const;

  // Newly opened descriptors, which this keeps until the next call.
  CacheHandles open(const hal::Token& token, off_t offset = 0, int mode = O_RDWR,
                    std::optional<size_t> onlyMode = std::nullopt);
  // The files as a caller in this process hands them over.
  hal::CacheFiles copy(const hal::Token& token) const;

 private:
  std::vector<UniqueFd> fds_;
  size_t modelFiles_ = 0;
  std::vector<UniqueFd> opened_;
};

}  // namespace halyard::validation
