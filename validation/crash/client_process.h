// ClientProcess: an application of its own that stresses a device: `halyard stress-client PLAN`.
// Thread safety: one thread. Ownership: the process is killed with its owner, if not before.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "halyard/driver/unique_fd.h"
#include "validation/crash/stress.h"

namespace halyard::validation {

// The program that knows the subcommand: this one, unless a test has set another.
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
    std::string text;     // what happened, unless finished
    StressResult result;  // when finished
  };

  // Standard error is that of this process. OP_FAILED when it cannot be started.
  static Result<ClientProcess> start(const StressPlan& plan);
  ClientProcess(ClientProcess&& other) noexcept;
  ClientProcess& operator=(ClientProcess&&) = delete;
  ~ClientProcess();

  void kill();
  // Waits for its end, for so long at most.
  End wait(std::chrono::milliseconds limit);

 private:
  ClientProcess(pid_t pid, UniqueFd output) : pid_(pid), output_(std::move(output)) {}

  pid_t pid_ = 0;  // 0: collected, or moved from
  UniqueFd output_;
};

}  // namespace halyard::validation
