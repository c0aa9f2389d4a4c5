// Tests of BlockPool: alignment, reuse, limits of the kept blocks.
#include "cpu/block_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>

namespace halyard::cpu {
namespace {

using Block = BlockPool::Block;

TEST(BlockPool, BlocksAreAlignedLargeEnoughAndWritable) {
  BlockPool pool;
  for (size_t bytes : {0, 1, 63, 64, 65, 1000, 1 << 20}) {
    const Block block = pool.acquire(bytes);
    ASSERT_NE(block.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data()) % BlockPool::kAlignment, 0u);
    EXPECT_GE(block.capacity, bytes);
    std::memset(block.data(), 0xa5, block.capacity);
  }
}

TEST(BlockPool, ReusesTheBestFit) {
  BlockPool pool;
  const Block held = pool.acquire(1 << 20);  // keeps the pool from freeing the others
  Block small = pool.acquire(1000);
  Block medium = pool.acquire(1500);
  Block large = pool.acquire(100000);
  void* const smallData = small.data();
  void* const mediumData = medium.data();
  void* const largeData = large.data();
  pool.release(std::move(large));
  pool.release(std::move(medium));
  pool.release(std::move(small));
  EXPECT_GT(pool.bytesKept(), 100000u);
  Block first = pool.acquire(900);
  EXPECT_EQ(first.data(), smallData);
  Block second = pool.acquire(900);
  EXPECT_EQ(second.data(), mediumData);
  // A block of 100000 bytes would be a waste for 900.
  const Block third = pool.acquire(900);
  EXPECT_NE(third.data(), largeData);
  const Block fourth = pool.acquire(60000);
  EXPECT_EQ(fourth.data(), largeData);
  EXPECT_EQ(pool.bytesKept(), 0u);
}

TEST(BlockPool, KeepsAFewSmallBlocksThoughNoneIsInUse) {
  BlockPool pool;
  std::vector<Block> blocks;
  for (size_t i = 0; i < 2 * BlockPool::kFewBlocks; ++i) blocks.push_back(pool.acquire(256));
  std::vector<void*> places;
  for (Block& block : blocks) {
    places.push_back(block.data());
    pool.release(std::move(block));
  }
  EXPECT_EQ(pool.bytesKept(), 256 * BlockPool::kFewBlocks);
  EXPECT_NE(std::ranges::find(places, pool.acquire(256).data()), places.end());
  Block large = pool.acquire(BlockPool::kFewBytes);
  pool.release(std::move(large));
  EXPECT_LE(pool.bytesKept(), BlockPool::kFewBytes);
}

TEST(BlockPool, KeepsNoMoreThanIsInUseOrAFewSmallOnes) {
  std::minstd_rand random(1);
  BlockPool pool;
  std::vector<Block> blocks;
  size_t mostInUse = 0;
  size_t mostInAll = 0;
  for (int i = 0; i < 5000; ++i) {
    if (blocks.empty() || (random() % 2 == 0 && blocks.size() < 50)) {
      blocks.push_back(pool.acquire(size_t{1} << (random() % 16)));
      ASSERT_NE(blocks.back().data(), nullptr);
    } else {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      pool.release(std::move(blocks.back()));
      blocks.pop_back();
      ASSERT_LE(pool.bytesKept(), std::max(pool.bytesInUse(), BlockPool::kFewBytes));
    }
    size_t capacities = 0;
    for (const Block& block : blocks) capacities += block.capacity;
    ASSERT_EQ(pool.bytesInUse(), capacities);
    mostInUse = std::max(mostInUse, pool.bytesInUse());
    mostInAll = std::max(mostInAll, pool.bytesInUse() + pool.bytesKept());
  }
  EXPECT_LE(mostInAll, 2 * mostInUse + BlockPool::kFewBytes);
  while (!blocks.empty()) {
    pool.release(std::move(blocks.back()));
    blocks.pop_back();
  }
  EXPECT_EQ(pool.bytesInUse(), 0u);
  EXPECT_LE(pool.bytesKept(), BlockPool::kFewBytes);
}

TEST(BlockPool, AnImpossibleSizeGivesAnEmptyBlock) {
  BlockPool pool;
  for (size_t bytes : {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX - 64, SIZE_MAX / 2 + 1, SIZE_MAX / 2}) {
    Block block = pool.acquire(bytes);
    EXPECT_EQ(block.data(), nullptr) << bytes;
    EXPECT_EQ(pool.bytesInUse(), 0u);
    pool.release(std::move(block));
  }
  EXPECT_EQ(pool.bytesInUse(), 0u);
}

}  // namespace
}  // namespace halyard::cpu
