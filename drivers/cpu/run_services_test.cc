#include "run_services.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stop_token>
#include <thread>
#include <utility>

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

// A run that may be cancelled looks whether it is, but not all the time.
TEST(RunServices, LittleIsDoneAtOnceAndMuchCanBeAbandoned) {
  std::stop_source source;
  const WorkLimit limit{std::nullopt, source.get_token()};
  const WorkLimitScope scope(&limit);
  ThreadShare share(2);
  for (ThreadShare* const threads : {static_cast<ThreadShare*>(nullptr), &share}) {
    RunServices services(threads);
    services.beginRun(false);
    int ranges = 0;
    services.parallelFor(16, 2, [&](size_t begin, size_t end) {
      EXPECT_EQ(std::make_pair(begin, end), std::make_pair(size_t{0}, size_t{16}));
      ++ranges;
    });
    EXPECT_EQ(ranges, 1);
    size_t next = 0;
    services.parallelFor(1000, 1, [&](size_t begin, size_t end) {
      EXPECT_EQ(begin, next);
      EXPECT_GE(end - begin, 8u);
      next = end;
    });
    EXPECT_EQ(next, 1000u);
  }
  RunServices services(nullptr);
  size_t done = 0;
  const auto cancelled = [&] {
    services.parallelFor(1000, 1, [&](size_t, size_t end) {
      done = end;
      source.request_stop();
    });
  };
  EXPECT_THROW(cancelled(), WorkAbandoned);
  EXPECT_LT(done, 100u);
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
