// Tests devices with personalities, in this process and, where they end it, in their own.
#include "personality_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "hal/client/remote_device.h"
#include "hal/manifest/manifest.h"
#include "test_definitions.h"

namespace halyard::drivers {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// out[2] = a + a. With `withProduct` also out * a, with the types of these operands.
Model sums(bool withProduct = false) {
  Model model;
  const auto tensor = [](Lifetime lifetime) {
    Operand operand;
    operand.type = OperandType::TENSOR_FLOAT32;
    operand.dimensions = {2};
    operand.lifetime = lifetime;
    return operand;
  };
  Operand none;
  none.type = OperandType::INT32;
  none.lifetime = Lifetime::CONSTANT_COPY;
  const int32_t zero = 0;
  none.location = appendConstant(model, &zero, sizeof zero);
  model.main.operands = {tensor(Lifetime::SUBGRAPH_INPUT), none, tensor(Lifetime::SUBGRAPH_OUTPUT)};
  model.main.operations = {{OperationType::ADD, {0, 0, 1}, {2}}};
  model.main.inputIndexes = {0};
  model.main.outputIndexes = {2};
  if (withProduct) {
    model.main.operands.push_back(tensor(Lifetime::SUBGRAPH_OUTPUT));
    model.main.operations.push_back({OperationType::MUL, {2, 0, 1}, {3}});
    model.main.operands[2].lifetime = Lifetime::TEMPORARY_VARIABLE;
    model.main.outputIndexes = {3};
  }
  return model;
}

// An IF between two subgraphs. The second multiplies.
Model branch() {
  Model model = sums();
  const auto inner = [&model](OperationType type) {
    Subgraph subgraph = sums().main;
    subgraph.operations[0].type = type;
    subgraph.operands[1].location = model.main.operands[1].location;
    return subgraph;
  };
  model.referenced = {inner(OperationType::ADD), inner(OperationType::MUL)};
  Operand condition;
  condition.type = OperandType::TENSOR_BOOL8;
  condition.dimensions = {1};
  condition.lifetime = Lifetime::SUBGRAPH_INPUT;
  model.main.operands[1] = condition;
  for (uint32_t i = 0; i < 2; ++i) {
    Operand reference;
    reference.type = OperandType::MODEL;
    reference.lifetime = Lifetime::SUBGRAPH;
    reference.location.offset = i;
    model.main.operands.push_back(reference);
  }
  model.main.operations = {{OperationType::IF, {1, 3, 4, 0}, {2}}};
  model.main.inputIndexes = {1, 0};
  return model;
}

std::shared_ptr<hal::Device> deviceOf(const std::string& json) {
  auto personality = parsePersonality(json);
  EXPECT_TRUE(personality.ok()) << personality.status().toString();
  auto device = makePersonalityDevice(std::move(*personality));
  EXPECT_TRUE(device.ok()) << device.status().toString();
  return *device;
}

Result<std::shared_ptr<hal::PreparedModel>> prepare(hal::Device& device, Model model = sums(),
                                                    const hal::PrepareOptions& options = {}) {
  return device.prepareModel(validated(std::move(model)).value(), options);
}

// The status of one run of sums(); `out` gets its result.
Status runOnce(hal::PreparedModel& prepared, std::vector<float>* out = nullptr,
               const hal::ExecuteOptions& options = {}, hal::Timing* timing = nullptr) {
  std::vector<float> in = {1, 2};
  std::vector<float> result(2);
  hal::Request request;
  for (std::vector<float>* values : {&in, &result}) {
    hal::RequestArgument argument;
    argument.kind = hal::RequestArgument::Kind::POINTER;
    argument.pointer = values->data();
    argument.length = static_cast<uint32_t>(values->size() * sizeof(float));
    (values == &in ? request.inputs : request.outputs).push_back(argument);
  }
  hal::ExecutionResult executed = prepared.executeSynchronously(request, options);
  if (out != nullptr) *out = result;
  if (timing != nullptr) *timing = executed.timing;
  return std::move(executed.status);
}

TEST(PersonalityDeviceTest, SupportsWhatTheRulesAllow) {
  const auto supported = [](const std::string& rule, const Model& model) {
    auto device = deviceOf(R"({"supports": )" + rule + "}");
    auto answer = device->getSupportedOperations(validated(model).value());
    EXPECT_TRUE(answer.ok()) << answer.status().toString();
    const auto prepared = prepare(*device, model);
    const bool all = hal::supportsAll(*answer);
    EXPECT_EQ(prepared.ok(), all) << prepared.status().toString();
    if (!prepared.ok()) {
      EXPECT_THAT(prepared.status().message(), HasSubstr("is not supported"));
    }
    return *answer;
  };
  const auto no = [](const char* reason) { return hal::OperationSupport::no(reason); };
  const Model both = sums(true);
  EXPECT_THAT(supported("{}", both), ElementsAre(true, true));
  EXPECT_THAT(supported(R"({"operations": ["MUL"]})", both),
              ElementsAre(no("its personality does not allow ADD"), true));
  EXPECT_THAT(supported(R"({"not_operations": ["MUL"]})", both),
              ElementsAre(true, no("its personality does not allow MUL")));
  const auto noInteger = no("input 2 is INT32, which its personality does not allow");
  EXPECT_THAT(supported(R"({"operand_types": ["TENSOR_FLOAT32"]})", both),
              ElementsAre(noInteger, noInteger));
  EXPECT_THAT(supported(R"({"not_operand_types": ["INT32"]})", both),
              ElementsAre(noInteger, noInteger));
  EXPECT_THAT(supported(R"({"not_operand_types": ["BOOL"]})", both), ElementsAre(true, true));
  EXPECT_THAT(supported(R"({"deciding_types": ["TENSOR_FLOAT32"]})", both),
              ElementsAre(true, true));
  EXPECT_THAT(
      supported(R"({"deciding_types": ["TENSOR_FLOAT32"], "deciding_input": {"ADD": 2}})", both),
      ElementsAre(no("input 2 is INT32, which its personality does not allow there"), true));
  EXPECT_THAT(
      supported(R"({"deciding_types": ["TENSOR_FLOAT32"], "deciding_input": {"ADD": 9}})", both),
      ElementsAre(no("it has no input 9, whose type decides by its personality"), true));
  // An IF needs the operations of both subgraphs.
  EXPECT_THAT(supported("{}", branch()), ElementsAre(true));
  EXPECT_THAT(
      supported(R"({"not_operations": ["MUL"]})", branch()),
      ElementsAre(no("operation #0 MUL of subgraph 1: its personality does not allow MUL")));
}

TEST(PersonalityDeviceTest, DelaysAreDeadlinesToo) {
  auto device = deviceOf(R"({"delays": {"prepare_ms": 60000, "operations_ms": {"ADD": 60000}}})");
  hal::PrepareOptions late;
  late.deadline = hal::Clock::now() + milliseconds(20);
  const auto missed = prepare(*device, sums(), late);
  EXPECT_EQ(missed.status().code(), ResultCode::MISSED_DEADLINE_TRANSIENT);

  device = deviceOf(R"({"delays": {"operations_ms": {"ADD": 60000}}})");
  const auto prepared = prepare(*device);
  ASSERT_TRUE(prepared.ok());
  hal::ExecuteOptions options;
  options.deadline = hal::Clock::now() + milliseconds(20);
  EXPECT_EQ(runOnce(**prepared, nullptr, options).code(), ResultCode::MISSED_DEADLINE_TRANSIENT);

  std::stop_source source;
  hal::ExecuteOptions cancelled;
  cancelled.cancel = source.get_token();
  std::jthread canceller([&source] { source.request_stop(); });
  const Status status = runOnce(**prepared, nullptr, cancelled);
  EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(status.message(), HasSubstr("cancelled"));
}

TEST(PersonalityDeviceTest, DelaysCountAsTheDevicesTime) {
  const auto device = deviceOf(R"({"delays": {"execute_ms": 3, "operations_ms": {"ADD": 2}}})");
  const auto prepared = prepare(*device);
  ASSERT_TRUE(prepared.ok());
  hal::ExecuteOptions options;
  options.measureTiming = true;
  hal::Timing timing;
  std::vector<float> out;
  ASSERT_TRUE(runOnce(**prepared, &out, options, &timing).ok());
  EXPECT_THAT(out, ElementsAre(2, 4));
  ASSERT_TRUE(timing.timeOnDevice && timing.timeInDriver);
  EXPECT_GE(*timing.timeOnDevice, 5'000'000u);
  EXPECT_LE(*timing.timeOnDevice, *timing.timeInDriver);
}

TEST(PersonalityDeviceTest, FaultsBefallTheCallsTheyAreMeantFor) {
  const auto device = deviceOf(R"({"faults": [
    {"at": "execute", "nth": 2, "times": 2, "do": "fail", "status": "RESOURCE_EXHAUSTED_TRANSIENT",
     "text": "out of tiles"},
    {"at": "prepare", "operation": "MUL", "when": "after_work", "do": "fail", "status": "BAD_DATA"},
    {"at": "get_supported_operations", "nth": 2, "do": "fail", "status": "UNAVAILABLE_DEVICE"}]})");
  const auto prepared = prepare(*device);
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  EXPECT_EQ(prepare(*device, sums(true)).status().toString(), "BAD_DATA: the personality says so");
  std::vector<ResultCode> codes;
  for (int i = 0; i < 4; ++i) codes.push_back(runOnce(**prepared).code());
  EXPECT_THAT(codes, ElementsAre(ResultCode::NO_ERROR, ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                                 ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, ResultCode::NO_ERROR));
  EXPECT_TRUE(device->getSupportedOperations(validated(sums()).value()).ok());
  EXPECT_EQ(device->getSupportedOperations(validated(sums()).value()).status().code(),
            ResultCode::UNAVAILABLE_DEVICE);
  EXPECT_TRUE(device->getSupportedOperations(validated(sums()).value()).ok());
}

