// Tests of configureExecutionBurst at the driver's process boundary: valid and invalid calls of a
// client.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <thread>

#include "hal/testing/ring_pair.h"
#include "hal/testing/server_fixture.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the fixture's vocabulary

class NoDescriptor final : public wire::FileDescriptor::Server {};

class NoMemories final : public wire::v1_2::IBurstCallback::Server {};

using ConfigureRequest = capnp::Request<wire::v1_2::IPreparedModel::ConfigureExecutionBurstParams,
                                        wire::v1_2::IPreparedModel::ConfigureExecutionBurstResults>;

class BurstServerTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  }
  using Change = std::function<void(ConfigureRequest&)>;
  Outcome configure(const Change& change = nullptr) {
    return onLoop<Outcome>([&](RpcLoop::Context&) {
      auto call = preparedClient_->configureExecutionBurstRequest();
      call.setCallback(kj::heap<NoMemories>());
      describe(DatumQueue::create(64).value(), call.initRequestChannel());
      describe(DatumQueue::create(64).value(), call.initResultChannel());
      if (change) change(call);
      return call.send().then([](auto&& response) -> Outcome {
        const bool ok = response.getStatus() == wire::ErrorStatus::NONE;
        EXPECT_EQ(response.hasBurstContext(), ok);
        // A client of an earlier schema gets a doorbell of the driver.
        EXPECT_EQ(response.hasDoorbell(), ok && !response.getTakesDoorbell());
        return {response.getStatus(), response.getMessage().cStr()};
      });
    });
  }
  static void describe(const SharedMemoryPtr& memory, wire::QueueDescriptor::Builder queue) {
    MemoryEncoder().encode(memory, 0, queue.initMemory());
    queue.setElementCount(64);
    queue.setElementSize(24);
    queue.setHasEventWord(true);
  }

  std::vector<wire::v1_2::IBurstContext::Client> contexts_;  // loop thread
};

TEST_F(BurstServerTest, RefusesWhatIsNoChannel) {
  EXPECT_EQ(configure().status, wire::ErrorStatus::NONE);
  const std::vector<std::pair<std::string, Change>> bad = {
      {"the callback is null", [](auto& call) { call.disownCallback(); }},
      {"request channel: a queue without an event word",
       [](auto& call) { call.getRequestChannel().setHasEventWord(false); }},
      {"result channel: a queue without an event word",
       [](auto& call) { call.getResultChannel().setHasEventWord(false); }},
      {"elements of 23 bytes", [](auto& call) { call.getResultChannel().setElementSize(23); }},
      {"0 elements", [](auto& call) { call.getRequestChannel().setElementCount(0); }},
      {"4294967295 elements",
       [](auto& call) { call.getRequestChannel().setElementCount(0xffffffff); }},
      {"its file descriptor is missing",
       [](auto& call) {
         call.getResultChannel().getMemory().getFile().setFd(kj::heap<NoDescriptor>());
       }},
      {"request channel: its memory could shrink",
       [](auto& call) {
         const UniqueFd file = fileOf(std::vector<float>(1000));
         describe(SharedMemory::fromFd(2000, PROT_READ | PROT_WRITE, file.get(), 0).value(),
                  call.getRequestChannel());
       }},
      {"may not be both read and written",
       [](auto& call) { call.getRequestChannel().getMemory().setProt(1); }},
      {"offset 8",
       [](auto& call) {
         call.getRequestChannel().getMemory().setOffset(8);
         call.getRequestChannel().getMemory().setSize(1792 - 8);
         call.getRequestChannel().setElementCount(63);
       }},
      {"do not fit in a file of 1792 bytes",
       [](auto& call) { call.getRequestChannel().getMemory().setSize(1 << 20); }},
  };
  for (const auto& [text, change] : bad) {
    const Outcome outcome = configure(change);
    EXPECT_EQ(outcome.status, wire::ErrorStatus::GENERAL_FAILURE) << text;
    EXPECT_THAT(outcome.message, HasSubstr(text));
  }
  EXPECT_EQ(configure().status, wire::ErrorStatus::NONE);
}

