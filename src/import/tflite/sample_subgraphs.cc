// The sample models with several subgraphs.
#include "import/tflite/sample_models.h"

#include <flatbuffers/flexbuffers.h>

namespace halyard::import {
namespace {

using flatbuffers::FlatBufferBuilder;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Type = tfl::TensorType;

int32_t typed(ModelWriter& w, std::string name, Type type) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.type = type;
  return w.tensor(std::move(spec));
}

int32_t intScalar(ModelWriter& w, std::string name, int32_t value) {
  const int32_t index = typed(w, std::move(name), Type::INT32);
  w.tensors.back().data = bytesOf<int32_t>({value});
  return index;
}

// x, y -> x + y, or x * x.
ModelWriter branch(bool isSum) {
  ModelWriter w;
  w.subgraphName = isSum ? "sum" : "square";
  const int32_t x = w.floats("x", {2, 3});
  const int32_t y = w.floats("y", {3});
  const int32_t result = w.floats("result", {2, 3});
  w.node(isSum ? Op::ADD : Op::MUL, {x, isSum ? y : x}, {result});
  w.inputs = {x, y};
  w.outputs = {result};
  return w;
}

// n, x, weights -> n < 3.
ModelWriter loopCondition() {
  ModelWriter w;
  w.subgraphName = "condition";
  const int32_t n = typed(w, "n", Type::INT32);
  const int32_t x = w.floats("x", {2, 3});
  const int32_t weights = w.floats("weights", {3, 3});
  const int32_t isLess = typed(w, "is less", Type::BOOL);
  w.node(Op::LESS, {n, intScalar(w, "three", 3)}, {isLess});
  w.inputs = {n, x, weights};
  w.outputs = {isLess};
  return w;
}

// n, x, weights -> n + 1, x by the weights, weights.
ModelWriter loopBody() {
  ModelWriter w;
  w.subgraphName = "body";
  const int32_t n = typed(w, "n", Type::INT32);
  const int32_t x = w.floats("x", {2, 3});
  const int32_t weights = w.floats("weights", {3, 3});
  const int32_t next = typed(w, "next", Type::INT32);
  const int32_t product = w.floats("product", {2, 3});
  w.node(Op::ADD, {n, intScalar(w, "one", 1)}, {next});
  w.node(Op::FULLY_CONNECTED, {x, weights}, {product}, Opt::FullyConnectedOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateFullyConnectedOptions(b); });
  w.inputs = {n, x, weights};
  w.outputs = {next, product, weights};
  return w;
}

// x, scale -> x / sqrt(mean of x * x) * scale.
ModelWriter normalisation() {
  ModelWriter w;
  w.subgraphName = "odml.rms_norm.impl";
  const int32_t x = w.floats("x", {2, 3});
  const int32_t scale = w.floats("scale", {3});
  const int32_t square = w.floats("square", {2, 3});
  const int32_t mean = w.floats("mean", {2, 1});
  const int32_t root = w.floats("root", {2, 1});
  const int32_t normal = w.floats("normal", {2, 3});
  const int32_t scaled = w.floats("scaled", {2, 3});
  const int32_t axis = w.intConstant("axis", {1});
  w.node(Op::MUL, {x, x}, {square});
  w.node(Op::MEAN, {square, axis}, {mean}, Opt::ReducerOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateReducerOptions(b, true); });
  w.node(Op::RSQRT, {mean}, {root});
  w.node(Op::MUL, {x, root}, {normal});
  w.node(Op::MUL, {normal, scale}, {scaled});
  w.inputs = {x, scale};
  w.outputs = {scaled};
  return w;
}

}  // namespace

ModelWriter branchAndLoop() {
  ModelWriter w;
  const int32_t x = w.floats("x", {2, 3});
  const int32_t axes = w.intConstant("axes", {0, 1});
  const int32_t sum = w.floats("sum of x", {});
  const int32_t zero = w.floatConstant("zero", {}, {0});
  const int32_t isPositive = typed(w, "is positive", Type::BOOL);
  const int32_t y = w.floatConstant("y", {3}, {10, 20, 30});
  const int32_t chosen = w.floats("chosen", {2, 3});
  const int32_t n = intScalar(w, "n", 0);
  const int32_t weights = w.floatConstant("weights", {3, 3}, {0, 1, 0, 0, 0, 1, 2, 0, 0});
  const int32_t last = typed(w, "last n", Type::INT32);
  const int32_t product = w.floats("last product", {2, 3});
  const int32_t same = w.floats("same weights", {3, 3});
  w.node(Op::SUM, {x, axes}, {sum}, Opt::ReducerOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateReducerOptions(b, false); });
  w.node(Op::GREATER, {sum, zero}, {isPositive});
  w.node(Op::IF, {isPositive, x, y}, {chosen}, Opt::IfOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateIfOptions(b, 1, 2); });
  w.node(Op::WHILE, {n, chosen, weights}, {last, product, same}, Opt::WhileOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateWhileOptions(b, 3, 4); });
  w.inputs = {x};
  w.outputs = {last, product, same};
  w.subgraphs = {branch(true), branch(false), loopCondition(), loopBody()};
  return w;
}

