// DriverLiveness: finds out that a driver does not answer any more, although it has not ended.
// Thread safety: loop thread only, but for millisecondsFromEnvironment.
// Ownership: borrows the timer, which must outlive it; owns the promises it waits with.
//
// While somebody waits for the driver it is asked once a second whether it is there. Its loop
// answers that beside any computation: only a process that is stopped or wedged does not.
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
  // `waited`: whether anybody waits. `ask` sends the question; an exception counts as an answer, as
  // somebody has to be there to refuse. `silent` is called once, when there was no answer for
  // `limit`.
  DriverLiveness(kj::Timer& timer, std::function<bool()> waited, std::chrono::milliseconds limit,
                 std::function<kj::Promise<void>()> ask, std::function<void()> silent);

  // To be called when somebody has begun to wait.
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

// A positive number of milliseconds that the user has put into the environment; `otherwise` when
// there is none, and in a program with elevated privileges.
std::chrono::milliseconds millisecondsFromEnvironment(const char* name,
                                                      std::chrono::milliseconds otherwise);
// How long a driver may be silent: $HALYARD_DRIVER_ANSWER_TIMEOUT_MS, or 10 s.
std::chrono::milliseconds driverAnswerTimeout();
// How long a driver that is there may take for an execution, or another call that computes, when
// its caller has set no deadline: $HALYARD_DRIVER_EXECUTION_TIMEOUT_MS, or `ofManifest`, or 5 min.
std::chrono::milliseconds driverExecutionTimeout(
    std::optional<std::chrono::milliseconds> ofManifest);

}  // namespace halyard::hal
