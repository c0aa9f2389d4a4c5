// Tests of the four UNSORTED_SEGMENT operations with values by hand.
#include <limits>

#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;

std::vector<int32_t> combined(OperationType type, const TestOperand& data,
                              const TestOperand& segments, int32_t count) {
  return resultOf(type, {data, segments, TestOperand::int32(count)},
                  TestOperand::output(TENSOR_INT32))
      .values<int32_t>();
}

TEST(UnsortedSegments, CombineSlices) {
  const TestOperand data = intTensor({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const TestOperand segments = intList({2, 0, 2, -1});
  EXPECT_THAT(combined(OperationType::UNSORTED_SEGMENT_SUM, data, segments, 3),
              ElementsAre(3, 4, 0, 0, 6, 8));
  EXPECT_THAT(combined(OperationType::UNSORTED_SEGMENT_PROD, data, segments, 3),
              ElementsAre(3, 4, 1, 1, 5, 12));
  EXPECT_THAT(combined(OperationType::UNSORTED_SEGMENT_MAX, data, segments, 3),
              ElementsAre(3, 4, kIntMin, kIntMin, 5, 6));
  EXPECT_THAT(combined(OperationType::UNSORTED_SEGMENT_MIN, data, segments, 3),
              ElementsAre(3, 4, kIntMax, kIntMax, 1, 2));
}

TEST(UnsortedSegments, NumbersOfSeveralDimensions) {
  const TestOperand data = intTensor({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(
      combined(OperationType::UNSORTED_SEGMENT_SUM, data, intTensor({2, 3}, {0, 1, 0, 1, 1, 0}), 2),
      ElementsAre(10, 11));
}

TEST(UnsortedSegments, OfFloats) {
  const TestOperand data = TestOperand::of<float>(TENSOR_FLOAT32, {3}, {0.5f, 4, -2});
  const auto of = [&](OperationType type) {
    return resultOf(type, {data, intList({0, 0, 0}), TestOperand::int32(2)},
                    TestOperand::output(TENSOR_FLOAT32))
        .values<float>();
  };
  constexpr float kMost = std::numeric_limits<float>::max();
  EXPECT_THAT(of(OperationType::UNSORTED_SEGMENT_SUM), ElementsAre(2.5f, 0));
  EXPECT_THAT(of(OperationType::UNSORTED_SEGMENT_PROD), ElementsAre(-4, 1));
  EXPECT_THAT(of(OperationType::UNSORTED_SEGMENT_MAX), ElementsAre(4, -kMost));
  EXPECT_THAT(of(OperationType::UNSORTED_SEGMENT_MIN), ElementsAre(-2, kMost));
}

TEST(UnsortedSegments, RefuseNumbersOutsideAndOtherShapes) {
  const auto refuses = [](const TestOperand& segments, int32_t count, const std::string& text) {
    expectFailure(OperationType::UNSORTED_SEGMENT_SUM,
                  {intTensor({2, 2}, {1, 2, 3, 4}), segments, TestOperand::int32(count)},
                  {TestOperand::output(TENSOR_INT32)}, text);
  };
  refuses(intList({0, 2}), 2, "segment 2 of slice 1, expected at most 1");
  refuses(intList({0, 0, 0}), 2, "expected the first dimensions of the data [2,2]");
  refuses(intList({0, 0}), 0, "the number of segments is 0");
}

}  // namespace
}  // namespace halyard::ops::testing
