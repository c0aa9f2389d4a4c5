#include "validation/random_graphs/graph_builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/float16.h"
#include "ops/testing/searched_case.h"

namespace halyard::random_graphs {
namespace {

using ops::testing::LegalCase;

// Larger values test little, and larger tensors take long.
constexpr double kLargestValue = 60;
constexpr size_t kMostElements = 4096;
constexpr float kUsualRange = 8;

bool isFloat(OperandType type) {
  return type == OperandType::TENSOR_FLOAT32 || type == OperandType::TENSOR_FLOAT16;
}

// Half of the allowed error: the device's own errors take the other half.
accuracy::Criteria halved(accuracy::Criteria criteria) {
  criteria.absolute /= 2;
  criteria.relative /= 2;
  if (criteria.bias) *criteria.bias /= 2;
  if (criteria.meanSquare) *criteria.meanSquare /= 2;
  criteria.mismatches /= 2;
  return criteria;
}

TestOperand intList(const std::vector<int32_t>& values) {
  return TestOperand::of<int32_t>(OperandType::TENSOR_INT32, {static_cast<uint32_t>(values.size())},
                                  values);
}

}  // namespace

size_t GraphBuilder::addInput(const TestOperand& clean, std::vector<uint8_t> noisy) {
  const uint32_t operand = addOperand(clean, Lifetime::SUBGRAPH_INPUT);
  subgraph_.inputIndexes.push_back(operand);
  values_.push_back({operand, clean, std::move(noisy)});
  values_.back().clean.source = -1;
  values_.back().clean.tensor.channelQuant = nullptr;
  return values_.size() - 1;
}

uint32_t GraphBuilder::addOperand(const TestOperand& from, Lifetime lifetime) {
  Operand operand = ops::testing::operandFor(from);
  operand.lifetime = lifetime;
  if (lifetime == Lifetime::CONSTANT_COPY) {
    operand.location = appendConstant(model_, from.bytes.data(), from.bytes.size());
  }
  subgraph_.operands.push_back(std::move(operand));
  return static_cast<uint32_t>(subgraph_.operands.size() - 1);
}

uint32_t GraphBuilder::addConstant(const TestOperand& from) {
  return addOperand(from, from.tensor.omitted ? Lifetime::NO_VALUE : Lifetime::CONSTANT_COPY);
}

void GraphBuilder::makeAnInput() {
  for (const Operation& operation : subgraph_.operations) {
    for (const uint32_t index : operation.inputs) {
      Operand& operand = subgraph_.operands[index];
      if (operand.lifetime != Lifetime::CONSTANT_COPY || isScalarType(operand.type)) continue;
      TestOperand value = operandOf(operand);
      const uint8_t* const from = model_.operandValues.data() + operand.location.offset;
      value.bytes.assign(from, from + operand.location.length);
      if (value.bytes.empty()) continue;
      value.tensor.channelQuant = nullptr;
      operand.lifetime = Lifetime::SUBGRAPH_INPUT;
      operand.location = {};
      subgraph_.inputIndexes.push_back(index);
      values_.push_back({index, value, value.bytes});
      return;
    }
  }
}

uint32_t GraphBuilder::addModelReference(uint32_t referenced) {
  Operand operand;
  operand.type = OperandType::MODEL;
  operand.lifetime = Lifetime::SUBGRAPH;
  operand.location = {0, referenced, 0};
  subgraph_.operands.push_back(operand);
  return static_cast<uint32_t>(subgraph_.operands.size() - 1);
}

GraphBuilder::Mark GraphBuilder::mark() const {
  return {subgraph_.operands.size(), subgraph_.operations.size(), subgraph_.inputIndexes.size(),
          values_.size(), model_.operandValues.size()};
}

void GraphBuilder::rollBack(const Mark& mark) {
  subgraph_.operands.resize(mark.operands);
  subgraph_.operations.resize(mark.operations);
  subgraph_.inputIndexes.resize(mark.inputs);
  values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(mark.values), values_.end());
  model_.operandValues.resize(mark.bytes);
}

