// Tests of arena plans: no overlap in time and space, alignment, and distance from the minimum
// size.
#include "cpu/arena_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace halyard::cpu {
namespace {

using ::testing::ElementsAre;

TEST(ArenaPlan, TensorsOfAChainShareTwoPlaces) {
  // Only the next step reads each tensor.
  const ArenaPlan plan = planArena({{64, 0, 1}, {64, 1, 2}, {64, 2, 3}, {64, 3, 4}}, 64);
  EXPECT_EQ(plan.bytes, 128u);
  EXPECT_THAT(plan.offsets, ElementsAre(0, 64, 0, 64));
}

TEST(ArenaPlan, TheSmallestGapThatIsFreeIsTaken) {
  // At step 5, the space of the second and the fourth tensor is free.
  const ArenaPlan plan =
      planArena({{512, 0, 9}, {256, 0, 1}, {192, 0, 9}, {128, 0, 1}, {96, 0, 9}, {64, 5, 5}}, 64);
  EXPECT_THAT(plan.offsets, ElementsAre(0, 512, 768, 960, 1088, 960));
  EXPECT_EQ(plan.bytes, 1216u);
}

TEST(ArenaPlan, OffsetsAreAlignedAndNothingIsNothing) {
  const ArenaPlan plan = planArena({{1, 0, 0}, {65, 0, 0}, {0, 0, 0}}, 64);
  EXPECT_THAT(plan.offsets, ElementsAre(128, 0, 0));
  EXPECT_EQ(plan.bytes, 192u);
  EXPECT_EQ(planArena({}, 64).bytes, 0u);
}

TEST(ArenaPlan, NeverOverlapsAndStaysNearTheLiveSet) {
  std::mt19937 engine(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<ArenaTensor> tensors(engine() % 40 + 1);
    for (ArenaTensor& tensor : tensors) {
      tensor.bytes = engine() % 10000;
      tensor.first = engine() % 30;
      tensor.last = tensor.first + engine() % 6;
    }
    const ArenaPlan plan = planArena(tensors, 64);
    size_t most = 0;
    for (size_t step = 0; step < 36; ++step) {
      size_t live = 0;
      for (const ArenaTensor& t : tensors) {
        if (t.first <= step && step <= t.last) live += (t.bytes + 63) / 64 * 64;
      }
      most = std::max(most, live);
    }
    EXPECT_GE(plan.bytes, most);
    EXPECT_LE(plan.bytes, most * 3 / 2) << "round " << round;
    for (size_t a = 0; a < tensors.size(); ++a) {
      EXPECT_EQ(plan.offsets[a] % 64, 0u);
      EXPECT_LE(plan.offsets[a] + tensors[a].bytes, plan.bytes);
      for (size_t b = 0; b < a; ++b) {
        const bool together =
            tensors[a].first <= tensors[b].last && tensors[b].first <= tensors[a].last;
        const bool apart = plan.offsets[a] + tensors[a].bytes <= plan.offsets[b] ||
                           plan.offsets[b] + tensors[b].bytes <= plan.offsets[a] ||
                           tensors[a].bytes == 0 || tensors[b].bytes == 0;
        EXPECT_TRUE(!together || apart) << "round " << round;
      }
    }
  }
}

TEST(LifetimePlanner, ReusesPlacesBehindTheLastReader) {
  LifetimePlanner planner(4);
  planner.extend(0, 0);  // an input of the subgraph has no place
  planner.write(1, 64, 0);
  planner.extend(1, 1);
  planner.write(2, 64, 1);
  planner.extend(2, 2);
  planner.write(3, 64, 2);
  EXPECT_EQ(planner.tensorCount(), 3u);
  const OperandPlaces places = planner.place(64);
  EXPECT_EQ(places.offsets[0], std::nullopt);
  EXPECT_EQ(places.offsets[1], places.offsets[3]);
  EXPECT_NE(places.offsets[1], places.offsets[2]);
  EXPECT_EQ(places.bytes, 128u);
}

TEST(LifetimePlanner, AnEarlierStepDoesNotEndALifetime) {
  LifetimePlanner planner(3);
  planner.write(0, 64, 0);
  planner.extend(0, 3);
  planner.extend(0, 1);
  planner.write(1, 64, 1);
  planner.write(2, 64, 2);
  const OperandPlaces places = planner.place(64);
  EXPECT_NE(places.offsets[0], places.offsets[1]);
  EXPECT_NE(places.offsets[0], places.offsets[2]);
  EXPECT_EQ(places.offsets[1], places.offsets[2]);
  EXPECT_EQ(places.bytes, 128u);
}

TEST(LifetimePlanner, PlacesNothingWithoutWriters) {
  const OperandPlaces places = LifetimePlanner(2).place(64);
  EXPECT_EQ(places.offsets, (std::vector<std::optional<size_t>>(2)));
  EXPECT_EQ(places.bytes, 0u);
}

}  // namespace
}  // namespace halyard::cpu
