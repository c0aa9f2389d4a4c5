// Tests of REDUCE_WINDOW against combinations of all elements of each window.
#include <algorithm>
#include <functional>

#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;

struct Moves {
  std::vector<int32_t> window, strides, dilations;
};

TestOperand slid(const TestOperand& x, const TestOperand& init, const Moves& moves,
                 int32_t function) {
  return resultOf(OperationType::REDUCE_WINDOW,
                  {x, init, intList(moves.window), intList(moves.strides), intList(moves.dilations),
                   TestOperand::int32(function)},
                  TestOperand::output(x.tensor.type));
}

TEST(ReduceWindow, ByHand) {
  const TestOperand line = intList({3, -1, 4, 1, -5, 9});
  const TestOperand ten = intList({10});
  const Moves byTwo = {{2}, {2}, {1}};
  EXPECT_THAT(slid(line, ten, byTwo, 1).values<int32_t>(), ElementsAre(12, 15, 14));
  EXPECT_THAT(slid(line, ten, byTwo, 2).values<int32_t>(), ElementsAre(-30, 40, -450));
  EXPECT_THAT(slid(line, ten, {{3}, {1}, {2}}, 3).values<int32_t>(), ElementsAre(-5, -1));
  EXPECT_THAT(slid(line, intList({2}), {{3}, {1}, {2}}, 4).values<int32_t>(), ElementsAre(4, 9));
  const TestOperand truths = TestOperand::of<uint8_t>(TENSOR_BOOL8, {4}, {1, 1, 0, 0});
  const TestOperand yes = TestOperand::of<uint8_t>(TENSOR_BOOL8, {1}, {1});
  const TestOperand no = TestOperand::of<uint8_t>(TENSOR_BOOL8, {1}, {0});
  EXPECT_THAT(slid(truths, yes, {{2}, {1}, {1}}, 5).values<uint8_t>(), ElementsAre(1, 0, 0));
  EXPECT_THAT(slid(truths, no, {{2}, {1}, {1}}, 6).values<uint8_t>(), ElementsAre(1, 1, 0));
}

// The greatest element that a window meets, for each of its positions.
std::vector<int32_t> greatest(const TestOperand& x, const Moves& moves, const Shape& to) {
  const std::vector<int32_t> values = x.values<int32_t>();
  std::vector<int32_t> results(elementsOf(to), kIntMin);
  for (size_t i = 0; i < values.size() * results.size(); ++i) {
    const Coordinates from = coordinatesOf(i % values.size(), x.tensor.dims);
    const Coordinates at = coordinatesOf(i / values.size(), to);
    bool isMet = true;
    for (size_t d = 0; d < at.size(); ++d) {
      const auto distance = static_cast<int>(from[d]) - static_cast<int>(at[d]) * moves.strides[d];
      isMet = isMet && distance >= 0 && distance % moves.dilations[d] == 0 &&
              distance / moves.dilations[d] < moves.window[d];
    }
    int32_t& result = results[i / values.size()];
    if (isMet) result = std::max(result, values[i % values.size()]);
  }
  return results;
}

TEST(ReduceWindow, AlongAllDimensions) {
  RandomOperands random(77);
  for (int round = 0; round < 60; ++round) {
    const TestOperand x = anyTensor(random, TENSOR_INT32, randomShape(random, 1, 4, 5));
    Moves moves;
    Shape to;
    for (const uint32_t d : x.tensor.dims) {
      moves.dilations.push_back(random.between(1, 2));
      moves.strides.push_back(random.between(1, 3));
      const auto size = static_cast<int>(d);
      moves.window.push_back(random.between(1, (size - 1) / moves.dilations.back() + 1));
      const int extent = (moves.window.back() - 1) * moves.dilations.back() + 1;
      to.push_back(static_cast<uint32_t>((size - extent) / moves.strides.back() + 1));
    }
    const TestOperand result = slid(x, intList({kIntMin}), moves, 4);
    EXPECT_EQ(result.tensor.dims, to);
    EXPECT_EQ(result.values<int32_t>(), greatest(x, moves, to));
  }
}

}  // namespace
}  // namespace halyard::ops::testing
