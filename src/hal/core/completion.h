// Completion: a value that one thread sets and another waits for.
// Thread safety: any thread may call set, and one thread calls the waiting methods. The object may
// end as soon as a wait has returned, even if another thread is still leaving set. The two share
// the state that they use last.
// Ownership: owns the value until a wait returns it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/spin_wait.h"

namespace halyard::hal {

template <typename T>
class Completion {
 public:
  Completion() = default;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  // Only the first call has an effect.
  void set(T value) {
    const std::shared_ptr<State> state = state_;
    {
      const std::lock_guard lock(state->mutex);
      if (state->value) return;
      state->value.emplace(std::move(value));
      state->isThere = true;
    }
    state->there.notify_all();
  }
  // Polls for the value for a while before it sleeps.
  T wait() {
    std::unique_lock lock = look();
    state_->there.wait(lock, [this] { return state_->value.has_value(); });
    return std::move(*state_->value);
  }
  // The same with a time limit. Returns nullopt when there is no value by then.
  std::optional<T> waitUntil(std::chrono::steady_clock::time_point until) {
    std::unique_lock lock = look();
    if (!state_->there.wait_until(lock, until, [this] { return state_->value.has_value(); })) {
      return std::nullopt;
    }
    return std::move(*state_->value);
  }

 private:
  struct State {
    std::atomic<bool> isThere = false;
    std::mutex mutex;
    std::condition_variable there;
    std::optional<T> value;  // once set, it stays
  };

  std::unique_lock<std::mutex> look() {
    SpinWait::forAnswer([this] { return state_->isThere.load(); });
    return std::unique_lock(state_->mutex);
  }

  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace halyard::hal
