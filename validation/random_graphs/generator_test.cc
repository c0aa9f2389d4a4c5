#include "validation/random_graphs/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "accuracy/accuracy.h"
#include "model/validation/validation.h"
#include "ops/testing/searched_case.h"
#include "validation/random_graphs/session.h"

namespace halyard::random_graphs {
namespace {

using conformance::VectorCase;

std::set<OperationType> operationsOf(const VectorCase& graph) {
  std::set<OperationType> result;
  for (const Operation& operation : graph.model.main.operations) result.insert(operation.type);
  for (const Subgraph& subgraph : graph.model.referenced) {
    for (const Operation& operation : subgraph.operations) result.insert(operation.type);
  }
  return result;
}

TEST(Generator, GraphsAreValidAndTheirResultsMeanSomething) {
  const std::vector<Choice> choices = allChoices();
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const size_t operations = operationsFor(seed, 50);
    const auto graph = generateGraph({seed, operations, choices});
    ASSERT_TRUE(graph.ok()) << graph.status().toString();
    EXPECT_TRUE(validateModel(graph->model).ok()) << "seed " << seed;
    EXPECT_FALSE(graph->outputs.empty()) << "seed " << seed;
    EXPECT_FALSE(graph->inputs.empty()) << "seed " << seed;
    for (size_t i = 0; i < graph->outputs.size(); ++i) {
      const auto& output = graph->outputs[i];
      const OperandType type = graph->model.main.operands[graph->model.main.outputIndexes[i]].type;
      ASSERT_FALSE(output.bytes.empty()) << "seed " << seed;
      for (size_t k = 0; k < output.bytes.size() / elementSize(type); ++k) {
        ASSERT_TRUE(std::isfinite(accuracy::elementNumber(type, output.bytes, k)))
            << "seed " << seed << " output " << i;
      }
    }
  }
}

TEST(Generator, LargeGraphsAreLargeAndConnected) {
  const std::vector<Choice> choices = allChoices();
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const auto graph = generateGraph({seed, 200, choices});
    ASSERT_TRUE(graph.ok());
    const Subgraph& main = graph->model.main;
    EXPECT_GE(main.operations.size(), 200u) << "seed " << seed;
    size_t joined = 0;
    for (const Operation& operation : main.operations) {
      for (const uint32_t input : operation.inputs) {
        const Lifetime lifetime = main.operands[input].lifetime;
        if (lifetime != Lifetime::TEMPORARY_VARIABLE && lifetime != Lifetime::SUBGRAPH_OUTPUT) {
          continue;
        }
        ++joined;
        break;
      }
    }
    EXPECT_GE(joined, main.operations.size() / 2) << "seed " << seed;
  }
}

TEST(Generator, TheSameSeedGivesTheSameGraph) {
  const std::vector<Choice> choices = allChoices();
  const auto first = generateGraph({7, 12, choices});
  const auto second = generateGraph({7, 12, choices});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*vectorLine(*first), *vectorLine(*second));
  const auto other = generateGraph({8, 12, choices});
  ASSERT_TRUE(other.ok());
  EXPECT_NE(*vectorLine(*first), *vectorLine(*other));
}

TEST(Generator, EveryOperationComesUp) {
  const std::vector<Choice> choices = allChoices();
  std::set<OperationType> wanted;
  for (const Choice& choice : choices) wanted.insert(choice.definition->type);
  std::set<OperationType> seen;
  for (uint64_t seed = 1; seed <= 400 && seen.size() < wanted.size(); ++seed) {
    const auto graph = generateGraph({seed, 30, choices});
    ASSERT_TRUE(graph.ok()) << graph.status().toString();
    seen.merge(operationsOf(*graph));
  }
  std::vector<std::string> missing;
  for (const OperationType type : wanted) {
    if (!seen.contains(type)) missing.push_back(operationTypeName(type));
  }
  EXPECT_THAT(missing, ::testing::IsEmpty());
}

TEST(Generator, EachLineOfTheTablesComesUpAlone) {
  std::vector<std::string> missing;
  for (const Choice& choice : allChoices()) {
    if (choice.definition->controlFlow != ops::ControlFlow::NONE) continue;
    bool found = false;
    for (uint64_t seed = 1; seed <= 3 && !found; ++seed) {
      found = generateGraph({seed, 1, {choice}}).ok();
    }
    const auto& v = choice.variant;
    if (found) continue;
    missing.push_back(fmt::format("{}/{}/{}/{}/{}", operationTypeName(choice.definition->type),
                                  v.form, v.row, v.inputs, v.outputs));
  }
  EXPECT_THAT(missing, ::testing::IsEmpty());
}

TEST(Generator, OnlyChosenTypesAreMainTypes) {
  const std::set<OperandType> types = {OperandType::TENSOR_QUANT8_ASYMM};
  for (const Choice& choice : allChoices(types)) {
    if (choice.definition->controlFlow != ops::ControlFlow::NONE) continue;
    EXPECT_EQ(choice.mainType(), OperandType::TENSOR_QUANT8_ASYMM);
  }
  const std::vector<std::string> names = {"quant8_asymm", "float32"};
  const auto parsed = typesFromNames(names);
  ASSERT_TRUE(parsed.ok()) << parsed.status().toString();
  EXPECT_EQ(*parsed,
            (std::set<OperandType>{OperandType::TENSOR_QUANT8_ASYMM, OperandType::TENSOR_FLOAT32}));
  const std::vector<std::string> unknown = {"float8"};
  EXPECT_THAT(typesFromNames(unknown).status().message(), ::testing::HasSubstr("types are "));
}

// A new operation that has only a signature gets operands by search.
TEST(Generator, OperandsAreFoundWithoutRecipes) {
  std::set<OperationType> found;
  size_t all = 0;
  for (const Choice& choice : allChoices()) {
    if (choice.definition->controlFlow != ops::ControlFlow::NONE) continue;
    if (choice.variant.row == 0 && choice.variant.form == 0) ++all;
    if (found.contains(choice.definition->type)) continue;
    if (ops::testing::searchedCase(*choice.definition, choice.variant, 1).ok()) {
      found.insert(choice.definition->type);
    }
  }
  for (const OperationType type :
       {OperationType::ADD, OperationType::SQRT, OperationType::SOFTMAX, OperationType::SELECT,
        OperationType::CAST, OperationType::REDUCE_SUM, OperationType::CONCATENATION}) {
    EXPECT_TRUE(found.contains(type)) << operationTypeName(type);
  }
  EXPECT_GE(found.size(), 60u);
}

TEST(Generator, LinesRoundTrip) {
  const std::vector<Choice> choices = allChoices();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto graph = generateGraph({seed, 12, choices});
    ASSERT_TRUE(graph.ok());
    const auto line = vectorLine(*graph);
    ASSERT_TRUE(line.ok());
    const auto parsed = conformance::parseVectorCase(*line);
    ASSERT_TRUE(parsed.ok()) << parsed.status().toString();
    EXPECT_EQ(*vectorLine(*parsed), *line);
    EXPECT_TRUE(validateModel(parsed->model).ok());
  }
}

}  // namespace
}  // namespace halyard::random_graphs
