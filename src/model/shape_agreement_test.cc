// Rules for descriptions of one tensor's shape.
#include "model/shape_agreement.h"

#include <gtest/gtest.h>

namespace halyard {
namespace {

TEST(ShapeAgreement, UnknownAgreesWithAnything) {
  EXPECT_TRUE(shapesAgree({}, {2, 3}));
  EXPECT_TRUE(shapesAgree({2, 3}, {}));
  EXPECT_TRUE(shapesAgree({0, 3}, {2, 0}));
  EXPECT_TRUE(shapesAgree({2, 3}, {2, 3}));
}

TEST(ShapeAgreement, RankOrDimensionContradicts) {
  EXPECT_FALSE(shapesAgree({2, 3}, {2, 4}));
  EXPECT_FALSE(shapesAgree({0, 3}, {2, 4}));
  EXPECT_FALSE(shapesAgree({0}, {0, 0}));
  EXPECT_FALSE(shapesAgree({2, 3}, {2, 3, 1}));
}

TEST(ShapeAgreement, RealZeroIsNoUnknownDimension) {
  EXPECT_TRUE(isShapeOf({0, 3}, {0, 3}));
  EXPECT_TRUE(isShapeOf({0, 3}, {7, 3}));
  EXPECT_FALSE(isShapeOf({2, 3}, {0, 3}));
  EXPECT_TRUE(shapesAgree({2, 3}, {0, 3}));
}

TEST(ShapeAgreement, OnlyUnknownRankHoldsEveryRank) {
  EXPECT_TRUE(isShapeOf({}, {}));
  EXPECT_TRUE(isShapeOf({}, {2, 3}));
  EXPECT_FALSE(isShapeOf({2, 3}, {}));
  EXPECT_FALSE(isShapeOf({0, 0}, {2}));
}

TEST(ShapeAgreement, CompletesUnknownDimensions) {
  EXPECT_EQ(completeShape({}, {2, 0}), Shape({2, 0}));
  EXPECT_EQ(completeShape({0, 3}, {2, 0}), Shape({2, 3}));
  EXPECT_EQ(completeShape({0, 3}, {2, 5}), Shape({2, 3}));
  EXPECT_EQ(completeShape({0, 3}, {}), Shape({0, 3}));
  EXPECT_EQ(completeShape({0, 3}, {2}), Shape({2, 3}));
}

TEST(ShapeAgreement, CombinesBothOrContradicts) {
  EXPECT_EQ(combineShapes({0, 3}, {2, 0}), Shape({2, 3}));
  EXPECT_EQ(combineShapes({}, {2, 0}), Shape({2, 0}));
  EXPECT_EQ(combineShapes({2, 0}, {}), Shape({2, 0}));
  EXPECT_EQ(combineShapes({}, {}), Shape());
  EXPECT_EQ(combineShapes({0, 3}, {2, 5}), std::nullopt);
  EXPECT_EQ(combineShapes({2}, {2, 1}), std::nullopt);
}

}  // namespace
}  // namespace halyard
