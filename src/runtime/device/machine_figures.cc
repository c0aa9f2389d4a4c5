// Measures the machine.
#include "runtime/device/machine_figures.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "base/process_generation.h"
#include "ops/gemm.h"
#include "ops/inline_services.h"

namespace halyard::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kRounds = 25;
// About the size of tensors between devices. A larger size would raise the process's peak of
// memory.
constexpr size_t kCopiedBytes = size_t{512} << 10;
constexpr size_t kRepetitions = 3;
// The figure of a usual machine, if nothing could be measured.
constexpr double kUsualWakeNs = 20000;
// The relative speed that each additional thread adds.
constexpr double kParallelEfficiency = 0.8;

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

void sleepWhile(std::atomic<uint32_t>& word, uint32_t value) {
  while (word.load(std::memory_order_acquire) == value) {
    ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
  }
}

void wake(std::atomic<uint32_t>& word, uint32_t value) {
  word.store(value, std::memory_order_release);
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

double measureWake() {
  std::atomic<uint32_t> question{0};
  std::atomic<uint32_t> answer{0};
  std::vector<double> rounds;
  try {
    std::jthread other([&] {
      for (uint32_t round = 1; round <= kRounds; ++round) {
        sleepWhile(question, round - 1);
        wake(answer, round);
      }
    });
    for (uint32_t round = 1; round <= kRounds; ++round) {
      const Clock::time_point start = Clock::now();
      wake(question, round);
      sleepWhile(answer, round - 1);
      rounds.push_back(since(start));
    }
  } catch (const std::system_error&) {
    return kUsualWakeNs;
  }
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  return rounds[kRounds / 2];
}

double measureCopy() {
  const auto from = std::make_unique<char[]>(kCopiedBytes);
  const auto to = std::make_unique<char[]>(kCopiedBytes);
  std::memset(from.get(), 1, kCopiedBytes);
  std::memset(to.get(), 2, kCopiedBytes);
  double best = 1e18;
  for (size_t i = 0; i < kRepetitions; ++i) {
    const Clock::time_point start = Clock::now();
    std::memcpy(to.get(), from.get(), kCopiedBytes);
    // The statement keeps the compiler from removing the copy.
    asm volatile("" : : "r"(to.get()) : "memory");
    best = std::min(best, since(start));
  }
  return best / static_cast<double>(kCopiedBytes);
}

double measureProducts() {
  constexpr size_t kSide = 96;
  const std::vector<float> left(kSide * kSide, 1.5F);
  const std::vector<float> right(kSide * kSide, 0.5F);
  std::vector<float> sums(kSide, 0);
  ops::GemmProblem<float> problem{
      kSide,
      kSide,
      kSide,
      [&](size_t begin, size_t, float*) { return left.data() + begin * kSide; },
      [&](size_t column, float*) { return right.data() + column * kSide; },
      [&](const ops::GemmTile<float>& tile) { sums[tile.rowBegin] += tile.sums[0]; }};
  double best = 1e18;
  for (size_t i = 0; i < kRepetitions; ++i) {
    ops::InlineServices services;
    const Clock::time_point start = Clock::now();
    ops::gemm(services, problem);
    best = std::min(best, since(start));
  }
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  return static_cast<double>(kSide * kSide * kSide) / std::max(1.0, best) *
         (1 + kParallelEfficiency * (processors - 1));
}

}  // namespace

const MachineFigures& machineFigures() {
  // One thread measures, because two at once would disturb each other.
  static constinit PerProcess<MachineFigures> figures;
  return figures.get([] {
    return std::make_unique<MachineFigures>(
        MachineFigures{measureWake(), measureCopy(), measureProducts()});
  });
}

}  // namespace halyard::runtime
