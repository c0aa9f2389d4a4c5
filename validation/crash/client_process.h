// ClientProcess: an application in a process of its own that stresses a device: `halyard
// stress-client PLAN`.
// Thread safety: one thread.
// Ownership: the process is killed with its owner, if it has not ended before.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "halyard/driver/unique_fd.h"
#include "validation/crash/stress.h"

namespace halyard::validation {

// The program that has the subcommand: the running program, unless a test has set another.
const std::filesystem::path& stressProgram();
void setStressProgram(std::filesystem::path program);

class ClientProcess {
 public:
  enum class How : uint8_t {
    FINISHED,  // with a result, good or bad
    KILLED,    // by SIGKILL
    CRASHED,   // by another signal, or without a result
    HUNG,      // not ended in time; killed
  };
  struct End {
    How how = How::FINISHED;
    std::string text;     // empty when finished
    StressResult result;  // when finished
  };

  // The client writes to the standard error of this process. OP_FAILED when it cannot be started.
  static Result<ClientProcess> start(const StressPlan& plan);
  ClientProcess(ClientProcess&& other) noexcept;
  ClientProcess& operator=(ClientProcess&&) = delete;
  ~ClientProcess();

  void kill();
  // Waits for the client's end. Kills it when the limit is over.
  End wait(std::chrono::milliseconds limit);

 private:
  ClientProcess(pid_t pid, UniqueFd output) : pid_(pid), output_(std::move(output)) {}

  pid_t pid_ = 0;  // 0: collected, or moved from
  UniqueFd output_;
};

}  // namespace halyard::validation
