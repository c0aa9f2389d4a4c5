// Tests of the text and Graphviz dumps.
#include "model/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace halyard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Operand operand(OperandType type, Shape shape, Lifetime lifetime) {
  Operand result;
  result.type = type;
  result.dimensions = std::move(shape);
  result.lifetime = lifetime;
  return result;
}

// %3 = ADD(%0 input, %1 constant of 2 floats, %2 activation 0); %4 = RELU(%3), the output.
Model smallModel() {
  Model model;
  model.main.operands = {
      operand(OperandType::TENSOR_FLOAT32, {1, 2}, Lifetime::SUBGRAPH_INPUT),
      operand(OperandType::TENSOR_FLOAT32, {2}, Lifetime::CONSTANT_COPY),
      operand(OperandType::INT32, {}, Lifetime::CONSTANT_COPY),
      operand(OperandType::TENSOR_FLOAT32, {1, 2}, Lifetime::TEMPORARY_VARIABLE),
      operand(OperandType::TENSOR_FLOAT32, {1, 2}, Lifetime::SUBGRAPH_OUTPUT),
  };
  const float values[] = {1.5f, -2.0f};
  const int32_t activation = 0;
  model.main.operands[1].location = appendConstant(model, values, sizeof values);
  model.main.operands[2].location = appendConstant(model, &activation, sizeof activation);
  model.main.operations = {{OperationType::ADD, {0, 1, 2}, {3}}, {OperationType::RELU, {3}, {4}}};
  model.main.inputIndexes = {0};
  model.main.outputIndexes = {4};
  return model;
}

TEST(ModelText, HasALinePerOperandAndOperation) {
  const std::vector<std::string> names = {"picture", "", "", "sum"};
  const std::string text = modelText(smallModel(), names);
  EXPECT_THAT(text, HasSubstr("model: 2 operations, 5 operands"));
  EXPECT_THAT(text, HasSubstr("operand %0 \"picture\" TENSOR_FLOAT32[1,2] SUBGRAPH_INPUT\n"));
  EXPECT_THAT(text, HasSubstr("operand %1 TENSOR_FLOAT32[2] CONSTANT_COPY = 1.5, -2\n"));
  EXPECT_THAT(text, HasSubstr("operand %2 INT32 CONSTANT_COPY = 0\n"));
  EXPECT_THAT(text, HasSubstr("operation #0 ADD(%0, %1, %2) -> %3\n"));
  EXPECT_THAT(text, HasSubstr("operation #1 RELU(%3) -> %4\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 3 + 5 + 2);
}

TEST(ModelText, ShowsReferencedSubgraphs) {
  Model model = smallModel();
  model.referenced.push_back(model.main);
  Operand reference = operand(OperandType::MODEL, {}, Lifetime::SUBGRAPH);
  reference.location.offset = 0;
  model.main.operands.push_back(reference);
  const std::string text = modelText(model);
  EXPECT_THAT(text, HasSubstr("operand %5 MODEL SUBGRAPH referenced #0\n"));
  EXPECT_THAT(text, HasSubstr("\nreferenced #0\n"));
}

TEST(ModelText, SurvivesInvalidModels) {
  Model model = smallModel();
  model.main.operations[0].inputs[1] = 999;
  model.main.outputIndexes = {77};
  model.main.operands[1].location = {0, 0xfffffff0u, 0x20u};
  const std::string text = modelText(model);
  EXPECT_THAT(text, HasSubstr("%999 (no such operand)"));
  EXPECT_THAT(text, HasSubstr("outputs %77 (no such operand)"));
  const std::string graph = modelGraphviz(model, {}, true);
  EXPECT_THAT(graph, HasSubstr("%999 (no such operand)"));
}

TEST(ModelGraphviz, CountsConstantsInTheirOperation) {
  const std::string graph = modelGraphviz(smallModel());
  EXPECT_THAT(graph, HasSubstr("m_o0 [shape=box, label=\"#0 ADD\\n1 constant, 8 bytes\"];"));
  EXPECT_THAT(graph, HasSubstr("m_i0 -> m_o0;"));
  EXPECT_THAT(graph, HasSubstr("m_o0 -> m_o1 [label=\"TENSOR_FLOAT32[1,2]\"];"));
  EXPECT_THAT(graph, HasSubstr("m_o1 -> m_r4;"));
  EXPECT_THAT(graph, Not(HasSubstr("m_c1")));
}

TEST(ModelGraphviz, DrawsConstantsOnRequest) {
  const std::string graph = modelGraphviz(smallModel(), {}, true);
  EXPECT_THAT(graph, HasSubstr("label=\"TENSOR_FLOAT32[2]\\n= 1.5, -2\"];"));
  EXPECT_THAT(graph, HasSubstr("m_c1 -> m_o0;"));
  EXPECT_THAT(graph, HasSubstr("m_c2 -> m_o0;"));
  EXPECT_THAT(graph, Not(HasSubstr("1 constant,")));
}

TEST(ModelGraphviz, EscapesNames) {
  const std::vector<std::string> names = {"a\"];\nevil\\ [shape=\"x"};
  const std::string graph = modelGraphviz(smallModel(), names);
  EXPECT_THAT(graph, HasSubstr("label=\"a\\\"];\\\\x0aevil\\\\ [shape=\\\"x\\nTENSOR"));
  EXPECT_THAT(modelText(smallModel(), names), Not(HasSubstr("\nevil")));
}

TEST(ModelGraphviz, DrawsReferencedSubgraphsAsClusters) {
  Model model = smallModel();
  model.referenced.push_back(model.main);
  const std::string graph = modelGraphviz(model);
  EXPECT_THAT(graph, HasSubstr("subgraph cluster_0 {"));
  EXPECT_THAT(graph, HasSubstr("s0_o0 -> s0_o1"));
  EXPECT_EQ(std::count(graph.begin(), graph.end(), '{'),
            std::count(graph.begin(), graph.end(), '}'));
}

}  // namespace
}  // namespace halyard
