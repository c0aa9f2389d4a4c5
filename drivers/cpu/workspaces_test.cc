// Tests that executions one after the other use the same memory, and that idle memory goes.
#include "workspaces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "compiled_model.h"
#include "model_for_test.h"

namespace halyard::cpudriver {
namespace {

TEST(WorkspacesTest, TheOneThatWasUsedLastComesFirst) {
  Workspaces all(nullptr);
  auto first = all.take(1000, nullptr);
  auto second = all.take(1000, nullptr);
  const std::byte* const firstArena = first->arena.get();
  EXPECT_NE(firstArena, second->arena.get());
  all.giveBack(std::move(second));
  all.giveBack(std::move(first));
  EXPECT_EQ(all.count(), 2u);
  auto again = all.take(500, nullptr);
  EXPECT_EQ(again->arena.get(), firstArena);
  EXPECT_GE(again->arenaBytes, 1000u);
}

TEST(WorkspacesTest, AnArenaIsLargeEnough) {
  Workspaces all(nullptr);
  all.giveBack(all.take(0, nullptr));
  all.giveBack(all.take(100, nullptr));
  auto large = all.take(5'000'000, nullptr);
  EXPECT_EQ(large->arenaBytes, 5'000'000u);
  large->arena.get()[4'999'999] = std::byte{1};
}

// A small model is executed without a pause, and a large one is not executed any more.
TEST(WorkspacesTest, SmallModelsDoNotKeepTheMemoryOfLargeOnes) {
  IdleMemory idle(std::chrono::milliseconds(1));
  Workspaces all(&idle);
  all.giveBack(all.take(50'000'000, nullptr));
  size_t largest = 0;
  for (int i = 0; i < 10'000 && (i == 0 || all.count() > 1); ++i) {
    auto small = all.take(1000, nullptr);
    largest = std::max(largest, small->arenaBytes);
    all.giveBack(std::move(small));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LE(all.count(), 1u);
  EXPECT_LE(largest, 1'000'000u);
}

TEST(WorkspacesTest, IdleOnesAreGivenBack) {
  IdleMemory idle(std::chrono::milliseconds(1));
  Workspaces all(&idle);
  auto used = all.take(10, nullptr);
  all.giveBack(all.take(1000, nullptr));
  for (int i = 0; i < 10'000 && all.count() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(all.count(), 0u);
  all.giveBack(std::move(used));
}

// y = x + x + 1, through two temporaries of `count` elements.
std::shared_ptr<const Model> sums(uint32_t count) {
  testing::Builder b;
  const uint32_t none = b.int32(0);
  const uint32_t x = b.input({count});
  const uint32_t twice = b.tensor({count});
  const uint32_t rounded = b.tensor({count});
  const uint32_t y = b.output({count});
  b.operation(OperationType::ADD, {x, x, none}, {twice});
  b.operation(OperationType::FLOOR, {twice}, {rounded});
  b.operation(OperationType::ADD, {rounded, twice, none}, {y});
  return b.take();
}

// The runs of a model find another arena when a run of another model has the first one.
TEST(WorkspacesTest, ModelsRunInTheSameMemory) {
  const auto workspaces = std::make_shared<Workspaces>(nullptr);
  std::vector<std::unique_ptr<CompiledModel>> models;
  for (const uint32_t count : {10u, 100'000u, 1000u}) {
    models.push_back(CompiledModel::compile(sums(count), {.workspaces = workspaces}).value());
  }
  for (int round = 0; round < 3; ++round) {
    for (const auto& [model, count] : {std::pair(0, 10u), {1, 100'000u}, {2, 1000u}}) {
      std::vector<float> x(count, 1.25F + static_cast<float>(round));
      std::vector<float> y(count);
      const auto argument = [](std::vector<float>& values) {
        return cpu::Argument{values.data(), values.size() * sizeof(float), {}, false};
      };
      const auto result =
          models[static_cast<size_t>(model)]->execute({{argument(x)}}, {{argument(y)}}, {});
      ASSERT_TRUE(result.status.ok()) << result.status.toString();
      EXPECT_EQ(y.front(), static_cast<float>(4 * round) + 4.5F);
      EXPECT_EQ(y.back(), y.front());
    }
  }
  EXPECT_EQ(workspaces->count(), 2u);
}

}  // namespace
}  // namespace halyard::cpudriver
