// Tests of the judgement of cases, on the CPU device and on faulty devices.
#include "conformance/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>

#include "conformance/case_for_test.h"
#include "conformance/hal_target.h"
#include "cpu/cpu_device.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"

namespace halyard::conformance {
namespace {

using testing::addLine;
using testing::base64Of;
using ::testing::HasSubstr;
using testing::parsed;
using ::testing::StartsWith;

constexpr std::string_view kExpectFailure = R"("expect_failure":true,)";

const std::string kGood = addLine("good", {1, 2}, {3, 4}, {4, 6});

std::vector<Variant> halVariants() {
  std::vector<Variant> variants;
  for (const VariantTraits& traits : allVariants()) {
    if (traits.launch != Launch::ASYNC) {
      variants.push_back(traits.variant);
    }
  }
  return variants;
}

CaseResult runOnCpu(const std::string& line, Variant variant = Variant::PLAIN) {
  const auto target = makeHalTarget(hal::ClientSession::ofRuntime(
      cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 2), std::make_shared<hal::SessionServices>()));
  return runCase(*target, parsed(line), variant);
}

// A device whose answers the test provides.
class FakeDevice final : public hal::Device {
 public:
  using Execute =
      std::function<hal::ExecutionResult(const hal::Request&, const hal::ExecuteOptions&)>;

  const hal::DeviceInfo& info() const override { return info_; }
  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    if (!supportStatus.ok()) return Status(supportStatus);
    return hal::SupportedOperations(model->main.operations.size(), supports);
  }
  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(const ValidModel&,
                                                           const hal::PrepareOptions&) override {
    ++preparations;
    if (!prepareStatus.ok()) return Status(prepareStatus);
    return std::shared_ptr<hal::PreparedModel>(std::make_shared<Prepared>(*this));
  }
  pid_t processId() const override { return pid; }

  hal::DeviceInfo info_ = cpu::cpuDeviceInfo();
  bool supports = true;
  Status supportStatus;
  Status prepareStatus;
  Execute execute;
  std::atomic<pid_t> pid = ::getpid();
  std::atomic<int> preparations = 0;
  std::atomic<int> executions = 0;

 private:
  struct Prepared : hal::PreparedModel {
    explicit Prepared(FakeDevice& theDevice) : device(theDevice) {}
    hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                              const hal::ExecuteOptions& options) override {
      ++device.executions;
      return device.execute(request, options);
    }
    FakeDevice& device;
  };
};

// Writes the sums of kGood into the first output, after a check of its capacity.
hal::ExecutionResult goodSums(const hal::Request& request, const hal::ExecuteOptions&) {
  const float sums[] = {4, 6};
  const hal::RequestArgument& output = request.outputs[0];
  if (output.kind == hal::RequestArgument::Kind::POOL) {
    const auto mapping = std::get<SharedMemoryPtr>(request.pools[output.location.poolIndex])->map();
    std::memcpy(mapping->data() + output.location.offset, sums, sizeof sums);
    return {okStatus(), {}, {}};
  }
  if (output.length < sizeof sums) {
    return {makeStatus(ResultCode::OUTPUT_INSUFFICIENT_SIZE, "too small"), {{{2}, false}}, {}};
  }
  std::memcpy(output.pointer, sums, sizeof sums);
  return {okStatus(), {{{2}, true}}, {}};
}

class FakeDeviceTest : public ::testing::Test {
 protected:
  FakeDeviceTest() { device_->execute = goodSums; }

  CaseResult run(Variant variant = Variant::PLAIN, std::string_view fields = "") {
    const auto target = makeHalTarget(device_);
    return runCase(*target, parsed(addLine("good", {1, 2}, {3, 4}, {4, 6}, fields)), variant);
  }
  std::string failure(Variant variant = Variant::PLAIN, std::string_view fields = "") {
    const CaseResult result = run(variant, fields);
    EXPECT_EQ(result.outcome, Outcome::FAILED) << result.reason;
    return result.reason;
  }

  const std::shared_ptr<FakeDevice> device_ = std::make_shared<FakeDevice>();
};

TEST(Runner, GoodCasePassesInEveryVariant) {
  for (const Variant variant : halVariants()) {
    const CaseResult result = runOnCpu(kGood, variant);
    EXPECT_EQ(result.outcome, Outcome::PASSED) << traitsOf(variant).name << ": " << result.reason;
    EXPECT_EQ(result.reason, "");
  }
}

