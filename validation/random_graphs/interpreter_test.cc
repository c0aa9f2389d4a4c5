#include "validation/random_graphs/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::random_graphs {
namespace {

Operand operandFor(OperandType type, Shape dims, Lifetime lifetime) {
  Operand operand;
  operand.type = type;
  operand.dimensions = std::move(dims);
  operand.lifetime = lifetime;
  return operand;
}

// Both branches are FILL, whose dimensions are the input's value. They declare [3].
Model branchesThatFill() {
  Model model;
  Subgraph fill;
  fill.operands = {operandFor(OperandType::TENSOR_INT32, {1}, Lifetime::SUBGRAPH_INPUT),
                   operandFor(OperandType::INT32, {}, Lifetime::CONSTANT_COPY),
                   operandFor(OperandType::TENSOR_INT32, {3}, Lifetime::SUBGRAPH_OUTPUT)};
  model.operandValues = {7, 0, 0, 0};
  fill.operands[1].location = {.offset = 0, .length = 4};
  fill.operations = {{OperationType::FILL, {0, 1}, {2}}};
  fill.inputIndexes = {0};
  fill.outputIndexes = {2};
  model.referenced = {fill, fill};
  Subgraph& main = model.main;
  main.operands = {operandFor(OperandType::TENSOR_BOOL8, {1}, Lifetime::SUBGRAPH_INPUT),
                   operandFor(OperandType::MODEL, {}, Lifetime::SUBGRAPH),
                   operandFor(OperandType::MODEL, {}, Lifetime::SUBGRAPH),
                   operandFor(OperandType::TENSOR_INT32, {1}, Lifetime::SUBGRAPH_INPUT),
                   operandFor(OperandType::TENSOR_INT32, {}, Lifetime::SUBGRAPH_OUTPUT)};
  main.operands[2].location = {.offset = 1};
  main.operations = {{OperationType::IF, {0, 1, 2, 3}, {4}}};
  main.inputIndexes = {0, 3};
  main.outputIndexes = {4};
  return model;
}

TEST(Interpreter, BranchesHaveTheDimensionsThatTheirModelsDeclare) {
  const Model model = branchesThatFill();
  const auto resultFor = [&](int32_t size) {
    const std::vector<TestOperand> inputs = {
        TestOperand::of<uint8_t>(OperandType::TENSOR_BOOL8, {1}, {1}),
        TestOperand::of<int32_t>(OperandType::TENSOR_INT32, {1}, {size})};
    return interpret(model, model.main, inputs);
  };
  const auto right = resultFor(3);
  ASSERT_TRUE(right.ok()) << right.status().toString();
  EXPECT_EQ((*right)[4].tensor.dims, Shape({3}));
  const auto wrong = resultFor(4);
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.status().toString(),
              ::testing::HasSubstr("its dimensions are [4], declared [3]"));
}

}  // namespace
}  // namespace halyard::random_graphs
