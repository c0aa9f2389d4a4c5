// The scenarios of this folder, each with driver processes of its own. The test checks the plan in
// the report, the events and the reasons. The results must equal the CPU device's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <random>
#include <sstream>

#include "driver_processes_for_test.h"
#include "model/validation/validation.h"
#include "partition_scenarios/scenario.h"
#include "runtime/run/plan_runner.h"
#include "test_definitions.h"

namespace halyard::runtime::scenarios {
namespace {

using ::testing::HasSubstr;

std::vector<Scenario> allScenarios() {
  std::vector<Scenario> all;
  for (auto* const table : {choiceScenarios, linkScenarios, supportScenarios, borderScenarios,
                            controlFlowScenarios, failureScenarios, ruleScenarios}) {
    for (Scenario& each : table()) all.push_back(std::move(each));
  }
  return all;
}

std::string partitionsText(const Report& report) {
  std::string text;
  for (const PartitionReport& partition : report.partitions()) {
    constexpr std::string_view kWord = "operation ";
    std::string what = fmt::format("{}", fmt::join(partition.operations, ","));
    if (!partition.within.empty()) {
      what = partition.within;
      for (size_t at = what.find(kWord); at != std::string::npos; at = what.find(kWord)) {
        what.erase(at, kWord.size());
      }
    }
    text += fmt::format("{}{}{{{}}}", text.empty() ? "" : " ", partition.device, what);
  }
  return text;
}

std::vector<std::string> eventsOf(const Report& report) {
  std::vector<std::string> events;
  for (const ReportEvent& event : report.events()) {
    std::string text = std::string(reportEventKindName(event.kind));
    if (!event.device.empty()) text += " " + event.device;
    if (!event.target.empty() && event.target != event.device) text += " -> " + event.target;
    if (event.count > 1) text += fmt::format(" x{}", event.count);
    events.push_back(std::move(text));
  }
  return events;
}

// The checks of every report, independent of the scenario.
void expectComplete(const Report& report, size_t operations, size_t devices) {
  const std::vector<OperationReport> all = report.operations();
  const std::vector<PartitionReport> partitions = report.partitions();
  ASSERT_EQ(all.size(), operations);
  for (const OperationReport& operation : all) {
    EXPECT_FALSE(operation.device.empty()) << operation.index;
    EXPECT_EQ(operation.others.size() + 1, devices) << operation.index;
    for (const OperationReport::RejectedDevice& other : operation.others) {
      EXPECT_FALSE(other.reason.empty()) << operation.index << " on " << other.device;
    }
    if (operation.interpreted) continue;
    ASSERT_GE(operation.partition, 0);
    ASSERT_LT(static_cast<size_t>(operation.partition), partitions.size());
    const PartitionReport& partition = partitions[static_cast<size_t>(operation.partition)];
    EXPECT_EQ(partition.device, operation.device);
    EXPECT_THAT(partition.operations, ::testing::Contains(operation.index));
  }
}

class PartitionScenario : public ::testing::TestWithParam<Scenario> {
 protected:
  PartitionScenario() {
    ::setenv("HALYARD_LOG", "quiet", 1);
    ::setenv("HALYARD_DRIVER_ANSWER_TIMEOUT_MS", "2000", 1);
    if (!GetParam().strict.empty()) {
      ::setenv("HALYARD_REQUIRE_DEVICE", GetParam().strict.c_str(), 1);
    }
    for (const ScenarioDriver& driver : GetParam().drivers) {
      drivers_.add(driver.name, driver.personality, driver.version);
    }
    model_ = GetParam().model().share();
    for (uint32_t i = 0; i < model_->main.operations.size(); ++i) order_.push_back(i);
  }
  ~PartitionScenario() override { ::unsetenv("HALYARD_REQUIRE_DEVICE"); }

  std::vector<const Device*> devices() {
    std::vector<const Device*> list;
    for (const Device* device : drivers_.all()) {
      const std::vector<std::string>& named = GetParam().named;
      const bool isNamed = std::find(named.begin(), named.end(), device->name()) != named.end();
      if (named.empty() || isNamed) list.push_back(device);
    }
    return list;
  }

