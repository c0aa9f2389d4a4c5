// Tests of executeFenced at the process boundary, with valid and invalid calls.
#include <sys/eventfd.h>

#include "hal/testing/server_fixture.h"
#include "hal/wire/wire_fence.h"
#include "hal/wire/wire_memory.h"
#include "halyard/driver/sync_fence.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the fixture's vocabulary

using FencedParams = Prepared13::ExecuteFencedParams::Builder;
using FencedCallback = wire::v1_3::IFencedExecutionCallback::Client;

struct FencedOutcome {
  Outcome outcome;
  bool hasFence = false;
  UniqueFd fence;
  bool hasCallback = false;
};

class FencedServerTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  }
  void TearDown() override {
    dropCallback();
    ServerTest::TearDown();
  }
  void dropCallback() {
    onLoop<bool>([this](RpcLoop::Context&) -> kj::Promise<bool> {
      delete std::exchange(callback_, nullptr);
      return true;
    });
  }

  FencedOutcome fenced(const Request& request, const std::vector<int>& waitFor,
                       const std::function<void(FencedParams)>& mutate = nullptr) {
    auto result = std::make_shared<FencedOutcome>();
    onLoop<bool>([&](RpcLoop::Context&) {
      auto call = preparedClient_->executeFencedRequest();
      encodeRequest(request, call.initRequest());
      auto fences = call.initWaitFor(static_cast<unsigned>(waitFor.size()));
      for (unsigned i = 0; i < waitFor.size(); ++i) {
        fences.set(i, encodeFence(UniqueFd(::fcntl(waitFor[i], F_DUPFD_CLOEXEC, 0))));
      }
      if (mutate) mutate(call);
      return call.send().then([this, result](auto&& response) -> kj::Promise<bool> {
        result->outcome = {response.getStatus(), response.getMessage().cStr()};
        result->hasFence = response.hasSyncFence();
        result->hasCallback = response.hasCallback();
        if (result->hasCallback) {
          delete callback_;
          callback_ = new FencedCallback(response.getCallback());
        }
        if (!result->hasFence) return true;
        return duplicateFd(response.getSyncFence()).then([result](ForeignFd fence) {
          result->fence.reset(fence.release());
          return true;
        });
      });
    });
    return std::move(*result);
  }
  Outcome info(uint64_t* launched = nullptr, uint64_t* fencedTime = nullptr) {
    return onLoop<Outcome>([&](RpcLoop::Context&) {
      return callback_->getExecutionInfoRequest().send().then([=](auto&& response) -> Outcome {
        if (launched != nullptr) *launched = response.getTimingLaunched().getTimeInDriver();
        if (fencedTime != nullptr) *fencedTime = response.getTimingFenced().getTimeInDriver();
        return {response.getStatus(), response.getMessage().cStr()};
      });
    });
  }
  void expectRefused(const FencedOutcome& result, wire::ErrorStatus status,
                     const std::string& text) {
    SCOPED_TRACE(text);
    EXPECT_EQ(result.outcome.status, status) << result.outcome.message;
    EXPECT_THAT(result.outcome.message, HasSubstr(text));
    EXPECT_FALSE(result.hasFence);
    EXPECT_FALSE(result.hasCallback);
  }
  void expectInvalid(const FencedOutcome& result, const std::string& text) {
    expectRefused(result, wire::ErrorStatus::INVALID_ARGUMENT, text);
  }
  static FenceState waitOn(const FencedOutcome& result) {
    EXPECT_EQ(result.outcome.status, wire::ErrorStatus::NONE) << result.outcome.message;
    const auto state = waitFence(result.fence.get(), Clock::now() + std::chrono::seconds(60));
    EXPECT_TRUE(state.ok()) << state.status().toString();
    return state.ok() ? *state : FenceState::PENDING;
  }

  const SharedMemoryPtr in_ = memoryOf(kInputs);
  const SharedMemoryPtr out_ = memoryOf({0, 0, 0, 0});
  const Request request_ = poolRequest(in_, out_);
  FencedCallback* callback_ = nullptr;  // loop thread only
};

