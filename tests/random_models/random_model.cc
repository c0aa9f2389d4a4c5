#include "random_models/random_model.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>

#include "ops/each_case_for_test.h"
#include "random_models/generator.h"

namespace halyard::runtime::random_models {
namespace {

using enum OperationType;
using enum OperandType;

// --- Steps: each adds operations to the model, or nothing.

void floatUnary(Generator& g) {
  constexpr std::array kTypes = {RELU, RELU1, RELU6, TANH, LOGISTIC, ABS, NEG, FLOOR, HARD_SWISH};
  const auto x = g.pick(TENSOR_FLOAT32);
  if (x) g.operation(g.oneOf(kTypes), {x->operand}, {g.like(*x)});
}

void floatBinary(Generator& g) {
  constexpr std::array kTypes = {ADD, SUB, MUL, MAXIMUM, MINIMUM};
  const auto x = g.pick(TENSOR_FLOAT32);
  if (!x) return;
  const OperationType type = g.oneOf(kTypes);
  uint32_t other = 0;
  if (g.chance(3)) {
    // A constant, in half of the cases broadcast.
    Shape dims = g.chance(2) && !x->dims.empty() ? Shape{x->dims.back()} : x->dims;
    other = g.floats(dims);
  } else {
    other = g.sameAs(*x).operand;
  }
  std::vector<uint32_t> inputs = {x->operand, other};
  // Products stay small, so that all values stay finite.
  if (type == MUL) {
    inputs.push_back(g.int32(g.chance(2) ? 2 : 3));
  } else if (type == ADD || type == SUB) {
    inputs.push_back(g.int32(static_cast<int32_t>(g.upTo(4))));
  }
  g.operation(type, inputs, {g.like(*x)});
}

void compareAndSelect(Generator& g) {
  constexpr std::array kTypes = {LESS, LESS_EQUAL, GREATER, EQUAL, NOT_EQUAL};
  const auto x = g.pick(TENSOR_FLOAT32);
  if (!x) return;
  const Value y = g.sameAs(*x);
  Value mask = g.add(TENSOR_BOOL8, x->dims);
  g.operation(g.oneOf(kTypes), {x->operand, y.operand}, {mask});
  if (g.chance(3)) {
    const Value other = g.sameAs(mask);
    Value both = g.add(TENSOR_BOOL8, x->dims);
    g.operation(g.chance(2) ? LOGICAL_AND : LOGICAL_OR, {mask.operand, other.operand}, {both});
    mask = both;
  }
  g.operation(SELECT, {mask.operand, x->operand, y.operand}, {g.like(*x)});
}

void quantizedRun(Generator& g) {
  auto q = g.chance(3) ? g.pick(TENSOR_QUANT8_ASYMM) : std::nullopt;
  if (!q) {
    const auto x = g.pick(TENSOR_FLOAT32);
    if (!x) return;
    q = g.add(TENSOR_QUANT8_ASYMM, x->dims, 0.0625F, 120);
    g.operation(QUANTIZE, {x->operand}, {*q});
  }
  for (uint32_t i = g.upTo(3); i > 0; --i) {
    const Value next = g.like(*q);
    if (g.chance(2)) {
      g.operation(RELU, {q->operand}, {next});
    } else if (g.chance(2)) {
      g.operation(MAXIMUM, {q->operand, g.sameAs(*q).operand}, {next});
    } else {
      g.operation(ADD, {q->operand, g.sameAs(*q).operand, g.int32(0)}, {next});
    }
    q = next;
  }
  if (g.chance(3)) return;
  g.operation(DEQUANTIZE, {q->operand}, {g.add(TENSOR_FLOAT32, q->dims)});
}

void integers(Generator& g) {
  auto x = g.chance(2) ? g.pick(TENSOR_INT32) : std::nullopt;
  if (!x) {
    const auto real = g.pick(TENSOR_FLOAT32);
    if (!real) return;
    const Value bounded = g.like(*real);
    g.operation(RELU6, {real->operand}, {bounded});
    x = g.add(TENSOR_INT32, real->dims);
    g.operation(CAST, {bounded.operand}, {*x});
  }
  const Value next = g.like(*x);
  g.operation(g.chance(2) ? ADD : SUB, {x->operand, g.sameAs(*x).operand, g.int32(0)}, {next});
  if (g.chance(2)) g.operation(CAST, {next.operand}, {g.add(TENSOR_FLOAT32, next.dims)});
}

void rearrange(Generator& g) {
  const auto x = g.pick(g.chance(3) ? TENSOR_QUANT8_ASYMM : TENSOR_FLOAT32);
  if (!x || x->dims.empty()) return;
  switch (g.upTo(5)) {
    case 0: {
      const uint32_t count = Generator::elements(x->dims);
      const Value out = g.add(x->type, {1, count}, x->scale, x->zeroPoint);
      g.operation(RESHAPE, {x->operand, g.ints({1, static_cast<int32_t>(count)})}, {out});
      return;
    }
    case 1: {
      Shape turned(x->dims.rbegin(), x->dims.rend());
      std::vector<int32_t> order;
      for (size_t i = turned.size(); i-- > 0;) order.push_back(static_cast<int32_t>(i));
      const Value out = g.add(x->type, turned, x->scale, x->zeroPoint);
      g.operation(TRANSPOSE, {x->operand, g.ints(order)}, {out});
      return;
    }
    case 2: {
      const Value y = g.sameAs(*x);
      Shape both = x->dims;
      both[0] *= 2;
      if (both[0] > 12) return;
      const Value out = g.add(x->type, both, x->scale, x->zeroPoint);
      g.operation(CONCATENATION, {x->operand, y.operand, g.int32(0)}, {out});
      return;
    }
    case 3: {
      if (x->dims[0] % 2 != 0) return;
      Shape half = x->dims;
      half[0] /= 2;
      const Value first = g.add(x->type, half, x->scale, x->zeroPoint);
      const Value second = g.add(x->type, half, x->scale, x->zeroPoint);
      g.operation(SPLIT, {x->operand, g.int32(0), g.int32(2)}, {first, second});
      return;
    }
    default: {
      if (x->dims.size() > 3) return;
      Shape longer = x->dims;
      longer.insert(longer.begin(), 1);
      const Value out = g.add(x->type, longer, x->scale, x->zeroPoint);
      g.operation(EXPAND_DIMS, {x->operand, g.int32(0)}, {out});
    }
  }
}

void reduce(Generator& g) {
  const auto x = g.pick(TENSOR_FLOAT32);
  if (!x || x->dims.empty()) return;
  const uint32_t axis = g.upTo(static_cast<uint32_t>(x->dims.size()));
  Shape reduced = x->dims;
  reduced[axis] = 1;
  if (g.chance(4)) {
    if (x->dims.size() < 2) return;
    Shape without = x->dims;
    without.erase(without.begin() + axis);
    g.operation(ARGMAX, {x->operand, g.int32(static_cast<int32_t>(axis))},
                {g.add(TENSOR_INT32, without)});
    return;
  }
  const Value out = g.add(TENSOR_FLOAT32, reduced);
  const uint32_t axes = g.ints({static_cast<int32_t>(axis)});
  if (g.chance(2)) {
    g.operation(MEAN, {x->operand, axes, g.int32(1)}, {out});
  } else {
    g.operation(REDUCE_MAX, {x->operand, axes, g.boolean(true)}, {out});
  }
}

void matrix(Generator& g) {
  const auto x = g.pickRank(TENSOR_FLOAT32, 2);
  if (!x) return;
  if (g.chance(3)) {
    g.operation(SOFTMAX, {x->operand, g.float32(1)}, {g.like(*x)});
    return;
  }
  const uint32_t units = 1 + g.upTo(8);
  const uint32_t weights = g.floats({units, x->dims[1]});
  const uint32_t bias = g.floats({units});
  g.operation(FULLY_CONNECTED,
              {x->operand, weights, bias, g.int32(static_cast<int32_t>(g.upTo(4)))},
              {g.add(TENSOR_FLOAT32, {x->dims[0], units})});
}

void image(Generator& g) {
  auto x = g.pickRank(TENSOR_FLOAT32, 4);
  if (!x) {
    const auto flat = g.pickRank(TENSOR_FLOAT32, 2);
    if (!flat) return;
    x = g.add(TENSOR_FLOAT32, {1, flat->dims[0], flat->dims[1], 1});
    const auto rows = static_cast<int32_t>(flat->dims[0]);
    const auto columns = static_cast<int32_t>(flat->dims[1]);
    g.operation(RESHAPE, {flat->operand, g.ints({1, rows, columns, 1})}, {*x});
  }
  const uint32_t channels = x->dims[3];
  if (g.chance(3)) {
    const std::vector<uint32_t> window = {g.int32(1), g.int32(1), g.int32(1),
                                          g.int32(2), g.int32(2), g.int32(0)};
    std::vector<uint32_t> inputs = {x->operand};
    inputs.insert(inputs.end(), window.begin(), window.end());
    g.operation(g.chance(2) ? MAX_POOL_2D : AVERAGE_POOL_2D, inputs, {g.like(*x)});
    return;
  }
  const uint32_t depth = 1 + g.upTo(4);
  const uint32_t filter = g.floats({depth, 2, 2, channels});
  const uint32_t bias = g.floats({depth});
  g.operation(CONV_2D,
              {x->operand, filter, bias, g.int32(1), g.int32(1), g.int32(1),
               g.int32(static_cast<int32_t>(g.upTo(4)))},
              {g.add(TENSOR_FLOAT32, {x->dims[0], x->dims[1], x->dims[2], depth})});
}

// --- Control flow

// A few operations on x, one after the other.
cpu::testing::TestModel smallModel(Generator& g, const Shape& dims) {
  constexpr std::array kTypes = {RELU, TANH, ABS, LOGISTIC};
  cpu::testing::TestModel model;
  uint32_t value = model.input(dims);
  const uint32_t count = 1 + g.upTo(4);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t next = i + 1 == count ? model.output(dims) : model.temporary(dims);
    if (g.chance(3)) {
      const uint32_t one = model.constant<float>(TENSOR_FLOAT32, {1}, {0.5F});
      model.add(value, one, next);
    } else {
      model.operation(g.oneOf(kTypes), {value}, {next});
    }
    value = next;
  }
  return model;
}

void branch(Generator& g) {
  const auto x = g.pick(TENSOR_FLOAT32);
  if (!x) return;
  const uint32_t condition = g.condition();
  const uint32_t thenModel = g.reference(smallModel(g, x->dims));
  const uint32_t elseModel = g.reference(smallModel(g, x->dims));
  g.operation(IF, {condition, thenModel, elseModel, x->operand}, {g.like(*x)});
}

void loop(Generator& g) {
  const auto x = g.pick(TENSOR_FLOAT32);
  if (!x) return;
  cpu::testing::TestModel condition;
  {
    const uint32_t i = condition.input({1}, TENSOR_INT32);
    condition.input(x->dims);
    const uint32_t limit =
        condition.constant<int32_t>(TENSOR_INT32, {1}, {static_cast<int32_t>(g.upTo(5))});
    condition.operation(LESS, {i, limit}, {condition.output({1}, TENSOR_BOOL8)});
  }
  cpu::testing::TestModel body;
  {
    const uint32_t i = body.input({1}, TENSOR_INT32);
    uint32_t value = body.input(x->dims);
    const uint32_t one = body.constant<int32_t>(TENSOR_INT32, {1}, {1});
    body.add(i, one, body.output({1}, TENSOR_INT32));
    const uint32_t between = body.temporary(x->dims);
    body.operation(TANH, {value}, {between});
    const uint32_t half = body.constant<float>(TENSOR_FLOAT32, {1}, {0.5F});
    body.add(between, half, body.output(x->dims));
  }
  const uint32_t first = g.reference(condition);
  const uint32_t second = g.reference(body);
  const uint32_t zero = g.ints({0});
  const Value counter = g.add(TENSOR_INT32, {1});
  g.fix(counter);
  g.operation(WHILE, {first, second, zero, x->operand}, {counter, g.like(*x)});
}

// --- One operation of any kind, with operands of its own.

// The outputs of the operation alone; nullopt when they are not specified, or have no elements.
std::optional<std::vector<ops::testing::TestOperand>> resultOf(ops::testing::LegalCase legal) {
  if (!legal.unspecifiedOutputs.empty() || legal.type == RANDOM_MULTINOMIAL) return std::nullopt;
  if (!ops::testing::runOperation(legal.type, legal.inputs, legal.outputs).ok()) {
    return std::nullopt;
  }
  for (const auto& output : legal.outputs) {
    if (output.bytes.empty()) return std::nullopt;
  }
  return std::move(legal.outputs);
}

void anything(Generator& g) {
  const auto& recipes = ops::testing::allRecipes();
  auto recipe = recipes.begin();
  std::advance(recipe, g.upTo(static_cast<uint32_t>(recipes.size())));
  const ops::OperationDefinition& definition = *ops::definitionOf(recipe->first);
  const auto variants = ops::testing::variantsOf(definition.signature);
  const auto& variant = variants[g.upTo(static_cast<uint32_t>(variants.size()))];
  const auto legal = ops::testing::legalCase(definition, variant, g.upTo(1000), 1);
  const auto results = resultOf(legal);
  if (!results) return;
  std::vector<uint32_t> inputs;
  bool hasInput = false;
  for (const auto& from : legal.inputs) {
    if (from.tensor.omitted) {
      inputs.push_back(g.omitted(from));
    } else if (isScalarType(from.tensor.type) || from.bytes.empty() || (hasInput && g.chance(2))) {
      inputs.push_back(g.constant(from));
    } else {
      inputs.push_back(g.input(from));
      hasInput = true;
    }
  }
  std::vector<Value> outputs;
  for (const auto& to : *results) {
    outputs.push_back(
        g.add(to.tensor.type, to.tensor.dims, to.tensor.scale, to.tensor.zeroPoint, to.tensor));
  }
  g.operation(legal.type, inputs, outputs);
}

using Step = void (*)(Generator&);
// The more often a step is named, the more often it is chosen.
constexpr std::array<Step, 16> kSteps = {floatUnary,   floatUnary,  floatUnary,       floatUnary,
                                         floatBinary,  floatBinary, floatBinary,      floatBinary,
                                         quantizedRun, integers,    compareAndSelect, rearrange,
                                         rearrange,    reduce,      matrix,           image};

}  // namespace

RandomModel randomModel(uint32_t seed) {
  Generator g(seed);
  const uint32_t steps = 2 + g.upTo(g.chance(8) ? 60 : 16);
  for (uint32_t i = 0; i < steps; ++i) {
    if (g.chance(20)) {
      branch(g);
    } else if (g.chance(24)) {
      loop(g);
    } else if (g.chance(10)) {
      anything(g);
    } else {
      g.oneOf(kSteps)(g);
    }
  }
  return g.finish();
}

}  // namespace halyard::runtime::random_models
