// Tests of failures to prepare, of strict mode, and of the models of steps.
#include "runtime/compile/preparation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <sstream>

#include "cpu/model_for_test.h"
#include "model/validation/validation.h"
#include "runtime/device/strict_mode.h"
#include "runtime/partition/step_model.h"
#include "runtime/testing/fake_devices_for_test.h"

namespace halyard::runtime {
namespace {

using cpu::testing::TestModel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace testing;  // NOLINT(google-build-using-namespace): the fakes
using enum OperationType;
using Kind = ReportEvent::Kind;

class PreparationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("HALYARD_LOG", "quiet", 1);
    ::unsetenv("HALYARD_REQUIRE_DEVICE");
  }
  void TearDown() override { ::unsetenv("HALYARD_REQUIRE_DEVICE"); }

  // relu, tanh, relu, one after another.
  static std::shared_ptr<const Model> model() {
    TestModel model;
    const uint32_t a = model.temporary({2});
    const uint32_t b = model.temporary({2});
    model.operation(RELU, {model.input({2})}, {a});
    model.operation(TANH, {a}, {b});
    model.operation(RELU, {b}, {model.output({2})});
    return model.share();
  }

  std::string plan(const std::vector<const Device*>& devices, PreparationOptions options = {}) {
    const auto made = makePlan(model(), devices, noCosts(), &report_, options);
    if (!made.ok()) return made.status().toString();
    for (const ComputeStep& step : (*made)->steps) EXPECT_NE(step.prepared, nullptr);
    return textOf(**made);
  }

  std::vector<Kind> kinds() const {
    std::vector<Kind> kinds;
    for (const ReportEvent& event : report_.events()) kinds.push_back(event.kind);
    return kinds;
  }

  FakeDevices devices_;
  Report report_;
};

Status fails(const Model&) { return makeStatus(ResultCode::RESOURCE_EXHAUSTED_PERSISTENT, "full"); }

TEST_F(PreparationTest, WhatASoleDeviceTakesAsAWholeIsReportedAsIfItHadBeenWeighed) {
  devices_.add("only", 0.5F);
  PreparationOptions options;
  options.explicitDevices = true;
  const auto plan =
      makePlan(model(), devices_.list(/*withCpu=*/false), flatCosts(5000, 2), &report_, options);
  ASSERT_TRUE(plan.ok()) << plan.status().toString();
  EXPECT_EQ(textOf(**plan), "simple only{0,1,2}");
  const std::vector<OperationReport> operations = report_.operations();
  ASSERT_EQ(operations.size(), 3u);
  EXPECT_EQ(operations[1].type, TANH);
  EXPECT_EQ(operations[1].device, "only");
  EXPECT_EQ(operations[1].partition, 0);
  EXPECT_TRUE(operations[1].others.empty());
  const std::vector<PartitionReport> partitions = report_.partitions();
  ASSERT_EQ(partitions.size(), 1u);
  EXPECT_EQ(partitions[0].device, "only");
  EXPECT_THAT(partitions[0].operations, ElementsAre(0, 1, 2));
  EXPECT_EQ(partitions[0].operationCount, 3u);
  EXPECT_NEAR(partitions[0].predicted.compute, 3 * 0.5 * 1000, 1);
  EXPECT_NEAR(partitions[0].predicted.boundary, 5000 + 2 * 16, 1);
  EXPECT_EQ(partitions[0].bytesIn, 8u);
  EXPECT_EQ(partitions[0].bytesOut, 8u);
}

