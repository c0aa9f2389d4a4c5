// RingTest: a fixture with both ends of a ring in this process, and a request for it.
// Thread safety: the thread of the test only. Ownership: owns the ring and the memory of the
// request.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hal/testing/ring_pair.h"

namespace halyard::hal::testing {

class RingTest : public ::testing::Test {
 protected:
  void start(RingPair::Options options = {}) {
    pair_ = std::make_unique<RingPair>(std::move(options));
  }
  void startOffering() {
    RingPair::Options options;
    options.offers = true;
    start(options);
  }
  void SetUp() override {
    start();
    in_ = sharedFloats(kRingInputs);
    out_ = sharedFloats({0, 0, 0, 0});
  }
  std::vector<Datum> goodPacket(const ExecuteOptions& options = {}) {
    return pair_->packetFor(ringRequest(in_, out_), options);
  }
  void expectServes() {
    std::memset(out_->mapped().value()->data(), 0, out_->size());
    const auto result = pair_->exchange(goodPacket());
    ASSERT_TRUE(result.has_value());
    EXPECT_TRUE(result->status.ok()) << result->status.toString();
    EXPECT_THAT(floatsIn(*out_), ::testing::ElementsAre(11, 22, 33, 44));
  }
  // The answer to the packet is only an error, and the ring continues.
  void expectRefused(std::span<const Datum> packet, const std::string& text = "") {
    const auto result = pair_->exchange(packet);
    ASSERT_TRUE(result.has_value());
    EXPECT_FALSE(result->status.ok());
    EXPECT_THAT(result->status.message(), ::testing::HasSubstr(text));
    EXPECT_THAT(result->outputShapes, ::testing::IsEmpty());
    EXPECT_FALSE(result->timing.timeOnDevice || result->timing.timeInDriver);
  }

  std::unique_ptr<RingPair> pair_;
  SharedMemoryPtr in_;
  SharedMemoryPtr out_;
};

}  // namespace halyard::hal::testing
