// Layer normalisations that models spell out, against the executor, which computes the operations.
#include <gtest/gtest.h>

#include "fusion_for_test.h"
#include "model_for_test.h"

namespace halyard::cpudriver {
namespace {

using testing::Builder;
using testing::expectSteps;
using enum OperationType;

enum class Form { RECIPROCAL, QUOTIENT, SCALE };

struct NormalizationCase {
  Shape dims;
  std::vector<int32_t> axes = {-1};
  Shape factors = {};  // the dimensions of factors and summands; empty: a row
  Form form = Form::RECIPROCAL;
  bool isSwapped = false;  // the inputs of sums and products
  bool isShared = false;   // an output of the model is the variance
  bool repeatsTheDistance = false;
};

class NormalizationModel {
 public:
  explicit NormalizationModel(const NormalizationCase& test) : test_(test), ones_(test.dims) {
    for (const int32_t axis : test.axes) {
      const auto rank = static_cast<int32_t>(ones_.size());
      ones_[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = 1;
    }
  }

  std::shared_ptr<const Model> build() {
    const uint32_t x = builder_.input(test_.dims);
    const uint32_t mean = meanOf(x);
    const uint32_t distance = apply(SUB, x, mean, test_.dims);
    const uint32_t variance = meanOf(apply(MUL, distance, distance, test_.dims));
    const uint32_t sum = apply(ADD, variance, builder_.floats({1}, {1e-3f}), ones_);
    const uint32_t again = test_.repeatsTheDistance ? apply(SUB, x, mean, test_.dims) : distance;
    finish(x, mean, again, sum);
    if (test_.isShared) builder_.operation(NEG, {variance}, {builder_.output(ones_)});
    return builder_.take();
  }

 private:
  uint32_t apply(OperationType type, uint32_t a, uint32_t b, const Shape& dims) {
    const uint32_t result = builder_.tensor(dims);
    applyTo(type, a, b, result);
    return result;
  }
  void applyTo(OperationType type, uint32_t a, uint32_t b, uint32_t result) {
    if (test_.isSwapped && (type == ADD || type == MUL)) std::swap(a, b);
    builder_.operation(type, {a, b, builder_.int32(0)}, {result});
  }
  uint32_t meanOf(uint32_t x) {
    const uint32_t result = builder_.tensor(ones_);
    const auto count = static_cast<uint32_t>(test_.axes.size());
    builder_.operation(MEAN, {x, builder_.int32s({count}, test_.axes), builder_.int32(1)},
                       {result});
    return result;
  }
  uint32_t function(OperationType type, uint32_t x) {
    const uint32_t result = builder_.tensor(ones_);
    builder_.operation(type, {x}, {result});
    return result;
  }

  void finish(uint32_t x, uint32_t mean, uint32_t distance, uint32_t variance) {
    Shape row = test_.factors;
    if (row.empty()) row = {test_.dims.back()};
    const uint32_t factors = builder_.constant(row);
    const uint32_t summands = builder_.constant(row);
    const uint32_t result = builder_.output(test_.dims);
    if (test_.form == Form::SCALE) {
      Shape scaleDims = ones_;
      for (size_t i = 0; i < row.size(); ++i) {
        uint32_t& extent = scaleDims[scaleDims.size() - 1 - i];
        extent = std::max(extent, row[row.size() - 1 - i]);
      }
      const uint32_t scale = apply(MUL, function(RSQRT, variance), factors, scaleDims);
      const uint32_t shift = apply(MUL, mean, scale, scaleDims);
      applyTo(ADD, apply(MUL, x, scale, test_.dims), apply(SUB, summands, shift, scaleDims),
              result);
      return;
    }
    const uint32_t normal = test_.form == Form::QUOTIENT
                                ? apply(DIV, distance, function(SQRT, variance), test_.dims)
                                : apply(MUL, distance, function(RSQRT, variance), test_.dims);
    applyTo(ADD, apply(MUL, normal, factors, test_.dims), summands, result);
  }

  const NormalizationCase test_;
  Shape ones_;
  Builder builder_;
};

void expectStepsOf(const NormalizationCase& test, size_t steps) {
  expectSteps(NormalizationModel(test).build(), steps);
}

TEST(NormalizationTest, IsOneStepInEachForm) {
  for (const Form form : {Form::RECIPROCAL, Form::QUOTIENT, Form::SCALE}) {
    for (const bool isSwapped : {false, true}) {
      SCOPED_TRACE(fmt::format("form {}, swapped {}", static_cast<int>(form), isSwapped));
      expectStepsOf({{2, 5, 384}, {-1}, {}, form, isSwapped}, 1);
      expectStepsOf({{1, 7, 33}, {2}, {1, 1, 33}, form, isSwapped}, 1);
      expectStepsOf({{2, 3, 4, 5}, {2, 3}, {4, 5}, form, isSwapped}, 1);
    }
  }
  NormalizationCase twice = {{4, 100}};
  twice.repeatsTheDistance = true;
  expectStepsOf(twice, 1);
  twice.form = Form::QUOTIENT;
  expectStepsOf(twice, 1);
}

TEST(NormalizationTest, IsComputedByOperationsOtherwise) {
  NormalizationCase shared = {{4, 100}};
  shared.isShared = true;
  expectStepsOf(shared, 10);
  // Rows that are not the last dimensions, and factors that are not those of a row.
  expectStepsOf({{5, 6}, {0}}, 9);
  expectStepsOf({{4, 5, 6}, {2}, {5, 6}}, 9);
  expectStepsOf({{4, 5, 6}, {1, 2}, {6}}, 9);
  expectStepsOf({{4, 6}, {1}, {1}, Form::SCALE}, 11);
  // Rows of one element.
  expectStepsOf({{3, 1}, {1}}, 9);
}

}  // namespace
}  // namespace halyard::cpudriver