TEST_F(PreparationTest, WhatADeviceFailsToPrepareGoesToTheNextBest) {
  devices_.add("best", 0.1F).prepare = fails;
  devices_.add("second", 0.2F);
  EXPECT_EQ(plan(devices_.list()), "simple second{0,1,2}");
  ASSERT_THAT(kinds(), ElementsAre(Kind::PREPARE_FAILED, Kind::REPARTITIONED));
  const ReportEvent event = report_.events()[0];
  EXPECT_EQ(event.device, "best");
  EXPECT_THAT(event.operations, ElementsAre(0, 1, 2));
  EXPECT_EQ(event.cause, "RESOURCE_EXHAUSTED_PERSISTENT: device best: full");
  EXPECT_NE(event.unixNanoseconds, 0);
  EXPECT_EQ(report_.events()[1].target, "second");
  EXPECT_EQ(report_.operations()[1].device, "second");
  EXPECT_EQ(report_.operations()[1].others[0].reason,
            "failed to prepare it, though it had said that it supports it: "
            "RESOURCE_EXHAUSTED_PERSISTENT: device best: full");
}

TEST_F(PreparationTest, OnlyTheFailedPartIsMaskedAndTheRestIsKept) {
  Script& script = devices_.add("a", 0.1F);
  script.takes = takesOnly({RELU});
  int calls = 0;
  script.prepare = [&](const Model&) { return ++calls == 1 ? okStatus() : opFailed("once"); };
  // The second part of the device fails. The first part is not prepared again.
  EXPECT_EQ(plan(devices_.list()), "a{0} nnapi-reference{1,2}");
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(report_.events()[0].operations, ElementsAre(2));
  EXPECT_EQ(report_.events()[0].partition, 2);
}

TEST_F(PreparationTest, ADeadDeviceGetsNothingMore) {
  Script& script = devices_.add("a", 0.1F);
  script.takes = takesOnly({RELU});
  script.prepare = [](const Model&) { return makeStatus(ResultCode::DEAD_OBJECT, "gone"); };
  EXPECT_EQ(plan(devices_.list()), "simple nnapi-reference{0,1,2}");
  EXPECT_EQ(script.prepared, 1);
  EXPECT_THAT(report_.operations()[2].others[0].reason,
              HasSubstr("is left out, as it failed to prepare: DEAD_OBJECT"));
}

TEST_F(PreparationTest, ManyFailuresEndOnTheCpuDevice) {
  for (int i = 0; i < 8; ++i) {
    Script& script = devices_.add(fmt::format("d{}", i), 0.1F);
    script.prepare = fails;
  }
  EXPECT_EQ(plan(devices_.list()), "simple nnapi-reference{0,1,2}");
  EXPECT_EQ(report_.events().back().kind, Kind::CPU_FALLBACK);
  EXPECT_EQ(report_.events().back().target, "nnapi-reference");
  EXPECT_EQ(std::ssize(kinds()), 10);  // 5 failures, 4 new divisions, the CPU device
  EXPECT_EQ(report_.operations()[0].device, "nnapi-reference");
}

TEST_F(PreparationTest, ExplicitDevicesKeepTheDriversCode) {
  devices_.add("a", 0.1F).prepare = fails;
  devices_.add("b", 0.2F);
  PreparationOptions options;
  options.explicitDevices = true;
  EXPECT_EQ(plan(devices_.list(false), options), "RESOURCE_EXHAUSTED_PERSISTENT: device a: full");
  EXPECT_EQ(plan(devices_.list(true), options), "RESOURCE_EXHAUSTED_PERSISTENT: device a: full");
  EXPECT_THAT(kinds(), ElementsAre(Kind::PREPARE_FAILED));
  EXPECT_EQ(report_.events()[0].count, 2u);
}

TEST_F(PreparationTest, ModesOfPartitioning) {
  devices_.add("a", 0.1F).prepare = fails;
  PreparationOptions options;
  options.mode = PartitionMode::WITHOUT_FALLBACK;
  EXPECT_EQ(plan(devices_.list(), options), "RESOURCE_EXHAUSTED_PERSISTENT: device a: full");
  options.mode = PartitionMode::NONE;
  EXPECT_EQ(plan(devices_.list(), options), "simple nnapi-reference{0,1,2}");
  EXPECT_EQ(report_.operations()[0].others.at(0).reason,
            "HALYARD_PARTITION=0 leaves everything to the CPU device");
  options.explicitDevices = true;  // has precedence over the mode
  EXPECT_EQ(plan(devices_.list(false), options), "RESOURCE_EXHAUSTED_PERSISTENT: device a: full");
}

