// Models divided among driver processes, which fail at each possible point. The results are correct
// by another route, and the report names the device and the cause.
#include <filesystem>
#include <fstream>
#include <thread>

#include "driver_processes_for_test.h"
#include "runtime/compile/compilation.h"
#include "runtime/execute/execution.h"
#include "runtime/testing/plan_test_support.h"
#include "test_definitions.h"

namespace halyard::runtime::testing {
namespace {

namespace fs = std::filesystem;
using enum OperationType;
using ::testing::HasSubstr;
using Direction = Execution::Direction;

size_t openDescriptors() {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    (void)entry;
    ++count;
  }
  return count;
}

size_t residentKilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    size_t kilobytes = 0;
    if (word == "VmRSS:" && status >> kilobytes) return kilobytes;
  }
  return 0;
}

class FailureRoutes : public ::testing::Test {
 protected:
  FailureRoutes() {
    ::setenv("HALYARD_LOG", "quiet", 1);
    ::setenv("HALYARD_PARTITION_OVERHEAD", "off", 1);
    ::setenv("HALYARD_DRIVER_ANSWER_TIMEOUT_MS", "400", 1);
    ::setenv("HALYARD_DRIVER_EXECUTION_TIMEOUT_MS", "1000", 1);
    // out = relu((a + b) * a - b)
    using enum OperandType;
    for (int i = 0; i < 2; ++i) ok(builder_.addOperand(TENSOR_FLOAT32, {4}, 0, 0));
    ok(builder_.addOperand(INT32, {}, 0, 0));
    for (int i = 0; i < 4; ++i) ok(builder_.addOperand(TENSOR_FLOAT32, {4}, 0, 0));
    const int32_t none = 0;
    ok(builder_.setOperandValue(2, &none, sizeof(none)));
    operation(ADD, {0, 1, 2}, 3);
    operation(MUL, {3, 0, 2}, 4);
    operation(SUB, {4, 1, 2}, 5);
    operation(RELU, {5}, 6);
    const std::vector<uint32_t> inputs = {0, 1};
    const std::vector<uint32_t> outputs = {6};
    ok(builder_.identifyInputsAndOutputs(inputs, outputs));
    ok(builder_.finish());
  }

  static void ok(const Status& status) { EXPECT_TRUE(status.ok()) << status.toString(); }
  void operation(OperationType type, std::vector<uint32_t> inputs, uint32_t output) {
    ok(builder_.addOperation(type, inputs, std::vector<uint32_t>{output}));
  }

  // `more`: fields of the personality, each after a comma.
  void addDriver(const std::string& name, const std::string& operations, double time,
                 const std::string& more, const char* version) {
    drivers_.add(name,
                 fmt::format(R"("supports": {{"operations": [{}]}},
                                "capabilities": {{"default": {{"exec_time": {},
                                                               "power_usage": 1}}}}{})",
                             operations, time, more),
                 version);
  }

  // Two drivers with two operations each, and a slower one with all operations.
  void start(const std::string& more, bool withSpare, const char* version = "1.3") {
    addDriver("test-add", R"("ADD", "SUB")", 0.2, more, version);
    addDriver("test-mul", R"("MUL", "RELU")", 0.3, "", version);
    if (withSpare) addDriver("test-all", R"("ADD", "SUB", "MUL", "RELU")", 0.6, "", version);
  }

  std::unique_ptr<Compilation> compile(bool explicitDevices = false) {
    auto compilation = Compilation::create(builder_, drivers_.all(), explicitDevices).value();
    const Status status = compilation->finish();
    EXPECT_TRUE(status.ok()) << status.toString();
    return compilation;
  }

  static Status run(const Compilation& compilation, Burst* burst = nullptr) {
    Execution execution(compilation);
    float a[] = {1, 2, 3, -4};
    float b[] = {5, 6, -7, 8};
    float out[] = {-1, -1, -1, -1};
    ok(execution.setArgument(Direction::INPUT, 0, nullptr, a, sizeof(a)));
    ok(execution.setArgument(Direction::INPUT, 1, nullptr, b, sizeof(b)));
    ok(execution.setArgument(Direction::OUTPUT, 0, nullptr, out, sizeof(out)));
    HALYARD_RETURN_IF_ERROR(burst == nullptr ? execution.compute() : execution.computeIn(*burst));
    EXPECT_THAT(out, ::testing::ElementsAre(1, 10, 0, 0));
    return okStatus();
  }

  DriverProcesses drivers_{REFERENCE_DRIVER};
  ExtensionRegistry registry_;
  ModelBuilder builder_{registry_};
};

