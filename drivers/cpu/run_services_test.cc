#include "run_services.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stop_token>
#include <thread>

#include "base/work_limit.h"

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

TEST(RunServices, BackwardLoopsBeginAtTheirEnd) {
  std::stop_source source;
  const WorkLimit limit{std::nullopt, source.get_token()};
  const WorkLimitScope scope(&limit);  // without one, a loop in one thread is one range
  RunServices services;
  size_t next = 64;
  services.parallelForBackward(64, 1, [&](size_t begin, size_t end) {
    EXPECT_EQ(end, next);
    next = begin;
  });
  EXPECT_EQ(next, 0u);
  ThreadShare share(2);
  services.useThreads(&share);
  services.beginRun(true);
  std::atomic<size_t> done = 0;
  services.parallelForBackward(64, 1, [&](size_t begin, size_t end) { done += end - begin; });
  EXPECT_EQ(done, 64u);
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
