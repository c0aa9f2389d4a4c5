#include "accuracy/accuracy.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/float16.h"

namespace halyard::accuracy {
namespace {

struct Limits {
  double bias;
  double meanSquare;
  double absolute;
  double relative;
};

// Indexed by Scope.
constexpr Limits kFloat32[] = {
    {1e-7, 1e-10, 1e-6, 1e-6}, {1e-6, 1e-8, 1e-5, 1e-5}, {3e-5, 1e-6, 1e-3, 1e-3},
    {4e-4, 1e-5, 2e-2, 2e-2},  {4e-4, 1e-5, 1e-2, 1e-2}, {1e-2, 1e-4, 1e-1, 1e-1},
};
constexpr Limits kFloat16[] = {
    {1e-4, 1e-8, 1e-3, 1e-3}, {1e-3, 1e-5, 1e-2, 1e-2}, {5e-3, 1e-3, 1, 1},
    {5e-2, 1e-2, 1, 1},       {5e-2, 1e-2, 1, 1},       {1e-1, 5e-2, 1, 1},
};
constexpr Limits kQuantised[] = {
    {0.1, 0.1, 1, 0},  {1.2, 1.2, 2, 0}, {1.5, 1.5, 10, 0},
    {1.5, 1.5, 10, 0}, {2, 2, 12, 0},    {2, 2, 12, 0},
};
// NNAPI allows these differences even where no operation rounds, and so misses many errors. Here
// they apply only to results computed from rounded values.
constexpr double kIntegers[] = {0, 1, 1, 1, 1, 1};
constexpr double kBooleanMismatches[] = {0, 0, 0, 0, 0.1, 0.1};

template <typename T>
double numberAt(std::span<const uint8_t> bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

enum class Kind : uint8_t { FLOAT, QUANTISED, INTEGER, OTHER };

Kind kindOf(OperandType type) {
  switch (type) {
    case OperandType::FLOAT32:
    case OperandType::TENSOR_FLOAT32:
    case OperandType::FLOAT16:
    case OperandType::TENSOR_FLOAT16:
      return Kind::FLOAT;
    case OperandType::INT32:
    case OperandType::UINT32:
    case OperandType::TENSOR_INT32:
      return Kind::INTEGER;
    case OperandType::TENSOR_QUANT8_ASYMM:
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
    case OperandType::TENSOR_QUANT8_SYMM:
    case OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL:
    case OperandType::TENSOR_QUANT16_SYMM:
    case OperandType::TENSOR_QUANT16_ASYMM:
      return Kind::QUANTISED;
    default:
      return Kind::OTHER;
  }
}

bool isHalf(OperandType type) {
  return type == OperandType::FLOAT16 || type == OperandType::TENSOR_FLOAT16;
}

Criteria fromLimits(const Limits& limits) {
  return {limits.absolute, limits.relative, limits.bias, limits.meanSquare};
}

// Sums up the values of a Comparison.
class Accumulator {
 public:
  Accumulator(Kind kind, const Criteria& criteria) : kind_(kind), criteria_(criteria) {}

  void add(size_t index, double expected, double actual) {
    const bool isFloat = kind_ == Kind::FLOAT;
    if (isFloat && !(std::fabs(expected) <= criteria_.largest)) {
      ++result_.skipped;
      return;
    }
    const double difference = std::isnan(actual) ? INFINITY : actual - expected;
    const double size = std::fabs(difference);
    const double share = isFloat ? difference / std::max(1.0, std::fabs(expected)) : difference;
    bias_ += share;
    squares_ += share * share;
    if (size > criteria_.absolute + criteria_.relative * std::fabs(expected)) {
      if (result_.differing++ == 0) {
        result_.firstDiffering = index;
        result_.firstExpected = expected;
        result_.firstActual = actual;
      }
    }
    const double least = isFloat ? 1e-6 : 1;
    result_.largestAbsolute = std::max(result_.largestAbsolute, size);
    result_.largestRelative =
        std::max(result_.largestRelative, size / std::max(std::fabs(expected), least));
  }

  Comparison finish(size_t elements) {
    result_.elements = elements;
    const size_t compared = elements - result_.skipped;
    if (compared > 0) {
      result_.bias = std::fabs(bias_ / static_cast<double>(compared));
      result_.meanSquare = squares_ / static_cast<double>(compared);
    }
    const bool hasMeans = compared >= kFewestForMeans;
    const bool biased = hasMeans && criteria_.bias && !(result_.bias <= *criteria_.bias);
    const bool scattered =
        hasMeans && criteria_.meanSquare && !(result_.meanSquare <= *criteria_.meanSquare);
    const double allowed = std::ceil(criteria_.mismatches * static_cast<double>(compared));
    const bool differs = static_cast<double>(result_.differing) > allowed;
    result_.failed = differs || biased || scattered;
    describe(differs, biased, scattered, compared);
    return result_;
  }

 private:
  void describe(bool differs, bool biased, bool scattered, size_t compared) {
    std::string& text = result_.text;
    if (differs) {
      text = fmt::format(
          "element {} is {}, expected {}; {} of {} elements differ by more than {} + {} of the "
          "expected value, ",
          result_.firstDiffering, result_.firstActual, result_.firstExpected, result_.differing,
          compared, criteria_.absolute, criteria_.relative);
    }
    text +=
        fmt::format("largest error {:.6g} ({:.6g} relative), bias {:.6g}{}, mean square {:.6g}{}",
                    result_.largestAbsolute, result_.largestRelative, result_.bias,
                    biased ? fmt::format(" (at most {})", *criteria_.bias) : "", result_.meanSquare,
                    scattered ? fmt::format(" (at most {})", *criteria_.meanSquare) : "");
  }

  const Kind kind_;
  const Criteria& criteria_;
  Comparison result_;
  double bias_ = 0;
  double squares_ = 0;
};

size_t countOperations(const Model& model) {
  size_t count = model.main.operations.size();
  for (const Subgraph& subgraph : model.referenced) count += subgraph.operations.size();
  return count;
}

Scope scopeOf(ops::Precision precision) {
  switch (precision) {
    case ops::Precision::EXACT:
      return Scope::EXACT;
    case ops::Precision::ROUNDED:
      return Scope::ROUNDED;
    case ops::Precision::APPROXIMATE:
      return Scope::APPROXIMATE;
    case ops::Precision::SUMS:
      return Scope::SUMS;
  }
  return Scope::APPROXIMATE;
}

}  // namespace

std::string_view scopeName(Scope scope) {
  constexpr std::string_view kNames[] = {"exact", "rounded",     "approximate",
                                         "sums",  "small graph", "large graph"};
  return kNames[static_cast<size_t>(scope)];
}

Criteria criteriaFor(OperandType type, Scope scope, bool relaxed) {
  const auto index = static_cast<size_t>(scope);
  switch (kindOf(type)) {
    case Kind::FLOAT:
      // Operations that only move elements do not round them either.
      if (relaxed || isHalf(type)) return fromLimits(kFloat16[index]);
      return fromLimits(kFloat32[index]);
    case Kind::QUANTISED:
      return fromLimits(kQuantised[index]);
    case Kind::INTEGER:
      return {kIntegers[index], 0, std::nullopt, std::nullopt};
    case Kind::OTHER:
      break;
  }
  return {0, 0, std::nullopt, std::nullopt, kBooleanMismatches[index]};
}

Scope scopeOf(const Model& model) {
  const size_t count = countOperations(model);
  if (count > kSmallGraph) return Scope::LARGE_GRAPH;
  if (count != 1 || model.main.operations.empty()) return Scope::SMALL_GRAPH;
  const ops::OperationDefinition* definition = ops::definitionOf(model.main.operations[0].type);
  return definition == nullptr ? Scope::APPROXIMATE : scopeOf(precisionOf(*definition));
}

bool isNondeterministic(const Model& model) {
  const auto isRandom = [](const Operation& operation) {
    const ops::OperationDefinition* definition = ops::definitionOf(operation.type);
    return definition != nullptr && definition->isRandom;
  };
  const auto anyRandom = [&](const Subgraph& subgraph) {
    return std::ranges::any_of(subgraph.operations, isRandom);
  };
  return anyRandom(model.main) || std::ranges::any_of(model.referenced, anyRandom);
}

double elementNumber(OperandType type, std::span<const uint8_t> bytes, size_t index) {
  switch (type) {
    case OperandType::FLOAT32:
    case OperandType::TENSOR_FLOAT32:
      return numberAt<float>(bytes, index);
    case OperandType::FLOAT16:
    case OperandType::TENSOR_FLOAT16: {
      Float16 half;
      std::memcpy(&half, bytes.data() + index * sizeof(half), sizeof(half));
      return toFloat(half);
    }
    case OperandType::INT32:
    case OperandType::TENSOR_INT32:
      return numberAt<int32_t>(bytes, index);
    case OperandType::UINT32:
      return numberAt<uint32_t>(bytes, index);
    case OperandType::TENSOR_QUANT16_SYMM:
      return numberAt<int16_t>(bytes, index);
    case OperandType::TENSOR_QUANT16_ASYMM:
      return numberAt<uint16_t>(bytes, index);
    case OperandType::TENSOR_QUANT8_SYMM:
    case OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL:
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return numberAt<int8_t>(bytes, index);
    default:
      return bytes[index];
  }
}

Comparison compareValues(OperandType type, const Criteria& criteria,
                         std::span<const uint8_t> expected, std::span<const uint8_t> actual) {
  Comparison wrongSize;
  if (expected.size() != actual.size()) {
    wrongSize.failed = true;
    wrongSize.text = fmt::format("{} bytes, expected {}", actual.size(), expected.size());
    return wrongSize;
  }
  const Kind kind = kindOf(type);
  const bool isBoolean = type == OperandType::BOOL || type == OperandType::TENSOR_BOOL8;
  const size_t size = kind == Kind::OTHER ? 1 : elementSize(type);
  const size_t count = expected.size() / size;
  Accumulator accumulator(kind, criteria);
  for (size_t i = 0; i < count; ++i) {
    const double e = elementNumber(type, expected, i);
    const double a = elementNumber(type, actual, i);
    if (isBoolean) {
      // Any byte except 0 is true.
      accumulator.add(i, e != 0, a != 0);
    } else {
      accumulator.add(i, e, a);
    }
  }
  return accumulator.finish(count);
}

}  // namespace halyard::accuracy
