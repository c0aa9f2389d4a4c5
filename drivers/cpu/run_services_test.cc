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

int rangesOf(RunServices& services, size_t count, size_t grain) {
  std::atomic<int> ranges = 0;
  services.parallelFor(count, grain, [&](size_t, size_t) { ++ranges; });
  return ranges;
}

TEST(RunServices, ARunThatIsNotToDivideItsLoopsDoesNot) {
  ThreadShare share(2);
  RunServices services(&share);
  services.beginRun(false);
  EXPECT_EQ(rangesHere(services), 1);
}

TEST(RunServices, ARunThatIsToDivideThemDoes) {
  ThreadShare share(2);
  RunServices services(&share);
  services.beginRun(true);
  EXPECT_GT(rangesOf(services, 64, 1), 1);
}

TEST(RunServices, TheRestOfARunIsNotDividedWhereExecutionsHaveAllProcessors) {
  ThreadShare share(2);
  RunServices services(&share);
  services.beginRun(true);
  {
    const ThreadShare::Execution first(&share);
    const ThreadShare::Execution second(&share);
    EXPECT_EQ(rangesHere(services), 1);
  }
  EXPECT_EQ(rangesHere(services), 1);
  services.beginRun(true);
  EXPECT_GT(rangesOf(services, 64, 1), 1);
}

TEST(RunServices, ShortLoopsAreNotDivided) {
  ThreadShare share(2);
  RunServices services(&share);
  services.beginRun(true);
  EXPECT_EQ(rangesOf(services, 64, 64), 1);
  EXPECT_EQ(rangesOf(services, 1, 0), 1);
}

TEST(RunServices, WithOneThreadOrNoneNoLoopIsDivided) {
  ThreadShare alone(1);
  for (ThreadShare* const share : {&alone, static_cast<ThreadShare*>(nullptr)}) {
    RunServices services(share);
    services.beginRun(true);
    EXPECT_EQ(rangesHere(services), 1);
  }
}

}  // namespace
}  // namespace halyard::cpudriver
