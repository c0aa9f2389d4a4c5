// Dividing work: every item once, in whole blocks where possible.
#include "kernels/vectors/even_pieces.h"

#include <gtest/gtest.h>

#include <vector>

namespace halyard::cpudriver {
namespace {

TEST(EvenPieces, BlocksOfItemsAreEveryItemOnce) {
  constexpr size_t kBlocks = 5;
  for (const size_t panels : {1u, 2u, 3u, 7u}) {
    const size_t items = kBlocks * panels;
    for (size_t begin = 0; begin <= items; ++begin) {
      for (size_t end = begin; end <= items; ++end) {
        std::vector<int> seen(items);
        size_t calls = 0;
        forBlocksOfItems(begin, end, panels,
                         [&](size_t block, size_t blockEnd, size_t panel, size_t panelEnd) {
                           ++calls;
                           ASSERT_LE(blockEnd, kBlocks);
                           ASSERT_LE(panelEnd, panels);
                           for (size_t b = block; b < blockEnd; ++b) {
                             for (size_t p = panel; p < panelEnd; ++p) ++seen[b * panels + p];
                           }
                         });
        for (size_t i = 0; i < items; ++i) EXPECT_EQ(seen[i], i >= begin && i < end ? 1 : 0);
        EXPECT_LE(calls, 3u);  // the end of a block, whole ones, the beginning of one
      }
    }
  }
}

TEST(EvenPieces, GrainIsAllOfWhatIsNotWorthASecondThread) {
  EXPECT_EQ(grainOf(10, 100, 200, 1000), 10u);
  EXPECT_EQ(grainOf(11, 100, 200, 1000), 2u);
  EXPECT_EQ(grainOf(11, 100, 250, 1000), 3u);
  EXPECT_EQ(grainOf(11, 5000, 250, 1000), 1u);
  EXPECT_EQ(grainOf(11, 0, 250, 1000), 11u);
}

}  // namespace
}  // namespace halyard::cpudriver
