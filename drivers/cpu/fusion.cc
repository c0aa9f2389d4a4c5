// Patterns in a model's graph.
#include "fusion.h"

#include <algorithm>
#include <array>

#include "ops/activation.h"
#include "ops/reduction.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kActivationOfSum = 2;

bool isOneOf(const FusionGraph& graph, size_t i, std::initializer_list<OperationType> types) {
  return std::ranges::find(types, graph.definition(i).type) != types.end();
}

// The range that operation `i` clamps its input to, if it does only that.
std::optional<ops::FuseCode> activationOf(const FusionGraph& graph, size_t i) {
  if (isOneOf(graph, i, {OperationType::RELU})) return ops::FuseCode::RELU;
  if (isOneOf(graph, i, {OperationType::RELU1})) return ops::FuseCode::RELU1;
  if (isOneOf(graph, i, {OperationType::RELU6})) return ops::FuseCode::RELU6;
  return std::nullopt;
}

// The activation that a sum has by itself.
std::optional<ops::FuseCode> activationOfSum(const FusionGraph& graph, size_t i) {
  const ops::Tensor& code = graph.tensor(graph.operation(i).inputs[kActivationOfSum]);
  const ops::OperationContext context({&code, 1}, {}, nullptr);
  ops::FuseCode activation = ops::FuseCode::NONE;
  if (!ops::readFuseCode(context, 0, &activation).ok()) return std::nullopt;
  return activation;
}

// Borders of zeros around an image's lines and columns that operation `i` adds: top, bottom, left,
// right.
std::optional<std::array<int64_t, 4>> bordersOf(const FusionGraph& graph, size_t i) {
  if (!isOneOf(graph, i, {OperationType::PAD})) return std::nullopt;
  const ops::Tensor& image = graph.tensor(graph.operation(i).inputs[0]);
  const ops::Tensor& paddings = graph.tensor(graph.operation(i).inputs[1]);
  if (image.rank() != 4 || paddings.data == nullptr || paddings.elementCount() != 8) {
    return std::nullopt;
  }
  const auto* const values = paddings.as<int32_t>();
  if (values[0] != 0 || values[1] != 0 || values[6] != 0 || values[7] != 0) return std::nullopt;
  return std::array<int64_t, 4>{values[2], values[3], values[4], values[5]};
}

// Adds to `fusion`, whose result is a convolution's or a full connection's, the sum with another
// tensor that alone reads it. Both may have another shape in the sum.
bool appendSum(const FusionGraph& graph, Fusion* fusion) {
  uint32_t result = graph.operation(fusion->last).outputs[0];
  auto reader = graph.onlyReader(result);
  std::vector<size_t> reshapes;
  while (reader && isReshape(graph, *reader) && graph.operation(*reader).inputs[0] == result) {
    reshapes.push_back(*reader);
    result = graph.operation(*reader).outputs[0];
    reader = graph.onlyReader(result);
  }
  if (!reader || !isOneOf(graph, *reader, {OperationType::ADD})) return false;
  const OperandIndexes& terms = graph.operation(*reader).inputs;
  const uint32_t addend = terms[0] == result ? terms[1] : terms[0];
  const ops::Tensor& sum = graph.tensor(graph.operation(*reader).outputs[0]);
  const auto activation = activationOfSum(graph, *reader);
  const ops::Tensor& own = graph.tensor(result);
  const ops::Tensor& other = graph.tensor(addend);
  const bool isQuant8 = isQuant8Asymm(sum.type);
  if (!activation || (sum.type != OperandType::TENSOR_FLOAT32 && !isQuant8) ||
      own.type != sum.type || other.type != sum.type || other.dims != sum.dims ||
      own.dims != sum.dims) {
    return false;
  }
  if (isQuant8) fusion->fused.terms = Quant8Terms{quantizationOf(own), quantizationOf(other)};
  fusion->swallowed.push_back(fusion->last);
  fusion->swallowed.insert(fusion->swallowed.end(), reshapes.begin(), reshapes.end());
  fusion->last = *reader;
  fusion->inputs.push_back(addend);
  fusion->fused.addsInput = true;
  fusion->fused.activation = *activation;
  return true;
}

