// Tests of copies by random loops against copies of single elements, in one piece and in many. Also
// tests the transposed blocks that some copies consist of.
#include "ops/strided_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "ops/random_for_test.h"
#include "ops/splitting_services_for_test.h"
#include "ops/transpose_block.h"

namespace halyard::ops::testing {
namespace {

struct CopyCase {
  std::vector<CopyLoop> loops;
  size_t fromFirst = 0;  // start of the copy that keeps all of it inside
  size_t fromElements = 0;
  size_t toElements = 0;

  std::string text() const {
    std::string result;
    for (const CopyLoop& loop : loops) {
      result += fmt::format("[{}: {} -> {}]", loop.count, loop.from, loop.to);
    }
    return result;
  }
};

// Returns a copy between two orders of the loops' counts. Some dimensions are reversed, repeated or
// have gaps.
CopyCase randomCase(RandomOperands& random, int longest) {
  CopyCase test;
  const int rank = random.between(0, 5);
  std::vector<size_t> fromOrder(static_cast<size_t>(rank));
  std::iota(fromOrder.begin(), fromOrder.end(), size_t{0});
  std::vector<size_t> toOrder = fromOrder;
  for (size_t i = fromOrder.size(); i > 1; --i) {
    std::swap(fromOrder[i - 1], fromOrder[static_cast<size_t>(random.between(0, int(i) - 1))]);
    if (random.coin()) continue;
    std::swap(toOrder[i - 1], toOrder[static_cast<size_t>(random.between(0, int(i) - 1))]);
  }
  for (int i = 0; i < rank; ++i) {
    test.loops.push_back({static_cast<size_t>(random.between(1, i == 0 ? longest : 9)), 0, 0});
  }
  ptrdiff_t stride = 1;
  ptrdiff_t last = 0;
  ptrdiff_t first = 0;
  for (const size_t d : fromOrder) {
    CopyLoop& loop = test.loops[d];
    const int kind = random.between(0, 7);
    if (kind == 0) continue;  // repeated
    const ptrdiff_t gap = kind == 1 ? random.between(1, 3) : 1;
    loop.from = stride * gap;
    const ptrdiff_t extent = static_cast<ptrdiff_t>(loop.count - 1) * loop.from;
    last += extent;
    if (kind == 2) {
      loop.from = -loop.from;
      first += extent;
    }
    stride *= static_cast<ptrdiff_t>(loop.count) * gap;
  }
  test.fromFirst = static_cast<size_t>(first);
  test.fromElements = static_cast<size_t>(last) + 1;
  stride = 1;
  last = 0;
  for (const size_t d : toOrder) {
    const ptrdiff_t gap = random.between(0, 5) == 0 ? 2 : 1;
    test.loops[d].to = stride * gap;
    last += static_cast<ptrdiff_t>(test.loops[d].count - 1) * test.loops[d].to;
    stride *= static_cast<ptrdiff_t>(test.loops[d].count) * gap;
  }
  test.toElements = static_cast<size_t>(last) + 1;
  return test;
}

template <size_t kBytes>
struct Single {
  uint8_t bytes[kBytes];
  bool operator==(const Single&) const = default;
};

template <size_t kBytes>
void copyOneByOne(std::span<const CopyLoop> loops, const Single<kBytes>* from, Single<kBytes>* to) {
  if (loops.empty()) return void(*to = *from);
  for (size_t i = 0; i < loops[0].count; ++i) {
    const auto position = static_cast<ptrdiff_t>(i);
    copyOneByOne(loops.subspan(1), from + position * loops[0].from, to + position * loops[0].to);
  }
}

template <size_t kBytes>
void check(RandomOperands& random, const CopyCase& test) {
  std::vector<Single<kBytes>> from(test.fromElements);
  for (auto& element : from) {
    for (uint8_t& byte : element.bytes) byte = static_cast<uint8_t>(random.between(0, 255));
  }
  std::vector<Single<kBytes>> expected(test.toElements);
  copyOneByOne<kBytes>(test.loops, from.data() + test.fromFirst, expected.data());
  InlineServices whole;
  SplittingServices split;
  for (KernelServices* services :
       {static_cast<KernelServices*>(&whole), static_cast<KernelServices*>(&split)}) {
    std::vector<Single<kBytes>> to(test.toElements);
    copyStrided(*services, kBytes, reinterpret_cast<const std::byte*>(from.data() + test.fromFirst),
                reinterpret_cast<std::byte*>(to.data()), test.loops);
    ASSERT_TRUE(to == expected) << test.text() << " of " << kBytes;
  }
}

TEST(StridedCopy, PutsEachElementInItsPlace) {
  RandomOperands random(441);
  for (int round = 0; round < 600; ++round) {
    const CopyCase test = randomCase(random, round % 10 == 0 ? 3000 : 70);
    if (test.toElements > (size_t{1} << 20) || test.fromElements > (size_t{1} << 20)) continue;
    check<1>(random, test);
    check<2>(random, test);
    check<4>(random, test);
    if (HasFatalFailure()) return;
  }
}

// Large enough that a few parts are divided themselves.
TEST(StridedCopy, DividesLargeParts) {
  RandomOperands random(442);
  for (const CopyCase& test : {CopyCase{{{500, 1, 700}, {700, 500, 1}}, 0, 350'000, 350'000},
                               CopyCase{{{2, 0, 300'000}, {300'000, 1, 1}}, 0, 300'000, 600'000},
                               CopyCase{{{300'000, 2, 1}}, 0, 600'000, 300'000},
                               CopyCase{{{3, 1, 100'000}, {100'000, 3, 1}}, 0, 300'000, 300'000}}) {
    check<1>(random, test);
    check<4>(random, test);
    if (HasFatalFailure()) return;
  }
}

template <typename T>
void checkTransposedBlock(size_t rows, size_t columns) {
  const size_t fromStride = columns + 3;
  const size_t toStride = rows + 5;
  std::vector<T> from(rows * fromStride);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i * 2654435761u >> 7);
  const T kept{77};
  std::vector<T> to(columns * toStride, kept);
  transposeBlock(from.data(), fromStride, rows, columns, to.data(), toStride);
  for (size_t c = 0; c < columns; ++c) {
    for (size_t r = 0; r < toStride; ++r) {
      const T expected = r < rows ? from[r * fromStride + c] : kept;
      ASSERT_EQ(to[c * toStride + r], expected)
          << rows << " x " << columns << " of " << sizeof(T) << " at " << r << ", " << c;
    }
  }
}

TEST(TransposeBlock, PutsEachElementInItsPlaceAndTouchesNothingElse) {
  for (const size_t rows : {1, 3, 4, 16, 17, 63, 64, 65, 130}) {
    for (const size_t columns : {1, 2, 4, 15, 16, 33, 64, 70, 129}) {
      checkTransposedBlock<uint8_t>(rows, columns);
      checkTransposedBlock<uint16_t>(rows, columns);
      checkTransposedBlock<uint32_t>(rows, columns);
      checkTransposedBlock<uint64_t>(rows, columns);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace halyard::ops::testing
