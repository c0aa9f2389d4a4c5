// Tests of the notifications of asynchronous calls. There is exactly one when a server has too many
// calls, or when it ends during the call. After the client has gone, no notification is sent.
// validation/vts tests the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "hal/testing/server_fixture.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the fixture's vocabulary
using Code = wire::ErrorStatus;

// The notifications of one callback.
struct Notified {
  std::vector<Code> statuses;
};

class Callback final : public wire::v1_3::IExecutionCallback::Server {
 public:
  explicit Callback(Notified& to) : to_(to) {}
  kj::Promise<void> notify13(Notify13Context context) override {
    to_.statuses.push_back(context.getParams().getStatus());
    return kj::READY_NOW;
  }

 private:
  Notified& to_;
};

// Never answers.
class SilentCallback final : public wire::v1_3::IExecutionCallback::Server {
 public:
  kj::Promise<void> notify13(Notify13Context) override { return kj::NEVER_DONE; }
};

class NotificationTest : public ServerTest {
 protected:
  Request requestOf(float first) {
    return poolRequest(memoryOf({first, 2, 3, 4, 10, 20, 30, 40}), memoryOf({0, 0, 0, 0}));
  }
  // Sends execute_1_3 with a callback that writes to `to`. Returns the status of the launch.
  Code execute13(const Request& request, Notified& to) {
    return onLoop<Code>([&](RpcLoop::Context&) {
      auto call = preparedClient_->execute13Request();
      encodeRequest(request, call.initRequest());
      call.setCallback(kj::heap<Callback>(to));
      return call.send().then([](auto&& response) { return response.getStatus(); });
    });
  }
  // Waits until all earlier messages of the server have arrived. Connections keep their order.
  void roundTrip() {
    onLoop<bool>([this](RpcLoop::Context&) {
      return device().getTypeRequest().send().then([](auto&&) { return true; });
    });
  }
  // Waits for a condition that the loop thread makes true.
  bool eventually(const std::function<bool()>& condition) {
    const auto end = Clock::now() + std::chrono::seconds(30);
    while (Clock::now() < end) {
      if (onLoop<bool>([&](RpcLoop::Context&) -> kj::Promise<bool> { return condition(); })) {
        return true;
      }
      std::this_thread::yield();
    }
    return false;
  }
};

// Each unanswered notification takes memory of the server.
TEST_F(NotificationTest, AClientThatDoesNotAnswerIsDisconnected) {
  ASSERT_EQ(prepare(addModel(4)).status, Code::NONE);
  onLoop<bool>([&](RpcLoop::Context& context) -> kj::Promise<bool> {
    for (int i = 0; i < 5000; ++i) {
      auto call = preparedClient_->execute13Request();  // without a request, which is an error
      call.setCallback(kj::heap<SilentCallback>());
      context.tasks.add(call.send().ignoreResult().catch_([](kj::Exception&&) {}));
    }
    return true;
  });
  EXPECT_TRUE(disconnected_.waitUntil(Clock::now() + std::chrono::seconds(60)).has_value());
}

// The client makes more executions than the server accepts. They end only with the server.
TEST_F(NotificationTest, TooManyCallsAndAShutdownAreToldOnceEach) {
  ASSERT_EQ(prepare(addModel(4)).status, Code::NONE);
  constexpr size_t kCalls = 1200;
  const Request request = requestOf(kUntilCancelled);
  std::vector<Notified> notified(kCalls);
  std::vector<std::optional<Code>> launched(kCalls);
  onLoop<bool>([&](RpcLoop::Context& context) -> kj::Promise<bool> {
    for (size_t i = 0; i < kCalls; ++i) {
      auto call = preparedClient_->execute13Request();
      encodeRequest(request, call.initRequest());
      call.setCallback(kj::heap<Callback>(notified[i]));
      context.tasks.add(call.send().then(
          [&launched, i](auto&& response) { launched[i] = response.getStatus(); }));
    }
    return true;
  });
  const auto refused = [&] {
    return std::any_of(launched.begin(), launched.end(),
                       [](const std::optional<Code>& code) { return code && *code != Code::NONE; });
  };
  const auto told = [&] {
    return std::none_of(notified.begin(), notified.end(),
                        [](const Notified& each) { return each.statuses.empty(); });
  };
  EXPECT_TRUE(eventually([&] { return refused(); }));
  EXPECT_TRUE(server_->drain(std::chrono::seconds(30)));
  EXPECT_TRUE(eventually([&] { return told(); }));
  roundTrip();
  for (size_t i = 0; i < kCalls; ++i) {
    ASSERT_EQ(notified[i].statuses.size(), 1u) << i;
    ASSERT_TRUE(launched[i].has_value()) << i;
    EXPECT_NE(notified[i].statuses[0], Code::NONE);
    if (*launched[i] != Code::NONE) {
      EXPECT_EQ(*launched[i], notified[i].statuses[0]);
    }
  }
}

TEST_F(NotificationTest, ClientThatGoesTakesItsCallsWithIt) {
  ASSERT_EQ(prepare(addModel(4)).status, Code::NONE);
  Notified notified;
  EXPECT_EQ(execute13(requestOf(kUntilCancelled), notified), Code::NONE);
  onLoop<bool>([this](RpcLoop::Context&) -> kj::Promise<bool> {
    delete std::exchange(preparedClient_, nullptr);
    delete std::exchange(deviceClient_, nullptr);
    delete std::exchange(client_, nullptr);
    return true;
  });
  EXPECT_TRUE(disconnected_.wait());
  // The execution ends and releases everything.
  EXPECT_TRUE(eventually([&] { return device_->preparedModels() == 0; }));
  EXPECT_TRUE(notified.statuses.empty());
}

}  // namespace
}  // namespace halyard::hal
