#include "halyard/driver/small_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <list>
#include <map>
#include <random>
#include <span>
#include <sstream>

namespace halyard {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using Numbers = SmallVector<uint32_t, 4>;

static_assert(sizeof(Numbers) == sizeof(std::vector<uint32_t>));
static_assert(std::is_nothrow_move_constructible_v<Numbers>);
static_assert(std::ranges::contiguous_range<Numbers>);

Numbers upTo(uint32_t count) {
  Numbers numbers;
  for (uint32_t i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

bool isInItself(const Numbers& numbers) {
  const auto* const data = reinterpret_cast<const char*>(numbers.data());
  const auto* const begin = reinterpret_cast<const char*>(&numbers);
  return data >= begin && data < begin + sizeof numbers;
}

TEST(SmallVector, KeepsAFewElementsInItself) {
  EXPECT_TRUE(isInItself(Numbers()));
  EXPECT_TRUE(isInItself(upTo(4)));
  EXPECT_FALSE(isInItself(upTo(5)));
  EXPECT_THAT(upTo(5), ElementsAre(0, 1, 2, 3, 4));
}

TEST(SmallVector, IsMadeOfWhatVectorsAreMadeOf) {
  EXPECT_THAT(Numbers(3, 7), ElementsAre(7, 7, 7));
  EXPECT_THAT(Numbers(6), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT((Numbers{3, 7}), ElementsAre(3, 7));
  EXPECT_THAT(Numbers(std::vector<uint32_t>{1, 2, 3, 4, 5}), ElementsAre(1, 2, 3, 4, 5));
  const std::list<uint32_t> list = {8, 9};
  EXPECT_THAT(Numbers(list.begin(), list.end()), ElementsAre(8, 9));
  std::istringstream text("4 5 6 7 8");
  EXPECT_THAT(Numbers(std::istream_iterator<uint32_t>(text), {}), ElementsAre(4, 5, 6, 7, 8));
  const std::array<uint32_t, 2> array = {1, 2};
  EXPECT_THAT(Numbers(std::span<const uint32_t>(array)), ElementsAre(1, 2));
}

TEST(SmallVector, CopiesAndMoves) {
  for (const uint32_t size : {0u, 3u, 4u, 5u, 40u}) {
    SCOPED_TRACE(size);
    const Numbers numbers = upTo(size);
    for (const uint32_t before : {0u, 4u, 9u}) {
      Numbers copy = upTo(before);
      copy = numbers;
      EXPECT_EQ(copy, numbers);
      Numbers moved = upTo(before);
      moved = std::move(copy);
      EXPECT_EQ(moved, numbers);
      copy = {1, 2};  // a moved-from object can be used again
      EXPECT_THAT(copy, ElementsAre(1, 2));
      Numbers other = upTo(before);
      other.swap(moved);
      EXPECT_EQ(other, numbers);
      EXPECT_EQ(moved, upTo(before));
    }
    Numbers self = numbers;
    const Numbers& same = self;
    self = same;
    EXPECT_EQ(self, numbers);
    self.assign(self.begin() + size / 2, self.end());
    EXPECT_EQ(self.size(), size - size / 2);
    EXPECT_EQ(Numbers(numbers), numbers);
    EXPECT_EQ(Numbers(Numbers(numbers)), numbers);
  }
}

TEST(SmallVector, ComparesByElements) {
  EXPECT_EQ((Numbers{1, 2}), (std::vector<uint32_t>{1, 2}));
  EXPECT_NE((Numbers{1, 2}), (Numbers{1, 2, 3}));
  EXPECT_LT((Numbers{1, 2}), (Numbers{1, 2, 3}));
  EXPECT_GT((Numbers{2}), (Numbers{1, 2, 3}));
  const std::map<Numbers, int> map = {{{2, 1}, 1}, {{1, 2}, 2}};
  EXPECT_EQ(map.begin()->second, 2);
}

TEST(SmallVector, RefusesWhatIsNotThere) {
  Numbers numbers = {1};
  EXPECT_EQ(numbers.at(0), 1u);
  EXPECT_THROW(numbers.at(1), std::out_of_range);
  EXPECT_THROW(numbers.reserve(size_t{1} << 32), std::length_error);
  EXPECT_THAT(numbers, ElementsAre(1));
}

// The same operations have the same effect on a SmallVector and on a std::vector.
TEST(SmallVector, DoesWhatVectorsDo) {
  std::mt19937 random(1);
  const auto below = [&](size_t bound) { return random() % bound; };
  Numbers ours;
  std::vector<uint32_t> theirs;
  for (int step = 0; step < 20'000; ++step) {
    const auto value = static_cast<uint32_t>(random());
    const auto at = static_cast<ptrdiff_t>(below(theirs.size() + 1));
    const size_t count = below(4);
    switch (below(10)) {
      case 0:
        ours.push_back(value);
        theirs.push_back(value);
        break;
      case 1:
        EXPECT_EQ(*ours.insert(ours.begin() + at, value), value);
        theirs.insert(theirs.begin() + at, value);
        break;
      case 2: {
        const std::vector<uint32_t> values(count, value);
        EXPECT_EQ(ours.insert(ours.begin() + at, values.begin(), values.end()) - ours.begin(), at);
        theirs.insert(theirs.begin() + at, values.begin(), values.end());
        break;
      }
      case 3:
        ours.insert(ours.begin() + at, count, value);
        theirs.insert(theirs.begin() + at, count, value);
        break;
      case 4: {
        const auto until = at + static_cast<ptrdiff_t>(below(theirs.size() - at + 1));
        EXPECT_EQ(ours.erase(ours.begin() + at, ours.begin() + until) - ours.begin(), at);
        theirs.erase(theirs.begin() + at, theirs.begin() + until);
        break;
      }
      case 5:
        ours.resize(below(12), value);
        theirs.resize(ours.size(), value);
        break;
      case 6:
        if (theirs.empty()) break;
        ours.pop_back();
        theirs.pop_back();
        break;
      case 7:
        ours.assign(count, value);
        theirs.assign(count, value);
        break;
      case 8:
        ours.emplace_back(value);
        theirs.emplace_back(value);
        break;
      default:
        ours.reserve(below(12));
    }
    ASSERT_THAT(ours, ElementsAreArray(theirs));
    ASSERT_TRUE(std::equal(ours.rbegin(), ours.rend(), theirs.rbegin(), theirs.rend()));
    if (ours.empty()) continue;
    ASSERT_EQ(ours.front(), theirs.front());
    ASSERT_EQ(ours.back(), theirs.back());
  }
  ours.clear();
  EXPECT_THAT(ours, IsEmpty());
}

}  // namespace
}  // namespace halyard
