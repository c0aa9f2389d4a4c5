#include "interruptible.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace halyard::python {
namespace nb = nanobind;
namespace {

constexpr std::chrono::milliseconds kPeriod{20};

struct Job {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  Status status;
};
using JobPtr = std::shared_ptr<Job>;

bool isDone(Job& job) {
  const std::lock_guard lock(job.mutex);
  return job.done;
}

// The objects that interrupted work still uses. They are never destroyed at exit, since the work
// may last longer. The GIL protects the list.
std::vector<std::pair<JobPtr, nb::object>>& interrupted() {
  static auto* const list = new std::vector<std::pair<JobPtr, nb::object>>;
  return *list;
}

void releaseEnded() {
  std::erase_if(interrupted(), [](const auto& each) { return isDone(*each.first); });
}

void doWork(const JobPtr& job, std::function<Status()> work) {
  Status status;
  try {
    status = work();
  } catch (const std::bad_alloc&) {
    status = makeStatus(ResultCode::OUT_OF_MEMORY, "no memory for the call");
  }
  work = nullptr;  // before `done`: the owner may be released then
  const std::lock_guard lock(job->mutex);
  job->status = std::move(status);
  job->done = true;
  job->ended.notify_all();
}

bool waitFor(Job& job) {
  const nb::gil_scoped_release released;
  std::unique_lock lock(job.mutex);
  return job.ended.wait_for(lock, kPeriod, [&] { return job.done; });
}

}  // namespace

bool isMainThread() { return ::syscall(SYS_gettid) == ::getpid(); }

Status runInterruptibly(std::function<Status()> work, nb::object owner, const nb::object& tick) {
  releaseEnded();
  const auto job = std::make_shared<Job>();
  const auto start = std::chrono::steady_clock::now();
  const auto tell = [&] {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (!tick.is_none()) tick(elapsed.count());
  };
  std::thread(doWork, job, std::move(work)).detach();
  try {
    while (!waitFor(*job)) {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      tell();
    }
    tell();
  } catch (...) {
    interrupted().emplace_back(job, std::move(owner));
    throw;
  }
  return std::move(job->status);
}

}  // namespace halyard::python
