// Tests of shadow verification, with devices whose results are wrong.
#include "runtime/run/shadow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "halyard/driver/mapped_request.h"
#include "runtime/compile/compilation.h"
#include "runtime/execute/execution.h"
#include "runtime/model/model_builder.h"
#include "runtime/testing/plan_test_support.h"

namespace halyard::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Computes on the CPU, and adds `error` to the first element of every output.
class Wrong final : public hal::Device {
 public:
  Wrong(hal::DeviceInfo info, std::shared_ptr<std::atomic<float>> error)
      : error_(std::move(error)), real_(cpu::makeCpuDevice(std::move(info), 1)) {}
  const hal::DeviceInfo& info() const override { return real_->info(); }
  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    return real_->getSupportedOperations(model);
  }
  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& options) override {
    HALYARD_ASSIGN_OR_RETURN(auto prepared, real_->prepareModel(model, options));
    return std::shared_ptr<hal::PreparedModel>(
        std::make_shared<Prepared>(model.share(), std::move(prepared), error_));
  }

 private:
  class Prepared final : public hal::PreparedModel {
   public:
    Prepared(std::shared_ptr<const Model> model, std::shared_ptr<hal::PreparedModel> real,
             std::shared_ptr<std::atomic<float>> error)
        : model_(std::move(model)), real_(std::move(real)), error_(std::move(error)) {}
    hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                              const hal::ExecuteOptions& options) override {
      hal::ExecutionResult result = real_->executeSynchronously(request, options);
      const auto mapped = hal::MappedRequest::map(*model_, request);
      EXPECT_TRUE(mapped.ok());
      for (const hal::MappedArgument& output : mapped->outputs()) {
        *static_cast<float*>(output.data) += error_->load();
      }
      return result;
    }

   private:
    const std::shared_ptr<const Model> model_;
    const std::shared_ptr<hal::PreparedModel> real_;
    const std::shared_ptr<std::atomic<float>> error_;
  };

  const std::shared_ptr<std::atomic<float>> error_;
  const std::shared_ptr<hal::Device> real_;
};

constexpr size_t kCount = 4;
constexpr size_t kBytes = kCount * sizeof(float);

class ShadowTest : public ::testing::Test {
 protected:
  ShadowTest() {
    ::unsetenv("HALYARD_SHADOW");
    // With the overhead, the runtime would not send such a small model to a driver.
    ::setenv("HALYARD_PARTITION_OVERHEAD", "off", 1);
    const auto services = std::make_shared<hal::SessionServices>();
    hal::DeviceInfo info = cpu::cpuDeviceInfo();
    info.name = "test-npu";
    info.capabilities = hal::Capabilities::uniform({0.1F, 0.1F});
    std::vector<Device> drivers;
    drivers.emplace_back(std::make_shared<hal::ClientSession>(
                             std::make_shared<Wrong>(std::move(info), error_), services),
                         "test.json", false);
    manager_ = std::make_unique<DeviceManager>(std::move(drivers), services);
    model_ = std::make_unique<ModelBuilder>(manager_->extensions());
    // out = in + in
    EXPECT_TRUE(model_->addOperand(OperandType::TENSOR_FLOAT32, {kCount}, 0, 0).ok());
    EXPECT_TRUE(model_->addOperand(OperandType::INT32, {}, 0, 0).ok());
    EXPECT_TRUE(model_->addOperand(OperandType::TENSOR_FLOAT32, {kCount}, 0, 0).ok());
    const int32_t none = 0;
    EXPECT_TRUE(model_->setOperandValue(1, &none, sizeof none).ok());
    const std::vector<uint32_t> inputs = {0, 0, 1};
    const std::vector<uint32_t> outputs = {2};
    EXPECT_TRUE(model_->addOperation(OperationType::ADD, inputs, outputs).ok());
    const std::vector<uint32_t> first = {0};
    EXPECT_TRUE(model_->identifyInputsAndOutputs(first, outputs).ok());
    EXPECT_TRUE(model_->finish().ok());
  }
  ~ShadowTest() override {
    ::unsetenv("HALYARD_SHADOW");
    ::unsetenv("HALYARD_PARTITION_OVERHEAD");
  }

