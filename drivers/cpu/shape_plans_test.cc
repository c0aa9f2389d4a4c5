// Models whose sizes only executions know, compiled for these: the second time they come, they find
// what the first has made.
#include "shape_plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <latch>
#include <thread>

#include "cpu/executor.h"
#include "late_compiler.h"
#include "model_for_test.h"
#include "testing/layers_model.h"

namespace halyard::cpudriver {
namespace {

using testing::Builder;
using ::testing::HasSubstr;
using testing::ModelForTest;

std::shared_ptr<const cpu::ExecutionPlan> planOf(const std::shared_ptr<const Model>& model) {
  auto plan = cpu::ExecutionPlan::make(model);
  EXPECT_TRUE(plan.ok()) << plan.status().toString();
  return std::make_shared<const cpu::ExecutionPlan>(std::move(*plan));
}

// An execution's memory: `batch` images of bytes that count up.
struct BatchArguments {
  explicit BatchArguments(OperandType type, uint32_t batch)
      : in(*knownByteSize(type, ModelForTest::inputDims(batch))),
        out(*knownByteSize(type, ModelForTest::outputDims(batch))) {
    for (size_t i = 0; i < in.size(); ++i) {
      in[i] =
          type == OperandType::TENSOR_FLOAT32 && i % 4 == 3 ? 0x3e : static_cast<uint8_t>(37 * i);
    }
    input = {in.data(), in.size(), ModelForTest::inputDims(batch), false};
    output = {out.data(), out.size(), {}, false};
  }
  BatchArguments(const BatchArguments&) = delete;
  BatchArguments& operator=(const BatchArguments&) = delete;

  std::vector<uint8_t> in;
  std::vector<uint8_t> out;
  cpu::Argument input;
  cpu::Argument output;
};

class ShapePlansTest : public ::testing::TestWithParam<OperandType> {
 protected:
  std::shared_ptr<CompiledModel> get(ShapePlans& plans, uint32_t batch) const {
    const cpu::Argument input = BatchArguments(GetParam(), batch).input;
    return plans.get(std::span(&input, 1));
  }

  std::vector<uint8_t> run(CompiledModel& compiled, uint32_t batch) const {
    BatchArguments images(GetParam(), batch);
    EXPECT_TRUE(compiled.takes(std::span(&images.input, 1), std::span(&images.output, 1)));
    const auto result = compiled.run(std::span(&images.input, 1), std::span(&images.output, 1), {});
    EXPECT_TRUE(result.status.ok()) << result.status.toString();
    return images.out;
  }

  std::vector<uint8_t> expected(uint32_t batch) const {
    BatchArguments images(GetParam(), batch);
    const auto executor = cpu::Executor::create(test_.open(), nullptr);
    EXPECT_TRUE(executor.ok()) << executor.status().toString();
    const auto result =
        (*executor)->execute(std::span(&images.input, 1), std::span(&images.output, 1), {});
    EXPECT_TRUE(result.status.ok()) << result.status.toString();
    return images.out;
  }

  void expectRight(const std::vector<uint8_t>& actual, uint32_t batch) const {
    const std::vector<uint8_t> right = expected(batch);
    if (GetParam() != OperandType::TENSOR_FLOAT32) {
      EXPECT_EQ(actual, right);
      return;
    }
    ASSERT_EQ(actual.size(), right.size());
    for (size_t i = 0; i < actual.size(); i += sizeof(float)) {
      float is = 0;
      float should = 0;
      std::memcpy(&is, actual.data() + i, sizeof is);
      std::memcpy(&should, right.data() + i, sizeof should);
      ASSERT_NEAR(is, should, 1e-5f + 1e-5f * std::abs(should)) << i;
    }
  }

