// Measures the cost of trace marks:
//
//   trace_bench
//
// It prints the nanoseconds of one mark without and with a trace. It prints the number of marks in
// an execution of a small model on the CPU device and on the first driver's. It prints the time of
// an execution without and with a trace. From these it computes the share of the marks in an
// execution without a trace. Drivers are found as in any application (HALYARD_DRIVER_FILES).
#include <android/NeuralNetworks.h>
#include <halyard/halyard.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "trace/recorder.h"

namespace {

using Clock = std::chrono::steady_clock;
using namespace halyard;  // NOLINT(google-build-using-namespace)

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// Nanoseconds of one mark; the least of some rounds.
double markNs() {
  constexpr int kMarks = 20'000;
  double best = 1e18;
  for (int round = 0; round < 50; ++round) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kMarks; ++i) {
      const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::EXECUTION, "mark",
                              {.operation = i});
      asm volatile("" ::: "memory");
    }
    best = std::min(best, since(start) / kMarks);
  }
  return best;
}

double emptyLoopNs() {
  constexpr int kMarks = 20'000;
  double best = 1e18;
  for (int round = 0; round < 50; ++round) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kMarks; ++i) asm volatile("" : : "r"(i) : "memory");
    best = std::min(best, since(start) / kMarks);
  }
  return best;
}

void check(int code, const char* what) {
  if (code == ANEURALNETWORKS_NO_ERROR) return;
  std::fprintf(stderr, "%s: %s\n", what, halyard_lastErrorText());
  std::exit(1);
}

constexpr uint32_t kElements = 64;
constexpr int kOperations = 4;

ANeuralNetworksModel* makeModel() {
  ANeuralNetworksModel* model = nullptr;
  check(ANeuralNetworksModel_create(&model), "create");
  const uint32_t dims[] = {kElements};
  const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, dims, 0, 0};
  for (int i = 0; i <= kOperations; ++i) ANeuralNetworksModel_addOperand(model, &tensor);
  for (uint32_t i = 0; i < kOperations; ++i) {
    const uint32_t out = i + 1;
    ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_RELU, 1, &i, 1, &out);
  }
  const uint32_t first = 0;
  const uint32_t last = kOperations;
  ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &first, 1, &last);
  check(ANeuralNetworksModel_finish(model), "finish");
  return model;
}

void execute(ANeuralNetworksCompilation* compilation) {
  static float in[kElements];
  static float out[kElements];
  ANeuralNetworksExecution* execution = nullptr;
  check(ANeuralNetworksExecution_create(compilation, &execution), "execution");
  ANeuralNetworksExecution_setInput(execution, 0, nullptr, in, sizeof in);
  ANeuralNetworksExecution_setOutput(execution, 0, nullptr, out, sizeof out);
  check(ANeuralNetworksExecution_compute(execution), "compute");
  ANeuralNetworksExecution_free(execution);
}

// The median time of many executions.
double executionNs(ANeuralNetworksCompilation* compilation) {
  std::vector<double> times;
  for (int i = 0; i < 4000; ++i) {
    const Clock::time_point start = Clock::now();
    execute(compilation);
    times.push_back(since(start));
  }
  std::nth_element(times.begin(), times.begin() + 2000, times.end());
  return times[2000];
}

size_t marksOfAnExecution(ANeuralNetworksCompilation* compilation) {
  check(halyard_traceStart(0), "trace");
  execute(compilation);
  check(halyard_traceStop(), "trace");
  char* json = nullptr;
  check(halyard_traceJson(&json), "trace");
  size_t marks = 0;
  for (const char* at = json; (at = std::strstr(at, "\"ph\":\"X\"")) != nullptr; ++at) ++marks;
  halyard_free(json);
  return marks;
}

void measure(const ANeuralNetworksDevice* device, double offNs) {
  const char* name = nullptr;
  ANeuralNetworksDevice_getName(device, &name);
  ANeuralNetworksModel* const model = makeModel();
  ANeuralNetworksCompilation* compilation = nullptr;
  check(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation), "compile");
  check(ANeuralNetworksCompilation_finish(compilation), "compile");
  executionNs(compilation);
  const size_t marks = marksOfAnExecution(compilation);
  const double off = executionNs(compilation);
  check(halyard_traceStart(1 << 20), "trace");
  const double on = executionNs(compilation);
  check(halyard_traceStop(), "trace");
  std::printf("%-20s %3zu marks  off %8.0f ns  on %8.0f ns  marks that nobody looks at: %.2f %%\n",
              name, marks, off, on, 100 * static_cast<double>(marks) * offNs / off);
  ANeuralNetworksCompilation_free(compilation);
  ANeuralNetworksModel_free(model);
}

}  // namespace

int main() {
  const double loop = emptyLoopNs();
  const double off = std::max(0.0, markNs() - loop);
  const auto recorder = trace::Recorder::create(trace::Recorder::kMostCapacity);
  if (!recorder.ok()) return 1;
  trace::setProcessRecorder(recorder->get());
  const double on = markNs() - loop;
  trace::setProcessRecorder(nullptr);
  std::printf("a mark: %.2f ns off, %.0f ns on\n", off, on);
  uint32_t devices = 0;
  check(ANeuralNetworks_getDeviceCount(&devices), "devices");
  for (uint32_t i = 0; i < devices; ++i) {
    ANeuralNetworksDevice* device = nullptr;
    check(ANeuralNetworks_getDevice(i, &device), "device");
    if (i == 0 || i + 1 == devices) measure(device, off);
  }
  return 0;
}