struct Fault {
  const char* name;
  const char* json;   // without the braces
  const char* cause;  // in the report; empty: the report needs no cause
};

constexpr Fault kFaults[] = {
    {"none", R"("at": "release", "nth": 100000, "do": "kill")", ""},
    {"supported", R"("at": "get_supported_operations", "do": "fail", "text": "no answer")", ""},
    {"supportedThrows", R"("at": "get_supported_operations", "do": "throw")", ""},
    {"supportedCrashes", R"("at": "get_supported_operations", "nth": 1, "do": "crash")", ""},
    {"prepareFails", R"("at": "prepare", "do": "fail", "text": "no tiles")", "no tiles"},
    {"prepareFailsOnce", R"("at": "prepare", "nth": 1, "do": "fail", "text": "no tiles")",
     "no tiles"},
    {"prepareExhausted",
     R"("at": "prepare", "do": "fail", "status": "RESOURCE_EXHAUSTED_PERSISTENT", "text": "used up")",
     "used up"},
    {"prepareThrows", R"("at": "prepare", "do": "throw", "text": "bad cast")", "bad cast"},
    {"prepareCrashes", R"("at": "prepare", "do": "crash")", "test-add"},
    {"prepareKilledOnce", R"("at": "prepare", "nth": 2, "do": "kill")", "test-add"},
    {"prepareExits", R"("at": "prepare", "when": "after_work", "do": "exit")", "test-add"},
    {"executeFails", R"("at": "execute", "do": "fail", "text": "no power")", "no power"},
    {"executeFailsSometimes", R"("at": "execute", "nth": 3, "do": "fail", "text": "no power")",
     "no power"},
    {"executeUnavailable", R"("at": "execute", "do": "fail", "status": "UNAVAILABLE_DEVICE")",
     "UNAVAILABLE_DEVICE"},
    {"executeBadData", R"("at": "execute", "do": "fail", "status": "BAD_DATA", "text": "what?")",
     "what?"},
    {"executeExhaustedOnce",
     R"("at": "execute", "nth": 2, "do": "fail", "status": "RESOURCE_EXHAUSTED_TRANSIENT", "text": "used up")",
     "used up"},
    {"executeExhausted",
     R"("at": "execute", "do": "fail", "status": "RESOURCE_EXHAUSTED_PERSISTENT", "text": "used up")",
     "used up"},
    {"executeThrows", R"("at": "execute", "do": "throw", "text": "bad cast")", "bad cast"},
    {"executeFailsAfterWork",
     R"("at": "execute", "when": "after_work", "do": "fail", "text": "late")", "late"},
    {"executeCrashes", R"("at": "execute", "do": "crash")", "signal 11"},
    {"executeCrashesSometimes", R"("at": "execute", "nth": 2, "do": "crash")", "signal 11"},
    {"executeCrashesAfterWork", R"("at": "execute", "nth": 3, "when": "after_work", "do": "crash")",
     "signal 11"},
    {"executeAborts", R"("at": "execute", "nth": 3, "do": "abort")", "signal 6"},
    {"executeKilled", R"("at": "execute", "nth": 4, "do": "kill")", "signal 9"},
    {"executeExits", R"("at": "execute", "nth": 3, "do": "exit", "exit_status": 3)", "DEAD_OBJECT"},
    {"executeHangs", R"("at": "execute", "nth": 5, "times": 1, "do": "hang")", "has not answered"},
    {"executeStops", R"("at": "execute", "nth": 3, "do": "stop")", "DEAD_OBJECT"},
    {"executeDiesAfterAnswer",
     R"("at": "execute", "nth": 3, "when": "after_answer", "delay_ms": 5, "do": "kill")", ""},
    {"subOnly", R"("at": "execute", "operation": "SUB", "do": "fail", "text": "no SUB")", "no SUB"},
    {"releaseCrashes", R"("at": "release", "do": "crash")", ""},
};

