// Tests of recordings at the driver's end of a ring, with a hostile client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "hal/testing/ring_fixture.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the test device's vocabulary
using ::testing::ElementsAre;

class RecordingTest : public RingTest {
 protected:
  std::vector<Datum> record(uint32_t number) {
    return pair_->recordPacketFor(number, ringRequest(in_, out_));
  }
  static std::vector<Datum> run(uint32_t number, const ExecuteOptions& options = {}) {
    std::vector<Datum> packet;
    encodeRunPacket(number, options, true, &packet);
    return packet;
  }
  // Checks that the packet succeeds, and that `first` is the first output value.
  void expectComputes(std::span<const Datum> packet, float first) {
    std::memset(out_->mapped().value()->data(), 0, out_->size());
    const auto result = pair_->exchange(packet);
    ASSERT_TRUE(result.has_value());
    EXPECT_TRUE(result->status.ok()) << result->status.toString();
    ASSERT_EQ(result->outputShapes.size(), 1u);
    EXPECT_THAT(result->outputShapes[0].dimensions, ElementsAre(4u));
    EXPECT_EQ(floatsIn(*out_)[0], first);
  }
  void setFirst(float value) { std::memcpy(in_->mapped().value()->data(), &value, sizeof value); }
};

TEST_F(RecordingTest, RunsWithWhatTheMemoryHolds) {
  expectComputes(record(3), 11);
  for (float first = 1000; first < 1200; ++first) {
    setFirst(first);
    expectComputes(run(3), first + 10);
  }
  ExecuteOptions measuring;
  measuring.measureTiming = true;
  const auto measured = pair_->exchange(run(3, measuring));
  ASSERT_TRUE(measured.has_value() && measured->status.ok());
  EXPECT_EQ(measured->timing.timeOnDevice, 2'000'000u);
  EXPECT_THAT(pair_->fetches(), ElementsAre(ElementsAre(0, 1)));
}

TEST_F(RecordingTest, UnknownNumbersAreRefused) {
  for (const uint32_t number : {0u, 15u, 16u, 0xffffffffu}) {
    expectRefused(run(number), fmt::format("there is no recording {}", number));
  }
  for (const uint32_t number : {16u, 0xffffffffu}) {
    expectRefused(record(number), fmt::format("recording {} is to be made", number));
    expectRefused(run(number), "there is no recording");
  }
  expectServes();
}

TEST_F(RecordingTest, ARingHasSixteen) {
  for (uint32_t number = 0; number < kMaxRecordings; ++number) expectComputes(record(number), 11);
  setFirst(5);
  for (uint32_t number = 0; number < kMaxRecordings; ++number) expectComputes(run(number), 15);
}

TEST_F(RecordingTest, GivenUpRecordingsAreRefused) {
  expectComputes(record(2), 11);
  expectComputes(record(4), 11);
  for (const uint32_t number : {2u, 7u, 16u, 0xffffffffu}) pair_->ring().freeRecording(number);
  expectRefused(run(2), "there is no recording 2");
  expectComputes(run(4), 11);
  expectComputes(record(2), 11);
  expectComputes(run(2), 11);
}

TEST_F(RecordingTest, RecordingsEndWithTheirMemory) {
  expectComputes(record(0), 11);
  const auto second = sharedFloats({5, 5, 5, 5, 6, 6, 6, 6});
  expectComputes(pair_->recordPacketFor(1, ringRequest(second, out_)), 11);
  pair_->slots().forget(*in_);
  expectRefused(run(0), "there is no recording 0");
  expectComputes(run(1), 11);
}

TEST_F(RecordingTest, ANumberIsOfItsLastRequest) {
  expectComputes(record(1), 11);
  const auto second = sharedFloats({7, 5, 5, 5, 6, 6, 6, 6});
  expectComputes(pair_->recordPacketFor(1, ringRequest(second, out_)), 13);
  expectComputes(run(1), 13);
  // The memory of the first recording does not affect the second.
  pair_->slots().forget(*in_);
  expectComputes(run(1), 13);
}

TEST_F(RecordingTest, ARefusedRequestLeavesNone) {
  expectComputes(record(1), 11);
  std::vector<Datum> packet = record(1);
  packet[3].words[3] = 20;
  expectRefused(packet, "request input 1: bytes 20 to 36 of pool 0 of 32 bytes");
  expectRefused(run(1), "there is no recording 1");
}

TEST_F(RecordingTest, AFailedExecutionLeavesOne) {
  setFirst(kTooSmall);
  const auto result = pair_->exchange(record(1));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->status.code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE);
  setFirst(2);
  expectComputes(run(1), 12);
}

TEST_F(RecordingTest, PacketsThatRunAreChecked) {
  expectComputes(record(0), 11);
  ExecuteOptions options;
  options.deadline = Clock::now() + std::chrono::hours(1);
  options.loopTimeout = std::chrono::seconds(1);
  const std::vector<Datum> good = run(0, options);
  ASSERT_EQ(good.size(), 3u);
  expectComputes(good, 11);
  std::vector<Datum> packet = good;
  packet[0].words[2] = 2;
  expectRefused(packet, "measureTiming is 2");
  packet = good;
  std::swap(packet[1], packet[2]);
  expectRefused(packet, "datum 2 of 3 has tag 7, where its end was expected");
  packet = good;
  packet.insert(packet.begin(), packet[0]);
  expectRefused(packet, "datum 1 of 4 has tag 10, where its end was expected");
  packet = goodPacket();
  packet.push_back(good[0]);
  packet[0].words[1] = static_cast<uint32_t>(packet.size());
  expectRefused(packet, "has tag 10, where its end was expected");
  packet = record(0);
  packet.push_back(packet.back());
  packet[0].words[1] = static_cast<uint32_t>(packet.size());
  expectRefused(packet, "has tag 9, where its end was expected");
  expectComputes(good, 11);
}

TEST_F(RecordingTest, OptionsTravelWithEachRun) {
  const auto gated = std::make_shared<GatedModel>();
  gated->open();
  RingPair::Options options;
  options.preparedModel = gated;
  start(options);
  ASSERT_TRUE(pair_->exchange(record(0)).has_value());
  for (const bool both : {true, false}) {
    ExecuteOptions sent;
    sent.deadline = Clock::now() + std::chrono::hours(1);
    if (both) sent.loopTimeout = std::chrono::nanoseconds(123'456'789);
    const auto result = pair_->exchange(run(0, sent));
    ASSERT_TRUE(result.has_value() && result->status.ok());
    EXPECT_EQ(gated->options().deadline, sent.deadline);
    EXPECT_EQ(gated->options().loopTimeout, sent.loopTimeout);
  }
  ASSERT_TRUE(pair_->exchange(run(0)).has_value());
  EXPECT_FALSE(gated->options().deadline.has_value());
}

}  // namespace
}  // namespace halyard::hal
