#include "tools/halyard/bench/machine_peaks.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include "ops/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace halyard::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTurns = 50'000;
constexpr int kTries = 5;
constexpr size_t kCachedBytes = size_t{256} << 10;
constexpr size_t kUncachedBytes = size_t{64} << 20;

// A loop that never leaves the registers, and what it does in a call.
struct RegisterLoop {
  void (*run)();
  double amount;
};

#if defined(__x86_64__)
// GCC 12 takes the undefined vectors inside its own intrinsics for a fault (GCC bug 105593).
HALYARD_TARGET_AVX512 void floats512() {
  __m512 sums[24];
  for (__m512& sum : sums) sum = _mm512_set1_ps(1.0f);
  __m512 a = _mm512_set1_ps(0.5f);
  __m512 b = _mm512_set1_ps(0.25f);
  for (int i = 0; i < kTurns; ++i) {
#pragma GCC unroll 24
    for (int j = 0; j < 24; ++j) sums[j] = _mm512_fmadd_ps(a, b, sums[j]);
    asm volatile("" : "+v"(a), "+v"(b));
  }
  for (__m512& sum : sums) asm volatile("" : "+v"(sum));
}
HALYARD_TARGET_AVX512 void bytes512() {
  __m512i sums[12];
  for (__m512i& sum : sums) sum = _mm512_set1_epi32(1);
  __m512i a = _mm512_set1_epi8(3);
  __m512i b = _mm512_set1_epi8(2);
  for (int i = 0; i < kTurns; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < 12; ++j) sums[j] = _mm512_dpbusd_epi32(sums[j], a, b);
    asm volatile("" : "+v"(a), "+v"(b));
  }
  for (__m512i& sum : sums) asm volatile("" : "+v"(sum));
}
HALYARD_TARGET_AVX2 void floats256() {
  __m256 sums[12];
  for (__m256& sum : sums) sum = _mm256_set1_ps(1.0f);
  __m256 a = _mm256_set1_ps(0.5f);
  __m256 b = _mm256_set1_ps(0.25f);
  for (int i = 0; i < kTurns; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < 12; ++j) sums[j] = _mm256_fmadd_ps(a, b, sums[j]);
    asm volatile("" : "+x"(a), "+x"(b));
  }
  for (__m256& sum : sums) asm volatile("" : "+x"(sum));
}
// Products of 16 bits, which is the exact way without VNNI.
HALYARD_TARGET_AVX2 void bytes256() {
  __m256i sums[12];
  for (__m256i& sum : sums) sum = _mm256_set1_epi32(1);
  __m256i a = _mm256_set1_epi16(3);
  __m256i b = _mm256_set1_epi16(2);
  for (int i = 0; i < kTurns; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < 12; ++j) {
      asm volatile("" : "+x"(a));
      sums[j] = _mm256_add_epi32(sums[j], _mm256_madd_epi16(a, b));
    }
  }
  for (__m256i& sum : sums) asm volatile("" : "+x"(sum));
}
#endif

using Floats4 = float __attribute__((vector_size(16)));
using Ints8 = int16_t __attribute__((vector_size(16)));

void floatsPlain() {
  Floats4 sums[8] = {};
  Floats4 a = {0.5f, 0.5f, 0.5f, 0.5f};
  Floats4 b = a;
  for (int i = 0; i < kTurns; ++i) {
#pragma GCC unroll 8
    for (Floats4& sum : sums) sum += a * b;
    asm volatile("" : "+g"(a), "+g"(b) : : "memory");
  }
  asm volatile("" : : "g"(&sums) : "memory");
}
void bytesPlain() {
  Ints8 sums[8] = {};
  Ints8 a = {3, 3, 3, 3, 3, 3, 3, 3};
  Ints8 b = a;
  for (int i = 0; i < kTurns; ++i) {
#pragma GCC unroll 8
    for (Ints8& sum : sums) sum += a * b;
    asm volatile("" : "+g"(a), "+g"(b) : : "memory");
  }
  asm volatile("" : : "g"(&sums) : "memory");
}

RegisterLoop floatLoop() {
#if defined(__x86_64__)
  if (ops::simdLevel() == ops::SimdLevel::AVX512) return {floats512, kTurns * 24.0 * 16 * 2};
  if (ops::simdLevel() == ops::SimdLevel::AVX2) return {floats256, kTurns * 12.0 * 8 * 2};
#endif
  return {floatsPlain, kTurns * 8.0 * 4 * 2};
}
RegisterLoop byteLoop() {
#if defined(__x86_64__)
  if (ops::simdLevel() == ops::SimdLevel::AVX512) return {bytes512, kTurns * 12.0 * 64 * 2};
  if (ops::simdLevel() == ops::SimdLevel::AVX2) return {bytes256, kTurns * 12.0 * 16 * 2};
#endif
  return {bytesPlain, kTurns * 8.0 * 8 * 2};
}

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

// How much all threads together do in a nanosecond, the best of some tries. `make` gives each
// thread what it calls, `amount` is what a call does.
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
    return rateOf(peaks.processors, loop.amount, [&] { return loop.run; });
  };
  peaks.floatFlopPerNs = loopRate(floatLoop());
  peaks.byteOpPerNs = loopRate(byteLoop());
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

}  // namespace halyard::cli
