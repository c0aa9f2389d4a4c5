// Recipes of convolutions, pooling, resizing, matrix products and normalisations.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include "ops/testing/plain_convolution.h"
#include "ops/testing/recipes_elementwise.h"

namespace halyard::ops::testing::recipes {

inline uint32_t asSize(int value) { return static_cast<uint32_t>(value); }

// The image comes first in the list, but its size depends on the window, whose scalars follow the
// filter. So the window is drawn first.
inline TestWindow drawWindow(CaseBuilder& b, size_t leastInputs, bool mayDilate) {
  TestWindow window;
  window.explicitPadding = b.isForm("explicit padding");
  window.scheme = b.between(1, 2);
  window.layoutGiven = b.inputCount() > leastInputs;
  window.dilationsGiven = mayDilate && b.inputCount() > leastInputs + 1;
  window.height =
      randomAxis(b.random(), window.explicitPadding, window.scheme, window.dilationsGiven);
  window.width =
      randomAxis(b.random(), window.explicitPadding, window.scheme, window.dilationsGiven);
  return window;
}

inline void addWindow(CaseBuilder& b, const TestWindow& window) {
  std::vector<TestOperand> scalars;
  window.appendPaddingAndStrides(scalars);
  for (size_t i = 0; i < scalars.size(); ++i) {
    b.add(std::move(scalars[i]));
    const bool isStride = i + 2 >= scalars.size();
    if (isStride) b.wrongValue(0);
    if (isStride || window.explicitPadding) b.wrongValue(-1);
  }
}

inline void addWindowTail(CaseBuilder& b, const TestWindow& window) {
  if (window.layoutGiven) b.layout({0}, {0});
  if (!window.dilationsGiven) return;
  b.int32(window.width.dilation);
  b.wrongValue(0);
  b.int32(window.height.dilation);
  b.wrongValue(-1);
}

inline std::vector<double> activatedAll(std::vector<double> values, FuseCode code) {
  for (double& value : values) value = activated(value, code);
  return values;
}

enum class Conv { PLAIN, GROUPED, DEPTHWISE };

inline void convolution(CaseBuilder& b, Conv kind) {
  const size_t scalars = (kind == Conv::PLAIN ? 1 : 2) + (b.isForm("explicit padding") ? 6 : 3);
  TestWindow window = drawWindow(b, 3 + scalars, kind != Conv::GROUPED);
  const int groups = kind == Conv::GROUPED ? b.between(1, 3) : 1;
  const int share = b.between(1, 4);
  const int depth = groups * share;
  const int multiplier = kind == Conv::DEPTHWISE ? b.between(1, 3) : b.between(1, 4);
  const int channels = kind == Conv::DEPTHWISE ? depth * multiplier : groups * multiplier;
  b.tensor({b.size(1, 3), asSize(window.height.input), asSize(window.width.input), asSize(depth)});
  const uint32_t height = asSize(window.height.filter);
  const uint32_t width = asSize(window.width.filter);
  if (kind == Conv::DEPTHWISE) {
    b.filter({1, height, width, asSize(channels)}, 3);
  } else {
    b.filter({asSize(channels), height, width, asSize(share)}, 0);
  }
  b.bias(0, 1, asSize(channels));
  addWindow(b, window);
  if (kind == Conv::GROUPED) {
    b.int32(groups);
    b.wrongValue(0);
    b.wrongValue(groups + 1);
  } else if (kind == Conv::DEPTHWISE) {
    b.int32(multiplier);
    b.wrongValue(0);
    b.wrongValue(multiplier + 1);
  }
  const FuseCode code = b.activation();
  addWindowTail(b, window);
  const double terms = window.height.filter * window.width.filter * share;
  b.outOfProducts(0, 1, terms);
  b.batch({0}, {0});
  b.legal().slack = 0x1p-22 * terms;
  b.legal().expected = [=](const LegalCase& legal) {
    std::vector<double> weights = realValues(legal.inputs[1]);
    const int parts = kind == Conv::DEPTHWISE ? depth : groups;
    if (kind == Conv::DEPTHWISE) weights = depthwiseAsGrouped(weights, asSize(channels));
    return activatedAll(convolved(window, depth, parts, realValues(legal.inputs[0]), weights,
                                  biasReals(legal.inputs[2], legal.inputs[0], legal.inputs[1])),
                        code);
  };
}
inline void conv2d(CaseBuilder& b) { convolution(b, Conv::PLAIN); }
inline void groupedConv2d(CaseBuilder& b) { convolution(b, Conv::GROUPED); }
inline void depthwiseConv2d(CaseBuilder& b) { convolution(b, Conv::DEPTHWISE); }

inline TestAxis transposedAxis(CaseBuilder& b, bool explicitPadding, int scheme) {
  TestAxis axis;
  axis.filter = b.between(1, 4);
  axis.stride = b.between(1, 3);
  axis.input = b.between(1, 4);
  if (explicitPadding) {
    axis.padBefore = b.between(0, axis.filter - 1);
    axis.padAfter = b.between(-2, 0);
  } else if (scheme == 1) {
    // The output is `stride` times the input.
    const int surplus = std::max(axis.filter - axis.stride, 0);
    axis.padBefore = surplus / 2;
    axis.padAfter = axis.filter - axis.stride - axis.padBefore;
  }
  axis.output = (axis.input - 1) * axis.stride + axis.filter - axis.padBefore - axis.padAfter;
  return axis;
}

inline void transposeConv2d(CaseBuilder& b) {
  TestWindow window;
  window.explicitPadding = b.isForm("explicit padding");
  window.scheme = b.between(1, 2);
  window.layoutGiven = true;
  window.height = transposedAxis(b, window.explicitPadding, window.scheme);
  window.width = transposedAxis(b, window.explicitPadding, window.scheme);
  const int depth = b.between(1, 4);
  const uint32_t channels = b.size(1, 5);
  b.tensor({b.size(1, 3), asSize(window.height.input), asSize(window.width.input), asSize(depth)});
  b.filter({channels, asSize(window.height.filter), asSize(window.width.filter), asSize(depth)}, 0);
  b.bias(0, 1, channels);
  if (!window.explicitPadding) {
    b.legal().shapeInput = 3;
    b.intList({static_cast<int>(b.dims(0)[0]), window.height.output, window.width.output,
               static_cast<int>(channels)});
  }
  std::vector<TestOperand> scalars;
  window.appendPaddingAndStrides(scalars);
  for (size_t i = 0; i < scalars.size(); ++i) {
    b.add(std::move(scalars[i]));
    // Padding on the right and at the bottom may be negative.
    const bool isStride = i + 2 >= scalars.size();
    if (isStride) b.wrongValue(0);
    if (isStride || (window.explicitPadding && i % 2 == 0)) b.wrongValue(-1);
  }
  const FuseCode code = b.activation();
  b.layout({0}, {0});
  const double terms = window.height.filter * window.width.filter * depth;
  b.outOfProducts(0, 1, terms);
  b.batch({0}, {0});
  b.legal().slack = 0x1p-22 * terms;
  b.legal().expected = [=](const LegalCase& legal) {
    return activatedAll(
        transposeConvolved(window, depth, realValues(legal.inputs[0]), realValues(legal.inputs[1]),
                           biasReals(legal.inputs[2], legal.inputs[0], legal.inputs[1])),
        code);
  };
}

// Computes f(sum, sum of squares, largest, count) of the cells in each window.
template <typename F>
void pool(CaseBuilder& b, F f) {
  const TestWindow window = drawWindow(b, b.isForm("explicit padding") ? 10 : 7, false);
  const uint32_t channels = b.size(1, 6);
  b.tensor({b.size(1, 3), asSize(window.height.input), asSize(window.width.input), channels});
  addWindow(b, window);
  for (int filter : {window.width.filter, window.height.filter}) {
    b.int32(filter);
    b.wrongValue(0);
    b.wrongValue(-1);
  }
  const FuseCode code = b.activation();
  addWindowTail(b, window);
  b.outLike(0);
  b.batch({0}, {0});
  b.legal().expected = [=](const LegalCase& legal) {
    const std::vector<double> x = realValues(legal.inputs[0]);
    const Shape& dims = legal.inputs[0].tensor.dims;
    const Shape out = {dims[0], asSize(window.height.output), asSize(window.width.output),
                       channels};
    std::vector<double> result;
    for (size_t o = 0; o < elementsOf(out); ++o) {
      const std::vector<size_t> at = coordinatesOf(o, out);
      double sum = 0;
      double squares = 0;
      double largestCell = -1e30;
      int count = 0;
      for (int tap = 0; tap < window.height.filter * window.width.filter; ++tap) {
        const int y = window.height.source(static_cast<int>(at[1]), tap / window.width.filter);
        const int z = window.width.source(static_cast<int>(at[2]), tap % window.width.filter);
        if (!window.height.inside(y) || !window.width.inside(z)) continue;
        const double value =
            x[indexOf({at[0], static_cast<size_t>(y), static_cast<size_t>(z), at[3]}, dims)];
        sum += value;
        squares += value * value;
        largestCell = std::max(largestCell, value);
        ++count;
      }
      result.push_back(activated(f(sum, squares, largestCell, count), code));
    }
    return result;
  };
}
inline void averagePool(CaseBuilder& b) {
  pool(b, [](double sum, double, double, int count) { return sum / count; });
}
inline void l2Pool(CaseBuilder& b) {
  pool(b, [](double, double squares, double, int count) { return std::sqrt(squares / count); });
}
inline void maxPool(CaseBuilder& b) {
  pool(b, [](double, double, double most, int) { return most; });
}

// The two input coordinates around an output coordinate, and its distance from the first.
struct ResizeSource {
  size_t low;
  size_t high;
  double weight;
};
struct ResizeFlags {
  bool linear;
  bool align;
  bool half;
};
inline ResizeSource resizeSource(const ResizeFlags& flags, size_t o, uint32_t in, uint32_t out) {
  // Positions are floats by definition.
  const float ratio = flags.align && out > 1
                          ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                          : static_cast<float>(in) / static_cast<float>(out);
  const float shifted = (static_cast<float>(o) + (flags.half ? 0.5f : 0.0f)) * ratio;
  const auto last = static_cast<double>(in - 1);
  if (!flags.linear) {
    const double chosen = flags.align ? std::floor(double{shifted} + 0.5) : std::floor(shifted);
    const auto index = static_cast<size_t>(std::min(chosen, last));
    return {index, index, 0};
  }
  const float position = flags.half ? shifted - 0.5f : shifted;
  const auto low = static_cast<size_t>(std::max(std::floor(position), 0.0f));
  const size_t high = std::min<size_t>(low + 1, in - 1);
  return {low, high, low == high || position < 0 ? 0 : position - static_cast<double>(low)};
}

inline void resize(CaseBuilder& b) {
  const Shape shape = {b.size(1, 3), b.size(1, 6), b.size(1, 6), b.size(1, 5)};
  b.tensor(shape);
  const uint32_t height = b.size(1, 9);
  const uint32_t width = b.size(1, 9);
  for (const auto& [from, to] : {std::pair(shape[2], width), std::pair(shape[1], height)}) {
    if (b.nextType() == INT32) {
      b.positive(static_cast<int>(to), static_cast<int>(to));
    } else {
      b.real((static_cast<float>(to) + 0.25f) / static_cast<float>(from));
    }
  }
  ResizeFlags flags = {b.type() == OperationType::RESIZE_BILINEAR, false, false};
  if (b.more()) b.layout({0}, {0});
  if (b.more()) b.flag(flags.align = b.coin());
  if (b.more()) b.flag(flags.half = !flags.align && b.coin());
  b.outLike(0);
  b.batch({0}, {0});
  b.legal().slack = 1e-6;
  b.legal().expected = [=](const LegalCase& legal) {
    const std::vector<double> x = realValues(legal.inputs[0]);
    const Shape dims = legal.inputs[0].tensor.dims;
    const Shape out = {dims[0], height, width, dims[3]};
    std::vector<double> result;
    for (size_t o = 0; o < elementsOf(out); ++o) {
      const std::vector<size_t> at = coordinatesOf(o, out);
      const ResizeSource row = resizeSource(flags, at[1], dims[1], height);
      const ResizeSource column = resizeSource(flags, at[2], dims[2], width);
      const auto value = [&](size_t y, size_t z) { return x[indexOf({at[0], y, z, at[3]}, dims)]; };
      const double top = value(row.low, column.low) * (1 - column.weight) +
                         value(row.low, column.high) * column.weight;
      const double bottom = value(row.high, column.low) * (1 - column.weight) +
                            value(row.high, column.high) * column.weight;
      result.push_back(top * (1 - row.weight) + bottom * row.weight);
    }
    return result;
  };
}

inline void fullyConnected(CaseBuilder& b) {
  const Shape shape = b.shape(4, 2);
  b.tensor(shape);
  const uint32_t depth = static_cast<uint32_t>(elementsOf(shape) / shape[0]);
  const uint32_t units = b.size(1, 6);
  b.tensor({units, depth});
  b.bias(0, 1, units);
  const FuseCode code = b.activation();
  b.outOfProducts(0, 1, depth);
  b.batch({0}, {0});
  b.legal().slack = 0x1p-22 * depth;
  b.legal().expected = [=](const LegalCase& legal) {
    TestWindow one;
    one.height = one.width = {1, 1, 1, 1, 0, 0, 1};
    return activatedAll(convolved(one, static_cast<int>(depth), 1, realValues(legal.inputs[0]),
                                  realValues(legal.inputs[1]),
                                  biasReals(legal.inputs[2], legal.inputs[0], legal.inputs[1])),
                        code);
  };
}

inline void batchMatmul(CaseBuilder& b) {
  Shape x = b.shape(5, 2);
  Shape y = x;
  const size_t r = x.size() - 2;
  const uint32_t rows = x[r];
  const uint32_t depth = x[r + 1];
  const uint32_t columns = b.size(1, 5);
  const bool adjointX = b.coin();
  const bool adjointY = b.coin();
  if (adjointX) std::swap(x[r], x[r + 1]);
  y[r] = adjointY ? columns : depth;
  y[r + 1] = adjointY ? depth : columns;
  b.tensor(x);
  b.tensor(y);
  b.flag(adjointX);
  b.flag(adjointY);
  b.outOfProducts(0, 1, depth);
  if (r > 0) b.batch({0, 1}, {0});
  b.legal().slack = 0x1p-22 * depth;
  b.legal().expected = [=](const LegalCase& legal) {
    const std::vector<double> left = plainReals(legal.inputs[0]);
    const std::vector<double> right = plainReals(legal.inputs[1]);
    std::vector<double> result;
    for (size_t o = 0; o < left.size() / depth * columns; ++o) {
      const size_t j = o % columns;
      const size_t i = o / columns % rows;
      const size_t matrix = o / columns / rows;
      double sum = 0;
      for (size_t k = 0; k < depth; ++k) {
        sum += left[matrix * rows * depth + (adjointX ? k * rows + i : i * depth + k)] *
               right[matrix * columns * depth + (adjointY ? j * depth + k : k * columns + j)];
      }
      result.push_back(sum);
    }
    return result;
  };
}

// Computes f(values of a row along the axis) for every row of the first input.
template <typename F>
std::vector<double> alongAxis(const LegalCase& legal, size_t axis, F f) {
  const Shape& dims = legal.inputs[0].tensor.dims;
  std::vector<double> values = realValues(legal.inputs[0]);
  const size_t extent = dims[axis];
  size_t inner = 1;
  for (size_t d = axis + 1; d < dims.size(); ++d) inner *= dims[d];
  for (size_t row = 0; row < values.size() / extent; ++row) {
    const size_t first = row / inner * extent * inner + row % inner;
    std::vector<double> line;
    for (size_t a = 0; a < extent; ++a) line.push_back(values[first + a * inner]);
    line = f(line);
    for (size_t a = 0; a < extent; ++a) values[first + a * inner] = line[a];
  }
  return values;
}

inline size_t optionalAxis(CaseBuilder& b) {
  const size_t rank = b.dims(0).size();
  const size_t at = b.more() ? b.axis(rank) : rank - 1;
  if (at != 0) b.batch({0}, {0});
  return at;
}

inline void softmax(CaseBuilder& b) {
  const bool axisGiven = b.inputCount() > 2;
  Shape shape = b.shape();
  if (!axisGiven && shape.size() != 2) shape = {b.size(1, 3), 2, 3, 4};
  b.tensor(shape, -3, 3);
  const float beta = b.random().realBetween(0.25f, 2);
  b.real(beta);
  const size_t at = optionalAxis(b);
  b.outFixed(1.0f / 256, 0, -128);
  b.legal().expected = [at](const LegalCase& legal) {
    const TestOperand& scalar = legal.inputs[1];
    const double factor = scalar.tensor.type == FLOAT16
                              ? static_cast<double>(toFloat(scalar.values<Float16>()[0]))
                              : static_cast<double>(scalar.values<float>()[0]);
    return alongAxis(legal, at, [&](std::vector<double> line) {
      double sum = 0;
      for (double& x : line) sum += x = std::exp(factor * x);
      for (double& x : line) x /= sum;
      return line;
    });
  };
}
inline void logSoftmax(CaseBuilder& b) {
  b.tensor(b.shape(), -3, 3);
  b.real(b.random().realBetween(0.25f, 2));
  optionalAxis(b);
  b.outPlain();
}
inline void l2Normalization(CaseBuilder& b) {
  b.tensor(b.shape());
  optionalAxis(b);
  b.outFixed(1.0f / 128, 128, 0);
}
inline void localResponseNormalization(CaseBuilder& b) {
  b.tensor(b.shape());
  b.int32(b.between(0, 3));
  b.wrongValue(-1);
  for (const auto& [low, high] : {std::pair(0.5f, 2.0f), {0.125f, 1.0f}, {0.25f, 1.0f}}) {
    b.real(b.random().realBetween(low, high));
  }
  optionalAxis(b);
  b.outPlain();
}
inline void instanceNormalization(CaseBuilder& b) {
  b.tensor({b.size(1, 3), b.size(1, 5), b.size(1, 5), b.size(1, 4)});
  b.real(b.random().realBetween(0.5f, 2));
  b.real(b.random().realBetween(-1, 1));
  b.real(0.0625f);
  b.layout({0}, {0});
  b.outPlain();
  b.batch({0}, {0});
}

}  // namespace halyard::ops::testing::recipes
