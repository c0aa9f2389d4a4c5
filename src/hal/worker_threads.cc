#include "hal/worker_threads.h"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>

namespace halyard::hal {
namespace {
constexpr size_t kMaxQueued = 1024;
}

struct WorkerThreads::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  unsigned running = 0;
  bool stopping = false;

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return stopping || !queue.empty(); });
      if (stopping) return;
      std::function<void()> job = std::move(queue.front());
      queue.pop_front();
      ++running;
      lock.unlock();
      job();
      job = nullptr;  // what it holds is let go of here, not under the lock
      lock.lock();
      --running;
      changed.notify_all();
    }
  }
};

Result<std::unique_ptr<WorkerThreads>> WorkerThreads::start(unsigned threads) {
  auto state = std::make_shared<State>();
  std::unique_ptr<WorkerThreads> workers(new WorkerThreads(state));
  try {
    for (unsigned i = 0; i < threads; ++i) {
      workers->threads_.emplace_back([state] {
        ::pthread_setname_np(::pthread_self(), "halyard-worker");
        state->run();
      });
    }
  } catch (const std::system_error& error) {
    return makeStatus(ResultCode::OUT_OF_MEMORY, "starting worker threads: {}", error.what());
  }
  return workers;
}

WorkerThreads::~WorkerThreads() {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    dropped.swap(state_->queue);
  }
  state_->changed.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Status WorkerThreads::post(std::function<void()> job) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopping) return opFailed("the driver is shutting down");
    if (state_->queue.size() >= kMaxQueued) {
      return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, "{} calls are waiting already",
                        state_->queue.size());
    }
    state_->queue.push_back(std::move(job));
  }
  state_->changed.notify_one();
  return okStatus();
}

bool WorkerThreads::drain(std::chrono::milliseconds limit) {
  std::deque<std::function<void()>> dropped;
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  dropped.swap(state_->queue);
  state_->changed.notify_all();
  return state_->changed.wait_for(lock, limit, [this] { return state_->running == 0; });
}

}  // namespace halyard::hal
