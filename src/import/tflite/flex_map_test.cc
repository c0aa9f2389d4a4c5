// Tests of the reader of FlexBuffers maps.
#include "import/tflite/flex_map.h"

#include <flatbuffers/flexbuffers.h>
#include <gtest/gtest.h>

#include <random>

namespace halyard::import {
namespace {

std::vector<uint8_t> sampleBuffer() {
  flexbuffers::Builder b;
  b.Map([&]() {
    b.Int("small", -7);
    b.Int("large", int64_t{1} << 40);
    b.UInt("unsigned", 250);
    b.Float("float", 0.1f);
    b.Double("double", 1e-300);
    b.Bool("yes", true);
    b.String("text", "hello");
    b.IndirectInt("indirect", -70000);
    b.IndirectFloat("indirect float", 2.5f);
    b.Vector("vector", [&]() { b.Int(1); });
  });
  b.Finish();
  return b.GetBuffer();
}

TEST(FlexMap, ReadsNumbersOfEveryKind) {
  const Result<FlexMap> map = FlexMap::parse(sampleBuffer());
  ASSERT_TRUE(map.ok()) << map.status().toString();
  EXPECT_EQ(map->number("small"), -7);
  EXPECT_EQ(map->number("large"), static_cast<double>(int64_t{1} << 40));
  EXPECT_EQ(map->number("unsigned"), 250);
  EXPECT_EQ(map->number("float"), 0.1f);
  EXPECT_EQ(map->number("double"), 1e-300);
  EXPECT_EQ(map->number("yes"), 1);
  EXPECT_EQ(map->number("indirect"), -70000);
  EXPECT_EQ(map->number("indirect float"), 2.5);
  EXPECT_EQ(map->number("text"), std::nullopt);
  EXPECT_EQ(map->number("vector"), std::nullopt);
  EXPECT_EQ(map->number("absent"), std::nullopt);
}

TEST(FlexMap, ReadsSmallMapsOfOneByteNumbers) {
  flexbuffers::Builder b;
  b.Map([&]() { b.Int("n", 3); });
  b.Finish();
  const Result<FlexMap> map = FlexMap::parse(b.GetBuffer());
  ASSERT_TRUE(map.ok()) << map.status().toString();
  EXPECT_EQ(map->number("n"), 3);
}

TEST(FlexMap, RefusesWhatIsNoMap) {
  flexbuffers::Builder b;
  b.Vector([&]() { b.Int(1); });
  b.Finish();
  const Result<FlexMap> map = FlexMap::parse(b.GetBuffer());
  ASSERT_FALSE(map.ok());
  EXPECT_EQ(map.status().message(), "options are not a FlexBuffers map");
  EXPECT_FALSE(FlexMap::parse({}).ok());
}

TEST(FlexMap, RefusesALongBuffer) {
  std::vector<uint8_t> bytes(9000);
  EXPECT_EQ(FlexMap::parse(bytes).status().message(),
            "options have 9000 bytes, at most 8192 are read");
}

TEST(FlexMap, RefusesAKeyWithoutEnd) {
  // A map of one element whose key extends to the end: key width 1, then keys, elements, types,
  // root.
  const std::vector<uint8_t> bytes = {'k', 1, 1, 1, 1, 1, 5, 4, 1, 36, 1};
  EXPECT_FALSE(FlexMap::parse(bytes).ok());
}

TEST(FlexMap, SurvivesTruncationAndFlips) {
  const std::vector<uint8_t> good = sampleBuffer();
  for (size_t length = 0; length < good.size(); ++length) {
    // A heap block of exactly this length, so that the address sanitizer detects any read beyond
    // it.
    const std::vector<uint8_t> front(good.begin(), good.begin() + static_cast<long>(length));
    (void)FlexMap::parse(front);
    const std::vector<uint8_t> back(good.end() - static_cast<long>(length), good.end());
    (void)FlexMap::parse(back);
  }
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bytes = good;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    const Result<FlexMap> map = FlexMap::parse(bytes);
    if (map.ok()) (void)map->number("small");
  }
}

}  // namespace
}  // namespace halyard::import
