#include "hal/session/fenced_workers.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/signals_blocked.h"
#include "hal/session/scheduler.h"

namespace halyard::hal {
namespace {

constexpr unsigned kThreadsPerPriority = 4;
constexpr unsigned kThreadsPerClient = 3;

}  // namespace

struct FencedWorkers::State {
  struct Job {
    const void* client;
    std::function<void()> work;
  };
  // What one priority has.
  struct Class {
    std::list<Job> queue;
    std::map<const void*, unsigned> running;  // jobs by client
    unsigned threads = 0;
    std::condition_variable changed;
  };

  std::mutex mutex;
  std::condition_variable ended;
  std::array<Class, 3> classes;
  std::vector<std::thread> threads;
  unsigned running = 0;
  bool stopping = false;

  // The first job whose client may have one more thread.
  static std::list<Job> takeNext(Class& from) {
    std::list<Job> taken;
    const auto next = std::find_if(from.queue.begin(), from.queue.end(), [&](const Job& job) {
      const auto it = from.running.find(job.client);
      return it == from.running.end() || it->second < kThreadsPerClient;
    });
    if (next != from.queue.end()) taken.splice(taken.begin(), from.queue, next);
    return taken;
  }

  // Under the lock. One thread is enough to go on with.
  static Status startThreads(const std::shared_ptr<State>& state, Class& own, Priority priority) {
    const SignalsBlocked blocked;
    try {
      for (; own.threads < kThreadsPerPriority; ++own.threads) {
        state->threads.emplace_back([state, &own, priority] {
          ::pthread_setname_np(::pthread_self(), "halyard-fenced");
          enterPriorityClass(priority);
          state->run(own);
        });
      }
    } catch (const std::system_error& error) {
      if (own.threads == 0) {
        return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                          "starting a thread for fenced executions: {}", error.what());
      }
    }
    return okStatus();
  }

  void run(Class& own) {
    std::unique_lock lock(mutex);
    for (;;) {
      std::list<Job> job;
      own.changed.wait(lock, [&] {
        if (!stopping) job = takeNext(own);
        return stopping || !job.empty();
      });
      if (stopping) return;
      const void* const client = job.front().client;
      ++own.running[client];
      ++running;
      lock.unlock();
      job.front().work();
      job.clear();  // what it holds is let go of here, not under the lock
      lock.lock();
      --running;
      if (--own.running[client] == 0) own.running.erase(client);
      ended.notify_all();
      // A job that was passed over may go now.
      if (!own.queue.empty()) own.changed.notify_one();
    }
  }
};

FencedWorkers::FencedWorkers() : state_(std::make_shared<State>()) {}

FencedWorkers::~FencedWorkers() {
  std::vector<std::thread> threads;
  std::list<State::Job> dropped;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    for (State::Class& each : state_->classes) {
      dropped.splice(dropped.end(), each.queue);
      each.changed.notify_all();
    }
    threads.swap(state_->threads);
  }
  for (std::thread& thread : threads) {
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();  // it ends after the job that this runs in
    } else {
      thread.join();
    }
  }
}

Status FencedWorkers::post(Priority priority, const void* client, std::function<void()> job) {
  const std::lock_guard lock(state_->mutex);
  if (state_->stopping) return opFailed("no more fenced executions are taken");
  const auto index = static_cast<size_t>(priority);
  State::Class& own = state_->classes[std::min(index, state_->classes.size() - 1)];
  if (own.threads == 0) HALYARD_RETURN_IF_ERROR(State::startThreads(state_, own, priority));
  own.queue.push_back({client, std::move(job)});
  own.changed.notify_one();
  return okStatus();
}

bool FencedWorkers::drain(std::optional<std::chrono::milliseconds> limit) {
  std::list<State::Job> dropped;  // let go of after the lock
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  for (State::Class& each : state_->classes) {
    dropped.splice(dropped.end(), each.queue);
    each.changed.notify_all();
  }
  const auto done = [this] { return state_->running == 0; };
  if (limit) return state_->ended.wait_for(lock, *limit, done);
  state_->ended.wait(lock, done);
  return true;
}

}  // namespace halyard::hal
