// LateCompiler: completes compiled models that were returned before all their kernels were made, in
// the order in which they came.
// Thread safety: all methods may be called from any thread.
// Ownership: owns its thread, which exists from the first model on. Shares a model only while it
// completes it.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "base/thread_class.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::cpudriver {

class CompiledModel;

class LateCompiler {
 public:
  using Clock = std::chrono::steady_clock;
  // The time that a model waits before its turn. Meanwhile the application prepares its first
  // execution, which needs memory and processors. An earlier execution completes the model itself.
  static constexpr std::chrono::microseconds kDelay{1000};

  explicit LateCompiler(ThreadClass threadClass = ThreadClass::NORMAL)
      : threadClass_(threadClass) {}
  // Drops the models that have not begun, and waits for the one that has.
  ~LateCompiler();
  LateCompiler(const LateCompiler&) = delete;
  LateCompiler& operator=(const LateCompiler&) = delete;

  // A model that is gone when its turn comes is left out. False if the system gives no thread or
  // timer: the caller must then complete the model.
  [[nodiscard]] bool add(const std::shared_ptr<CompiledModel>& model);
  // A caller waits for a model: there is no delay for the models that are in the queue now.
  void hurry();

 private:
  struct Entry {
    std::weak_ptr<CompiledModel> model;
    Clock::time_point from;
  };

  bool start();                        // with the lock
  void wakeIn(Clock::duration delay);  // the thread; with the lock
  void work();

  const ThreadClass threadClass_;
  std::mutex mutex_;
  // The thread sleeps on this timer. A caller that adds a model sets it and does not wake the
  // thread, because the application waits.
  UniqueFd timer_;
  std::deque<Entry> waiting_;
  bool isStopping_ = false;
  std::thread thread_;
};

}  // namespace halyard::cpudriver