TEST_F(FencedServerTest, InputsAreReadWhenTheFencesHaveSignalled) {
  NewFence fence = createFence().value();
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  const FencedOutcome result = fenced(request_, {fence.fence.get(), event.get()});
  ASSERT_EQ(result.outcome.status, wire::ErrorStatus::NONE) << result.outcome.message;
  ASSERT_TRUE(result.hasFence && result.hasCallback);
  EXPECT_EQ(fenceState(result.fence.get()).value(), FenceState::PENDING);
  const Outcome early = info();
  EXPECT_EQ(early.status, wire::ErrorStatus::GENERAL_FAILURE);
  EXPECT_THAT(early.message, HasSubstr("not completed"));
  const std::vector<float> later = {5, 6, 7, 8, 50, 60, 70, 80};
  std::memcpy(in_->map().value().data(), later.data(), 32);
  ASSERT_EQ(::eventfd_write(event.get(), 1), 0);
  fence.signaller.signal();
  EXPECT_EQ(waitOn(result), FenceState::SIGNALLED);
  EXPECT_THAT(contentsOf(*out_), ::testing::ElementsAre(55, 66, 77, 88));
  uint64_t launched = 0;
  uint64_t afterFences = 0;
  EXPECT_EQ(info(&launched, &afterFences).status, wire::ErrorStatus::NONE);
  EXPECT_EQ(launched, ~uint64_t{0});
  EXPECT_EQ(afterFences, ~uint64_t{0});
}

TEST_F(FencedServerTest, OutputsInShrinkableFilesAreThereWhenTheFenceSignals) {
  const UniqueFd in = fileOf(kInputs);
  const UniqueFd to = fileOf({0, 0, 0, 0});
  const Request request =
      poolRequest(SharedMemory::fromFd(32, PROT_READ, in.get(), 0).value(),
                  SharedMemory::fromFd(16, PROT_READ | PROT_WRITE, to.get(), 0).value());
  EXPECT_EQ(waitOn(fenced(request, {})), FenceState::SIGNALLED);
  std::vector<float> written(4);
  ASSERT_EQ(::pread(to.get(), written.data(), 16, 0), 16);
  EXPECT_THAT(written, ::testing::ElementsAre(11, 22, 33, 44));

  // The file is truncated while the execution waits.
  NewFence fence = createFence().value();
  const FencedOutcome cut = fenced(request, {fence.fence.get()});
  ASSERT_EQ(::ftruncate(in.get(), 8), 0);
  fence.signaller.signal();
  EXPECT_EQ(waitOn(cut), FenceState::ERROR);
  EXPECT_EQ(info().status, wire::ErrorStatus::INVALID_ARGUMENT);
}

TEST_F(FencedServerTest, TimesComeWhenAskedFor) {
  const FencedOutcome result =
      fenced(request_, {}, [](FencedParams call) { call.setMeasure(wire::MeasureTiming::YES); });
  EXPECT_EQ(waitOn(result), FenceState::SIGNALLED);
  uint64_t launched = 0;
  uint64_t afterFences = 0;
  EXPECT_EQ(info(&launched, &afterFences).status, wire::ErrorStatus::NONE);
  EXPECT_GE(afterFences, 3000u);  // the time of the test device
  EXPECT_LE(afterFences, launched);
  EXPECT_LT(launched, 60'000'000u);
}

// A client that does not release its fences holds descriptors and executions of the server.
TEST_F(FencedServerTest, FencesThatTheClientKeepsAreLimited) {
  dropCallback();
  ClientTerms terms;
  terms.quota = Quota::create({.descriptors = 16}, "the client");
  start(HalVersion::V1_3, 0, std::move(terms));
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  std::vector<FencedCallback*> kept;
  FencedOutcome last = fenced(request_, {});
  while (last.outcome.status == wire::ErrorStatus::NONE && kept.size() < 100) {
    EXPECT_EQ(waitOn(last), FenceState::SIGNALLED);
    kept.push_back(std::exchange(callback_, nullptr));
    last = fenced(request_, {});
  }
  expectRefused(last, wire::ErrorStatus::RESOURCE_EXHAUSTED_TRANSIENT, "of 16 descriptors");
  onLoop<bool>([&kept](RpcLoop::Context&) -> kj::Promise<bool> {
    for (FencedCallback* const callback : kept) delete callback;
    return true;
  });
  EXPECT_EQ(waitOn(fenced(request_, {})), FenceState::SIGNALLED);
}

