// Tests of bursts, and of the rings of other executions, with a driver in its own process.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "hal/client/remote_device.h"
#include "hal/client/remote_prepared_model.h"
#include "hal/testing/test_device.h"
#include "hal/testing/test_driver_manifest.h"

namespace halyard::hal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace hal::testing;  // NOLINT: the test driver's vocabulary

class RemoteBurstTest : public ::testing::Test {
 protected:
  void SetUp() override { start(HalVersion::V1_3); }
  void start(HalVersion version) {
    loop_ = RpcLoop::start().value();
    device_ = RemoteDevice::open(loop_, testManifest(version)).value();
    model_ = std::make_shared<const Model>(addModel(4));
    prepared_ = std::static_pointer_cast<RemotePreparedModel>(
        device_->prepareModel(validated(model_).value(), {}).value());
  }
  std::unique_ptr<Burst> burst() { return prepared_->configureBurst().value(); }
  ExecutionResult run(Burst& burst, float first, const ExecuteOptions& options = {}) {
    const std::vector<float> a = {first, 2, 3, 4};
    const std::vector<float> b = {10, 20, 30, 40};
    out_.assign(4, 0);
    return burst.execute(pointerRequest(a.data(), b.data(), out_.data(), 4), options);
  }
  ExecutionResult run(float first, const ExecuteOptions& options = {}) {
    const std::vector<float> a = {first, 2, 3, 4};
    const std::vector<float> b = {10, 20, 30, 40};
    out_.assign(4, 0);
    return prepared_->executeSynchronously(pointerRequest(a.data(), b.data(), out_.data(), 4),
                                           options);
  }
  // Returns after all threads of the driver have stopped.
  void stop() {
    const pid_t driver = device_->processId();
    ASSERT_EQ(::kill(driver, SIGSTOP), 0);
    for (const auto& task :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", driver))) {
      for (std::string stat; stat.find(") T") == std::string::npos;) {
        std::getline(std::ifstream(task.path() / "stat"), stat);
      }
    }
  }
  void resume() { ASSERT_EQ(::kill(device_->processId(), SIGCONT), 0); }

  std::shared_ptr<RpcLoop> loop_;
  std::shared_ptr<RemoteDevice> device_;
  std::shared_ptr<const Model> model_;
  std::shared_ptr<RemotePreparedModel> prepared_;
  std::vector<float> out_;
};

TEST_F(RemoteBurstTest, Executes) {
  const auto series = burst();
  for (float first = 0; first < 200; ++first) {
    const auto result = run(*series, first);
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    ASSERT_THAT(out_, ElementsAre(first + 10, 22, 33, 44));
    ASSERT_FALSE(result.timing.timeOnDevice.has_value());
  }
  ExecuteOptions measuring;
  measuring.measureTiming = true;
  EXPECT_EQ(run(*series, 1, measuring).timing.timeOnDevice, 2'000'000u);
}

// A ring transports the same error texts as the connection.
TEST_F(RemoteBurstTest, ErrorsAreTheSameAsOverTheConnection) {
  const auto series = burst();
  for (const float first : {kThrow, kTooSmall}) {
    prepared_->useRings(false);
    const auto expected = run(first);
    prepared_->useRings(true);
    for (const auto& result : {run(first), run(*series, first)}) {
      EXPECT_EQ(result.status.toString(), expected.status.toString());
      EXPECT_EQ(result.outputShapes.size(), expected.outputShapes.size());
    }
    EXPECT_TRUE(run(*series, 1).status.ok());
  }
}

TEST_F(RemoteBurstTest, OneExecutionAtATime) {
  const auto series = burst();
  std::atomic<bool> stopping = false;
  std::atomic<unsigned> done = 0;
  std::atomic<unsigned> refused = 0;
  const auto worker = [&] {
    std::vector<float> out(4);
    const std::vector<float> a = {1, 2, 3, 4};
    while (!stopping) {
      const auto result =
          series->execute(pointerRequest(a.data(), a.data(), out.data(), 4), ExecuteOptions());
      if (result.status.ok()) {
        EXPECT_THAT(out, ElementsAre(2, 4, 6, 8));
        ++done;
      } else {
        EXPECT_EQ(result.status.code(), ResultCode::BAD_STATE) << result.status.toString();
        ++refused;
      }
    }
  };
  std::thread first(worker);
  std::thread second(worker);
  while (done < 100 || refused < 1) std::this_thread::yield();
  stopping = true;
  first.join();
  second.join();
}

TEST_F(RemoteBurstTest, ManyThreadsShareAPreparedModel) {
  std::vector<std::thread> threads;
  std::atomic<unsigned> right = 0;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      const std::vector<float> a(4, static_cast<float>(thread));
      std::vector<float> out(4);
      for (int i = 0; i < 50; ++i) {
        const auto result =
            prepared_->executeSynchronously(pointerRequest(a.data(), a.data(), out.data(), 4), {});
        if (result.status.ok() && out[3] == 2 * a[3]) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 8u * 50);
}

