// Tests of operators with newer options that pad, pick and combine.
#include <utility>

#include "import/tflite/single_operator_for_test.h"

namespace halyard::import {
namespace {

using flatbuffers::FlatBufferBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Numbers = std::vector<int64_t>;
using Op = tfl::BuiltinOperator;
using Opt2 = tfl::BuiltinOptions2;
using Type = tfl::TensorType;

template <typename Maker>
void setOptions(SingleOperator& single, Opt2 type, Maker maker) {
  single.writer.nodes[0].options2Type = type;
  single.writer.nodes[0].options2 = [maker](FlatBufferBuilder& b) { return maker(b).Union(); };
}

SingleOperator padded(const Numbers& low, const Numbers& high, const Numbers& interior) {
  SingleOperator single;
  const int32_t x = single.floats({3}, {1, 2, 3});
  const int32_t fill = single.constant(Type::FLOAT32, {}, bytesOf<float>({-1}));
  single.writer.node(Op::STABLEHLO_PAD, {x, fill}, {single.output(Type::FLOAT32)});
  setOptions(single, Opt2::StablehloPadOptions, [=](FlatBufferBuilder& b) {
    return tfl::CreateStablehloPadOptionsDirect(b, &low, &high, &interior);
  });
  return single;
}

TEST(StablehloOperators, Pad) {
  EXPECT_THAT(padded({1}, {2}, {0}).floatOutput(), ElementsAre(-1, 1, 2, 3, -1, -1));
  EXPECT_THAT(padded({0}, {1}, {1}).floatOutput(), ElementsAre(1, -1, 2, -1, 3, -1));
  EXPECT_THAT(padded({-1}, {1}, {1}).floatOutput(), ElementsAre(-1, 2, -1, 3, -1));
  EXPECT_THAT(padded({0}, {-1}, {0}).floatOutput(), ElementsAre(1, 2));
  EXPECT_THAT(padded({0}, {0}, {0}).floatOutput(), ElementsAre(1, 2, 3));
}

TEST(StablehloOperators, PadNamesWhatIsWrong) {
  EXPECT_THAT(padded({}, {0}, {0}).refusal(),
              HasSubstr("the low padding has 0 numbers, expected 1"));
  EXPECT_THAT(padded({-3}, {0}, {0}).refusal(),
              HasSubstr("3 elements of dimension 0, and paddings -3 and 0"));
  EXPECT_THAT(padded({0}, {0}, {-1}).refusal(),
              HasSubstr("the interior padding of dimension 0 is -1"));
  EXPECT_THAT(padded({int64_t{1} << 40}, {0}, {0}).refusal(),
              HasSubstr("the low padding has 1099511627776, which needs more than 32 bits"));
  SingleOperator other = padded({0}, {0}, {0});
  other.writer.nodes[0].options2Type = Opt2::NONE;
  EXPECT_THAT(other.refusal(), HasSubstr("expected StablehloPadOptions"));
}

struct Gather {
  std::vector<int32_t> indexShape;
  std::vector<int32_t> indices;
  Numbers offsetDims, collapsed, indexMap;
  int64_t vectorDim = 0;
  Numbers sizes;
};

// Of [[0, 1, 2], [10, 11, 12], [20, 21, 22]].
SingleOperator gathered(const Gather& gather) {
  SingleOperator single;
  const int32_t x = single.floats({3, 3}, {0, 1, 2, 10, 11, 12, 20, 21, 22});
  const int32_t indices = single.ints(gather.indexShape, gather.indices);
  single.writer.node(Op::STABLEHLO_GATHER, {x, indices}, {single.output(Type::FLOAT32)});
  setOptions(single, Opt2::StablehloGatherOptions, [=](FlatBufferBuilder& b) {
    return tfl::CreateStablehloGatherOptionsDirect(b, &gather.offsetDims, &gather.collapsed,
                                                   &gather.indexMap, gather.vectorDim,
                                                   &gather.sizes);
  });
  return single;
}

TEST(StablehloOperators, GatherOfRows) {
  const Gather rows = {{2, 1}, {2, 0}, {1}, {0}, {0}, 1, {1, 3}};
  EXPECT_THAT(gathered(rows).floatOutput(), ElementsAre(20, 21, 22, 0, 1, 2));
  // Each index is a tuple, and starts beyond the operand are moved inside.
  const Gather single = {{2}, {7, -2}, {1}, {0}, {0}, 1, {1, 3}};
  EXPECT_THAT(gathered(single).floatOutput(), ElementsAre(20, 21, 22, 0, 1, 2));
}

TEST(StablehloOperators, GatherOfColumnsAndParts) {
  // Columns, as the first dimension of the result.
  const Gather columns = {{2, 1}, {2, 0}, {1}, {1}, {1}, 1, {3, 1}};
  EXPECT_THAT(gathered(columns).floatOutput(), ElementsAre(2, 12, 22, 0, 10, 20));
  // The slices' dimension comes first.
  const Gather transposed = {{2, 1}, {2, 0}, {0}, {1}, {1}, 1, {3, 1}};
  EXPECT_THAT(gathered(transposed).floatOutput(), ElementsAre(2, 0, 12, 10, 22, 20));
  // Parts of 2 x 2. The tuple has the column first.
  const Gather parts = {{1, 2}, {2, 1}, {1, 2}, {}, {1, 0}, 1, {2, 2}};
  EXPECT_THAT(gathered(parts).floatOutput(), ElementsAre(11, 12, 21, 22));
}

TEST(StablehloOperators, GatherNamesWhatIsWrong) {
  const Gather good = {{2, 1}, {2, 0}, {1}, {0}, {0}, 1, {1, 3}};
  Gather bad = good;
  bad.sizes = {1, 4};
  EXPECT_THAT(gathered(bad).refusal(), HasSubstr("slice_sizes has 4 for dimension 1 of [3,3]"));
  bad = good;
  bad.sizes = {2, 3};
  EXPECT_THAT(gathered(bad).refusal(),
              HasSubstr("dimension 0 is collapsed, and the slices have 2"));
  bad = good;
  bad.indexMap = {0, 0};
  EXPECT_THAT(gathered(bad).refusal(), HasSubstr("start_index_map has 0"));
  bad = good;
  bad.vectorDim = 0;
  EXPECT_THAT(gathered(bad).refusal(), HasSubstr("index_vector_dim is 0"));
  bad = good;
  bad.offsetDims = {2};
  EXPECT_THAT(gathered(bad).refusal(), HasSubstr("offset_dims do not fit"));
}

TEST(StablehloOperators, ReduceWindow) {
  SingleOperator single;
  const int32_t x = single.floats({5}, {1, 2, 3, 4, 5});
  const int32_t init = single.constant(Type::FLOAT32, {}, bytesOf<float>({10}));
  const auto list = [&](int64_t value) {
    return single.constant(Type::INT64, {1}, bytesOf<int64_t>({value}));
  };
  single.writer.node(Op::REDUCE_WINDOW, {x, init, list(2), list(1), list(2)},
                     {single.output(Type::FLOAT32)});
  setOptions(single, Opt2::ReduceWindowOptions, [](FlatBufferBuilder& b) {
    return tfl::CreateReduceWindowOptions(b, tfl::ReduceWindowFunction::ADD);
  });
  EXPECT_THAT(single.floatOutput(), ElementsAre(14, 16, 18));
}

struct Window {
  Numbers window{2}, strides{}, baseDilations{}, dilations{}, padding{};
  Op function = Op::STABLEHLO_ADD;
};

SingleOperator reduced(const Window& w) {
  SingleOperator single;
  const int32_t x = single.floats({4}, {1, 2, 3, 4});
  const int32_t init = single.constant(Type::FLOAT32, {}, bytesOf<float>({10}));
  single.writer.node(Op::STABLEHLO_REDUCE_WINDOW, {x, init}, {single.output(Type::FLOAT32)});
  setOptions(single, Opt2::StablehloReduceWindowOptions, [w](FlatBufferBuilder& b) {
    return tfl::CreateStablehloReduceWindowOptionsDirect(b, &w.window, &w.strides, &w.baseDilations,
                                                         &w.dilations, &w.padding, 1);
  });
  ModelWriter body;
  body.inputs = {body.floats("a", {}), body.floats("b", {})};
  body.outputs = {body.floats("c", {})};
  body.node(w.function, body.inputs, body.outputs);
  single.writer.subgraphs = {body};
  return single;
}

TEST(StablehloOperators, ReduceWindowByASubgraph) {
  EXPECT_THAT(reduced({}).floatOutput(), ElementsAre(13, 15, 17));
  EXPECT_THAT(reduced({.strides = {2}}).floatOutput(), ElementsAre(13, 17));
  EXPECT_THAT(reduced({.dilations = {2}}).floatOutput(), ElementsAre(14, 16));
  // 1 10 2 10 3 10 4
  EXPECT_THAT(reduced({.strides = {2}, .baseDilations = {2}}).floatOutput(),
              ElementsAre(21, 22, 23));
  // 10 1 2 3
  EXPECT_THAT(reduced({.padding = {1, -1}}).floatOutput(), ElementsAre(21, 13, 15));
  EXPECT_THAT(reduced({.function = Op::STABLEHLO_MULTIPLY}).floatOutput(),
              ElementsAre(20, 60, 120));
  EXPECT_THAT(reduced({.function = Op::STABLEHLO_MINIMUM}).floatOutput(), ElementsAre(1, 2, 3));
  EXPECT_THAT(reduced({.function = Op::STABLEHLO_MAXIMUM}).floatOutput(), ElementsAre(10, 10, 10));
}

TEST(StablehloOperators, ReduceWindowNamesWhatIsWrong) {
  EXPECT_THAT(reduced({.window = {}}).refusal(),
              HasSubstr("window_dimensions has 0 numbers, expected 1"));
  EXPECT_THAT(reduced({.padding = {1}}).refusal(), HasSubstr("padding has 1 numbers, expected 2"));
  EXPECT_THAT(reduced({.baseDilations = {0}}).refusal(),
              HasSubstr("the interior padding of dimension 0 is -1"));
  EXPECT_THAT(reduced({.function = Op::STABLEHLO_SUBTRACT}).refusal(),
              HasSubstr("subgraph 1 '' combines values by STABLEHLO_SUBTRACT"));
  SingleOperator other = reduced({});
  other.writer.subgraphs[0].nodes[0].inputs = {0, 0};
  EXPECT_THAT(other.refusal(),
              HasSubstr("subgraph 1 '' is not one operator that combines its two inputs"));
  other.writer.subgraphs.clear();
  EXPECT_THAT(other.refusal(), HasSubstr("subgraph 1"));
}

}  // namespace
}  // namespace halyard::import