uint32_t GraphBuilder::operandFor(const TestOperand& input) {
  if (input.source >= 0) return values_[static_cast<size_t>(input.source)].operand;
  const bool mustBeConstant = !isMain_ || input.tensor.omitted || isScalarType(input.tensor.type) ||
                              input.bytes.empty() || input.tensor.channelQuant != nullptr;
  // Small lists of numbers are axes, sizes and similar. Drivers rarely take them at execution.
  const bool isList = input.tensor.type == OperandType::TENSOR_INT32 && input.tensor.rank() <= 1;
  const bool isFirst = subgraph_.inputIndexes.empty();
  if (mustBeConstant || (isList && !chance_.oneIn(20)) || (!isFirst && chance_.oneIn(2))) {
    return addConstant(input);
  }
  return values_[addInput(input, input.bytes)].operand;
}

TestOperand GraphBuilder::valueOf(size_t i, bool noisy) const {
  TestOperand value = values_[i].clean;
  if (noisy) value.bytes = values_[i].noisy;
  return value;
}

std::vector<TestOperand> GraphBuilder::arguments(const Operation& operation, bool noisy) const {
  std::vector<TestOperand> result;
  for (const uint32_t index : operation.inputs) {
    const auto found = std::ranges::find(values_, index, &GraphValue::operand);
    if (found != values_.end()) {
      result.push_back(valueOf(static_cast<size_t>(found - values_.begin()), noisy));
      result.back().tensor.channelQuant =
          std::get_if<SymmPerChannelQuantParams>(&subgraph_.operands[index].extraParams);
      continue;
    }
    const Operand& operand = subgraph_.operands[index];
    TestOperand value = operandOf(operand);
    if (operand.lifetime == Lifetime::CONSTANT_COPY) {
      const uint8_t* const from = model_.operandValues.data() + operand.location.offset;
      value.bytes.assign(from, from + operand.location.length);
    }
    result.push_back(std::move(value));
  }
  return result;
}

void GraphBuilder::addNoise(OperationType type, TestOperand* value) {
  const ops::Precision precision = precisionOf(*ops::definitionOf(type));
  if (precision == ops::Precision::EXACT) return;
  const bool isRelaxed = model_.relaxComputationFloat32toFloat16;
  const size_t size = elementSize(value->tensor.type);
  for (size_t i = 0; size > 0 && i < value->bytes.size() / size; ++i) {
    uint8_t* const at = value->bytes.data() + i * size;
    switch (value->tensor.type) {
      case OperandType::TENSOR_FLOAT32: {
        const bool isRounded = precision == ops::Precision::ROUNDED;
        const float share = isRelaxed ? 0x1p-10F : isRounded ? 0x1p-21F : 0x1p-16F;
        float number = 0;
        std::memcpy(&number, at, size);
        number = std::fma(number, share * chance_.signedUnit(), number);
        std::memcpy(at, &number, size);
        break;
      }
      case OperandType::TENSOR_FLOAT16: {
        Float16 half;
        std::memcpy(&half, at, size);
        const float number = toFloat(half);
        half = toFloat16(std::fma(number, 0x1p-10F * chance_.signedUnit(), number));
        std::memcpy(at, &half, size);
        break;
      }
      case OperandType::TENSOR_QUANT8_ASYMM:
        if (chance_.oneIn(4)) *at = static_cast<uint8_t>(*at + (*at == 255 ? -1 : 1));
        break;
      case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      case OperandType::TENSOR_QUANT8_SYMM:
        if (chance_.oneIn(4)) *at = static_cast<uint8_t>(*at + (*at == 127 ? -1 : 1));
        break;
      default:
        return;
    }
  }
}