TEST(PersonalityDeviceTest, WrongResultsAreWrong) {
  const auto device =
      deviceOf(R"({"faults": [{"at": "execute", "nth": 2, "do": "wrong_result"}]})");
  const auto prepared = prepare(*device);
  ASSERT_TRUE(prepared.ok());
  std::vector<float> out;
  ASSERT_TRUE(runOnce(**prepared, &out).ok());
  EXPECT_THAT(out, ElementsAre(2, 4));
  ASSERT_TRUE(runOnce(**prepared, &out).ok());
  EXPECT_NE(out[0], 2);
  EXPECT_NE(out[1], 4);
  ASSERT_TRUE(runOnce(**prepared, &out).ok());
  EXPECT_THAT(out, ElementsAre(2, 4));
}

TEST(PersonalityDeviceTest, WrongValuesAreALittleTooLarge) {
  const auto device = deviceOf(R"({"wrong_values": {"ADD": 0.25, "MUL": 9}})");
  const auto prepared = prepare(*device);
  ASSERT_TRUE(prepared.ok());
  std::vector<float> out;
  ASSERT_TRUE(runOnce(**prepared, &out).ok());
  EXPECT_THAT(out, ElementsAre(2.5F, 5));
}

TEST(PersonalityDeviceTest, FailuresToStart) {
  auto personality =
      parsePersonality(R"({"faults": [{"at": "start", "do": "fail", "text": "no card"}]})");
  ASSERT_TRUE(personality.ok());
  EXPECT_EQ(makePersonalityDevice(std::move(*personality)).status().toString(),
            "OP_FAILED: no card");
}