TEST(Runner, WrongResultFailsInEveryVariant) {
  const std::string wrong = addLine("wrong", {1, 2}, {3, 4}, {4, 7});
  for (const Variant variant : halVariants()) {
    const CaseResult result = runOnCpu(wrong, variant);
    EXPECT_EQ(result.outcome, Outcome::FAILED) << traitsOf(variant).name;
    EXPECT_THAT(result.reason, HasSubstr("output 0: element 1 [1] is 6, expected 7; 1 of 2"));
  }
}

TEST(Runner, RelaxedComparesSo) {
  const std::string rough = addLine("rough", {1}, {1}, {2.01f});
  EXPECT_EQ(runOnCpu(rough).outcome, Outcome::FAILED);
  EXPECT_EQ(runOnCpu(rough, Variant::RELAXED).outcome, Outcome::PASSED);
}

TEST(Runner, ExpectedFailures) {
  // The model is invalid: the shapes cannot be broadcast.
  const std::string bad = addLine("bad", {1, 2}, {1, 2, 3}, {1, 2}, kExpectFailure);
  for (const Variant variant : halVariants()) {
    EXPECT_EQ(runOnCpu(bad, variant).outcome, Outcome::PASSED) << traitsOf(variant).name;
  }
  const CaseResult ran = runOnCpu(addLine("ran", {1}, {1}, {2}, kExpectFailure));
  EXPECT_EQ(ran.outcome, Outcome::FAILED);
  EXPECT_EQ(ran.reason, "ran without an error, and has to be refused");
  // The same model without the expected failure.
  const CaseResult broken = runOnCpu(addLine("bad", {1, 2}, {1, 2, 3}, {1, 2}));
  EXPECT_EQ(broken.outcome, Outcome::FAILED);
  EXPECT_THAT(broken.reason, HasSubstr("cannot be broadcast"));
}

TEST(Runner, OmittedInput) {
  // TRANSPOSE without its permutation at execution.
  const auto line = [](std::string_view permutation) {
    return fmt::format(
        R"({{"name":"omitted","main":{{"operands":[)"
        R"({{"type":"TENSOR_FLOAT32","dims":[1,2],"lifetime":"SUBGRAPH_INPUT","data":"{}"}},)"
        R"({{"type":"TENSOR_INT32","dims":[2],"lifetime":"SUBGRAPH_INPUT","data":"{}"}},)"
        R"({{"type":"TENSOR_FLOAT32","dims":[2,1],"lifetime":"SUBGRAPH_OUTPUT","data":"{}"}}],)"
        R"("operations":[{{"type":"TRANSPOSE","inputs":[0,1],"outputs":[2]}}],)"
        R"("inputs":[0,1],"outputs":[2]}},"referenced":[]}})",
        base64Of({1, 2}), permutation, base64Of({1, 2}));
  };
  for (const Variant variant :
       {Variant::PLAIN, Variant::POOLS, Variant::THREADS, Variant::UNKNOWN_RANK}) {
    const CaseResult omitted = runOnCpu(line(""), variant);
    EXPECT_EQ(omitted.outcome, Outcome::PASSED) << omitted.reason;
  }
  const int32_t identity[] = {0, 1};
  EXPECT_EQ(runOnCpu(line(base64Of(identity, sizeof identity))).outcome, Outcome::FAILED);
}

TEST(Runner, SupportsWhatTheHalHas) {
  const auto target = makeHalTarget(cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 1));
  EXPECT_EQ(target->via(), "hal");
  EXPECT_EQ(target->device(), "nnapi-reference");
  for (const VariantTraits& traits : allVariants()) {
    EXPECT_EQ(target->supports(traits.variant).ok(), traits.launch != Launch::ASYNC);
  }
}

TEST_F(FakeDeviceTest, GoodOne) {
  EXPECT_EQ(run().outcome, Outcome::PASSED);
  EXPECT_EQ(run(Variant::POOLS).outcome, Outcome::PASSED);
  EXPECT_EQ(run(Variant::UNKNOWN_DIMENSIONS).outcome, Outcome::PASSED);
}

TEST_F(FakeDeviceTest, CountsWhatVariantsDo) {
  EXPECT_EQ(run(Variant::TWICE).outcome, Outcome::PASSED);
  EXPECT_EQ(device_->preparations, 2);
  EXPECT_EQ(device_->executions, 4);
  EXPECT_EQ(run(Variant::THREADS).outcome, Outcome::PASSED);
  EXPECT_EQ(device_->preparations, 3);
  EXPECT_EQ(device_->executions, 12);
  EXPECT_EQ(run(Variant::UNKNOWN_RANK).outcome, Outcome::PASSED);
  EXPECT_EQ(device_->executions, 14);
}