TEST_F(PreparationTest, TheModeComesFromTheEnvironment) {
  ::unsetenv("HALYARD_PARTITION");
  EXPECT_EQ(partitionMode(), PartitionMode::WITH_FALLBACK);
  ::setenv("HALYARD_PARTITION", "0", 1);
  EXPECT_EQ(partitionMode(), PartitionMode::NONE);
  ::setenv("HALYARD_PARTITION", "2", 1);
  EXPECT_EQ(partitionMode(), PartitionMode::WITHOUT_FALLBACK);
  ::unsetenv("HALYARD_PARTITION");
}

TEST_F(PreparationTest, AMissedDeadlineIsReturned) {
  devices_.add("a", 0.1F).prepare = [](const Model&) {
    return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT, "late");
  };
  EXPECT_EQ(plan(devices_.list()), "MISSED_DEADLINE_TRANSIENT: device a: late");
}

TEST_F(PreparationTest, AModelThatTheCpuDeviceRefusesIsAnError) {
  auto memory = SharedMemory::create(16, "constants");
  ASSERT_TRUE(memory.ok());
  auto unreadable = SharedMemory::fromFd(16, PROT_WRITE, (*memory)->fd(), 0);
  ASSERT_TRUE(unreadable.ok());
  TestModel model;
  model.model().pools = {*unreadable};
  const uint32_t term = model.poolConstant(OperandType::TENSOR_FLOAT32, {4}, {0, 0, 16});
  model.add(model.input({4}), term, model.output({4}));
  const auto made = makePlan(model.share(), devices_.list(), noCosts(), &report_);
  EXPECT_EQ(made.status().code(), ResultCode::BAD_DATA) << made.status().toString();
  EXPECT_THAT(made.status().message(),
              HasSubstr("device nnapi-reference: model pool 0 may not be read"));
}

// --- Messages on standard error.

// The warnings that `work` causes, one per line.
std::vector<std::string> warningsOf(const std::function<void()>& work) {
  ::unsetenv("HALYARD_LOG");
  ::testing::internal::CaptureStderr();
  work();
  std::istringstream text(::testing::internal::GetCapturedStderr());
  ::setenv("HALYARD_LOG", "quiet", 1);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

auto failsWith(std::string text) {
  return [text = std::move(text)](const Model&) { return opFailed("{}", text); };
}

TEST_F(PreparationTest, ItWarnsOncePerCauseThatOthersGoOn) {
  devices_.add("a", 0.1F).prepare = failsWith("no tile memory");
  devices_.add("b", 0.2F);
  const auto prepare = [&] { EXPECT_EQ(plan(devices_.list()), "simple b{0,1,2}"); };
  EXPECT_THAT(warningsOf(prepare),
              ElementsAre("halyard: warning: OP_FAILED: device a: no tile memory: going on without "
                          "that device for 3 operations"));
  EXPECT_THAT(warningsOf(prepare), IsEmpty());
  // The report contains each repetition.
  EXPECT_THAT(kinds(), ElementsAre(Kind::PREPARE_FAILED, Kind::REPARTITIONED, Kind::PREPARE_FAILED,
                                   Kind::REPARTITIONED));
}

// Several parts fail, each with another device, but with the same consequence.
TEST_F(PreparationTest, ItWarnsOnceWhenTheCpuDeviceDoesItAll) {
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    devices_.add(name, 0.1F).prepare = failsWith(fmt::format("no registers in {}", name));
  }
  const auto prepare = [&] { EXPECT_EQ(plan(devices_.list()), "simple nnapi-reference{0,1,2}"); };
  const std::vector<std::string> warnings = warningsOf(prepare);
  ASSERT_EQ(warnings.size(), 5u);
  for (size_t i = 0; i < 4; ++i) EXPECT_THAT(warnings[i], HasSubstr("going on without"));
  EXPECT_THAT(warnings[4], HasSubstr("in e: everything is computed by nnapi-reference"));
  EXPECT_THAT(warningsOf(prepare), IsEmpty());
}

