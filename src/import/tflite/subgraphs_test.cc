// Tests of models with several subgraphs: inlined ones, control flow, and errors.
#include <gmock/gmock.h>

#include <utility>

#include "import/tflite/run_imported_for_test.h"
#include "import/tflite/sample_models.h"
#include "model/validation/validation.h"

namespace halyard::import {
namespace {

using flatbuffers::FlatBufferBuilder;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Type = tfl::TensorType;

// Adds a tensor of one boolean, a constant with `data`.
int32_t boolean(ModelWriter& w, const char* name, std::vector<uint8_t> data = {}) {
  TensorSpec spec;
  spec.name = name;
  spec.type = Type::BOOL;
  spec.shape = {1};
  spec.data = std::move(data);
  return w.tensor(std::move(spec));
}

std::vector<std::vector<uint8_t>> runOn(const ModelWriter& w, const std::vector<float>& x) {
  const RunResult result = runWith(importModel(w), {bytesOf(x)});
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  return result.outputs;
}

TEST(Subgraphs, IfChoosesASubgraph) {
  ModelWriter w = branchAndLoop();
  w.nodes.pop_back();
  w.outputs = {w.nodes.back().outputs[0]};
  EXPECT_THAT(as<float>(runOn(w, {1, 2, 3, 4, 5, 6})[0]), ElementsAre(11, 22, 33, 14, 25, 36));
  EXPECT_THAT(as<float>(runOn(w, {-1, -2, -3, 1, 2, 3})[0]), ElementsAre(1, 4, 9, 1, 4, 9));
}

// The weights move the elements around, and double one of three. Three turns double all.
TEST(Subgraphs, WhileRepeatsItsBody) {
  const auto outputs = runOn(branchAndLoop(), {-1, -2, -3, 1, 2, 3});
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_THAT(as<int32_t>(outputs[0]), ElementsAre(3));
  EXPECT_THAT(as<float>(outputs[1]), ElementsAre(2, 8, 18, 2, 8, 18));
  EXPECT_THAT(as<float>(outputs[2]), ElementsAre(0, 1, 0, 0, 0, 1, 2, 0, 0));
}

// Constants become parts of the models that the control flow refers to. Nothing passes them.
TEST(Subgraphs, ControlFlowReceivesOnlyWhatChanges) {
  const Result<ImportedModel> imported = importModel(branchAndLoop());
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  const Model& model = imported->model;
  ASSERT_EQ(model.referenced.size(), 4u);
  for (const Operation& operation : model.main.operations) {
    // The condition, two models and x.
    if (operation.type == OperationType::IF) {
      EXPECT_EQ(operation.inputs.size(), 4u);
    }
    // Two models, n and x.
    if (operation.type == OperationType::WHILE) {
      EXPECT_EQ(operation.inputs.size(), 4u);
    }
  }
  for (const Subgraph& graph : model.referenced) {
    for (const Operand& operand : graph.operands) {
      EXPECT_NE(operand.lifetime, Lifetime::SUBGRAPH);
    }
  }
}

TEST(Subgraphs, ValuesThatABodyOnlyReadsAreNotItsOutputs) {
  ModelWriter w = branchAndLoop();
  // The weights come from the application.
  const int32_t weights = w.nodes.back().inputs[2];
  w.tensors[static_cast<size_t>(weights)].data.clear();
  w.inputs.push_back(weights);
  const Result<ImportedModel> imported = importModel(w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  const Subgraph& body = imported->model.referenced.back();
  EXPECT_EQ(body.inputIndexes.size(), 3u);
  EXPECT_EQ(body.outputIndexes.size(), 2u);
  const std::vector<float> values = {0, 1, 0, 0, 0, 1, 2, 0, 0};
  const RunResult result =
      runWith(imported, {bytesOf<float>({-1, -2, -3, 1, 2, 3}), bytesOf(values)});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(as<float>(result.outputs[1]), ElementsAre(2, 8, 18, 2, 8, 18));
  EXPECT_EQ(as<float>(result.outputs[2]), values);
}

// A model of the C API must have an input.
TEST(Subgraphs, BranchesOfConstantsReceiveTheCondition) {
  ModelWriter w = branchAndLoop();
  w.nodes.pop_back();
  w.outputs = {w.nodes.back().outputs[0]};
  const int32_t constant = w.floatConstant("constant", {2, 3}, {1, 2, 3, 4, 5, 6});
  w.nodes.back().inputs[1] = constant;
  const Result<ImportedModel> imported = importModel(w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  for (const Subgraph& branch : imported->model.referenced) {
    EXPECT_EQ(branch.inputIndexes.size(), 1u);
  }
  EXPECT_THAT(as<float>(runOn(w, {-1, 0, 0, 0, 0, 0})[0]), ElementsAre(1, 4, 9, 16, 25, 36));
}

TEST(Subgraphs, BranchesMayGiveBackIntegersOf16Bits) {
  ModelWriter w;
  const int32_t flag = boolean(w, "flag");
  const int32_t x = w.quantised("x", Type::INT16, {2}, 0.5f, 0);
  const int32_t y = w.quantised("y", Type::INT16, {2}, 0.5f, 0);
  w.node(Op::IF, {flag, x}, {y}, Opt::IfOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateIfOptions(b, 1, 2); });
  w.inputs = {flag, x};
  w.outputs = {y};
  ModelWriter same;
  same.inputs = same.outputs = {same.quantised("x", Type::INT16, {2}, 0.5f, 0)};
  ModelWriter other = same;
  other.outputs = {
      other.quantisedConstant("other", Type::INT16, {2}, bytesOf<int16_t>({7, 8}), 0.5f, 0)};
  w.subgraphs = {same, other};
  const Result<ImportedModel> imported = importModel(w);
  for (const uint8_t isTrue : {uint8_t{1}, uint8_t{0}}) {
    const RunResult result = runWith(imported, {{isTrue}, bytesOf<int16_t>({-32768, 32767})});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(result.outputs[0],
              isTrue != 0 ? bytesOf<int16_t>({-32768, 32767}) : bytesOf<int16_t>({7, 8}));
  }
}

// The body swaps two values, and gives a constant in place of the third.
TEST(Subgraphs, BodiesMayOnlyPassValues) {
  ModelWriter w;
  const int32_t a = w.floats("a", {2});
  const int32_t b = w.floatConstant("b", {2}, {7, 8});
  const int32_t flag = boolean(w, "flag", {1});
  const int32_t outputs[] = {w.floats("c", {2}), w.floats("d", {2}), boolean(w, "e")};
  w.node(Op::WHILE, {a, b, flag}, {outputs[0], outputs[1], outputs[2]}, Opt::WhileOptions,
         [](FlatBufferBuilder& f) { return tfl::CreateWhileOptions(f, 1, 2); });
  w.inputs = {a};
  w.outputs = {outputs[0], outputs[1], outputs[2]};
  ModelWriter callee;
  callee.inputs = {callee.floats("x", {2}), callee.floats("y", {2}),
                   callee.tensor({.name = "flag", .type = Type::BOOL, .shape = {1}})};
  ModelWriter body = callee;
  callee.outputs = {2};
  const int32_t end = body.tensor({.name = "end", .type = Type::BOOL, .shape = {1}, .data = {0}});
  body.outputs = {1, 0, end};
  w.subgraphs = {callee, body};
  const auto results = runOn(w, {1, 2});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_THAT(as<float>(results[0]), ElementsAre(7, 8));
  EXPECT_THAT(as<float>(results[1]), ElementsAre(1, 2));
  EXPECT_THAT(results[2], ElementsAre(0));
}

TEST(Subgraphs, CompositesAreInlined) {
  const Result<ImportedModel> imported = importModel(composite());
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_THAT(operationsOf(*imported), ElementsAre("MUL", "MEAN", "RSQRT", "MUL", "MUL"));
  EXPECT_TRUE(imported->model.referenced.empty());
  // The mean of the squares is 1 in both rows.
  EXPECT_THAT(as<float>(runOn(composite(), {1, -1, 1, -1, 1, 1})[0]),
              Pointwise(FloatNear(1e-6f), {1.0f, -2.0f, 3.0f, -1.0f, 2.0f, 3.0f}));
}

// Only a constant can be such an argument, because the shape must be known.
TEST(Subgraphs, ConstantsStayConstantsInTheSubgraph) {
  ModelWriter w;
  const int32_t x = w.floats("x", {2, 3});
  const int32_t order = w.intConstant("order", {1, 0});
  const int32_t y = w.floats("y", {3, 2});
  w.node(Op::STABLEHLO_COMPOSITE, {x, order}, {y}, tfl::BuiltinOptions2::StableHLOCompositeOptions,
         [](FlatBufferBuilder& b) {
           return tfl::CreateStableHLOCompositeOptionsDirect(b, "turn", 1);
         });
  w.inputs = {x};
  w.outputs = {y};
  ModelWriter callee;
  callee.inputs = {callee.floats("x", {2, 3}),
                   callee.tensor({.name = "order", .type = Type::INT32, .shape = {2}})};
  callee.outputs = {callee.floats("y", {3, 2})};
  callee.node(Op::TRANSPOSE, {0, 1}, {2});
  w.subgraphs = {callee};
  EXPECT_THAT(as<float>(runOn(w, {1, 2, 3, 4, 5, 6})[0]), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(Subgraphs, CaseChoosesOneOfMany) {
  const std::vector<std::vector<float>> expected = {{13, 14}, {9, 16}, {6, 8}, {43, 44}};
  for (const int32_t index : {0, 1, 2, 3, 4, -1}) {
    const size_t branch = index >= 0 && index < 4 ? static_cast<size_t>(index) : 3;
    ModelWriter w = fourBranches();
    const RunResult result =
        runWith(importModel(w), {bytesOf<float>({3, 4}), bytesOf<int32_t>({index})});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(as<float>(result.outputs[0]), expected[branch]) << index;
    // The same with a constant.
    w.tensors[static_cast<size_t>(w.inputs[1])].data = bytesOf<int32_t>({index});
    w.inputs.pop_back();
    EXPECT_EQ(as<float>(runOn(w, {3, 4})[0]), expected[branch]) << index;
  }
}

TEST(Subgraphs, ErrorsOfCase) {
  ModelWriter w = fourBranches();
  w.nodes[0].options2 = [](FlatBufferBuilder& b) {
    return tfl::CreateStablehloCaseOptionsDirect(b, nullptr).Union();
  };
  EXPECT_THAT(refusalOf(w), HasSubstr("has 0 branches, expected 2 to 20"));
  w = fourBranches();
  w.subgraphs[2].tensors[0].shape = w.subgraphs[2].tensors[1].shape = {1, 2};
  EXPECT_THAT(refusalOf(w), HasSubstr("input 0 of subgraph 3 ''"));
  w = fourBranches();
  w.nodes[0].inputs = {0, 0};
  EXPECT_THAT(refusalOf(w), HasSubstr("input 0 is TENSOR_FLOAT32[2], expected one element of "
                                      "TENSOR_INT32"));
}

// Makes subgraph `from` call subgraph `to`, in place of its operators.
void makeCall(ModelWriter& w, size_t from, int32_t to) {
  ModelWriter& graph = w.subgraphs[from - 1];
  graph.nodes.clear();
  graph.node(Op::STABLEHLO_COMPOSITE, {0, 1}, {graph.outputs[0]},
             tfl::BuiltinOptions2::StableHLOCompositeOptions, [to](FlatBufferBuilder& b) {
               return tfl::CreateStableHLOCompositeOptionsDirect(b, "again", to);
             });
}

TEST(Subgraphs, CyclesOfCallsAreErrors) {
  ModelWriter w = composite();
  makeCall(w, 1, 1);
  EXPECT_EQ(refusalOf(w),
            "BAD_DATA: operator STABLEHLO_COMPOSITE of node 1: 'odml.rms_norm': subgraph 1 "
            "'odml.rms_norm.impl': operator STABLEHLO_COMPOSITE of node 0: 'again': subgraph 1 "
            "'odml.rms_norm.impl' calls itself: the subgraphs 0, 1, 1 call each other in turn");
  w.subgraphs.push_back(w.subgraphs[0]);
  makeCall(w, 1, 3);
  makeCall(w, 3, 0);
  EXPECT_THAT(refusalOf(w),
              HasSubstr("subgraph 0 '' has 1 inputs and 1 outputs, expected 2 and 1"));
  makeCall(w, 3, 1);
  EXPECT_THAT(refusalOf(w), HasSubstr("the subgraphs 0, 1, 3, 1 call each other in turn"));
}

TEST(Subgraphs, ChainsOfCallsHaveALimit) {
  ModelWriter w = composite();
  for (int32_t i = 1; i <= 30; ++i) {
    w.subgraphs.resize(static_cast<size_t>(i), w.subgraphs[0]);
    makeCall(w, static_cast<size_t>(i), i + 1);
  }
  w.subgraphs.push_back(composite().subgraphs[0]);
  w.nodes.erase(w.nodes.begin());
  EXPECT_THAT(refusalOf(w), HasSubstr("at most 16 calls in turn are supported"));
}

// Sixteen levels of subgraphs, each of which calls the next one twenty times.
TEST(Subgraphs, ManyCallsOfASmallFileHaveALimit) {
  ModelWriter w = composite();
  w.nodes.erase(w.nodes.begin());
  w.subgraphs.clear();
  for (int32_t level = 1; level <= 15; ++level) {
    ModelWriter graph;
    graph.inputs = {graph.floats("x", {2, 3}), graph.floats("scale", {3})};
    int32_t last = 0;
    for (int call = 0; call < 20; ++call) {
      const int32_t next = graph.floats("y", {2, 3});
      graph.node(Op::STABLEHLO_COMPOSITE, {last, 1}, {next},
                 tfl::BuiltinOptions2::StableHLOCompositeOptions, [level](FlatBufferBuilder& b) {
                   return tfl::CreateStableHLOCompositeOptionsDirect(b, "more", level + 1);
                 });
      last = next;
    }
    graph.outputs = {last};
    w.subgraphs.push_back(graph);
  }
  w.subgraphs.push_back(composite().subgraphs[0]);
  EXPECT_THAT(refusalOf(w), HasSubstr("needs more memory than a file of its size may"));
}

TEST(Subgraphs, ErrorsNameTheSubgraph) {
  ModelWriter w = composite();
  w.nodes[1].options2 = [](FlatBufferBuilder& b) {
    return tfl::CreateStableHLOCompositeOptionsDirect(b, "odml.rms_norm", 7).Union();
  };
  EXPECT_THAT(refusalOf(w), HasSubstr("operator STABLEHLO_COMPOSITE of node 1: 'odml.rms_norm': "
                                      "subgraph 7 does not exist, the file has 3 subgraphs"));
  w = composite();
  w.nodes[1].options2Type = tfl::BuiltinOptions2::StablehloCaseOptions;
  EXPECT_THAT(refusalOf(w), HasSubstr("has options of kind 23 (StablehloCaseOptions), expected "
                                      "StableHLOCompositeOptions"));
  w = composite();
  w.subgraphs[0].nodes[2].op = Op::HASHTABLE_FIND;
  EXPECT_THAT(refusalOf(w), HasSubstr("subgraph 1 'odml.rms_norm.impl': operator HASHTABLE_FIND of "
                                      "node 2 is not supported"));
  w = composite();
  w.subgraphs[0].tensors[0].isVariable = true;
  EXPECT_THAT(refusalOf(w), HasSubstr("tensor 0 'x' is a variable of subgraph 1"));
  w = composite();
  w.subgraphs[0].tensors[0].shape = {3, 3};
  EXPECT_THAT(refusalOf(w),
              HasSubstr("input 0 of subgraph 1 'odml.rms_norm.impl': tensor 0 'x' has "
                        "the shape [3,3], and its value has [2,3]"));
  w = composite();
  w.subgraphs[0].tensors[0].type = Type::INT32;
  EXPECT_THAT(refusalOf(w),
              HasSubstr("tensor 0 'x' is INT32, and tensor 0 'x', which is passed, is "
                        "FLOAT32"));
  w = composite();
  w.tensors[2].shape = {3, 2};
  EXPECT_THAT(refusalOf(w), HasSubstr("output 0: tensor 2 'y' has the shape [3,2], and its value "
                                      "has [2,3]"));
}

TEST(Subgraphs, ErrorsOfControlFlow) {
  ModelWriter w = branchAndLoop();
  w.subgraphs[1].tensors[2].shape = {3, 2};
  EXPECT_THAT(refusalOf(w), HasSubstr("operator IF of node 2: subgraph 2 'square': operator MUL of "
                                      "node 0"));
  w = branchAndLoop();
  w.nodes[2].options = [](FlatBufferBuilder& b) { return tfl::CreateIfOptions(b, -1, 2).Union(); };
  EXPECT_THAT(refusalOf(w), HasSubstr("operator IF of node 2: subgraph -1 does not exist"));
  w = branchAndLoop();
  w.nodes[2].inputs[0] = 0;
  EXPECT_THAT(refusalOf(w), HasSubstr("input 0 is TENSOR_FLOAT32[2,3], expected one element of "
                                      "TENSOR_BOOL8"));
  w = branchAndLoop();
  w.subgraphs[3].outputs = w.subgraphs[3].inputs;
  EXPECT_THAT(refusalOf(w),
              HasSubstr("operator WHILE of node 3 is not supported: subgraph 4 'body' "
                        "changes no value"));
  w = branchAndLoop();
  w.subgraphs[2].outputs.push_back(0);
  EXPECT_THAT(refusalOf(w),
              HasSubstr("subgraph 3 'condition' has 3 inputs and 2 outputs, expected 3 and 1"));
  w = branchAndLoop();
  w.subgraphs[2].outputs = {0};
  EXPECT_THAT(refusalOf(w), HasSubstr("output 0 of the condition model is TENSOR_INT32[1]"));
  w = branchAndLoop();
  w.nodes.pop_back();
  w.outputs = {w.nodes.back().outputs[0]};
  w.nodes.back().op = Op::WHILE;
  EXPECT_THAT(refusalOf(w), HasSubstr("has options of kind 92 (IfOptions), expected WhileOptions"));
}

}  // namespace
}  // namespace halyard::import
