// Compares outputs with the expected values.
#include <cmath>

#include "accuracy/accuracy.h"
#include "conformance/vectors.h"

namespace halyard::conformance {
namespace {

// |actual - expected| <= absolute + relative * |expected|
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

constexpr double kHalfPrecision = 5.0 / (1 << 10);

Tolerance toleranceOf(OperandType type, bool relaxed) {
  switch (type) {
    case OperandType::FLOAT32:
    case OperandType::TENSOR_FLOAT32:
      if (relaxed) return {kHalfPrecision, kHalfPrecision};
      return {1e-5, 5.0 / (1 << 23)};
    case OperandType::FLOAT16:
    case OperandType::TENSOR_FLOAT16:
      return {kHalfPrecision, kHalfPrecision};
    case OperandType::TENSOR_QUANT8_ASYMM:
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
    case OperandType::TENSOR_QUANT8_SYMM:
    case OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL:
    case OperandType::TENSOR_QUANT16_SYMM:
    case OperandType::TENSOR_QUANT16_ASYMM:
      return {1, 0};
    default:
      return {};
  }
}

bool isWithin(double expected, double actual, Tolerance tolerance) {
  // Infinities are equal; their difference would be NaN.
  if (expected == actual) return true;
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) == std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return false;
  return std::fabs(actual - expected) <=
         tolerance.absolute + tolerance.relative * std::fabs(expected);
}

// Returns the coordinates of an element, such as "[1,0,2]".
std::string coordinates(size_t index, const Shape& dims) {
  std::vector<size_t> at(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    at[i] = index % dims[i];
    index /= dims[i];
  }
  return fmt::format("[{}]", fmt::join(at, ","));
}

Status compareElements(OperandType type, bool relaxed, const VectorOutput& expected,
                       const ActualOutput& actual) {
  const size_t size = elementSize(type);
  if (size == 0) return opFailed("values of {} cannot be compared", operandTypeName(type));
  const Tolerance tolerance = toleranceOf(type, relaxed);
  const size_t count = expected.bytes.size() / size;
  size_t differing = 0;
  size_t first = 0;
  double largest = 0;
  for (size_t i = 0; i < count; ++i) {
    const double e = accuracy::elementNumber(type, expected.bytes, i);
    const double a = accuracy::elementNumber(type, actual.bytes, i);
    if (isWithin(e, a, tolerance)) continue;
    if (differing++ == 0) first = i;
    // A comparison with NaN is false, so NaN is ignored.
    if (const double error = std::fabs(a - e); error > largest) largest = error;
  }
  if (differing == 0) return okStatus();
  return opFailed(
      "element {} {} is {}, expected {}; {} of {} elements differ, by up to {} (tolerance {} + {} "
      "of the expected value)",
      first, coordinates(first, expected.dims), accuracy::elementNumber(type, actual.bytes, first),
      accuracy::elementNumber(type, expected.bytes, first), differing, count, largest,
      tolerance.absolute, tolerance.relative);
}

// Returns exp(x) divided by its sum, for one row of log-probabilities.
std::vector<double> probabilities(const Operand& operand, const std::vector<uint8_t>& bytes,
                                  size_t row, size_t classes) {
  std::vector<double> result(classes);
  double largest = -INFINITY;
  for (size_t c = 0; c < classes; ++c) {
    result[c] = accuracy::elementNumber(operand.type, bytes, row * classes + c);
    largest = std::fmax(largest, result[c]);
  }
  double sum = 0;
  for (double& value : result) sum += value = std::exp(value - largest);
  for (double& value : result) value /= sum;
  return result;
}

Status compareFrequencies(const VectorCase& vectorCase, const VectorOutput& expected,
                          const ActualOutput& actual) {
  const Subgraph& main = vectorCase.model.main;
  if (vectorCase.inputs.empty()) return badData("a multinomial case without inputs");
  const Operand& input = main.operands[main.inputIndexes[0]];
  const std::vector<uint8_t>& logits = vectorCase.inputs[0].bytes;
  const Shape& inputDims = input.dimensions;
  if (inputDims.size() != 2 || expected.dims.size() != 2 || inputDims[0] != expected.dims[0] ||
      inputDims[1] == 0 || expected.dims[1] == 0 || vectorCase.inputs[0].omitted) {
    return badData(
        "a multinomial case has input {} and output {}, expected [batches, classes] and "
        "[batches, samples]",
        shapeText(inputDims), shapeText(expected.dims));
  }
  const size_t classes = inputDims[1];
  const size_t samples = expected.dims[1];
  if (logits.size() != size_t{inputDims[0]} * classes * elementSize(input.type) ||
      actual.bytes.size() != size_t{inputDims[0]} * samples * sizeof(int32_t)) {
    return badData("a multinomial case has {} bytes of input and {} of output", logits.size(),
                   actual.bytes.size());
  }
  for (size_t row = 0; row < inputDims[0]; ++row) {
    const std::vector<double> wanted = probabilities(input, logits, row, classes);
    std::vector<size_t> drawn(classes);
    for (size_t i = 0; i < samples; ++i) {
      const auto value = static_cast<int32_t>(
          accuracy::elementNumber(OperandType::TENSOR_INT32, actual.bytes, row * samples + i));
      if (value < 0 || static_cast<size_t>(value) >= classes) {
        return opFailed("sample {} of batch {} is class {} of {}", i, row, value, classes);
      }
      ++drawn[static_cast<size_t>(value)];
    }
    for (size_t c = 0; c < classes; ++c) {
      const double frequency = static_cast<double>(drawn[c]) / static_cast<double>(samples);
      if (!(std::fabs(frequency - wanted[c]) <= vectorCase.multinomialTolerance)) {
        return opFailed("batch {}: class {} has frequency {}, expected {} (tolerance {})", row, c,
                        frequency, wanted[c], vectorCase.multinomialTolerance);
      }
    }
  }
  return okStatus();
}

Status compareOutput(const VectorCase& vectorCase, size_t index, const ActualOutput& actual) {
  const VectorOutput& expected = vectorCase.outputs[index];
  const Subgraph& main = vectorCase.model.main;
  const OperandType type = main.operands[main.outputIndexes[index]].type;
  if (actual.dims != expected.dims) {
    return opFailed("dimensions are [{}], expected [{}]", fmt::join(actual.dims, ","),
                    fmt::join(expected.dims, ","));
  }
  if (expected.ignored) return okStatus();
  if (actual.bytes.size() != expected.bytes.size()) {
    return opFailed("has {} bytes, expected {}", actual.bytes.size(), expected.bytes.size());
  }
  if (vectorCase.multinomialTolerance > 0) {
    return compareFrequencies(vectorCase, expected, actual);
  }
  return compareElements(type, vectorCase.relaxed, expected, actual);
}

}  // namespace

Status compare(const VectorCase& vectorCase, std::span<const ActualOutput> actual) {
  if (vectorCase.expectFailure) return opFailed("ran, expected an error");
  if (actual.size() != vectorCase.outputs.size()) {
    return opFailed("{} outputs, expected {}", actual.size(), vectorCase.outputs.size());
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(compareOutput(vectorCase, i, actual[i]), "output {}", i);
  }
  return okStatus();
}

}  // namespace halyard::conformance
