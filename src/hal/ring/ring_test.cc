// Tests of the ring alone: both ends are in this process, and the client may be hostile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <thread>

#include "hal/testing/ring_fixture.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the test device's vocabulary
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(RingTest, ExecutesAgainAndAgain) {
  // The test device fails or hangs for some lower values.
  for (float i = 1000; i < 4000; ++i) {
    const float first = i;
    std::memcpy(in_->mapped().value()->data(), &first, sizeof first);
    const auto result = pair_->exchange(goodPacket());
    ASSERT_TRUE(result.has_value());
    ASSERT_TRUE(result->status.ok()) << result->status.toString();
    ASSERT_EQ(floatsIn(*out_)[0], i + 10) << "the input that was there at the time counts";
    ASSERT_THAT(result->outputShapes.at(0).dimensions, ElementsAre(4u));
  }
  EXPECT_THAT(pair_->fetches(), ElementsAre(ElementsAre(0, 1))) << "asked for once, all together";
}

// The next packet is there when an execution ends.
class PipelinedModel final : public PreparedModel {
 public:
  ExecutionResult executeSynchronously(const Request&, const ExecuteOptions&) override {
    ++executions;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (executions < 20) sendNext();
    return {};
  }

  std::function<void()> sendNext;
  int executions = 0;
};

class OthersWait final : public FairExecutor::Turn {
 public:
  bool othersWait() const override { return true; }
  bool stopping() const override { return false; }
};

TEST_F(RingTest, ATurnWithLongExecutionsEndsWhileOthersWait) {
  const auto model = std::make_shared<PipelinedModel>();
  RingPair::Options options;
  options.preparedModel = model;
  start(std::move(options));
  const std::vector<Datum> packet = goodPacket();
  model->sendNext = [&] { EXPECT_TRUE(pair_->client().send(packet)); };
  FairExecutor::Source& ring = pair_->ring();
  pair_->executor().remove(ring);
  ASSERT_TRUE(pair_->client().send(packet));
  // The first turn asks for the memories.
  EXPECT_EQ(ring.serve(OthersWait()), FairExecutor::Source::Outcome::IDLE);
  EXPECT_EQ(ring.serve(OthersWait()), FairExecutor::Source::Outcome::MORE);
  EXPECT_EQ(model->executions, 1);
  EXPECT_EQ(ring.serve(OthersWait()), FairExecutor::Source::Outcome::MORE);
  EXPECT_EQ(model->executions, 2);
}

TEST_F(RingTest, TimesAreMeasuredIfAsked) {
  ExecuteOptions options;
  options.measureTiming = true;
  const auto measured = pair_->exchange(goodPacket(options));
  ASSERT_TRUE(measured.has_value() && measured->status.ok());
  EXPECT_EQ(measured->timing.timeOnDevice, 2'000'000u);
  EXPECT_EQ(measured->timing.timeInDriver, 3'000'000u);
}

// The client counts the work that the driver names, not the wait for it.
TEST(RingClient, ExpectsTheWorkThatTheDriverNames) {
  constexpr uint32_t kCapacity = 64;
  const RingClient::Channels channels = RingClient::createChannels(kCapacity, kCapacity).value();
  const auto client =
      RingClient::create(channels, kCapacity, kCapacity, std::make_shared<SpinGate>()).value();
  const DatumQueue results =
      DatumQueue::map(*channels.results, {kCapacity, sizeof(Datum), true}).value();
  QueueWriter writer(results);
  const std::array<Datum, 2> packet{};
  const auto exchange = [&](std::chrono::nanoseconds work) {
    writer.noteWork(work);
    writer.write(packet);
    EXPECT_EQ(client->wait(std::nullopt), RingClient::Wait::ANSWERED);
    (void)client->takeAnswer();
  };
  EXPECT_FALSE(client->expectsShortWork());
  for (int i = 0; i < 8; ++i) exchange(std::chrono::milliseconds(10));
  EXPECT_FALSE(client->expectsShortWork()) << "though the answers were there at once";
}

