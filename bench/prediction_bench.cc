// Compares the predicted times of models with the measured ones:
//
//   prediction_bench MODEL.tflite...
//
// It runs each model as a whole on each device that supports it. It prints predicted and measured
// time, the best of some. Then it runs once more with the corrected predictions.
// HALYARD_DRIVER_FILES and the other variables set the drivers.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <vector>

#include "import/tflite/importer.h"
#include "runtime/compile/preparation.h"
#include "runtime/device/machine_figures.h"

namespace {

using namespace halyard;           // NOLINT(google-build-using-namespace)
using namespace halyard::runtime;  // NOLINT(google-build-using-namespace)
using Clock = std::chrono::steady_clock;

constexpr size_t kMostRuns = 50;
constexpr double kMostNs = 3e8;  // limit for one model on one device

double medianOf(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// The best time of some executions of a simple plan; 0 when one fails.
double measure(const Plan& plan, Report* report) {
  const ComputeStep& step = plan.steps[0];
  std::vector<std::vector<uint8_t>> memory;
  hal::Request request;
  const auto add = [&](const std::vector<uint32_t>& indexes,
                       std::vector<hal::RequestArgument>* arguments) {
    for (const uint32_t index : indexes) {
      const Operand& operand = step.model->main.operands[index];
      memory.emplace_back(knownByteSize(operand.type, operand.dimensions).value_or(4096));
      hal::RequestArgument argument;
      argument.kind = hal::RequestArgument::Kind::POINTER;
      argument.pointer = memory.back().data();
      argument.length = static_cast<uint32_t>(memory.back().size());
      arguments->push_back(argument);
    }
  };
  add(step.model->main.inputIndexes, &request.inputs);
  add(step.model->main.outputIndexes, &request.outputs);
  auto burst = step.prepared->configureBurst();
  std::vector<double> times;
  double sum = 0;
  while (times.size() < kMostRuns && sum < kMostNs) {
    const Clock::time_point start = Clock::now();
    const hal::ExecutionResult result = burst.ok()
                                            ? (*burst)->execute(request, {})
                                            : step.prepared->executeSynchronously(request, {});
    const double time = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    if (!result.status.ok()) {
      std::printf("  %s\n", result.status.toString().c_str());
      return 0;
    }
    report->addMeasurement(0, time, 0);
    times.push_back(time);
    sum += time;
  }
  return *std::min_element(times.begin(), times.end());
}

}  // namespace

int main(int argc, char** argv) {
  const auto devices = DeviceManager::create("");
  const MachineFigures& machine = machineFigures();
  std::printf("wake %.1f us, copy %.2f GB/s, %.1f products/ns\n\n", machine.wakeNs / 1000,
              1 / machine.nsPerByte, machine.productsPerNs);
  for (const char* pass : {"at first", "learned"}) {
    std::vector<double> errors;
    std::printf("%-46s %-18s %12s %12s\n", pass, "device", "predicted us", "measured us");
    for (int i = 1; i < argc; ++i) {
      auto imported = import::importTfliteFile(argv[i]);
      if (!imported.ok()) continue;
      const auto model = std::make_shared<const Model>(std::move(imported->model));
      std::vector<uint32_t> order(model->main.operations.size());
      std::iota(order.begin(), order.end(), 0u);
      for (const Device& device : devices->devices()) {
        PreparationOptions options;
        options.explicitDevices = true;
        options.costs = CostSettings::ofThisMachine();
        Report report;
        const auto plan = preparePlan(validated(model).value(), order, {&device}, options, &report);
        if (!plan.ok()) continue;
        const double predicted = report.partitions()[0].predicted.total();
        const double measured = measure(**plan, &report);
        if (measured == 0) continue;
        errors.push_back(std::abs(predicted - measured) / measured);
        std::printf("%-46s %-18s %12.1f %12.1f\n",
                    std::filesystem::path(argv[i]).filename().c_str(), device.name().c_str(),
                    predicted / 1000, measured / 1000);
      }
    }
    if (errors.empty()) return 1;
    const double sum = std::accumulate(errors.begin(), errors.end(), 0.0);
    std::printf("mean absolute error %.0f %%, median %.0f %%\n\n",
                100 * sum / static_cast<double>(errors.size()), 100 * medianOf(errors));
  }
  return 0;
}
