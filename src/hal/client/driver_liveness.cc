#include "hal/client/driver_liveness.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/environment.h"
#include "base/environment_warning.h"

namespace halyard::hal {
namespace {

constexpr std::chrono::milliseconds kBetweenQuestions{1'000};
constexpr std::chrono::milliseconds kDefaultLimit{10'000};
constexpr std::chrono::minutes kDefaultExecutionLimit{5};
// If this process itself was stopped, the answer may be unread at the limit. The loop then has this
// time to read it.
constexpr kj::Duration kPauseOfReading = 100 * kj::MILLISECONDS;

}  // namespace

DriverLiveness::DriverLiveness(kj::Timer& timer, std::function<bool()> waited,
                               std::chrono::milliseconds limit,
                               std::function<kj::Promise<void>()> ask, std::function<void()> silent)
    : timer_(timer),
      waited_(std::move(waited)),
      limit_(limit),
      ask_(std::move(ask)),
      silent_(std::move(silent)) {}

void DriverLiveness::watch() {
  if (watching_) return;
  watching_ = true;
  tasks_.add(look());
}

kj::Promise<void> DriverLiveness::look() {
  const auto pause = std::min(kBetweenQuestions, limit_);
  return timer_.afterDelay(pause.count() * kj::MILLISECONDS).then([this]() -> kj::Promise<void> {
    if (!waited_()) {
      watching_ = false;
      return kj::READY_NOW;
    }
    return answers().then([this](bool lives) -> kj::Promise<void> {
      if (lives) return look();
      silent_();
      return kj::READY_NOW;  // the watch is not started again
    });
  });
}

kj::Promise<bool> DriverLiveness::answers() {
  auto answer = kj::evalNow([this] {
                  return ask_();
                }).then([] { return true; }, [](kj::Exception&&) { return true; });
  auto silence = timer_.afterDelay(limit_.count() * kj::MILLISECONDS)
                     .then([this] { return timer_.afterDelay(kPauseOfReading); })
                     .then([] { return false; });
  return answer.exclusiveJoin(kj::mv(silence));
}

std::chrono::milliseconds millisecondsFromEnvironment(const char* name,
                                                      std::chrono::milliseconds otherwise) {
  const char* text = environmentVariable(name);
  if (text == nullptr) return otherwise;
  uint32_t value = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  if (error != std::errc() || rest != end || value == 0) {
    if (*text != '\0') warnOfValue(name, text, "a positive number of milliseconds");
    return otherwise;
  }
  return std::chrono::milliseconds(value);
}

std::chrono::milliseconds driverAnswerTimeout() {
  return millisecondsFromEnvironment("HALYARD_DRIVER_ANSWER_TIMEOUT_MS", kDefaultLimit);
}

std::chrono::milliseconds driverExecutionTimeout(
    std::optional<std::chrono::milliseconds> ofManifest) {
  return millisecondsFromEnvironment("HALYARD_DRIVER_EXECUTION_TIMEOUT_MS",
                                     ofManifest.value_or(kDefaultExecutionLimit));
}

}  // namespace halyard::hal
