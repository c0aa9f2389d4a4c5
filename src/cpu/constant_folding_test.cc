// Tests of constant folding: the folded constants, the time of folding, and unchanged results.
#include "cpu/constant_folding.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/float16.h"
#include "cpu/execution_plan.h"
#include "cpu/executor.h"
#include "cpu/folded_model.h"
#include "cpu/model_for_test.h"
#include "halyard/driver/constants.h"
#include "ops/inline_services.h"

namespace halyard::cpu {
namespace {

using enum OperandType;
using testing::TestModel;

constexpr float kScale = 0.25f;
constexpr int32_t kZeroPoint = -3;

std::vector<int8_t> someBytes(size_t count) {
  std::vector<int8_t> bytes(count);
  std::iota(bytes.begin(), bytes.end(), int8_t{-100});
  return bytes;
}

float realOf(int8_t value) { return kScale * static_cast<float>(value - kZeroPoint); }

uint32_t bytesAs(TestModel& test, const Shape& dims, size_t count) {
  const uint32_t index = test.constant(TENSOR_QUANT8_ASYMM_SIGNED, dims, someBytes(count));
  test.model().main.operands[index].scale = kScale;
  test.model().main.operands[index].zeroPoint = kZeroPoint;
  return index;
}

// x + dequantised bytes.
TestModel sum(uint32_t count) {
  TestModel test;
  const uint32_t x = test.input({count});
  const uint32_t y = test.output({count});
  const uint32_t weights = test.temporary({count});
  test.operation(OperationType::DEQUANTIZE, {bytesAs(test, {count}, count)}, {weights});
  test.add(x, weights, y);
  return test;
}

// Runs the model with an input of ones.
std::vector<float> run(const TestModel& test, std::shared_ptr<const KernelPatch> patch = nullptr) {
  const auto model = test.share();
  const uint32_t count = model->main.operands[model->main.outputIndexes[0]].dimensions[0];
  std::vector<float> in(count, 1.0f);
  std::vector<float> out(count);
  auto executor = Executor::create(model, nullptr, std::move(patch));
  EXPECT_TRUE(executor.ok()) << executor.status().toString();
  if (!executor.ok()) return {};
  const Argument input{reinterpret_cast<uint8_t*>(in.data()), count * sizeof(float), {}};
  const Argument output{reinterpret_cast<uint8_t*>(out.data()), count * sizeof(float), {}};
  const auto result = (*executor)->execute({&input, 1}, {&output, 1}, {});
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  return out;
}

std::vector<float> expectedSum(size_t count) {
  std::vector<float> expected;
  for (const int8_t value : someBytes(count)) expected.push_back(1.0f + realOf(value));
  return expected;
}

ExecutionPlan planOf(const TestModel& test, ConstantReading reading = ConstantReading::ALL) {
  auto plan = ExecutionPlan::make(test.share(), reading);
  EXPECT_TRUE(plan.ok()) << plan.status().toString();
  return std::move(*plan);
}

TEST(ConstantFoldingTest, ADequantizedConstantIsAConstant) {
  const TestModel test = sum(40);
  const ExecutionPlan plan = planOf(test);
  EXPECT_EQ(plan.main.isFolded, (std::vector<bool>{true, false}));
  const ops::Tensor& folded = plan.main.tensors[plan.main.subgraph->operations[0].outputs[0]];
  ASSERT_NE(folded.data, nullptr);
  EXPECT_EQ(folded.as<float>()[7], realOf(someBytes(40)[7]));
  EXPECT_EQ(plan.main.arenaBytes, 0u) << "it has a place among the temporaries";
  EXPECT_EQ(run(test), expectedSum(40));
}

TEST(ConstantFoldingTest, ScalesByChannel) {
  TestModel test;
  const uint32_t x = test.input({4});
  const uint32_t y = test.output({4});
  const uint32_t bytes =
      test.constant<int8_t>(TENSOR_QUANT8_SYMM_PER_CHANNEL, {4}, {1, -2, 3, -128});
  test.model().main.operands[bytes].extraParams =
      SymmPerChannelQuantParams{{1.0f, 2.0f, 4.0f, 8.0f}, 0};
  const uint32_t weights = test.temporary({4});
  test.operation(OperationType::DEQUANTIZE, {bytes}, {weights}).add(x, weights, y);
  EXPECT_TRUE(planOf(test).main.isFolded[0]);
  EXPECT_EQ(run(test), (std::vector<float>{2.0f, -3.0f, 13.0f, -1023.0f}));
}

TEST(ConstantFoldingTest, HalvesBecomeFloats) {
  TestModel test;
  const uint32_t x = test.input({4});
  const uint32_t y = test.output({4});
  const uint32_t halves = test.constant<uint16_t>(
      TENSOR_FLOAT16, {4},
      {toFloat16(1).bits, toFloat16(-2.5f).bits, toFloat16(65504).bits, toFloat16(0x1p-24f).bits});
  const uint32_t weights = test.temporary({4});
  test.operation(OperationType::CAST, {halves}, {weights}).add(x, weights, y);
  EXPECT_TRUE(planOf(test).main.isFolded[0]);
  EXPECT_EQ(run(test), (std::vector<float>{2.0f, -1.5f, 65505.0f, 1.0f + 0x1p-24f}));
}

TEST(ConstantFoldingTest, AModelMayHaveTheConstantsInstead) {
  TestModel test = sum(40);
  const auto model = test.share();
  const auto folded = withFoldedConstants(model);
  ASSERT_TRUE(folded.ok()) << folded.status().toString();
  ASSERT_EQ((*folded)->main.operations.size(), 1u);
  const Operand& weights = (*folded)->main.operands[model->main.operations[0].outputs[0]];
  const auto bytes = constantData(**folded, weights);
  ASSERT_TRUE(bytes.ok()) << bytes.status().toString();
  ASSERT_EQ(bytes->size(), 40 * sizeof(float));
  float value = 0;
  std::memcpy(&value, bytes->data() + 7 * sizeof(float), sizeof value);
  EXPECT_EQ(value, realOf(someBytes(40)[7]));
  // Without such constants it stays as it is.
  EXPECT_EQ(*withFoldedConstants(*folded), *folded);
}

TEST(ConstantFoldingTest, LargeOnesMayComeLater) {
  const TestModel test = sum(4096);
  const ExecutionPlan plan = planOf(test, ConstantReading::LARGE_LATER);
  ASSERT_EQ(plan.folded.list.size(), 1u);
  const FoldedConstant& folded = plan.folded.list[0];
  const auto* const values = reinterpret_cast<const float*>(folded.data);
  EXPECT_EQ(folded.bytes, 4096 * sizeof(float));
  EXPECT_TRUE(std::all_of(values, values + 4096, [](float value) { return value == 0; }));
  const ops::Tensor& source = plan.main.tensors[plan.main.subgraph->operations[0].inputs[0]];
  ops::InlineServices services;
  ASSERT_TRUE(computeFolded(plan.main, folded, source.data, folded.data, services).ok());
  EXPECT_EQ(values[4095], realOf(someBytes(4096)[4095]));
  EXPECT_EQ(run(test), expectedSum(4096));
}

// Patterns look at the values of small constants, so these must exist early.
TEST(ConstantFoldingTest, SmallOnesAreAlwaysThere) {
  const ExecutionPlan plan = planOf(sum(4), ConstantReading::LARGE_LATER);
  EXPECT_TRUE(plan.folded.list.empty());
  const ops::Tensor& folded = plan.main.tensors[plan.main.subgraph->operations[0].outputs[0]];
  EXPECT_EQ(folded.as<float>()[3], realOf(someBytes(4)[3]));
}

TEST(ConstantFoldingTest, AnythingElseIsComputed) {
  {
    SCOPED_TRACE("an output of the model");
    TestModel test;
    const uint32_t x = test.input({8});
    const uint32_t y = test.output({8});
    const uint32_t z = test.output({8});
    test.operation(OperationType::DEQUANTIZE, {bytesAs(test, {8}, 8)}, {z}).add(x, x, y);
    EXPECT_FALSE(planOf(test).main.isFolded[0]);
  }
  {
    SCOPED_TRACE("what is no constant");
    TestModel test;
    const uint32_t x = test.input({8}, TENSOR_QUANT8_ASYMM_SIGNED);
    test.model().main.operands[x].scale = kScale;
    const uint32_t between = test.temporary({8});
    const uint32_t y = test.output({8});
    test.operation(OperationType::DEQUANTIZE, {x}, {between}).add(between, between, y);
    EXPECT_FALSE(planOf(test).main.isFolded[0]);
  }
  {
    SCOPED_TRACE("a cast of other numbers");
    TestModel test;
    const uint32_t x = test.input({8});
    const uint32_t y = test.output({8});
    const uint32_t between = test.temporary({8});
    const uint32_t whole = test.constant<int32_t>(TENSOR_INT32, {8}, std::vector<int32_t>(8, 3));
    test.operation(OperationType::CAST, {whole}, {between}).add(x, between, y);
    EXPECT_FALSE(planOf(test).main.isFolded[0]);
  }
  {
    SCOPED_TRACE("float16");
    TestModel test;
    const uint32_t x = test.input({8}, TENSOR_FLOAT16);
    const uint32_t between = test.temporary({8}, TENSOR_FLOAT16);
    const uint32_t y = test.output({8}, TENSOR_FLOAT16);
    test.operation(OperationType::DEQUANTIZE, {bytesAs(test, {8}, 8)}, {between})
        .add(x, between, y);
    EXPECT_FALSE(planOf(test).main.isFolded[0]);
  }
}

TEST(ConstantFoldingTest, APatchSeesAllOperations) {
  class Counting final : public KernelPatch {
   public:
    Status run(const ops::OperationDefinition& definition,
               ops::OperationContext& context) const override {
      ++kernels;
      return ops::runReference(definition, context);
    }
    mutable int kernels = 0;
  };
  const auto patch = std::make_shared<Counting>();
  EXPECT_EQ(run(sum(40), patch), expectedSum(40));
  EXPECT_EQ(patch->kernels, 2);
}

// The model refers to the same bytes many times.
TEST(ConstantFoldingTest, TakesNoMoreMemoryThanTheModelsSizeAllows) {
  constexpr uint32_t kCount = 4096;
  const std::vector<int8_t> bytes = someBytes(kCount);
  const SharedMemoryPtr pool = SharedMemory::create(kCount, "constant_folding_test").value();
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<int8_t*>(pool->map()->data()));
  TestModel test;
  test.model().pools = {pool};
  uint32_t total = test.input({kCount});
  for (int i = 0; i < 20; ++i) {
    const uint32_t weights = test.temporary({kCount});
    const uint32_t constant =
        test.poolConstant(TENSOR_QUANT8_ASYMM_SIGNED, {kCount}, {0, 0, kCount});
    test.model().main.operands[constant].scale = kScale;
    test.model().main.operands[constant].zeroPoint = kZeroPoint;
    const uint32_t next = i == 19 ? test.output({kCount}) : test.temporary({kCount});
    test.operation(OperationType::DEQUANTIZE, {constant}, {weights}).add(total, weights, next);
    total = next;
  }
  const ExecutionPlan plan = planOf(test);
  EXPECT_EQ(std::ranges::count(plan.main.isFolded, true), 1);
  std::vector<float> expected;
  for (const int8_t value : bytes) {
    float result = 1.0f;
    for (int i = 0; i < 20; ++i) result += realOf(value);
    expected.push_back(result);
  }
  EXPECT_EQ(run(test), expected);
}

TEST(ConstantFoldingTest, InSubgraphsToo) {
  TestModel test;
  const uint32_t condition = test.constant<uint8_t>(TENSOR_BOOL8, {1}, {1});
  const uint32_t x = test.input({2000});
  const uint32_t y = test.output({2000});
  const uint32_t branch = test.reference(sum(2000));
  const uint32_t other = test.reference(sum(2000));
  test.operation(OperationType::IF, {condition, branch, other, x}, {y});
  const ExecutionPlan plan = planOf(test, ConstantReading::LARGE_LATER);
  ASSERT_EQ(plan.referenced.size(), 2u);
  EXPECT_TRUE(plan.referenced[0].isFolded[0]);
  EXPECT_EQ(run(test), expectedSum(2000));
}

}  // namespace
}  // namespace halyard::cpu