// The reference driver in its own process, with a personality written for it.
class PersonalityProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/halyard_personality_test_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern), nullptr);
    folder_ = pattern;
    auto loop = hal::RpcLoop::start();
    ASSERT_TRUE(loop.ok());
    loop_ = *loop;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<std::shared_ptr<hal::RemoteDevice>> open(const std::string& json,
                                                  const std::string& version = "1.3") {
    std::ofstream(folder_ / "p.json") << json;
    std::ofstream(folder_ / "m.json")
        << R"({"name": "test-personality", "version": "1", "hal_version": ")" << version
        << R"(", "executable": ")" << HALYARD_BINARY_DIR
        << R"(/bin/halyard-driver-reference", "arguments": ["--personality",)"
        << R"("${manifest_dir}/p.json"]})";
    HALYARD_ASSIGN_OR_RETURN(const hal::Manifest manifest, hal::loadManifest(folder_ / "m.json"));
    return hal::RemoteDevice::open(loop_, manifest);
  }

  std::filesystem::path folder_;
  std::shared_ptr<hal::RpcLoop> loop_;
};

TEST_F(PersonalityProcessTest, SaysWhatItIsToldToSay) {
  const auto device = open(R"({"version": "acme 7", "type": "GPU", "status": "busy",
    "feature_level": 5, "extensions": [{"name": "com.acme.x"}],
    "capabilities": {"operand_types": {"INT32": {"exec_time": 0.25}}}})");
  ASSERT_TRUE(device.ok()) << device.status().toString();
  const hal::DeviceInfo& info = (*device)->info();
  EXPECT_EQ(info.versionString, "acme 7");
  EXPECT_EQ(info.type, hal::DeviceType::GPU);
  EXPECT_EQ(info.featureLevel, FeatureLevel::FL5);
  EXPECT_EQ((*device)->status(), hal::DeviceStatus::BUSY);
  ASSERT_EQ(info.extensions.size(), 1u);
  EXPECT_EQ(info.extensions[0].name, "com.acme.x");
  EXPECT_EQ(info.capabilities.lookup(OperandType::INT32).execTime, 0.25f);
}

