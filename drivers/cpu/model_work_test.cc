#include "model_work.h"

#include <gtest/gtest.h>
#include <cmath>

#include "compiled_model.h"
#include "model_for_test.h"

namespace halyard::cpudriver {
namespace {

using testing::Builder;

double workOf(const std::shared_ptr<const Model>& model) {
  const auto plan = cpu::ExecutionPlan::make(model);
  EXPECT_TRUE(plan.ok()) << plan.status().toString();
  return productsOf(plan->main, makeSteps(plan->main, nullptr));
}

// Full connections of `width` to `width` for `rows` rows.
std::shared_ptr<const Model> connections(uint32_t rows, uint32_t width, int layers) {
  Builder b;
  const uint32_t none = b.int32(0);
  uint32_t x = b.input({rows, width});
  for (int i = 0; i < layers; ++i) {
    const uint32_t y = i + 1 == layers ? b.output({rows, width}) : b.tensor({rows, width});
    b.operation(OperationType::FULLY_CONNECTED,
                {x, b.constant({width, width}), b.constant({width}), none}, {y});
    x = y;
  }
  return b.take();
}

TEST(ModelWork, IsTheSumOfTheProducts) {
  EXPECT_EQ(workOf(connections(1, 100, 1)), 100 * 100 * productsOfFloat());
  EXPECT_EQ(workOf(connections(7, 100, 3)), 3 * 7 * 100 * 100 * productsOfFloat());
}

TEST(ModelWork, CountsProductsOfBytesOnce) {
  Builder b;
  const auto bytes = [&](const Shape& dims, Lifetime lifetime) {
    return b.quantized(OperandType::TENSOR_QUANT8_ASYMM, dims, 0.5F, 0, lifetime);
  };
  const uint32_t x = bytes({7, 100}, Lifetime::SUBGRAPH_INPUT);
  const uint32_t weights = bytes({50, 100}, Lifetime::SUBGRAPH_INPUT);
  const uint32_t bias =
      b.quantized(OperandType::TENSOR_INT32, {50}, 0.25F, 0, Lifetime::SUBGRAPH_INPUT);
  const uint32_t y = bytes({7, 50}, Lifetime::SUBGRAPH_OUTPUT);
  b.operation(OperationType::FULLY_CONNECTED, {x, weights, bias, b.int32(0)}, {y});
  EXPECT_EQ(workOf(b.take()), 7 * 50 * 100);
}

// A convolution that a step computes together with a border and an activation.
TEST(ModelWork, CountsTheOperationsOfASharedStep) {
  Builder b;
  const uint32_t image = b.input({1, 8, 8, 3});
  const uint32_t one = b.int32(1);
  const uint32_t features = b.tensor({1, 8, 8, 16});
  const uint32_t result = b.output({1, 8, 8, 16});
  b.operation(OperationType::CONV_2D,
              {image, b.constant({16, 3, 3, 3}), b.constant({16}), one, one, one, b.int32(0)},
              {features});
  b.operation(OperationType::RELU, {features}, {result});
  const double elements = 8 * 8 * 16;
  EXPECT_EQ(workOf(b.take()), elements * 27 * productsOfFloat() + kProductsOfElement * elements);
}

TEST(ModelWork, CountsElementsWhereNothingIsMultiplied) {
  Builder b;
  const uint32_t x = b.input({4, 50});
  const uint32_t y = b.tensor({4, 50});
  const uint32_t z = b.output({200});
  b.operation(OperationType::LOGISTIC, {x}, {y});
  // No step: the tensor gets another shape.
  b.operation(OperationType::RESHAPE, {y, b.int32s({1}, {200})}, {z});
  const double work = workOf(b.take());
  EXPECT_GE(work, 200 * kProductsOfElement);
  EXPECT_LE(work, 2 * 200 * kProductsOfElement);
}

TEST(ModelWork, SlowerProcessorsDivideSmallerModels) {
  EXPECT_LT(leastDividedProducts(ops::SimdLevel::AVX2),
            leastDividedProducts(ops::SimdLevel::AVX512));
}

TEST(ModelWork, DecidesWhetherLoopsAreDivided) {
  ThreadShare threads(2);
  for (const bool isLarge : {false, true}) {
    // 0.1 and 5 million products of floats.
    const auto model = connections(isLarge ? 500 : 10, 100, 1);
    const auto compiled = CompiledModel::compile(model, {.threads = &threads});
    ASSERT_TRUE(compiled.ok()) << compiled.status().toString();
    EXPECT_EQ((*compiled)->facts().dividesLoops, isLarge);
    const auto later = CompiledModel::compileLater(model, {.threads = &threads});
    ASSERT_TRUE(later.ok() && (*later)->complete().ok());
    EXPECT_EQ((*later)->facts().dividesLoops, isLarge);
  }
}

// The weights are 1.5 times the second-level cache.
TEST(ModelWork, AClientThatPollsNeedsAProcessor) {
  const size_t cache = secondLevelCacheBytes();
  if (cache == 0) GTEST_SKIP() << "the size of the second-level cache is not known";
  const auto width = static_cast<uint32_t>(std::sqrt(1.5 * static_cast<double>(cache) / 4));
  const auto model = connections(1, width, 1);
  if (workOf(model) >= leastDividedProducts()) {
    GTEST_SKIP() << "such weights are worth threads by their products";
  }
  ThreadShare threads(2);
  for (const bool polls : {false, true}) {
    const auto compiled =
        CompiledModel::compile(model, {.threads = &threads, .clientTakesProcessor = polls});
    ASSERT_TRUE(compiled.ok()) << compiled.status().toString();
    EXPECT_EQ((*compiled)->facts().dividesLoops, !polls);
  }
}

// Three connections have weights and biases of 3 x 40,400 bytes, and one activation of 4 bytes.
TEST(ModelWork, DividesLoopsWhoseWeightsExceedTheCache) {
  auto plan = cpu::ExecutionPlan::make(connections(1, 100, 3));
  ASSERT_TRUE(plan.ok());
  plan->main.steps = cpu::planSteps(plan->main, makeSteps(plan->main, nullptr));
  EXPECT_EQ(weightBytesOf(plan->main), 3u * 40'400 + 4);
  EXPECT_TRUE(isWorthThreads(*plan, false, 120'000));
  EXPECT_FALSE(isWorthThreads(*plan, false, 125'000));
  EXPECT_FALSE(isWorthThreads(*plan, true, 120'000));
  EXPECT_TRUE(isWorthThreads(*plan, true, 60'000));
  EXPECT_FALSE(isWorthThreads(*plan, false, 0)) << "the cache is not known";
}

}  // namespace
}  // namespace halyard::cpudriver
