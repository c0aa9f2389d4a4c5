// Tests of RemoteDevice against a driver in its own process.
#include "hal/client/remote_device.h"

#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <new>
#include <thread>

#include "hal/testing/test_device.h"
#include "hal/testing/test_driver_manifest.h"

namespace halyard::hal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace hal::testing;  // NOLINT: the test driver's vocabulary

std::shared_ptr<const Model> share(Model model) {
  return std::make_shared<const Model>(std::move(model));
}

// The number of open descriptors of this process.
size_t openFds() {
  size_t count = 0;
  DIR* const dir = ::opendir("/proc/self/fd");
  while (::readdir(dir) != nullptr) ++count;
  ::closedir(dir);
  return count;
}

// The number of open descriptors that last. Other threads open some for a moment, so it is the
// smallest of several counts.
size_t lastingFds() {
  size_t least = openFds();
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
    least = std::min(least, openFds());
  }
  return least;
}

// True when the process has ended, even if no process has collected it yet.
bool hasEnded(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string stat;
  if (!std::getline(file, stat)) return true;
  const size_t name = stat.rfind(')');
  return name != std::string::npos && stat.substr(name).starts_with(") Z");
}

bool endsWithin(pid_t pid, milliseconds limit) {
  const auto end = Clock::now() + limit;
  while (!hasEnded(pid)) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

const OperationSupport kAddition = OperationSupport::yes(kCostOfAddition);

class RemoteDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto loop = RpcLoop::start();
    ASSERT_TRUE(loop.ok()) << loop.status().toString();
    loop_ = *loop;
  }
  std::shared_ptr<RemoteDevice> open(HalVersion version = HalVersion::V1_3) {
    auto device = RemoteDevice::open(loop_, testManifest(version));
    EXPECT_TRUE(device.ok()) << device.status().toString();
    return device.ok() ? *device : nullptr;
  }
  std::shared_ptr<PreparedModel> prepare(Device& device, Model model) {
    auto prepared = device.prepareModel(validated(share(std::move(model))).value(), {});
    EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
    return prepared.ok() ? *prepared : nullptr;
  }

  std::shared_ptr<RpcLoop> loop_;
};

void expectAdds(PreparedModel& prepared) {
  const std::vector<float> a = {1, 2, 3, 4};
  const std::vector<float> b = {10, 20, 30, 40};
  std::vector<float> out(4);
  const auto result =
      prepared.executeSynchronously(pointerRequest(a.data(), b.data(), out.data(), 4), {});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(out, ::testing::ElementsAre(11, 22, 33, 44));
}

TEST_F(RemoteDeviceTest, FetchesInfo) {
  const auto device = open();
  ASSERT_NE(device, nullptr);
  const DeviceInfo& info = device->info();
  EXPECT_EQ(info.name, "test-driver");  // from the manifest
  EXPECT_EQ(info.versionString, "test 1");
  EXPECT_EQ(info.type, DeviceType::CPU);
  EXPECT_EQ(info.halVersion, HalVersion::V1_3);
  EXPECT_EQ(info.capabilities.lookup(OperandType::TENSOR_FLOAT32).execTime, 2.0f);
  EXPECT_EQ(info.capabilities.whilePerformance.powerUsage, 3.0f);
  EXPECT_GT(device->processId(), 0);
  EXPECT_NE(device->processId(), ::getpid());
  EXPECT_EQ(device->status(), DeviceStatus::AVAILABLE);
}

TEST_F(RemoteDeviceTest, ComputesWithEveryHalVersion) {
  for (const HalVersion version :
       {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2, HalVersion::V1_3}) {
    SCOPED_TRACE(std::string(halVersionName(version)));
    const auto device = open(version);
    ASSERT_NE(device, nullptr);
    if (version < HalVersion::V1_2) {
      EXPECT_EQ(device->info().versionString, "UNKNOWN");
      EXPECT_EQ(device->info().type, DeviceType::UNKNOWN);
      EXPECT_EQ(device->info().capabilities.operandPerformance.size(), 8u);
    }
    const auto supported = device->getSupportedOperations(validated(addModel(4)).value());
    ASSERT_TRUE(supported.ok()) << supported.status().toString();
    EXPECT_THAT(*supported, ::testing::ElementsAre(kAddition));
    Model other = addModel(4);
    other.main.operations[0].type = OperationType::MUL;
    const auto refused = device->getSupportedOperations(validated(share(other)).value());
    ASSERT_TRUE(refused.ok()) << refused.status().toString();
    EXPECT_THAT(*refused, ::testing::ElementsAre(OperationSupport::no("it only adds")));
    const auto prepared = prepare(*device, addModel(4));
    ASSERT_NE(prepared, nullptr);
    expectAdds(*prepared);
  }
}