TEST_F(RingTest, EachEndTellsTheTimeOfItsWork) {
  const auto model = std::make_shared<PipelinedModel>();
  model->sendNext = [] {};
  RingPair::Options options;
  options.preparedModel = model;
  start(std::move(options));
  ASSERT_TRUE(pair_->exchange(goodPacket()).has_value());
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  ASSERT_TRUE(pair_->exchange(goodPacket()).has_value());
  const auto work = [](const SharedMemory& memory) {
    const DatumQueue queue =
        DatumQueue::map(memory, {kDefaultQueueCapacity, sizeof(Datum), true}).value();
    return QueueReader(queue).writerWork().value_or(std::chrono::nanoseconds(0));
  };
  EXPECT_GE(work(*pair_->channels().results), std::chrono::milliseconds(2));
  EXPECT_GE(work(*pair_->channels().requests), std::chrono::milliseconds(3));
}

// The seven invalid datums of VTS.
std::vector<Datum> badDatums() {
  const auto datum = [](RequestTag tag, std::array<uint32_t, 5> payload) {
    Datum made;
    made.words = {
        static_cast<uint32_t>(tag), payload[0], payload[1], payload[2], payload[3], payload[4]};
    return made;
  };
  return {datum(RequestTag::PACKET_INFORMATION, {10, 10, 10, 10, 0}),
          datum(RequestTag::INPUT_OPERAND, {0, 0, 0, 0, 10}),
          datum(RequestTag::INPUT_DIMENSION, {0}),
          datum(RequestTag::OUTPUT_OPERAND, {0, 0, 0, 0, 10}),
          datum(RequestTag::OUTPUT_DIMENSION, {0}),
          datum(RequestTag::POOL, {static_cast<uint32_t>(INT32_MAX)}),
          datum(RequestTag::MEASURE_TIMING, {1})};
}

std::vector<Datum> measuringPacket(RingPair& pair, const SharedMemoryPtr& in,
                                   const SharedMemoryPtr& out) {
  ExecuteOptions options;
  options.measureTiming = true;
  return pair.packetFor(ringRequest(in, out), options);
}

TEST_F(RingTest, EachDatumIsNeeded) {
  const std::vector<Datum> good = measuringPacket(*pair_, in_, out_);
  for (size_t i = 0; i < good.size(); ++i) {
    SCOPED_TRACE(i);
    std::vector<Datum> packet = good;
    packet.erase(packet.begin() + static_cast<ptrdiff_t>(i));
    expectRefused(packet);
    // The packet is refused even if the announced size is correct.
    if (i != 0) {
      packet[0].words[1] = static_cast<uint32_t>(packet.size());
      expectRefused(packet);
    }
    expectServes();
  }
}

TEST_F(RingTest, NoDatumMayBePutIn) {
  const std::vector<Datum> good = measuringPacket(*pair_, in_, out_);
  for (const Datum& bad : badDatums()) {
    for (size_t i = 0; i <= good.size(); ++i) {
      SCOPED_TRACE(fmt::format("tag {} at {}", bad.tag(), i));
      std::vector<Datum> packet = good;
      packet.insert(packet.begin() + static_cast<ptrdiff_t>(i), bad);
      expectRefused(packet);
      if (i != 0) {
        packet[0].words[1] = static_cast<uint32_t>(packet.size());
        expectRefused(packet);
      }
    }
    expectServes();
  }
}

TEST_F(RingTest, NoDatumMayBeReplaced) {
  const std::vector<Datum> good = measuringPacket(*pair_, in_, out_);
  for (const Datum& bad : badDatums()) {
    for (size_t i = 0; i < good.size(); ++i) {
      const bool dimension = bad.tag() == static_cast<uint8_t>(RequestTag::INPUT_DIMENSION) ||
                             bad.tag() == static_cast<uint8_t>(RequestTag::OUTPUT_DIMENSION);
      if (good[i] == bad || (dimension && good[i].tag() == bad.tag())) continue;
      SCOPED_TRACE(fmt::format("tag {} at {}", bad.tag(), i));
      std::vector<Datum> packet = good;
      packet[i] = bad;
      expectRefused(packet);
    }
    expectServes();
  }
}

