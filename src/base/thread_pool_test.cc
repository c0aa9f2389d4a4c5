// Tests of ThreadPool: coverage of the range, grain, nesting, contention, lazy start.
#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace halyard {
namespace {

size_t threadsOfThisProcess() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/self/task")) {
    ++count;
  }
  return count;
}

// Returns the ranges that parallelFor handed out, sorted.
std::set<std::pair<size_t, size_t>> rangesOf(ThreadPool& pool, size_t count, size_t grain) {
  std::mutex mutex;
  std::set<std::pair<size_t, size_t>> ranges;
  pool.parallelFor(count, grain, [&](size_t begin, size_t end) {
    std::lock_guard<std::mutex> lock(mutex);
    EXPECT_TRUE(ranges.emplace(begin, end).second) << "range " << begin << " given twice";
  });
  return ranges;
}

TEST(ThreadPool, CoversTheRangeOnceWithRangesOfAtLeastTheGrain) {
  for (unsigned threads : {1u, 2u, 3u, 8u}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (size_t count : {1, 2, 7, 64, 1000, 4097}) {
      for (size_t grain : {0, 1, 5, 64, 1000, 100000}) {
        SCOPED_TRACE(::testing::Message() << threads << " threads, " << count << "/" << grain);
        size_t expectedBegin = 0;
        for (const auto& [begin, end] : rangesOf(pool, count, grain)) {
          EXPECT_EQ(begin, expectedBegin);
          ASSERT_LT(begin, end);
          EXPECT_TRUE(end == count || end - begin >= grain) << begin << " to " << end;
          expectedBegin = end;
        }
        EXPECT_EQ(expectedBegin, count);
      }
    }
  }
}

TEST(ThreadPool, EmptyRangeCallsNothing) {
  ThreadPool pool(4);
  pool.parallelFor(0, 1, [](size_t, size_t) { ADD_FAILURE() << "called"; });
}

TEST(ThreadPool, ZeroMeansTheUsableProcessors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  EXPECT_EQ(ThreadPool(0).threads(), static_cast<unsigned>(CPU_COUNT(&set)));
}

TEST(ThreadPool, StartsItsThreadsWithTheFirstLoopThatNeedsThem) {
  // A sanitizer may start its own thread together with the program's first thread.
  std::thread([] {}).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const size_t before = threadsOfThisProcess();
  {
    ThreadPool pool(3);
    pool.parallelFor(10, 10, [](size_t, size_t) {});
    EXPECT_EQ(threadsOfThisProcess(), before);
    pool.parallelFor(10, 1, [](size_t, size_t) {});
    EXPECT_EQ(threadsOfThisProcess(), before + 2);
    pool.parallelFor(10, 1, [](size_t, size_t) {});
    EXPECT_EQ(threadsOfThisProcess(), before + 2);
  }
  // A joined thread may stay in /proc for a moment.
  for (int i = 0; i < 1000 && threadsOfThisProcess() != before; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(threadsOfThisProcess(), before);
}

// The test passes only if all threads of the pool are in the body at the same time.
TEST(ThreadPool, AllThreadsWorkTogether) {
  constexpr unsigned kThreads = 4;
  ThreadPool pool(kThreads);
  std::mutex mutex;
  std::condition_variable allHere;
  std::set<std::thread::id> inside;
  bool together = false;
  pool.parallelFor(kThreads * 100, 1, [&](size_t, size_t) {
    std::unique_lock<std::mutex> lock(mutex);
    inside.insert(std::this_thread::get_id());
    if (inside.size() == kThreads) {
      together = true;
      allHere.notify_all();
    }
    allHere.wait_for(lock, std::chrono::seconds(30), [&] { return together; });
  });
  EXPECT_TRUE(together);
}

// The range that one thread computes alone at the end is short, for any number of ranges.
TEST(ThreadPool, RangesBecomeShortToTheEndOfAThreadsPart) {
  ThreadPool pool(2);
  size_t longest = 0;
  size_t ofOne = 0;
  for (const auto& [begin, end] : rangesOf(pool, 1000, 1)) {
    longest = std::max(longest, end - begin);
    if (end - begin == 1) ++ofOne;
  }
  EXPECT_LE(longest, 125u);
  EXPECT_GE(ofOne, 2u);
}

// The thread's cache then still holds the data that it used in the previous loop. In a backward
// loop, it begins with the data that it used last.
TEST(ThreadPool, AThreadBeginsWithThePartThatItHasHadBefore) {
  constexpr unsigned kThreads = 3;
  constexpr size_t kCount = 300;
  ThreadPool pool(kThreads);
  std::vector<std::thread::id> firstOwners;
  for (int loop = 0; loop < 6; ++loop) {
    const bool isForward = loop % 3 != 1;
    std::mutex mutex;
    std::condition_variable allHere;
    std::set<std::thread::id> inside;
    std::vector<std::thread::id> owners(kThreads);
    const auto body = [&](size_t begin, size_t end) {
      std::unique_lock<std::mutex> lock(mutex);
      for (size_t part = 0; part < kThreads; ++part) {
        const size_t first =
            isForward ? part * kCount / kThreads : (part + 1) * kCount / kThreads - 1;
        if (begin <= first && first < end) owners[part] = std::this_thread::get_id();
      }
      inside.insert(std::this_thread::get_id());
      if (inside.size() == kThreads) allHere.notify_all();
      // No thread takes another's part before all have started.
      EXPECT_TRUE(allHere.wait_for(lock, std::chrono::seconds(30),
                                   [&] { return inside.size() == kThreads; }));
    };
    pool.parallelFor(kCount, 1, body, isForward ? LoopOrder::FORWARD : LoopOrder::BACKWARD);
    EXPECT_EQ(owners[0], std::this_thread::get_id());
    if (loop == 0) firstOwners = owners;
    EXPECT_EQ(owners, firstOwners);
  }
}

TEST(ThreadPool, NestedCallsRunInline) {
  ThreadPool pool(4);
  std::atomic<size_t> inner{0};
  pool.parallelFor(64, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto outer = std::this_thread::get_id();
      pool.parallelFor(100, 1, [&](size_t innerBegin, size_t innerEnd) {
        EXPECT_EQ(std::this_thread::get_id(), outer);
        EXPECT_EQ(innerBegin, 0u);
        EXPECT_EQ(innerEnd, 100u);
        inner += innerEnd - innerBegin;
      });
    }
  });
  EXPECT_EQ(inner, 6400u);
}