TEST_F(RemoteDeviceTest, PreparesIfSupportedWithEveryHalVersion) {
  for (const HalVersion version :
       {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2, HalVersion::V1_3}) {
    SCOPED_TRACE(std::string(halVersionName(version)));
    const auto device = open(version);
    ASSERT_NE(device, nullptr);
    const auto both = device->prepareIfSupported(validated(share(addModel(4))).value(), {});
    ASSERT_TRUE(both.ok()) << both.status().toString();
    EXPECT_THAT(both->supported, ::testing::ElementsAre(kAddition));
    ASSERT_TRUE(both->prepared.has_value());
    ASSERT_TRUE(both->prepared->ok()) << both->prepared->status().toString();
    expectAdds(***both->prepared);

    Model other = addModel(4);
    other.main.operations[0].type = OperationType::SUB;
    const auto refused = device->prepareIfSupported(validated(share(other)).value(), {});
    ASSERT_TRUE(refused.ok()) << refused.status().toString();
    ASSERT_EQ(refused->supported.size(), 1u);
    // SUB came with HAL 1.1, so that the older driver is not asked.
    EXPECT_THAT(refused->supported[0].reason, version < HalVersion::V1_1
                                                  ? HasSubstr("needs feature level 2")
                                                  : HasSubstr("it only adds"));
    EXPECT_FALSE(refused->prepared.has_value());
  }
}

// As with prepareModel, the driver does not get the preparation.
TEST_F(RemoteDeviceTest, APassedDeadlineIsAnErrorOfThePreparation) {
  const auto device = open();
  ASSERT_NE(device, nullptr);
  PrepareOptions late;
  late.deadline = Clock::now() - seconds(1);
  const auto both = device->prepareIfSupported(validated(share(addModel(4))).value(), late);
  ASSERT_TRUE(both.ok()) << both.status().toString();
  EXPECT_THAT(both->supported, ::testing::ElementsAre(kAddition));
  ASSERT_TRUE(both->prepared.has_value());
  EXPECT_EQ(both->prepared->status().code(), ResultCode::MISSED_DEADLINE_PERSISTENT);
}

// The driver dies during the preparation, after it has answered the question.
TEST_F(RemoteDeviceTest, ADriverThatDiesOfPreparingHasSaidWhatItSupports) {
  ::setenv("HALYARD_TEST_DRIVER", "dies", 1);
  const auto device = open();
  EXPECT_NE(device, nullptr);
  for (int i = 0; i < 10 && device != nullptr; ++i) {
    const auto both = device->prepareIfSupported(validated(share(addModel(4))).value(), {});
    EXPECT_TRUE(both.ok()) << both.status().toString();
    if (!both.ok()) break;
    EXPECT_THAT(both->supported, ::testing::ElementsAre(kAddition));
    EXPECT_TRUE(both->prepared.has_value());
    if (!both->prepared) break;
    EXPECT_EQ(both->prepared->status().code(), ResultCode::DEAD_OBJECT);
    EXPECT_THAT(both->prepared->status().message(), HasSubstr("prepareModel_1_3"));
  }
  ::unsetenv("HALYARD_TEST_DRIVER");
}

TEST_F(RemoteDeviceTest, AFailedPreparationIsAnErrorOfPrepareModel) {
  ::setenv("HALYARD_TEST_DRIVER", "fails", 1);
  const auto device = open();
  ::unsetenv("HALYARD_TEST_DRIVER");
  ASSERT_NE(device, nullptr);
  const auto both = device->prepareIfSupported(validated(share(addModel(4))).value(), {});
  ASSERT_TRUE(both.ok()) << both.status().toString();
  EXPECT_THAT(both->supported, ::testing::ElementsAre(kAddition));
  ASSERT_TRUE(both->prepared.has_value());
  const auto expected = device->prepareModel(validated(share(addModel(4))).value(), {});
  EXPECT_EQ(both->prepared->status().toString(), expected.status().toString());
  EXPECT_THAT(expected.status().message(), HasSubstr("driver 'test-driver'"));
}

