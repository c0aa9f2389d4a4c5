// Attention that models spell out, against the executor, which computes the operations.
#include <gtest/gtest.h>

#include "fusion_for_test.h"
#include "kernels/matrix/gemm_half.h"
#include "model_for_test.h"

namespace halyard::cpudriver {
namespace {

using testing::Builder;
using testing::expectSteps;
using enum OperationType;

enum class Scale { NONE, PRODUCT, QUOTIENT, NEGATIVE };

struct AttentionCase {
  Shape batch = {1, 3};
  uint32_t rows = 20;
  uint32_t keys = 33;
  uint32_t depth = 16;
  uint32_t width = 24;
  bool areKeysColumns = false;
  Scale scale = Scale::NONE;
  Shape mask = {};  // empty: none
  bool isMaskFirst = false;
  bool isShared = false;  // an output of the model depends on the scores
  int32_t axis = -1;      // of the softmax
  float beta = 1;
  bool areValuesHuge = false;  // constants near the largest float
  bool isQueryScaled = false;
  // Operands whose heads are taken apart, and the result, whose heads are put side by side.
  bool hasQueryHeads = false;
  bool hasKeyHeads = false;
  bool hasValueHeads = false;
  bool hasResultHeads = false;
};

Shape matrices(const AttentionCase& test, uint32_t rows, uint32_t columns) {
  Shape dims = test.batch;
  dims.push_back(rows);
  dims.push_back(columns);
  return dims;
}

Shape sideBySide(const Shape& dims) { return {dims[0], dims[2], dims[1], dims[3]}; }

uint32_t heads(Builder& builder, uint32_t x, uint32_t y) {
  builder.operation(TRANSPOSE, {x, builder.int32s({4}, {0, 2, 1, 3})}, {y});
  return y;
}

// An input of the model, whose heads may lie side by side.
uint32_t matrixInput(Builder& builder, const Shape& dims, bool hasHeads) {
  if (!hasHeads) return builder.input(dims);
  return heads(builder, builder.input(sideBySide(dims)), builder.tensor(dims));
}

std::shared_ptr<const Model> attention(const AttentionCase& test) {
  Builder builder;
  const Shape scoreDims = matrices(test, test.rows, test.keys);
  const Shape queryDims = matrices(test, test.rows, test.depth);
  uint32_t queries = matrixInput(builder, queryDims, test.hasQueryHeads);
  if (test.isQueryScaled) {
    const uint32_t scaled = builder.tensor(queryDims);
    builder.operation(MUL, {queries, builder.floats({1}, {0.25f}), builder.int32(0)}, {scaled});
    queries = scaled;
  }
  const uint32_t keys = matrixInput(builder,
                                    test.areKeysColumns ? matrices(test, test.depth, test.keys)
                                                        : matrices(test, test.keys, test.depth),
                                    test.hasKeyHeads);
  const Shape valueDims = matrices(test, test.keys, test.width);
  const uint32_t values =
      test.areValuesHuge
          ? builder.floats(valueDims, std::vector<float>(*knownElementCount(valueDims), 3e38f))
          : matrixInput(builder, valueDims, test.hasValueHeads);
  const uint32_t no = builder.boolean(false);
  uint32_t scores = builder.tensor(scoreDims);
  builder.operation(BATCH_MATMUL, {queries, keys, no, builder.boolean(!test.areKeysColumns)},
                    {scores});
  const auto apply = [&](OperationType type, uint32_t a, uint32_t b) {
    const uint32_t result = builder.tensor(scoreDims);
    builder.operation(type, {a, b, builder.int32(0)}, {result});
    return result;
  };
  if (test.isShared) builder.operation(TANH, {scores}, {builder.output(scoreDims)});
  if (test.scale == Scale::PRODUCT) scores = apply(MUL, builder.floats({1}, {0.25f}), scores);
  if (test.scale == Scale::QUOTIENT) scores = apply(DIV, scores, builder.floats({1}, {4}));
  if (test.scale == Scale::NEGATIVE) scores = apply(MUL, scores, builder.floats({1}, {-1}));
  if (!test.mask.empty()) {
    const uint32_t mask = builder.input(test.mask);
    scores = test.isMaskFirst ? apply(ADD, mask, scores) : apply(ADD, scores, mask);
  }
  const uint32_t shares = builder.tensor(scoreDims);
  builder.operation(SOFTMAX, {scores, builder.floatScalar(test.beta), builder.int32(test.axis)},
                    {shares});
  const Shape resultDims = matrices(test, test.rows, test.width);
  const uint32_t result =
      test.hasResultHeads ? builder.tensor(resultDims) : builder.output(resultDims);
  builder.operation(BATCH_MATMUL, {shares, values, no, no}, {result});
  if (test.hasResultHeads) heads(builder, result, builder.output(sideBySide(resultDims)));
  return builder.take();
}

TEST(AttentionTest, IsOneStep) {
  for (const bool areKeysColumns : {false, true}) {
    for (const Scale scale : {Scale::NONE, Scale::PRODUCT, Scale::QUOTIENT}) {
      AttentionCase test;
      test.areKeysColumns = areKeysColumns;
      test.scale = scale;
      expectSteps(attention(test), 1);
      for (const Shape& mask :
           {Shape{33}, {20, 33}, {1, 1, 1, 33}, {1, 1, 20, 33}, {1, 3, 1, 33}, {1, 3, 20, 33}}) {
        for (const bool isMaskFirst : {false, true}) {
          SCOPED_TRACE(fmt::format("mask {}", shapeText(mask)));
          test.mask = mask;
          test.isMaskFirst = isMaskFirst;
          expectSteps(attention(test), 1);
        }
      }
    }
  }
}

TEST(AttentionTest, ReadsAndWritesHeadsThatLieSideBySide) {
  for (int which = 0; which < 16; ++which) {
    SCOPED_TRACE(which);
    AttentionCase test;
    test.batch = {2, 3};
    test.keys = 128;
    test.isQueryScaled = which % 3 == 0;
    test.scale = which % 2 == 0 ? Scale::PRODUCT : Scale::NONE;
    test.hasQueryHeads = (which & 1) != 0;
    test.hasKeyHeads = (which & 2) != 0;
    test.hasValueHeads = (which & 4) != 0;
    test.hasResultHeads = (which & 8) != 0;
    expectSteps(attention(test), 1);
    test.mask = {2, 3, 20, 128};
    expectSteps(attention(test), 1);
  }
  // Columns of keys are turned before.
  AttentionCase columns;
  columns.hasKeyHeads = columns.areKeysColumns = true;
  expectSteps(attention(columns), 2);
  // Rows would lie 4,096 bytes apart.
  AttentionCase wide;
  wide.batch = {1, 16};
  wide.depth = 64;
  wide.hasQueryHeads = true;
  expectSteps(attention(wide), 2);
}

TEST(AttentionTest, TakesAnySize) {
  for (const uint32_t keys : {1u, 16u, 512u, 700u}) {
    AttentionCase test;
    test.batch = {2};
    test.rows = 131;
    test.keys = keys;
    test.width = keys % 7 + 1;
    test.depth = 64;
    test.beta = 0.3f;
    expectSteps(attention(test), 1);
    test.batch = {};
    expectSteps(attention(test), 1);
  }
}

// The first output of the model, for random inputs.
std::vector<uint8_t> resultOf(const std::shared_ptr<const Model>& model) {
  const auto compiled = CompiledModel::compile(model, {});
  EXPECT_TRUE(compiled.ok() && *compiled != nullptr);
  const auto inputs = testing::memoryFor(*model, model->main.inputIndexes, true);
  const auto outputs = testing::memoryFor(*model, model->main.outputIndexes, false);
  EXPECT_TRUE((*compiled)->run(inputs.arguments, outputs.arguments, {}).status.ok());
  return outputs.bytes[0];
}

// Scores differ by some hundredths. A product or a row that is lost or taken twice differs by more.
TEST(AttentionTest, IsNearlyTheSameIfRelaxed) {
  for (const uint32_t keys : {32u, 33u, 128u, 700u}) {
    for (const bool hasHeads : {false, true}) {
      SCOPED_TRACE(fmt::format("{} keys, heads {}", keys, hasHeads));
      AttentionCase test;
      test.batch = {2, 3};
      test.rows = 131;
      test.keys = keys;
      test.depth = hasHeads ? 48 : 65;
      test.width = hasHeads ? 48 : 40;
      test.scale = Scale::PRODUCT;
      test.mask = {131, keys};
      test.areKeysColumns = keys == 33;
      test.hasQueryHeads = test.hasValueHeads = test.hasResultHeads = hasHeads;
      test.hasKeyHeads = hasHeads && !test.areKeysColumns;
      const auto exact = attention(test);
      auto relaxed = std::make_shared<Model>(*exact);
      relaxed->relaxComputationFloat32toFloat16 = true;
      expectSteps(relaxed, 1, 1e-2f);
      // Where the processor has such arithmetic, it is used.
      const bool hasHalves = halfGemm(ops::newestSimdLevel()) != nullptr;
      EXPECT_EQ(resultOf(relaxed) != resultOf(exact), hasHalves);
    }
  }
}

TEST(AttentionTest, SumsStayWithinTheValues) {
  AttentionCase test;
  test.areValuesHuge = true;
  expectSteps(attention(test), 1);
}

TEST(AttentionTest, IsComputedByOperationsOtherwise) {
  AttentionCase shared;
  shared.isShared = true;
  expectSteps(attention(shared), 4);
  AttentionCase few;
  few.rows = 2;
  expectSteps(attention(few), 3);
  AttentionCase rows;
  rows.axis = -2;
  expectSteps(attention(rows), 3);
  AttentionCase negative;
  negative.scale = Scale::NEGATIVE;
  expectSteps(attention(negative), 4);
  // A mask for each image of two, with three heads each.
  AttentionCase mask;
  mask.batch = {2, 3};
  mask.mask = {2, 1, 20, 33};
  expectSteps(attention(mask), 4);
}

}  // namespace
}  // namespace halyard::cpudriver
