#include "background_compiler.h"

#include <exception>
#include <system_error>

#include "base/log.h"
#include "base/signals_blocked.h"
#include "pause.h"

namespace halyard::drivers {

BackgroundCompiler::~BackgroundCompiler() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void BackgroundCompiler::post(std::weak_ptr<const Task> task) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) {
    const SignalsBlocked blocked;
    try {
      thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    } catch (const std::system_error& error) {
      logWarning("no thread to optimise models in the background: {}", error.what());
      return;
    }
  }
  tasks_.push_back(std::move(task));
  posted_.notify_one();
}

void BackgroundCompiler::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (posted_.wait(lock, stop, [this] { return !tasks_.empty(); }) && !stop.stop_requested()) {
    const std::weak_ptr<const Task> next = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    // No time is spent on a model that is gone.
    if (!next.expired() && pauseFor(time_, {}, stop).ok()) {
      try {
        if (const std::shared_ptr<const Task> task = next.lock()) (*task)(stop);
      } catch (const std::exception& exception) {
        logWarning("a model is not optimised: {}", exception.what());
      }
    }
    lock.lock();
  }
}

}  // namespace halyard::drivers
