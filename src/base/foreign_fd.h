// Descriptors that another process has made, or may have: what could block with them happens where
// nobody else waits.
// Thread safety: a ForeignFd is a value, used by one thread at a time; the functions and a
// ForeignAccount may be used from any thread.
// Ownership: a ForeignFd owns its descriptor. The threads that wait belong to the process.
//
// close() blocks for as long as the maker of a descriptor likes: the last close of a TCP socket
// that lingers, each close of a file of a user's file system (FUSE), the last close of a Unix
// socket in whose queue such a descriptor lies. So do fstat, fstatfs, read and write of such a
// file. The memory of a memfd is the kernel's: nothing blocks there.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>

#include "halyard/driver/status.h"
#include "halyard/driver/unique_fd.h"

namespace halyard {

// Whose descriptors they are. For one account at most kMostThreads calls are under way at a time;
// others wait for those, and hold up no other account's.
class ForeignAccount {
 public:
  static constexpr unsigned kMostThreads = 4;

  // The account of that name in this process, such as "user 1000".
  static std::shared_ptr<ForeignAccount> of(std::string_view name);

  ForeignAccount() = default;
  ForeignAccount(const ForeignAccount&) = delete;
  ForeignAccount& operator=(const ForeignAccount&) = delete;

  // Those of withForeign that may be under way or wait.
  static constexpr unsigned kMostCalls = 64;

  // How many calls have been asked for and have not ended.
  size_t pending() const { return pending_.load(std::memory_order_relaxed); }

 private:
  friend class ForeignWork;

  std::atomic<size_t> pending_ = 0;
  // Under the mutex of all accounts.
  std::deque<std::function<void()>> waiting_;
  unsigned running_ = 0;
  unsigned calls_ = 0;
  bool listed_ = false;
};

// Has `fd`, which has come from another process and is not the kernel's memory, known as such until
// it is closed.
void assignForeign(int fd, std::shared_ptr<ForeignAccount> account);
// True when nothing can block with the descriptor: the kernel's own memory.
bool isKernelMemory(int fd);
// Closes `fd`, at once if that cannot block, otherwise in the background.
void closeForeign(int fd) noexcept;

// Whether files are to be left to withForeign: those of assignForeign, unless a file system of the
// machine's own has been found behind them.
bool couldBlock(int fd);
void noteMachinesFile(int fd);
// The longest that anybody waits for a call on another process's file.
inline constexpr std::chrono::seconds kForeignLimit{10};
// Has `work` done on a thread for that, with a duplicate of `fd`, and waits for its end.
// RESOURCE_EXHAUSTED_TRANSIENT when that has not come within the limit: `work` goes on, so that it
// must own all that it uses. The same when too many such calls are under way for the account.
Status withForeign(int fd, std::function<Status(int fd)> work,
                   std::chrono::milliseconds limit = kForeignLimit);

class ForeignFd {
 public:
  ForeignFd() = default;
  explicit ForeignFd(int fd) : fd_(fd) {}
  // Any descriptor may be taken for one.
  ForeignFd(UniqueFd fd) : fd_(fd.release()) {}  // NOLINT(google-explicit-constructor)
  ForeignFd(ForeignFd&& other) noexcept : fd_(other.release()) {}
  ForeignFd& operator=(ForeignFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ForeignFd(const ForeignFd&) = delete;
  ForeignFd& operator=(const ForeignFd&) = delete;
  ~ForeignFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) closeForeign(fd_);
    fd_ = fd;
  }
  // Close-on-exec, of the same account; invalid when this is, or when there is no descriptor left.
  ForeignFd duplicate() const { return duplicateOf(fd_); }
  // The same of a descriptor that somebody else owns.
  static ForeignFd duplicateOf(int fd);

 private:
  int fd_ = -1;
};

}  // namespace halyard