  PreparationOptions options() const {
    PreparationOptions options;
    options.explicitDevices = !GetParam().named.empty();
    options.mode = GetParam().mode;
    options.prepare.preference = GetParam().preference;
    options.costs.boundaries = GetParam().flatCosts;
    options.costs.learns = !GetParam().planAgain.empty();
    options.costs.cpu = {1e12, 1e12, 1e12, 1000};
    options.costs.link = [this](const Device& device) {
      for (const ScenarioDriver& driver : GetParam().drivers) {
        if (driver.name == device.name()) return driver.link;
      }
      return LinkCosts();
    };
    return options;
  }

  // Arguments for one run: small numbers, and TENSOR_BOOL8 that depends on the run's number.
  struct Arguments {
    std::vector<std::vector<uint8_t>> inputs;
    std::vector<std::vector<uint8_t>> outputs;
    hal::Request request;
  };
  Arguments arguments(unsigned run) const {
    Arguments result;
    std::mt19937 random(run);
    const Subgraph& main = model_->main;
    result.inputs.reserve(main.inputIndexes.size());
    result.outputs.reserve(main.outputIndexes.size());
    for (const uint32_t index : main.inputIndexes) {
      const Operand& operand = main.operands[index];
      Shape shape = operand.dimensions;
      for (uint32_t& dimension : shape) dimension = dimension == 0 ? 4 : dimension;
      const uint32_t bytes = realByteSize(operand.type, shape).value();
      result.inputs.push_back(valuesOf(operand.type, bytes, run, random));
      result.request.inputs.push_back(argument(result.inputs.back(), std::move(shape)));
    }
    for (const uint32_t index : main.outputIndexes) {
      const Operand& operand = main.operands[index];
      const uint32_t bytes = knownByteSize(operand.type, operand.dimensions).value_or(1024);
      result.outputs.emplace_back(bytes, uint8_t{0xEE});
      result.request.outputs.push_back(argument(result.outputs.back(), {}));
    }
    return result;
  }
  static std::vector<uint8_t> valuesOf(OperandType type, uint32_t bytes, unsigned run,
                                       std::mt19937& random) {
    std::vector<uint8_t> values(bytes);
    const auto put = [&](size_t i, auto value) {
      std::memcpy(values.data() + i * sizeof(value), &value, sizeof(value));
    };
    for (size_t i = 0; i < bytes / elementSize(type); ++i) {
      const auto small = static_cast<int32_t>(random() % 7) - 3;
      if (type == OperandType::TENSOR_FLOAT32) {
        put(i, static_cast<float>(small) * 0.5F);
      } else if (type == OperandType::TENSOR_INT32) {
        put(i, small);
      } else if (type == OperandType::TENSOR_BOOL8) {
        values[i] = run % 2;
      } else {
        values[i] = static_cast<uint8_t>(random());
      }
    }
    return values;
  }
  static hal::RequestArgument argument(std::vector<uint8_t>& bytes, Shape shape) {
    hal::RequestArgument argument;
    argument.kind = hal::RequestArgument::Kind::POINTER;
    argument.pointer = bytes.data();
    argument.length = static_cast<uint32_t>(bytes.size());
    argument.dimensions = std::move(shape);
    return argument;
  }

  // The shapes that a result has reported, or else those of the model.
  std::vector<Shape> shapesOf(const hal::ExecutionResult& result) const {
    std::vector<Shape> shapes;
    for (size_t i = 0; i < model_->main.outputIndexes.size(); ++i) {
      shapes.push_back(i < result.outputShapes.size()
                           ? result.outputShapes[i].dimensions
                           : model_->main.operands[model_->main.outputIndexes[i]].dimensions);
    }
    return shapes;
  }