TEST_F(RingTest, RefusalsSayWhatIsWrong) {
  std::vector<Datum> packet = goodPacket();
  packet[0].words[1] += 1;
  expectRefused(packet, "the packet says that it has 11 datums, and 10 were sent");
  packet = goodPacket();
  packet[0].words[2] = 0xffffffff;
  expectRefused(packet, "4294967295 inputs are announced, and 9 datums are left");
  packet = goodPacket();
  packet[1].words[5] = 0xffffffff;
  expectRefused(packet, "datum 1 announces 4294967295 dimensions, and 8 datums are left");
  packet = goodPacket();
  packet[1].words[1] = 2;
  expectRefused(packet, "hasNoValue is 2");
  packet = goodPacket();
  packet.back().words[1] = 2;
  expectRefused(packet, "measureTiming is 2");
  packet = goodPacket();
  packet[3].words[3] = 20;
  expectRefused(packet, "request input 1: bytes 20 to 36 of pool 0 of 32 bytes");
  expectServes();
}

TEST_F(RingTest, TwoPacketsAtOnceAreNone) {
  std::vector<Datum> packets = goodPacket();
  const std::vector<Datum> second = packets;
  packets.insert(packets.end(), second.begin(), second.end());
  expectRefused(packets);
  expectServes();
}

// A client with only the HAL's datums gets the HAL's answers, byte by byte.
TEST_F(RingTest, AnswersHaveNothingInTheirGaps) {
  RingPair::Options options;
  options.extended = false;
  start(options);
  const auto good = pair_->exchange(goodPacket());
  ASSERT_TRUE(good.has_value() && good->status.ok());
  const std::vector<Datum>& answer = pair_->lastAnswer();
  ASSERT_EQ(answer.size(), 4u);
  EXPECT_THAT(answer[0].words, ElementsAre(0, 0, 4, 0, 1, 0));
  EXPECT_THAT(answer[1].words, ElementsAre(1, 0, 1, 1, 0, 0));
  EXPECT_THAT(answer[2].words, ElementsAre(2, 0, 4, 0, 0, 0));
  EXPECT_THAT(answer[3].words, ElementsAre(3, 0, ~0u, ~0u, ~0u, ~0u));
  // The answer has no text, either.
  std::vector<Datum> bad = goodPacket();
  bad.pop_back();
  const auto refused = pair_->exchange(bad);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->status.code(), ResultCode::OP_FAILED);
  EXPECT_EQ(refused->status.message(), "the driver gives no reason");
  EXPECT_EQ(pair_->lastAnswer().size(), 2u);
}

TEST_F(RingTest, AnswersThatDoNotFitAreFailures) {
  RingPair::Options options;
  options.resultCapacity = 3;
  start(options);
  expectRefused(goodPacket(), "the result takes");
  EXPECT_LE(pair_->lastAnswer().size(), 3u);
  // The text of a refusal is truncated to the available space.
  expectRefused(std::vector<Datum>(1), "");
  options.resultCapacity = 8;
  start(options);
  expectServes();
}

TEST_F(RingTest, ChannelsAreChecked) {
  const auto refusal = [&](const QueueShape& shape, uint32_t corrupt = 0) {
    const auto memory = DatumQueue::create(64).value();
    if (corrupt != 0) {
      std::memcpy(memory->mapped().value()->data() + corrupt - 1, &corrupt, 4);
    }
    const auto queue = DatumQueue::map(*memory, shape);
    return queue.ok() ? "taken" : queue.status().message();
  };
  EXPECT_EQ(refusal({64, 24, true}), "taken");
  EXPECT_THAT(refusal({64, 24, false}), HasSubstr("without an event word"));
  EXPECT_THAT(refusal({64, 16, true}), HasSubstr("elements of 16 bytes, expected 24"));
  EXPECT_THAT(refusal({1, 24, true}), HasSubstr("1 elements, expected 2 to 65536"));
  EXPECT_THAT(refusal({0xffffffff, 24, true}), HasSubstr("expected 2 to 65536"));
  EXPECT_THAT(refusal({65, 24, true}), HasSubstr("65 elements need 1816 bytes"));
  EXPECT_THAT(refusal({63, 24, true}), HasSubstr("made for 64 elements of 24 bytes"));
  EXPECT_THAT(refusal({64, 24, true}, 1), HasSubstr("it begins with"));
  EXPECT_THAT(refusal({64, 24, true}, 5), HasSubstr("and version 5, expected"));
}

