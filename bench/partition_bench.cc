// Measures the time to divide models of many operations among four devices:
//
//   partition_bench [OPERATIONS]
//
// It prints one line for each shape of model: operations, milliseconds for support, choice and
// plan, and parts. The preparation of the parts does not count: the devices prepare nothing.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "cpu/model_for_test.h"
#include "runtime/partition/partitioner.h"
#include "runtime/partition/plan_builder.h"
#include "runtime/testing/fake_devices_for_test.h"

namespace {

using namespace halyard;           // NOLINT(google-build-using-namespace)
using namespace halyard::runtime;  // NOLINT(google-build-using-namespace)
using cpu::testing::TestModel;
using Clock = std::chrono::steady_clock;

constexpr OperationType kTypes[] = {OperationType::RELU, OperationType::TANH,
                                    OperationType::LOGISTIC, OperationType::ABS,
                                    OperationType::FLOOR};

// Each operation reads one of the last `reach` values.
std::shared_ptr<const Model> makeModel(uint32_t operations, uint32_t reach) {
  std::mt19937 random(1);
  TestModel model;
  const Shape shape = {1, 16, 16, 8};
  std::vector<uint32_t> values = {model.input(shape)};
  for (uint32_t n = 0; n < operations; ++n) {
    const auto count = static_cast<uint32_t>(values.size());
    const uint32_t from = values[count - 1 - random() % std::min(count, reach)];
    const bool isBinary = reach > 1 && random() % 2 == 0;
    const uint32_t other = values[count - 1 - random() % std::min(count, reach)];
    values.push_back(model.temporary(shape));
    if (isBinary) {
      model.add(from, other, values.back());
    } else {
      model.operation(kTypes[random() % std::size(kTypes)], {from}, {values.back()});
    }
  }
  Subgraph& main = model.model().main;
  const std::vector<uint32_t> consumers = countConsumers(main);
  for (const uint32_t value : values) {
    if (consumers[value] != 0 || main.operands[value].lifetime != Lifetime::TEMPORARY_VARIABLE) {
      continue;
    }
    main.operands[value].lifetime = Lifetime::SUBGRAPH_OUTPUT;
    main.outputIndexes.push_back(value);
  }
  return model.share();
}

void measure(const char* name, uint32_t operations, uint32_t reach, const CostSettings& costs) {
  const std::shared_ptr<const Model> model = makeModel(operations, reach);
  runtime::testing::FakeDevices devices;
  for (uint32_t d = 0; d < 3; ++d) {
    runtime::testing::Script& script = devices.add("d" + std::to_string(d), 0.2F + 0.2F * d);
    script.canPrepareAnything = true;
    script.takes = [d](const Model&, const Operation& operation) {
      return static_cast<uint32_t>(operation.type) % 4 != d;
    };
  }
  Report report;
  double best = 1e9;
  size_t parts = 0;
  for (int i = 0; i < 3; ++i) {
    SupportTable support(validated(model).value(), devices.list());
    CostModel model2(*model, support.devices(), hal::ExecutionPreference::FAST_SINGLE_ANSWER,
                     costs);
    const OperationNamer nameOf = [](uint32_t, uint32_t n) { return std::to_string(n); };
    const Clock::time_point start = Clock::now();
    const auto choice = choosePartitions(support, model2, nameOf);
    if (!choice.ok()) std::abort();
    const auto plan = buildPlan(support, model2, **choice, nameOf);
    if (!plan.ok()) std::abort();
    const double elapsed = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    best = std::min(best, elapsed);
    parts = plan->steps.size();
  }
  std::printf("%-28s %6u operations %8.1f ms %5zu parts\n", name, operations, best, parts);
}

}  // namespace

int main(int argc, char** argv) {
  const auto operations = static_cast<uint32_t>(argc > 1 ? std::atoi(argv[1]) : 10000);
  measure("chain, plain rules", operations, 1, runtime::testing::noCosts());
  measure("graph, plain rules", operations, 50, runtime::testing::noCosts());
  for (const double wakeNs : {200.0, 2000.0, 20000.0}) {
    const CostSettings costs = runtime::testing::flatCosts(wakeNs, 0.01);
    const std::string text = "wake " + std::to_string(static_cast<int>(wakeNs)) + " ns";
    measure(("chain, " + text).c_str(), operations, 1, costs);
    measure(("graph, " + text).c_str(), operations, 50, costs);
  }
  return 0;
}
