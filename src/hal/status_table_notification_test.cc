// Section 4: asynchronous calls notify exactly once, whatever happens: bad arguments, callbacks
// that throw, drivers that throw, too many calls, a shutdown in their middle, a client that goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "hal/testing/server_fixture.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the fixture's vocabulary
using Code = wire::ErrorStatus;

// What came to one callback.
struct Notified {
  std::vector<Code> statuses;
  std::vector<const char*> forms;
  bool withModel = false;
};

// Callbacks of exactly one version: a notify form that is newer does not reach them.
class Prepared10 final : public wire::v1_0::IPreparedModelCallback::Server {
 public:
  explicit Prepared10(Notified& to) : to_(to) {}
  kj::Promise<void> notify(NotifyContext context) override {
    to_.statuses.push_back(context.getParams().getStatus());
    to_.forms.push_back("notify");
    to_.withModel = context.getParams().hasPreparedModel();
    return kj::READY_NOW;
  }

 private:
  Notified& to_;
};
class Executed10 final : public wire::v1_0::IExecutionCallback::Server {
 public:
  explicit Executed10(Notified& to) : to_(to) {}
  kj::Promise<void> notify(NotifyContext context) override {
    to_.statuses.push_back(context.getParams().getStatus());
    to_.forms.push_back("notify");
    return kj::READY_NOW;
  }

 private:
  Notified& to_;
};
class Executed12 final : public wire::v1_2::IExecutionCallback::Server {
 public:
  explicit Executed12(Notified& to) : to_(to) {}
  kj::Promise<void> notify(NotifyContext context) override {
    to_.statuses.push_back(context.getParams().getStatus());
    to_.forms.push_back("notify");
    return kj::READY_NOW;
  }
  kj::Promise<void> notify12(Notify12Context context) override {
    to_.statuses.push_back(context.getParams().getStatus());
    to_.forms.push_back("notify_1_2");
    return kj::READY_NOW;
  }

 private:
  Notified& to_;
};
class Executed13 final : public wire::v1_3::IExecutionCallback::Server {
 public:
  explicit Executed13(Notified& to, bool throws = false) : to_(to), throws_(throws) {}
  kj::Promise<void> notify(NotifyContext context) override {
    return take(context.getParams().getStatus(), "notify");
  }
  kj::Promise<void> notify12(Notify12Context context) override {
    return take(context.getParams().getStatus(), "notify_1_2");
  }
  kj::Promise<void> notify13(Notify13Context context) override {
    return take(context.getParams().getStatus(), "notify_1_3");
  }

 private:
  kj::Promise<void> take(Code status, const char* form) {
    to_.statuses.push_back(status);
    to_.forms.push_back(form);
    if (throws_) return KJ_EXCEPTION(FAILED, "the test's callback throws");
    return kj::READY_NOW;
  }
  Notified& to_;
  const bool throws_;
};

class NotificationTest : public ServerTest {
 protected:
  Request requestOf(float first) {
    return poolRequest(memoryOf({first, 2, 3, 4, 10, 20, 30, 40}), memoryOf({0, 0, 0, 0}));
  }
  // Sends execute_1_3 with a callback that writes to `to`; the status of the launch.
  Code execute13(const Request& request, Notified& to, bool throws = false) {
    return onLoop<Code>([&](RpcLoop::Context&) {
      auto call = preparedClient_->execute13Request();
      encodeRequest(request, call.initRequest());
      call.setCallback(kj::heap<Executed13>(to, throws));
      return call.send().then([](auto&& response) { return response.getStatus(); });
    });
  }
  // Waits until what the server has sent so far has arrived: connections keep their order.
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
  static ::testing::AssertionResult once(const Notified& notified, Code status) {
    if (notified.statuses == std::vector<Code>{status}) return ::testing::AssertionSuccess();
    auto failure = ::testing::AssertionFailure() << notified.statuses.size() << " notifications";
    for (const Code each : notified.statuses) failure << ", " << static_cast<int>(each);
    return failure;
  }
};