// One call of the device answers both questions.
TEST_F(PreparationTest, ASoleDevicePreparesWhileItIsAsked) {
  Script& only = devices_.add("only");
  PreparationOptions options;
  options.explicitDevices = true;
  const auto plan = makePlan(model(), devices_.list(false), noCosts(), &report_, options);
  ASSERT_TRUE(plan.ok()) << plan.status().toString();
  EXPECT_EQ(textOf(**plan), "simple only{0,1,2}");
  EXPECT_EQ(only.preparedIfSupported, 1);
  EXPECT_EQ(only.asked, 1);
  EXPECT_EQ(only.prepared, 1);
  EXPECT_GT(report_.partitions().at(0).cache.compileNs, 0);
}

TEST_F(PreparationTest, ARefusalOfASoleDeviceIsTheErrorOfThePreparation) {
  Script& only = devices_.add("only");
  only.prepare = failsWith("no registers");
  PreparationOptions options;
  options.explicitDevices = true;
  EXPECT_EQ(plan(devices_.list(false), options), "OP_FAILED: device only: no registers");
  EXPECT_EQ(only.preparedIfSupported, 1);
  EXPECT_EQ(only.prepared, 1);
  EXPECT_THAT(kinds(), ElementsAre(Kind::PREPARE_FAILED));
}

TEST_F(PreparationTest, WhereOthersMayTakeOverDevicesAreAskedFirst) {
  Script& a = devices_.add("a", 0.1F);
  Script& b = devices_.add("b", 0.5F);
  EXPECT_EQ(plan(devices_.list()), "simple a{0,1,2}");
  EXPECT_EQ(a.preparedIfSupported + b.preparedIfSupported, 0);
  EXPECT_EQ(a.prepared, 1);
  EXPECT_EQ(b.prepared, 0);
}

TEST_F(PreparationTest, ItDoesNotWarnOfAnErrorThatItReturns) {
  devices_.add("a", 0.1F).prepare = failsWith("no such luck");
  PreparationOptions options;
  options.mode = PartitionMode::WITHOUT_FALLBACK;
  EXPECT_THAT(warningsOf([&] {
                EXPECT_EQ(plan(devices_.list(), options), "OP_FAILED: device a: no such luck");
              }),
              IsEmpty());
  options = {};
  options.explicitDevices = true;
  EXPECT_THAT(warningsOf([&] {
                EXPECT_EQ(plan(devices_.list(false), options), "OP_FAILED: device a: no such luck");
              }),
              IsEmpty());
  ::setenv("HALYARD_REQUIRE_DEVICE", "a", 1);
  EXPECT_THAT(
      warningsOf([&] { EXPECT_THAT(plan(devices_.list()), HasSubstr("device a: no such luck")); }),
      IsEmpty());
}

TEST_F(PreparationTest, ItDoesNotWarnOfADeadlineThatItReturns) {
  devices_.add("a", 0.1F).prepare = [](const Model&) {
    return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT, "later than late");
  };
  EXPECT_THAT(warningsOf([&] {
                EXPECT_EQ(plan(devices_.list()),
                          "MISSED_DEADLINE_TRANSIENT: device a: later than late");
              }),
              IsEmpty());
}

TEST_F(PreparationTest, ItWarnsOfADeviceThatCannotBeAskedWhereOthersCan) {
  devices_.add("a", 0.1F).supported = [](const Model&) -> Result<hal::SupportedOperations> {
    return opFailed("no idea");
  };
  const auto alone = [&] {
    PreparationOptions options;
    options.explicitDevices = true;
    EXPECT_EQ(plan(devices_.list(false), options), "OP_FAILED: device a: no idea");
  };
  EXPECT_THAT(warningsOf(alone), IsEmpty());
  const auto withOthers = [&] {
    EXPECT_EQ(plan(devices_.list()), "simple nnapi-reference{0,1,2}");
  };
  EXPECT_THAT(warningsOf(withOthers),
              ElementsAre("halyard: warning: OP_FAILED: device a: no idea: it supports nothing, "
                          "then"));
  EXPECT_THAT(warningsOf(withOthers), IsEmpty());
}

