#include "accuracy/accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/operation.h"

namespace halyard::accuracy {
namespace {

using enum OperandType;
using ::testing::HasSubstr;

template <typename T>
std::span<const uint8_t> bytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

template <typename T>
Comparison compared(OperandType type, Scope scope, const std::vector<T>& expected,
                    const std::vector<T>& actual, bool relaxed = false) {
  return compareValues(type, criteriaFor(type, scope, relaxed), bytesOf(expected), bytesOf(actual));
}

Model modelOf(OperationType type, size_t count) {
  Model model;
  for (size_t i = 0; i < count; ++i) model.main.operations.push_back({type, {}, {}});
  return model;
}

TEST(Accuracy, ScopeFollowsTheOperationOrTheirNumber) {
  EXPECT_EQ(scopeOf(modelOf(OperationType::RESHAPE, 1)), Scope::EXACT);
  EXPECT_EQ(scopeOf(modelOf(OperationType::ARGMAX, 1)), Scope::EXACT);
  EXPECT_EQ(scopeOf(modelOf(OperationType::ADD, 1)), Scope::ROUNDED);
  EXPECT_EQ(scopeOf(modelOf(OperationType::FLOOR, 1)), Scope::ROUNDED);
  EXPECT_EQ(scopeOf(modelOf(OperationType::SOFTMAX, 1)), Scope::APPROXIMATE);
  EXPECT_EQ(scopeOf(modelOf(OperationType::CONV_2D, 1)), Scope::SUMS);
  EXPECT_EQ(scopeOf(modelOf(OperationType::ADD, 2)), Scope::SMALL_GRAPH);
  EXPECT_EQ(scopeOf(modelOf(OperationType::ADD, kSmallGraph)), Scope::SMALL_GRAPH);
  EXPECT_EQ(scopeOf(modelOf(OperationType::ADD, kSmallGraph + 1)), Scope::LARGE_GRAPH);
  Model nested = modelOf(OperationType::ADD, 1);
  nested.referenced.push_back(modelOf(OperationType::ADD, kSmallGraph).main);
  EXPECT_EQ(scopeOf(nested), Scope::LARGE_GRAPH);
}

TEST(Accuracy, EveryElementHasItsLimit) {
  EXPECT_FALSE(compared<float>(TENSOR_FLOAT32, Scope::ROUNDED, {1, 2}, {1, 2.00002F}).failed);
  const Comparison wrong = compared<float>(TENSOR_FLOAT32, Scope::ROUNDED, {1, 2}, {1, 2.001F});
  EXPECT_TRUE(wrong.failed);
  EXPECT_EQ(wrong.differing, 1u);
  EXPECT_EQ(wrong.firstDiffering, 1u);
  EXPECT_NEAR(wrong.largestAbsolute, 1e-3, 1e-6);
  EXPECT_THAT(wrong.text, HasSubstr("element 1 is 2.00"));
}

TEST(Accuracy, ABiasWithinTheLimitOfEachElementFails) {
  const std::vector<uint8_t> expected(20, 100);
  std::vector<uint8_t> actual(20, 102);
  const Comparison biased = compared(TENSOR_QUANT8_ASYMM, Scope::APPROXIMATE, expected, actual);
  EXPECT_EQ(biased.differing, 0u);
  EXPECT_TRUE(biased.failed);
  EXPECT_THAT(biased.text, HasSubstr("bias 2 (at most 1.5)"));
  // The errors alternate in sign: no bias, but a mean square of 4.
  for (size_t i = 0; i < actual.size(); i += 2) actual[i] = 98;
  const Comparison scattered = compared(TENSOR_QUANT8_ASYMM, Scope::APPROXIMATE, expected, actual);
  EXPECT_EQ(scattered.bias, 0);
  EXPECT_TRUE(scattered.failed);
  EXPECT_THAT(scattered.text, HasSubstr("mean square 4 (at most 1.5)"));
}

TEST(Accuracy, MeansOfFewElementsHaveNoLimit) {
  const std::vector<uint8_t> expected(kFewestForMeans - 1, 100);
  const std::vector<uint8_t> actual(kFewestForMeans - 1, 102);
  EXPECT_FALSE(compared(TENSOR_QUANT8_ASYMM, Scope::APPROXIMATE, expected, actual).failed);
}

TEST(Accuracy, RelaxedFloatsAreHalves) {
  const std::vector<float> expected = {1};
  const std::vector<float> actual = {1.005F};
  EXPECT_TRUE(compared(TENSOR_FLOAT32, Scope::ROUNDED, expected, actual).failed);
  EXPECT_FALSE(compared(TENSOR_FLOAT32, Scope::ROUNDED, expected, actual, true).failed);
}

TEST(Accuracy, NotANumberIsWrongUnlessExpected) {
  EXPECT_TRUE(compared<float>(TENSOR_FLOAT32, Scope::LARGE_GRAPH, {1}, {NAN}).failed);
  EXPECT_TRUE(compared<float>(TENSOR_FLOAT32, Scope::LARGE_GRAPH, {1}, {INFINITY}).failed);
  const Comparison skipped = compared<float>(TENSOR_FLOAT32, Scope::EXACT, {NAN, INFINITY}, {1, 2});
  EXPECT_FALSE(skipped.failed);
  EXPECT_EQ(skipped.skipped, 2u);
}

TEST(Accuracy, LargeValuesAreLeftOutWhereAsked) {
  const std::vector<float> expected = {1000};
  const std::vector<float> actual = {2000};
  Criteria criteria = criteriaFor(TENSOR_FLOAT32, Scope::LARGE_GRAPH, false);
  EXPECT_TRUE(compareValues(TENSOR_FLOAT32, criteria, bytesOf(expected), bytesOf(actual)).failed);
  criteria.largest = kLargestOfRandomGraphs;
  EXPECT_FALSE(compareValues(TENSOR_FLOAT32, criteria, bytesOf(expected), bytesOf(actual)).failed);
}

TEST(Accuracy, TruthAndIntegersAreExactWhereNothingWasRounded) {
  EXPECT_FALSE(compared<uint8_t>(TENSOR_BOOL8, Scope::EXACT, {1, 0}, {255, 0}).failed);
  EXPECT_TRUE(compared<uint8_t>(TENSOR_BOOL8, Scope::EXACT, {1, 0}, {0, 0}).failed);
  EXPECT_FALSE(compared<uint8_t>(TENSOR_BOOL8, Scope::LARGE_GRAPH, {1, 0}, {0, 0}).failed);
  EXPECT_TRUE(compared<uint8_t>(TENSOR_BOOL8, Scope::LARGE_GRAPH, {1, 0}, {0, 1}).failed);
  EXPECT_TRUE(compared<int32_t>(TENSOR_INT32, Scope::EXACT, {3}, {4}).failed);
  EXPECT_FALSE(compared<int32_t>(TENSOR_INT32, Scope::LARGE_GRAPH, {3}, {4}).failed);
}

TEST(Accuracy, SizesMustAgree) {
  EXPECT_TRUE(compared<float>(TENSOR_FLOAT32, Scope::EXACT, {1, 2}, {1}).failed);
}

TEST(Accuracy, RandomDrawsAreKnown) {
  EXPECT_TRUE(isNondeterministic(modelOf(OperationType::RANDOM_MULTINOMIAL, 1)));
  EXPECT_FALSE(isNondeterministic(modelOf(OperationType::ADD, 1)));
  Model nested = modelOf(OperationType::ADD, 1);
  nested.referenced.push_back(modelOf(OperationType::RANDOM_MULTINOMIAL, 1).main);
  EXPECT_TRUE(isNondeterministic(nested));
}

}  // namespace
}  // namespace halyard::accuracy
