// The members of CaseBuilder: random operands of every type, and their notes for the properties.
#include <algorithm>
#include <cmath>

#include "ops/testing/legal_case.h"

namespace halyard::ops::testing {

CaseBuilder::CaseBuilder(const OperationDefinition& definition, const Variant& variant,
                         unsigned seed, CaseSource* source)
    : signature_(definition.signature), form_(signature_.forms[variant.form]), source_(source) {
  case_.type = definition.type;
  case_.variant = variant;
  case_.random = std::make_shared<RandomOperands>(seed);
}

size_t CaseBuilder::add(TestOperand operand) {
  const size_t i = case_.inputs.size();
  if (i >= inputCount()) {
    case_.problem = fmt::format("the recipe makes more than {} inputs", inputCount());
  } else if (operand.tensor.type != typeOf(i)) {
    case_.problem = fmt::format("input {} is {}, expected {}", i,
                                operandTypeName(operand.tensor.type), operandTypeName(typeOf(i)));
  }
  case_.inputs.push_back(std::move(operand));
  return i;
}

TestOperand CaseBuilder::randomTensor(OperandType type, const Shape& dims, float low, float high) {
  const size_t count = elementsOf(dims);
  const float scale = random().realBetween(0.002f, 0.05f);
  const auto integers = [&]<typename T>(T, int least, int most, float itsScale, int zeroPoint) {
    std::vector<T> values(count);
    for (T& value : values) value = static_cast<T>(between(least, most));
    return TestOperand::of<T>(type, dims, values, itsScale, zeroPoint);
  };
  switch (type) {
    case OperandType::TENSOR_FLOAT32: {
      std::vector<float> values(count);
      for (float& value : values) value = random().realBetween(low, high);
      return TestOperand::of<float>(type, dims, values);
    }
    case OperandType::TENSOR_FLOAT16: {
      std::vector<Float16> values(count);
      for (Float16& value : values) value = toFloat16(random().realBetween(low, high));
      return TestOperand::of<Float16>(type, dims, values);
    }
    case OperandType::TENSOR_INT32:
      return integers(int32_t{}, -50, 50, 0, 0);
    case OperandType::TENSOR_BOOL8:
      return integers(uint8_t{}, 0, 1, 0, 0);
    case OperandType::TENSOR_QUANT16_SYMM:
      return integers(int16_t{}, -32768, 32767, scale / 256, 0);
    case OperandType::TENSOR_QUANT16_ASYMM:
      return integers(uint16_t{}, 0, 65535, scale / 256, between(0, 65535));
    case OperandType::TENSOR_QUANT8_SYMM:
      return integers(int8_t{}, -128, 127, scale, 0);
    case OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL:
      return random().perChannelFilter(
          dims, static_cast<uint32_t>(between(0, static_cast<int>(dims.size()) - 1)));
    default:
      return random().tensor(type, dims);
  }
}

size_t CaseBuilder::tensor(const Shape& dims, float low, float high) {
  if (source_ != nullptr && case_.inputs.size() < inputCount()) {
    std::optional<TestOperand> value = source_->valueFor(nextType(), dims, low, high);
    if (value) return add(std::move(*value));
  }
  return add(randomTensor(nextType(), dims, low, high));
}

size_t CaseBuilder::tensorLike(size_t i, const Shape& dims) {
  const Tensor& like = case_.inputs[i].tensor;
  TestOperand operand = randomTensor(nextType(), dims, -1, 1);
  operand.tensor.scale = like.scale;
  operand.tensor.zeroPoint = like.zeroPoint;
  return add(std::move(operand));
}

// An operand without a value also has a legal type.
void CaseBuilder::omit() {
  TestOperand operand = TestOperand::omitted(nextType());
  if (operandTypeTraits(nextType())->scale == ScaleRule::POSITIVE) operand.tensor.scale = 0.5f;
  add(std::move(operand));
}

size_t CaseBuilder::tensorOr(bool present, const Shape& dims) {
  if (present) return tensor(dims);
  omit();
  return case_.inputs.size() - 1;
}

void CaseBuilder::onlyQuantization(bool input, size_t operand, const Tensor& tensor) {
  if (tensor.scale == 0) return;
  case_.wrongQuantizations.push_back({input, operand, tensor.scale * 2, tensor.zeroPoint});
  const OperandTypeTraits& traits = *operandTypeTraits(tensor.type);
  if (traits.zeroPointMin == traits.zeroPointMax) return;
  const int32_t other = tensor.zeroPoint == traits.zeroPointMax ? -1 : 1;
  case_.wrongQuantizations.push_back({input, operand, tensor.scale, tensor.zeroPoint + other});
}

size_t CaseBuilder::coordinates(const Shape& dims, const std::vector<double>& values) {
  const OperandType type = nextType();
  const auto converted = [&]<typename T>(T, const auto& convert) {
    std::vector<T> result;
    for (double value : values) result.push_back(convert(value));
    return TestOperand::of<T>(type, dims, result);
  };
  if (type == OperandType::TENSOR_FLOAT32) {
    return add(converted(float{}, [](double x) { return static_cast<float>(x); }));
  }
  if (type == OperandType::TENSOR_FLOAT16) {
    return add(converted(Float16{}, [](double x) { return toFloat16(static_cast<float>(x)); }));
  }
  TestOperand operand =
      converted(int16_t{}, [](double x) { return static_cast<int16_t>(std::lround(x * 8)); });
  operand.tensor.scale = kEighth;
  const size_t index = add(std::move(operand));
  onlyQuantization(true, index, case_.inputs[index].tensor);
  return index;
}

size_t CaseBuilder::ints(const Shape& dims, const std::vector<int32_t>& values) {
  return add(TestOperand::of<int32_t>(OperandType::TENSOR_INT32, dims, values));
}

FuseCode CaseBuilder::activation() {
  const int code = case_.inputs[0].tensor.type == OperandType::TENSOR_INT32 ? 0 : between(0, 3);
  int32(code);
  wrongValue(4);
  wrongValue(-1);
  return static_cast<FuseCode>(code);
}

size_t CaseBuilder::axis(size_t rank, bool mayBeNegative) {
  const int limit = static_cast<int>(rank);
  const int value = between(mayBeNegative ? -limit : 0, limit - 1);
  if (nextType() == OperandType::INT32) {
    int32(value);
    wrongValue(limit);
    wrongValue(mayBeNegative ? -limit - 1 : -1);
  } else {
    intList({value});
  }
  return static_cast<size_t>(value < 0 ? value + limit : value);
}

int32_t CaseBuilder::positive(int low, int high) {
  const int value = between(low, high);
  int32(value);
  wrongValue(0);
  wrongValue(-1);
  return value;
}

size_t CaseBuilder::filter(const Shape& dims, uint32_t channelDim) {
  if (nextType() != OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) return tensor(dims);
  const size_t index = add(random().perChannelFilter(dims, channelDim));
  case_.channelDimInputs.push_back(index);
  return index;
}

void CaseBuilder::bias(size_t input, size_t filter, uint32_t channels) {
  const size_t index = add(random().bias(case_.inputs[input], case_.inputs[filter], channels));
  const float scale = case_.inputs[index].tensor.scale;
  // With scales per channel, the bias's own scale has no meaning.
  const bool isPerChannel =
      case_.inputs[filter].tensor.type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL;
  if (!isQuant8Asymm(case_.inputs[input].tensor.type) || isPerChannel) return;
  case_.wrongQuantizations.push_back({true, index, scale * 1.001f, 0});
}

void CaseBuilder::layout(std::vector<size_t> images, std::vector<size_t> outputs) {
  case_.layout = case_.inputs.size();
  case_.imageInputs = std::move(images);
  case_.imageOutputs = std::move(outputs);
  flag(false);
}

std::vector<size_t> CaseBuilder::legalRanks(int lowest) const {
  const OperandSpec& spec = tableSpec(signature_, case_.variant, true, case_.inputs.size());
  std::vector<size_t> ranks;
  for (size_t rank = static_cast<size_t>(lowest); rank <= 5; ++rank) {
    bool legal = spec.ranks.empty();
    for (const RankRule& rule : spec.ranks) legal = legal || (rank >= rule.min && rank <= rule.max);
    if (legal) ranks.push_back(rank);
  }
  return ranks;
}

size_t CaseBuilder::rankOf(int lowest) {
  const std::vector<size_t> ranks = legalRanks(lowest);
  if (ranks.empty()) {
    case_.problem = fmt::format("no rank from {} on is legal", lowest);
    return static_cast<size_t>(lowest);
  }
  return ranks[static_cast<size_t>(between(0, static_cast<int>(ranks.size()) - 1))];
}

Shape CaseBuilder::shape(int largest, int lowestRank) {
  if (source_ != nullptr && case_.inputs.size() < inputCount()) {
    std::optional<Shape> taken = source_->shapeFor(nextType(), legalRanks(lowestRank));
    if (taken) return *std::move(taken);
  }
  Shape result(rankOf(lowestRank));
  for (uint32_t& d : result) d = size(1, largest);
  return result;
}

void CaseBuilder::out(double magnitude) {
  const OperandType type = outputType(nextOutput());
  TestOperand output = random().output(type, magnitude);
  // No operation has rules for outputs of the other quantised types.
  case_.outputs.push_back(std::move(output));
}

void CaseBuilder::outLike(size_t input) {
  const size_t index = nextOutput();
  case_.outputs.push_back(outputLike(case_.inputs[input]));
  if (!isQuant8Asymm(outputType(index))) return;
  onlyQuantization(false, index, case_.outputs.back().tensor);
}

void CaseBuilder::outFixed(float scale, int32_t unsignedZeroPoint, int32_t signedZeroPoint) {
  const size_t index = nextOutput();
  const OperandType type = outputType(index);
  if (operandTypeTraits(type)->scale != ScaleRule::POSITIVE) return outPlain();
  const bool isUnsigned = type == OperandType::TENSOR_QUANT8_ASYMM;
  case_.outputs.push_back(
      TestOperand::output(type, scale, isUnsigned ? unsignedZeroPoint : signedZeroPoint));
  onlyQuantization(false, index, case_.outputs.back().tensor);
}

double CaseBuilder::spread(size_t i) const {
  const Tensor& tensor = case_.inputs[i].tensor;
  if (tensor.channelQuant != nullptr) return 70.0 * 0.026;
  return tensor.scale == 0 ? 1 : 90.0 * static_cast<double>(tensor.scale);
}

void CaseBuilder::outOfProducts(size_t a, size_t b, double terms) {
  out(spread(a) * spread(b) * std::sqrt(terms));
}

void CaseBuilder::batch(const std::vector<size_t>& inputs, const std::vector<size_t>& outputs) {
  for (size_t i : inputs) case_.batchInputs.push_back({i, 0});
  for (size_t i : outputs) case_.batchOutputs.push_back({i, 0});
}

}  // namespace halyard::ops::testing
