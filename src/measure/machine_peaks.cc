#include "measure/machine_peaks.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include "measure/register_loops.h"
#include "ops/simd.h"

namespace halyard::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTries = 5;
constexpr size_t kCachedBytes = size_t{256} << 10;
constexpr size_t kUncachedBytes = size_t{64} << 20;

HALYARD_ALWAYS_INLINE void addUp(const uint64_t* from, size_t count, uint64_t* sum) {
  uint64_t sums[32] = {};
  for (size_t i = 0; i + 32 <= count; i += 32) {
    for (size_t j = 0; j < 32; ++j) sums[j] += from[i + j];
  }
  for (const uint64_t each : sums) *sum += each;
}

void read(const std::vector<uint64_t>& from, int times) {
  uint64_t sum = 0;
  for (int i = 0; i < times; ++i) ops::runBest<addUp>(from.data(), from.size(), &sum);
  asm volatile("" : : "r"(sum));
}

unsigned usableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

// The amount that all threads together do in a nanosecond; the best of several tries. `make`
// returns the function that a thread calls. `amount` is the amount of one call.
double rateOf(unsigned threads, double amount, const std::function<std::function<void()>()>& make) {
  std::vector<double> rates(kTries);
  for (double& rate : rates) {
    std::latch ready(threads);
    std::vector<double> own(threads);
    std::vector<std::jthread> running;
    for (unsigned i = 0; i < threads; ++i) {
      running.emplace_back([&, i] {
        const std::function<void()> call = make();
        call();
        ready.arrive_and_wait();
        const auto start = Clock::now();
        call();
        own[i] = amount / std::chrono::duration<double, std::nano>(Clock::now() - start).count();
      });
    }
    running.clear();
    for (const double each : own) rate += each;
  }
  return std::ranges::max(rates);
}

double readingRate(unsigned threads, size_t bytes, int times) {
  return rateOf(threads, static_cast<double>(bytes) * times, [=] {
    return [memory = std::vector<uint64_t>(bytes / sizeof(uint64_t), 1), times] {
      read(memory, times);
    };
  });
}

}  // namespace

MachinePeaks measureMachinePeaks() {
  MachinePeaks peaks;
  peaks.processors = usableProcessors();
  const auto loopRate = [&](const RegisterLoop& loop) {
    return rateOf(peaks.processors, 2 * loop.products, [&] { return loop.run; });
  };
  peaks.floatFlopPerNs = loopRate(floatLoop(ops::simdLevel()));
  peaks.byteOpPerNs = loopRate(byteLoop(ops::simdLevel()));
  peaks.cacheBytesPerNs = readingRate(peaks.processors, kCachedBytes, 50);
  peaks.memoryBytesPerNs = readingRate(peaks.processors, kUncachedBytes, 1);
  return peaks;
}

double floorNs(const MachinePeaks& peaks, double flop, double bytes, bool is8Bit) {
  const double compute = flop / (is8Bit ? peaks.byteOpPerNs : peaks.floatFlopPerNs);
  const double moves =
      bytes / (bytes <= kCacheBytes ? peaks.cacheBytesPerNs : peaks.memoryBytesPerNs);
  return std::max(compute, moves);
}

}  // namespace halyard::measure
