// Tests of WorkLimit: the coverage of chunks, and that unwanted work stops in every thread.
#include "base/work_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_pool.h"

namespace halyard {
namespace {

using Clock = WorkLimit::Clock;
using Ranges = std::vector<std::pair<size_t, size_t>>;

void spinFor(std::chrono::microseconds time) {
  for (const auto end = Clock::now() + time; Clock::now() < end;) {
  }
}

WorkLimit endless(std::stop_source& source) {
  WorkLimit limit;
  limit.cancel = source.get_token();
  return limit;
}

TEST(WorkLimit, OneChunkWithoutALimit) {
  Ranges ranges;
  forEachChunk(3, 1000, 1, [&](size_t begin, size_t end) { ranges.emplace_back(begin, end); });
  EXPECT_EQ(ranges, (Ranges{{3, 1000}}));
  forEachChunk(5, 5, 1, [](size_t, size_t) { ADD_FAILURE() << "called for nothing"; });
}

TEST(WorkLimit, ChunksCoverTheRangeOnceAndKeepTheGrain) {
  std::stop_source source;
  const WorkLimit limit = endless(source);
  const WorkLimitScope scope(&limit);
  for (size_t count : {1, 2, 7, 100, 1000}) {
    for (size_t grain : {0, 1, 3, 64, 5000}) {
      SCOPED_TRACE(::testing::Message() << count << "/" << grain);
      size_t next = 10;
      forEachChunk(10, 10 + count, grain, [&](size_t begin, size_t end) {
        EXPECT_EQ(begin, next);
        ASSERT_LT(begin, end);
        EXPECT_TRUE(end - begin >= grain || (begin == 10 && end == 10 + count));
        next = end;
        spinFor(std::chrono::microseconds(count > 100 ? 20 : 600));
      });
      EXPECT_EQ(next, 10 + count);
    }
  }
}

TEST(WorkLimit, ChunksOfABackwardLoopCoverTheRangeFromItsEnd) {
  std::stop_source source;
  const WorkLimit limit = endless(source);
  const WorkLimitScope scope(&limit);
  for (size_t grain : {1, 3, 64}) {
    SCOPED_TRACE(grain);
    size_t next = 110;
    int chunks = 0;
    forEachChunk(
        10, next, grain,
        [&](size_t begin, size_t end) {
          EXPECT_EQ(end, next);
          ASSERT_GE(end - begin, grain);
          next = begin;
          ++chunks;
          spinFor(std::chrono::microseconds(600));
        },
        LoopOrder::BACKWARD);
    EXPECT_EQ(next, 10u);
    EXPECT_EQ(chunks, 100 / grain);
  }
}

TEST(WorkLimit, ALoopThatGoesOnKnowsHowLongItsRangesMayBe) {
  std::stop_source source;
  const WorkLimit limit = endless(source);
  const WorkLimitScope scope(&limit);
  Ranges ranges;
  bool isSlow = true;
  const std::function<void(size_t, size_t)> body = [&](size_t begin, size_t end) {
    ranges.emplace_back(begin, end);
    if (isSlow) spinFor((end - begin) * std::chrono::milliseconds(1));
  };
  ChunkedLoop loop(2, body);
  loop.run(0, 8);
  EXPECT_EQ(ranges, (Ranges{{0, 2}, {2, 4}, {4, 6}, {6, 8}}));
  isSlow = false;
  // A pause of the machine may make one range look slow, but not all.
  loop.run(0, 100'000);
  ranges.clear();
  loop.run(3, 20);
  EXPECT_EQ(ranges, (Ranges{{3, 20}}));
  source.request_stop();
  EXPECT_THROW(loop.run(0, 1), WorkAbandoned);
}

TEST(WorkLimit, ScopesNest) {
  std::stop_source source;
  const WorkLimit outer = endless(source);
  const WorkLimitScope first(&outer);
  {
    const WorkLimitScope second(nullptr);
    EXPECT_EQ(currentWorkLimit(), nullptr);
    source.request_stop();
    EXPECT_NO_THROW(checkWorkLimit());
  }
  EXPECT_EQ(currentWorkLimit(), &outer);
  EXPECT_THROW(checkWorkLimit(), WorkAbandoned);
  std::thread([] { EXPECT_EQ(currentWorkLimit(), nullptr); }).join();
}

TEST(WorkLimit, LoopsEndWhenTheDeadlinePasses) {
  for (unsigned threads : {1u, 2u, 4u}) {
    SCOPED_TRACE(threads);
    ThreadPool pool(threads);
    WorkLimit limit;
    limit.deadline = Clock::now() + std::chrono::milliseconds(20);
    std::atomic<size_t> done{0};
    {
      const WorkLimitScope scope(&limit);
      // The work takes an hour.
      EXPECT_THROW(pool.parallelFor(3'600'000, 1,
                                    [&](size_t begin, size_t end) {
                                      for (size_t i = begin; i < end; ++i) {
                                        spinFor(std::chrono::milliseconds(1));
                                        ++done;
                                      }
                                    }),
                   WorkAbandoned);
    }
    EXPECT_GE(Clock::now(), *limit.deadline);
    EXPECT_GT(done, 0u);
    EXPECT_LT(done, 100'000u);
    // The pool still works.
    std::atomic<size_t> sum{0};
    pool.parallelFor(1000, 1, [&](size_t begin, size_t end) { sum += end - begin; });
    EXPECT_EQ(sum, 1000u);
  }
}

TEST(WorkLimit, LoopsEndWhenTheyAreCancelledEvenInsideOthers) {
  ThreadPool pool(3);
  std::stop_source source;
  const WorkLimit limit = endless(source);
  const WorkLimitScope scope(&limit);
  std::atomic<size_t> begun{0};
  EXPECT_THROW(pool.parallelFor(12, 1,
                                [&](size_t, size_t) {
                                  if (++begun == 3) source.request_stop();
                                  pool.parallelFor(3'600'000, 1, [](size_t begin, size_t end) {
                                    spinFor((end - begin) * std::chrono::milliseconds(1));
                                  });
                                  ADD_FAILURE() << "the inner loop has come to its end";
                                }),
               WorkAbandoned);
  EXPECT_LE(begun, 3u);
}

}  // namespace
}  // namespace halyard