// Its sender would decide how long the call holds descriptors and memory.
TEST_F(FencedServerTest, APromiseOfAFenceIsNotWaitedFor) {
  using Fulfiller = kj::Own<kj::PromiseFulfiller<wire::FileDescriptor::Client>>;
  const auto kept = std::make_shared<std::optional<Fulfiller>>();
  expectInvalid(fenced(request_, {},
                       [kept](FencedParams call) {
                         auto never = kj::newPromiseAndFulfiller<wire::FileDescriptor::Client>();
                         *kept = kj::mv(never.fulfiller);
                         call.initWaitFor(1).set(
                             0, wire::FileDescriptor::Client(kj::mv(never.promise)));
                       }),
                "fence 0");
  onLoop<bool>([kept](RpcLoop::Context&) -> kj::Promise<bool> {
    kept->reset();
    return true;
  });
}

TEST_F(FencedServerTest, BadFencesGetNeitherFenceNorCallback) {
  const NewFence good = createFence().value();
  NewFence failed = createFence().value();
  failed.signaller.fail();
  expectInvalid(fenced(request_, {good.fence.get(), failed.fence.get()}), "error state");
  expectInvalid(fenced(request_, {in_->fd()}), "expected a fence");
  // Three invalid fences: a null handle, a handle without a descriptor, and another capability.
  expectInvalid(fenced(request_, {}, [](FencedParams call) { call.initWaitFor(1); }), "fence 0");
  expectInvalid(
      fenced(request_, {},
             [](FencedParams call) { call.initWaitFor(1).set(0, encodeFence(UniqueFd())); }),
      "fence 0");
  expectInvalid(fenced(request_, {},
                       [this](FencedParams call) {
                         call.initWaitFor(1).set(0, deviceClient_->castAs<wire::FileDescriptor>());
                       }),
                "fence 0");
  expectInvalid(fenced(request_, {}, [](FencedParams call) { call.initWaitFor(129); }),
                "129 fences");
  EXPECT_EQ(waitOn(fenced(request_, {})), FenceState::SIGNALLED);
}

TEST_F(FencedServerTest, BadRequestsGetNeitherFenceNorCallback) {
  const auto mutated = [&](const std::function<void(wire::Request::Builder)>& mutate) {
    return fenced(request_, {}, [&](FencedParams call) { mutate(call.getRequest()); });
  };
  expectInvalid(mutated([](auto r) { r.initInputs(0); }), "0 inputs");
  expectInvalid(mutated([](auto r) { r.initOutputs(0); }), "0 outputs");
  expectInvalid(mutated([](auto r) { r.getInputs()[0].getLocation().setPoolIndex(9); }), "pool 9");
  expectInvalid(mutated([](auto r) { r.getOutputs()[0].getLocation().setLength(15); }), "needs 16");
  expectInvalid(mutated([](auto r) { r.getPools()[1].getMemory().setProt(1); }), "not writable");
  expectInvalid(mutated([](auto r) {
                  r.getPools()[0].setToken(100);
                  for (auto input : r.getInputs()) input.initLocation();  // the whole buffer
                }),
                "no buffer with token 100");
  expectInvalid(mutated([](auto r) { r.getOutputs()[0].initDimensions(1); }), "not specified");
  expectInvalid(
      fenced(request_, {},
             [](FencedParams call) { call.setMeasure(static_cast<wire::MeasureTiming>(7)); }),
      "measureTiming 7");
  expectRefused(fenced(request_, {},
                       [](FencedParams call) { call.getDeadline().setNanosecondsSinceEpoch(1); }),
                wire::ErrorStatus::MISSED_DEADLINE_PERSISTENT, "deadline");
  ASSERT_EQ(prepare(addModel(0)).status, wire::ErrorStatus::NONE);
  expectInvalid(fenced(request_, {}), "");
  EXPECT_THAT(contentsOf(*out_), ::testing::ElementsAre(0, 0, 0, 0));
}

