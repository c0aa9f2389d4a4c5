#include "base/thread_class.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace halyard {
namespace {

// The kernel's structure; glibc 2.36 does not define it.
struct SchedAttributes {
  uint32_t size = 48;
  uint32_t policy = SCHED_OTHER;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  // ns; the time slice of a thread that is not real-time, since Linux 6.12
  uint64_t deadline = 0;
  uint64_t period = 0;
};

// A weight of 36 beside 1024: enough to notice a deadline soon.
constexpr int kBackgroundNice = 15;
// The shortest time slice that the kernel accepts. A background thread with a short slice gives way
// soon, and an urgent thread with one starts soon.
constexpr uint64_t kShortSlice = 100'000;

thread_local ThreadClass threadsClass = ThreadClass::NORMAL;

bool setAttributes(const SchedAttributes& attributes) {
  return ::syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

void enterBackground() {
  SchedAttributes attributes;
  attributes.policy = SCHED_BATCH;  // never preempts other threads when it wakes
  attributes.nice = kBackgroundNice;
  attributes.runtime = kShortSlice;
  if (setAttributes(attributes)) return;
  // On Linux this call changes only the calling thread.
  ::setpriority(PRIO_PROCESS, 0, kBackgroundNice);
}

void enterBatch() {
  // A policy that the process has been given stays.
  if (::sched_getscheduler(0) != SCHED_OTHER) return;
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_BATCH, &none);
}

void enterUrgent() {
  SchedAttributes attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.size = sizeof attributes;
  attributes.flags = 0;
  attributes.runtime = kShortSlice;
  setAttributes(attributes);
}

}  // namespace

void enterThreadClass(ThreadClass threadClass) {
  threadsClass = threadClass;
  if (threadClass == ThreadClass::BACKGROUND) enterBackground();
  if (threadClass == ThreadClass::BATCH) enterBatch();
  if (threadClass == ThreadClass::URGENT) enterUrgent();
}

ThreadClass currentThreadClass() { return threadsClass; }

}  // namespace halyard
