// Measures models on the Vulkan driver, in this process:
//
//   vulkan_bench MODEL...
//
// A model is a .tflite file or a built-in one, as for cpu_bench. For each model: the milliseconds
// of preparing, the median and the best of the executions, and the time of processors for each,
// which other processes disturb less. Devices that compute on the processor count.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/bench_models.h"
#include "vulkan_driver.h"

namespace {

using namespace halyard;  // NOLINT(google-build-using-namespace)
using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

double processorMilliseconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Status measure(hal::Device& device, const std::string& name) {
  constexpr double kBudget = 2000;
  HALYARD_ASSIGN_OR_RETURN(const auto found, bench::findModel(name));
  HALYARD_ASSIGN_OR_RETURN(const ValidModel model, validated(*found));
  const Clock::time_point begin = Clock::now();
  HALYARD_ASSIGN_OR_RETURN(const auto prepared, device.prepareModel(model, {}));
  bench::Buffers buffers(*model);
  std::vector<double> times;
  std::vector<double> processor;
  double first = 0;
  const Clock::time_point start = Clock::now();
  while (times.size() < 5 || milliseconds(start) < kBudget) {
    const Clock::time_point one = Clock::now();
    const double before = processorMilliseconds();
    const auto result = prepared->executeSynchronously(buffers.request, {});
    HALYARD_RETURN_IF_ERROR(Status(result.status));
    if (first == 0) first = milliseconds(begin);
    times.push_back(milliseconds(one));
    processor.push_back(processorMilliseconds() - before);
  }
  const double middle = median(times);
  std::printf("%-60s first %7.0f  median %8.3f  best %8.3f  processors %8.3f ms\n", name.c_str(),
              first, middle, times.front(), *std::min_element(processor.begin(), processor.end()));
  return okStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string arguments[] = {"--software"};
  const auto device = vulkandriver::makeVulkanDriver(arguments);
  if (!device.ok()) {
    std::fprintf(stderr, "%s\n", device.status().toString().c_str());
    return 1;
  }
  for (int i = 1; i < argc; ++i) {
    const Status status = measure(**device, argv[i]);
    if (!status.ok()) std::fprintf(stderr, "%s: %s\n", argv[i], status.toString().c_str());
  }
  return 0;
}
