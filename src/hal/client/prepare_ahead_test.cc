// RemoteDevice::prepareAhead: models that are used before the driver has said what became of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <latch>
#include <thread>

#include "hal/client/remote_device.h"
#include "hal/testing/float_memories.h"
#include "hal/testing/test_device.h"
#include "halyard/driver/sync_fence.h"
#include "test_definitions.h"

namespace halyard::hal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace hal::testing;  // NOLINT: the test driver's vocabulary

std::shared_ptr<const Model> share(Model model) {
  return std::make_shared<const Model>(std::move(model));
}

// With a driver that prepares at once, and with one that takes longer than the answer waits.
class PrepareAheadTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<RemoteDevice> open(const char* mode, HalVersion version = HalVersion::V1_3) {
    Manifest manifest;
    manifest.name = "test-driver";
    manifest.version = "1";
    manifest.halVersion = version;
    manifest.target = HALYARD_TEST_DRIVER_PATH;
    ::setenv("HALYARD_TEST_DRIVER", mode, 1);
    auto device = RemoteDevice::open(loop_, manifest);
    ::unsetenv("HALYARD_TEST_DRIVER");
    EXPECT_TRUE(device.ok()) << device.status().toString();
    return device.ok() ? *device : nullptr;
  }
  std::shared_ptr<PreparedModel> ahead(RemoteDevice& device, Model model = addModel(4)) {
    auto prepared = device.prepareAhead(share(std::move(model)), {}, [this](const Status& cause) {
      refusals_.push_back(cause.toString());
    });
    EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
    return prepared.ok() ? *prepared : nullptr;
  }
  ExecutionResult add(PreparedModel& prepared, const ExecuteOptions& options = {}) {
    out_.assign(4, 0);
    const std::vector<float> a = {1, 2, 3, 4};
    const std::vector<float> b = {10, 20, 30, 40};
    return prepared.executeSynchronously(pointerRequest(a.data(), b.data(), out_.data(), 4),
                                         options);
  }
  void expectAdds(PreparedModel& prepared) {
    const ExecutionResult result = add(prepared);
    EXPECT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_THAT(out_, ElementsAre(11, 22, 33, 44));
  }

  std::shared_ptr<RpcLoop> loop_ = RpcLoop::start().value();
  std::vector<std::string> refusals_;
  std::vector<float> out_;
};

TEST_P(PrepareAheadTest, WhateverIsAskedFirstWaits) {
  const auto device = open(GetParam());
  ASSERT_NE(device, nullptr);
  expectAdds(*ahead(*device));

  auto burst = ahead(*device)->configureBurst();
  ASSERT_TRUE(burst.ok()) << burst.status().toString();

  const auto a = memoryOf({1, 2, 3, 4});
  const auto out = memoryOf({0, 0, 0, 0});
  const auto fenced = ahead(*device);
  const FencedResult started = fenced->executeFenced(sumRequest(a, a, out), {}, {}, std::nullopt);
  ASSERT_TRUE(started.status.ok()) << started.status.toString();
  EXPECT_EQ(waitFence(started.fence.get(), Clock::now() + seconds(60)).value(),
            FenceState::SIGNALLED);
  EXPECT_THAT(contentsOf(out), ElementsAre(2, 4, 6, 8));

  const std::vector<std::shared_ptr<PreparedModel>> models = {ahead(*device)};
  const std::vector<BufferRole> roles = {{0, 0, 1}};
  const auto buffer = device->allocate({}, models, roles, roles);
  EXPECT_TRUE(buffer.ok()) << buffer.status().toString();
  EXPECT_TRUE(refusals_.empty());
}

TEST_P(PrepareAheadTest, ManyThreadsMayWait) {
  const auto device = open(GetParam());
  ASSERT_NE(device, nullptr);
  const auto prepared = ahead(*device);
  std::latch start(4);
  std::vector<std::jthread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const std::vector<float> one(4, 1);
      std::vector<float> out(4);
      start.arrive_and_wait();
      const Request request = pointerRequest(one.data(), one.data(), out.data(), 4);
      if (prepared->executeSynchronously(request, {}).status.ok() && out[3] == 2) ++good;
    });
  }
  threads.clear();
  EXPECT_EQ(good, 4);
}