TEST_F(RemoteBurstTest, OlderDriversWithoutBurstsAreCalled) {
  start(HalVersion::V1_1);
  EXPECT_TRUE(run(1).status.ok());
  const auto series = burst();
  EXPECT_TRUE(run(*series, 5).status.ok());
  EXPECT_THAT(out_, ElementsAre(15, 22, 33, 44));
}

TEST_F(RemoteBurstTest, MemoriesOfTheClientAreFreed) {
  const auto series = burst();
  const auto maps = [&] {
    std::ifstream file(fmt::format("/proc/{}/maps", device_->processId()));
    size_t count = 0;
    for (std::string line; std::getline(file, line);) {
      if (line.find("memfd:named by the test") != std::string::npos) ++count;
    }
    return count;
  };
  auto memory = SharedMemory::create(64, "named by the test").value();
  Request request;
  for (int i = 0; i < 3; ++i) {
    RequestArgument argument;
    argument.kind = RequestArgument::Kind::POOL;
    argument.location = {0, static_cast<uint32_t>(i) * 16, 16};
    (i < 2 ? request.inputs : request.outputs).push_back(argument);
  }
  request.pools = {memory};
  auto recorded = series->createReusableExecution(request);
  ASSERT_TRUE(recorded.ok()) << recorded.status().toString();
  ASSERT_TRUE((*recorded)->compute({}).status.ok());
  EXPECT_EQ(maps(), 1u);
  recorded->reset();
  request.pools.clear();
  memory.reset();
  const auto end = Clock::now() + seconds(60);
  while (maps() != 0 && Clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(maps(), 0u) << "gone";
}

// A request with its own arguments, which is computed repeatedly.
struct Repeated {
  explicit Repeated(float value) { a[0] = value; }
  std::vector<float> a = {0, 2, 3, 4};
  std::vector<float> b = {10, 20, 30, 40};
  std::vector<float> out = std::vector<float>(4);
  Request request = pointerRequest(a.data(), b.data(), out.data(), 4);
  std::unique_ptr<ReusableExecution> execution;

  void expectComputes(float value, const ExecuteOptions& options = {}) {
    a[0] = value;
    out.assign(4, 0);
    const auto result = execution->compute(options);
    EXPECT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_THAT(out, ElementsAre(value + 10, 22, 33, 44));
  }
};

TEST_F(RemoteBurstTest, ReusableExecutionsComputeWhatTheirMemoryHolds) {
  const auto series = burst();
  Repeated inBurst(1);
  inBurst.execution = series->createReusableExecution(inBurst.request).value();
  Repeated alone(2);
  alone.execution = prepared_->createReusableExecution(alone.request).value();
  for (float value = 0; value < 200; ++value) {
    inBurst.expectComputes(value);
    alone.expectComputes(value + 1);
  }
  prepared_->useRings(false);
  alone.expectComputes(7);
  prepared_->useRings(true);
  alone.expectComputes(8);
  ExecuteOptions measuring;
  measuring.measureTiming = true;
  EXPECT_EQ(alone.execution->compute(measuring).timing.timeOnDevice, 2'000'000u);
  EXPECT_FALSE(alone.execution->compute({}).timing.timeOnDevice.has_value());
}

// More reusable executions than a ring's driver keeps. Some end and others begin.
TEST_F(RemoteBurstTest, AnyNumberOfReusableExecutions) {
  const auto series = burst();
  std::vector<std::unique_ptr<Repeated>> many;
  const auto add = [&] {
    many.push_back(std::make_unique<Repeated>(0));
    many.back()->execution = series->createReusableExecution(many.back()->request).value();
  };
  for (int i = 0; i < 40; ++i) add();
  for (float round = 0; round < 10; ++round) {
    for (size_t i = 0; i < many.size(); ++i) many[i]->expectComputes(round * 100 + float(i));
    many.erase(many.begin(), many.begin() + 7);
    for (int i = 0; i < 7; ++i) add();
  }
}

TEST_F(RemoteBurstTest, ReusableExecutionsFailAsOthersDo) {
  Repeated repeated(kThrow);
  repeated.execution = prepared_->createReusableExecution(repeated.request).value();
  for (const float first : {kThrow, kTooSmall}) {
    const auto expected = run(first);
    for (int i = 0; i < 2; ++i) {
      repeated.a[0] = first;
      const auto result = repeated.execution->compute({});
      EXPECT_EQ(result.status.toString(), expected.status.toString());
      EXPECT_EQ(result.outputShapes.size(), expected.outputShapes.size());
    }
    repeated.expectComputes(1);
  }
  Request bad = repeated.request;
  bad.inputs.pop_back();
  EXPECT_EQ(prepared_->createReusableExecution(bad).status().code(), ResultCode::BAD_DATA);
  ExecuteOptions late;
  late.deadline = Clock::now() - milliseconds(1);
  EXPECT_EQ(repeated.execution->compute(late).status.code(),
            ResultCode::MISSED_DEADLINE_PERSISTENT);
}

// The driver may still use the memory of a missed execution. The next execution gets other memory.
TEST_F(RemoteBurstTest, ReusableExecutionsGoOnAfterAMissedDeadline) {
  const auto series = burst();
  Repeated repeated(1);
  repeated.execution = series->createReusableExecution(repeated.request).value();
  repeated.expectComputes(1);
  stop();
  ExecuteOptions options;
  options.deadline = Clock::now() + milliseconds(20);
  EXPECT_EQ(repeated.execution->compute(options).status.code(),
            ResultCode::MISSED_DEADLINE_TRANSIENT);
  resume();
  for (float value = 2; value < 5; ++value) repeated.expectComputes(value);
}

TEST_F(RemoteBurstTest, ReusableExecutionsOutliveTheirBurst) {
  Repeated repeated(1);
  auto series = burst();
  repeated.execution = series->createReusableExecution(repeated.request).value();
  repeated.expectComputes(1);
  series.reset();
  repeated.expectComputes(2);
  prepared_.reset();
  device_.reset();
  repeated.expectComputes(3);
}

TEST_F(RemoteBurstTest, OlderDriversComputeReusableExecutionsByCalls) {
  start(HalVersion::V1_1);
  Repeated repeated(1);
  repeated.execution = burst()->createReusableExecution(repeated.request).value();
  for (float value = 1; value < 4; ++value) repeated.expectComputes(value);
}

TEST_F(RemoteBurstTest, DriverKilledBetweenComputations) {
  Repeated repeated(1);
  repeated.execution = prepared_->createReusableExecution(repeated.request).value();
  repeated.expectComputes(1);
  repeated.a[0] = kAbort;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(repeated.execution->compute({}).status.code(), ResultCode::DEAD_OBJECT);
  }
}

