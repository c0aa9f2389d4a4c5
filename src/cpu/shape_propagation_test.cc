// Tests that find the operations that fail in every execution, from the model alone.
#include "cpu/shape_propagation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cpu/model_for_test.h"

namespace halyard::cpu {
namespace {

using ::testing::HasSubstr;
using testing::TestModel;

std::vector<std::string> failuresOf(TestModel& test) {
  std::vector<std::string> texts;
  for (const auto& [index, status] : sureFailures(test.model())) {
    EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
    texts.push_back(fmt::format("#{}: {}", index, status.message()));
  }
  return texts;
}

TEST(SureFailures, NoneInAGoodModel) {
  TestModel test;
  const uint32_t sum = test.temporary({});
  test.add(test.input({2, 3}), test.input({1, 3}), sum).add(sum, sum, test.output({2, 3}));
  EXPECT_TRUE(failuresOf(test).empty());
}

TEST(SureFailures, AllThatContradictThemselvesAndNoneBehindThem) {
  TestModel test;
  const uint32_t a = test.input({2, 3});
  const uint32_t sum = test.temporary({});
  test.add(a, test.input({2, 4}), sum).add(sum, sum, test.output({}));
  test.operation(OperationType::RELU, {a}, {test.output({3, 2})});
  const auto texts = failuresOf(test);
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_THAT(texts[0], HasSubstr("#0: "));
  EXPECT_THAT(texts[1], HasSubstr("#2: output 0 (operand #"));
  EXPECT_THAT(texts[1], HasSubstr("its dimensions are [2,3], declared [3,2]"));
}

TEST(SureFailures, NothingIsSureWhereAnExecutionTells) {
  TestModel test;
  const uint32_t activation = test.input({}, OperandType::INT32);
  test.operation(OperationType::ADD, {test.input({2, 3}), test.input({0, 4}), activation},
                 {test.output({7})});
  EXPECT_TRUE(failuresOf(test).empty());
}

TEST(SureFailures, ConstantsInPoolsCountAsFarAsTheySayHow) {
  auto memory = SharedMemory::create(4096, "constants");
  ASSERT_TRUE(memory.ok());
  const int32_t blocks[] = {0, 1};
  ASSERT_EQ(::pwrite((*memory)->fd(), blocks, sizeof blocks, 100), ssize_t{sizeof blocks});
  TestModel test;
  test.model().pools = {*memory};
  const uint32_t sizes = test.poolConstant(OperandType::TENSOR_INT32, {2}, {0, 100, 8});
  test.operation(OperationType::BATCH_TO_SPACE_ND, {test.input({4, 2, 2, 1}), sizes},
                 {test.output({})});
  ASSERT_EQ(failuresOf(test).size(), 1U);
  EXPECT_THAT(failuresOf(test)[0], HasSubstr("block sizes are 0 and 1"));
  // Errors that depend on unreadable constants are left to the executions.
  test.model().pools = {
      std::make_shared<const SharedMemory>(MemoryKind::MMAP_FD, UniqueFd(), 4096, 1, uint64_t{0})};
  EXPECT_TRUE(failuresOf(test).empty());
}

TEST(SureFailures, OperationsOfVendorsEndWhatIsKnown) {
  TestModel test;
  const uint32_t made = test.temporary({2, 3});
  test.operation(static_cast<OperationType>(0x10001), {test.input({2})}, {made});
  test.add(made, test.input({2, 4}), test.output({}));
  // Its declared result counts, even though the operation fails.
  EXPECT_EQ(failuresOf(test).size(), 1U);
}

// By operation, whether inference at execution gives the same result.
std::vector<bool> settledOf(const TestModel& test) {
  const auto plan = ExecutionPlan::make(test.share());
  EXPECT_TRUE(plan.ok()) << plan.status().toString();
  return plan->main.settled;
}

TEST(Settled, OperationsOnIntegersThatInferenceDoesNotRead) {
  constexpr OperandType kInts = OperandType::TENSOR_INT32;
  TestModel test;
  const uint32_t table = test.constant<float>(OperandType::TENSOR_FLOAT32, {2, 1}, {1, 2});
  const uint32_t rows = test.temporary({3}, kInts);
  test.add(test.input({3}, kInts), test.input({3}, kInts), rows);
  test.operation(OperationType::GATHER, {table, test.int32(0), rows}, {test.output({3, 1})});
  EXPECT_THAT(settledOf(test), ::testing::ElementsAre(true, true));
}

TEST(Settled, NoOperationWithAValueThatInferenceReads) {
  TestModel test;
  const uint32_t x = test.input({2, 3});
  const uint32_t target = test.input({2}, OperandType::TENSOR_INT32);
  const uint32_t code = test.input({}, OperandType::INT32);
  test.operation(OperationType::RESHAPE, {x, target}, {test.output({3, 2})});
  // Inference checks the code, and no shape depends on it.
  test.operation(OperationType::ADD, {x, x, code}, {test.output({2, 3})});
  EXPECT_THAT(settledOf(test), ::testing::ElementsAre(false, false));
}

}  // namespace
}  // namespace halyard::cpu