  const Device& npu() { return manager_->devices()[0]; }

  std::unique_ptr<Compilation> compile(std::optional<uint32_t> interval, bool isExplicit = false) {
    std::vector<const Device*> devices = {&npu()};
    if (!isExplicit) devices.push_back(&manager_->cpu());
    auto compilation = Compilation::create(*model_, std::move(devices), isExplicit);
    EXPECT_TRUE(compilation.ok());
    if (interval) {
      EXPECT_TRUE((*compilation)->setShadow(*interval).ok());
    }
    status_ = (*compilation)->finish();
    return std::move(*compilation);
  }
  Status setArguments(Execution& execution) {
    in_ = {1, 2, 3, 4};
    HALYARD_RETURN_IF_ERROR(
        execution.setArgument(Execution::Direction::INPUT, 0, nullptr, in_.data(), kBytes));
    return execution.setArgument(Execution::Direction::OUTPUT, 0, nullptr, out_.data(), kBytes);
  }
  Status runOnce(const Compilation& compilation) {
    Execution execution(compilation);
    HALYARD_RETURN_IF_ERROR(setArguments(execution));
    return execution.compute();
  }
  static void waitFor(const Compilation& compilation) {
    if (compilation.shadow() != nullptr) compilation.shadow()->wait();
  }
  static std::vector<ReportEvent::Kind> kindsOf(const Compilation& compilation) {
    std::vector<ReportEvent::Kind> kinds;
    for (const ReportEvent& event : compilation.report()->events()) kinds.push_back(event.kind);
    return kinds;
  }

  const std::shared_ptr<std::atomic<float>> error_ = std::make_shared<std::atomic<float>>(0.0F);
  std::unique_ptr<DeviceManager> manager_;
  std::unique_ptr<ModelBuilder> model_;
  Status status_;
  std::vector<float> in_ = std::vector<float>(kCount);
  std::vector<float> out_ = std::vector<float>(kCount);
};

TEST_F(ShadowTest, EveryNthExecutionIsVerified) {
  const auto compilation = compile(3);
  ASSERT_TRUE(status_.ok()) << status_.toString();
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(runOnce(*compilation).ok());
    waitFor(*compilation);
  }
  const ShadowReport report = compilation->report()->shadow();
  EXPECT_EQ(report.interval, 3u);
  EXPECT_EQ(report.off, "");
  EXPECT_EQ(report.verified, 2u);
  EXPECT_EQ(report.failed, 0u);
  EXPECT_FALSE(npu().quarantine()->isSet());
}

TEST_F(ShadowTest, ADriverWithWrongResultsIsNotUsedAgain) {
  const auto compilation = compile(2);
  ASSERT_TRUE(status_.ok());
  *error_ = 0.5F;
  ASSERT_TRUE(runOnce(*compilation).ok());
  EXPECT_EQ(out_[0], 2.5F);
  ASSERT_TRUE(runOnce(*compilation).ok());
  waitFor(*compilation);
  const ShadowReport report = compilation->report()->shadow();
  EXPECT_EQ(report.verified, 1u);
  EXPECT_EQ(report.failed, 1u);
  EXPECT_EQ(report.largestAbsolute, 0.5);
  ASSERT_TRUE(npu().quarantine()->isSet());
  EXPECT_THAT(npu().quarantine()->reason(), HasSubstr("element 0 is 2.5, expected 2"));
  ASSERT_THAT(kindsOf(*compilation), ElementsAre(ReportEvent::Kind::QUARANTINED));
  // The same compilation continues on the CPU device.
  ASSERT_TRUE(runOnce(*compilation).ok());
  EXPECT_EQ(out_[0], 2);
  EXPECT_THAT(kindsOf(*compilation),
              ElementsAre(ReportEvent::Kind::QUARANTINED, ReportEvent::Kind::EXECUTION_FAILED,
                          ReportEvent::Kind::CPU_FALLBACK));
  // A new compilation also uses the CPU device, and its report contains the reason.
  const auto later = compile(std::nullopt);
  ASSERT_TRUE(status_.ok());
  EXPECT_TRUE(later->device().isCpu());
  ASSERT_EQ(later->report()->operations().size(), 1u);
  EXPECT_THAT(later->report()->operations()[0].others[0].reason,
              HasSubstr("is not used any more in this process: its results differ"));
  ASSERT_TRUE(runOnce(*later).ok());
  EXPECT_EQ(out_[0], 2);
}