TEST_F(RingTest, SlotsAreForgotten) {
  expectServes();
  const auto second = sharedFloats({5, 5, 5, 5, 6, 6, 6, 6});
  const SharedMemory* const first = in_.get();
  const auto exchanged = pair_->exchange(pair_->packetFor(ringRequest(second, out_)));
  ASSERT_TRUE(exchanged.has_value() && exchanged->status.ok());
  EXPECT_THAT(floatsIn(*out_), ElementsAre(11, 11, 11, 11));
  EXPECT_THAT(pair_->fetches(), ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  // The end of a memory frees its slot. The slot is used again only after the driver's
  // confirmation.
  ASSERT_EQ(in_.get(), first);
  const long mappings = in_.use_count();
  EXPECT_EQ(mappings, 1) << "the ring's client keeps no memory alive";
  in_.reset();
  EXPECT_THAT(pair_->freed(), ElementsAre(0));
  in_ = sharedFloats(kRingInputs);
  EXPECT_EQ(pair_->slots().slotOf(in_), 3);
  pair_->slots().recycle(0);
  pair_->slots().forget(*in_);
  EXPECT_EQ(pair_->slots().slotOf(in_), 0);
  expectServes();
  EXPECT_THAT(pair_->fetches().back(), ElementsAre(0));
}

TEST_F(RingTest, MemoriesThatAreHandedOverAreNotAskedFor) {
  startOffering();
  expectServes();
  in_ = sharedFloats({5, 5, 5, 5, 6, 6, 6, 6});
  const auto exchanged = pair_->exchange(goodPacket());
  ASSERT_TRUE(exchanged.has_value() && exchanged->status.ok());
  EXPECT_THAT(floatsIn(*out_), ElementsAre(11, 11, 11, 11));
  EXPECT_THAT(pair_->fetches(), IsEmpty());
}

// A memory in the channel must not enter a slot that was freed.
TEST_F(RingTest, FreedMemoriesAreNotTakenLater) {
  startOffering();
  const SharedMemoryPtr stale = sharedFloats({9, 9, 9, 9, 9, 9, 9, 9});
  EXPECT_EQ(pair_->slots().slotOf(stale), 0);
  pair_->slots().forget(*stale);
  pair_->slots().recycle(0);
  // The driver must ask for the next memory in the slot.
  pair_->slots().offerBy(nullptr);
  expectServes();
  EXPECT_THAT(pair_->fetches(), ElementsAre(ElementsAre(0, 1)));
}

// All memories of a packet arrive in the same way.
TEST_F(RingTest, WhatIsMissingIsAskedForTogether) {
  startOffering();
  EXPECT_EQ(pair_->slots().slotOf(in_), 0);
  pair_->slots().offerBy(nullptr);
  expectServes();
  EXPECT_THAT(pair_->fetches(), ElementsAre(ElementsAre(0, 1)));
  expectServes();
}

TEST_F(RingTest, BadMemoriesThatAreHandedOverAreAskedFor) {
  const UniqueFd empty(::memfd_create("empty", MFD_CLOEXEC));
  const auto bad = SharedMemory::fromFd(32, PROT_READ | PROT_WRITE, empty.get(), 0).value();
  ASSERT_TRUE(offerMemory(pair_->memoryChannel(), 0, *bad));
  ASSERT_TRUE(offerMemory(pair_->memoryChannel(), 1, *out_));
  expectServes();
  EXPECT_THAT(pair_->fetches(), ElementsAre(ElementsAre(0, 1)));
}

TEST_F(RingTest, FreedAndUnknownSlotsAreNotAnswered) {
  EXPECT_EQ(pair_->slots().memoriesOf(std::vector<int32_t>{0}).status().code(),
            ResultCode::BAD_DATA);
  const int32_t slot = pair_->slots().slotOf(in_);
  EXPECT_EQ(pair_->slots().memoriesOf(std::vector<int32_t>{slot}).value().at(0), in_);
  for (const int32_t other : {-1, slot + 1, kNoSlot}) {
    const auto none = pair_->slots().memoriesOf(std::vector<int32_t>{slot, other});
    EXPECT_EQ(none.status().code(), ResultCode::BAD_DATA) << other;
  }
  pair_->slots().forget(*in_);
  EXPECT_THAT(pair_->slots().memoriesOf(std::vector<int32_t>{slot}).status().message(),
              HasSubstr("no memory in slot 0"));
}

TEST_F(RingTest, BadMemoriesAddNothing) {
  using Pools = std::vector<PoolDescription>;
  const std::vector<std::pair<std::string, std::function<Result<Pools>()>>> bad = {
      {"the client says no", [] { return badData("the client says no"); }},
      {"0 have come, for 2 slots", [] { return Pools(); }},
      {"memory pool 1: its file descriptor is missing", [&] {
         Pools pools;
         pools.push_back(describe(*in_));
         pools.push_back(describe(*out_));
         pools[1].fd.reset();
         return Result<Pools>(std::move(pools));
       }}};
  for (const auto& [text, answer] : bad) {
    pair_->answerNextFetch(answer);
    const auto result = pair_->exchange(goodPacket());
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->status.code(), ResultCode::BAD_DATA);
    EXPECT_THAT(result->status.message(), HasSubstr(text));
    EXPECT_THAT(result->status.message(), HasSubstr("there is nothing in slot 0"));
    EXPECT_THAT(pair_->fetches().back(), ElementsAre(0, 1)) << "nothing has been kept";
  }
  expectServes();
  for (const int32_t never : {kNoSlot, -1}) {
    std::vector<Datum> packet = goodPacket();
    packet[7].words[1] = static_cast<uint32_t>(never);
    expectRefused(packet, fmt::format("nothing in slot {}", never));
  }
  EXPECT_EQ(pair_->fetches().size(), 4u) << "what can't be a slot is not asked for";
}