TEST_F(NotificationTest, NullCallbacksAreRefusedWithoutOne) {
  ASSERT_EQ(prepare(addModel(4)).status, Code::NONE);
  const Model model = addModel(4);
  const Request request = requestOf(1);
  const auto expectInvalid = [&](auto make) {
    const auto status = onLoop<Code>([&](RpcLoop::Context&) {
      return make().send().then([](auto&& response) { return response.getStatus(); });
    });
    EXPECT_EQ(status, Code::INVALID_ARGUMENT);
  };
  const auto withModel = [&](auto call) {
    encodeModel(model, nullptr, call.initModel());
    return call;
  };
  const auto withRequest = [&](auto call) {
    encodeRequest(request, call.initRequest());
    return call;
  };
  expectInvalid([&] { return withModel(device().prepareModelRequest()); });
  expectInvalid([&] { return withModel(device().prepareModel11Request()); });
  expectInvalid([&] { return withModel(device().prepareModel12Request()); });
  expectInvalid([&] { return withModel(device().prepareModel13Request()); });
  expectInvalid([&] { return device().prepareModelFromCacheRequest(); });
  expectInvalid([&] { return device().prepareModelFromCache13Request(); });
  expectInvalid([&] { return withRequest(preparedClient_->executeRequest()); });
  expectInvalid([&] { return withRequest(preparedClient_->execute12Request()); });
  expectInvalid([&] { return withRequest(preparedClient_->execute13Request()); });
}

TEST_F(NotificationTest, BadArgumentsAreToldInTheFormOfTheMethod) {
  ASSERT_EQ(prepare(addModel(4)).status, Code::NONE);
  Notified ten;
  Notified twelve;
  Notified prepared;
  const Request request = requestOf(1);
  // A measure that is none, with a callback that has no newer form.
  const Code launched = onLoop<Code>([&](RpcLoop::Context&) {
    auto call = preparedClient_->execute12Request();
    encodeRequest(request, call.initRequest());
    call.setMeasure(static_cast<wire::MeasureTiming>(7));
    call.setCallback(kj::heap<Executed12>(twelve));
    return call.send().then([](auto&& response) { return response.getStatus(); });
  });
  EXPECT_EQ(launched, Code::INVALID_ARGUMENT);
  const Code launched10 = onLoop<Code>([&](RpcLoop::Context&) {
    auto call = preparedClient_->executeRequest();
    call.setCallback(kj::heap<Executed10>(ten));
    return call.send().then([](auto&& response) { return response.getStatus(); });
  });
  EXPECT_EQ(launched10, Code::INVALID_ARGUMENT);
  const Code launchedPrepare = onLoop<Code>([&](RpcLoop::Context&) {
    auto call = device().prepareModel11Request();
    encodeModel(addModel(4), nullptr, call.initModel());
    call.setPreference(static_cast<wire::ExecutionPreference>(9));
    call.setCallback(kj::heap<Prepared10>(prepared));
    return call.send().then([](auto&& response) { return response.getStatus(); });
  });
  EXPECT_EQ(launchedPrepare, Code::INVALID_ARGUMENT);
  roundTrip();
  EXPECT_TRUE(once(twelve, Code::INVALID_ARGUMENT));
  EXPECT_THAT(twelve.forms, ::testing::ElementsAre(::testing::StrEq("notify_1_2")));
  EXPECT_TRUE(once(ten, Code::INVALID_ARGUMENT));
  EXPECT_TRUE(once(prepared, Code::INVALID_ARGUMENT));
  EXPECT_FALSE(prepared.withModel);
}

TEST_F(NotificationTest, OldCallbacksGetTheirResults) {
  Notified prepared;
  const Code launched = onLoop<Code>([&](RpcLoop::Context&) {
    auto call = device().prepareModelRequest();
    Model model = addModel(4);
    model.relaxComputationFloat32toFloat16 = true;  // HAL 1.0 does not know of it
    encodeModel(model, nullptr, call.initModel());
    call.setCallback(kj::heap<Prepared10>(prepared));
    return call.send().then([](auto&& response) { return response.getStatus(); });
  });
  EXPECT_EQ(launched, Code::NONE);
  EXPECT_TRUE(eventually([&] { return !prepared.statuses.empty(); }));
  roundTrip();
  EXPECT_TRUE(once(prepared, Code::NONE));
  EXPECT_TRUE(prepared.withModel);
  // 9.6: what the old method does not say.
  EXPECT_FALSE(device_->lastModel()->relaxComputationFloat32toFloat16);
  EXPECT_EQ(device_->lastOptions().preference, ExecutionPreference::FAST_SINGLE_ANSWER);
  EXPECT_EQ(device_->lastOptions().priority, Priority::MEDIUM);
  EXPECT_FALSE(device_->lastOptions().deadline.has_value());
}

