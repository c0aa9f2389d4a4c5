// Sync fences: file descriptors that are pending until they signal, or go into an error state,
// once.
//
// Thread safety: functions on descriptors may be called from any thread; a FenceSignaller is used
// by one at a time.
//
// Ownership: descriptors are borrowed; a NewFence owns both of its ends.
//
// A fence is a sync_file of the kernel, an eventfd, a pipe or a Unix socket. Other descriptors are
// refused, because poll() on them could block. For example, an epoll polls the files in it, which
// may be of a user's file system. The status of a sync_file is its own. Of the others, POLLIN means
// "signalled". POLLERR, or POLLHUP with nothing to read, means "error".
//
// User space cannot make a sync_file, and an eventfd has no error. A fence of Halyard's making is
// one end of a socket pair. The other end, the signaller, has an unread byte in its queue. If the
// signaller is closed, by its owner or with its owner's process, the kernel itself puts ECONNRESET
// on the fence: POLLIN and POLLERR. To signal, the signaller sends one byte, takes the unread one
// out of its queue and closes: POLLIN without POLLERR. So all fences that a process has not
// signalled get their error state when it dies. Code that only knows poll() sees this. Duplicates,
// and those sent to other processes, have the same state.
//
// There are two limits. A holder must not read from the descriptor, since that takes the state away
// from all others. The rest reads as an error to the functions here. The child of a fork without
// exec keeps the signaller open, so the fence stays pending until the child ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "halyard/driver/export.h"
#include "halyard/driver/status.h"
#include "halyard/driver/unique_fd.h"

namespace halyard {

enum class FenceState : uint8_t { PENDING, SIGNALLED, ERROR };

// BAD_DATA when `fd` is not open, or of another kind than those above. Does not wait for anything
// that a peer could hold back.
HALYARD_EXPORT Result<FenceState> fenceState(int fd);

// Blocks until the fence has signalled or failed; PENDING when `deadline` has passed before.
HALYARD_EXPORT Result<FenceState> waitFence(
    int fd, std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt);

// The end that decides. Move only.
class HALYARD_EXPORT FenceSignaller {
 public:
  FenceSignaller() = default;
  explicit FenceSignaller(UniqueFd end) : end_(std::move(end)) {}
  // Destruction (and being assigned to) puts a fence that is pending still into its error state.

  // True until signal() or fail().
  bool pending() const { return end_.valid(); }
  void signal();
  void fail();

 private:
  UniqueFd end_;
};

struct NewFence {
  UniqueFd fence;
  FenceSignaller signaller;
};
// RESOURCE_EXHAUSTED_TRANSIENT when the process has no descriptors left.
HALYARD_EXPORT Result<NewFence> createFence();

}  // namespace halyard