TEST_F(RemoteBurstTest, DriverKilledInMidBurst) {
  const auto series = burst();
  ASSERT_TRUE(run(*series, 1).status.ok());
  std::thread killer([pid = device_->processId()] {
    std::this_thread::sleep_for(milliseconds(50));
    ::kill(pid, SIGKILL);
  });
  const auto result = run(*series, kHang);
  killer.join();
  EXPECT_EQ(result.status.code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(result.status.message(),
              AllOf(HasSubstr("driver 'test-driver' (process"), HasSubstr("killed by signal 9"),
                    HasSubstr("during executeSynchronously_1_3")));
  const auto later = run(*series, 1);
  EXPECT_EQ(later.status.code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(later.status.message(), HasSubstr("before executeSynchronously_1_3"));
}

TEST_F(RemoteBurstTest, DriverAbortsInMidBurst) {
  const auto series = burst();
  const auto result = run(*series, kAbort);
  EXPECT_EQ(result.status.code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(result.status.message(), HasSubstr("during executeSynchronously_1_3"));
}

TEST_F(RemoteBurstTest, DeadlinesAreMetByAStoppedDriver) {
  const auto series = burst();
  ASSERT_TRUE(run(*series, 1).status.ok());
  ASSERT_TRUE(run(1).status.ok());
  stop();
  const auto check = [&](const std::function<ExecutionResult(const ExecuteOptions&)>& execute) {
    ExecuteOptions options;
    options.deadline = Clock::now() + milliseconds(20);
    const auto result = execute(options);
    EXPECT_EQ(result.status.code(), ResultCode::MISSED_DEADLINE_TRANSIENT)
        << result.status.toString();
    EXPECT_GE(Clock::now(), *options.deadline);
    EXPECT_LT(Clock::now(), *options.deadline + seconds(20));
  };
  // In the second round there is no ring, and the stopped driver opens no other.
  for (int i = 0; i < 2; ++i) {
    check([&](const ExecuteOptions& options) { return run(*series, 1, options); });
    check([&](const ExecuteOptions& options) { return run(1, options); });
  }
  resume();
  const auto result = run(*series, 3);
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(out_, ElementsAre(13, 22, 33, 44));
  EXPECT_TRUE(run(1).status.ok());
}

TEST_F(RemoteBurstTest, BurstsOutliveWhatTheyComeFrom) {
  auto series = burst();
  prepared_.reset();
  device_.reset();
  const auto result = run(*series, 1);
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  series.reset();
}

TEST_F(RemoteBurstTest, BurstsAreLimited) {
  std::vector<std::unique_ptr<Burst>> many;
  // Bursts beyond the limit use ordinary calls.
  for (int i = 0; i < 300; ++i) {
    many.push_back(burst());
    ASSERT_TRUE(run(*many.back(), 1).status.ok()) << i;
  }
  many.clear();
  EXPECT_TRUE(run(*burst(), 1).status.ok());
}

}  // namespace
}  // namespace halyard::hal
