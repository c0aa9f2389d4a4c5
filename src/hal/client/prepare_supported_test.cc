// Tests of prepareSupported13: the answer, and the result of the preparation at the callback.
#include <future>
#include <thread>

#include "hal/testing/server_fixture.h"

namespace halyard::hal::testing {
namespace {

using Code = wire::ErrorStatus;

// The results of one call at the client.
struct Heard {
  Code status = Code::NONE;
  std::vector<bool> supported;
  bool dropped = false;  // the callback was not called
  Code prepared = Code::NONE;
};

class PrepareSupportedTest : public ServerTest {
 protected:
  // `answered` runs on the loop after the answer.
  Heard ask(const Model& model, wire::Priority priority = wire::Priority::MEDIUM,
            std::function<void()> answered = nullptr, bool isOfOlderSchema = false) {
    return onLoop<Heard>([=, this](RpcLoop::Context&) {
      auto call = device().prepareSupported13Request();
      encodeModel(model, nullptr, call.initModel());
      call.setPreference(wire::ExecutionPreference::FAST_SINGLE_ANSWER);
      call.setPriority(priority);
      call.setObsoleteAtOnce(isOfOlderSchema);
      auto told = kj::newPromiseAndFulfiller<PreparedAnswer>();
      call.setCallback(kj::heap<PreparedModelCallback>(kj::mv(told.fulfiller)));
      return call.send().then([this, answered, promise = kj::mv(told.promise)](
                                  auto&& response) mutable -> kj::Promise<Heard> {
        Heard heard;
        heard.status = response.getStatus();
        for (const bool one : response.getSupported()) heard.supported.push_back(one);
        EXPECT_FALSE(response.hasObsoletePrepared());
        if (answered) answered();
        return promise.then(
            [this, heard](PreparedAnswer prepared) mutable {
              take(std::move(prepared), &heard);
              return heard;
            },
            [heard](kj::Exception&&) mutable {
              heard.dropped = true;
              return heard;
            });
      });
    });
  }

  void expectAdds() {
    const SharedMemoryPtr out = memoryOf(std::vector<float>(4));
    EXPECT_EQ(execute(poolRequest(memoryOf(kInputs), out)).status, Code::NONE);
    EXPECT_EQ(contentsOf(*out), (std::vector<float>{11, 22, 33, 44}));
  }

 private:
  void take(PreparedAnswer prepared, Heard* heard) {
    heard->prepared = toWireStatus(prepared.status, HalVersion::V1_3);
    KJ_IF_MAYBE (client, prepared.preparedModel) {
      delete preparedClient_;
      preparedClient_ = new Prepared13::Client(client->castAs<Prepared13>());
    }
  }
};

TEST_F(PrepareSupportedTest, TheCallbackGetsThePreparedModel) {
  for (const wire::Priority priority :
       {wire::Priority::LOW, wire::Priority::MEDIUM, wire::Priority::HIGH}) {
    const Heard heard = ask(addModel(4), priority);
    EXPECT_EQ(heard.status, Code::NONE);
    EXPECT_EQ(heard.supported, std::vector<bool>{true});
    EXPECT_FALSE(heard.dropped);
    EXPECT_EQ(heard.prepared, Code::NONE);
    expectAdds();
  }
}

// Clients of an older schema ask for both results in one answer, and also accept them separately.
TEST_F(PrepareSupportedTest, AnOlderClientGetsTheModelByTheCallback) {
  const Heard heard = ask(addModel(4), wire::Priority::MEDIUM, nullptr, /*isOfOlderSchema=*/true);
  EXPECT_EQ(heard.status, Code::NONE);
  EXPECT_EQ(heard.supported, std::vector<bool>{true});
  EXPECT_FALSE(heard.dropped);
  EXPECT_EQ(heard.prepared, Code::NONE);
  expectAdds();
}

TEST_F(PrepareSupportedTest, TheAnswerDoesNotWaitForThePreparation) {
  std::promise<void> answered;
  device_->onPrepare = [&] { answered.get_future().wait(); };
  const Heard heard =
      ask(addModel(4), wire::Priority::MEDIUM, [&answered] { answered.set_value(); });
  EXPECT_EQ(heard.supported, std::vector<bool>{true});
  EXPECT_FALSE(heard.dropped);
  EXPECT_EQ(heard.prepared, Code::NONE);
  expectAdds();
}

TEST_F(PrepareSupportedTest, AFailureOfThePreparationIsNoFailureOfTheQuestion) {
  device_->onPrepare = [] { throw std::runtime_error("no luck"); };
  const Heard heard = ask(addModel(4));
  EXPECT_EQ(heard.status, Code::NONE);
  EXPECT_EQ(heard.supported, std::vector<bool>{true});
  EXPECT_FALSE(heard.dropped);
  EXPECT_EQ(heard.prepared, Code::GENERAL_FAILURE);
}

TEST_F(PrepareSupportedTest, WhatIsNotSupportedIsNotPrepared) {
  Model other = addModel(4);
  other.main.operations[0].type = OperationType::SUB;
  Model invalid = addModel(4);
  invalid.main.operations[0].inputs = {0, 1, 99};
  device_->onPrepare = [] { ADD_FAILURE() << "it is prepared"; };
  const Heard refused = ask(other);
  EXPECT_EQ(refused.status, Code::NONE);
  EXPECT_EQ(refused.supported, std::vector<bool>{false});
  EXPECT_TRUE(refused.dropped);
  const Heard wrong = ask(invalid);
  EXPECT_EQ(wrong.status, Code::INVALID_ARGUMENT);
  EXPECT_TRUE(wrong.supported.empty() && wrong.dropped);
}

// The client ends while the driver prepares. The model is then released.
TEST_F(PrepareSupportedTest, AClientThatGoesLeavesNothing) {
  std::promise<void> begun;
  std::promise<void> gone;
  device_->onPrepare = [&] {
    begun.set_value();
    gone.get_future().wait();
  };
  onLoop<bool>([&](RpcLoop::Context& context) -> kj::Promise<bool> {
    auto call = device().prepareSupported13Request();
    encodeModel(addModel(4), nullptr, call.initModel());
    call.setPreference(wire::ExecutionPreference::FAST_SINGLE_ANSWER);
    call.setPriority(wire::Priority::MEDIUM);
    auto told = kj::newPromiseAndFulfiller<PreparedAnswer>();
    call.setCallback(kj::heap<PreparedModelCallback>(kj::mv(told.fulfiller)));
    context.tasks.add(call.send().ignoreResult().catch_([](kj::Exception&&) {}));
    return true;
  });
  begun.get_future().wait();
  onLoop<bool>([this](RpcLoop::Context&) -> kj::Promise<bool> {
    client_->shutdown();
    return true;
  });
  EXPECT_TRUE(disconnected_.wait());
  gone.set_value();
  for (int i = 0; i < 1000 && device_->lastModel() == nullptr; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (int i = 0; i < 1000 && device_->preparedModels() != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(device_->preparedModels(), 0u);
}

}  // namespace
}  // namespace halyard::hal::testing