class EachFault : public FailureRoutes, public ::testing::WithParamInterface<Fault> {
 protected:
  void expectRight(bool withSpare, const char* version) {
    start(fmt::format(R"(, "faults": [{{{}}}])", GetParam().json), withSpare, version);
    const auto compilation = compile();
    Burst burst(*compilation);
    for (int i = 0; i < 8; ++i) {
      const Status status = run(*compilation, i % 3 == 2 ? &burst : nullptr);
      ASSERT_TRUE(status.ok()) << "run " << i << ": " << status.toString();
    }
    if (GetParam().cause[0] == '\0') return;
    bool found = false;
    std::string all;
    for (const ReportEvent& event : compilation->report()->events()) {
      all += fmt::format("{} {} -> {} ({}): {}\n", reportEventKindName(event.kind), event.device,
                         event.target, event.count, event.cause);
      found = found || (event.device == "test-add" &&
                        event.cause.find(GetParam().cause) != std::string::npos);
    }
    EXPECT_TRUE(found) << "expected '" << GetParam().cause << "' in\n" << all;
  }
};

TEST_P(EachFault, ASpareDeviceTakesOver) { expectRight(true, "1.3"); }
TEST_P(EachFault, TheCpuTakesOver) { expectRight(false, "1.3"); }
TEST_P(EachFault, OfAnOldDriver) { expectRight(true, "1.1"); }

INSTANTIATE_TEST_SUITE_P(All, EachFault, ::testing::ValuesIn(kFaults),
                         [](const auto& fault) { return fault.param.name; });

TEST_F(FailureRoutes, NamedDevicesGiveTheErrorInstead) {
  start(R"(, "faults": [{"at": "execute", "nth": 2, "do": "kill"}])", false);
  const auto compilation = compile(true);
  // The second execution of the driver is the SUB of the first run.
  const Status status = run(*compilation);
  EXPECT_EQ(status.code(), ResultCode::DEAD_OBJECT) << status.toString();
  EXPECT_THAT(status.message(), HasSubstr("test-add"));
  EXPECT_THAT(status.message(), HasSubstr("signal 9"));
}

// The driver still answers pings while it hangs.
TEST_F(FailureRoutes, NamedDevicesGiveTheErrorOfAHang) {
  start(R"(, "faults": [{"at": "execute", "nth": 2, "do": "hang"}])", false);
  const auto compilation = compile(true);
  const Status status = run(*compilation);
  EXPECT_EQ(status.code(), ResultCode::DEAD_OBJECT) << status.toString();
  EXPECT_THAT(status.message(), HasSubstr("test-add"));
  EXPECT_THAT(status.message(), HasSubstr("has not answered"));
}

TEST_F(FailureRoutes, StrictModeGivesTheErrorInstead) {
  start(R"(, "faults": [{"at": "execute", "do": "fail", "text": "no power"}])", true);
  ::setenv("HALYARD_REQUIRE_DEVICE", "test-add,test-mul", 1);
  const auto compilation = compile();
  const Status status = run(*compilation);
  ::unsetenv("HALYARD_REQUIRE_DEVICE");
  EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(status.message(), HasSubstr("HALYARD_REQUIRE_DEVICE"));
  EXPECT_THAT(status.message(), HasSubstr("no power"));
}

class FencedFailure : public FailureRoutes, public ::testing::WithParamInterface<const char*> {};