// --- Strict mode.

TEST_F(PreparationTest, StrictModeLeavesOutOtherDevices) {
  devices_.add("slow", 10.0F);
  ::setenv("HALYARD_REQUIRE_DEVICE", "slow", 1);
  EXPECT_EQ(plan(devices_.list()), "simple slow{0,1,2}");
  ASSERT_EQ(report_.operations()[0].others.size(), 1u);
  EXPECT_EQ(report_.operations()[0].others[0].reason, "HALYARD_REQUIRE_DEVICE does not name it");
}

TEST_F(PreparationTest, StrictModeRefusesWhatWouldGoElsewhere) {
  devices_.add("a", 0.1F).takes = takesOnly({RELU});
  ::setenv("HALYARD_REQUIRE_DEVICE", "a", 1);
  const std::string error = plan(devices_.list());
  EXPECT_THAT(error,
              HasSubstr("BAD_DATA: HALYARD_REQUIRE_DEVICE=a: no other device may take over"));
  EXPECT_THAT(error, HasSubstr("device a does not support operation #1 TANH: its driver does "
                               "not support it"));
  EXPECT_THAT(kinds(), ElementsAre(Kind::STRICT_REFUSED));
  EXPECT_EQ(report_.operations()[1].device, "");
  // Two names, with a space.
  ::setenv("HALYARD_REQUIRE_DEVICE", "a, nnapi-reference", 1);
  EXPECT_EQ(plan(devices_.list()), "a{0} nnapi-reference{1} a{2}");
}

TEST_F(PreparationTest, StrictModeRefusesFallback) {
  devices_.add("a", 0.1F).prepare = fails;
  ::setenv("HALYARD_REQUIRE_DEVICE", "a", 1);
  EXPECT_THAT(plan(devices_.list()),
              HasSubstr("RESOURCE_EXHAUSTED_PERSISTENT: HALYARD_REQUIRE_DEVICE=a: no other device "
                        "may take over: device a: full"));
  EXPECT_THAT(kinds(), ElementsAre(Kind::PREPARE_FAILED, Kind::STRICT_REFUSED));
  EXPECT_EQ(report_.events()[1].device, "a");
}

TEST_F(PreparationTest, StrictModeWithADeviceThatIsNotThere) {
  devices_.add("a", 0.1F);
  ::setenv("HALYARD_REQUIRE_DEVICE", "b", 1);
  EXPECT_THAT(plan(devices_.list()),
              HasSubstr("HALYARD_REQUIRE_DEVICE=b does not let device a, nnapi-reference compute"));
}

TEST_F(PreparationTest, StrictModeByItself) {
  EXPECT_TRUE(requiredDevices().empty());
  EXPECT_TRUE(strictModeAllows("anything"));
  ::setenv("HALYARD_REQUIRE_DEVICE", " a,,b ", 1);
  EXPECT_THAT(requiredDevices(), ElementsAre("a", "b"));
  EXPECT_TRUE(strictModeAllows("b"));
  EXPECT_FALSE(strictModeAllows("c"));
  EXPECT_EQ(strictRefusal("operation #3 ADD", "c", "the driver died").toString(),
            "OP_FAILED: HALYARD_REQUIRE_DEVICE= a,,b  does not let device c compute operation #3 "
            "ADD: the driver died");
}

// --- The models of steps.

