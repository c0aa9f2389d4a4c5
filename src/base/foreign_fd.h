// Descriptors that another process made or may have made. Calls on them that could block run in
// threads of their own.
// Thread safety: a ForeignFd is a value, used by one thread at a time; the functions and a
// ForeignAccount may be used from any thread.
// Ownership: a ForeignFd owns its descriptor. The process owns the threads that wait.
//
// The maker of a descriptor decides how long close() blocks. One example is the last close of a TCP
// socket that lingers. Another is each close of a file of a user's file system (FUSE). The last
// close of a Unix socket can block, too, if its queue holds such a descriptor. fstat, fstatfs, read
// and write of such a file can block in the same way. The kernel owns the memory of a memfd, so
// calls on it do not block.
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

// The process or user that the descriptors come from. At most kMostThreads calls of an account run
// at a time. Further calls wait for these, and do not delay other accounts.
class ForeignAccount {
 public:
  static constexpr unsigned kMostThreads = 4;

  // Returns the account of that name in this process, such as "user 1000".
  static std::shared_ptr<ForeignAccount> of(std::string_view name);

  ForeignAccount() = default;
  ForeignAccount(const ForeignAccount&) = delete;
  ForeignAccount& operator=(const ForeignAccount&) = delete;

  // The limit of an account's withForeign calls that run or wait.
  static constexpr unsigned kMostCalls = 64;
  // The limit of isBehind().
  static constexpr size_t kMostPending = 1024;

  // The number of calls that have been requested and have not ended.
  size_t pending() const { return pending_.load(std::memory_order_relaxed); }
  // Whether so many calls are pending that no more descriptors may be taken from the account.
  bool isBehind() const { return pending() > kMostPending; }

 private:
  friend class ForeignWork;

  std::atomic<size_t> pending_ = 0;
  // Protected by the mutex of all accounts.
  std::deque<std::function<void()>> waiting_;
  unsigned running_ = 0;
  unsigned calls_ = 0;
  bool listed_ = false;
};

// Marks `fd` as foreign until it is closed. It comes from another process and is not the kernel's
// memory.
void assignForeign(int fd, std::shared_ptr<ForeignAccount> account);
// Returns true when no call on the descriptor can block, because the kernel owns its memory.
bool isKernelMemory(int fd);
// Closes `fd`, at once if that cannot block, otherwise in the background.
void closeForeign(int fd) noexcept;

// Returns whether calls on the file must go through withForeign. That is so after assignForeign,
// unless the file turned out to be on a local file system.
bool couldBlock(int fd);
void noteMachinesFile(int fd);
// The longest time that a thread waits for a call on another process's file.
inline constexpr std::chrono::seconds kForeignLimit{10};
// Runs `work` with a duplicate of `fd` in another thread and waits for its end. Returns
// RESOURCE_EXHAUSTED_TRANSIENT when it exceeds the limit. `work` then continues, so it must own
// everything that it uses. The same error means that the account has too many such calls.
Status withForeign(int fd, std::function<Status(int fd)> work,
                   std::chrono::milliseconds limit = kForeignLimit);

class ForeignFd {
 public:
  ForeignFd() = default;
  explicit ForeignFd(int fd) : fd_(fd) {}
  // The constructor is implicit: any descriptor may be treated as foreign.
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
  // The duplicate is close-on-exec and has the same account. It is invalid when this one is
  // invalid, or when no descriptor is left.
  ForeignFd duplicate() const { return duplicateOf(fd_); }
  // The same for a descriptor with another owner.
  static ForeignFd duplicateOf(int fd);

 private:
  int fd_ = -1;
};

}  // namespace halyard