TEST_P(FencedFailure, IsComputedAfterAll) {
  start(fmt::format(R"(, "faults": [{{"at": "execute", "nth": 2, "do": "{}"}}])", GetParam()),
        true);
  const auto compilation = compile();
  for (int i = 0; i < 4; ++i) {
    Execution execution(*compilation);
    float a[] = {1, 2, 3, -4};
    float b[] = {5, 6, -7, 8};
    float out[] = {-1, -1, -1, -1};
    ok(execution.setArgument(Direction::INPUT, 0, nullptr, a, sizeof(a)));
    ok(execution.setArgument(Direction::INPUT, 1, nullptr, b, sizeof(b)));
    ok(execution.setArgument(Direction::OUTPUT, 0, nullptr, out, sizeof(out)));
    auto fence = createFence();
    ASSERT_TRUE(fence.ok());
    auto before = Event::fromFence(fence->fence.get());
    ASSERT_TRUE(before.ok());
    Event* const dependencies[] = {before->get()};
    std::thread signaller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      fence->signaller.signal();
    });
    auto event = execution.startComputeWithDependencies(dependencies, 0);
    const Status status = event.ok() ? (*event)->wait() : event.takeStatus();
    signaller.join();
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_THAT(out, ::testing::ElementsAre(1, 10, 0, 0));
  }
}

INSTANTIATE_TEST_SUITE_P(All, FencedFailure, ::testing::Values("kill", "hang"));

// A failed fence is not a driver's fault. No device computes with data that never became ready.
TEST_F(FailureRoutes, FencesThatFailAreErrors) {
  start("", true);
  const auto compilation = compile();
  Execution execution(*compilation);
  float a[4] = {};
  float b[4] = {};
  float out[] = {-1, -1, -1, -1};
  ok(execution.setArgument(Direction::INPUT, 0, nullptr, a, sizeof(a)));
  ok(execution.setArgument(Direction::INPUT, 1, nullptr, b, sizeof(b)));
  ok(execution.setArgument(Direction::OUTPUT, 0, nullptr, out, sizeof(out)));
  auto fence = createFence();
  ASSERT_TRUE(fence.ok());
  auto before = Event::fromFence(fence->fence.get());
  ASSERT_TRUE(before.ok());
  Event* const dependencies[] = {before->get()};
  auto event = execution.startComputeWithDependencies(dependencies, 0);
  ASSERT_TRUE(event.ok()) << event.status().toString();
  fence->signaller.fail();
  EXPECT_EQ((*event)->wait().code(), ResultCode::OP_FAILED);
  EXPECT_THAT(out, ::testing::ElementsAre(-1, -1, -1, -1));
}

TEST_F(FailureRoutes, ManyRunsLeaveNothingBehind) {
  start("", true);
  const auto compilation = compile();
  Burst burst(*compilation);
  const auto runs = [&](int count) {
    for (int i = 0; i < count; ++i)
      ASSERT_TRUE(run(*compilation, i % 2 == 0 ? &burst : nullptr).ok());
  };
  runs(300);
  const size_t descriptors = openDescriptors();
  const size_t memory = residentKilobytes();
  runs(5000);
  EXPECT_LE(openDescriptors(), descriptors + 2);
  EXPECT_LE(residentKilobytes(), memory + 4096);
}

// Repeated recoveries, each with a new process.
TEST_F(FailureRoutes, ManyCompilationsWithDyingDriversLeaveNothingBehind) {
  start(R"(, "faults": [{"at": "execute", "nth": 3, "do": "kill"}])", true);
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const auto compilation = compile();
      for (int k = 0; k < 3; ++k) ASSERT_TRUE(run(*compilation).ok());
    }
  };
  rounds(5);
  const size_t descriptors = openDescriptors();
  rounds(20);
  EXPECT_LE(openDescriptors(), descriptors + 8);
}

TEST_F(FailureRoutes, ThreadsThatShareACompilation) {
  start(R"(, "faults": [{"at": "execute", "nth": 20, "do": "kill"}])", true);
  const auto compilation = compile();
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) {
        const Status status = run(*compilation);
        EXPECT_TRUE(status.ok()) << status.toString();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace halyard::runtime::testing
