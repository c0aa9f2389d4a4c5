#include "run_services.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace halyard::cpudriver {
namespace {

// The number of ranges of a loop, all of which must be run by this thread.
int rangesHere(RunServices& services) {
  int ranges = 0;
  services.parallelFor(64, 1, [&, self = std::this_thread::get_id()](size_t, size_t) {
    EXPECT_EQ(std::this_thread::get_id(), self);
    ++ranges;
  });
  return ranges;
}

TEST(RunServices, ARunThatIsNotToDivideItsLoopsDoesNot) {
  ThreadShare share(2);
  RunServices services(&share);
  services.beginRun(false);
  EXPECT_EQ(rangesHere(services), 1);
  EXPECT_TRUE(services.hadLoops());
  EXPECT_TRUE(services.wasAsWanted());
}

TEST(RunServices, ARunThatIsToDivideThemDoes) {
  ThreadShare share(2);
  RunServices services(&share);
  services.beginRun(true);
  std::atomic<int> ranges = 0;
  services.parallelFor(64, 1, [&](size_t, size_t) { ++ranges; });
  EXPECT_GT(ranges, 1);
  EXPECT_TRUE(services.hadLoops());
}

TEST(RunServices, SaysWhenTheThreadsWereOfNoUse) {
  ThreadShare share(2);
  const ThreadShare::Execution first(&share);
  const ThreadShare::Execution second(&share);
  RunServices services(&share);
  services.beginRun(true);
  EXPECT_EQ(rangesHere(services), 1);
  EXPECT_TRUE(services.hadLoops());
  EXPECT_FALSE(services.wasAsWanted());
  services.beginRun(false);
  EXPECT_FALSE(services.hadLoops());
}

TEST(RunServices, ShortLoopsDoNotCount) {
  ThreadShare share(2);
  RunServices services(&share);
  services.beginRun(true);
  services.parallelFor(64, 64, [](size_t, size_t) {});
  services.parallelFor(1, 0, [](size_t, size_t) {});
  EXPECT_FALSE(services.hadLoops());
  services.setFiner(true);
  services.parallelFor(64, 64, [](size_t, size_t) {});
  EXPECT_TRUE(services.hadLoops());
}

TEST(RunServices, WithOneThreadOrNoneNoLoopCounts) {
  ThreadShare alone(1);
  for (ThreadShare* const share : {&alone, static_cast<ThreadShare*>(nullptr)}) {
    RunServices services(share);
    services.beginRun(true);
    EXPECT_EQ(rangesHere(services), 1);
    EXPECT_FALSE(services.hadLoops());
    EXPECT_FALSE(services.wasAsWanted());
  }
}

}  // namespace
}  // namespace halyard::cpudriver
