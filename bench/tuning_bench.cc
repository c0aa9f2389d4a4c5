// What measuring gains: models compiled by the CPU driver for a fast single answer and for
// sustained speed, for which it measures, executed by turns in this process with 1 and with 2
// threads:
//
//   tuning_bench MODEL...
//
// names models as cpu_bench does. Medians; how many steps are computed in another way, by how many
// executions that was found out, and what compiling has taken with them.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/bench_models.h"
#include "cpu_driver.h"

namespace {

using namespace halyard;  // NOLINT(google-build-using-namespace)
using bench::Buffers;
using Clock = std::chrono::steady_clock;

double seconds(Clock::duration elapsed) { return std::chrono::duration<double>(elapsed).count(); }

// Medians in ms of executions by turns.
std::array<double, 2> timeByTurns(std::array<std::shared_ptr<hal::PreparedModel>, 2>& prepared,
                                  const Model& model) {
  constexpr double kSeconds = 1.5;
  const Buffers buffers(model);
  std::array<std::unique_ptr<hal::ReusableExecution>, 2> executions;
  for (size_t i = 0; i < 2; ++i) {
    auto made = prepared[i]->createReusableExecution(buffers.request);
    if (!made.ok()) return {};
    executions[i] = std::move(*made);
  }
  std::array<std::vector<double>, 2> times;
  const Clock::time_point begin = Clock::now();
  while (times[0].size() < 9 || seconds(Clock::now() - begin) < kSeconds) {
    for (size_t i = 0; i < 2; ++i) {
      // The first one brings back what the other has driven from the caches.
      for (int execution = 0; execution < 4; ++execution) {
        const Clock::time_point start = Clock::now();
        (void)executions[i]->compute({});
        if (execution > 0) times[i].push_back(seconds(Clock::now() - start) * 1e3);
      }
    }
  }
  std::array<double, 2> medians{};
  for (size_t i = 0; i < 2; ++i) {
    std::ranges::sort(times[i]);
    medians[i] = times[i][times[i].size() / 2];
  }
  return medians;
}

void benchTuned(const std::string& name, const std::shared_ptr<const Model>& model,
                unsigned threads) {
  cpudriver::Tuning tuning;
  const std::string arguments[] = {fmt::format("--threads={}", threads), "--no-cache"};
  const auto driver = cpudriver::makeWatchedCpuDriver(
      arguments, [&](const cpudriver::Tuning& made) { tuning = made; });
  std::array<std::shared_ptr<hal::PreparedModel>, 2> prepared;
  double milliseconds = 0;
  for (const bool tuned : {false, true}) {
    hal::PrepareOptions options;
    if (tuned) options.preference = hal::ExecutionPreference::SUSTAINED_SPEED;
    const Clock::time_point start = Clock::now();
    auto made = (*driver)->prepareModel(model, options);
    if (!made.ok()) return (void)std::printf("%s\n", made.status().toString().c_str());
    milliseconds = seconds(Clock::now() - start) * 1e3;
    prepared[tuned ? 1 : 0] = std::move(*made);
  }
  const auto [usual, tuned] = timeByTurns(prepared, *model);
  std::printf("%-36s %u  %9.3f %9.3f %6.1f %%  %3zu of %3zu steps  %4zu executions, %6.1f ms\n",
              name.c_str(), threads, usual, tuned, 100 * tuned / usual, tuning.changed(),
              tuning.steps.size(), tuning.runs, milliseconds);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("%-36s threads  usual    tuned ms\n", "model");
  for (int i = 1; i < argc; ++i) {
    const auto model = bench::findModel(argv[i]);
    if (!model.ok()) {
      std::printf("%s\n", model.status().toString().c_str());
      continue;
    }
    for (const unsigned threads : {1u, 2u}) {
      benchTuned(std::filesystem::path(argv[i]).filename(), *model, threads);
    }
  }
  return 0;
}