bool appendActivation(const FusionGraph& graph, Fusion* fusion) {
  const auto reader = graph.onlyReader(graph.operation(fusion->last).outputs[0]);
  if (!reader || fusion->fused.activation.value_or(ops::FuseCode::NONE) != ops::FuseCode::NONE) {
    return false;
  }
  const auto activation = activationOf(graph, *reader);
  if (!activation) return false;
  fusion->swallowed.push_back(fusion->last);
  fusion->last = *reader;
  fusion->fused.activation = activation;
  return true;
}

bool prependPadding(const FusionGraph& graph, Fusion* fusion) {
  const uint32_t image = fusion->inputs[0];
  const auto producer = graph.producer(image);
  if (!producer || !graph.onlyReader(image)) return false;
  const auto borders = bordersOf(graph, *producer);
  if (!borders) return false;
  fusion->swallowed.push_back(*producer);
  fusion->inputs[0] = graph.operation(*producer).inputs[0];
  fusion->fused.padding = *borders;
  return true;
}

// Adds to `fusion`, of convolutions, the one of type `type` that alone reads its result.
bool appendConv(const FusionGraph& graph, OperationType type, Fusion* fusion) {
  const uint32_t result = graph.operation(fusion->last).outputs[0];
  const auto reader = graph.onlyReader(result);
  if (!reader || !isOneOf(graph, *reader, {type})) return false;
  const OperandIndexes& inputs = graph.operation(*reader).inputs;
  if (inputs[0] != result) return false;
  fusion->fused.between.push_back({&graph.tensor(result), fusion->inputs.size()});
  fusion->swallowed.push_back(fusion->last);
  fusion->last = *reader;
  fusion->shape = graph.operation(*reader).outputs[0];
  fusion->inputs.insert(fusion->inputs.end(), inputs.begin() + 1, inputs.end());
  return true;
}

// The chain of convolutions that begins with operation `i` (Fused::between).
std::optional<Fusion> chainOf(const FusionGraph& graph, size_t i) {
  constexpr OperationType kPlain = OperationType::CONV_2D;
  constexpr OperationType kDepthwise = OperationType::DEPTHWISE_CONV_2D;
  Fusion chain = {i, {}, graph.operation(i).inputs, graph.operation(i).outputs[0], {}};
  const OperandType type = graph.tensor(chain.inputs[0]).type;
  const bool isFloat = type == OperandType::TENSOR_FLOAT32;
  // Images of bytes in front of a depthwise convolution mostly stay in the cache.
  const bool isBegun = isOneOf(graph, i, {kDepthwise}) ? isFloat || isQuant8Asymm(type)
                                                       : isFloat && isOneOf(graph, i, {kPlain}) &&
                                                             appendConv(graph, kDepthwise, &chain);
  if (!isBegun || !appendConv(graph, kPlain, &chain)) return std::nullopt;
  return chain;
}

// Adds to `fusion`, of a convolution or full connection, that its input is rounded.
bool prependRounding(const FusionGraph& graph, Fusion* fusion) {
  const uint32_t rounded = fusion->inputs[0];
  const auto producer = graph.producer(rounded);
  if (!producer || !graph.onlyReader(rounded)) return false;
  const auto rounding = rowRoundingAt(graph, *producer);
  if (!rounding) return false;
  fusion->swallowed.push_back(*producer);
  fusion->inputs[0] = rounding->input;
  fusion->fused.rounding = rounding->rows;
  return true;
}

}  // namespace