TEST_F(RingTest, FilesThatShrinkHarmNobody) {
  const UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), kRingInputs.data(), 32, 0), 32);
  in_ = SharedMemory::fromFd(32, PROT_READ | PROT_WRITE, file.get(), 0).value();
  expectServes();
  ASSERT_EQ(::ftruncate(file.get(), 0), 0);
  expectRefused(goodPacket(), "reading shared memory: ends after 0 of 16 bytes");
  ASSERT_EQ(::pwrite(file.get(), kRingInputs.data(), 32, 0), 32);
  expectServes();
}

TEST_F(RingTest, PositionsWithoutSenseEndTheRing) {
  expectServes();
  auto& requests =
      *reinterpret_cast<QueueHeader*>(pair_->channels().requests->mapped().value()->data());
  requests.written.store(requests.written.load() + 5000);
  pair_->ring().wake();
  EXPECT_FALSE(pair_->answer().has_value());
  EXPECT_EQ(pair_->lastWait(), RingClient::Wait::CLOSED);
  EXPECT_TRUE(pair_->ring().closed());
}

TEST_F(RingTest, SpoiltResultsAreNoticed) {
  auto& results =
      *reinterpret_cast<QueueHeader*>(pair_->channels().results->mapped().value()->data());
  results.written.store(~uint64_t{0});
  EXPECT_FALSE(pair_->answer().has_value());
  EXPECT_EQ(pair_->lastWait(), RingClient::Wait::SPOILT);
}

TEST_F(RingTest, EndedClientsDoNotWait) {
  std::thread ender([&] { pair_->client().end(); });
  EXPECT_EQ(pair_->client().wait(std::nullopt), RingClient::Wait::ENDED);
  ender.join();
  EXPECT_EQ(pair_->client().wait(std::nullopt), RingClient::Wait::ENDED) << "for good";
}

TEST_F(RingTest, WaitingEndsInTime) {
  const auto until = Clock::now() + std::chrono::milliseconds(30);
  EXPECT_EQ(pair_->client().wait(until), RingClient::Wait::TIMED_OUT);
  EXPECT_GE(Clock::now(), until);
}

TEST_F(RingTest, OptionsTravel) {
  const auto gated = std::make_shared<GatedModel>();
  gated->open();
  RingPair::Options options;
  options.preparedModel = gated;
  start(options);
  for (const bool both : {true, false, true}) {
    ExecuteOptions sent;
    sent.deadline = Clock::now() + std::chrono::hours(1);
    if (both) sent.loopTimeout = std::chrono::nanoseconds(123'456'789);
    const auto result = pair_->exchange(goodPacket(sent));
    ASSERT_TRUE(result.has_value() && result->status.ok());
    EXPECT_EQ(gated->options().deadline, sent.deadline);
    EXPECT_EQ(gated->options().loopTimeout, sent.loopTimeout);
  }
  ASSERT_TRUE(pair_->exchange(goodPacket()).has_value());
  EXPECT_FALSE(gated->options().deadline.has_value());
}

