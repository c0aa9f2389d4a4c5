// Tests of ThreadClass: its effect in the kernel, and its limit to one thread.
#include "base/thread_class.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

namespace halyard {
namespace {

struct Seen {
  int policy;
  int nice;
};

Seen seen() { return {::sched_getscheduler(0), ::getpriority(PRIO_PROCESS, 0)}; }

TEST(ThreadClass, BackgroundIsNiceAndConcernsOneThread) {
  const Seen before = seen();
  Seen inside{};
  std::thread([&] {
    EXPECT_EQ(currentThreadClass(), ThreadClass::NORMAL);
    enterThreadClass(ThreadClass::BACKGROUND);
    EXPECT_EQ(currentThreadClass(), ThreadClass::BACKGROUND);
    inside = seen();
  }).join();
  EXPECT_EQ(inside.nice, 15);
  EXPECT_EQ(inside.policy, SCHED_BATCH);
  EXPECT_EQ(seen().nice, before.nice);
  EXPECT_EQ(seen().policy, before.policy);
  EXPECT_EQ(currentThreadClass(), ThreadClass::NORMAL);
}

TEST(ThreadClass, BatchLeavesNice) {
  const Seen before = seen();
  Seen inside{};
  std::thread([&] {
    enterThreadClass(ThreadClass::BATCH);
    EXPECT_EQ(currentThreadClass(), ThreadClass::BATCH);
    inside = seen();
  }).join();
  EXPECT_EQ(inside.nice, before.nice);
  EXPECT_EQ(inside.policy, before.policy == SCHED_OTHER ? SCHED_BATCH : before.policy);
  EXPECT_EQ(seen().policy, before.policy);
}

TEST(ThreadClass, UrgentLeavesPolicyAndNice) {
  const Seen before = seen();
  Seen inside{};
  std::thread([&] {
    enterThreadClass(ThreadClass::URGENT);
    EXPECT_EQ(currentThreadClass(), ThreadClass::URGENT);
    inside = seen();
  }).join();
  EXPECT_EQ(inside.nice, before.nice);
  EXPECT_EQ(inside.policy, before.policy);
}

TEST(ThreadClass, BackgroundGetsOnBesideAThreadThatComputesAllTheTime) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  std::atomic<bool> done{false};
  std::atomic<uint64_t> rounds{0};
  std::thread hog([&] {
    ::sched_setaffinity(0, sizeof one, &one);
    while (!done) {
    }
  });
  std::thread background([&] {
    ::sched_setaffinity(0, sizeof one, &one);
    enterThreadClass(ThreadClass::BACKGROUND);
    // The loop ends only if the thread gets processor time again and again.
    for (int i = 0; i < 20; ++i) {
      std::this_thread::yield();
      ++rounds;
    }
    done = true;
  });
  background.join();
  hog.join();
  EXPECT_EQ(rounds, 20u);
}

}  // namespace
}  // namespace halyard
