// Random models over random sets of driver processes, computed in all ways of the API. The results
// equal the CPU device's, within the tolerances of the conformance kits.
//
//   HALYARD_RANDOM_MODELS=10000        the number of models; a few by default
//   HALYARD_RANDOM_MODEL=4711          this model only; a failure prints its number
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <thread>

#include "conformance/vectors.h"
#include "halyard/driver/sync_fence.h"
#include "random_models/built_model.h"
#include "random_models/random_drivers.h"
#include "random_models/random_model.h"
#include "runtime/compile/compilation.h"
#include "runtime/execute/burst.h"
#include "runtime/execute/execution.h"
#include "test_definitions.h"

namespace halyard::runtime::random_models {
namespace {

using Direction = Execution::Direction;
using conformance::ActualOutput;

uint32_t numberFrom(const char* variable, uint32_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

struct Figures {
  size_t models = 0;
  size_t divided = 0;      // models of more than one partition
  size_t crossDriver = 0;  // with partitions on more than one driver
  size_t partitions = 0;
  size_t operations = 0;
  size_t open = 0;
  size_t refusedByRule = 0;  // models with unknown sizes
  size_t controlFlow = 0;
  size_t executions = 0;
  size_t identical = 0;  // outputs that equal the CPU device's bit for bit
  size_t outputs = 0;
  std::map<std::string, size_t> events;
};

class RandomModels : public ::testing::Test {
 protected:
  RandomModels() {
    ::setenv("HALYARD_LOG", "quiet", 1);
    ::setenv("HALYARD_DRIVER_ANSWER_TIMEOUT_MS", "20000", 1);
  }
  ~RandomModels() override { ::unsetenv("HALYARD_PARTITION_OVERHEAD"); }

  // Null for a failure. `mayRefuse`: the plain rules of NNAPI divide a model of unknown sizes. They
  // let a device before HAL 1.2 give another such a value, and then end with an error.
  std::unique_ptr<Compilation> compile(const BuiltModel& model, std::vector<const Device*> devices,
                                       bool mayRefuse) {
    auto compilation = Compilation::create(model.main(), std::move(devices), false).value();
    const Status status = compilation->finish();
    if (mayRefuse && status.message().find("gives a value of unknown size to another, which needs "
                                           "HAL 1.2") != std::string::npos) {
      ++figures_.refusedByRule;
      return nullptr;
    }
    EXPECT_TRUE(status.ok()) << status.toString();
    return status.ok() ? std::move(compilation) : nullptr;
  }

  // Pointers for all arguments of an execution.
  struct Arguments {
    std::vector<std::vector<uint8_t>> inputs;
    std::vector<std::vector<uint8_t>> outputs;
  };
  static Arguments newArguments(const RandomModel& made) {
    Arguments arguments;
    for (const Tensor& input : made.inputs) arguments.inputs.push_back(input.bytes);
    for (size_t i = 0; i < made.outputs.size(); ++i) {
      const Operand& operand = outputOf(made, i);
      const uint32_t bytes = realByteSize(operand.type, made.outputs[i].dims).value();
      arguments.outputs.emplace_back(bytes, uint8_t{0xC3});
    }
    return arguments;
  }
  static const Operand& outputOf(const RandomModel& made, size_t i) {
    return made.model.main.operands[made.model.main.outputIndexes[i]];
  }

  static Status setArguments(const RandomModel& made, Arguments& arguments, Execution& execution) {
    for (uint32_t i = 0; i < made.inputs.size(); ++i) {
      const Operand& operand = made.model.main.operands[made.model.main.inputIndexes[i]];
      const ArgumentType type = {operand.type, made.inputs[i].dims, operand.scale,
                                 operand.zeroPoint};
      HALYARD_RETURN_IF_ERROR(
          execution.setArgument(Direction::INPUT, i, &type, arguments.inputs[i].data(),
                                arguments.inputs[i].size()),
          "input {}", i);
    }
    for (uint32_t i = 0; i < made.outputs.size(); ++i) {
      HALYARD_RETURN_IF_ERROR(
          execution.setArgument(Direction::OUTPUT, i, nullptr, arguments.outputs[i].data(),
                                arguments.outputs[i].size()),
          "output {}", i);
    }
    return okStatus();
  }

  // Executes in one of the ways.
  static Status run(const RandomModel& made, const Compilation& compilation, uint32_t way,
                    Arguments& arguments, std::vector<Shape>* shapes) {
    Execution execution(compilation);
    HALYARD_RETURN_IF_ERROR(setArguments(made, arguments, execution));
    HALYARD_RETURN_IF_ERROR(runOnce(made, compilation, way, execution));
    for (uint32_t i = 0; i < made.outputs.size(); ++i) {
      HALYARD_RETURN_IF_ERROR(execution.outputDimensions(i, &shapes->emplace_back()));
    }
    return okStatus();
  }
  static Status runOnce(const RandomModel& made, const Compilation& compilation, uint32_t way,
                        Execution& execution) {
    switch (way) {
      case 0: {
        Burst burst(compilation);
        HALYARD_RETURN_IF_ERROR(execution.setReusable(true));
        HALYARD_RETURN_IF_ERROR(execution.computeIn(burst));
        return execution.computeIn(burst);
      }
      case 1: {
        HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Event> event, execution.startCompute());
        return event->wait();
      }
      case 2: {
        // Fenced executions need outputs of known size.
        if (made.isOpen) return execution.compute();
        HALYARD_ASSIGN_OR_RETURN(NewFence fence, createFence());
        HALYARD_ASSIGN_OR_RETURN(const auto before, Event::fromFence(fence.fence.get()));
        Event* const dependencies[] = {before.get()};
        // Without fences of the device, the call waits.
        std::jthread signalling([&] { fence.signaller.signal(); });
        auto event = execution.startComputeWithDependencies(dependencies, 0);
        return event.ok() ? (*event)->wait() : event.takeStatus();
      }
      default:
        return execution.compute();
    }
  }

  void expectSameAs(const RandomModel& made, const Arguments& expected,
                    const std::vector<Shape>& expectedShapes, const Arguments& actual,
                    const std::vector<Shape>& actualShapes) {
    conformance::VectorCase right;
    right.model = made.model;
    right.relaxed = made.model.relaxComputationFloat32toFloat16;
    std::vector<ActualOutput> outputs;
    for (size_t i = 0; i < made.outputs.size(); ++i) {
      right.outputs.push_back({expected.outputs[i], expectedShapes[i], false});
      outputs.push_back({actual.outputs[i], actualShapes[i]});
      ++figures_.outputs;
      if (expected.outputs[i] == actual.outputs[i]) ++figures_.identical;
    }
    const Status status = conformance::compare(right, outputs);
    EXPECT_TRUE(status.ok()) << status.toString();
  }

  void count(const RandomModel& made, const Compilation& compilation) {
    const Plan& plan = compilation.plan();
    ++figures_.models;
    figures_.operations += made.model.main.operations.size();
    figures_.partitions += plan.steps.size();
    std::set<const Device*> drivers;
    for (const ComputeStep& step : plan.steps) {
      if (!step.device->isCpu()) drivers.insert(step.device);
    }
    if (plan.steps.size() > 1) ++figures_.divided;
    if (drivers.size() > 1) ++figures_.crossDriver;
    if (made.isOpen) ++figures_.open;
    if (!made.model.referenced.empty()) ++figures_.controlFlow;
    for (const ReportEvent& event : compilation.report()->events()) {
      figures_.events[std::string(reportEventKindName(event.kind))] += event.count;
    }
  }

  void check(uint32_t seed) {
    const RandomModel made = randomModel(seed);
    std::mt19937 random(seed * 69069U + 11);
    const std::vector<const Device*> devices = drivers_.take(random);
    // The plain rule gives many small partitions, the predicted cost gives few.
    const bool isPlain = random() % 4 != 0;
    ::setenv("HALYARD_PARTITION_OVERHEAD", isPlain ? "off" : "on", 1);
    const BuiltModel model(made.model, drivers_.extensions());
    ASSERT_TRUE(model.status().ok()) << model.status().toString();
    const auto alone = compile(model, {&drivers_.cpu()}, false);
    ASSERT_NE(alone, nullptr);
    Arguments expected = newArguments(made);
    std::vector<Shape> expectedShapes;
    const Status right = run(made, *alone, 3, expected, &expectedShapes);
    ASSERT_TRUE(right.ok()) << right.toString();
    const size_t refused = figures_.refusedByRule;
    const auto compilation = compile(model, devices, isPlain && made.isOpen);
    if (figures_.refusedByRule != refused) return;
    ASSERT_NE(compilation, nullptr);
    const auto first = static_cast<uint32_t>(random() % 4);
    for (const uint32_t way : {first, (first + 1) % 4}) {
      SCOPED_TRACE(fmt::format("way {}", way));
      Arguments actual = newArguments(made);
      std::vector<Shape> actualShapes;
      const Status status = run(made, *compilation, way, actual, &actualShapes);
      ASSERT_TRUE(status.ok()) << status.toString();
      ++figures_.executions;
      expectSameAs(made, expected, expectedShapes, actual, actualShapes);
    }
    count(made, *compilation);
  }

  static int failureCount() {
    return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
  }

  void print() const {
    std::string events;
    for (const auto& [kind, number] : figures_.events)
      events += fmt::format(", {} {}", kind, number);
    fmt::print(
        "{} models with {} operations over {} drivers: {} of several partitions, {} on several "
        "drivers, {} partitions in all, {} with unknown dimensions ({} more refused by rule), {} "
        "with "
        "control flow; {} executions, {} outputs, {} of them identical{}\n",
        figures_.models, figures_.operations, drivers_.started(), figures_.divided,
        figures_.crossDriver, figures_.partitions, figures_.open, figures_.refusedByRule,
        figures_.controlFlow, figures_.executions, figures_.outputs, figures_.identical, events);
    std::fflush(stdout);
  }

  RandomDrivers drivers_{REFERENCE_DRIVER};
  Figures figures_;
};

TEST_F(RandomModels, AreRightWhoeverComputesThem) {
  const uint32_t only = numberFrom("HALYARD_RANDOM_MODEL", UINT32_MAX);
  const uint32_t count = only == UINT32_MAX ? numberFrom("HALYARD_RANDOM_MODELS", 60) : 1;
  int failures = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t seed = only == UINT32_MAX ? i : only;
    SCOPED_TRACE(fmt::format("repeat with HALYARD_RANDOM_MODEL={} random_models_test", seed));
    const int before = failureCount();
    check(seed);
    if (failureCount() != before) ++failures;
    if ((i + 1) % 1000 == 0) print();
    // Mistakes occur in groups; a hundred failures tell no more than ten.
    ASSERT_LT(failures, 10);
  }
  print();
  // The test is useful only if these counts are high.
  if (only != UINT32_MAX) return;
  EXPECT_GE(figures_.divided * 2, figures_.models);
  EXPECT_GE(figures_.crossDriver * 4, figures_.models);
  EXPECT_GT(figures_.controlFlow, 0u);
  EXPECT_GT(figures_.open, 0u);
}

}  // namespace
}  // namespace halyard::runtime::random_models
