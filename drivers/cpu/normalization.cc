// Goes from the last operation back to what writes its inputs.
#include "normalization.h"

#include <algorithm>
#include <array>

#include "ops/reduction.h"

namespace halyard::cpudriver {
namespace {

using Pair = std::array<uint32_t, 2>;

class NormalizationMatcher {
 public:
  explicit NormalizationMatcher(const FusionGraph& graph) : graph_(graph) {}

  std::optional<RowNormalization> match(size_t last) {
    const uint32_t result = graph_.operation(last).outputs[0];
    const auto isForm = [&](uint32_t product, uint32_t other) {
      return attempt([&] { return isScaledDistance(product, other); }) ||
             isScaledValue(product, other);
    };
    const bool isFound = eitherOrder(arithmetic(result, OperationType::ADD), isForm);
    return isFound && isWhole(last) ? std::optional(found_) : std::nullopt;
  }

 private:
  // Whether f(a, b) or f(b, a). A failed attempt leaves found_ as it was.
  template <typename F>
  bool eitherOrder(const std::optional<Pair>& pair, const F& f) {
    if (!pair) return false;
    // No structured binding: older compilers let no lambda have one.
    const uint32_t a = (*pair)[0];
    const uint32_t b = (*pair)[1];
    return attempt([&] { return f(a, b); }) || attempt([&] { return f(b, a); });
  }
  template <typename F>
  bool attempt(const F& f) {
    RowNormalization before = found_;
    if (f()) return true;
    found_ = std::move(before);
    return false;
  }

  // The inputs of the operation of a type that writes `operand`; the operation is noted.
  const OperandIndexes* written(uint32_t operand, OperationType type) {
    const auto producer = graph_.producer(operand);
    if (!producer || graph_.definition(*producer).type != type) return nullptr;
    if (std::ranges::find(found_.before, *producer) == found_.before.end()) {
      found_.before.push_back(*producer);
    }
    return &graph_.operation(*producer).inputs;
  }

  // The two inputs of floats without an activation.
  std::optional<Pair> arithmetic(uint32_t operand, OperationType type) {
    const OperandIndexes* const inputs = written(operand, type);
    if (inputs == nullptr) return std::nullopt;
    const ops::Tensor& code = graph_.tensor((*inputs)[2]);
    if (graph_.tensor(operand).type != OperandType::TENSOR_FLOAT32 || code.data == nullptr ||
        *code.as<int32_t>() != 0) {
      return std::nullopt;
    }
    return Pair{(*inputs)[0], (*inputs)[1]};
  }

  // The tensor whose rows `operand` has the means of. The first mean tells what a row is.
  std::optional<uint32_t> meanOf(uint32_t operand) {
    const OperandIndexes* const inputs = written(operand, OperationType::MEAN);
    if (inputs == nullptr) return std::nullopt;
    const auto extent = rowExtent(graph_, *graph_.producer(operand));
    if (!extent || (found_.extent != 0 && *extent != found_.extent)) return std::nullopt;
    found_.extent = *extent;
    return (*inputs)[0];
  }

  // Whether `operand` is x - MEAN(x).
  bool isDistanceFromMean(uint32_t operand) {
    const auto terms = arithmetic(operand, OperationType::SUB);
    if (!terms || meanOf((*terms)[1]) != (*terms)[0]) return false;
    found_.input = (*terms)[0];
    return true;
  }

  // Whether `operand` is MEAN(d * d) + epsilon, with a d that isDistanceFromMean.
  bool isVariance(uint32_t operand) {
    return eitherOrder(arithmetic(operand, OperationType::ADD),
                       [&](uint32_t variance, uint32_t constant) {
                         const ops::Tensor& epsilon = graph_.tensor(constant);
                         if (epsilon.data == nullptr || epsilon.elementCount() != 1) return false;
                         found_.epsilon = *epsilon.as<float>();
                         const auto squares = meanOf(variance);
                         return squares && isSquareOfDistance(*squares);
                       });
  }

  bool isSquareOfDistance(uint32_t operand) {
    const auto factors = arithmetic(operand, OperationType::MUL);
    return factors && (*factors)[0] == (*factors)[1] && isDistanceFromMean((*factors)[0]);
  }

  // The same distance as that of the variance, perhaps computed twice.
  bool isDistanceOfInput(uint32_t operand) {
    const uint32_t input = found_.input;
    return isDistanceFromMean(operand) && found_.input == input;
  }

