// LateCompiler: completes compiled models that have been handed out before all their kernels were
// made, in the order in which they came. Thread safety: all methods may be called from any thread.
// Ownership: owns its thread, which there is from the first model on; shares a model only while it
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
  // A model waits so long before its turn: the application is still at making what it needs to
  // execute it, for which memory and processors are wanted. Who executes it earlier completes it.
  static constexpr std::chrono::microseconds kDelay{1000};

  explicit LateCompiler(ThreadClass threadClass = ThreadClass::NORMAL)
      : threadClass_(threadClass) {}
  // Leaves alone what has not begun, and waits for what has.
  ~LateCompiler();
  LateCompiler(const LateCompiler&) = delete;
  LateCompiler& operator=(const LateCompiler&) = delete;

  // A model that is gone when its turn comes is left out. False where the system gives no thread or
  // timer: the caller is to complete it.
  [[nodiscard]] bool add(const std::shared_ptr<CompiledModel>& model);
  // Somebody waits for a model: there is no delay for those that are here.
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
  // What the thread sleeps on. Who adds a model sets it, and wakes nobody: the application waits.
  UniqueFd timer_;
  std::deque<Entry> waiting_;
  bool isStopping_ = false;
  std::thread thread_;
};

}  // namespace halyard::cpudriver
