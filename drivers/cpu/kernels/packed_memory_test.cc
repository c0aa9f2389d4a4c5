#include "kernels/packed_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/huge_pages.h"

namespace halyard::cpudriver {
namespace {

struct Piece {
  PackedMemory::Bytes memory;
  size_t bytes;
};

// Takes pieces, fills them and the readable bytes behind them, and compares all of them at the end.
void checkPieces(size_t expected, const std::vector<size_t>& sizes) {
  std::vector<Piece> pieces;
  {
    PackedMemory memory;
    memory.expect(expected);
    for (const size_t bytes : sizes) pieces.push_back({memory.allocate(bytes), bytes});
  }  // pieces outlive it
  for (size_t i = 0; i < pieces.size(); ++i) {
    auto* const bytes = reinterpret_cast<uint8_t*>(pieces[i].memory.get());
    ASSERT_EQ(reinterpret_cast<uintptr_t>(bytes) % kPackedAlignment, 0u);
    const size_t all = pieces[i].bytes + kPackedAlignment;
    ASSERT_TRUE(std::all_of(bytes, bytes + all, [](uint8_t byte) { return byte == 0; })) << i;
    std::memset(bytes, static_cast<int>(i + 1), all);
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(pieces[i].memory.get());
    ASSERT_TRUE(std::all_of(bytes, bytes + pieces[i].bytes, [&](uint8_t byte) {
      return byte == i + 1;
    })) << i;
    if (i % 2 == 0) pieces[i].memory.reset();  // the others stay
  }
}

TEST(PackedMemory, PiecesAreZerosAlignedAndApart) {
  const std::vector<size_t> sizes = {1, 100, 0, 64, 3 * kHugePage + 5, 1 << 20, 63, 1 << 20, 65};
  checkPieces(0, sizes);
  checkPieces(1000, sizes);
  checkPieces(kHugePage / 2, sizes);
  checkPieces(5 * kHugePage, sizes);
}

TEST(PackedMemory, MoreThanExpectedIsThere) {
  checkPieces(kHugePage, std::vector<size_t>(20, 700'000));
}

// The limit of a process may be lower than the expected size of a model.
TEST(PackedMemory, WhatCannotBeHadAtOnceIsHadPieceByPiece) {
  checkPieces(SIZE_MAX, {100, 3 * kHugePage, 5});
  checkPieces(SIZE_MAX / 4, {100, 3 * kHugePage, 5});
}

TEST(PackedMemory, TooMuchIsAnError) {
  PackedMemory memory;
  EXPECT_THROW((void)memory.allocate(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW((void)memory.allocate(SIZE_MAX / 2), std::bad_alloc);
  EXPECT_EQ(mapPages(SIZE_MAX - 100, 0), nullptr);
}

TEST(HugePages, MemoryBeginsWithOneAndIsZeros) {
  const auto memory = mapPages(kHugePage + 4096, kHugePage);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % kHugePage, 0u);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(memory.get());
  EXPECT_TRUE(std::all_of(bytes, bytes + kHugePage + 4096, [](uint8_t byte) { return byte == 0; }));
}

}  // namespace
}  // namespace halyard::cpudriver
