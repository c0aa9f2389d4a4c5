// UniqueFd: a file descriptor that is closed with its owner.
// Thread safety: a value; one object must not be changed from two threads at once.
// Ownership: owns the descriptor; move only.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace halyard {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  // A close-on-exec duplicate; invalid when this is, or when the process has no descriptor left.
  UniqueFd duplicate() const { return UniqueFd(fd_ < 0 ? -1 : ::fcntl(fd_, F_DUPFD_CLOEXEC, 0)); }

 private:
  int fd_ = -1;
};

}  // namespace halyard
