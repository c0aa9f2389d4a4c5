// BackgroundCompiler: a thread that makes better code for models that are in use already.
// Thread safety: post may be called from several threads at once.
// Ownership: owns its thread, which starts with the first task and ends with the compiler. Tasks
// that are not done by then are dropped. Tasks belong to their posters.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "personality.h"

namespace halyard::drivers {

class BackgroundCompiler {
 public:
  // Done once, after a pause of `time`, with a token that is asked to stop when the compiler ends.
  // Not done if its owner has released it by then.
  using Task = std::function<void(std::stop_token)>;

  explicit BackgroundCompiler(Milliseconds time) : time_(time) {}
  ~BackgroundCompiler();
  BackgroundCompiler(const BackgroundCompiler&) = delete;
  BackgroundCompiler& operator=(const BackgroundCompiler&) = delete;

  // Tasks are done in the order in which they come. If no thread can be started, no task is done.
  void post(std::weak_ptr<const Task> task);

 private:
  void run(const std::stop_token& stop);

  const Milliseconds time_;
  std::mutex mutex_;
  std::condition_variable_any posted_;
  std::deque<std::weak_ptr<const Task>> tasks_;
  std::jthread thread_;  // last: it ends before the other members
};

}  // namespace halyard::drivers