TEST_F(FencedServerTest, ErrorsComeThroughTheFenceAndTheCallback) {
  NewFence fence = createFence().value();
  const FencedOutcome waiting = fenced(request_, {fence.fence.get()});
  fence.signaller.fail();
  EXPECT_EQ(waitOn(waiting), FenceState::ERROR);
  EXPECT_EQ(info().status, wire::ErrorStatus::GENERAL_FAILURE);

  const FencedOutcome thrown =
      fenced(poolRequest(memoryOf(std::vector<float>(8, kThrow)), out_), {});
  EXPECT_EQ(waitOn(thrown), FenceState::ERROR);
  const Outcome told = info();
  EXPECT_EQ(told.status, wire::ErrorStatus::GENERAL_FAILURE);
  EXPECT_THAT(told.message, HasSubstr("the test wants it"));

  const NewFence never = createFence().value();
  const FencedOutcome late = fenced(request_, {never.fence.get()}, [](FencedParams call) {
    encodeDeadline(Clock::now() + std::chrono::milliseconds(50), call.getDeadline());
  });
  EXPECT_EQ(waitOn(late), FenceState::ERROR);
  EXPECT_EQ(info().status, wire::ErrorStatus::MISSED_DEADLINE_PERSISTENT);
}

TEST_F(FencedServerTest, ClientThatGoesEndsItsExecutions) {
  const NewFence never = createFence().value();
  const FencedOutcome waiting = fenced(request_, {never.fence.get()});
  const FencedOutcome running =
      fenced(poolRequest(memoryOf(std::vector<float>(8, kUntilCancelled)), out_), {});
  EXPECT_EQ(device_->preparedModels(), 1u);
  dropCallback();
  onLoop<bool>([this](RpcLoop::Context&) -> kj::Promise<bool> {
    delete std::exchange(preparedClient_, nullptr);
    delete std::exchange(deviceClient_, nullptr);
    delete std::exchange(client_, nullptr);
    return true;
  });
  EXPECT_EQ(waitOn(waiting), FenceState::ERROR);
  EXPECT_EQ(waitOn(running), FenceState::ERROR);
  EXPECT_TRUE(disconnected_.wait());
}

TEST_F(FencedServerTest, DrainingEndsFencedExecutionsToo) {
  const FencedOutcome running =
      fenced(poolRequest(memoryOf(std::vector<float>(8, kUntilCancelled)), out_), {});
  EXPECT_EQ(running.outcome.status, wire::ErrorStatus::NONE);
  EXPECT_TRUE(server_->drain(std::chrono::seconds(30)));
  EXPECT_EQ(waitOn(running), FenceState::ERROR);
}

TEST_F(FencedServerTest, OldDeviceHasNoFencedExecution) {
  start(HalVersion::V1_2);
  const bool refused = onLoop<bool>([&](RpcLoop::Context&) {
    auto call = device<wire::v1_2::IDevice>().prepareModel12Request();
    encodeModel(addModel(4), nullptr, call.initModel());
    auto answer = kj::newPromiseAndFulfiller<PreparedAnswer>();
    call.setCallback(kj::heap<PreparedModelCallback>(kj::mv(answer.fulfiller)));
    return call.send().then([promise = kj::mv(answer.promise)](auto&&) mutable {
      return promise.then([](PreparedAnswer prepared) {
        return KJ_ASSERT_NONNULL(prepared.preparedModel)
            .castAs<Prepared13>()
            .executeFencedRequest()
            .send()
            .then([](auto&&) { return false; },
                  [](kj::Exception&& exception) {
                    return exception.getType() == kj::Exception::Type::UNIMPLEMENTED;
                  });
      });
    });
  });
  EXPECT_TRUE(refused);
}

}  // namespace
}  // namespace halyard::hal