TEST(StepModelTest, HasWhatItsOperationsUse) {
  TestModel source;
  const auto pool = SharedMemory::create(64, "weights");
  ASSERT_TRUE(pool.ok());
  const auto other = SharedMemory::create(64, "other");
  ASSERT_TRUE(other.ok());
  source.model().pools = {*other, *pool};
  const uint32_t x = source.input({2});
  const uint32_t y = source.input({2});
  const uint32_t weights =
      source.poolConstant(OperandType::TENSOR_FLOAT32, {2}, {1, 16, 2 * sizeof(float)});
  source.constant<float>(OperandType::TENSOR_FLOAT32, {4}, {1, 2, 3, 4});  // not used
  const uint32_t a = source.temporary({2});
  const uint32_t b = source.temporary({2});
  const uint32_t c = source.temporary({2});
  const uint32_t out = source.output({2});
  const uint32_t last = source.output({2});
  source.add(x, weights, a);           // 0
  source.operation(RELU, {a}, {b});    // 1
  source.operation(TANH, {b}, {out});  // 2
  source.operation(TANH, {y}, {c});    // 3
  source.add(out, c, last);            // 4
  source.model().relaxComputationFloat32toFloat16 = true;
  const Model& model = source.model();
  const std::vector<uint32_t> consumers = countConsumers(model.main);

  const uint32_t first[] = {0, 1};
  const StepModel one = makeStepModel(validated(model).value(), kMainSubgraph, first, consumers);
  EXPECT_THAT(one.inputs, ElementsAre(x));
  EXPECT_THAT(one.outputs, ElementsAre(b));
  ASSERT_EQ(one.model->pools.size(), 1u);
  EXPECT_EQ(one.model->pools[0], *pool);           // shared, not copied
  EXPECT_EQ(one.model->operandValues.size(), 4u);  // the activation
  EXPECT_TRUE(one.model->relaxComputationFloat32toFloat16);
  EXPECT_TRUE(validateModel(*one.model).ok());

  const uint32_t second[] = {2, 4};
  const StepModel two = makeStepModel(validated(model).value(), kMainSubgraph, second, consumers);
  EXPECT_THAT(two.inputs, ElementsAre(b, c));
  EXPECT_THAT(two.outputs, ElementsAre(out, last));
  EXPECT_TRUE(two.model->pools.empty());
  EXPECT_TRUE(validateModel(*two.model).ok());

  // An output that an earlier part computes is an input of this part. It comes last.
  const uint32_t third[] = {3, 4};
  const StepModel three = makeStepModel(validated(model).value(), kMainSubgraph, third, consumers);
  EXPECT_THAT(three.inputs, ElementsAre(y, out));
  EXPECT_THAT(three.outputs, ElementsAre(last));
  EXPECT_TRUE(validateModel(*three.model).ok());
}

TEST(StepModelTest, LeavesOutDeadOperandsAndWhatTheyRefersTo) {
  TestModel inner;
  inner.operation(RELU, {inner.input({2})}, {inner.output({2})});
  TestModel source;
  source.reference(inner);  // not used
  const auto pool = SharedMemory::create(64, "weights");
  ASSERT_TRUE(pool.ok());
  source.model().pools = {*pool};
  source.poolConstant(OperandType::TENSOR_FLOAT32, {2}, {0, 0, 8});
  source.model().extensionNameToPrefix = {{"com.example.unused", 1}};
  source.operation(RELU, {source.input({2})}, {source.output({2})});
  const ValidModel pruned = subgraphAsModel(validated(source.share()).value(), kMainSubgraph);
  EXPECT_EQ(pruned->main.operands.size(), 2u);
  EXPECT_TRUE(pruned->referenced.empty());
  EXPECT_TRUE(pruned->pools.empty());
  EXPECT_TRUE(pruned->extensionNameToPrefix.empty());
  EXPECT_TRUE(validateModel(*pruned).ok());
  // A model without unused parts stays the same object.
  const auto again = subgraphAsModel(pruned, kMainSubgraph);
  EXPECT_EQ(again.share(), pruned.share());
}

