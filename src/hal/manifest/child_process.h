// ChildProcess: a driver's process that this one started.
// Thread safety: as a value; two threads must not call collect at once.
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
  // The descriptor number of the socket in a spawned driver.
  static constexpr int kSocketFd = 3;

  // Starts `executable --fd=3`, followed by `-- ARGUMENT...` if there are `arguments`. The
  // environment is this process's, except for HALYARD_SANDBOX, which gets the value `sandbox`
  // (empty: none). Descriptor 3 is `socket`, the input is /dev/null, and output and errors go to
  // this process's standard error. The process inherits no other descriptor. Signals are unblocked
  // and have their defaults. The process has its own process group. So an interrupt from the
  // terminal reaches only the application, which then lets the driver finish.
  static Result<std::shared_ptr<ChildProcess>> spawn(const std::string& executable, int socket,
                                                     const std::string& sandbox = {},
                                                     std::span<const std::string> arguments = {});

  pid_t pid() const { return pid_; }
  // The descriptor becomes readable when the process has ended.
  int pidfd() const { return pidfd_.get(); }
  // Returns true once the process has ended, collected or not.
  bool ended() const;
  // Sends SIGKILL. Does nothing if the process has ended.
  void kill();
  // Collects the ended process and returns a text: "ended with exit status 3", "was killed by
  // signal 9 (Killed)". Returns nullopt while it still runs. Waits for this child only. If a
  // handler of the application took its status first, the text says so.
  std::optional<std::string> collect();

 private:
  ChildProcess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;
  UniqueFd pidfd_;
  std::optional<std::string> end_;
};

}  // namespace halyard::hal
