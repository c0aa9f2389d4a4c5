// Compares results with real values in tests.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ops/testing/random_operands.h"

namespace halyard::ops::testing {

// Compares a result with real values. Floats must be within the conformance tolerances plus
// `slack`. Quantised values must equal the real value rounded to nearest; a difference of one is
// allowed near a tie.
inline void expectReals(const TestOperand& actual, const std::vector<double>& expected,
                        const std::string& what, double slack = 0) {
  const std::vector<double> reals = realValues(actual);
  ASSERT_EQ(reals.size(), expected.size()) << what;
  const Tensor& tensor = actual.tensor;
  const ClampRange<int32_t> range = quantizedRange(tensor.type);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (isQuant8Asymm(tensor.type)) {
      const double scale = static_cast<double>(tensor.scale);
      const double units = expected[i] / scale + tensor.zeroPoint;
      const double wanted = std::clamp(std::round(units), double(range.min), double(range.max));
      const double got = std::round(reals[i] / scale) + tensor.zeroPoint;
      const bool tie = std::abs(units - std::floor(units) - 0.5) < 1e-4;
      ASSERT_LE(std::abs(got - wanted), tie ? 1 : 0) << what << ", element " << i;
    } else {
      const bool half = tensor.type == OperandType::TENSOR_FLOAT16;
      const double absolute = (half ? 5.0 / 1024 : 1e-5) + slack;
      const double relative = half ? 5.0 / 1024 : 5.0 / (1 << 23);
      ASSERT_NEAR(reals[i], expected[i], absolute + relative * std::abs(expected[i]))
          << what << ", element " << i;
    }
  }
}

}  // namespace halyard::ops::testing