TEST_F(FakeDeviceTest, UnsupportedIsSkippedWithTheReason) {
  device_->supports = false;
  const CaseResult skipped = run();
  EXPECT_EQ(skipped.outcome, Outcome::SKIPPED);
  EXPECT_EQ(skipped.reason,
            "device nnapi-reference does not support operation 0, ADD: TENSOR_FLOAT32 rank 1");
  // If the device could not be asked, the case must not be skipped.
  device_->supportStatus = makeStatus(ResultCode::DEAD_OBJECT, "gone");
  EXPECT_THAT(failure(), HasSubstr("support: DEAD_OBJECT: gone"));
}

TEST_F(FakeDeviceTest, NewerThanTheDevicesHalIsSkipped) {
  device_->info_.halVersion = HalVersion::V1_1;
  device_->supportStatus = badData("too new");
  // The API has had ADD from the start, except for inputs of rank 0. Its relaxed and float16 forms
  // are newer.
  VectorCase half = parsed(kGood);
  for (const uint32_t index : {0, 1, 3}) {
    half.model.main.operands[index].type = OperandType::TENSOR_FLOAT16;
  }
  half.model.main.operands[1].location.length = 4;
  half.inputs[0].bytes.resize(4);
  half.outputs[0].bytes.resize(4);
  const auto target = makeHalTarget(device_);
  const CaseResult skipped = runCase(*target, half, Variant::PLAIN);
  EXPECT_EQ(skipped.outcome, Outcome::SKIPPED);
  EXPECT_EQ(skipped.reason,
            "device nnapi-reference does not support operation 0, ADD: needs feature level 3 "
            "(HAL 1.2)");
  // A refusal of a model that is old enough counts as a failure.
  EXPECT_THAT(failure(), HasSubstr("BAD_DATA: too new"));
}

TEST_F(FakeDeviceTest, OnlyARefusalIsAnExpectedFailure) {
  for (const ResultCode code :
       {ResultCode::BAD_DATA, ResultCode::OP_FAILED, ResultCode::MISSED_DEADLINE_TRANSIENT,
        ResultCode::MISSED_DEADLINE_PERSISTENT}) {
    device_->prepareStatus = Status(code, "no");
    EXPECT_EQ(run(Variant::PLAIN, kExpectFailure).outcome, Outcome::PASSED);
  }
  for (const ResultCode code :
       {ResultCode::DEAD_OBJECT, ResultCode::UNAVAILABLE_DEVICE, ResultCode::OUT_OF_MEMORY,
        ResultCode::RESOURCE_EXHAUSTED_TRANSIENT}) {
    device_->prepareStatus = Status(code, "no");
    EXPECT_THAT(failure(Variant::PLAIN, kExpectFailure),
                StartsWith("compilation: " + resultCodeName(code)));
  }
  device_->prepareStatus = okStatus();
  device_->execute = [](const auto&, const auto& options) -> hal::ExecutionResult {
    // The run does not wait for an endless loop for the default time.
    EXPECT_TRUE(options.loopTimeout.has_value());
    return {makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT, "loop"), {}, {}};
  };
  EXPECT_EQ(run(Variant::THREADS, kExpectFailure).outcome, Outcome::PASSED);
}

TEST_F(FakeDeviceTest, ADriverThatEndsHasFailedWhateverItAnswered) {
  device_->pid = 1234;
  device_->execute = [&](const auto& request, const auto& options) {
    device_->pid = 1235;
    return goodSums(request, options);
  };
  EXPECT_EQ(failure(), "the driver's process 1234 ended: passed");
  device_->pid = 1234;
  device_->execute = [&](const auto&, const auto&) -> hal::ExecutionResult {
    device_->pid = 0;
    return {opFailed("refused"), {}, {}};
  };
  EXPECT_EQ(failure(Variant::PLAIN, kExpectFailure), "the driver's process 1234 ended: passed");
  device_->pid = 1234;
  EXPECT_EQ(failure(), "the driver's process 1234 ended: execution: OP_FAILED: refused");
}