TEST(ThreadPool, SeveralCallersAtOnce) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&pool] {
      for (size_t round = 0; round < 200; ++round) {
        // The counters are not atomic on purpose: ranges are disjoint, and the workers' writes must
        // be visible.
        std::vector<size_t> squares(round + 1);
        pool.parallelFor(squares.size(), 1, [&](size_t begin, size_t end) {
          for (size_t i = begin; i < end; ++i) squares[i] = i * i;
        });
        for (size_t i = 0; i < squares.size(); ++i) ASSERT_EQ(squares[i], i * i);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(ThreadPool, IdleWorkersUseNoProcessorTime) {
  ThreadPool pool(4);
  pool.parallelFor(1000, 1, [](size_t, size_t) {});
  const auto processorTime = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double before = processorTime();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(processorTime() - before, 0.1);
}

TEST(ThreadPool, PatientWorkersTakeLoopsThatFollowAtOnceAndThoseThatDoNot) {
  constexpr size_t kCount = 400;
  for (unsigned threads : {2u, 4u}) {
    ThreadPool pool(threads, ThreadClass::NORMAL, std::chrono::microseconds(200));
    std::atomic<size_t> done = 0;
    for (size_t loop = 0; loop < kCount; ++loop) {
      // From time to time the workers are asleep.
      if (loop % 100 == 99) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      pool.parallelFor(64, 1, [&](size_t begin, size_t end) { done += end - begin; });
      ASSERT_EQ(done, (loop + 1) * 64);
    }
  }
}

TEST(ThreadPool, PatientWorkersUseNoProcessorTimeForLong) {
  ThreadPool pool(2, ThreadClass::NORMAL, std::chrono::microseconds(200));
  pool.parallelFor(64, 1, [](size_t, size_t) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const auto usedSoFar = [] {
    timespec time = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  const auto before = usedSoFar();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(usedSoFar() - before, std::chrono::milliseconds(100));
}

// All threads share a processor with other computing threads.
TEST(ThreadPool, TellsForHowLongItsWorkersHaveHadNoProcessor) {
  for (const int patience : {0, 200}) {
    std::thread([patience] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(sched_getcpu(), &one);
      ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
      std::atomic<bool> done = false;
      const auto compute = [&] {
        while (!done) {
        }
      };
      std::thread others[] = {std::thread(compute), std::thread(compute)};
      ThreadPool pool(2, ThreadClass::NORMAL, std::chrono::microseconds(patience));
      EXPECT_EQ(pool.delay().count(), 0);
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (pool.delay().count() == 0 && std::chrono::steady_clock::now() < limit) {
        pool.parallelFor(64, 1, [](size_t, size_t) {});
      }
      EXPECT_GT(pool.delay().count(), 0);
      done = true;
      for (std::thread& other : others) other.join();
    }).join();
  }
}

TEST(ThreadPool, LackOfMemoryInABodyReachesTheCaller) {
  ThreadPool pool(4);
  for (int round = 0; round < 20; ++round) {
    const auto body = [](size_t begin, size_t end) {
      if (begin <= 500 && 500 < end) throw std::bad_alloc();
    };
    EXPECT_THROW(pool.parallelFor(1000, 1, body), std::bad_alloc);
    // The pool still works.
    std::atomic<size_t> sum{0};
    pool.parallelFor(100, 1, [&](size_t begin, size_t end) { sum += end - begin; });
    EXPECT_EQ(sum, 100u);
  }
}

}  // namespace
}  // namespace halyard
