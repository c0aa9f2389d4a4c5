// prepareSupported13: the question, the preparation behind it, and in which answer its end comes.
#include <future>
#include <thread>

#include "hal/testing/server_fixture.h"

namespace halyard::hal::testing {
namespace {

using Code = wire::ErrorStatus;
using wire::Priority;

// What a client hears of one call.
struct Heard {
  Code status = Code::NONE;
  std::vector<bool> supported;
  bool inAnswer = false;  // what has become of the preparation was in the answer
  bool dropped = false;   // the callback was not called
  Code prepared = Code::NONE;
};

class PrepareSupportedTest : public ServerTest {
 protected:
  // `answered`: on the loop, when the answer is there.
  Heard ask(const Model& model, bool atOnce, Priority priority = Priority::MEDIUM,
            std::function<void(bool inAnswer)> answered = nullptr) {
    return onLoop<Heard>([=, this](RpcLoop::Context&) {
      auto call = device().prepareSupported13Request();
      encodeModel(model, nullptr, call.initModel());
      call.setPreference(wire::ExecutionPreference::FAST_SINGLE_ANSWER);
      call.setPriority(priority);
      call.setAtOnce(atOnce);
      auto told = kj::newPromiseAndFulfiller<PreparedAnswer>();
      call.setCallback(kj::heap<PreparedModelCallback>(kj::mv(told.fulfiller)));
      return call.send().then([this, answered, promise = kj::mv(told.promise)](
                                  auto&& response) mutable -> kj::Promise<Heard> {
        Heard heard;
        heard.status = response.getStatus();
        for (const bool one : response.getSupported()) heard.supported.push_back(one);
        heard.inAnswer = response.hasPrepared();
        if (answered) answered(heard.inAnswer);
        if (heard.inAnswer) take(preparedAnswer(response.getPrepared()), &heard);
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

// In the answer if it is quick, and otherwise by the callback: exactly one of the two.
TEST_F(PrepareSupportedTest, ThePreparedModelComesOnce) {
  for (const bool atOnce : {true, false}) {
    for (const Priority priority : {Priority::LOW, Priority::MEDIUM, Priority::HIGH}) {
      const Heard heard = ask(addModel(4), atOnce, priority);
      EXPECT_EQ(heard.status, Code::NONE);
      EXPECT_EQ(heard.supported, std::vector<bool>{true});
      EXPECT_EQ(heard.inAnswer, heard.dropped);
      EXPECT_EQ(heard.prepared, Code::NONE);
      EXPECT_TRUE(!heard.inAnswer || (atOnce && priority != Priority::LOW));
      expectAdds();
    }
  }
}

TEST_F(PrepareSupportedTest, TheAnswerDoesNotWaitForALongPreparation) {
  std::promise<void> answered;
  device_->onPrepare = [&] { answered.get_future().wait(); };
  const Heard heard = ask(addModel(4), true, Priority::MEDIUM, [&](bool inAnswer) {
    EXPECT_FALSE(inAnswer);
    answered.set_value();
  });
  EXPECT_EQ(heard.supported, std::vector<bool>{true});
  EXPECT_FALSE(heard.dropped);
  EXPECT_EQ(heard.prepared, Code::NONE);
  expectAdds();
}

TEST_F(PrepareSupportedTest, AFailureOfThePreparationIsNoFailureOfTheQuestion) {
  device_->onPrepare = [] { throw std::runtime_error("no luck"); };
  const Heard heard = ask(addModel(4), true);
  EXPECT_EQ(heard.status, Code::NONE);
  EXPECT_EQ(heard.supported, std::vector<bool>{true});
  EXPECT_EQ(heard.inAnswer, heard.dropped);
  EXPECT_EQ(heard.prepared, Code::GENERAL_FAILURE);
}

TEST_F(PrepareSupportedTest, WhatIsNotSupportedIsNotPrepared) {
  Model other = addModel(4);
  other.main.operations[0].type = OperationType::SUB;
  Model invalid = addModel(4);
  invalid.main.operations[0].inputs = {0, 1, 99};
  device_->onPrepare = [] { ADD_FAILURE() << "it is prepared"; };
  for (const bool atOnce : {true, false}) {
    const Heard refused = ask(other, atOnce);
    EXPECT_EQ(refused.status, Code::NONE);
    EXPECT_EQ(refused.supported, std::vector<bool>{false});
    EXPECT_TRUE(refused.dropped && !refused.inAnswer);
    const Heard wrong = ask(invalid, atOnce);
    EXPECT_EQ(wrong.status, Code::INVALID_ARGUMENT);
    EXPECT_TRUE(wrong.supported.empty() && wrong.dropped && !wrong.inAnswer);
  }
}

// The client goes while the driver prepares: nobody gets the model, and it is let go of.
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
    call.setPriority(Priority::MEDIUM);
    call.setAtOnce(true);
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
