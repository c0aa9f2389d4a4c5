// Tests of the choice of devices and of the reaction to drivers that misbehave. The devices are
// scripted.
#include "runtime/compile/compilation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>

#include "cpu/cpu_device.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "runtime/execute/execution.h"

namespace halyard::runtime {
namespace {

using ::testing::HasSubstr;

// A device with scripted answers. Without a script the CPU answers.
struct CompileScript {
  std::function<Result<hal::SupportedOperations>(const Model&)> supported;
  Status prepare;
  bool prepareNothing = false;
  std::function<hal::ExecutionResult()> execute;
};

class CompiledModel : public hal::PreparedModel {
 public:
  CompiledModel(const CompileScript& script, std::shared_ptr<hal::PreparedModel> real)
      : script_(script), real_(std::move(real)) {}
  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& options) override {
    return script_.execute ? script_.execute() : real_->executeSynchronously(request, options);
  }

 private:
  const CompileScript& script_;
  std::shared_ptr<hal::PreparedModel> real_;
};

class CompilingDevice : public hal::Device {
 public:
  CompilingDevice(std::string name, const CompileScript& script) : script_(script) {
    hal::DeviceInfo info = cpu::cpuDeviceInfo();
    info.name = std::move(name);
    real_ = cpu::makeCpuDevice(std::move(info), 1);
  }
  const hal::DeviceInfo& info() const override { return real_->info(); }
  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    return script_.supported ? script_.supported(*model) : real_->getSupportedOperations(model);
  }
  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& options) override {
    if (!script_.prepare.ok()) return script_.prepare;
    if (script_.prepareNothing) return std::shared_ptr<hal::PreparedModel>();
    HALYARD_ASSIGN_OR_RETURN(auto real, real_->prepareModel(model, options));
    return std::shared_ptr<hal::PreparedModel>(
        std::make_shared<CompiledModel>(script_, std::move(real)));
  }

 private:
  const CompileScript& script_;
  std::shared_ptr<hal::Device> real_;
};

class CompilationTest : public ::testing::Test {
 protected:
  void SetUp() override { start(std::make_shared<CompilingDevice>("test-first", script_), {2}); }

  // `out`: the dimensions of the output in the model. The real dimensions are [2].
  void start(std::shared_ptr<hal::Device> driver, const Shape& out) {
    ::setenv("HALYARD_LOG", "quiet", 1);
    std::vector<Device> drivers;
    drivers.emplace_back(std::move(driver), "first.json", false);
    builder_.reset();
    manager_ = std::make_unique<DeviceManager>(std::move(drivers));
    builder_ = std::make_unique<ModelBuilder>(manager_->extensions());
    // out = relu(a) + a. Operands: 0 is a, 1 a temporary, 2 the activation, 3 out.
    using enum OperandType;
    ASSERT_TRUE(builder_->addOperand(TENSOR_FLOAT32, {2}, 0, 0).ok());
    ASSERT_TRUE(builder_->addOperand(TENSOR_FLOAT32, {2}, 0, 0).ok());
    ASSERT_TRUE(builder_->addOperand(INT32, {}, 0, 0).ok());
    ASSERT_TRUE(builder_->addOperand(TENSOR_FLOAT32, out, 0, 0).ok());
    const int32_t none = 0;
    ASSERT_TRUE(builder_->setOperandValue(2, &none, sizeof(none)).ok());
    // The operations are added in the wrong order, so that run order and application order differ.
    ASSERT_TRUE(builder_->addOperation(OperationType::ADD, add_, out_).ok());
    ASSERT_TRUE(builder_->addOperation(OperationType::RELU, in_, temporary_).ok());
    ASSERT_TRUE(builder_->identifyInputsAndOutputs(in_, out_).ok());
    ASSERT_TRUE(builder_->finish().ok());
  }

  std::unique_ptr<Compilation> newCompilation(bool explicitDevices) {
    std::vector<const Device*> devices;
    for (const Device& device : manager_->devices()) devices.push_back(&device);
    if (explicitDevices) devices.pop_back();
    auto result = Compilation::create(*builder_, std::move(devices), explicitDevices);
    EXPECT_TRUE(result.ok()) << result.status().toString();
    return std::move(result).value();
  }

