#include "validation/random_graphs/control_flow.h"

#include <algorithm>

namespace halyard::random_graphs {
namespace {

constexpr uint32_t kMostInner = 4;  // operations, before those that make the result
constexpr uint32_t kMostLoopRounds = 4;
constexpr unsigned kClosingAttempts = 12;

TestOperand int32s(const std::vector<int32_t>& values) {
  return TestOperand::of<int32_t>(OperandType::TENSOR_INT32, {static_cast<uint32_t>(values.size())},
                                  values);
}

bool isLike(const TestOperand& a, const TestOperand& b) {
  return a.tensor.type == b.tensor.type && a.tensor.scale == b.tensor.scale &&
         a.tensor.zeroPoint == b.tensor.zeroPoint;
}

// Makes the models of an IF or WHILE.
class Bodies {
 public:
  Bodies(GraphBuilder& builder, const std::vector<Choice>& inner)
      : builder_(builder), inner_(inner) {}

  // Makes another model at each call. Its inputs are `arguments` (indices of the builder's values),
  // and its output is like `result`. Returns its index in Model::referenced.
  std::optional<uint32_t> make(const std::vector<size_t>& arguments, const TestOperand& result) {
    GraphBuilder body(builder_.model(), builder_.chance(), builder_.scope(), false);
    body.allowAdapters(builder_.adaptedTypes());
    for (const size_t i : arguments) {
      body.addInput(builder_.valueOf(i, false), builder_.values()[i].noisy);
    }
    const uint32_t operations = 1 + builder_.chance().below(kMostInner);
    for (uint32_t i = 0; i < operations; ++i) place(body, nullptr);
    const std::optional<size_t> end = close(body, result);
    if (!end) return std::nullopt;
    return finish(body, {body.values()[*end].operand});
  }

  // Moves the subgraph of `body` to the model's subgraphs.
  uint32_t finish(GraphBuilder& body, const std::vector<uint32_t>& outputs) {
    Subgraph subgraph = body.subgraph();
    subgraph.outputIndexes = outputs;
    for (const uint32_t index : outputs) {
      subgraph.operands[index].lifetime = Lifetime::SUBGRAPH_OUTPUT;
    }
    builder_.model().referenced.push_back(std::move(subgraph));
    return static_cast<uint32_t>(builder_.model().referenced.size() - 1);
  }

  // A value of `body` that is like `result` and not an input of `body`.
  std::optional<size_t> close(GraphBuilder& body, const TestOperand& result) {
    for (unsigned attempt = 0; attempt < kClosingAttempts; ++attempt) {
      if (attempt > 0) place(body, &result);
      for (size_t i = body.values().size(); i-- > 0;) {
        const GraphValue& value = body.values()[i];
        if (value.isUnspecified || !isLike(value.clean, result)) continue;
        const bool isInput =
            body.subgraph().operands[value.operand].lifetime == Lifetime::SUBGRAPH_INPUT;
        if (value.clean.tensor.dims == result.tensor.dims && !isInput) return i;
        if (const auto made = body.adapted(i, result.tensor.dims)) return made;
      }
    }
    return std::nullopt;
  }

 private:
  void place(GraphBuilder& body, const TestOperand* like) {
    if (!inner_.empty()) (void)body.place(builder_.chance().oneOf(inner_), like);
  }

