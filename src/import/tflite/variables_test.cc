// Tests of values that a file keeps between executions, as inputs and outputs of the model.
#include <gmock/gmock.h>

#include "import/tflite/refusals_for_test.h"
#include "import/tflite/run_imported_for_test.h"
#include "import/tflite/sample_models.h"

namespace halyard::import {
namespace {

using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns the import with the states among the other inputs and outputs.
ImportedModel withStates(const ModelWriter& w) {
  Result<ImportedModel> imported = importTflite(w.bytes(), {.states = StateUse::ALL});
  if (!imported.ok()) GTEST_LOG_(FATAL) << imported.status().toString();
  for (const ModelState& state : imported->states) {
    imported->inputs.push_back(state.port);
    imported->outputs.push_back(state.port);
  }
  return std::move(*imported);
}

TEST(Variables, AreInputsAndOutputsWithFirstValues) {
  const ImportedModel imported = withStates(variables());
  ASSERT_EQ(imported.states.size(), 2u);
  EXPECT_EQ(imported.states[0].port.name, "a");
  EXPECT_EQ(imported.states[1].port.name, "b");
  EXPECT_EQ(imported.states[0].tensor, -1);
  std::vector<std::vector<uint8_t>> states = {imported.states[0].first, imported.states[1].first};
  EXPECT_THAT(as<float>(states[0]), ElementsAre(10, 20));
  EXPECT_THAT(as<float>(states[1]), ElementsAre(1, 2));
  // y = x + a, a = b, b = y. LiteRT computes the same values.
  const std::vector<std::vector<float>> expected = {{11, 22}, {2, 4}, {12, 24}, {3, 6}};
  for (const std::vector<float>& each : expected) {
    const RunResult result =
        runWith(imported, {bytesOf<float>({1, 2}), std::move(states[0]), std::move(states[1])});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(as<float>(result.outputs[0]), each);
    states = {result.outputs[1], result.outputs[2]};
  }
}

TEST(Variables, BeginWithFirstValuesIfTheyAreNotKept) {
  const Result<ImportedModel> imported = importModel(variables());
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_TRUE(imported->states.empty());
  EXPECT_EQ(imported->model.main.inputIndexes.size(), 1u);
  const RunResult result = runWith(imported, {bytesOf<float>({1, 2})});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(as<float>(result.outputs[0]), ElementsAre(11, 22));
}

// A later read gets the assigned value, so that no old value is needed.
TEST(Variables, AreReadAfterTheirAssignment) {
  ModelWriter w = variables();
  std::swap(w.nodes[3], w.nodes[6]);  // a = "b before" in place of READ a
  std::swap(w.nodes[3], w.nodes[4]);  // behind READ b
  std::swap(w.nodes[5], w.nodes[6]);  // READ a in front of ADD
  const ImportedModel imported = withStates(w);
  ASSERT_EQ(imported.states.size(), 1u);
  EXPECT_EQ(imported.states[0].port.name, "b");
  const RunResult result = runWith(imported, {bytesOf<float>({1, 2}), bytesOf<float>({5, 7})});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(as<float>(result.outputs[0]), ElementsAre(6, 9));
}

// A variable tensor of a recurrent layer is a state of the same kind.
TEST(Variables, TensorsHaveZerosFirst) {
  const ImportedModel imported = withStates(floatLstm());
  ASSERT_EQ(imported.states.size(), 2u);
  EXPECT_GE(imported.states[0].tensor, 0);
  for (const ModelState& state : imported.states) {
    EXPECT_EQ(state.first.size(), *knownByteSize(state.port.type, state.port.dims));
    EXPECT_THAT(state.first, ::testing::Each(0));
  }
}

TEST(Variables, BelongToTheInterpreterUnderTheDelegate) {
  const Result<ImportedModel> imported =
      importTflite(variables().bytes(), {.states = StateUse::OF_TENSORS});
  EXPECT_THAT(imported.status().toString(),
              HasSubstr("operator VAR_HANDLE of node 1 is not supported: the interpreter keeps the "
                        "values of variables"));
}

// Errors show only the beginning of a name.
TEST(Variables, HaveNamesOfAnyLength) {
  ModelWriter w = variables();
  const auto rename = [](NodeSpec& node, char last) {
    node.options = [name = std::string(300, 'n') + last](flatbuffers::FlatBufferBuilder& b) {
      return tfl::CreateVarHandleOptionsDirect(b, "", name.c_str()).Union();
    };
  };
  for (ModelWriter* graph : {&w, &w.subgraphs[0]}) {
    char last = 'a';
    for (NodeSpec& node : graph->nodes) {
      if (node.op == Op::VAR_HANDLE) rename(node, last++);
    }
  }
  EXPECT_EQ(withStates(w).states.size(), 2u);
}

// An assignment in a branch would be lost.
TEST(Variables, InBranchesAreRefused) {
  ModelWriter w = branchAndLoop();
  ModelWriter& branch = w.subgraphs[0];
  TensorSpec handle;
  handle.type = tfl::TensorType::RESOURCE;
  branch.node(Op::VAR_HANDLE, {}, {branch.tensor(handle)});
  EXPECT_THAT(refusalOf(w), HasSubstr("operator VAR_HANDLE of node 1 is not supported: a variable "
                                      "in a subgraph of an IF, a WHILE or a CASE"));
}

TEST(Variables, Refusals) {
  ModelWriter w = variables();
  w.nodes[0] = w.nodes[1];  // no CALL_ONCE, and the same handle twice
  EXPECT_THAT(refusalOf(w), HasSubstr("is a handle, and is written twice"));
  w = variables();
  w.nodes.erase(w.nodes.begin());
  EXPECT_THAT(refusalOf(w), HasSubstr("operator READ_VARIABLE of node 2 is not supported: the "
                                      "variable 'a' is read before anything assigns it"));
  w = variables();
  w.nodes[3].inputs = {0};
  EXPECT_THAT(refusalOf(w), HasSubstr("tensor 0 is no handle of a variable in this subgraph"));
  w = variables();
  w.tensors[2].shape = {1, 2};  // "a before"
  EXPECT_THAT(refusalOf(w), HasSubstr("operator READ_VARIABLE of node 3"));
  w = variables();
  w.subgraphs[0].tensors[1].data.clear();
  EXPECT_THAT(refusalOf(w), HasSubstr("the first value of the variable 'a' is computed"));
  w = variables();
  w.subgraphs[0].tensors[3].shape = {1, 2};  // of b
  w.nodes.erase(w.nodes.begin() + 4);        // READ b
  EXPECT_THAT(refusalOf(w), HasSubstr("operator ASSIGN_VARIABLE of node 5: "));
  w = variables();
  w.subgraphs[0].nodes[1].inputs[0] = 1;
  EXPECT_THAT(refusalOf(w), HasSubstr("subgraph 1 ''"));
}

}  // namespace
}  // namespace halyard::import