FusionGraph::FusionGraph(const cpu::SubgraphPlan& plan)
    : plan_(plan), producers_(plan.tensors.size()), readers_(plan.tensors.size()) {
  for (size_t i = 0; i < plan.subgraph->operations.size(); ++i) {
    if (plan.isFolded[i]) continue;
    for (const uint32_t operand : operation(i).inputs) readers_[operand] = i;
    for (const uint32_t operand : operation(i).outputs) producers_[operand] = i;
  }
}

std::optional<size_t> FusionGraph::onlyReader(uint32_t operand) const {
  const bool isOutput = plan_.outputPosition[operand].has_value();
  return isOutput || plan_.consumers[operand] != 1 ? std::nullopt : readers_[operand];
}

std::vector<Fusion> fusionsOf(const FusionGraph& graph, size_t i) {
  std::vector<Fusion> fusions;
  if (!isOneOf(
          graph, i,
          {OperationType::CONV_2D, OperationType::DEPTHWISE_CONV_2D, OperationType::FULLY_CONNECTED,
           OperationType::ADD, OperationType::SUB, OperationType::MUL})) {
    return fusions;
  }
  const bool isConv = isOneOf(graph, i, {OperationType::CONV_2D, OperationType::DEPTHWISE_CONV_2D});
  const Fusion alone = {i, {}, graph.operation(i).inputs, graph.operation(i).outputs[0], {}};
  // By the operations that follow, with and without the border in front.
  std::vector<Fusion> tails;
  if (const auto chain = chainOf(graph, i)) {
    if (Fusion sum = *chain; appendSum(graph, &sum)) {
      if (Fusion activated = sum; appendActivation(graph, &activated)) tails.push_back(activated);
      tails.push_back(sum);
    }
    if (Fusion activated = *chain; appendActivation(graph, &activated)) tails.push_back(activated);
    tails.push_back(*chain);
  }
  if (Fusion sum = alone;
      (isConv || isOneOf(graph, i, {OperationType::FULLY_CONNECTED})) && appendSum(graph, &sum)) {
    tails.push_back(sum);
    if (appendActivation(graph, &sum)) tails.insert(tails.begin(), sum);
  }
  if (Fusion activated = alone; appendActivation(graph, &activated)) tails.push_back(activated);
  for (const Fusion& tail : tails) {
    if (Fusion rounded = tail; prependRounding(graph, &rounded)) fusions.push_back(rounded);
  }
  if (Fusion rounded = alone; prependRounding(graph, &rounded)) fusions.push_back(rounded);
  if (isConv) {
    for (Fusion tail : tails) {
      if (prependPadding(graph, &tail)) fusions.push_back(std::move(tail));
    }
  }
  fusions.insert(fusions.end(), tails.begin(), tails.end());
  if (Fusion padded = alone; isConv && prependPadding(graph, &padded)) {
    fusions.push_back(std::move(padded));
  }
  return fusions;
}

bool isReshape(const FusionGraph& graph, size_t i) {
  return isOneOf(graph, i,
                 {OperationType::RESHAPE, OperationType::SQUEEZE, OperationType::EXPAND_DIMS});
}

namespace {

// The inputs of an operation of a pattern: the result of an earlier operation, by its place, or one
// of these.
enum Source : int { kX = -1, kAxes = -2, kConstants = -3 };
// The pattern's constants, from kConstants down.
enum Constant : int { kZero, kSmallest, kSteps, kLeastAndHalf, kHalf, kLeast, kGreatest, kCount };
constexpr int constant(Constant c) { return static_cast<int>(kConstants) - static_cast<int>(c); }

struct Link {
  OperationType type;
  int first;
  int second = kAxes;
};
constexpr Link kRounding[RowRounding::kOperations] = {
    {OperationType::REDUCE_MIN, kX},
    {OperationType::MINIMUM, 0, constant(kZero)},  // 1: the least
    {OperationType::REDUCE_MAX, kX},
    {OperationType::MAXIMUM, 2, constant(kZero)},  // 3: the greatest
    {OperationType::SUB, 3, 1},
    {OperationType::MAXIMUM, 4, constant(kSmallest)},  // 5: the range
    {OperationType::DIV, constant(kSteps), 5},         // 6: steps in a unit
    {OperationType::MUL, 1, 6},
    {OperationType::SUB, constant(kLeastAndHalf), 7},
    {OperationType::FLOOR, 8},  // 9: the zero point
    {OperationType::MUL, kX, 6},
    {OperationType::ADD, 10, constant(kHalf)},
    {OperationType::FLOOR, 11},
    {OperationType::SUB, constant(kLeast), 9},
    {OperationType::SUB, constant(kGreatest), 9},
    {OperationType::MAXIMUM, 12, 13},
    {OperationType::MINIMUM, 15, 14},
    {OperationType::DIV, 5, constant(kSteps)},
    {OperationType::MUL, 16, 17}};

// Goes from the last operation back to what writes its inputs: a model's operations need not stand
// in the pattern's order.
class RoundingMatcher {
 public:
  explicit RoundingMatcher(const FusionGraph& graph) : graph_(graph) {}

