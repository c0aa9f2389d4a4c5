// Tests that constants packed by several plans are in memory once, and only as long as one plan
// needs them.
#include "shared_packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <latch>
#include <thread>
#include <vector>

#include "compiled_model.h"
#include "model_for_test.h"

namespace halyard::cpudriver {
namespace {

using ::testing::Each;

std::vector<uint8_t> valuesFrom(uint8_t first, size_t count) {
  std::vector<uint8_t> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint8_t>(first + i % 101);
  return values;
}

Packed<uint8_t> packed(SharedPacking& packing, const std::vector<uint8_t>& values) {
  return pack<uint8_t>(&packing, values.size(),
                       [&](uint8_t* to) { std::memcpy(to, values.data(), values.size()); });
}

TEST(SharedPackingTest, WhatIsPackedAgainIsTheSameMemory) {
  PackedPieces pieces;
  const auto weights = valuesFrom(1, 10000);
  const auto bias = valuesFrom(2, 400);
  Packed<uint8_t> firstWeights;
  Packed<uint8_t> firstBias;
  {
    SharedPacking first(pieces, nullptr);
    firstWeights = packed(first, weights);
    firstBias = packed(first, bias);
    EXPECT_EQ(first.ownBytes(), 10400u);
  }
  // In any order, and with others between.
  SharedPacking second(pieces, nullptr);
  const auto others = packed(second, valuesFrom(3, 10000));
  EXPECT_EQ(packed(second, bias).data(), firstBias.data());
  EXPECT_EQ(packed(second, weights).data(), firstWeights.data());
  EXPECT_EQ(second.ownBytes(), 10000u);
  EXPECT_NE(others.data(), firstWeights.data());
  EXPECT_EQ(std::memcmp(others.data(), valuesFrom(3, 10000).data(), 10000), 0);
}

// A key is made of some of the content.
TEST(SharedPackingTest, OneOtherByteMakesItAnotherPiece) {
  PackedPieces pieces;
  const std::vector<uint8_t> zeros(100'000);
  std::vector<Packed<uint8_t>> all;
  {
    SharedPacking first(pieces, nullptr);
    all.push_back(packed(first, zeros));
  }
  SharedPacking second(pieces, nullptr);
  // More than there may be with one key.
  for (size_t i = 0; i < 20; ++i) {
    std::vector<uint8_t> other = zeros;
    other[i * 999 + 13] = 1;
    all.push_back(packed(second, other));
    for (size_t k = 0; k < all.size() - 1; ++k) ASSERT_NE(all[k].data(), all.back().data());
    ASSERT_EQ(std::memcmp(all.back().data(), other.data(), other.size()), 0);
  }
  EXPECT_EQ(packed(second, zeros).data(), all[0].data());
}

TEST(SharedPackingTest, PiecesGoWithTheLastPlanThatHasThem) {
  PackedPieces pieces;
  std::weak_ptr<const std::byte> memory;
  {
    SharedPacking first(pieces, nullptr);
    const Packing::Bytes made = first.get(500, [](std::byte* to) { to[0] = std::byte{1}; });
    memory = made;
  }
  EXPECT_TRUE(memory.expired());
  SharedPacking again(pieces, nullptr);
  (void)packed(again, valuesFrom(1, 500));
  EXPECT_EQ(again.ownBytes(), 500u);
}

// The memory that is written to for the comparison has been written to before.
TEST(SharedPackingTest, WhatIsNotWrittenIsZero) {
  PackedPieces pieces;
  Packed<uint8_t> kept;
  {
    SharedPacking first(pieces, nullptr);
    kept = packed(first, valuesFrom(1, 640));
  }
  SharedPacking second(pieces, nullptr);
  (void)packed(second, std::vector<uint8_t>(3000, uint8_t{7}));
  const auto sparse = pack<uint8_t>(&second, 2000, [](uint8_t* to) { to[1000] = 9; });
  EXPECT_EQ(sparse[1000], 9);
  EXPECT_THAT(std::vector<uint8_t>(sparse.data(), sparse.data() + 1000), Each(0));
  EXPECT_THAT(std::vector<uint8_t>(sparse.data() + 1001, sparse.data() + 2000), Each(0));
}

// Connections of `outputs` rows.
Model connection(uint32_t outputs) {
  testing::Builder b;
  const uint32_t x = b.input({1, 100});
  const uint32_t y = b.output({1, outputs});
  b.operation(OperationType::FULLY_CONNECTED,
              {x, b.constant({outputs, 100}), b.constant({outputs}), b.int32(0)}, {y});
  return *b.take();
}

TEST(SharedPackingTest, EqualModelsHaveTheSamePieces) {
  ModelPieces all;
  const std::shared_ptr<PackedPieces> pieces = all.of(connection(10));
  EXPECT_EQ(all.of(connection(10)), pieces);
  EXPECT_NE(all.of(connection(11)), pieces);
}

// Two clients of a driver prepare the same model. The second one takes the first one's constants,
// and they outlive the first one's model.
TEST(SharedPackingTest, ModelsOfTwoClientsShareTheirConstants) {
  ModelPieces all;
  const auto compiled = [&](uint32_t outputs) {
    const auto model = std::make_shared<const Model>(connection(outputs));
    return CompiledModel::compile(model, {.pieces = all.of(*model)}).value();
  };
  auto first = compiled(10);
  const size_t packed = first->facts().packedBytes;
  EXPECT_GE(packed, 4000u);
  const auto second = compiled(10);
  EXPECT_EQ(second->facts().packedBytes, 0u);
  EXPECT_GT(compiled(11)->facts().packedBytes, 0u);
  first.reset();
  EXPECT_EQ(compiled(10)->facts().packedBytes, 0u);
}

TEST(SharedPackingTest, WhoPacksAtTheSameTimeHasTheSameMemory) {
  PackedPieces pieces;
  constexpr int kThreads = 4;
  std::latch together(kThreads);
  std::vector<Packed<uint8_t>> made(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      together.arrive_and_wait();
      SharedPacking packing(pieces, nullptr);
      made[static_cast<size_t>(i)] = packed(packing, valuesFrom(5, 70'000));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : made) EXPECT_EQ(one.data(), made[0].data());
}

}  // namespace
}  // namespace halyard::cpudriver
