// Attention that models spell out, against the executor, which computes the operations.
#include <gtest/gtest.h>

#include "fusion_for_test.h"
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
};

Shape matrices(const AttentionCase& test, uint32_t rows, uint32_t columns) {
  Shape dims = test.batch;
  dims.push_back(rows);
  dims.push_back(columns);
  return dims;
}

std::shared_ptr<const Model> attention(const AttentionCase& test) {
  Builder builder;
  const Shape scoreDims = matrices(test, test.rows, test.keys);
  const uint32_t queries = builder.input(matrices(test, test.rows, test.depth));
  const uint32_t keys = builder.input(test.areKeysColumns ? matrices(test, test.depth, test.keys)
                                                          : matrices(test, test.keys, test.depth));
  const Shape valueDims = matrices(test, test.keys, test.width);
  const uint32_t values =
      test.areValuesHuge
          ? builder.floats(valueDims, std::vector<float>(*knownElementCount(valueDims), 3e38f))
          : builder.input(valueDims);
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
  builder.operation(BATCH_MATMUL, {shares, values, no, no},
                    {builder.output(matrices(test, test.rows, test.width))});
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
