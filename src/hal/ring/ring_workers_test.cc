// Tests of the threads that serve rings: how many there are, and who gets them.
#include "hal/ring/ring_workers.h"

#include <gtest/gtest.h>

#include <thread>

#include "hal/testing/ring_pair.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the test device's vocabulary

TEST(RingWorkersTest, ServesManyRingsWithFewThreads) {
  constexpr unsigned kRings = 64;
  std::vector<std::unique_ptr<RingPair>> pairs;
  for (unsigned i = 0; i < kRings; ++i)
    pairs.push_back(std::make_unique<RingPair>(RingPair::Options{}));
  const auto in = sharedFloats(kRingInputs);
  std::vector<std::thread> clients;
  std::atomic<unsigned> right = 0;
  for (auto& pair : pairs) {
    clients.emplace_back([&, pair = pair.get()] {
      const auto out = sharedFloats({0, 0, 0, 0});
      for (int i = 0; i < 20; ++i) {
        const auto result = pair->exchange(pair->packetFor(ringRequest(in, out)));
        if (result && result->status.ok() && floatsIn(*out)[3] == 44) ++right;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, kRings * 20);
}

// Rings of a model that executes only once it may.
class SharedWorkersTest : public ::testing::Test {
 protected:
  struct End {
    std::shared_ptr<ServedRing> ring;
    std::shared_ptr<RingClient> client;
  };
  ~SharedWorkersTest() override {
    gated_->open();
    for (const auto& end : ends_) workers_->remove(*end->ring);
    workers_.reset();
  }
  void start(unsigned threads, unsigned mostThreads, unsigned mostOfClient) {
    workers_ = RingWorkers::start({threads, mostThreads, mostOfClient, {}}).value();
  }
  // A ring of the client, with a request under way.
  End& send(const void* client, std::shared_ptr<PreparedModel> prepared) {
    End& end = *ends_.emplace_back(std::make_unique<End>());
    const auto channels = RingClient::createChannels(64, 64).value();
    const QueueShape shape{64, sizeof(Datum), true};
    end.client = RingClient::create(channels, 64, 64, std::make_shared<SpinGate>()).value();
    end.ring = ServedRing::create({DatumQueue::map(*channels.requests, shape).value(),
                                   DatumQueue::map(*channels.results, shape).value(), model_,
                                   std::move(prepared), HalVersion::V1_3, true,
                                   [this, &end](const std::vector<int32_t>&) {
                                     std::vector<PoolDescription> pools;
                                     pools.push_back(describe(*in_));
                                     pools.push_back(describe(*out_));
                                     end.ring->memoriesArrived(std::move(pools));
                                   },
                                   copyOf(end.client->doorbell())})
                   .value();
    EXPECT_TRUE(workers_->add(end.ring, client).ok());
    std::vector<Datum> packet;
    encodeRequestPacket(ringRequest(in_, out_), std::vector<int32_t>{0, 1}, {}, true, &packet);
    EXPECT_TRUE(end.client->send(packet));
    return end;
  }
  static void expectAnswered(End& end) {
    EXPECT_EQ(end.client->wait(Clock::now() + std::chrono::seconds(60)),
              RingClient::Wait::ANSWERED);
  }
  static void expectNotAnswered(End& end) {
    EXPECT_EQ(end.client->wait(Clock::now() + std::chrono::milliseconds(30)),
              RingClient::Wait::TIMED_OUT);
  }

  const std::shared_ptr<GatedModel> gated_ = std::make_shared<GatedModel>();
  const std::shared_ptr<const Model> model_ = std::make_shared<const Model>(addModel(4));
  const SharedMemoryPtr in_ = sharedFloats(kRingInputs);
  const SharedMemoryPtr out_ = sharedFloats({0, 0, 0, 0});
  std::unique_ptr<RingWorkers> workers_;
  std::vector<std::unique_ptr<End>> ends_;
};

TEST_F(SharedWorkersTest, ThreadsComeWithTheWork) {
  start(3, 3, 16);
  EXPECT_EQ(workers_->threads(), 1u);
  for (int i = 0; i < 5; ++i) send(this, gated_);
  gated_->awaitInside(3);
  expectNotAnswered(*ends_[0]);
  EXPECT_EQ(workers_->threads(), 3u) << "not more than allowed";
  gated_->open();
  for (const auto& end : ends_) expectAnswered(*end);
}

TEST_F(SharedWorkersTest, WhoWaitsForLongGetsAThread) {
  start(1, 2, 16);
  send(this, gated_);
  gated_->awaitInside(1);
  TestDevice device;
  const auto prompt = device.prepareModel(model_, {}).value();
  expectAnswered(send(&device, prompt));
  EXPECT_EQ(workers_->threads(), 2u);
}

TEST_F(SharedWorkersTest, ClientsDoNotGetAllThreads) {
  start(4, 4, 2);
  for (int i = 0; i < 3; ++i) send(this, gated_);
  gated_->awaitInside(2);
  TestDevice device;
  const auto prompt = device.prepareModel(model_, {}).value();
  End& deferred = send(this, prompt);
  expectNotAnswered(deferred);
  expectAnswered(send(&device, prompt));
  gated_->open();
  for (const auto& end : ends_) {
    if (end->client != ends_.back()->client) expectAnswered(*end);
  }
}

}  // namespace
}  // namespace halyard::hal