TEST_F(NotificationTest, CallbackThatThrowsIsNotCalledAgain) {
  ASSERT_EQ(prepare(addModel(4)).status, Code::NONE);
  Notified good;
  Notified bad;
  EXPECT_EQ(execute13(requestOf(1), good, true), Code::NONE);
  Request invalid = requestOf(1);
  invalid.inputs.pop_back();
  EXPECT_EQ(execute13(invalid, bad, true), Code::INVALID_ARGUMENT);
  EXPECT_TRUE(eventually([&] { return !good.statuses.empty(); }));
  EXPECT_EQ(execute(requestOf(1)).status, Code::NONE);
  roundTrip();
  EXPECT_TRUE(once(good, Code::NONE));
  EXPECT_TRUE(once(bad, Code::INVALID_ARGUMENT));
}

TEST_F(NotificationTest, DriverThatThrowsIsAnError) {
  ASSERT_EQ(prepare(addModel(4)).status, Code::NONE);
  Notified execution;
  EXPECT_EQ(execute13(requestOf(kThrow), execution), Code::NONE);
  EXPECT_TRUE(eventually([&] { return !execution.statuses.empty(); }));
  EXPECT_TRUE(once(execution, Code::GENERAL_FAILURE));

  std::atomic<int> round = 0;
  device_->onPrepare = [&round] {
    switch (round++) {
      case 0:
        throw std::runtime_error("the test wants it");
      case 1:
        throw 42;
      case 2:
        throw std::bad_alloc();
    }
  };
  const std::map<int, Code> expected = {{0, Code::GENERAL_FAILURE},
                                        {1, Code::GENERAL_FAILURE},
                                        {2, Code::GENERAL_FAILURE},
                                        {3, Code::NONE}};
  for (const auto& [number, status] : expected) {
    Notified prepared;
    const Code launched = onLoop<Code>([&](RpcLoop::Context&) {
      auto call = device().prepareModelRequest();
      encodeModel(addModel(4), nullptr, call.initModel());
      call.setCallback(kj::heap<Prepared10>(prepared));
      return call.send().then([](auto&& response) { return response.getStatus(); });
    });
    EXPECT_EQ(launched, Code::NONE);
    EXPECT_TRUE(eventually([&] { return !prepared.statuses.empty(); }));
    roundTrip();
    EXPECT_TRUE(once(prepared, status)) << number;
    EXPECT_EQ(prepared.withModel, status == Code::NONE);
  }
  device_->onPrepare = nullptr;
}

// More executions than the server takes, none of which ends by itself; then the end of the server.
TEST_F(NotificationTest, TooManyCallsAndAShutdownTellEveryOneOnce) {
  ASSERT_EQ(prepare(addModel(4)).status, Code::NONE);
  constexpr size_t kCalls = 1200;
  const Request request = requestOf(kUntilCancelled);
  std::vector<Notified> notified(kCalls);
  std::vector<std::optional<Code>> launched(kCalls);
  onLoop<bool>([&](RpcLoop::Context& context) -> kj::Promise<bool> {
    for (size_t i = 0; i < kCalls; ++i) {
      auto call = preparedClient_->execute13Request();
      encodeRequest(request, call.initRequest());
      call.setCallback(kj::heap<Executed13>(notified[i]));
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
  // The execution ends, and nothing of it stays.
  EXPECT_TRUE(eventually([&] { return device_->preparedModels() == 0; }));
  EXPECT_TRUE(notified.statuses.empty());
}

}  // namespace
}  // namespace halyard::hal
