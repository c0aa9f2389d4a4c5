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
using Work = std::function<Status()>;

// Work that goes on after an interrupt, and the objects that it uses.
struct Interrupted {
  JobPtr job;
  std::unique_ptr<Work> work;
  nb::object owner;
};

bool isDone(Job& job) {
  const std::lock_guard lock(job.mutex);
  return job.done;
}

// The next call of runInterruptibly releases those that have ended. The list is never destroyed at
// exit, since work may last longer. The GIL protects it.
std::vector<Interrupted>& interrupted() {
  static auto* const list = new std::vector<Interrupted>;
  return *list;
}

void releaseEnded() {
  std::erase_if(interrupted(), [](const auto& each) { return isDone(*each.job); });
}

// The thread does not destroy `work`, whose objects may belong to Python. It would wait for the
// GIL, and Python ends threads that do so while the interpreter ends.
void doWork(const JobPtr& job, const Work* work) {
  Status status;
  try {
    status = (*work)();
  } catch (const std::bad_alloc&) {
    status = makeStatus(ResultCode::OUT_OF_MEMORY, "no memory for the call");
  }
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

Status runInterruptibly(Work work, nb::object owner, const nb::object& tick) {
  releaseEnded();
  const auto job = std::make_shared<Job>();
  const auto start = std::chrono::steady_clock::now();
  const auto tell = [&] {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (!tick.is_none()) tick(elapsed.count());
  };
  auto kept = std::make_unique<Work>(std::move(work));
  std::thread(doWork, job, kept.get()).detach();
  try {
    while (!waitFor(*job)) {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      tell();
    }
    tell();
  } catch (...) {
    interrupted().push_back({job, std::move(kept), std::move(owner)});
    throw;
  }
  return std::move(job->status);
}

}  // namespace halyard::python
