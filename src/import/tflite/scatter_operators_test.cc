// Tests of operators that scatter, segment, look up and count elements.
#include "import/tflite/single_operator_for_test.h"

namespace halyard::import {
namespace {

using flatbuffers::FlatBufferBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Type = tfl::TensorType;

TEST(ScatterOperators, ScatterNd) {
  SingleOperator single;
  const int32_t indices = single.ints({2, 1}, {2, 0});
  const int32_t updates = single.floats({2, 2}, {1, 2, 3, 4});
  single.writer.node(Op::SCATTER_ND, {indices, updates, single.intList({3, 2})},
                     {single.output(Type::FLOAT32, {3, 2})});
  EXPECT_THAT(single.floatOutput(), ElementsAre(3, 4, 0, 0, 1, 2));
}

SingleOperator sparseToDense(const std::vector<int32_t>& indices, int32_t rest) {
  SingleOperator single;
  const int32_t values = single.ints({2}, {7, 8});
  const int32_t zero = single.constant(Type::INT32, {}, bytesOf<int32_t>({rest}));
  single.writer.node(Op::SPARSE_TO_DENSE,
                     {single.intList(indices), single.intList({4}), values, zero},
                     {single.output(Type::INT32)});
  return single;
}

TEST(ScatterOperators, SparseToDense) {
  EXPECT_THAT(sparseToDense({3, 1}, 0).intOutput(), ElementsAre(0, 8, 0, 7));
  EXPECT_THAT(sparseToDense({1, 1}, 0).refusal(), HasSubstr("two values for one place"));
  EXPECT_THAT(sparseToDense({3, 1}, 5).refusal(), HasSubstr("is not 0"));
}

TEST(ScatterOperators, Segments) {
  SingleOperator sum;
  const int32_t data = sum.floats({3, 2}, {1, 2, 3, 4, 5, 6});
  sum.writer.node(Op::SEGMENT_SUM, {data, sum.intList({0, 0, 2})}, {sum.output(Type::FLOAT32)});
  EXPECT_THAT(sum.floatOutput(), ElementsAre(4, 6, 0, 0, 5, 6));
  const std::pair<Op, int32_t> kinds[] = {{Op::UNSORTED_SEGMENT_SUM, 9},
                                          {Op::UNSORTED_SEGMENT_PROD, 14},
                                          {Op::UNSORTED_SEGMENT_MAX, 7},
                                          {Op::UNSORTED_SEGMENT_MIN, 2}};
  for (const auto& [op, expected] : kinds) {
    SingleOperator single;
    const int32_t x = single.ints({3}, {2, 5, 7});
    const int32_t segments = single.ints({3}, {1, 0, 1});
    const int32_t count = single.constant(Type::INT32, {}, bytesOf<int32_t>({2}));
    single.writer.node(op, {x, segments, count}, {single.output(Type::INT32)});
    EXPECT_THAT(single.intOutput(), ElementsAre(5, expected));
  }
}

TEST(ScatterOperators, DynamicUpdateSlice) {
  SingleOperator single;
  const int32_t x = single.floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const int32_t update = single.floats({1, 2}, {8, 9});
  const int32_t starts = single.ints({2}, {1, 5});
  single.writer.node(Op::DYNAMIC_UPDATE_SLICE, {x, update, starts},
                     {single.output(Type::FLOAT32, {2, 3})});
  EXPECT_THAT(single.floatOutput(), ElementsAre(1, 2, 3, 4, 8, 9));
}

TEST(ScatterOperators, Cumsum) {
  SingleOperator single;
  const int32_t x = single.floats({2, 2}, {1, 2, 3, 4});
  const int32_t axis = single.constant(Type::INT32, {}, bytesOf<int32_t>({-1}));
  single.writer.node(Op::CUMSUM, {x, axis}, {single.output(Type::FLOAT32)}, Opt::CumsumOptions,
                     [](FlatBufferBuilder& b) { return tfl::CreateCumsumOptions(b, true, true); });
  EXPECT_THAT(single.floatOutput(), ElementsAre(2, 0, 4, 0));
}

// Three boxes, of which the first two overlap.
SingleOperator suppression(bool isVersion5) {
  SingleOperator single;
  const int32_t boxes = single.floats({3, 4}, {0, 0, 2, 2, 0, 1, 2, 3, 5, 5, 6, 6});
  std::vector<int32_t> in = {boxes, single.floats({3}, {0.8f, 0.9f, 0.3f}),
                             single.constant(Type::INT32, {}, bytesOf<int32_t>({4}))};
  std::vector<int32_t> out = {single.output(Type::INT32, {4})};
  for (const float value : {0.3f, 0.1f}) {
    in.push_back(single.constant(Type::FLOAT32, {}, bytesOf<float>({value})));
  }
  if (isVersion5) {
    in.push_back(single.constant(Type::FLOAT32, {}, bytesOf<float>({0.5f})));
    out.push_back(single.output(Type::FLOAT32, {4}));
  }
  out.push_back(single.output(Type::INT32));
  single.writer.node(isVersion5 ? Op::NON_MAX_SUPPRESSION_V5 : Op::NON_MAX_SUPPRESSION_V4, in, out);
  return single;
}

TEST(ScatterOperators, NonMaxSuppression) {
  const auto four = suppression(false).outputs();
  ASSERT_EQ(four.size(), 2u);
  EXPECT_THAT(as<int32_t>(four[0]), ElementsAre(1, 2, 0, 0));
  EXPECT_THAT(as<int32_t>(four[1]), ElementsAre(2));
  const auto five = suppression(true).outputs();
  ASSERT_EQ(five.size(), 3u);
  EXPECT_THAT(as<int32_t>(five[0]), ElementsAre(1, 2, 0, 0));
  EXPECT_THAT(as<float>(five[1]), ElementsAre(0.9f, 0.3f, 0, 0));
  EXPECT_THAT(as<int32_t>(five[2]), ElementsAre(2));
}

TEST(ScatterOperators, Bucketize) {
  SingleOperator single;
  const int32_t x = single.floats({3}, {-1, 2, 9});
  single.writer.node(Op::BUCKETIZE, {x}, {single.output(Type::INT32)}, Opt::BucketizeOptions,
                     [](FlatBufferBuilder& b) {
                       const std::vector<float> limits = {0, 2, 4};
                       return tfl::CreateBucketizeOptionsDirect(b, &limits);
                     });
  EXPECT_THAT(single.intOutput(), ElementsAre(0, 2, 3));
}

TEST(ScatterOperators, WhereHasAsManyRowsAsFound) {
  SingleOperator single;
  const int32_t x = single.input(Type::BOOL, {2, 2}, {0, 1, 1, 0});
  single.writer.node(Op::WHERE, {x}, {single.output(Type::INT64, {1, 2})});
  EXPECT_THAT(single.intOutput(), ElementsAre(0, 1, 1, 0));
}

TEST(ScatterOperators, UniqueHasAsManyValuesAsFound) {
  SingleOperator single;
  const int32_t x = single.ints({5}, {7, 3, 7, 7, 3});
  const int32_t values = single.output(Type::INT32, {1});
  single.writer.node(Op::UNIQUE, {x}, {values, single.output(Type::INT64)}, Opt::UniqueOptions,
                     [](FlatBufferBuilder& b) { return tfl::CreateUniqueOptions(b, Type::INT64); });
  const std::vector<std::vector<uint8_t>> outputs = single.outputs();
  EXPECT_THAT(as<int32_t>(outputs[0]), ElementsAre(7, 3));
  EXPECT_THAT(as<int32_t>(outputs[1]), ElementsAre(0, 1, 0, 0, 1));
}

TEST(ScatterOperators, Dilate) {
  SingleOperator single;
  const int32_t x = single.floats({2, 2}, {1, 2, 3, 4});
  const int32_t fill = single.constant(Type::FLOAT32, {}, bytesOf<float>({-1}));
  single.writer.node(Op::DILATE, {x, single.intList({1, 2}), fill}, {single.output(Type::FLOAT32)});
  EXPECT_THAT(single.floatOutput(), ElementsAre(1, -1, 2, 3, -1, 4));
}

TEST(ScatterOperators, ReverseSequence) {
  SingleOperator single;
  const int32_t x = single.floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const int32_t lengths = single.ints({2}, {2, 3});
  single.writer.node(Op::REVERSE_SEQUENCE, {x, lengths}, {single.output(Type::FLOAT32)},
                     Opt::ReverseSequenceOptions, [](FlatBufferBuilder& b) {
                       return tfl::CreateReverseSequenceOptions(b, 1, 0);
                     });
  EXPECT_THAT(single.floatOutput(), ElementsAre(2, 1, 3, 6, 5, 4));
}

TEST(ScatterOperators, HashtableLookup) {
  SingleOperator single;
  const int32_t lookups = single.ints({3}, {5, 1, 9});
  const int32_t values = single.floats({2, 1}, {0.5f, 2});
  single.writer.node(Op::HASHTABLE_LOOKUP, {lookups, single.intList({5, 9}), values},
                     {single.output(Type::FLOAT32), single.output(Type::UINT8)});
  const std::vector<std::vector<uint8_t>> outputs = single.outputs();
  EXPECT_THAT(as<float>(outputs[0]), ElementsAre(0.5f, 0, 2));
  EXPECT_THAT(outputs[1], ElementsAre(1, 0, 1));
}

TEST(ScatterOperators, LshProjectionNeedsAType) {
  SingleOperator single;
  const int32_t hash = single.constant(Type::FLOAT32, {1, 2}, bytesOf<float>({0.5f, -0.25f}));
  const int32_t x = single.ints({2}, {1, 2});
  single.writer.node(Op::LSH_PROJECTION, {hash, x}, {single.output(Type::INT32)},
                     Opt::LSHProjectionOptions,
                     [](FlatBufferBuilder& b) { return tfl::CreateLSHProjectionOptions(b); });
  EXPECT_THAT(single.refusal(), HasSubstr("projection type 0 does not exist"));
}

}  // namespace
}  // namespace halyard::import