// What nobody has asked for ends in the driver, too: its process ends with the last of its models.
TEST_P(PrepareAheadTest, MayEndBeforeItIsThere) {
  auto device = open(GetParam());
  ASSERT_NE(device, nullptr);
  const pid_t process = device->processId();
  for (int i = 0; i < 3; ++i) ahead(*device).reset();
  expectAdds(*ahead(*device));
  auto last = ahead(*device);
  device.reset();
  last.reset();
  loop_.reset();  // collects the process
  EXPECT_NE(::kill(process, 0), 0);
}

TEST_P(PrepareAheadTest, ADriverThatDiesMeanwhileIsDead) {
  const auto device = open(GetParam());
  ASSERT_NE(device, nullptr);
  const auto prepared = ahead(*device);
  ::kill(device->processId(), SIGKILL);
  EXPECT_EQ(add(*prepared).status.code(), ResultCode::DEAD_OBJECT);
  ASSERT_TRUE(device->wait().ok());
  expectAdds(*ahead(*device));
}

INSTANTIATE_TEST_SUITE_P(Drivers, PrepareAheadTest, ::testing::Values("", "slow"),
                         [](const auto& driver) {
                           return std::string(driver.param).empty() ? "Quick" : "Slow";
                         });

TEST_F(PrepareAheadTest, AnExecutionsDeadlineCounts) {
  const auto device = open("slow");
  ASSERT_NE(device, nullptr);
  // A machine that stands still between the two calls has the model ready at the deadline.
  for (int i = 0; i < 20; ++i) {
    const auto prepared = ahead(*device);
    ExecuteOptions options;
    options.deadline = Clock::now() + milliseconds(20);
    const Status late = add(*prepared, options).status;
    if (late.ok()) continue;
    EXPECT_EQ(late.code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
    EXPECT_THAT(late.message(), HasSubstr("still being prepared"));
    expectAdds(*prepared);
    EXPECT_TRUE(refusals_.empty());
    return;
  }
  FAIL() << "no execution has missed its deadline";
}

TEST_F(PrepareAheadTest, AFailureIsThatOfWhoeverAsks) {
  const auto device = open("fails");
  ASSERT_NE(device, nullptr);
  const auto prepared = ahead(*device);
  const Status expected = device->prepareModel(share(addModel(4)), {}).status();
  EXPECT_EQ(add(*prepared).status.toString(), expected.toString());
  EXPECT_EQ(add(*prepared).status.toString(), expected.toString());
  EXPECT_EQ(prepared->configureBurst().status().toString(), expected.toString());
  EXPECT_THAT(refusals_, ElementsAre(expected.toString()));
}

TEST_F(PrepareAheadTest, WhatIsNotSupportedAnyMoreIsNamed) {
  const auto device = open("");
  ASSERT_NE(device, nullptr);
  Model model = addModel(4);
  model.main.operations[0].type = OperationType::SUB;
  const auto prepared = ahead(*device, std::move(model));
  const Status status = add(*prepared).status;
  EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("driver 'test-driver'"),
                                      HasSubstr("does not support operation #0 SUB any more")));
  EXPECT_EQ(refusals_.size(), 1u);
}

TEST_F(PrepareAheadTest, DiesOfIt) {
  const auto device = open("dies");
  ASSERT_NE(device, nullptr);
  const Status status = add(*ahead(*device)).status;
  EXPECT_EQ(status.code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(status.message(), HasSubstr("prepareModel_1_3"));
}

// As with prepareSupported.
TEST_F(PrepareAheadTest, TwoCallsAreLeftToThoseWhoHaveThemAnyway) {
  const auto older = open("", HalVersion::V1_2);
  const auto device = open("");
  ASSERT_TRUE(older != nullptr && device != nullptr);
  EXPECT_EQ(ahead(*older), nullptr);
  Model invalid = addModel(4);
  invalid.main.operations[0].inputs = {0, 1, 99};
  EXPECT_EQ(ahead(*device, std::move(invalid)), nullptr);
}

}  // namespace
}  // namespace halyard::hal
