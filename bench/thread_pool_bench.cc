// What dividing a loop costs:
//
//   thread_pool_bench
//
// prints for loops of some lengths, a hundred of them one behind the other as the steps of a model
// are, how long one takes in one thread, divided among two, and how much more that is than half;
// the medians of many rounds in turns. Each loop reads what all of the last one have written.
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
constexpr size_t kItems = 16;  // of a loop
constexpr size_t kLine = 16;   // floats that an item writes

struct Steps {
  std::array<std::array<float, kItems * kLine>, 2> values{};

  // Items [begin, end) of a loop, `work` rounds of arithmetic each.
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
