// Cache files of compilations, as the checks of caching send them to a driver.
// Thread safety: one thread for each object.
// Ownership: owns its files.
#pragma once

#include <fcntl.h>

#include <optional>
#include <string>
#include <vector>

#include "halyard/driver/unique_fd.h"
#include "validation/vts/hal_client.h"

namespace halyard::validation {

// A token that no earlier check in any process has used: a driver may keep data for each token.
hal::Token newToken();

// The files of one compilation, in memory. They can be opened in any mode.
class MemoryFiles {
 public:
  // `full`: nothing can be written to the files, as on a full disk.
  static Result<MemoryFiles> make(uint32_t modelFiles, uint32_t dataFiles, bool full = false);

  size_t modelFiles() const { return modelFiles_; }
  size_t count() const { return fds_.size(); }

  std::string content(size_t i) const;
  std::vector<std::string> contents() const;
  void write(size_t i, const std::string& text) const;
  void writeAll(const std::vector<std::string>& contents) const;

  // Newly opened descriptors. This object keeps them until the next call.
  CacheHandles open(const hal::Token& token, off_t offset = 0, int mode = O_RDWR,
                    std::optional<size_t> onlyMode = std::nullopt);
  // The files as a caller in this process passes them.
  hal::CacheFiles copy(const hal::Token& token) const;

 private:
  std::vector<UniqueFd> fds_;
  size_t modelFiles_ = 0;
  std::vector<UniqueFd> opened_;
};

}  // namespace halyard::validation