  // Runs on {-1, 2}. The correct result is {-1, 4}.
  static Status run(const Compilation& compilation, float* out) {
    Execution execution(compilation);
    float in[] = {-1, 2};
    HALYARD_RETURN_IF_ERROR(
        execution.setArgument(Execution::Direction::INPUT, 0, nullptr, in, sizeof(in)));
    HALYARD_RETURN_IF_ERROR(
        execution.setArgument(Execution::Direction::OUTPUT, 0, nullptr, out, 8));
    return execution.compute();
  }

  const std::vector<uint32_t> in_ = {0};
  const std::vector<uint32_t> temporary_ = {1};
  const std::vector<uint32_t> add_ = {1, 0, 2};
  const std::vector<uint32_t> out_ = {3};
  CompileScript script_;
  std::unique_ptr<DeviceManager> manager_;
  std::unique_ptr<ModelBuilder> builder_;
};

TEST_F(CompilationTest, TheCpuDeviceWinsAmongEquals) {
  const auto compilation = newCompilation(false);
  ASSERT_TRUE(compilation->finish().ok());
  EXPECT_TRUE(compilation->device().isCpu());
  EXPECT_TRUE(compilation->plan().simple);
  float out[2] = {};
  const Status status = run(*compilation, out);
  ASSERT_TRUE(status.ok()) << status.toString();
  EXPECT_EQ(out[0], -1);
  EXPECT_EQ(out[1], 4);
}

TEST_F(CompilationTest, AnUnsupportedOperationIsNamedInTheApplicationsOrder) {
  script_.supported = [](const Model&) { return hal::SupportedOperations{true, false}; };
  const auto strict = newCompilation(true);
  const Status status = strict->finish();
  EXPECT_EQ(status.code(), ResultCode::BAD_DATA);
  // RELU runs first and was added second. ADD is not supported.
  EXPECT_THAT(status.message(), HasSubstr("device test-first does not support operation #0 ADD"));
  EXPECT_EQ(strict->checkValid().code(), ResultCode::BAD_STATE);

  const auto lenient = newCompilation(false);
  ASSERT_TRUE(lenient->finish().ok());
  EXPECT_TRUE(lenient->device().isCpu());

  const Device* first = &manager_->devices()[0];
  const auto supported = supportedOperations(*builder_, std::span(&first, 1));
  ASSERT_TRUE(supported.ok());
  EXPECT_EQ(*supported, (std::vector<bool>{false, true}));
}

TEST_F(CompilationTest, AFailedPreparationFallsBackOnlyWhenDevicesWereNotNamed) {
  script_.prepare = opFailed("out of sorts");
  const Status status = newCompilation(true)->finish();
  EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
  EXPECT_EQ(status.message(), "device test-first: out of sorts");
  const auto lenient = newCompilation(false);
  ASSERT_TRUE(lenient->finish().ok());
  EXPECT_TRUE(lenient->device().isCpu());
}

TEST_F(CompilationTest, WrongAnswersOfADriverAreErrors) {
  script_.supported = [](const Model&) { return hal::SupportedOperations{true}; };
  EXPECT_THAT(newCompilation(true)->finish().message(),
              HasSubstr("answered for 1 operations of 2"));
  script_.supported = nullptr;
  script_.prepareNothing = true;
  EXPECT_THAT(newCompilation(true)->finish().message(), HasSubstr("without a prepared model"));
}