  // Whether the pattern ends with operation `last`, and no operation outside it reads its
  // intermediate values.
  bool matches(size_t last) {
    std::vector<uint32_t> readers(RowRounding::kOperations);
    found_.back() = last;
    // Each operation is read by a later one, so that it has been found when its turn comes.
    for (size_t at = RowRounding::kOperations; at-- > 0;) {
      const Link& link = kRounding[at];
      if (graph_.definition(*found_[at]).type != link.type) return false;
      const OperandIndexes& inputs = graph_.operation(*found_[at]).inputs;
      if (!isSource(inputs[0], link.first) ||
          (inputs.size() > 1 && !isSource(inputs[1], link.second)) || !hasNoActivation(at)) {
        return false;
      }
      for (const int source : {link.first, link.second}) {
        if (source >= 0) ++readers[static_cast<size_t>(source)];
      }
    }
    for (size_t at = 0; at + 1 < RowRounding::kOperations; ++at) {
      const uint32_t result = graph_.operation(*found_[at]).outputs[0];
      if (graph_.plan().consumers[result] != readers[at] || graph_.plan().outputPosition[result]) {
        return false;
      }
    }
    return constants_[kZero] == 0.0f && constants_[kHalf] == 0.5f &&
           constants_[kLeastAndHalf] == *constants_[kLeast] + 0.5f &&
           constants_[kSteps] == *constants_[kGreatest] - *constants_[kLeast];
  }

  // After a match: the operation at a place of the pattern, and the operand that is rounded.
  size_t operation(size_t at) const { return *found_[at]; }
  uint32_t input() const { return *x_; }
  ops::RoundingSteps steps() const {
    return {*constants_[kLeast], *constants_[kGreatest], *constants_[kSmallest]};
  }

 private:
  bool isSource(uint32_t operand, int source) {
    if (source >= 0) {
      const auto producer = graph_.producer(operand);
      std::optional<size_t>& known = found_[static_cast<size_t>(source)];
      if (!known) known = producer;
      return producer && known == producer;
    }
    if (source == kX) {
      if (!x_) x_ = operand;
      return operand == *x_;
    }
    if (source == kAxes) return true;  // looked at for the rows
    const ops::Tensor& tensor = graph_.tensor(operand);
    if (tensor.type != OperandType::TENSOR_FLOAT32 || tensor.data == nullptr ||
        tensor.elementCount() != 1) {
      return false;
    }
    std::optional<float>& known = constants_[static_cast<size_t>(kConstants - source)];
    if (!known) known = *tensor.as<float>();
    return *known == *tensor.as<float>();
  }
  // Arithmetic has an activation, extremes have two inputs, and functions and reductions others.
  bool hasNoActivation(size_t at) const {
    const OperandIndexes& inputs = graph_.operation(*found_[at]).inputs;
    if (inputs.size() < 3 || kRounding[at].second == kAxes) return true;
    const ops::Tensor& code = graph_.tensor(inputs[kActivationOfSum]);
    return code.data != nullptr && *code.as<int32_t>() == 0;
  }