TEST_F(PersonalityProcessTest, OldVersionsAreServedAndNewerOnesRefused) {
  const std::string old = R"({"hal_version": "1.1",
    "capabilities": {"default": {"exec_time": 1, "power_usage": 1}}})";
  const auto device = open(old, "1.1");
  ASSERT_TRUE(device.ok()) << device.status().toString();
  EXPECT_EQ((*device)->info().halVersion, HalVersion::V1_1);
  EXPECT_TRUE(prepare(**device).ok());
  const auto newer = open(old, "1.3");
  EXPECT_THAT(newer.status().message(), HasSubstr("serves HAL 1.1 at most, its manifest says 1.3"));
}

TEST_F(PersonalityProcessTest, ComputesWithoutBursts) {
  const auto device = open(R"({"bursts": false})");
  ASSERT_TRUE(device.ok()) << device.status().toString();
  const auto prepared = prepare(**device);
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  std::vector<float> out;
  const Status status = runOnce(**prepared, &out);
  EXPECT_TRUE(status.ok()) << status.toString();
  EXPECT_THAT(out, ElementsAre(2, 4));
}

TEST_F(PersonalityProcessTest, AWrongPersonalityKeepsItFromStarting) {
  const auto device = open(R"({"version": 1})");
  EXPECT_THAT(device.status().message(), HasSubstr("version"));
}

struct Death {
  const char* fault;
  const char* obituary;
};

TEST_F(PersonalityProcessTest, DiesWhereItIsToldTo) {
  for (const Death& death : {
           Death{R"({"at": "execute", "do": "crash"})", "signal 11"},
           Death{R"({"at": "execute", "do": "abort", "when": "after_work"})", "signal 6"},
           Death{R"({"at": "execute", "do": "kill"})", "signal 9"},
           Death{R"({"at": "execute", "do": "exit", "exit_status": 7})", "exit status 7"},
       }) {
    SCOPED_TRACE(death.fault);
    const auto device = open(std::string(R"({"faults": [)") + death.fault + "]}");
    ASSERT_TRUE(device.ok()) << device.status().toString();
    const auto prepared = prepare(**device);
    ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
    const Status status = runOnce(**prepared);
    EXPECT_EQ(status.code(), ResultCode::DEAD_OBJECT);
    EXPECT_THAT(status.message(), HasSubstr(death.obituary));
  }
}

TEST_F(PersonalityProcessTest, DiesAfterItsAnswer) {
  const auto device = open(
      R"({"faults": [{"at": "execute", "when": "after_answer", "delay_ms": 50, "do": "kill"}]})");
  ASSERT_TRUE(device.ok()) << device.status().toString();
  const auto prepared = prepare(**device);
  ASSERT_TRUE(prepared.ok());
  EXPECT_TRUE(runOnce(**prepared).ok());
  Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    status = runOnce(**prepared);
  }
  EXPECT_EQ(status.code(), ResultCode::DEAD_OBJECT) << status.toString();
}

TEST_F(PersonalityProcessTest, StandsStillUntilContinued) {
  const auto device = open(R"({"faults": [{"at": "execute", "do": "stop", "nth": 1}]})");
  ASSERT_TRUE(device.ok()) << device.status().toString();
  const auto prepared = prepare(**device);
  ASSERT_TRUE(prepared.ok());
  const pid_t driver = (*device)->processId();
  std::jthread nurse([driver] {
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(driver), &info, WSTOPPED | WNOWAIT), 0);
    ::kill(driver, SIGCONT);
  });
  std::vector<float> out;
  const Status status = runOnce(**prepared, &out);
  EXPECT_TRUE(status.ok()) << status.toString();
  EXPECT_THAT(out, ElementsAre(2, 4));
}

TEST_F(PersonalityProcessTest, ItsExceptionIsAnErrorOnly) {
  const auto device =
      open(R"({"faults": [{"at": "execute", "nth": 1, "do": "throw", "text": "tripped"}]})");
  ASSERT_TRUE(device.ok()) << device.status().toString();
  const auto prepared = prepare(**device);
  ASSERT_TRUE(prepared.ok());
  EXPECT_THAT(runOnce(**prepared).message(), HasSubstr("tripped"));
  EXPECT_TRUE(runOnce(**prepared).ok());
}

}  // namespace
}  // namespace halyard::drivers