TEST_F(ShadowTest, ANamedDriverWithWrongResultsFails) {
  const auto compilation = compile(1, true);
  ASSERT_TRUE(status_.ok());
  *error_ = -1.0F;
  ASSERT_TRUE(runOnce(*compilation).ok());
  waitFor(*compilation);
  EXPECT_THAT(runOnce(*compilation).message(), HasSubstr("is not used any more in this process"));
  (void)compile(std::nullopt, true);
  EXPECT_THAT(status_.message(), HasSubstr("is not used any more in this process"));
}

// Only one of several devices is quarantined: the one whose step is wrong.
TEST(ShadowOfDividedModels, BlamesTheDeviceThatIsWrong) {
  testing::TestDevices devices(3);
  auto model = std::make_shared<Model>();
  testing::GraphBuilder graph(model.get(), &model->main);
  const uint32_t a = graph.input({2});
  const uint32_t b = graph.floats({2});
  const uint32_t c = graph.floats({2});
  const uint32_t d = graph.output({2});
  graph.binary(OperationType::ADD, a, a, b);
  graph.binary(OperationType::MUL, b, b, c);
  graph.binary(OperationType::ADD, c, a, d);
  const auto plan = testing::planOf(*model, {&devices.at(0), &devices.at(1), &devices.at(2)});
  // The second device computes a wrong operation, because its prepared model is another one.
  auto wrong = std::make_shared<Model>(*plan->steps[1].model);
  wrong->main.operations[0].type = OperationType::ADD;
  auto prepared = devices.at(1).hal().prepareModel(validated(wrong).value(), {});
  ASSERT_TRUE(prepared.ok());
  plan->steps[1].prepared = *prepared;

  PlanContext context(validated(model).value());
  context.applicationOrder = {0, 1, 2};
  context.devices = devices.all();
  context.report = std::make_shared<Report>();
  const auto shadow = Shadow::make(1, plan, context);
  ASSERT_NE(shadow, nullptr);
  PlanRunner runner(plan, context);
  testing::Arguments arguments{{{3, 5}}, {{0, 0}}, {}};
  const hal::Request request = arguments.request();
  const MemoryArguments none;
  ASSERT_TRUE(shadow->isTurn());
  auto sample = shadow->begin({request, none});
  ASSERT_NE(sample, nullptr);
  ASSERT_TRUE(runner.run({request, none}, {}, nullptr).status.ok());
  const hal::OutputShape shape = {{2}, true};
  shadow->end(std::move(sample), {request, none}, {&shape, 1});
  shadow->wait();
  EXPECT_EQ(context.report->shadow().failed, 1u);
  EXPECT_FALSE(devices.at(0).quarantine()->isSet());
  EXPECT_TRUE(devices.at(1).quarantine()->isSet());
  EXPECT_FALSE(devices.at(2).quarantine()->isSet());
  ASSERT_EQ(context.report->events().size(), 1u);
  EXPECT_EQ(context.report->events()[0].device, "test-1");
}

TEST_F(ShadowTest, SmallErrorsAreAllowed) {
  const auto compilation = compile(1);
  *error_ = 1e-6F;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(runOnce(*compilation).ok());
    waitFor(*compilation);
  }
  EXPECT_EQ(compilation->report()->shadow().failed, 0u);
  EXPECT_GT(compilation->report()->shadow().largestAbsolute, 0);
}