TEST_F(CompilationTest, ADeviceThatDiedKeepsItsCode) {
  script_.supported = [](const Model&) -> Result<hal::SupportedOperations> {
    return makeStatus(ResultCode::DEAD_OBJECT, "the process ended");
  };
  const Status status = newCompilation(true)->finish();
  EXPECT_EQ(status.code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(status.message(), HasSubstr("test-first: the process ended"));
}

// The driver is behind a ClientSession, as each driver is, in this process or in another one.
class ReportedShapesTest : public CompilationTest {
 protected:
  void SetUp() override {}
  void startChecked(const Shape& out) {
    start(std::make_shared<hal::ClientSession>(
              std::make_shared<CompilingDevice>("test-first", script_),
              std::make_shared<hal::SessionServices>()),
          out);
    compilation_ = newCompilation(true);
    ASSERT_TRUE(compilation_->finish().ok());
  }
  Status report(Status status, std::vector<hal::OutputShape> shapes) {
    script_.execute = [status, shapes] { return hal::ExecutionResult{status, shapes, {}}; };
    float out[2] = {};
    return run(*compilation_, out);
  }

  std::unique_ptr<Compilation> compilation_;
};

TEST_F(ReportedShapesTest, AreChecked) {
  startChecked({2});
  EXPECT_TRUE(report(okStatus(), {}).ok());
  EXPECT_TRUE(report(okStatus(), {{{2}, true}}).ok());
  EXPECT_THAT(report(okStatus(), {{{3}, true}}).message(),
              HasSubstr("device test-first: the driver's result: output 0: it reports dimensions "
                        "[3], expected [2]"));
  EXPECT_EQ(report(okStatus(), {{{2}, false}}).code(), ResultCode::OP_FAILED);
  EXPECT_THAT(report(okStatus(), {{{2}, true}, {{2}, true}}).message(),
              HasSubstr("2 output shapes, the model has 1 outputs"));
  const Status small(ResultCode::OUTPUT_INSUFFICIENT_SIZE, "too small");
  EXPECT_EQ(report(small, {}).code(), ResultCode::OP_FAILED);
  EXPECT_EQ(report(small, {{{2}, false}}).code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE);
  EXPECT_EQ(report(small, {{{2}, true}}).code(), ResultCode::OP_FAILED);
}

TEST_F(ReportedShapesTest, MustFitTheBuffer) {
  startChecked({0});
  EXPECT_TRUE(report(okStatus(), {{{2}, true}}).ok());
  for (const uint32_t size : {3u, 1000u, 1u << 31}) {
    const Status status = report(okStatus(), {{{size}, true}});
    EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
    EXPECT_THAT(status.message(), HasSubstr("device test-first: the driver's result: output 0: it "
                                            "reports dimensions"));
  }
  const Status small(ResultCode::OUTPUT_INSUFFICIENT_SIZE, "too small");
  EXPECT_EQ(report(small, {{{1000}, false}}).code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE);
}

TEST_F(CompilationTest, TwoThreadsCannotComputeOneExecution) {
  const auto compilation = newCompilation(true);
  ASSERT_TRUE(compilation->finish().ok());
  Execution execution(*compilation);
  float in[] = {1, 2};
  float out[2] = {};
  ASSERT_TRUE(execution.setArgument(Execution::Direction::INPUT, 0, nullptr, in, 8).ok());
  ASSERT_TRUE(execution.setArgument(Execution::Direction::OUTPUT, 0, nullptr, out, 8).ok());
  std::atomic<bool> go{false};
  std::atomic<bool> entered{false};
  script_.execute = [&] {
    entered = true;
    while (!go) std::this_thread::yield();
    return hal::ExecutionResult{};
  };
  auto event = execution.startCompute();
  ASSERT_TRUE(event.ok());
  while (!entered) std::this_thread::yield();
  EXPECT_THAT(execution.compute().message(), HasSubstr("is being computed"));
  Shape shape;
  EXPECT_EQ(execution.outputDimensions(0, &shape).code(), ResultCode::BAD_STATE);
  EXPECT_EQ(execution.setReusable(true).code(), ResultCode::BAD_STATE);
  go = true;
  EXPECT_TRUE((*event)->wait().ok());
}

TEST(Deadlines, Saturate) {
  EXPECT_FALSE(deadlineAfter(0).has_value());
  EXPECT_EQ(deadlineAfter(UINT64_MAX), hal::TimePoint::max());
  EXPECT_GT(*deadlineAfter(1'000'000'000), hal::Clock::now());
}

}  // namespace
}  // namespace halyard::runtime
