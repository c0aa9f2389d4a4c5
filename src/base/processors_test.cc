#include "base/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace halyard {
namespace {

cpu_set_t usableSet() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

TEST(Processors, AsManyAsTheThreadMayUse) {
  std::thread([] {
    const cpu_set_t all = usableSet();
    EXPECT_EQ(usableProcessors(), static_cast<unsigned>(CPU_COUNT(&all)));
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usableProcessors(), 1u);
  }).join();
}

TEST(Processors, AThreadLeavesItsProcessorForAnother) {
  if (usableProcessors() < 2) GTEST_SKIP() << "there is one processor only";
  std::thread([] {
    const cpu_set_t all = usableSet();
    // The scheduler may move the thread back before it reads its processor, but hardly each time.
    bool left = false;
    for (int i = 0; i < 1000 && !left; ++i) {
      const int before = sched_getcpu();
      leaveProcessor();
      left = sched_getcpu() != before;
    }
    EXPECT_TRUE(left);
    const cpu_set_t after = usableSet();
    EXPECT_TRUE(CPU_EQUAL(&after, &all));
  }).join();
}

TEST(Processors, AThreadMovesToAProcessorThatItMayUse) {
  std::thread([] {
    const cpu_set_t all = usableSet();
    for (unsigned processor = 0; processor < CPU_SETSIZE; ++processor) {
      if (!CPU_ISSET(processor, &all)) continue;
      bool moved = false;
      for (int i = 0; i < 1000 && !moved; ++i) {
        moveToProcessor(processor);
        moved = sched_getcpu() == static_cast<int>(processor);
      }
      EXPECT_TRUE(moved) << processor;
    }
    moveToProcessor(CPU_SETSIZE);  // there is no such processor
    const cpu_set_t after = usableSet();
    EXPECT_TRUE(CPU_EQUAL(&after, &all));
  }).join();
}

TEST(Processors, AThreadStaysOnTheOnlyProcessorThatItMayUse) {
  std::thread([] {
    const int only = sched_getcpu();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(only, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    leaveProcessor();
    EXPECT_EQ(sched_getcpu(), only);
    const cpu_set_t after = usableSet();
    EXPECT_TRUE(CPU_EQUAL(&after, &one));
  }).join();
}

}  // namespace
}  // namespace halyard