TEST_F(RingTest, AnExecutionOutlivesItsRing) {
  const auto gated = std::make_shared<GatedModel>();
  RingPair::Options options;
  options.preparedModel = gated;
  start(options);
  ASSERT_TRUE(pair_->client().send(goodPacket()));
  gated->awaitInside(1);
  pair_->removeRing();
  EXPECT_EQ(pair_->client().wait(std::nullopt), RingClient::Wait::CLOSED);
  EXPECT_FALSE(pair_->executor().drain(std::chrono::milliseconds(1)));
  gated->open();
  EXPECT_TRUE(pair_->executor().drain(std::chrono::seconds(60)));
}

// A client that does not send its memories blocks no thread.
TEST_F(RingTest, UnansweredFetchesHoldNoThread) {
  RingPair::Options options;
  options.answersFetches = false;
  options.maxThreads = 1;
  start(options);
  ASSERT_TRUE(pair_->client().send(goodPacket()));
  while (pair_->fetches().empty()) std::this_thread::yield();
  EXPECT_TRUE(pair_->executor().drain(std::chrono::seconds(60)));
}

TEST_F(RingTest, FewThreadsServeManyRings) {
  constexpr unsigned kRings = 64;
  std::vector<std::unique_ptr<RingPair>> pairs;
  for (unsigned i = 0; i < kRings; ++i) {
    pairs.push_back(std::make_unique<RingPair>(RingPair::Options{}));
  }
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

// A ring that waits for its memories reads no other packet, however often it is woken.
TEST_F(RingTest, WakingDoesNotReplaceMemories) {
  RingPair::Options options;
  options.answersFetches = false;
  start(options);
  ASSERT_TRUE(pair_->client().send(goodPacket()));
  while (pair_->fetches().empty()) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) pair_->ring().wake();
  EXPECT_EQ(pair_->client().wait(Clock::now() + std::chrono::milliseconds(20)),
            RingClient::Wait::TIMED_OUT);
  EXPECT_EQ(pair_->fetches().size(), 1u);
  const auto memories = pair_->slots().memoriesOf(pair_->fetches().front());
  ASSERT_TRUE(memories.ok());
  std::vector<PoolDescription> pools;
  for (const SharedMemoryPtr& memory : *memories) pools.push_back(describe(*memory));
  pair_->ring().memoriesArrived(std::move(pools));
  const auto result = pair_->answer();
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->status.ok());
}

// Writes random data to all shared memory of a ring that is in use. The process and the next ring
// must continue to work.
TEST_F(RingTest, ScribblersHarmThemselves) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    start();
    std::atomic<bool> stop = false;
    std::thread scribbler([&] {
      uint32_t random = seed * 2654435761u;
      const Mapping* const areas[] = {pair_->channels().requests->mapped().value(),
                                      pair_->channels().results->mapped().value()};
      while (!stop) {
        random = random * 1664525 + 1013904223;
        const Mapping* const area = areas[(random >> 8) % 2];
        // Most writes hit the positions and the first datums.
        const size_t reach = (random >> 9) % 4 == 0 ? area->size() : 512;
        auto* const word = reinterpret_cast<std::atomic<uint32_t>*>(
            area->data() + (random >> 11) % (reach / 4) * 4);
        word->store((random >> 10) % 3 == 0 ? random : random % 64, std::memory_order_relaxed);
        pair_->ring().wake();
      }
    });
    for (int i = 0; i < 50; ++i) {
      if (!pair_->client().send(goodPacket())) break;
      if (pair_->client().wait(Clock::now() + std::chrono::milliseconds(2)) !=
          RingClient::Wait::ANSWERED) {
        break;
      }
      ExecutionResult result;
      (void)decodeResultPacket(pair_->client().takeAnswer(), 1, &result);
    }
    stop = true;
    scribbler.join();
  }
  start();
  expectServes();
}

}  // namespace
}  // namespace halyard::hal
