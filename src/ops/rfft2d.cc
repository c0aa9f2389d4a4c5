// RFFT2D of the extension halyard.tflite: the discrete Fourier transform of real images along their
// last two dimensions. Only half of the result is computed, because the other half is its
// conjugate. A complex number is a pair of floats, real and imaginary part. The computation uses
// double, and the fast transform for lengths that are powers of two.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>

#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"

namespace halyard::ops {
namespace {

using Complex = std::complex<double>;

constexpr size_t kLength = 1;

struct Lengths {
  size_t height = 1;
  size_t width = 1;
  size_t bins() const { return width / 2 + 1; }
};

Status readLengths(const OperationContext& context, Lengths* lengths) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(kLength), 1, 1, "input 1 (fft_length)"));
  std::span<const int32_t> values;
  HALYARD_RETURN_IF_ERROR(context.readInts(kLength, &values), "input 1 (fft_length)");
  if (values.size() != 2) {
    return opFailed("input 1 (fft_length) has {} values, expected 2", values.size());
  }
  for (const int32_t value : values) {
    if (value < 1 || !std::has_single_bit(static_cast<uint32_t>(value))) {
      return opFailed("input 1 (fft_length) is {} and {}, expected powers of two", values[0],
                      values[1]);
    }
  }
  *lengths = {static_cast<size_t>(values[0]), static_cast<size_t>(values[1])};
  return okStatus();
}

Status infer(OperationContext& context) {
  const Tensor& input = context.input(0);
  if (input.rank() < 2) {
    return opFailed("input has rank {} {}, expected rank 2 or more", input.rank(),
                    realShapeText(input.dims));
  }
  Lengths lengths;
  HALYARD_RETURN_IF_ERROR(readLengths(context, &lengths));
  Shape dims = input.dims;
  dims[dims.size() - 2] = static_cast<uint32_t>(lengths.height);
  dims.back() = static_cast<uint32_t>(2 * lengths.bins());
  context.output(0).dims = std::move(dims);
  return okStatus();
}

// Computes exp(-2 pi i k / size) for k below half of `size`, which is 1 or a larger power of two.
void fillRoots(std::span<Complex> roots, size_t size) {
  for (size_t k = 0; k < roots.size(); ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
    roots[k] = {std::cos(angle), std::sin(angle)};
  }
}

// `count` numbers that are `stride` apart.
struct Line {
  Complex* first;
  size_t count;
  size_t stride;
  Complex& operator[](size_t i) const { return first[i * stride]; }
};

// The roots of unity of a power of two, for transforms up to that length.
class Roots {
 public:
  Roots(std::span<const Complex> roots, size_t size) : roots_(roots), size_(size) {}
  // exp(-2 pi i k / n), for k < n / 2 and a power of two n up to the size.
  Complex of(size_t k, size_t n) const { return roots_[k * (size_ / n)]; }

 private:
  std::span<const Complex> roots_;
  size_t size_;
};

// Works in place: reverses the bits of positions, then applies butterflies to longer and longer
// pieces.
void transform(const Line& line, const Roots& roots) {
  const size_t n = line.count;
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(line[i], line[j]);
  }
  for (size_t piece = 2; piece <= n; piece *= 2) {
    const size_t half = piece / 2;
    for (size_t k = 0; k < half; ++k) {
      const Complex root = roots.of(k, piece);
      for (size_t begin = k; begin < n; begin += piece) {
        const Complex even = line[begin];
        const Complex x = line[begin + half];
        // The product is written with real numbers, because std::complex checks for infinities.
        const Complex odd = {x.real() * root.real() - x.imag() * root.imag(),
                             x.real() * root.imag() + x.imag() * root.real()};
        line[begin] = even + odd;
        line[begin + half] = even - odd;
      }
    }
  }
}

// Transforms `count` real numbers, followed by zeros up to `width`, into width / 2 + 1 bins. It
// uses a transform of half the length. Its real parts are the numbers at even positions, and its
// imaginary parts those at odd ones.
void transformRow(const float* from, size_t count, Complex* to, size_t width, const Roots& roots) {
  const auto at = [&](size_t i) { return i < count ? double{from[i]} : 0.0; };
  if (width == 1) {
    to[0] = at(0);
    return;
  }
  const size_t half = width / 2;
  for (size_t i = 0; i < half; ++i) to[i] = {at(2 * i), at(2 * i + 1)};
  transform({to, half, 1}, roots);
  const Complex first = to[0];
  to[0] = first.real() + first.imag();
  to[half] = first.real() - first.imag();
  for (size_t k = 1; k <= half / 2; ++k) {
    const Complex a = to[k];
    const Complex b = std::conj(to[half - k]);
    const Complex even = 0.5 * (a + b);
    const Complex d = 0.5 * (a - b);
    const Complex odd = {d.imag(), -d.real()};
    const Complex root = roots.of(k, width);
    const Complex turned = {odd.real() * root.real() - odd.imag() * root.imag(),
                            odd.real() * root.imag() + odd.imag() * root.real()};
    to[k] = even + turned;
    to[half - k] = std::conj(even - turned);
  }
}

// Returns the number of transforms of this length that justify a thread.
size_t grainOf(size_t length) { return kElementGrain / length / 4 + 1; }

Status compute(OperationContext& context) {
  Lengths lengths;
  HALYARD_RETURN_IF_ERROR(readLengths(context, &lengths));
  const Tensor& input = context.input(0);
  const size_t rank = input.rank();
  const size_t inputHeight = input.dims[rank - 2];
  const size_t inputWidth = input.dims[rank - 1];
  const size_t bins = lengths.bins();
  const size_t count = context.output(0).elementCount() / 2;
  const size_t images = count / (lengths.height * bins);

  const size_t longest = std::max(lengths.height, lengths.width);
  const std::span<Complex> table(context.scratch<Complex>(longest / 2), longest / 2);
  fillRoots(table, longest);
  const Roots roots(table, longest);
  auto* const spectrum = context.scratch<Complex>(count);
  const auto* const from = input.as<float>();
  auto* const to = context.output(0).as<float>();

  KernelServices& services = context.services();
  services.parallelFor(images * lengths.height, grainOf(lengths.width),
                       [&](size_t begin, size_t end) {
                         for (size_t row = begin; row < end; ++row) {
                           const size_t image = row / lengths.height;
                           const size_t y = row % lengths.height;
                           const bool isPadding = y >= inputHeight;
                           const float* const values =
                               isPadding ? nullptr : from + (image * inputHeight + y) * inputWidth;
                           transformRow(values, isPadding ? 0 : inputWidth, spectrum + row * bins,
                                        lengths.width, roots);
                         }
                       });
  if (lengths.height > 1) {
    services.parallelFor(images * bins, grainOf(lengths.height), [&](size_t begin, size_t end) {
      for (size_t column = begin; column < end; ++column) {
        Complex* const top = spectrum + column / bins * lengths.height * bins + column % bins;
        transform({top, lengths.height, bins}, roots);
      }
    });
  }
  services.parallelFor(count, kElementGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      to[2 * i] = static_cast<float>(spectrum[i].real());
      to[2 * i + 1] = static_cast<float>(spectrum[i].imag());
    }
  });
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::RFFT2D;
  definition.signature.rows = {{FeatureLevel::FL3, {OperandType::TENSOR_FLOAT32}}};
  definition.signature.forms = {{"", {typed("input", 0), int32List("fft_length")}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  definition.precision = Precision::SUMS;
  return definition;
}

}  // namespace

const OperationDefinition& rfft2d() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