TEST_F(RemoteDeviceTest, LargeConstantsTravelInSharedMemory) {
  const auto device = open();
  ASSERT_NE(device, nullptr);
  constexpr uint32_t kCount = 5'000'000;  // 20 MB
  std::vector<float> constant(kCount);
  for (uint32_t i = 0; i < kCount; ++i) constant[i] = static_cast<float>(i % 1000);
  const auto prepared = prepare(*device, addConstantModel(constant));
  ASSERT_NE(prepared, nullptr);
  std::vector<float> a(kCount, 1.0f);
  std::vector<float> out(kCount);
  const auto result =
      prepared->executeSynchronously(pointerRequest(a.data(), nullptr, out.data(), kCount), {});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  for (uint32_t i = 0; i < kCount; i += 4999) ASSERT_EQ(out[i], constant[i] + 1.0f) << i;
}

TEST_F(RemoteDeviceTest, KilledDriverIsADeadObjectAndComesBack) {
  const auto device = open();
  ASSERT_NE(device, nullptr);
  const pid_t pid = device->processId();
  const auto prepared = prepare(*device, addModel(4));
  ASSERT_NE(prepared, nullptr);

  // Two executions that do not end, so that several pending calls must end with the driver.
  std::vector<ExecutionResult> results(2);
  std::vector<std::thread> threads;
  for (ExecutionResult& result : results) {
    threads.emplace_back([&] {
      const std::vector<float> a(4, kHang);
      std::vector<float> out(4);
      result =
          prepared->executeSynchronously(pointerRequest(a.data(), a.data(), out.data(), 4), {});
    });
  }
  std::this_thread::sleep_for(milliseconds(100));
  const auto killed = Clock::now();
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(Clock::now() - killed, seconds(1));
  for (const ExecutionResult& result : results) {
    EXPECT_EQ(result.status.code(), ResultCode::DEAD_OBJECT);
    EXPECT_THAT(result.status.message(),
                AllOf(HasSubstr("test-driver"), HasSubstr(fmt::format("process {}", pid)),
                      HasSubstr("signal 9 (Killed)"), HasSubstr("executeSynchronously_1_3")));
  }
  EXPECT_EQ(device->processId(), 0);
  EXPECT_EQ(device->status(), DeviceStatus::OFFLINE);

  // The prepared model ended with its process. The device did not.
  const std::vector<float> a(4, 1.0f);
  std::vector<float> out(4);
  const auto late =
      prepared->executeSynchronously(pointerRequest(a.data(), a.data(), out.data(), 4), {});
  EXPECT_EQ(late.status.code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(late.status.message(), HasSubstr("signal 9"));
  const auto again = prepare(*device, addModel(4));
  ASSERT_NE(again, nullptr);
  EXPECT_NE(device->processId(), pid);
  expectAdds(*again);
}

TEST_F(RemoteDeviceTest, ApplicationThatIgnoresItsChildrenGetsAnAnswerToo) {
  const auto device = open();
  ASSERT_NE(device, nullptr);
  const auto prepared = prepare(*device, addModel(4));
  ASSERT_NE(prepared, nullptr);
  ::signal(SIGCHLD, SIG_IGN);  // the kernel keeps no exit status
  const std::vector<float> a(4, kAbort);
  std::vector<float> out(4);
  const auto result =
      prepared->executeSynchronously(pointerRequest(a.data(), a.data(), out.data(), 4), {});
  ::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(result.status.code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(result.status.message(), HasSubstr("ended"));
  EXPECT_NE(prepare(*device, addModel(4)), nullptr);
}

TEST_F(RemoteDeviceTest, ManyPoolsAndTooMany) {
  const auto device = open();
  ASSERT_NE(device, nullptr);
  // The first float of each pool is the pool's index. The model adds that of the last pool.
  const auto modelWith = [](uint32_t pools) {
    Model model = addModel(1);
    model.main.inputIndexes = {0};
    model.main.operands[1].lifetime = Lifetime::CONSTANT_REFERENCE;
    model.main.operands[1].location = {pools - 1, 0, 4};
    for (uint32_t i = 0; i < pools; ++i) {
      model.pools.push_back(SharedMemory::create(4, "test").value());
      *reinterpret_cast<float*>(model.pools.back()->map().value().data()) = static_cast<float>(i);
    }
    return model;
  };
  const auto addedBy = [&](Model model) {
    const auto prepared = prepare(*device, std::move(model));
    if (prepared == nullptr) return -1.0f;
    const float a = 0;
    float out = -1;
    EXPECT_TRUE(
        prepared->executeSynchronously(pointerRequest(&a, nullptr, &out, 1), {}).status.ok());
    return out;
  };
  EXPECT_EQ(addedBy(modelWith(128)), 127.0f);
  const auto tooMany = device->prepareModel(validated(share(modelWith(129))).value(), {});
  EXPECT_EQ(tooMany.status().code(), ResultCode::BAD_DATA);
  EXPECT_THAT(tooMany.status().message(), HasSubstr("129 files"));
  // Pools with the same memory share one file.
  Model repeated = modelWith(3);
  for (int i = 0; i < 300; ++i) repeated.pools.push_back(repeated.pools[1]);
  repeated.main.operands[1].location.poolIndex = 302;
  EXPECT_EQ(addedBy(std::move(repeated)), 1.0f);
}

TEST_F(RemoteDeviceTest, DriverKilledBetweenCallsIsStartedAgainAtOnce) {
  const auto device = open();
  ASSERT_NE(device, nullptr);
  for (int i = 0; i < 5; ++i) {
    const pid_t pid = device->processId();
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    ASSERT_TRUE(endsWithin(pid, seconds(1)) || device->processId() == 0);
    while (device->processId() == pid) std::this_thread::yield();
    const auto prepared = prepare(*device, addModel(4));
    ASSERT_NE(prepared, nullptr);
    expectAdds(*prepared);
  }
}

TEST_F(RemoteDeviceTest, AbortAndExceptionInTheDriver) {
  const auto device = open();
  ASSERT_NE(device, nullptr);
  const auto prepared = prepare(*device, addModel(4));
  ASSERT_NE(prepared, nullptr);
  std::vector<float> out(4);
  const std::vector<float> thrown(4, kThrow);
  const auto failed = prepared->executeSynchronously(
      pointerRequest(thrown.data(), thrown.data(), out.data(), 4), {});
  EXPECT_EQ(failed.status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(failed.status.message(), HasSubstr("the test wants it"));
  expectAdds(*prepared);

  const std::vector<float> aborted(4, kAbort);
  const auto dead = prepared->executeSynchronously(
      pointerRequest(aborted.data(), aborted.data(), out.data(), 4), {});
  EXPECT_EQ(dead.status.code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(dead.status.message(), HasSubstr("signal 6 (Aborted)"));
}

TEST_F(RemoteDeviceTest, InsufficientOutputReportsItsShape) {
  const auto device = open();
  ASSERT_NE(device, nullptr);
  const auto prepared = prepare(*device, addModel(0));
  ASSERT_NE(prepared, nullptr);
  const std::vector<float> a(4, kTooSmall);
  std::vector<float> out(4, -1.0f);
  Request request = pointerRequest(a.data(), a.data(), out.data(), 4);
  request.outputs[0].dimensions.clear();
  request.outputs[0].length = 8;
  const auto result = prepared->executeSynchronously(request, {});
  EXPECT_EQ(result.status.code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE);
  ASSERT_EQ(result.outputShapes.size(), 1u);
  EXPECT_FALSE(result.outputShapes[0].isSufficient);
  EXPECT_EQ(result.outputShapes[0].dimensions, Shape{4});
  EXPECT_EQ(out, std::vector<float>(4, -1.0f));
}

TEST_F(RemoteDeviceTest, TimingComesInWhenAsked) {
  const auto device = open();
  ASSERT_NE(device, nullptr);
  const auto prepared = prepare(*device, addModel(1));
  ASSERT_NE(prepared, nullptr);
  const float a = 1;
  float out = 0;
  ExecuteOptions options;
  EXPECT_FALSE(prepared->executeSynchronously(pointerRequest(&a, &a, &out, 1), options)
                   .timing.timeInDriver.has_value());
  options.measureTiming = true;
  const auto timed = prepared->executeSynchronously(pointerRequest(&a, &a, &out, 1), options);
  EXPECT_EQ(timed.timing.timeOnDevice, 2'000'000u);
  EXPECT_EQ(timed.timing.timeInDriver, 3'000'000u);
}

TEST_F(RemoteDeviceTest, OldDriverRefusesNewModelsByName) {
  const auto device = open(HalVersion::V1_0);
  ASSERT_NE(device, nullptr);
  Model model = addModel(4);
  for (const uint32_t index : {0u, 1u, 3u}) {
    model.main.operands[index].type = OperandType::TENSOR_FLOAT16;
  }
  model.main.operands[2].type = OperandType::INT32;
  const auto prepared = device->prepareModel(validated(share(model)).value(), {});
  EXPECT_EQ(prepared.status().code(), ResultCode::BAD_DATA);
  EXPECT_THAT(prepared.status().message(),
              AllOf(HasSubstr("test-driver"), HasSubstr("operation #0 ADD"), HasSubstr("HAL 1.2")));
}

TEST_F(RemoteDeviceTest, ConcurrentExecutions) {
  const auto device = open();
  ASSERT_NE(device, nullptr);
  const auto prepared = prepare(*device, addModel(1000));
  ASSERT_NE(prepared, nullptr);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<float> a(1000, static_cast<float>(t));
      std::vector<float> out(1000);
      for (int i = 0; i < 200; ++i) {
        const auto result = prepared->executeSynchronously(
            pointerRequest(a.data(), a.data(), out.data(), 1000), {});
        if (!result.status.ok() || out != std::vector<float>(1000, 2.0f * static_cast<float>(t))) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(RemoteDeviceTest, NoDescriptorsLeak) {
  const auto device = open();
  ASSERT_NE(device, nullptr);
  const auto round = [&] {
    const auto prepared = prepare(*device, addConstantModel(std::vector<float>(50'000, 1.0f)));
    ASSERT_NE(prepared, nullptr);
    const std::vector<float> a(50'000, 1.0f);
    std::vector<float> out(50'000);
    ASSERT_TRUE(
        prepared->executeSynchronously(pointerRequest(a.data(), nullptr, out.data(), 50'000), {})
            .status.ok());
  };
  round();
  (void)device->status();
  const size_t before = lastingFds();
  for (int i = 0; i < 100; ++i) round();
  (void)device->status();  // after the last release
  EXPECT_EQ(lastingFds(), before);

  const auto cycle = [&] {
    const auto other = open();
    ASSERT_NE(other, nullptr);
  };
  cycle();
  const size_t beforeStarts = openFds();
  for (int i = 0; i < 10; ++i) cycle();
  // The end of the last process may still be pending.
  for (int i = 0; i < 1000 && openFds() > beforeStarts; ++i) {
    std::this_thread::sleep_for(milliseconds(2));
  }
  EXPECT_LE(openFds(), beforeStarts);
}

// Not a test: the client process of the next test, which kills it during the execution.
TEST_F(RemoteDeviceTest, DISABLED_ClientThatComputesForEver) {
  const char* const fd = std::getenv("HALYARD_TEST_PIPE");
  ASSERT_NE(fd, nullptr);
  const auto device = open();
  ASSERT_NE(device, nullptr);
  const auto prepared = prepare(*device, addModel(4));
  ASSERT_NE(prepared, nullptr);
  const pid_t driver = device->processId();
  ASSERT_EQ(::write(std::atoi(fd), &driver, sizeof driver), static_cast<ssize_t>(sizeof driver));
  const std::vector<float> a(4, kHang);
  std::vector<float> out(4);
  (void)prepared->executeSynchronously(pointerRequest(a.data(), a.data(), out.data(), 4), {});
}

TEST_F(RemoteDeviceTest, DriverEndsWithItsClientInTheMiddleOfAComputation) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  ASSERT_EQ(::fcntl(pipe[0], F_SETFD, FD_CLOEXEC), 0);
  ::setenv("HALYARD_TEST_PIPE", std::to_string(pipe[1]).c_str(), 1);
  const pid_t client = ::fork();
  if (client == 0) {
    ::execl("/proc/self/exe", "client", "--gtest_also_run_disabled_tests",
            "--gtest_filter=*.DISABLED_ClientThatComputesForEver", nullptr);
    ::_exit(99);
  }
  ::unsetenv("HALYARD_TEST_PIPE");
  ::close(pipe[1]);
  pid_t driver = 0;
  ASSERT_EQ(::read(pipe[0], &driver, sizeof driver), static_cast<ssize_t>(sizeof driver));
  ::close(pipe[0]);
  ASSERT_GT(driver, 0);
  std::this_thread::sleep_for(milliseconds(100));
  ASSERT_FALSE(hasEnded(driver));
  ASSERT_EQ(::kill(client, SIGKILL), 0);
  ASSERT_EQ(::waitpid(client, nullptr, 0), client);
  // Without a check for its client's end, the driver would compute forever.
  EXPECT_TRUE(endsWithin(driver, seconds(20)));
}

TEST_F(RemoteDeviceTest, DriverEndsWithItsDevice) {
  auto device = open();
  ASSERT_NE(device, nullptr);
  const pid_t pid = device->processId();
  auto prepared = prepare(*device, addModel(4));
  device.reset();
  ASSERT_NE(prepared, nullptr);
  expectAdds(*prepared);  // a prepared model keeps the process running
  prepared.reset();
  EXPECT_TRUE(endsWithin(pid, seconds(20)));
}

class StartFailureTest : public RemoteDeviceTest {
 protected:
  void TearDown() override { ::unsetenv("HALYARD_TEST_DRIVER"); }
  Status openStatus(const char* mode) {
    ::setenv("HALYARD_TEST_DRIVER", mode, 1);
    return RemoteDevice::open(loop_, testManifest(), milliseconds(300)).status();
  }
};

TEST_F(StartFailureTest, SilentDriverIsKilled) {
  const auto start = Clock::now();
  const Status status = openStatus("silent");
  EXPECT_LT(Clock::now() - start, seconds(2));
  EXPECT_EQ(status.code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("300 ms"), HasSubstr("killed")));
  loop_.reset();                                   // collects the process
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no child is left
}

TEST_F(StartFailureTest, ExitStatusIsTold) {
  const Status status = openStatus("exit");
  EXPECT_EQ(status.code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(status.message(), HasSubstr("exit status 3 during its start"));
}

// The driver's own words, limited and printable.
TEST_F(StartFailureTest, TheReasonOfARefusalArrives) {
  const Status status = openStatus("refuses");
  EXPECT_EQ(status.code(), ResultCode::UNAVAILABLE_DEVICE);
  EXPECT_THAT(status.message(),
              HasSubstr("driver 'test-driver': its start: /dev/doubler0? is not there!"));
  EXPECT_LT(status.message().size(), 10'000u);
  const Status thrown = openStatus("throws");
  EXPECT_THAT(thrown.message(), HasSubstr("no /dev/doubler0"));
}

TEST_F(StartFailureTest, GarbageIsAnError) {
  const Status status = openStatus("garbage");
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("test-driver"));
}

TEST_F(StartFailureTest, MissingExecutable) {
  Manifest manifest = testManifest();
  manifest.target = "/nowhere/driver";
  const Status status = RemoteDevice::open(loop_, manifest).status();
  EXPECT_EQ(status.code(), ResultCode::UNAVAILABLE_DEVICE);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("/nowhere/driver"), HasSubstr("No such file")));
}

TEST_F(StartFailureTest, RepeatedFailuresBackOff) {
  const auto device = open();
  ASSERT_NE(device, nullptr);
  ASSERT_EQ(::kill(device->processId(), SIGKILL), 0);
  ::setenv("HALYARD_TEST_DRIVER", "exit", 1);
  while (device->processId() != 0) std::this_thread::yield();
  EXPECT_EQ(device->wait().code(), ResultCode::DEAD_OBJECT);
  EXPECT_EQ(device->wait().code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(device->wait().message(), HasSubstr("failed to start 2 times"));
  ::unsetenv("HALYARD_TEST_DRIVER");
  std::this_thread::sleep_for(milliseconds(250));
  EXPECT_TRUE(device->wait().ok());
}

TEST_F(StartFailureTest, LibrariesAreRefused) {
  Manifest manifest = testManifest();
  manifest.kind = Manifest::Kind::LIBRARY;
  EXPECT_EQ(RemoteDevice::open(loop_, manifest).status().code(), ResultCode::BAD_STATE);
}

}  // namespace
}  // namespace halyard::hal
