// Tests of SLICE and STRIDED_SLICE against lists of coordinates, computed one dimension at a time.
#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

// y[j] = x[taken[0][j0], taken[1][j1], ...].
TestOperand pick(const TestOperand& x, const std::vector<std::vector<int64_t>>& taken) {
  Shape shape;
  for (const auto& list : taken) shape.push_back(static_cast<uint32_t>(list.size()));
  return moved(x, shape, [&](Coordinates at) -> MaybeCoordinates {
    for (size_t d = 0; d < at.size(); ++d) at[d] = static_cast<size_t>(taken[d][at[d]]);
    return at;
  });
}

TEST(Slice, AgreesWithDefinition) {
  RandomOperands random(221);
  for (int round = 0; round < 40; ++round) {
    for (OperandType type : kFloatInt32AndQuant8) {
      const TestOperand x = anyTensor(random, type, randomShape(random, 1, 6, 4));
      std::vector<int32_t> begin;
      std::vector<int32_t> size;
      std::vector<std::vector<int64_t>> taken;
      for (uint32_t d : x.tensor.dims) {
        const int extent = static_cast<int>(d);
        begin.push_back(random.between(0, extent - 1));
        const int rest = extent - begin.back();
        const int count = random.coin() ? rest : random.between(1, rest);
        size.push_back(count == rest && random.coin() ? -1 : count);
        taken.emplace_back();
        for (int i = 0; i < count; ++i) taken.back().push_back(begin.back() + i);
      }
      expectResult(OperationType::SLICE, {x, intList(begin), intList(size)}, pick(x, taken),
                   fmt::format("begin {} size {}", fmt::join(begin, ","), fmt::join(size, ",")));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Slice, ZeroSized) {
  RandomOperands random(222);
  const auto shapeOf = [&](const Shape& dims, const std::vector<int32_t>& begin,
                           const std::vector<int32_t>& size) {
    const TestOperand x = random.tensor(TENSOR_FLOAT32, dims);
    std::vector<TestOperand> inputs = {x, intList(begin), intList(size)};
    std::vector<TestOperand> outputs = {outputLike(x)};
    const Status status = runOperation(OperationType::SLICE, inputs, outputs);
    EXPECT_TRUE(status.ok()) << status.toString();
    return outputs[0].tensor.dims;
  };
  EXPECT_EQ(shapeOf({2, 3}, {0, 1}, {2, 0}), (Shape{2, 0}));
  EXPECT_EQ(shapeOf({2, 3}, {2, 0}, {-1, -1}), (Shape{0, 3}));
  EXPECT_EQ(shapeOf({0, 3}, {0, 1}, {-1, 2}), (Shape{0, 2}));
  EXPECT_EQ(shapeOf({0, 3}, {0, 0}, {0, -1}), (Shape{0, 3}));
}

TEST(Slice, Refuses) {
  RandomOperands random(223);
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {2, 3});
  const auto refuses = [&](const TestOperand& begin, const TestOperand& size,
                           const std::string& text) {
    expectFailure(OperationType::SLICE, {x, begin, size}, {outputLike(x)}, text);
  };
  refuses(intList({0, -1}), intList({1, 1}),
          "begin is -1 in dimension 1 of the input [2,3], expected 0 to 3");
  refuses(intList({3, 0}), intList({-1, 1}), "begin is 3 in dimension 0");
  refuses(intList({kIntMin, 0}), intList({1, 1}), "begin is -2147483648");
  refuses(intList({1, 1}), intList({2, 1}),
          "size is 2 in dimension 0 of the input [2,3], expected 0 to 1, or -1");
  refuses(intList({0, 0}), intList({1, -2}), "size is -2 in dimension 1");
  refuses(intList({1, 1}), intList({1, kIntMax}), "size is 2147483647");
  refuses(intList({0, 0}), intList({1, kIntMin}), "size is -2147483648");
  refuses(intList({0}), intList({1, 1}), "the shape of begin is [1], expected [2]");
  refuses(intList({0, 0}), intTensor({2, 1}, {1, 1}), "the shape of size is [2,1], expected [2]");
  expectChecksOutputScale(OperationType::SLICE, {x, intList({0, 0}), intList({1, 1})}, x);
  const TestOperand unknown = unknownValue(TENSOR_INT32, {2});
  for (const auto& [begin, size] :
       {std::pair{unknown, intList({1, 1})}, std::pair{intList({0, 0}), unknown}}) {
    EXPECT_EQ(inferenceOf(OperationType::SLICE, {x, begin, size}, {outputLike(x)}).code(),
              ResultCode::INCOMPLETE);
  }
}

struct StridedCase {
  int64_t begin;
  int64_t end;
  int64_t stride;
  bool fromEdge;
  bool toEdge;
};

// Returns the coordinates that a case takes of a dimension, as Python's slices do. Bounds are
// clipped, and then the walk goes from one to the other. Python cannot express an end before the
// first element, except as an open end.
std::vector<int64_t> walk(const StridedCase& c, int64_t size) {
  const int64_t first = c.stride > 0 ? 0 : -1;
  const int64_t last = c.stride > 0 ? size : size - 1;
  const auto bound = [&](int64_t value) {
    if (value < 0) value += size;
    return std::min(std::max(value, first), last);
  };
  int64_t at = c.fromEdge ? (c.stride > 0 ? first : last) : bound(c.begin);
  const int64_t stop = c.toEdge ? (c.stride > 0 ? last : first) : bound(c.end);
  std::vector<int64_t> taken;
  for (; c.stride > 0 ? at < stop : at > stop; at += c.stride) taken.push_back(at);
  return taken;
}

std::vector<TestOperand> stridedInputs(const TestOperand& x, const std::vector<StridedCase>& cases,
                                       int32_t shrinkMask) {
  std::vector<int32_t> lists[3];
  int32_t beginMask = 0;
  int32_t endMask = 0;
  for (size_t d = 0; d < cases.size(); ++d) {
    lists[0].push_back(static_cast<int32_t>(cases[d].begin));
    lists[1].push_back(static_cast<int32_t>(cases[d].end));
    lists[2].push_back(static_cast<int32_t>(cases[d].stride));
    if (cases[d].fromEdge) beginMask |= 1 << d;
    if (cases[d].toEdge) endMask |= 1 << d;
  }
  return {x,
          intList(lists[0]),
          intList(lists[1]),
          intList(lists[2]),
          TestOperand::int32(beginMask),
          TestOperand::int32(endMask),
          TestOperand::int32(shrinkMask)};
}

TEST(StridedSlice, AgreesWithDefinition) {
  RandomOperands random(224);
  size_t shrunk = 0;
  size_t empty = 0;
  for (int round = 0; round < 400; ++round) {
    for (OperandType type : kFloatAndQuant8) {
      const TestOperand x = random.tensor(type, randomShape(random, 1, 4, 5));
      std::vector<StridedCase> cases;
      std::vector<std::vector<int64_t>> taken;
      Shape shape;
      int32_t shrinkMask = 0;
      for (uint32_t extent : x.tensor.dims) {
        const auto bound = [&] {
          return random.between(0, 9) == 0 ? random.oneOf({kIntMin, kIntMax, kIntMin + 1})
                                           : random.between(-7, 7);
        };
        int stride = random.oneOf({1, 1, 2, 3, -1, -1, -2, -4, kIntMin, kIntMax});
        StridedCase c = {bound(), bound(), stride, random.coin(), random.coin()};
        taken.push_back(walk(c, extent));
        // Most results have elements.
        while (taken.back().empty() && random.between(0, 30) != 0) {
          c = {bound(), bound(), stride, random.coin(), random.coin()};
          taken.back() = walk(c, extent);
        }
        if (stride > 0 && taken.back().size() == 1 && random.coin()) {
          shrinkMask |= 1 << cases.size();
          ++shrunk;
        } else {
          shape.push_back(static_cast<uint32_t>(taken.back().size()));
        }
        cases.push_back(c);
      }
      if (shape.empty()) shape.push_back(1);
      TestOperand expected = pick(x, taken);
      expected.tensor.dims = shape;
      empty += expected.bytes.empty();
      expectResult(OperationType::STRIDED_SLICE, stridedInputs(x, cases, shrinkMask), expected);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(shrunk, 100u);
  EXPECT_GT(empty, 10u);
}

TEST(StridedSlice, ByHand) {
  const auto x = TestOperand::of<float>(TENSOR_FLOAT32, {5}, {1, 2, 3, 4, 5});
  const auto gives = [&](const StridedCase& c, const std::vector<float>& expected) {
    expectResult(
        OperationType::STRIDED_SLICE, stridedInputs(x, {c}, 0),
        TestOperand::of<float>(TENSOR_FLOAT32, {static_cast<uint32_t>(expected.size())}, expected));
  };
  gives({1, 4, 2, false, false}, {2, 4});
  gives({-2, 9, 1, false, false}, {4, 5});
  gives({-9, -3, 1, false, false}, {1, 2});
  gives({9, -9, -2, false, false}, {5, 3, 1});
  gives({3, 0, -1, false, true}, {4, 3, 2, 1});
  gives({3, 1, 1, true, false}, {1});
  // Mask bits of dimensions that do not exist are ignored.
  std::vector<TestOperand> inputs = stridedInputs(x, {{1, 2, 1, false, false}}, -2);
  inputs[4] = inputs[5] = TestOperand::int32(-2);
  expectResult(OperationType::STRIDED_SLICE, inputs,
               TestOperand::of<float>(TENSOR_FLOAT32, {1}, {2}));
}

TEST(StridedSlice, Refuses) {
  RandomOperands random(225);
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {3, 4});
  const StridedCase all = {0, 0, 1, true, true};
  const auto refuses = [&](const StridedCase& c, int32_t shrinkMask, const std::string& text) {
    expectFailure(OperationType::STRIDED_SLICE, stridedInputs(x, {all, c}, shrinkMask),
                  {outputLike(x)}, text);
  };
  refuses({0, 1, 0, false, false}, 0, "strides are 0 in dimension 1");
  refuses({0, 2, 1, false, false}, 2,
          "the shrink axis mask names dimension 1, which has 2 elements at stride 1");
  refuses({-1, 0, 1, false, false}, 2, "which has 0 elements at stride 1");
  refuses({1, 0, -1, false, false}, 2,
          "which has 1 elements at stride -1, expected 1 at a positive");
  for (size_t list = 1; list <= 3; ++list) {
    std::vector<TestOperand> inputs = stridedInputs(x, {all, all}, 0);
    inputs[list] = intList({1});
    expectFailure(OperationType::STRIDED_SLICE, inputs, {outputLike(x)}, "is [1], expected [2]");
  }
  for (size_t i = 1; i < 7; ++i) {
    std::vector<TestOperand> inputs = stridedInputs(x, {all, all}, 0);
    inputs[i].bytes.clear();
    EXPECT_EQ(inferenceOf(OperationType::STRIDED_SLICE, inputs, {outputLike(x)}).code(),
              ResultCode::INCOMPLETE);
  }
  const TestOperand deep = random.tensor(TENSOR_FLOAT32, {1, 1, 1, 1, 1});
  expectFailure(OperationType::STRIDED_SLICE,
                stridedInputs(deep, std::vector<StridedCase>(5, all), 0), {outputLike(deep)},
                "rank 5");
  const TestOperand none = random.tensor(TENSOR_FLOAT32, {2, 0});
  expectFailure(OperationType::STRIDED_SLICE, stridedInputs(none, {all, all}, 0),
                {outputLike(none)}, "zero-sized");
  expectChecksOutputScale(OperationType::STRIDED_SLICE, stridedInputs(x, {all, all}, 0), x);
}

}  // namespace
}  // namespace halyard::ops::testing