TEST(StepModelTest, TakesSubgraphsAlong) {
  TestModel deepest;
  deepest.add(deepest.input({2}), deepest.constant<float>(OperandType::TENSOR_FLOAT32, {2}, {1, 2}),
              deepest.output({2}));
  TestModel inner;
  {
    const uint32_t condition = inner.input({1}, OperandType::TENSOR_BOOL8);
    const uint32_t x = inner.input({2});
    const uint32_t model = inner.reference(deepest);
    inner.operation(IF, {condition, model, model, x}, {inner.output({2})});
  }
  TestModel unused;
  unused.operation(RELU, {unused.input({2})}, {unused.output({2})});
  TestModel source;
  const uint32_t condition = source.input({1}, OperandType::TENSOR_BOOL8);
  const uint32_t x = source.input({2});
  const uint32_t between = source.temporary({2});
  const uint32_t unusedModel = source.reference(unused);
  const uint32_t model = source.reference(inner);
  source.operation(IF, {condition, unusedModel, unusedModel, x}, {between});
  source.operation(IF, {condition, model, model, condition, between}, {source.output({2})});
  ASSERT_TRUE(validateModel(source.model()).ok());
  const std::vector<uint32_t> consumers = countConsumers(source.model().main);
  const uint32_t second[] = {1};
  const StepModel step =
      makeStepModel(validated(source.model()).value(), kMainSubgraph, second, consumers);
  EXPECT_THAT(step.inputs, ElementsAre(condition, between));
  EXPECT_EQ(step.model->referenced.size(), 2u);
  const auto level = validateModel(*step.model);
  EXPECT_TRUE(level.ok()) << level.status().toString();
}

// --- Reports.

TEST(ReportTest, CountsRepetitionsAndKeepsTheFirstAndTheLastEvents) {
  Report report;
  for (size_t i = 0; i < 2 * Report::kMostEvents; ++i) {
    for (int twice = 0; twice < 2; ++twice) {
      ReportEvent event;
      event.cause = fmt::format("{}", i);
      report.add(event);
    }
  }
  const std::vector<ReportEvent> events = report.events();
  ASSERT_EQ(events.size(), Report::kMostEvents);
  EXPECT_EQ(events.front().cause, "0");
  EXPECT_EQ(events.front().count, 2u);
  EXPECT_EQ(events.back().cause, fmt::format("{}", 2 * Report::kMostEvents - 1));
}

TEST(ReportTest, MeasurementsGoToThePartitionAndItsDevice) {
  Report report;
  const auto timings = std::make_shared<DeviceTimings>();
  PartitionReport partition;
  partition.predicted = {1000, 0};
  report.setDecisions({{}, {partition}, {{timings, {0, 0, 1000}}}});
  report.addMeasurement(0, 900000, 0);  // warm-up
  EXPECT_TRUE(timings->empty());
  for (int i = 0; i < 100; ++i) report.addMeasurement(0, 3000, 0);
  report.addMeasurement(7, 1, 0);  // no such partition
  EXPECT_EQ(report.partitions()[0].executions, 101u);
  EXPECT_EQ(report.partitions()[0].measuredLast, 3000);
  EXPECT_EQ(report.partitions()[0].measuredTotal, 900000 + 100 * 3000);
  // One partition alone changes the estimate only partly.
  EXPECT_GT(timings->factors().compute, 2);
  EXPECT_LT(timings->factors().compute, 3);
}

TEST(DeviceTimingsTest, TellsGettingThereFromComputing) {
  DeviceTimings timings;
  // Waking takes four times the estimate; computing takes half of it.
  for (int i = 0; i < 200; ++i) {
    for (const double compute : {1000.0, 50000.0, 200000.0}) {
      timings.add({10000, 0, compute}, 40000 + compute / 2);
    }
  }
  EXPECT_NEAR(timings.factors().wake, 4, 0.3);
  EXPECT_NEAR(timings.factors().compute, 0.5, 0.05);
  // One long delay changes little.
  timings.add({10000, 0, 1000}, 1e9);
  EXPECT_LT(timings.factors().wake, 8);
  EXPECT_GT(timings.factors().compute, 0.3);
}

}  // namespace
}  // namespace halyard::runtime