// A file of another kind could block the driver that watches it.
TEST_F(BurstServerTest, RefusesWhatIsNoDoorbell) {
  const auto with = [&](int fd) {
    return configure([fd](auto& call) { call.setDoorbell(KJ_ASSERT_NONNULL(encodeFile(fd))); });
  };
  const Doorbell right = Doorbell::create().value();
  EXPECT_EQ(with(right.watched()).status, wire::ErrorStatus::NONE);
  int pipeEnds[2];
  int datagramEnds[2];
  ASSERT_EQ(::pipe2(pipeEnds, O_CLOEXEC), 0);
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, datagramEnds), 0);
  const UniqueFd wrong[] = {UniqueFd(pipeEnds[0]),
                            UniqueFd(pipeEnds[1]),
                            UniqueFd(datagramEnds[0]),
                            UniqueFd(datagramEnds[1]),
                            UniqueFd(::eventfd(0, EFD_CLOEXEC)),
                            UniqueFd(::epoll_create1(EPOLL_CLOEXEC)),
                            UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
                            UniqueFd(::open("/", O_PATH | O_CLOEXEC))};
  for (const UniqueFd& fd : wrong) {
    const Outcome outcome = with(fd.get());
    EXPECT_EQ(outcome.status, wire::ErrorStatus::GENERAL_FAILURE);
    EXPECT_THAT(outcome.message, HasSubstr("doorbell: it is "));
  }
  const Outcome none = configure([](auto& call) { call.setDoorbell(kj::heap<NoDescriptor>()); });
  EXPECT_EQ(none.status, wire::ErrorStatus::GENERAL_FAILURE);
}

