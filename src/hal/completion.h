// Completion: a value that one thread sets and another waits for.
// Thread safety: set may be called from any thread, wait once. The object may end as soon as wait
// has returned, although another thread is still leaving set: what the two touch last is shared.
// Ownership: owns the value until wait gives it away.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "base/looking.h"

namespace halyard::hal {

template <typename T>
class Completion {
 public:
  Completion() = default;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  // The first value counts.
  void set(T value) {
    const std::shared_ptr<State> state = state_;
    int expected = kNone;
    if (!state->step.compare_exchange_strong(expected, kBeingSet)) return;
    state->value.emplace(std::move(value));
    state->step.store(kThere);
    state->step.notify_all();
  }
  // Looks for the value for a while before it sleeps.
  T wait() {
    Looking::forAnswer([this] { return state_->step == kThere; });
    for (int step = state_->step; step != kThere; step = state_->step) state_->step.wait(step);
    return std::move(*state_->value);
  }

 private:
  static constexpr int kNone = 0;
  static constexpr int kBeingSet = 1;
  static constexpr int kThere = 2;
  struct State {
    std::atomic<int> step = kNone;
    std::optional<T> value;
  };

  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace halyard::hal