TEST_F(ShadowTest, ReusableExecutionsAndBursts) {
  const auto compilation = compile(2);
  Execution execution(*compilation);
  ASSERT_TRUE(execution.setReusable(true).ok());
  ASSERT_TRUE(setArguments(execution).ok());
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(execution.compute().ok());
    waitFor(*compilation);
  }
  EXPECT_EQ(compilation->report()->shadow().verified, 2u);
  Burst burst(*compilation);
  *error_ = 1.0F;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(execution.computeIn(burst).ok());
    waitFor(*compilation);
  }
  EXPECT_EQ(compilation->report()->shadow().failed, 1u);
}

TEST_F(ShadowTest, FencedExecutions) {
  const auto compilation = compile(2);
  *error_ = 1.0F;
  for (int i = 0; i < 2; ++i) {
    Execution execution(*compilation);
    ASSERT_TRUE(setArguments(execution).ok());
    auto event = execution.startComputeWithDependencies({}, 0);
    ASSERT_TRUE(event.ok()) << event.status().toString();
    ASSERT_TRUE((*event)->wait().ok());
    waitFor(*compilation);
    EXPECT_EQ(compilation->report()->shadow().failed, i == 1 ? 1u : 0u);
  }
}

TEST_F(ShadowTest, InputsAreThoseOfTheExecution) {
  const auto compilation = compile(1);
  Execution execution(*compilation);
  ASSERT_TRUE(execution.setReusable(true).ok());
  ASSERT_TRUE(setArguments(execution).ok());
  for (int i = 0; i < 20; ++i) {
    in_[0] = static_cast<float>(i);
    ASSERT_TRUE(execution.compute().ok());
    // Overwrites the values at once, perhaps during the verification of the last execution.
    in_[0] = -1000;
    out_[0] = 1000;
  }
  waitFor(*compilation);
  const ShadowReport report = compilation->report()->shadow();
  EXPECT_EQ(report.failed, 0u);
  uint64_t skipped = 0;
  for (const auto& [reason, count] : report.skipped) {
    EXPECT_THAT(reason, HasSubstr("still being verified"));
    skipped += count;
  }
  EXPECT_EQ(report.verified + skipped, 20u);
  EXPECT_GE(report.verified, 1u);
}

TEST_F(ShadowTest, TheEnvironmentAsksForIt) {
  ::setenv("HALYARD_SHADOW", "1", 1);
  const auto compilation = compile(std::nullopt);
  ASSERT_TRUE(runOnce(*compilation).ok());
  waitFor(*compilation);
  EXPECT_EQ(compilation->report()->shadow().verified, 1u);
  const auto without = compile(0);
  EXPECT_EQ(without->shadow(), nullptr);
  ::setenv("HALYARD_SHADOW", "often", 1);
  EXPECT_EQ(compile(std::nullopt)->shadow(), nullptr);
}

TEST_F(ShadowTest, WhatCannotBeVerifiedIsSaid) {
  auto compilation = Compilation::create(*model_, {&manager_->cpu()}, true);
  ASSERT_TRUE(compilation.ok());
  ASSERT_TRUE((*compilation)->setShadow(1).ok());
  ASSERT_TRUE((*compilation)->finish().ok());
  EXPECT_EQ((*compilation)->shadow(), nullptr);
  EXPECT_THAT((*compilation)->report()->shadow().off, HasSubstr("CPU device computes everything"));
  EXPECT_EQ((*compilation)->setShadow(1).code(), ResultCode::BAD_STATE);
}

TEST_F(ShadowTest, NothingIsVerifiedUnasked) {
  const auto compilation = compile(std::nullopt);
  *error_ = 1.0F;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(runOnce(*compilation).ok());
  EXPECT_EQ(compilation->report()->shadow().interval, 0u);
  EXPECT_THAT(compilation->report()->events(), IsEmpty());
}

}  // namespace
}  // namespace halyard::runtime