  const FusionGraph& graph_;
  std::array<std::optional<size_t>, RowRounding::kOperations> found_;  // by place in the pattern
  std::optional<uint32_t> x_;
  std::array<std::optional<float>, kCount> constants_;
};

// Of ROUND_TO_DYNAMIC_RANGE.
std::optional<RoundedRows> roundedRowsOf(const ops::Tensor& input, const ops::Tensor& axis) {
  if (axis.data == nullptr) return std::nullopt;
  RoundedRows rows = {ops::kDynamicRangeSteps, 1};
  for (auto d = static_cast<size_t>(*axis.as<int32_t>()); d < input.rank(); ++d) {
    rows.extent *= input.dims[d];
  }
  return rows;
}

}  // namespace

std::optional<size_t> rowExtent(const FusionGraph& graph, size_t i) {
  std::vector<ops::Tensor> inputs;
  for (const uint32_t operand : graph.operation(i).inputs) inputs.push_back(graph.tensor(operand));
  const ops::OperationContext context(inputs, {}, nullptr);
  std::vector<ops::DimGroup> groups;
  if (inputs[0].type != OperandType::TENSOR_FLOAT32 || inputs[1].data == nullptr ||
      graph.tensor(graph.operation(i).outputs[0]).rank() != inputs[0].rank() ||
      !ops::planReduction(context, &groups).ok() || groups.size() > 2 ||
      groups.back().outputStride != 0) {
    return std::nullopt;
  }
  return groups.back().extent;
}

std::optional<RowRounding> rowRoundingAt(const FusionGraph& graph, size_t last) {
  if (isOneOf(graph, last, {OperationType::ROUND_TO_DYNAMIC_RANGE})) {
    const OperandIndexes& inputs = graph.operation(last).inputs;
    const auto rows = roundedRowsOf(graph.tensor(inputs[0]), graph.tensor(inputs[1]));
    return rows ? std::optional<RowRounding>({{}, inputs[0], *rows}) : std::nullopt;
  }
  constexpr size_t kReduceMin = 0;  // in the pattern
  constexpr size_t kReduceMax = 2;
  RoundingMatcher matcher(graph);
  if (!matcher.matches(last)) return std::nullopt;
  const auto extent = rowExtent(graph, matcher.operation(kReduceMin));
  if (!extent || rowExtent(graph, matcher.operation(kReduceMax)) != extent) return std::nullopt;
  RowRounding rounding = {{}, matcher.input(), {matcher.steps(), *extent}};
  for (size_t at = 0; at + 1 < RowRounding::kOperations; ++at) {
    rounding.before.push_back(matcher.operation(at));
  }
  return rounding;
}

std::vector<size_t> tableChain(const FusionGraph& graph, size_t i) {
  if (!isOneOf(graph, i, {OperationType::DEQUANTIZE}) ||
      !isQuant8Asymm(graph.tensor(graph.operation(i).inputs[0]).type) ||
      graph.tensor(graph.operation(i).outputs[0]).type != OperandType::TENSOR_FLOAT32) {
    return {};
  }
  std::vector<size_t> chain = {i};
  for (;;) {
    const auto reader = graph.onlyReader(graph.operation(chain.back()).outputs[0]);
    if (!reader) return {};
    chain.push_back(*reader);
    if (isOneOf(graph, *reader, {OperationType::QUANTIZE})) return chain;
    if (!isOneOf(
            graph, *reader,
            {OperationType::ABS, OperationType::EXP, OperationType::FLOOR,
             OperationType::HARD_SWISH, OperationType::LOG, OperationType::LOGISTIC,
             OperationType::NEG, OperationType::RELU, OperationType::RELU1, OperationType::RELU6,
             OperationType::RSQRT, OperationType::SIN, OperationType::SQRT, OperationType::TANH})) {
      return {};
    }
  }
}

}  // namespace halyard::cpudriver