  void expectSameAsOnCpu(PlanRunner& runner, unsigned run) {
    SCOPED_TRACE(fmt::format("run {}", run));
    std::optional<PlanBurst> burst;
    if (run == 2) burst.emplace(runner);
    Arguments actual = arguments(run);
    const MemoryArguments none;
    const hal::ExecutionResult result =
        runner.run({actual.request, none}, {}, burst ? &*burst : nullptr);
    if (!GetParam().runError.empty()) {
      ASSERT_FALSE(result.status.ok());
      EXPECT_THAT(result.status.toString(), HasSubstr(GetParam().runError));
      return;
    }
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    Arguments expected = arguments(run);
    auto prepared = drivers_.manager().cpu().hal().prepareModel(validated(model_).value(), {});
    ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
    const hal::ExecutionResult right = (*prepared)->executeSynchronously(expected.request, {});
    ASSERT_TRUE(right.status.ok()) << right.status.toString();
    EXPECT_EQ(shapesOf(result), shapesOf(right));
    for (size_t i = 0; i < expected.outputs.size(); ++i) {
      const Operand& operand = model_->main.operands[model_->main.outputIndexes[i]];
      const size_t bytes = realByteSize(operand.type, shapesOf(right)[i]).value();
      actual.outputs[i].resize(bytes);
      expected.outputs[i].resize(bytes);
      EXPECT_EQ(actual.outputs[i], expected.outputs[i]) << "output " << i;
    }
  }

  ::halyard::runtime::testing::DriverProcesses drivers_{REFERENCE_DRIVER};
  std::shared_ptr<const Model> model_;
  std::vector<uint32_t> order_;
  const std::shared_ptr<Report> report_ = std::make_shared<Report>();
};

TEST_P(PartitionScenario, IsAsExpected) {
  const Result<FeatureLevel> valid = validateModel(*model_);
  ASSERT_TRUE(valid.ok()) << valid.status().toString();
  const auto plan =
      preparePlan(validated(model_).value(), order_, devices(), options(), report_.get());
  if (GetParam().plan.empty()) {
    ASSERT_FALSE(plan.ok()) << partitionsText(*report_);
    EXPECT_THAT(plan.status().toString(), HasSubstr(GetParam().error));
    EXPECT_EQ(eventsOf(*report_), GetParam().events);
    return;
  }
  ASSERT_TRUE(plan.ok()) << plan.status().toString();
  EXPECT_EQ(partitionsText(*report_), GetParam().plan);
  expectComplete(*report_, model_->main.operations.size(), devices().size());
  const std::vector<OperationReport> operations = report_->operations();
  for (const Scenario::RejectedDevice& why : GetParam().why) {
    bool found = false;
    for (const auto& other : operations.at(why.operation).others) {
      if (other.device != why.device) continue;
      EXPECT_THAT(other.reason, HasSubstr(why.text));
      found = true;
    }
    EXPECT_TRUE(found) << "nothing of operation " << why.operation << " on " << why.device;
  }
  PlanContext context(validated(model_).value());
  context.applicationOrder = order_;
  context.devices = devices();
  context.mayRecover = GetParam().named.empty() && GetParam().mode == PartitionMode::WITH_FALLBACK;
  context.report = report_;
  PlanRunner runner(*plan, std::move(context));
  for (unsigned run = 0; run < GetParam().runs; ++run) expectSameAsOnCpu(runner, run);
  EXPECT_EQ(eventsOf(*report_), GetParam().events);
  if (GetParam().planAgain.empty()) return;
  Report again;
  const auto second = preparePlan(validated(model_).value(), order_, devices(), options(), &again);
  ASSERT_TRUE(second.ok()) << second.status().toString();
  EXPECT_EQ(partitionsText(again), GetParam().planAgain);
}

INSTANTIATE_TEST_SUITE_P(All, PartitionScenario, ::testing::ValuesIn(allScenarios()),
                         [](const auto& scenario) { return scenario.param.name; });

// The documented scenarios equal the tested ones.
TEST(PartitionScenarios, AreThoseOfThePage) {
  std::ifstream file(HALYARD_SOURCE_DIR "/docs/partition_scenarios.md");
  std::stringstream page;
  page << file.rdbuf();
  std::string table;
  for (const Scenario& scenario : allScenarios()) {
    std::string outcome = scenario.plan.empty() ? "error" : "`" + scenario.plan + "`";
    if (!scenario.planAgain.empty()) outcome += ", then `" + scenario.planAgain + "`";
    table += fmt::format("| {} | {} | {} |\n", scenario.name, scenario.says, outcome);
  }
  EXPECT_THAT(page.str(), HasSubstr(table)) << "the table should be\n" << table;
  EXPECT_GE(allScenarios().size(), 40u);
}

}  // namespace
}  // namespace halyard::runtime::scenarios
