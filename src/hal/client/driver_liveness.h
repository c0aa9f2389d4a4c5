// DriverLiveness: detects a driver that no longer answers although it has not ended.
//
// While a thread waits for the driver, the driver gets a question each second. Its loop answers it
// during any computation. Only a process that is stopped or stuck does not answer.
//
// Thread safety: the class belongs to the loop thread. The functions may be called from any thread.
// Ownership: borrows the timer, which must outlive it. Owns its promises.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace halyard::hal {

class DriverLiveness final : private kj::TaskSet::ErrorHandler {
 public:
  // `waited` returns whether a thread waits. `ask` sends the question. An exception counts as an
  // answer, because it shows that the driver responds. `silent` is called once, after no answer for
  // `limit`.
  DriverLiveness(kj::Timer& timer, std::function<bool()> waited, std::chrono::milliseconds limit,
                 std::function<kj::Promise<void>()> ask, std::function<void()> silent);

  // Starts the questions if they do not run. The caller has begun to wait.
  void watch();

 private:
  kj::Promise<void> look();
  kj::Promise<bool> answers();
  void taskFailed(kj::Exception&&) override {}

  kj::Timer& timer_;
  const std::function<bool()> waited_;
  const std::chrono::milliseconds limit_;
  const std::function<kj::Promise<void>()> ask_;
  const std::function<void()> silent_;
  bool watching_ = false;
  kj::TaskSet tasks_{*this};
};

// A positive number of milliseconds from the environment variable. `otherwise` without a valid
// number, with a warning, and in a program with elevated privileges.
std::chrono::milliseconds millisecondsFromEnvironment(const char* name,
                                                      std::chrono::milliseconds otherwise);
// The longest silence of a driver: $HALYARD_DRIVER_ANSWER_TIMEOUT_MS, or 10 s.
std::chrono::milliseconds driverAnswerTimeout();
// The longest time for an execution, or another call with a computation, without a deadline.
// $HALYARD_DRIVER_EXECUTION_TIMEOUT_MS, or `ofManifest`, or 5 min.
std::chrono::milliseconds driverExecutionTimeout(
    std::optional<std::chrono::milliseconds> ofManifest);

}  // namespace halyard::hal
