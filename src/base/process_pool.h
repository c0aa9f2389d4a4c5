// ProcessPool: runs jobs in separate processes. A crash or a hang is then only a failed job.
// Thread safety: none; one thread uses a pool. When a process starts (by fork), no other thread of
// this process may hold a lock.
// Ownership: the pool's processes end with it, and with the process that made it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard {

// The functions of a process that is ready.
struct ProcessWorker {
  std::string greeting;  // information for the pool's owner
  std::function<std::string(std::string_view job)> work;
};

struct ProcessPoolOptions {
  unsigned processes = 1;
  std::chrono::milliseconds startLimit{60'000};
  std::chrono::milliseconds jobLimit{60'000};
  // Returns the limit of one job, in place of jobLimit; may be empty.
  std::function<std::chrono::milliseconds(std::string_view job)> limitOf = {};
  // Keeps the standard error of the processes, and of their children, for Answer::errors. Otherwise
  // it goes where this process's goes.
  bool keepErrors = false;
};

class ProcessPool {
 public:
  // Called once in each process.
  using Start = std::function<Result<ProcessWorker>()>;
  enum class How : uint8_t { ANSWERED, ENDED, TIMED_OUT, NOT_RUN };
  struct Answer {
    std::optional<std::string> response;
    std::string failure;  // the reason for a missing response
    std::chrono::nanoseconds duration{};
    How how = How::ANSWERED;
    std::string errors;  // with keepErrors: the end of the job's standard error
  };

  // Starts the first process. Returns the error of `start`, or DEAD_OBJECT when the process ends
  // early. Returns MISSED_DEADLINE_TRANSIENT, and kills the process, when it is not ready within
  // the limit.
  static Result<std::unique_ptr<ProcessPool>> create(const ProcessPoolOptions& options,
                                                     Start start);
  ~ProcessPool();
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  // Returns the greeting of the first process.
  const std::string& greeting() const { return greeting_; }

  // Runs all jobs that `next` returns until it returns nullopt, each in one of the processes. A
  // process that ends or exceeds its limit is replaced. After several failed starts in a row, the
  // remaining jobs fail with the reason. `done` is called in any order; `number` counts the jobs of
  // `next`.
  void run(const std::function<std::optional<std::string>()>& next,
           const std::function<void(size_t number, Answer answer)>& done);

  // Lets the processes end. Returns OP_FAILED when one of them ends with an error, such as a
  // sanitizer's.
  Status finish();

 private:
  struct Process;

  ProcessPool(const ProcessPoolOptions& options, Start start);
  Result<std::unique_ptr<Process>> startProcess();
  void serve(int socket) const;
  void finishJob(Process& process, Answer answer, const std::function<void(size_t, Answer)>& done);
  void step(const std::function<void(size_t, Answer)>& done);

  const ProcessPoolOptions options_;
  const Start start_;
  std::string greeting_;
  std::vector<std::unique_ptr<Process>> processes_;
  unsigned failedStarts_ = 0;  // number in a row
};

}  // namespace halyard
