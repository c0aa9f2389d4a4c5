// ProcessPool: jobs done by processes of their own, so that one that crashes or hangs is a failed
// job and nothing more.
// Thread safety: none; one thread uses a pool, and the process has no other thread that holds a
// lock when a process is started (it is a fork).
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

namespace halyard::conformance {

// What a process does once it is ready.
struct ProcessWorker {
  std::string greeting;  // for the pool's owner
  std::function<std::string(std::string_view job)> work;
};

struct ProcessPoolOptions {
  unsigned processes = 1;
  std::chrono::milliseconds startLimit{60'000};
  std::chrono::milliseconds jobLimit{60'000};
  // The limit of one job, instead of jobLimit; may be empty.
  std::function<std::chrono::milliseconds(std::string_view job)> limitOf = {};
  // Standard error of the processes, and of what they start, is kept for Answer::errors instead of
  // going where this process's goes.
  bool keepErrors = false;
};

class ProcessPool {
 public:
  // Called in each process, once.
  using Start = std::function<Result<ProcessWorker>()>;
  enum class How : uint8_t { ANSWERED, ENDED, TIMED_OUT, NOT_RUN };
  struct Answer {
    std::optional<std::string> response;
    std::string failure;  // why there is no response
    std::chrono::nanoseconds duration{};
    How how = How::ANSWERED;
    std::string errors;  // with keepErrors: the end of what the job wrote to standard error
  };

  // Starts the first process. `start`'s error; DEAD_OBJECT when the process ends instead,
  // MISSED_DEADLINE_TRANSIENT when it is not ready within the limit, and killed.
  static Result<std::unique_ptr<ProcessPool>> create(const ProcessPoolOptions& options,
                                                     Start start);
  ~ProcessPool();
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  // Of the first process.
  const std::string& greeting() const { return greeting_; }

  // Does all jobs that `next` gives until it gives none, each in one of the processes. A process
  // that ends or takes too long is replaced. When that fails again and again, the remaining jobs
  // fail with the reason. `done` is called in no particular order; `number` counts what `next`
  // gave.
  void run(const std::function<std::optional<std::string>()>& next,
           const std::function<void(size_t number, Answer answer)>& done);

  // Lets the processes end. OP_FAILED when one of them ends badly, as a sanitizer makes it.
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
  unsigned failedStarts_ = 0;  // in a row
};

}  // namespace halyard::conformance