bool GraphBuilder::isUseful(const TestOperand& clean, const TestOperand& noisy,
                            OperationType type) const {
  const ops::Tensor& tensor = clean.tensor;
  const size_t count = tensor.elementCount();
  if (count == 0 || count > kMostElements || tensor.dims != noisy.tensor.dims) return false;
  // A graph of one operation also tests the ends of ranges, because errors do not add up in it.
  const bool isAlone = scope_ <= accuracy::Scope::SUMS;
  const double largest = isAlone ? std::numeric_limits<double>::max() : kLargestValue;
  bool varies = count == 1;
  for (size_t i = 0; i < count; ++i) {
    const double number = accuracy::elementNumber(tensor.type, clean.bytes, i);
    if (isFloat(tensor.type) && !(std::fabs(number) <= largest)) return false;
    varies = varies || number != accuracy::elementNumber(tensor.type, clean.bytes, 0);
  }
  if (isAlone) return true;
  // A tensor of equal values shows few errors.
  const bool isExact = precisionOf(*ops::definitionOf(type)) == ops::Precision::EXACT && count < 8;
  if (!varies && !isExact) return false;
  const accuracy::Criteria criteria =
      halved(accuracy::criteriaFor(tensor.type, scope_, model_.relaxComputationFloat32toFloat16));
  return !accuracy::compareValues(tensor.type, criteria, clean.bytes, noisy.bytes).failed;
}

bool GraphBuilder::append(OperationType type, const std::vector<uint32_t>& inputs,
                          const std::vector<TestOperand>& outputs,
                          const std::vector<size_t>& unspecified) {
  const Mark before = mark();
  Operation operation = {type, inputs, {}};
  for (const TestOperand& output : outputs) {
    operation.outputs.push_back(addOperand(output, Lifetime::TEMPORARY_VARIABLE));
  }
  const auto clean = evaluate(model_, subgraph_, operation, arguments(operation, false));
  const auto noisy = evaluate(model_, subgraph_, operation, arguments(operation, true));
  bool taken = clean.ok() && noisy.ok();
  for (size_t i = 0; taken && i < clean->size(); ++i) {
    TestOperand noisyOutput = (*noisy)[i];
    const bool isUnspecified = std::ranges::find(unspecified, i) != unspecified.end();
    if (!isUnspecified) addNoise(type, &noisyOutput);
    taken = isUnspecified ? (*clean)[i].tensor.elementCount() > 0
                          : isUseful((*clean)[i], noisyOutput, type);
    if (!taken) break;
    Operand& operand = subgraph_.operands[operation.outputs[i]];
    operand.dimensions = (*clean)[i].tensor.dims;
    values_.push_back({operation.outputs[i], (*clean)[i], std::move(noisyOutput.bytes)});
    values_.back().clean.tensor.channelQuant = nullptr;
    values_.back().isUnspecified = isUnspecified;
  }
  if (!taken) {
    rollBack(before);
    return false;
  }
  subgraph_.operations.push_back(std::move(operation));
  return true;
}

bool GraphBuilder::place(const Choice& choice, const TestOperand* like) {
  const Mark before = mark();
  Result<LegalCase> legal =
      ops::testing::triedCase(*choice.definition, choice.variant, chance_.number(), this);
  bool placed = legal.ok() && !legal->outputs.empty();
  if (placed && like != nullptr) {
    ops::Tensor& output = legal->outputs[0].tensor;
    placed = output.type == like->tensor.type;
    output.scale = like->tensor.scale;
    output.zeroPoint = like->tensor.zeroPoint;
    placed = placed && ops::testing::tryCase(*choice.definition, *legal).ok();
  }
  if (placed) {
    std::vector<uint32_t> inputs;
    for (const TestOperand& input : legal->inputs) inputs.push_back(operandFor(input));
    placed = append(legal->type, inputs, legal->outputs, legal->unspecifiedOutputs);
  }
  if (!placed) rollBack(before);
  return placed;
}

