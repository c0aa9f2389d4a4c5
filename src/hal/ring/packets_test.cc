// Tests of the datums of a burst that both ends must know: tokens and copied bytes.
#include "hal/ring/packets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::hal {
namespace {

using ::testing::ElementsAre;

TEST(PacketsTest, TokensStandInPlaceOfSlots) {
  Request request;
  request.pools = {SharedMemoryPtr(), uint32_t{0xdeadbeef}, SharedMemoryPtr()};
  for (uint32_t pool = 0; pool < 3; ++pool) {
    RequestArgument argument;
    argument.kind = RequestArgument::Kind::POOL;
    argument.location = {pool, 0, 16};
    (pool < 2 ? request.inputs : request.outputs).push_back(argument);
  }
  const int32_t slots[] = {7, kNoSlot, 3};
  std::vector<Datum> packet;
  encodeRequestPacket(request, slots, {}, true, &packet);
  appendRecording(1, &packet);
  const auto decoded = decodeRequestPacket(packet);
  ASSERT_TRUE(decoded.ok()) << decoded.status().toString();
  EXPECT_THAT(decoded->slots, ElementsAre(7, kNoSlot, 3));
  EXPECT_EQ(decoded->request, request);
  EXPECT_EQ(decoded->recording, 1u);
}

TEST(PacketsTest, CopiedBytesAreSentToClientsThatKnowThem) {
  ExecutionResult result;
  result.outputShapes = {{{2}, true}};
  result.copiedBytes = uint64_t{5} << 32;
  const size_t room = resultDatums(result, true);
  std::vector<Datum> packet;
  for (const bool isKnown : {false, true}) {
    encodeResultPacket(result, HalVersion::V1_3, true, isKnown, room, &packet);
    EXPECT_LE(packet.size(), room);
    ExecutionResult decoded;
    const Status wellFormed = decodeResultPacket(packet, 1, &decoded);
    EXPECT_TRUE(wellFormed.ok()) << wellFormed.toString();
    EXPECT_TRUE(decoded.status.ok());
    EXPECT_EQ(decoded.copiedBytes, isKnown ? result.copiedBytes : 0);
  }
  // The result matters more.
  encodeResultPacket(result, HalVersion::V1_3, true, true, room - 1, &packet);
  ExecutionResult decoded;
  EXPECT_TRUE(decodeResultPacket(packet, 1, &decoded).ok());
  EXPECT_TRUE(decoded.status.ok());
  EXPECT_EQ(decoded.copiedBytes, 0);
  // An error has none.
  result.status = opFailed("no");
  encodeResultPacket(result, HalVersion::V1_3, true, true, 100, &packet);
  EXPECT_TRUE(decodeResultPacket(packet, 1, &decoded).ok());
  EXPECT_EQ(decoded.copiedBytes, 0);
}

}  // namespace
}  // namespace halyard::hal
