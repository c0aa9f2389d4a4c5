#include "validation/random_graphs/surgery.h"

#include <gtest/gtest.h>

#include "model/validation/validation.h"
#include "validation/random_graphs/generator.h"
#include "validation/random_graphs/shrinker.h"

namespace halyard::random_graphs {
namespace {

using conformance::VectorCase;

VectorCase graphOf(uint64_t seed, size_t operations) {
  auto graph = generateGraph({seed, operations, allChoices()});
  EXPECT_TRUE(graph.ok()) << graph.status().toString();
  return std::move(*graph);
}

TEST(Surgery, EachOperationAloneGivesWhatItGaveInTheGraph) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const VectorCase graph = graphOf(seed, 15);
    const auto values = valuesOf(graph);
    ASSERT_TRUE(values.ok()) << values.status().toString();
    const size_t count = graph.model.main.operations.size();
    for (size_t i = 0; i < count; ++i) {
      std::vector<bool> keep(count);
      keep[i] = true;
      auto alone = cutOut(graph, *values, keep);
      ASSERT_TRUE(alone.ok()) << alone.status().toString();
      EXPECT_EQ(alone->model.main.operations.size(), 1u);
      const auto level = validateModel(alone->model);
      EXPECT_TRUE(level.ok()) << level.status().toString();
      VectorCase again = *alone;
      ASSERT_TRUE(recompute(&again).ok());
      ASSERT_EQ(again.outputs.size(), alone->outputs.size());
      for (size_t k = 0; k < again.outputs.size(); ++k) {
        EXPECT_EQ(again.outputs[k].bytes, alone->outputs[k].bytes);
        EXPECT_EQ(again.outputs[k].dims, alone->outputs[k].dims);
      }
    }
  }
}

bool has(const VectorCase& graph, OperationType type) {
  for (const Operation& operation : graph.model.main.operations) {
    if (operation.type == type) return true;
  }
  return false;
}

// A failure that needs one operation.
TEST(Shrinker, FindsTheOneOperationAndMakesItSmall) {
  size_t tried = 0;
  for (uint64_t seed = 1; seed <= 30 && tried < 5; ++seed) {
    const VectorCase graph = graphOf(seed, 25);
    if (graph.model.main.operations.size() < 10) continue;
    const OperationType guilty = graph.model.main.operations[7].type;
    ++tried;
    const VectorCase smallest =
        shrink(graph, [&](const VectorCase& candidate) { return has(candidate, guilty); });
    EXPECT_EQ(smallest.model.main.operations.size(), 1u);
    EXPECT_TRUE(has(smallest, guilty));
    EXPECT_TRUE(validateModel(smallest.model).ok());
    EXPECT_LE(smallest.model.operandValues.size(), graph.model.operandValues.size());
  }
  EXPECT_EQ(tried, 5u);
}

// A failure in the models of an IF or WHILE.
TEST(Shrinker, GoesIntoControlFlow) {
  size_t tried = 0;
  for (uint64_t seed = 1; seed <= 400 && tried < 5; ++seed) {
    const VectorCase graph = graphOf(seed, 20);
    if (graph.model.referenced.empty()) continue;
    // An operation that only subgraphs have.
    std::optional<OperationType> guilty;
    for (const Subgraph& subgraph : graph.model.referenced) {
      for (const Operation& operation : subgraph.operations) {
        if (!has(graph, operation.type)) guilty = operation.type;
      }
    }
    if (!guilty) continue;
    ++tried;
    const auto fails = [&](const VectorCase& candidate) {
      if (has(candidate, *guilty)) return true;
      for (const Subgraph& subgraph : candidate.model.referenced) {
        for (const Operation& operation : subgraph.operations) {
          if (operation.type == *guilty) return true;
        }
      }
      return false;
    };
    const VectorCase smallest = shrink(graph, fails);
    EXPECT_TRUE(fails(smallest));
    EXPECT_TRUE(smallest.model.referenced.empty()) << "seed " << seed;
    EXPECT_EQ(smallest.model.main.operations.size(), 1u) << "seed " << seed;
  }
  EXPECT_EQ(tried, 5u);
}

// A failure that needs two operations, which are far apart.
TEST(Shrinker, KeepsWhatTheFailureNeeds) {
  size_t tried = 0;
  for (uint64_t seed = 1; seed <= 60 && tried < 3; ++seed) {
    const VectorCase graph = graphOf(seed, 25);
    const auto& operations = graph.model.main.operations;
    if (operations.size() < 10 || operations[2].type == operations[8].type) continue;
    ++tried;
    const auto fails = [&](const VectorCase& candidate) {
      return has(candidate, operations[2].type) && has(candidate, operations[8].type);
    };
    const VectorCase smallest = shrink(graph, fails);
    EXPECT_TRUE(fails(smallest));
    EXPECT_EQ(smallest.model.main.operations.size(), 2u);
    EXPECT_TRUE(validateModel(smallest.model).ok());
  }
  EXPECT_EQ(tried, 3u);
}

}  // namespace
}  // namespace halyard::random_graphs
