// Tests of RFFT2D and of the operations that turn complex numbers into real ones, against sums over
// all elements.
#include <chrono>
#include <cmath>
#include <complex>
#include <numbers>

#include "ops/moves_for_test.h"
#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using Floats = std::vector<float>;
using ::testing::ElementsAre;

TestOperand spectrum(const TestOperand& x, int32_t height, int32_t width) {
  return resultOf(OperationType::RFFT2D, {x, intList({height, width})},
                  TestOperand::output(TENSOR_FLOAT32));
}

// Computes one bin by its definition.
std::complex<double> bin(const TestOperand& x, size_t image, size_t v, size_t u, size_t height,
                         size_t width) {
  const Floats values = x.values<float>();
  const Shape& dims = x.tensor.dims;
  const size_t rows = dims[dims.size() - 2];
  const size_t columns = dims.back();
  std::complex<double> sum = 0;
  for (size_t i = 0; i < std::min(rows, height); ++i) {
    for (size_t j = 0; j < std::min(columns, width); ++j) {
      const double turns = static_cast<double>(v * i) / static_cast<double>(height) +
                           static_cast<double>(u * j) / static_cast<double>(width);
      sum += std::polar(double{values[(image * rows + i) * columns + j]},
                        -2 * std::numbers::pi * turns);
    }
  }
  return sum;
}

TEST(Rfft2d, IsTheSumOverAllElements) {
  RandomOperands random(921);
  for (const size_t height : {1, 2, 4, 16}) {
    for (const size_t width : {1, 2, 4, 8, 64}) {
      // Images that are cut off, padded, and several at once.
      for (const Shape& dims : {Shape{3, 5}, Shape{2, 16, 64}, Shape{1, 2, 9, 70}}) {
        const TestOperand x = random.tensor(TENSOR_FLOAT32, dims);
        const TestOperand y =
            spectrum(x, static_cast<int32_t>(height), static_cast<int32_t>(width));
        Shape expected = dims;
        expected[dims.size() - 2] = static_cast<uint32_t>(height);
        expected.back() = static_cast<uint32_t>(2 * (width / 2 + 1));
        ASSERT_EQ(y.tensor.dims, expected);
        const Floats values = y.values<float>();
        for (size_t i = 0; i < values.size() / 2; ++i) {
          const size_t bins = width / 2 + 1;
          const std::complex<double> wanted =
              bin(x, i / bins / height, i / bins % height, i % bins, height, width);
          const double slack = 1e-6 * (1 + std::abs(wanted));
          ASSERT_NEAR(values[2 * i], wanted.real(), slack) << height << "x" << width << " " << i;
          ASSERT_NEAR(values[2 * i + 1], wanted.imag(), slack) << height << "x" << width;
        }
      }
    }
  }
}

TEST(Rfft2d, ByHand) {
  const TestOperand x = TestOperand::of<float>(TENSOR_FLOAT32, {1, 4}, {1, 2, 3, 4});
  EXPECT_THAT(spectrum(x, 1, 4).values<float>(), ElementsAre(10, 0, -2, 2, -2, 0));
  EXPECT_THAT(spectrum(x, 1, 2).values<float>(), ElementsAre(3, 0, -1, 0));
  EXPECT_THAT(spectrum(x, 2, 1).values<float>(), ElementsAre(1, 0, 1, 0));
}

// A transform of 2^20 numbers takes some tens of milliseconds, and the plain sums about an hour.
// The limit is generous, because it only has to distinguish the two.
TEST(Rfft2d, LongOnesAreFast) {
  const uint32_t length = 1 << 20;
  Floats values(length, 0.0f);
  values[1] = 1;
  const auto begin = std::chrono::steady_clock::now();
  const Floats y = spectrum(TestOperand::of<float>(TENSOR_FLOAT32, {1, length}, values), 1, length)
                       .values<float>();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  for (const size_t k : {size_t{0}, size_t{1}, size_t{12345}, size_t{length / 2}}) {
    const auto wanted = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / length);
    EXPECT_NEAR(y[2 * k], wanted.real(), 1e-7);
    EXPECT_NEAR(y[2 * k + 1], wanted.imag(), 1e-7);
  }
}

TEST(Rfft2d, Refuses) {
  RandomOperands random(922);
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {2, 4});
  const auto refuses = [&](const TestOperand& input, const TestOperand& length,
                           const std::string& text) {
    expectFailure(OperationType::RFFT2D, {input, length}, {TestOperand::output(TENSOR_FLOAT32)},
                  text);
  };
  refuses(x, intList({1, 3}), "input 1 (fft_length) is 1 and 3, expected powers of two");
  refuses(x, intList({0, 4}), "input 1 (fft_length) is 0 and 4, expected powers of two");
  refuses(x, intList({kIntMin, 4}), "is -2147483648 and 4, expected powers of two");
  refuses(x, intList({4}), "input 1 (fft_length) has 1 values, expected 2");
  refuses(x, intTensor({1, 2}, {4, 4}), "input 1 (fft_length) has rank 2 [1,2], expected rank 1");
  refuses(random.tensor(TENSOR_FLOAT32, {4}), intList({1, 4}),
          "input has rank 1 [4], expected rank 2 or more");
  EXPECT_EQ(inferenceOf(OperationType::RFFT2D, {x, unknownValue(TENSOR_INT32, {2})},
                        {TestOperand::output(TENSOR_FLOAT32)})
                .code(),
            ResultCode::INCOMPLETE);
}

TEST(ComplexParts, OfPairs) {
  const TestOperand x = TestOperand::of<float>(TENSOR_FLOAT32, {1, 2, 2}, {3, -4, 3e30f, 4e30f});
  const auto partsOf = [&](OperationType type) {
    const TestOperand y = resultOf(type, {x}, TestOperand::output(TENSOR_FLOAT32));
    EXPECT_EQ(y.tensor.dims, (Shape{1, 2, 1}));
    return y.values<float>();
  };
  // No square overflows.
  EXPECT_THAT(partsOf(OperationType::COMPLEX_ABS), ElementsAre(5, ::testing::FloatEq(5e30f)));
  EXPECT_THAT(partsOf(OperationType::REAL), ElementsAre(3, 3e30f));
  EXPECT_THAT(partsOf(OperationType::IMAG), ElementsAre(-4, 4e30f));
  const TestOperand one = TestOperand::of<float>(TENSOR_FLOAT32, {2}, {6, 8});
  const TestOperand y =
      resultOf(OperationType::COMPLEX_ABS, {one}, TestOperand::output(TENSOR_FLOAT32));
  EXPECT_EQ(y.tensor.dims, Shape{1});
  expectFailure(OperationType::REAL, {TestOperand::of<float>(TENSOR_FLOAT32, {3}, {1, 2, 3})},
                {TestOperand::output(TENSOR_FLOAT32)},
                "input is [3], expected an even last dimension of real and imaginary parts");
}

}  // namespace
}  // namespace halyard::ops::testing
