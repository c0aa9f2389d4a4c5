#include "model/graph_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard {
namespace {

Operand plainOperand(OperandType type, Shape shape, Lifetime lifetime) {
  Operand result;
  result.type = type;
  result.dimensions = std::move(shape);
  result.lifetime = lifetime;
  return result;
}

Model threeOperations() {
  Model model;
  model.main.operands = {
      plainOperand(OperandType::TENSOR_FLOAT32, {1, 2}, Lifetime::SUBGRAPH_INPUT),
      plainOperand(OperandType::TENSOR_QUANT8_ASYMM, {2}, Lifetime::CONSTANT_REFERENCE),
      plainOperand(OperandType::INT32, {}, Lifetime::CONSTANT_COPY),
      plainOperand(OperandType::TENSOR_BOOL8, {3, 0}, Lifetime::SUBGRAPH_OUTPUT),
      plainOperand(OperandType::TENSOR_INT32, {}, Lifetime::TEMPORARY_VARIABLE),
  };
  const int32_t value = -7;
  model.main.operands[2].location = appendConstant(model, &value, sizeof value);
  model.main.operations = {{OperationType::ADD, {0, 1, 2}, {4}},
                           {OperationType::SPLIT, {4}, {3, 4}},
                           {OperationType::RELU, {4}, {3}}};
  model.main.inputIndexes = {0};
  model.main.outputIndexes = {3};
  return model;
}

TEST(GraphDumpTest, IsInNnapisForm) {
  const std::vector<std::string> expected = {
      "// name",
      "digraph {",
      "    d0 [style=filled fillcolor=black fontcolor=white label=\"0 = input[0]\\nTF32(1x2)\"]",
      "    d1 [label=\"1: REF\\nTQ8A(2)\"]",
      "    d2 [label=\"2: COPY\\nI32 = -7\"]",
      "    d3 [style=filled fillcolor=black fontcolor=white label=\"3 = "
      "output[0]\\nTENSOR_BOOL8(3x0)\"]",
      "    d4 [label=\"4\\nTI32\"]",
      "    n0 [shape=box ordering=in label=\"0: ADD\"]",
      "    d0 -> n0 [label=0]",
      "    d1 -> n0 [label=1]",
      "    d2 -> n0 [label=2]",
      "    n0 -> d4",
      "    n1 [shape=box ordering=out label=\"1: SPLIT\"]",
      "    d4 -> n1",
      "    n1 -> d3 [label=0]",
      "    n1 -> d4 [label=1]",
      "    n2 [shape=box label=\"2: RELU\"]",
      "    d4 -> n2",
      "    n2 -> d3",
      "}",
  };
  EXPECT_EQ(graphDump(threeOperations(), "name"), expected);
}

TEST(GraphDumpTest, SaysHowManySubgraphsItLeavesOut) {
  Model model = threeOperations();
  model.referenced.resize(3);
  const std::vector<std::string> lines = graphDump(model, "name");
  EXPECT_EQ(lines[1].substr(0, 2), "//");
  EXPECT_EQ(lines[2], "// Subgraphs left out: 3");
  EXPECT_EQ(lines[3], "digraph {");
}

TEST(GraphDumpTest, SurvivesInvalidModels) {
  Model model = threeOperations();
  model.main.operands[2].location = {0, UINT32_MAX, UINT32_MAX};
  model.main.operations[0].inputs = {99, 0};
  EXPECT_THAT(graphDump(model, "name"), ::testing::Contains("    d99 -> n0 [label=0]"));
}

}  // namespace
}  // namespace halyard