TEST_F(FakeDeviceTest, WritesOutsideItsOutputs) {
  device_->execute = [](const auto& request, const auto& options) {
    static_cast<uint8_t*>(request.outputs[0].pointer)[10] = 0;
    return goodSums(request, options);
  };
  EXPECT_THAT(failure(), HasSubstr("the execution wrote 2 bytes after the end of output 0"));
  device_->execute = [](const auto& request, const auto& options) {
    *(static_cast<uint8_t*>(request.outputs[0].pointer) - 1) = 0;
    return goodSums(request, options);
  };
  EXPECT_THAT(failure(), HasSubstr("the execution wrote before the first output"));
  device_->execute = [](const auto& request, const auto& options) {
    static_cast<uint8_t*>(request.inputs[0].pointer)[7] ^= 1;
    return goodSums(request, options);
  };
  EXPECT_THAT(failure(), HasSubstr("the execution changed input 0"));
}

TEST_F(FakeDeviceTest, WritesNothing) {
  device_->execute = [](const auto&, const auto&) -> hal::ExecutionResult {
    return {okStatus(), {}, {}};
  };
  EXPECT_THAT(failure(), HasSubstr("2 of 2 elements differ"));
}

TEST_F(FakeDeviceTest, ShapesThatAreNotSo) {
  const auto answering = [&](Status status, std::vector<hal::OutputShape> shapes) {
    device_->execute = [status, shapes](const auto& request, const auto& options) {
      (void)goodSums(request, options);
      return hal::ExecutionResult{status, shapes, {}};
    };
  };
  answering(okStatus(), {{{1, 2}, true}});
  EXPECT_THAT(failure(), HasSubstr("dimensions are [1,2], expected [2]"));
  answering(okStatus(), {{{2}, true}, {{2}, true}});
  EXPECT_THAT(failure(), HasSubstr("OK with 2 output shapes for 1 outputs"));
  answering(okStatus(), {{{2}, false}});
  EXPECT_THAT(failure(), HasSubstr("output 0 is said to be [2] and not to fit"));
  answering(okStatus(), {{{1u << 31, 8}, true}});
  EXPECT_THAT(failure(), HasSubstr("output 0 is said to be [2147483648,8], in a buffer of 8"));
}

TEST_F(FakeDeviceTest, TooLittleRoomHasToBeTold) {
  const auto answering = [&](hal::ExecutionResult result) {
    device_->execute = [result](const auto& request, const auto& options) {
      return request.outputs[0].length < 8 ? result : goodSums(request, options);
    };
  };
  const Status insufficient = makeStatus(ResultCode::OUTPUT_INSUFFICIENT_SIZE, "too small");
  answering({okStatus(), {{{2}, true}}, {}});
  EXPECT_THAT(
      failure(Variant::UNKNOWN_DIMENSIONS),
      HasSubstr(
          "one byte too small: OP_FAILED: output 0 is said to be [2], in a buffer of 7 bytes"));
  answering({opFailed("no"), {}, {}});
  EXPECT_THAT(failure(Variant::UNKNOWN_DIMENSIONS),
              HasSubstr("OP_FAILED: no, expected OUTPUT_INSUFFICIENT_SIZE"));
  answering({insufficient, {{{3}, false}}, {}});
  EXPECT_THAT(failure(Variant::UNKNOWN_RANK),
              HasSubstr("output 0 is said to be [3], expected [2]"));
  answering({insufficient, {{{2}, true}}, {}});
  EXPECT_THAT(failure(Variant::UNKNOWN_RANK), HasSubstr("buffer of output 0 is said to be suffi"));
}

TEST_F(FakeDeviceTest, HostileCases) {
  const auto target = makeHalTarget(device_);
  // The runner does not allocate an output of 4 GB.
  VectorCase huge = parsed(addLine("huge", {1}, {1}, {2}, kExpectFailure));
  huge.model.main.operands[3].dimensions = {65536, 16000};
  const CaseResult result = runCase(*target, huge, Variant::PLAIN);
  EXPECT_EQ(result.outcome, Outcome::FAILED);
  EXPECT_THAT(result.reason, HasSubstr("RESOURCE_EXHAUSTED_PERSISTENT"));
  // The indices are invalid.
  VectorCase wild = parsed(addLine("wild", {1}, {1}, {2}, kExpectFailure));
  wild.model.main.operations[0].inputs[0] = 77;
  for (const Variant variant : halVariants()) {
    EXPECT_EQ(runCase(*target, wild, variant).outcome, Outcome::PASSED);
  }
}

}  // namespace
}  // namespace halyard::conformance