  const ModelForTest test_{GetParam()};
};

TEST_P(ShapePlansTest, ComputesEverySizeWithTheKernelsOfAModelThatKnowsIt) {
  const auto known = CompiledModel::compile(test_.model(), {});
  ASSERT_TRUE(known.ok() && *known != nullptr);
  for (const bool knowsRank : {true, false}) {
    ShapePlans plans(planOf(test_.open(knowsRank)), {});
    for (const uint32_t batch : {1u, 3u, 2u, 1u}) {
      const auto compiled = get(plans, batch);
      ASSERT_NE(compiled, nullptr);
      expectRight(run(*compiled, batch), batch);
      EXPECT_EQ(compiled->outputShapes()[0].dimensions, ModelForTest::outputDims(batch));
      EXPECT_EQ(compiled->facts().steps, (*known)->facts().steps);
      EXPECT_EQ(compiled->facts().ownKernels, (*known)->facts().ownKernels);
    }
  }
}

TEST_P(ShapePlansTest, TheSecondUseOfASizeFindsWhatTheFirstHasMade) {
  ShapePlans plans(planOf(test_.open()), {});
  const auto first = get(plans, 2);
  (void)run(*first, 2);
  EXPECT_TRUE(first->isComplete());
  EXPECT_NE(get(plans, 3), first);
  EXPECT_EQ(get(plans, 2), first);
}

TEST_P(ShapePlansTest, WeightsAreInMemoryOnce) {
  ShapePlans plans(planOf(test_.open()), {});
  const auto first = get(plans, 4);
  (void)run(*first, 4);
  EXPECT_GT(first->facts().packedBytes, 40u * 3 * 3 * 4);
  const auto second = get(plans, 5);
  (void)run(*second, 5);
  EXPECT_EQ(second->facts().packedBytes, 0u);
}

TEST_P(ShapePlansTest, WhatHasNotBeenUsedForTheLongestTimeGoesFirst) {
  ShapePlans plans(planOf(test_.open()), {}, {.plans = 2});
  const std::weak_ptr<CompiledModel> one = get(plans, 1);
  const std::weak_ptr<CompiledModel> two = get(plans, 2);
  (void)get(plans, 1);
  (void)get(plans, 3);
  EXPECT_FALSE(one.expired());
  EXPECT_TRUE(two.expired());
  EXPECT_EQ(plans.size(), 2u);
  // It comes back.
  expectRight(run(*get(plans, 2), 2), 2);
  EXPECT_TRUE(one.expired());
}

// The first plan packs the constants of all.
TEST_P(ShapePlansTest, MemoryIsBounded) {
  const auto open = planOf(test_.open());
  size_t bytes = 0;
  {
    ShapePlans plans(open, {});
    const auto model = get(plans, 8);
    (void)run(*model, 8);
    bytes = model->ownBytes();
    EXPECT_GT(bytes, 0u);
  }
  for (const size_t limit : {bytes - 1, bytes}) {
    ShapePlans plans(open, {}, {.plans = 100, .bytes = limit});
    const auto first = get(plans, 8);
    (void)run(*first, 8);
    // One that is too large is kept as long as nothing else is used.
    EXPECT_EQ(get(plans, 8), first);
    EXPECT_EQ(plans.size(), 1u);
    (void)run(*get(plans, 9), 9);
    (void)get(plans, 9);
    EXPECT_EQ(plans.size(), limit < bytes ? 1u : 2u);
  }
}

TEST_P(ShapePlansTest, WhoHasGotAModelKeepsIt) {
  ShapePlans plans(planOf(test_.open()), {}, {.plans = 1});
  const auto kept = get(plans, 2);
  (void)run(*kept, 2);
  const auto unfinished = get(plans, 5);
  (void)run(*get(plans, 3), 3);
  EXPECT_NE(get(plans, 2), kept);
  expectRight(run(*kept, 2), 2);
  expectRight(run(*unfinished, 5), 5);
}

// Sizes come and go, while others are executed.
TEST_P(ShapePlansTest, ManyAtATimeHaveTheirOwnResults) {
  ThreadShare threads(2);
  LateCompiler late;
  IdleMemory idle{std::chrono::milliseconds(1)};
  ShapePlans plans(planOf(test_.open()), {&threads, &idle, &late}, {.plans = 2});
  std::vector<std::vector<uint8_t>> right;
  for (uint32_t batch = 1; batch <= 4; ++batch) right.push_back(run(*get(plans, batch), batch));
  for (uint32_t batch = 1; batch <= 4; ++batch) expectRight(right[batch - 1], batch);
  constexpr int kThreads = 4;
  std::latch together(kThreads);
  std::vector<std::thread> clients;
  for (int client = 0; client < kThreads; ++client) {
    clients.emplace_back([&, client] {
      together.arrive_and_wait();
      for (int i = 0; i < 60; ++i) {
        const auto batch = static_cast<uint32_t>((client + i * (client + 1)) % 4 + 1);
        EXPECT_EQ(run(*get(plans, batch), batch), right[batch - 1]);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_LE(plans.size(), 2u);
}

TEST_P(ShapePlansTest, WhatCannotBeMadeIsLeftToOthers) {
  ShapePlans plans(planOf(test_.open()), {});
  const auto failing = get(plans, 2);
  failing->abandon();
  BatchArguments images(GetParam(), 2);
  const auto result = failing->run(std::span(&images.input, 1), std::span(&images.output, 1), {});
  EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED);
  EXPECT_TRUE(failing->hasFailed());
  plans.giveUp(failing, result.status);
  EXPECT_EQ(get(plans, 2), nullptr);
  expectRight(run(*get(plans, 3), 3), 3);
}

INSTANTIATE_TEST_SUITE_P(Types, ShapePlansTest,
                         ::testing::Values(OperandType::TENSOR_FLOAT32,
                                           OperandType::TENSOR_QUANT8_ASYMM));

TEST(ShapePlansArguments, WhatIsNotTheModelsIsForTheExecutor) {
  const ModelForTest test(OperandType::TENSOR_FLOAT32);
  const auto open = planOf(test.open());
  EXPECT_TRUE(ShapePlans::mayHelp(*open));
  ShapePlans plans(open, {});
  BatchArguments images(OperandType::TENSOR_FLOAT32, 2);
  const auto isTaken = [&](const Shape& dims) {
    cpu::Argument input = images.input;
    input.dims = dims;
    return plans.get(std::span(&input, 1)) != nullptr;
  };
  EXPECT_FALSE(isTaken({}));
  EXPECT_FALSE(isTaken({0, 6, 6, 4}));
  EXPECT_FALSE(isTaken({2, 6, 5, 4}));
  EXPECT_FALSE(isTaken({2, 6, 6}));
  EXPECT_FALSE(isTaken({0xffffffff, 6, 6, 4}));
  images.input.data = nullptr;
  EXPECT_FALSE(isTaken({2, 6, 6, 4}));
  EXPECT_EQ(plans.get({}), nullptr);
  EXPECT_EQ(plans.size(), 0u);
}

// The length of a result may depend on the values of an input.
TEST(ShapePlansArguments, SizesThatFollowFromValuesAreForTheExecutor) {
  Builder builder;
  const uint32_t x = builder.input({0, 6});
  const uint32_t shape =
      builder.quantized(OperandType::TENSOR_INT32, {2}, 0, 0, Lifetime::SUBGRAPH_INPUT);
  const uint32_t y = builder.output({});
  builder.operation(OperationType::RESHAPE, {x, shape}, {y});
  ShapePlans plans(planOf(builder.take()), {});
  std::vector<float> values(12);
  int32_t wanted[] = {3, 4};
  const cpu::Argument inputs[] = {{values.data(), 48, {2, 6}, false},
                                  {wanted, sizeof wanted, {2}, false}};
  ::setenv("HALYARD_LOG", "info", 1);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(plans.get(inputs), nullptr);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("inputs of [2,6], [2] are left to the executor: its sizes do not all "
                        "follow from those of its inputs"));
  // It is looked for once.
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(plans.get(inputs), nullptr);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ::unsetenv("HALYARD_LOG");
  EXPECT_EQ(plans.size(), 0u);
}

// Nothing is left of two rows.
TEST(ShapePlansArguments, SizesThatLeaveNothingAreForTheExecutor) {
  Builder builder;
  const uint32_t x = builder.input({0, 4});
  const uint32_t begin = builder.int32s({2}, {2, 0});
  const uint32_t size = builder.int32s({2}, {-1, -1});
  const uint32_t rest = builder.tensor({0, 4});
  const uint32_t y = builder.output({0, 4});
  builder.operation(OperationType::SLICE, {x, begin, size}, {rest});
  builder.operation(OperationType::RELU, {rest}, {y});
  const auto model = builder.take();
  ShapePlans plans(planOf(model), {});
  std::vector<float> values(12, 1.0f);
  const cpu::Argument two = {values.data(), 32, {2, 4}, false};
  EXPECT_EQ(plans.get(std::span(&two, 1)), nullptr);
  const cpu::Argument three = {values.data(), 48, {3, 4}, false};
  const auto compiled = plans.get(std::span(&three, 1));
  ASSERT_NE(compiled, nullptr);
  EXPECT_EQ(compiled->outputShapes()[0].dimensions, (Shape{1, 4}));
  // For both there is an entry, but one model only.
  EXPECT_EQ(plans.get(std::span(&two, 1)), nullptr);
  EXPECT_EQ(plans.size(), 1u);
}

TEST(ShapePlansArguments, OperationsThatContradictTheSizesAreForTheExecutor) {
  Builder builder;
  const uint32_t a = builder.input({0, 4});
  const uint32_t b = builder.input({0, 4});
  const uint32_t none = builder.int32(0);
  const uint32_t sum = builder.output({0, 4});
  builder.operation(OperationType::ADD, {a, b, none}, {sum});
  ShapePlans plans(planOf(builder.take()), {});
  std::vector<float> values(12);
  const auto of = [&](uint32_t rows) {
    return cpu::Argument{values.data(), size_t{rows} * 16, {rows, 4}, false};
  };
  const cpu::Argument wrong[] = {of(2), of(3)};
  EXPECT_EQ(plans.get(wrong), nullptr);
  const cpu::Argument right[] = {of(2), of(2)};
  EXPECT_NE(plans.get(right), nullptr);
  const cpu::Argument spread[] = {of(1), of(3)};
  const auto compiled = plans.get(spread);
  ASSERT_NE(compiled, nullptr);
  EXPECT_EQ(compiled->outputShapes()[0].dimensions, (Shape{3, 4}));
}

}  // namespace
}  // namespace halyard::cpudriver
