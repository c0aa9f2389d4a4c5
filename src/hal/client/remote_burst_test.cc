// Tests of bursts, and of the rings of plain executions, with a driver in a process of its own.
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
#include "test_definitions.h"

namespace halyard::hal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace hal::testing;  // NOLINT: the test driver's vocabulary

Manifest testManifest(HalVersion version) {
  Manifest manifest;
  manifest.name = "test-driver";
  manifest.version = "1";
  manifest.halVersion = version;
  manifest.target = HALYARD_TEST_DRIVER_PATH;
  return manifest;
}

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
  // Returns when all of the driver's threads have stopped.
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

// Texts come through the ring as they come over the connection.
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
  ASSERT_TRUE(series->execute(request, {}).status.ok());
  EXPECT_EQ(maps(), 1u);
  series->forget(*memory);
  const auto end = Clock::now() + seconds(60);
  while (maps() != 0 && Clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(maps(), 0u) << "forgotten";
  ASSERT_TRUE(series->execute(request, {}).status.ok());
  EXPECT_EQ(maps(), 1u);
  request.pools.clear();
  memory.reset();
  while (maps() != 0 && Clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(maps(), 0u) << "gone";
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
  // The second time there is no ring any more, and none to be had.
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
  // Beyond the limit they are plain calls.
  for (int i = 0; i < 300; ++i) {
    many.push_back(burst());
    ASSERT_TRUE(run(*many.back(), 1).status.ok()) << i;
  }
  many.clear();
  EXPECT_TRUE(run(*burst(), 1).status.ok());
}

}  // namespace
}  // namespace halyard::hal