ModelWriter composite() {
  ModelWriter w;
  const int32_t x = w.floats("x", {2, 3});
  const int32_t scale = w.floatConstant("scale", {3}, {1, 2, 3});
  const int32_t y = w.floats("y", {2, 3});
  w.node(Op::CALL_ONCE, {}, {}, Opt::CallOnceOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateCallOnceOptions(b, 2); });
  w.node(Op::STABLEHLO_COMPOSITE, {x, scale}, {y}, tfl::BuiltinOptions2::StableHLOCompositeOptions,
         [](FlatBufferBuilder& b) {
           flexbuffers::Builder none;
           none.Map([] {});
           none.Finish();
           return tfl::CreateStableHLOCompositeOptionsDirect(b, "odml.rms_norm", 1,
                                                             &none.GetBuffer());
         });
  w.inputs = {x};
  w.outputs = {y};
  w.subgraphs = {normalisation(), ModelWriter()};
  return w;
}

ModelWriter variables() {
  const auto handle = [](ModelWriter& w, const std::string& name) {
    const int32_t tensor = typed(w, name, Type::RESOURCE);
    w.node(Op::VAR_HANDLE, {}, {tensor}, Opt::VarHandleOptions, [name](FlatBufferBuilder& b) {
      return tfl::CreateVarHandleOptionsDirect(b, "", name.c_str());
    });
    return tensor;
  };
  ModelWriter first;
  for (const auto& [name, values] :
       {std::pair("a", std::vector<float>{10, 20}), std::pair("b", std::vector<float>{1, 2})}) {
    const int32_t variable = handle(first, name);
    first.node(Op::ASSIGN_VARIABLE, {variable, first.floatConstant("first", {2}, values)}, {});
  }
  ModelWriter w;
  const int32_t x = w.floats("x", {2});
  const int32_t y = w.floats("y", {2});
  const int32_t before[] = {w.floats("a before", {2}), w.floats("b before", {2})};
  w.node(Op::CALL_ONCE, {}, {}, Opt::CallOnceOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateCallOnceOptions(b, 1); });
  const int32_t a = handle(w, "a");
  const int32_t b = handle(w, "b");
  w.node(Op::READ_VARIABLE, {a}, {before[0]});
  w.node(Op::READ_VARIABLE, {b}, {before[1]});
  w.node(Op::ADD, {x, before[0]}, {y}, Opt::AddOptions,
         [](FlatBufferBuilder& f) { return tfl::CreateAddOptions(f); });
  w.node(Op::ASSIGN_VARIABLE, {a, before[1]}, {});
  w.node(Op::ASSIGN_VARIABLE, {b, y}, {});
  w.inputs = {x};
  w.outputs = {y};
  w.subgraphs = {first};
  return w;
}

ModelWriter fourBranches() {
  ModelWriter w;
  const int32_t x = w.floats("x", {2});
  const int32_t y = w.floats("y", {2});
  const int32_t index = typed(w, "index", Type::INT32);
  w.node(Op::STABLEHLO_CASE, {index, x}, {y}, tfl::BuiltinOptions2::StablehloCaseOptions,
         [](FlatBufferBuilder& b) {
           const std::vector<int32_t> branches = {1, 2, 3, 4};
           return tfl::CreateStablehloCaseOptionsDirect(b, &branches);
         });
  w.inputs = {x, index};
  w.outputs = {y};
  for (const Op op : {Op::ADD, Op::MUL, Op::ADD, Op::ADD}) {
    ModelWriter branch;
    branch.inputs = {branch.floats("x", {2})};
    branch.outputs = {branch.floats("y", {2})};
    const size_t number = w.subgraphs.size();
    const auto added = 10 * static_cast<float>(number + 1);
    const bool isConstant = number == 0 || number == 3;
    const int32_t other = isConstant ? branch.floatConstant("added", {2}, {added, added}) : 0;
    branch.node(op, {0, other}, {1});
    w.subgraphs.push_back(branch);
  }
  return w;
}

std::vector<Sample> sampleSubgraphs() {
  return {{"branch_and_loop", branchAndLoop()},
          {"composite", composite()},
          {"variables", variables()},
          {"four_branches", fourBranches()}};
}

}  // namespace halyard::import
