// Recipes of elementwise operations, on one tensor or on several broadcast ones.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include <cmath>

#include "ops/testing/legal_case.h"

namespace halyard::ops::testing::recipes {

using enum OperandType;

// Returns the real values of any operand's elements; integers without a scale are their own values.
inline std::vector<double> plainReals(const TestOperand& operand) {
  if (operand.tensor.type == TENSOR_INT32 && operand.tensor.scale == 0) {
    const auto values = operand.values<int32_t>();
    return {values.begin(), values.end()};
  }
  return realValues(operand);
}

inline Shape broadcastOf(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (size_t d = 0; d < result.size(); ++d) {
    const size_t rank = result.size();
    const uint32_t x = d + a.size() < rank ? 1 : a[d + a.size() - rank];
    const uint32_t y = d + b.size() < rank ? 1 : b[d + b.size() - rank];
    result[d] = x == 1 ? y : x;
  }
  return result;
}

// Applies f to the elements of inputs `first` and `first` + 1 for each element of the result.
template <typename F>
std::vector<double> broadcastReals(const LegalCase& legal, F f) {
  const Shape& a = legal.inputs[0].tensor.dims;
  const Shape& b = legal.inputs[1].tensor.dims;
  const Shape dims = broadcastOf(a, b);
  const std::vector<double> x = plainReals(legal.inputs[0]);
  const std::vector<double> y = plainReals(legal.inputs[1]);
  const auto at = [&](const std::vector<double>& values, const Shape& own,
                      const std::vector<size_t>& coordinates) {
    size_t index = 0;
    for (size_t d = 0; d < own.size(); ++d) {
      const size_t c = coordinates[d + dims.size() - own.size()];
      index = index * own[d] + (own[d] == 1 ? 0 : c);
    }
    return values[index];
  };
  std::vector<double> result;
  for (size_t i = 0; i < elementsOf(dims); ++i) {
    const std::vector<size_t> coordinates = coordinatesOf(i, dims);
    result.push_back(f(at(x, a, coordinates), at(y, b, coordinates)));
  }
  return result;
}

struct ShapePair {
  Shape a;
  Shape b;
};
inline ShapePair broadcastShapes(CaseBuilder& b) {
  const Shape result = b.shape();
  ShapePair pair = {result, result};
  for (size_t d = 0; d < result.size(); ++d) {
    const int choice = b.between(0, 4);
    if (choice == 0) pair.a[d] = 1;
    if (choice == 1) pair.b[d] = 1;
  }
  const auto drop = b.between(0, static_cast<int>(result.size()) - 1);
  if (b.coin()) {
    Shape& shorter = b.coin() ? pair.a : pair.b;
    shorter.erase(shorter.begin(), shorter.begin() + drop);
  }
  return pair;
}

// Both can be split along the first dimension if neither is broadcast along it.
inline void batchOfPair(CaseBuilder& b) {
  if (b.dims(0).size() == b.dims(1).size() && b.dims(0)[0] == b.dims(1)[0]) b.batch({0, 1}, {0});
}

template <typename F>
void arithmetic(CaseBuilder& b, F f) {
  const ShapePair shapes = broadcastShapes(b);
  b.tensor(shapes.a);
  const bool divides = b.type() == OperationType::DIV;
  if (divides && b.nextType() == TENSOR_INT32) {
    std::vector<int32_t> values(elementsOf(shapes.b));
    for (int32_t& value : values) value = b.between(1, 20) * (b.coin() ? 1 : -1);
    b.ints(shapes.b, values);
  } else {
    b.tensor(shapes.b, divides ? 0.25f : -1.0f, 1);
  }
  const FuseCode code = b.activation();
  if (b.type() == OperationType::MUL) {
    b.outOfProducts(0, 1, 1);
    const Tensor& out = b.legal().outputs[0].tensor;
    if (out.scale != 0) {
      const float product = b.input(0).tensor.scale * b.input(1).tensor.scale;
      b.legal().wrongQuantizations.push_back({false, 0, product * 0.5f, out.zeroPoint});
    }
  } else {
    b.out(b.spread(0) + b.spread(1));
  }
  batchOfPair(b);
  b.legal().expected = [f, code](const LegalCase& legal) {
    return broadcastReals(legal, [&](double x, double y) { return activated(f(x, y), code); });
  };
}
inline void add(CaseBuilder& b) {
  arithmetic(b, [](double x, double y) { return x + y; });
}
inline void sub(CaseBuilder& b) {
  arithmetic(b, [](double x, double y) { return x - y; });
}
inline void mul(CaseBuilder& b) {
  arithmetic(b, [](double x, double y) { return x * y; });
}
inline void div(CaseBuilder& b) {
  const bool floors = b.typeOf(0) == TENSOR_INT32;
  arithmetic(b, [floors](double x, double y) { return floors ? std::floor(x / y) : x / y; });
}

// The output may have a smaller scale than the product of the scales. There are no expected values,
// because the fixed-point arithmetic rounds twice for a ratio below one.
inline void quantizedMul(CaseBuilder& b) {
  const ShapePair shapes = broadcastShapes(b);
  b.tensor(shapes.a);
  b.tensor(shapes.b);
  b.activation();
  b.out(b.spread(0) * b.spread(1) * b.random().realBetween(0.001f, 1));
  batchOfPair(b);
}

// One tensor of the same shape as the output, whose quantisation is free.
inline void unary(CaseBuilder& b) {
  b.tensor(b.shape(), -4, 4);
  b.out(4);
  b.batch({0}, {0});
}
inline void unaryOfPositive(CaseBuilder& b) {
  b.tensor(b.shape(), 0.125f, 4);
  b.out(2);
  b.batch({0}, {0});
}
inline void unaryLike(CaseBuilder& b) {
  b.tensor(b.shape(), -8, 8);
  b.outLike(0);
  b.batch({0}, {0});
}
inline void logistic(CaseBuilder& b) {
  b.tensor(b.shape(), -4, 4);
  b.outFixed(1.0f / 256, 0, -128);
  b.batch({0}, {0});
}
inline void tanh(CaseBuilder& b) {
  b.tensor(b.shape(), -4, 4);
  b.outFixed(1.0f / 128, 128, 0);
  b.batch({0}, {0});
}
inline void elu(CaseBuilder& b) {
  b.tensor(b.shape(), -4, 4);
  b.real(b.random().realBetween(0.25f, 2));
  b.out();
  b.batch({0}, {0});
}
// Each row of the dimensions from an axis on has its own range.
inline void roundToDynamicRange(CaseBuilder& b) {
  const Shape dims = b.shape();
  b.tensor(dims, -4, 4);
  const int32_t axis = b.between(0, static_cast<int>(dims.size()) - 1);
  b.int32(axis);
  b.wrongValue(static_cast<int>(dims.size()));
  b.wrongValue(-1);
  b.outPlain();
  if (axis > 0) b.batch({0}, {0});
}

inline void comparison(CaseBuilder& b) {
  const ShapePair shapes = broadcastShapes(b);
  b.tensor(shapes.a);
  b.tensor(shapes.b);
  b.outPlain();
  batchOfPair(b);
}
inline void extremum(CaseBuilder& b) {
  const ShapePair shapes = broadcastShapes(b);
  b.tensor(shapes.a);
  b.tensor(shapes.b);
  b.out(b.spread(0));
  batchOfPair(b);
}
inline void pow(CaseBuilder& b) {
  const ShapePair shapes = broadcastShapes(b);
  b.tensor(shapes.a, 0.125f, 3);
  b.tensor(shapes.b, -2, 2);
  b.outPlain();
  batchOfPair(b);
}
inline void prelu(CaseBuilder& b) {
  const ShapePair shapes = broadcastShapes(b);
  b.tensor(shapes.a);
  b.tensor(shapes.b);
  b.out(b.spread(0) * std::max(1.0, b.spread(1)));
  batchOfPair(b);
}
inline void select(CaseBuilder& b) {
  const Shape shape = b.shape();
  for (int i = 0; i < 3; ++i) b.tensor(shape);
  b.out(b.spread(1));
  b.batch({0, 1, 2}, {0});
}
inline void logicalNot(CaseBuilder& b) {
  b.tensor(b.shape());
  b.outPlain();
  b.batch({0}, {0});
}

inline void quantize(CaseBuilder& b) {
  b.tensor(b.shape(), -3, 3);
  b.out(2);
  b.batch({0}, {0});
}
inline void dequantize(CaseBuilder& b) {
  b.tensor(b.shape());
  b.outPlain();
  if (b.typeOf(0) != TENSOR_QUANT8_SYMM_PER_CHANNEL) b.batch({0}, {0});
}
// The operation ignores quantisations, which nearly all types must have.
inline void cast(CaseBuilder& b) {
  b.tensor(b.shape(), -300, 300);
  const bool scaled = operandTypeTraits(b.outputType(0))->scale == ScaleRule::POSITIVE;
  b.legal().outputs.push_back(TestOperand::output(b.outputType(0), scaled ? 0.5f : 0));
  b.batch({0}, {0});
}

}  // namespace halyard::ops::testing::recipes
