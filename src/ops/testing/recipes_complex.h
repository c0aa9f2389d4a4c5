// Recipes of operations on complex numbers, which are pairs of floats: real and imaginary part.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include <cmath>
#include <complex>
#include <numbers>

#include "ops/testing/recipes_elementwise.h"

namespace halyard::ops::testing::recipes {

// Computes the discrete transform by its definition, one bin after the other.
inline std::vector<double> spectrumOf(const LegalCase& legal) {
  const Shape& dims = legal.inputs[0].tensor.dims;
  const std::vector<double> x = plainReals(legal.inputs[0]);
  const auto lengths = legal.inputs[1].values<int32_t>();
  const auto height = static_cast<size_t>(lengths[0]);
  const auto width = static_cast<size_t>(lengths[1]);
  const size_t rows = dims[dims.size() - 2];
  const size_t columns = dims.back();
  std::vector<double> result;
  for (size_t image = 0; image < x.size() / (rows * columns); ++image) {
    for (size_t v = 0; v < height; ++v) {
      for (size_t u = 0; u <= width / 2; ++u) {
        std::complex<double> sum = 0;
        for (size_t i = 0; i < std::min(rows, height); ++i) {
          for (size_t j = 0; j < std::min(columns, width); ++j) {
            const double turns = static_cast<double>(v * i) / static_cast<double>(height) +
                                 static_cast<double>(u * j) / static_cast<double>(width);
            sum += std::polar(x[(image * rows + i) * columns + j], -2 * std::numbers::pi * turns);
          }
        }
        result.push_back(sum.real());
        result.push_back(sum.imag());
      }
    }
  }
  return result;
}

inline void rfft2d(CaseBuilder& b) {
  b.tensor(b.shape(5, 2));
  std::vector<int32_t> lengths = {1 << b.between(0, 3), 1 << b.between(0, 4)};
  b.intList(lengths);
  b.outPlain();
  if (b.dims(0).size() > 2) b.batch({0}, {0});
  b.legal().expected = spectrumOf;
}

inline void complexPart(CaseBuilder& b) {
  Shape shape = b.shape();
  shape.back() *= 2;
  b.tensor(shape, -4, 4);
  b.outPlain();
  if (shape.size() > 1) b.batch({0}, {0});
  b.legal().expected = [](const LegalCase& legal) {
    const std::vector<double> x = plainReals(legal.inputs[0]);
    std::vector<double> result;
    for (size_t i = 0; i < x.size(); i += 2) {
      switch (legal.type) {
        case OperationType::REAL:
          result.push_back(x[i]);
          break;
        case OperationType::IMAG:
          result.push_back(x[i + 1]);
          break;
        default:
          result.push_back(std::hypot(x[i], x[i + 1]));
      }
    }
    return result;
  };
}

}  // namespace halyard::ops::testing::recipes
