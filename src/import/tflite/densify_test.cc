// Tests of sparse constants.
#include "import/tflite/single_operator_for_test.h"

namespace halyard::import {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Op = tfl::BuiltinOperator;
using Type = tfl::TensorType;

// The sum of a sparse constant of the shape [2, 4] and an input of zeros.
SingleOperator sumOf(Sparsity sparsity, const std::vector<float>& values) {
  SingleOperator single;
  const int32_t zeros = single.floats({2, 4}, std::vector<float>(8, 0));
  const int32_t sparse = single.constant(Type::FLOAT32, {2, 4}, bytesOf(values));
  single.writer.tensors[static_cast<size_t>(sparse)].sparsity = std::move(sparsity);
  TensorSpec dense;
  dense.name = "dense";
  dense.shape = {2, 4};
  const int32_t between = single.writer.tensor(std::move(dense));
  single.writer.node(Op::DENSIFY, {sparse}, {between});
  single.writer.node(Op::ADD, {zeros, between}, {single.output(Type::FLOAT32, {2, 4})});
  return single;
}

Sparsity byRows() { return {{0, 1}, {}, {{true, 2, {}, {}}, {false, 0, {0, 1, 3}, {2, 0, 3}}}}; }

TEST(Densify, Rows) {
  EXPECT_THAT(sumOf(byRows(), {5, 6, 7}).floatOutput(), ElementsAre(0, 0, 5, 0, 6, 0, 0, 7));
}

TEST(Densify, EmptyRows) {
  const Sparsity oneElement = {{0, 1}, {}, {{true, 2, {}, {}}, {false, 0, {0, 0, 1}, {1}}}};
  EXPECT_THAT(sumOf(oneElement, {7}).floatOutput(), ElementsAre(0, 0, 0, 0, 0, 7, 0, 0));
}

TEST(Densify, Columns) {
  const Sparsity byColumns = {
      {1, 0}, {}, {{true, 4, {}, {}}, {false, 0, {0, 1, 1, 2, 3}, {1, 0, 1}}}};
  EXPECT_THAT(sumOf(byColumns, {5, 6, 7}).floatOutput(), ElementsAre(0, 0, 6, 0, 5, 0, 0, 7));
}

TEST(Densify, BlocksOfADimension) {
  const Sparsity blocks = {
      {0, 1, 2}, {1}, {{true, 2, {}, {}}, {false, 0, {0, 1, 2}, {1, 0}}, {true, 2, {}, {}}}};
  EXPECT_THAT(sumOf(blocks, {1, 2, 3, 4}).floatOutput(), ElementsAre(0, 0, 1, 2, 3, 4, 0, 0));
}

TEST(Densify, DamagedDescriptionsAreRefused) {
  const auto refusal = [](void (*damage)(Sparsity&)) {
    Sparsity sparsity = byRows();
    damage(sparsity);
    return sumOf(std::move(sparsity), {5, 6, 7}).refusal();
  };
  EXPECT_THAT(refusal([](Sparsity& s) { s.levels[1].indices[1] = 4; }), HasSubstr("the index 4"));
  EXPECT_THAT(refusal([](Sparsity& s) { s.levels[1].indices[1] = -1; }), HasSubstr("index -1"));
  EXPECT_THAT(refusal([](Sparsity& s) { s.levels[1].segments[1] = 4; }),
              HasSubstr("segments that do not ascend from 0 to 3"));
  EXPECT_THAT(refusal([](Sparsity& s) { s.levels[1].segments.pop_back(); }),
              HasSubstr("2 segments, expected 3"));
  EXPECT_THAT(refusal([](Sparsity& s) { s.levels[0].size = 3; }),
              HasSubstr("level 0 of its sparsity has the size 3, expected 2"));
  EXPECT_THAT(refusal([](Sparsity& s) { s.order = {0, 0}; }), HasSubstr("order has 0"));
  EXPECT_THAT(refusal([](Sparsity& s) { s.levels.pop_back(); }), HasSubstr("has 1 levels"));
  EXPECT_THAT(refusal([](Sparsity& s) { s.blocks = {5}; }), HasSubstr("1 blocks"));
  EXPECT_THAT(refusal([](Sparsity& s) {
                s.levels[1].indices.assign(9, 0);
                s.levels[1].segments = {0, 0, 9};
              }),
              HasSubstr("9 positions, the tensor has 8 elements"));
  EXPECT_THAT(refusal([](Sparsity& s) {
                s.levels[1].indices.push_back(1);
                s.levels[1].segments[2] = 4;
              }),
              HasSubstr("needs 4 elements, the file has 12 bytes"));
}

TEST(Densify, ADenseConstantIsRefused) {
  SingleOperator single;
  const int32_t dense = single.constant(Type::FLOAT32, {1}, bytesOf<float>({1}));
  single.writer.node(Op::DENSIFY, {dense}, {single.output(Type::FLOAT32, {1})});
  EXPECT_THAT(single.refusal(), HasSubstr("is no sparse constant"));
}

}  // namespace
}  // namespace halyard::import