  // Whether `operand` is 1 / sqrt(variance + epsilon).
  bool isReciprocal(uint32_t operand) {
    const OperandIndexes* const inputs = written(operand, OperationType::RSQRT);
    return inputs != nullptr && isVariance((*inputs)[0]);
  }

  // Whether `operand` is (x - mean) / sqrt(variance + epsilon).
  bool isNormal(uint32_t operand) {
    if (const auto parts = arithmetic(operand, OperationType::DIV)) {
      const OperandIndexes* const root = written((*parts)[1], OperationType::SQRT);
      return root != nullptr && isVariance((*root)[0]) && isDistanceOfInput((*parts)[0]);
    }
    return eitherOrder(arithmetic(operand, OperationType::MUL),
                       [&](uint32_t distance, uint32_t reciprocal) {
                         return isReciprocal(reciprocal) && isDistanceOfInput(distance);
                       });
  }

  // normal * factors + summands
  bool isScaledDistance(uint32_t product, uint32_t summands) {
    found_.summands = summands;
    return eitherOrder(arithmetic(product, OperationType::MUL),
                       [&](uint32_t normal, uint32_t factors) {
                         found_.factors = factors;
                         return isNormal(normal);
                       });
  }

  // x * scale + (summands - mean * scale)
  bool isScaledValue(uint32_t product, uint32_t rest) {
    const auto terms = arithmetic(rest, OperationType::SUB);
    if (!terms) return false;
    found_.summands = (*terms)[0];
    return eitherOrder(arithmetic(product, OperationType::MUL), [&](uint32_t x, uint32_t scale) {
      return isScale(scale) && found_.input == x && isShift((*terms)[1], x, scale);
    });
  }

  // reciprocal * factors
  bool isScale(uint32_t operand) {
    return eitherOrder(arithmetic(operand, OperationType::MUL),
                       [&](uint32_t reciprocal, uint32_t factors) {
                         found_.factors = factors;
                         return isReciprocal(reciprocal);
                       });
  }

  // MEAN(x) * scale
  bool isShift(uint32_t operand, uint32_t x, uint32_t scale) {
    return eitherOrder(arithmetic(operand, OperationType::MUL), [&](uint32_t mean, uint32_t other) {
      return other == scale && meanOf(mean) == x;
    });
  }

  // Whether factors and summands are for the elements of a row, and nothing else reads the values
  // between.
  bool isWhole(size_t last) {
    const uint32_t result = graph_.operation(last).outputs[0];
    std::erase(found_.before, last);
    if (graph_.tensor(result).dims != graph_.tensor(found_.input).dims) return false;
    const auto isRow = [&](uint32_t operand) {
      const ops::Tensor& tensor = graph_.tensor(operand);
      const Shape& dims = graph_.tensor(found_.input).dims;
      // Of the last dimensions of x, of which the row is all elements.
      return tensor.type == OperandType::TENSOR_FLOAT32 && tensor.rank() <= dims.size() &&
             tensor.elementCount() == found_.extent &&
             std::ranges::all_of(tensor.dims, [](uint32_t extent) { return extent != 0; }) &&
             std::equal(tensor.dims.rbegin(), tensor.dims.rend(), dims.rbegin(),
                        [](uint32_t own, uint32_t of) { return own == 1 || own == of; });
    };
    if (!isRow(found_.factors) || !isRow(found_.summands)) return false;
    return std::ranges::all_of(found_.before, [&](size_t i) {
      const uint32_t value = graph_.operation(i).outputs[0];
      return !graph_.plan().outputPosition[value] &&
             graph_.plan().consumers[value] == readsWithin(value, last);
    });
  }

  uint32_t readsWithin(uint32_t value, size_t last) const {
    const auto readsOf = [&](size_t i) {
      return static_cast<uint32_t>(std::ranges::count(graph_.operation(i).inputs, value));
    };
    uint32_t reads = readsOf(last);
    for (const size_t i : found_.before) reads += readsOf(i);
    return reads;
  }

  const FusionGraph& graph_;
  RowNormalization found_;
};

}  // namespace

std::optional<RowNormalization> rowNormalizationAt(const FusionGraph& graph, size_t last) {
  if (graph.definition(last).type != OperationType::ADD) return std::nullopt;
  return NormalizationMatcher(graph).match(last);
}

}  // namespace halyard::cpudriver
