// ChildProcess: a driver's process that this one started.
// Thread safety: as a value; collect must not be called from two threads at once.
// Ownership: owns the process's pidfd. Does not end the process: its owner kills and collects it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "halyard/driver/status.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {

class ChildProcess {
 public:
  // The descriptor number under which a spawned driver finds its socket.
  static constexpr int kSocketFd = 3;

  // Starts `executable --fd=3`, with `-- ARGUMENT...` if there are `arguments`, in this process's
  // environment, but for `sandbox`, which is the value of HALYARD_SANDBOX there (empty: none), with
  // `socket` as its descriptor 3, /dev/null as its input, and its output and errors going to this
  // process's standard error. No other descriptor is inherited; signals are unblocked and at their
  // defaults; the process is a group of its own, so that an interrupt from the terminal reaches the
  // application only, which then lets the driver finish.
  static Result<std::shared_ptr<ChildProcess>> spawn(const std::string& executable, int socket,
                                                     const std::string& sandbox = {},
                                                     std::span<const std::string> arguments = {});

  pid_t pid() const { return pid_; }
  // Readable when the process has ended.
  int pidfd() const { return pidfd_.get(); }
  // True once the process has ended, whether it has been collected or not.
  bool ended() const;
  // Sends SIGKILL; does nothing to an ended process.
  void kill();
  // Collects the ended process and says how it ended: "ended with exit status 3", "was killed by
  // signal 9 (Killed)". nullopt while it still runs. Only this child is waited for; when a handler
  // of the application took its status first, the text says so.
  std::optional<std::string> collect();

 private:
  ChildProcess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;
  UniqueFd pidfd_;
  std::optional<std::string> end_;
};

}  // namespace halyard::hal
