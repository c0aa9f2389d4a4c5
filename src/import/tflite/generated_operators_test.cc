// Tests of operators that make tensors from shapes and numbers.
#include "import/tflite/single_operator_for_test.h"

namespace halyard::import {
namespace {

using flatbuffers::FlatBufferBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Type = tfl::TensorType;

TEST(GeneratedOperators, RankAndZeros) {
  SingleOperator rank;
  const int32_t x = rank.floats({2, 1, 2}, {1, 2, 3, 4});
  rank.writer.node(Op::RANK, {x}, {rank.output(Type::INT32)});
  EXPECT_THAT(rank.intOutput(), ElementsAre(3));
  SingleOperator zeros;
  const int32_t y = zeros.ints({2, 2}, {1, 2, 3, 4});
  zeros.writer.node(Op::ZEROS_LIKE, {y}, {zeros.output(Type::INT32, {2, 2})});
  EXPECT_THAT(zeros.intOutput(), ElementsAre(0, 0, 0, 0));
}

TEST(GeneratedOperators, RangesOfConstants) {
  SingleOperator ints;
  const int32_t start = ints.constant(Type::INT32, {}, bytesOf<int32_t>({7}));
  const int32_t limit = ints.constant(Type::INT32, {}, bytesOf<int32_t>({0}));
  const int32_t delta = ints.constant(Type::INT32, {}, bytesOf<int32_t>({-3}));
  ints.writer.node(Op::RANGE, {start, limit, delta}, {ints.output(Type::INT32)});
  EXPECT_THAT(ints.intOutput(), ElementsAre(7, 4, 1));
  SingleOperator floats;
  std::vector<int32_t> bounds;
  for (const float bound : {0.5f, 2.0f, 0.5f}) {
    bounds.push_back(floats.constant(Type::FLOAT32, {}, bytesOf<float>({bound})));
  }
  floats.writer.node(Op::RANGE, bounds, {floats.output(Type::FLOAT32)});
  EXPECT_THAT(floats.floatOutput(), ElementsAre(0.5f, 1, 1.5f));
}

// In float, the quotient of 0.3 and 0.1 is 3. In double, it is a little more.
TEST(GeneratedOperators, RangesOfFloatsAreCountedInFloat) {
  SingleOperator single;
  std::vector<int32_t> bounds;
  for (const float bound : {0.0f, 0.3f, 0.1f}) {
    bounds.push_back(single.constant(Type::FLOAT32, {}, bytesOf<float>({bound})));
  }
  single.writer.node(Op::RANGE, bounds, {single.output(Type::FLOAT32)});
  EXPECT_THAT(single.floatOutput(), ElementsAre(0, 0.1f, 0.2f));
}

TEST(GeneratedOperators, RangesThatAreRefused) {
  const auto refusal = [](int32_t limit, bool isComputed) {
    SingleOperator single;
    const int32_t zero = single.constant(Type::INT32, {}, bytesOf<int32_t>({0}));
    const int32_t end = isComputed ? single.ints({}, {limit})
                                   : single.constant(Type::INT32, {}, bytesOf<int32_t>({limit}));
    const int32_t one = single.constant(Type::INT32, {}, bytesOf<int32_t>({1}));
    single.writer.node(Op::RANGE, {zero, end, one}, {single.output(Type::INT32)});
    return single.refusal();
  };
  EXPECT_THAT(refusal(3, true), HasSubstr("is computed at run time"));
  EXPECT_THAT(refusal(0, false), HasSubstr("a range from 0 to 0 by 1: empty tensors"));
  EXPECT_THAT(refusal(INT32_MAX, false), HasSubstr("a range of 2147483647 values"));
}

TEST(GeneratedOperators, OneHotAlongAnyAxis) {
  const auto hot = [](int32_t axis) {
    SingleOperator single;
    const int32_t indices = single.ints({2}, {2, -1});
    const int32_t depth = single.constant(Type::INT32, {}, bytesOf<int32_t>({3}));
    const int32_t on = single.constant(Type::FLOAT32, {}, bytesOf<float>({5}));
    const int32_t off = single.floats({}, {-1});
    single.writer.node(Op::ONE_HOT, {indices, depth, on, off}, {single.output(Type::FLOAT32)},
                       Opt::OneHotOptions,
                       [axis](FlatBufferBuilder& b) { return tfl::CreateOneHotOptions(b, axis); });
    return single.floatOutput();
  };
  EXPECT_THAT(hot(-1), ElementsAre(-1, -1, 5, -1, -1, -1));
  EXPECT_THAT(hot(0), ElementsAre(-1, -1, -1, -1, 5, -1));
}

TEST(GeneratedOperators, Diagonals) {
  SingleOperator diag;
  const int32_t x = diag.ints({2}, {3, 4});
  diag.writer.node(Op::MATRIX_DIAG, {x}, {diag.output(Type::INT32)});
  EXPECT_THAT(diag.intOutput(), ElementsAre(3, 0, 0, 4));
  for (const bool isWide : {false, true}) {
    SingleOperator set;
    const int32_t matrix = set.ints(
        isWide ? std::vector<int32_t>{2, 3} : std::vector<int32_t>{3, 2}, {1, 2, 3, 4, 5, 6});
    const int32_t diagonal = set.ints({2}, {8, 9});
    set.writer.node(Op::MATRIX_SET_DIAG, {matrix, diagonal}, {set.output(Type::INT32)});
    if (isWide) {
      EXPECT_THAT(set.intOutput(), ElementsAre(8, 2, 3, 4, 9, 6));
    } else {
      EXPECT_THAT(set.intOutput(), ElementsAre(8, 2, 3, 9, 5, 6));
    }
  }
}

TEST(GeneratedOperators, BroadcastTo) {
  SingleOperator ints;
  const int32_t x = ints.ints({2, 1}, {1, 2});
  ints.writer.node(Op::BROADCAST_TO, {x, ints.intList({2, 2, 2})}, {ints.output(Type::INT32)});
  EXPECT_THAT(ints.intOutput(), ElementsAre(1, 1, 2, 2, 1, 1, 2, 2));
  SingleOperator bools;
  const int32_t flags = bools.input(Type::BOOL, {2, 1}, {1, 0});
  bools.writer.node(Op::BROADCAST_TO, {flags, bools.intList({2, 3})}, {bools.output(Type::BOOL)});
  EXPECT_THAT(bools.outputs()[0], ElementsAre(1, 1, 1, 0, 0, 0));
  SingleOperator wrong;
  const int32_t two = wrong.ints({2}, {1, 2});
  wrong.writer.node(Op::BROADCAST_TO, {two, wrong.intList({3})}, {wrong.output(Type::INT32)});
  EXPECT_THAT(wrong.refusal(), HasSubstr("[2] does not broadcast to 3 at dimension 0"));
}

TEST(GeneratedOperators, BroadcastArgsOfConstants) {
  SingleOperator args;
  const int32_t x = args.floats({1}, {0});
  args.writer.node(Op::ABS, {x}, {args.output(Type::FLOAT32)});
  args.writer.node(Op::BROADCAST_ARGS, {args.intList({3, 1}), args.intList({2, 1, 4})},
                   {args.output(Type::INT32)});
  EXPECT_THAT(as<int32_t>(args.outputs()[1]), ElementsAre(2, 3, 4));
}

}  // namespace
}  // namespace halyard::import