std::optional<size_t> GraphBuilder::adapted(size_t from, const Shape& dims) {
  const TestOperand value = values_[from].clean;
  if (std::ranges::find(adapted_, value.tensor.type) == adapted_.end()) return std::nullopt;
  size_t wanted = 1;
  for (const uint32_t d : dims) wanted *= d;
  const size_t have = value.tensor.elementCount();
  if (wanted == 0 || wanted > kMostElements || dims.empty() || dims.size() > 4) return std::nullopt;
  if (value.tensor.rank() > 4) return std::nullopt;
  const Mark before = mark();
  const auto like = std::vector<TestOperand>{ops::testing::outputLike(value)};
  uint32_t current = values_[from].operand;
  const auto step = [&](OperationType type, std::vector<TestOperand> parameters) {
    std::vector<uint32_t> inputs = {current};
    for (const TestOperand& parameter : parameters) inputs.push_back(addConstant(parameter));
    if (!append(type, inputs, like)) return false;
    current = values_.back().operand;
    return true;
  };
  bool made = true;
  size_t count = have;
  if (have != wanted && value.tensor.rank() != 1) {
    made = step(OperationType::RESHAPE, {intList({static_cast<int32_t>(have)})});
  }
  if (made && have < wanted) {
    const size_t times = (wanted + have - 1) / have;
    made = step(OperationType::TILE, {intList({static_cast<int32_t>(times)})});
    count = have * times;
  }
  if (made && count != wanted) {
    made = step(OperationType::SLICE, {intList({0}), intList({static_cast<int32_t>(wanted)})});
  }
  if (made) {
    const std::vector<int32_t> sizes(dims.begin(), dims.end());
    made = step(OperationType::RESHAPE, {intList(sizes)});
  }
  if (made) return values_.size() - 1;
  rollBack(before);
  return std::nullopt;
}

std::optional<size_t> GraphBuilder::pick(OperandType type) {
  std::vector<size_t> fitting;
  // Scales for each channel belong to one filter.
  if (type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) return std::nullopt;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].clean.tensor.type == type && !values_[i].isUnspecified) fitting.push_back(i);
  }
  if (fitting.empty()) return std::nullopt;
  // The newer values more often, so that chains become long.
  const size_t recent = std::min<size_t>(fitting.size(), 4);
  const size_t back = chance_.oneIn(2) ? chance_.below(recent) : chance_.below(fitting.size());
  return fitting[fitting.size() - 1 - back];
}

TestOperand GraphBuilder::taken(size_t i) const {
  TestOperand value = values_[i].clean;
  value.source = static_cast<int>(i);
  return value;
}

std::optional<Shape> GraphBuilder::shapeFor(OperandType type, std::span<const size_t> ranks) {
  if (chance_.oneIn(5)) return std::nullopt;
  const std::optional<size_t> found = pick(type);
  if (!found) return std::nullopt;
  const ops::Tensor& tensor = values_[*found].clean.tensor;
  if (std::ranges::find(ranks, tensor.rank()) == ranks.end()) return std::nullopt;
  if (tensor.elementCount() > kMostElements / 8) return std::nullopt;
  return tensor.dims;
}

std::optional<TestOperand> GraphBuilder::valueFor(OperandType type, const Shape& dims, float low,
                                                  float high) {
  if (isMain_ && chance_.oneIn(8)) return std::nullopt;
  const auto isInRange = [&](const TestOperand& value) {
    if (!isFloat(type)) return true;
    const float least = low < 0 ? std::min(low, -kUsualRange) : low;
    const float most = std::max(high, kUsualRange);
    for (size_t i = 0; i < value.tensor.elementCount(); ++i) {
      const double number = accuracy::elementNumber(type, value.bytes, i);
      if (number < static_cast<double>(least) || number > static_cast<double>(most)) return false;
    }
    return true;
  };
  for (unsigned attempt = 0; attempt < 6; ++attempt) {
    std::optional<size_t> found = pick(type);
    if (!found) return std::nullopt;
    if (values_[*found].clean.tensor.dims != dims) {
      // The first attempts look for values with these dimensions.
      if (attempt < 3 || !isInRange(values_[*found].clean)) continue;
      found = adapted(*found, dims);
      if (!found) continue;
    }
    if (isInRange(values_[*found].clean)) return taken(*found);
  }
  return std::nullopt;
}

}  // namespace halyard::random_graphs
