// Measures the cost of dividing a loop:
//
//   thread_pool_bench
//
// It times loops of several lengths. A hundred of them run in sequence, as the steps of a model do.
// It prints the time of a loop in one thread and in two. It also prints the excess of the second
// time over half of the first one. Figures are medians of many rounds in turns. Each loop reads all
// values of the previous one.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/thread_pool.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLoops = 100;
constexpr int kRounds = 401;
constexpr size_t kItems = 16;  // in a loop
constexpr size_t kLine = 16;   // floats that an item writes

struct Steps {
  std::array<std::array<float, kItems * kLine>, 2> values{};

  // Items [begin, end) of a loop, each with `work` rounds of arithmetic.
  void work(int loop, size_t begin, size_t end, int work) {
    const auto& from = values[loop % 2];
    auto& to = values[(loop + 1) % 2];
    for (size_t item = begin; item < end; ++item) {
      float value = from[(kItems - 1 - item) * kLine];
      for (int i = 0; i < work; ++i) value = value * 0.5f + 1.0f;
      to[item * kLine] = value;
    }
  }
};

// Nanoseconds of one loop.
double timeOf(halyard::ThreadPool* pool, int work) {
  static Steps steps;
  const Clock::time_point start = Clock::now();
  for (int loop = 0; loop < kLoops; ++loop) {
    if (pool == nullptr) {
      steps.work(loop, 0, kItems, work);
      continue;
    }
    pool->parallelFor(kItems, 1,
                      [&](size_t begin, size_t end) { steps.work(loop, begin, end, work); });
  }
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kLoops;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

}  // namespace

int main() {
  halyard::ThreadPool pool(2, halyard::ThreadClass::NORMAL, std::chrono::microseconds(50));
  std::printf("%12s %12s %12s %12s\n", "work", "1 thread ns", "2 threads ns", "lost ns");
  for (int work : {0, 10, 30, 100, 300, 1000}) {
    std::vector<double> one;
    std::vector<double> two;
    for (int round = 0; round < kRounds; ++round) {
      one.push_back(timeOf(nullptr, work));
      two.push_back(timeOf(&pool, work));
    }
    const double alone = median(std::move(one));
    const double divided = median(std::move(two));
    std::printf("%12d %12.0f %12.0f %12.0f\n", work, alone, divided, divided - alone / 2);
  }
}