// The driver rings without a write to a shared descriptor.
TEST_F(BurstServerTest, AClientThatFillsADoorbellKeepsNobodyWaiting) {
  const RingClient::Channels channels = RingClient::createChannels(64, 64).value();
  const auto client = RingClient::create(channels, 64, 64, std::make_shared<SpinGate>()).value();
  UniqueFd doorbell;
  UniqueFd memoryChannel;
  onLoop<bool>([&](RpcLoop::Context&) {
    auto call = preparedClient_->configureExecutionBurstRequest();
    call.setCallback(kj::heap<NoMemories>());
    describe(channels.requests, call.initRequestChannel());
    describe(channels.results, call.initResultChannel());
    return call.send().then([&](auto&& response) {
      contexts_.push_back(response.getBurstContext());
      auto fds = kj::heapArrayBuilder<kj::Promise<ForeignFd>>(2);
      fds.add(duplicateFd(response.getDoorbell()));
      fds.add(duplicateFd(response.getMemoryChannel()));
      return kj::joinPromises(fds.finish()).then([&](kj::Array<ForeignFd> received) {
        doorbell.reset(received[0].release());
        memoryChannel.reset(received[1].release());
        return true;
      });
    });
  });
  const auto in = sharedFloats(kRingInputs);
  const auto out = sharedFloats({0, 0, 0, 0});
  EXPECT_TRUE(offerMemory(memoryChannel.get(), 0, *in));
  EXPECT_TRUE(offerMemory(memoryChannel.get(), 1, *out));
  std::vector<Datum> packet;
  const std::vector<int32_t> slots = {0, 1};
  encodeRequestPacket(ringRequest(in, out), slots, {}, false, &packet);
  // The doorbell is full, so that writers block. That also wakes the driver.
  ASSERT_TRUE(client->send(packet));
  const uint64_t most = UINT64_MAX - 1;
  ASSERT_EQ(::write(doorbell.get(), &most, sizeof most), 8);
  ASSERT_EQ(::fcntl(doorbell.get(), F_SETFL, 0), 0);
  ASSERT_EQ(client->wait(Clock::now() + std::chrono::seconds(60)), RingClient::Wait::ANSWERED);
  std::atomic<bool> served = false;
  std::thread onLoopThread([&] {
    onLoop<bool>([&](RpcLoop::Context&) {
      auto call = contexts_.back().freeMemoryRequest();
      call.setSlot(0);
      return call.send().then([](auto&&) { return true; });
    });
    served = true;
  });
  const auto end = Clock::now() + std::chrono::seconds(20);
  while (!served && Clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(served) << "the driver's loop waits for its client";
  // Empties the doorbell, so that the test ends even if the thread waits.
  uint64_t content = 0;
  (void)!::read(doorbell.get(), &content, sizeof content);
  onLoopThread.join();
  onLoop<bool>([&](RpcLoop::Context&) -> kj::Promise<bool> {
    contexts_.clear();
    return true;
  });
}

TEST_F(BurstServerTest, OldDriversHaveNone) {
  start(HalVersion::V1_1);
  ASSERT_EQ(
      onLoop<bool>([&](RpcLoop::Context&) -> kj::Promise<bool> {
        auto call = device<wire::v1_1::IDevice>().prepareModel11Request();
        auto answer = kj::newPromiseAndFulfiller<PreparedAnswer>();
        call.setCallback(kj::heap<PreparedModelCallback>(kj::mv(answer.fulfiller)));
        encodeModel(addModel(4), nullptr, call.initModel());
        call.setPreference(wire::ExecutionPreference::FAST_SINGLE_ANSWER);
        return call.send().then([promise =
                                     kj::mv(answer.promise)](auto&&) mutable -> kj::Promise<bool> {
          return promise.then([](PreparedAnswer prepared) -> kj::Promise<bool> {
            auto& client = KJ_ASSERT_NONNULL(prepared.preparedModel);
            auto burst = client.castAs<Prepared13>().configureExecutionBurstRequest().send();
            return burst.then([](auto&&) { return false; },
                              [](kj::Exception&& exception) {
                                return exception.getType() == kj::Exception::Type::UNIMPLEMENTED;
                              });
          });
        });
      }),
      true);
}

TEST_F(BurstServerTest, DriversMayHaveNone) {
  device_->mutableInfo().bursts = false;
  const Outcome outcome = configure();
  EXPECT_EQ(outcome.status, wire::ErrorStatus::DEVICE_UNAVAILABLE);
  EXPECT_THAT(outcome.message, HasSubstr("the driver has no bursts"));
}

// A driver may take long to destroy a model, and the loop serves other clients.
TEST_F(BurstServerTest, TheLastOfAModelGoesOnAWorker) {
  Completion<std::thread::id> released;
  device_->onRelease = [&] { released.set(std::this_thread::get_id()); };
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  onLoop<bool>([&](RpcLoop::Context&) {
    auto call = preparedClient_->configureExecutionBurstRequest();
    call.setCallback(kj::heap<NoMemories>());
    describe(DatumQueue::create(64).value(), call.initRequestChannel());
    describe(DatumQueue::create(64).value(), call.initResultChannel());
    return call.send().then([&](auto&& response) {
      contexts_.push_back(response.getBurstContext());
      return true;
    });
  });
  onLoop<bool>([&](RpcLoop::Context&) -> kj::Promise<bool> {
    delete std::exchange(preparedClient_, nullptr);
    return true;
  });
  // This call runs after the model's release, which leaves the burst as the last owner.
  EXPECT_EQ(supported(addModel(4)).status, wire::ErrorStatus::NONE);
  const auto loop = onLoop<std::thread::id>([&](RpcLoop::Context&) -> kj::Promise<std::thread::id> {
    contexts_.clear();
    return std::this_thread::get_id();
  });
  EXPECT_NE(released.wait(), loop);
}

// The client's callback has no memories. The driver does not call it.
TEST_F(BurstServerTest, TakesMemoriesBeforeTheirPackets) {
  const RingClient::Channels channels = RingClient::createChannels(64, 64).value();
  const auto client = RingClient::create(channels, 64, 64, std::make_shared<SpinGate>()).value();
  UniqueFd memoryChannel;
  onLoop<bool>([&](RpcLoop::Context&) {
    auto call = preparedClient_->configureExecutionBurstRequest();
    call.setCallback(kj::heap<NoMemories>());
    describe(channels.requests, call.initRequestChannel());
    describe(channels.results, call.initResultChannel());
    call.setDoorbell(KJ_ASSERT_NONNULL(encodeFile(client->doorbell())));
    return call.send().then([&](auto&& response) {
      EXPECT_TRUE(response.getTakesDoorbell());
      EXPECT_FALSE(response.hasDoorbell());
      contexts_.push_back(response.getBurstContext());
      return duplicateFd(response.getMemoryChannel()).then([&](ForeignFd received) {
        memoryChannel.reset(received.release());
        return true;
      });
    });
  });
  const auto in = sharedFloats(kRingInputs);
  const auto out = sharedFloats({0, 0, 0, 0});
  EXPECT_TRUE(offerMemory(memoryChannel.get(), 0, *in));
  EXPECT_TRUE(offerMemory(memoryChannel.get(), 1, *out));
  std::vector<Datum> packet;
  const std::vector<int32_t> slots = {0, 1};
  encodeRequestPacket(ringRequest(in, out), slots, {}, false, &packet);
  ASSERT_TRUE(client->send(packet));
  ASSERT_EQ(client->wait(std::nullopt), RingClient::Wait::ANSWERED);
  ExecutionResult result;
  ASSERT_TRUE(decodeResultPacket(client->takeAnswer(), 1, &result).ok());
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(floatsIn(*out), ::testing::ElementsAre(11, 22, 33, 44));
  onLoop<bool>([&](RpcLoop::Context&) -> kj::Promise<bool> {
    contexts_.clear();
    return true;
  });
}

// Clients without support for recordings get none. Any recording number may be freed.
TEST_F(BurstServerTest, KeepsRecordings) {
  for (const bool extended : {false, true}) {
    const uint32_t kept = onLoop<uint32_t>([&](RpcLoop::Context&) {
      auto call = preparedClient_->configureExecutionBurstRequest();
      call.setCallback(kj::heap<NoMemories>());
      describe(DatumQueue::create(64).value(), call.initRequestChannel());
      describe(DatumQueue::create(64).value(), call.initResultChannel());
      call.setExtended(extended);
      return call.send().then([&](auto&& response) {
        contexts_.push_back(response.getBurstContext());
        return response.getRecordings();
      });
    });
    EXPECT_EQ(kept, extended ? kMaxRecordings : 0u);
  }
  for (const uint32_t number : {0u, 16u, 0xffffffffu}) {
    EXPECT_TRUE(onLoop<bool>([&](RpcLoop::Context&) {
      auto call = contexts_.back().freeRecordingRequest();
      call.setNumber(number);
      return call.send().then([](auto&&) { return true; });
    }));
  }
  onLoop<bool>([&](RpcLoop::Context&) -> kj::Promise<bool> {
    contexts_.clear();
    return true;
  });
}

// A client's bursts end with the client.
TEST_F(BurstServerTest, ClientsHaveALimitedNumber) {
  unsigned taken = 0;
  const auto hold = [&] {
    return onLoop<bool>([&](RpcLoop::Context&) {
      auto call = preparedClient_->configureExecutionBurstRequest();
      call.setCallback(kj::heap<NoMemories>());
      describe(DatumQueue::create(64).value(), call.initRequestChannel());
      describe(DatumQueue::create(64).value(), call.initResultChannel());
      return call.send().then([&](auto&& response) {
        if (response.getStatus() != wire::ErrorStatus::NONE) {
          EXPECT_EQ(response.getStatus(), wire::ErrorStatus::RESOURCE_EXHAUSTED_TRANSIENT);
          return false;
        }
        contexts_.push_back(response.getBurstContext());
        return true;
      });
    });
  };
  while (taken < 1000 && hold()) ++taken;
  EXPECT_EQ(taken, 256u);
  onLoop<bool>([&](RpcLoop::Context&) -> kj::Promise<bool> {
    contexts_.clear();
    return true;
  });
  EXPECT_EQ(configure().status, wire::ErrorStatus::NONE);
}

}  // namespace
}  // namespace halyard::hal