  GraphBuilder& builder_;
  const std::vector<Choice>& inner_;
};

// Some values that a model can read.
std::vector<size_t> someValues(GraphBuilder& builder) {
  std::vector<size_t> chosen;
  const size_t count = 1 + builder.chance().below(3);
  for (size_t i = 0; i < count; ++i) {
    const size_t value = builder.chance().below(builder.values().size());
    const GraphValue& candidate = builder.values()[value];
    const OperandType type = candidate.clean.tensor.type;
    if (candidate.isUnspecified || isScalarType(type)) continue;
    if (type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) continue;
    if (std::ranges::find(chosen, value) == chosen.end()) chosen.push_back(value);
  }
  return chosen;
}

bool placeBranch(GraphBuilder& builder, OperationType type, const std::vector<Choice>& inner) {
  const std::vector<size_t> arguments = someValues(builder);
  if (arguments.empty()) return false;
  const TestOperand result = builder.valueOf(arguments[0], false);
  const TestOperand condition = TestOperand::of<uint8_t>(
      OperandType::TENSOR_BOOL8, {1}, {static_cast<uint8_t>(builder.chance().below(2))});
  Bodies bodies(builder, inner);
  const auto first = bodies.make(arguments, result);
  const auto second = first ? bodies.make(arguments, result) : std::nullopt;
  if (!second) return false;
  const size_t conditionValue = builder.addInput(condition, condition.bytes);
  std::vector<uint32_t> inputs = {builder.values()[conditionValue].operand,
                                  builder.addModelReference(*first),
                                  builder.addModelReference(*second)};
  for (const size_t i : arguments) inputs.push_back(builder.values()[i].operand);
  return builder.append(type, inputs, {ops::testing::outputLike(result)});
}

// The condition: counter < limit.
uint32_t addCondition(GraphBuilder& builder, Bodies& bodies, const std::vector<size_t>& state) {
  GraphBuilder body(builder.model(), builder.chance(), builder.scope(), false);
  for (const size_t i : state) {
    body.addInput(builder.valueOf(i, false), builder.values()[i].noisy);
  }
  const auto limit = static_cast<int32_t>(1 + builder.chance().below(kMostLoopRounds));
  const uint32_t constant = body.addConstant(int32s({limit}));
  const TestOperand truth = TestOperand::output(OperandType::TENSOR_BOOL8);
  body.append(OperationType::LESS, {body.values()[0].operand, constant}, {truth});
  return bodies.finish(body, {body.values().back().operand});
}

// The body of a loop: counter + 1, and a new state.
std::optional<uint32_t> addRound(GraphBuilder& builder, Bodies& bodies,
                                 const std::vector<size_t>& state,
                                 const std::vector<Choice>& inner) {
  GraphBuilder body(builder.model(), builder.chance(), builder.scope(), false);
  const TestOperand result = builder.valueOf(state[1], false);
  body.allowAdapters(builder.adaptedTypes());
  for (const size_t i : state) {
    body.addInput(builder.valueOf(i, false), builder.values()[i].noisy);
  }
  const uint32_t one = body.addConstant(int32s({1}));
  const uint32_t none = body.addConstant(TestOperand::int32(0));
  if (!body.append(OperationType::ADD, {body.values()[0].operand, one, none},
                   {TestOperand::output(OperandType::TENSOR_INT32)})) {
    return std::nullopt;
  }
  const uint32_t next = body.values().back().operand;
  if (!inner.empty()) (void)body.place(builder.chance().oneOf(inner));
  const std::optional<size_t> end = bodies.close(body, result);
  if (!end || body.values()[*end].operand == next) return std::nullopt;
  return bodies.finish(body, {next, body.values()[*end].operand});
}

bool placeLoop(GraphBuilder& builder, OperationType type, const std::vector<Choice>& inner) {
  // The value after the counter is the state. Further values stay the same in each round.
  std::vector<size_t> state = someValues(builder);
  if (state.empty()) return false;
  const TestOperand counter = int32s({0});
  state.insert(state.begin(), builder.addInput(counter, counter.bytes));
  Bodies bodies(builder, inner);
  const TestOperand result = builder.valueOf(state[1], false);
  const uint32_t condition = addCondition(builder, bodies, state);
  const auto round = addRound(builder, bodies, state, inner);
  if (!round) return false;
  std::vector<uint32_t> inputs = {builder.addModelReference(condition),
                                  builder.addModelReference(*round)};
  for (const size_t i : state) inputs.push_back(builder.values()[i].operand);
  return builder.append(type, inputs,
                        {ops::testing::outputLike(counter), ops::testing::outputLike(result)});
}

}  // namespace

bool placeControlFlow(GraphBuilder& builder, const Choice& choice,
                      const std::vector<Choice>& inner) {
  if (builder.values().empty()) return false;
  const size_t referenced = builder.model().referenced.size();
  const GraphBuilder::Mark before = builder.mark();
  const bool isBranch = choice.definition->controlFlow == ops::ControlFlow::BRANCH;
  const bool placed = isBranch ? placeBranch(builder, choice.definition->type, inner)
                               : placeLoop(builder, choice.definition->type, inner);
  if (placed) return true;
  builder.rollBack(before);
  builder.model().referenced.resize(referenced);
  return false;
}

}  // namespace halyard::random_graphs
