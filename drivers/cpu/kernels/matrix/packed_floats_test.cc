// Products with matrices that are packed as floats, as float16 and as bytes.
#include "kernels/matrix/packed_floats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/kernel_for_test.h"

namespace halyard::cpudriver::testing {
namespace {

using namespace ops::testing;

constexpr size_t kColumns = 213;  // the last panel has few
constexpr size_t kDepth = 701;

struct Matrix {
  // Multiples of a step for each column, or nearly.
  explicit Matrix(bool areMultiples) {
    std::mt19937 random(7);
    for (size_t column = 0; column < kColumns; ++column) {
      const float step = 0.001f + 0.0001f * static_cast<float>(column);
      for (size_t k = 0; k < kDepth; ++k) {
        const auto factor = static_cast<float>(static_cast<int>(random() % 255) - 127);
        values.push_back(factor * step + (areMultiples ? 0 : 0.1f * step));
      }
    }
    for (size_t column = 0; column < kColumns; ++column) {
      bias.push_back(static_cast<float>(column) - 100);
    }
  }

  std::vector<float> values;
  std::vector<float> bias;
};

// Differences are at most `slack`.
void checkProducts(const Matrix& matrix, size_t rows, const KernelSite& site, double slack) {
  SCOPED_TRACE(::testing::Message() << rows << " rows, " << ops::simdLevelName(site.level));
  const PackedFloats packed(
      site, kColumns, kDepth, [&](size_t column) { return &matrix.values[column * kDepth]; },
      matrix.bias.data(), rows);
  std::vector<float> left(rows * kDepth);
  std::vector<float> addend(rows * kColumns);
  for (size_t i = 0; i < left.size(); ++i) left[i] = std::sin(static_cast<float>(i));
  for (size_t i = 0; i < addend.size(); ++i) addend[i] = static_cast<float>(i % 7);
  std::vector<float> out(rows * kColumns);
  const ptrdiff_t whole = 0;
  const PieceRows pieces = {reinterpret_cast<const std::byte*>(left.data()),
                            kDepth * sizeof(float),
                            rows,
                            {&whole, 1},
                            reinterpret_cast<const std::byte*>(addend.data())};
  // Some panels at a time.
  const size_t middle = packed.panels() / 2;
  packed.multiply(pieces, {-60, 60}, 0, middle, out.data(), kColumns);
  packed.multiply(pieces, {-60, 60}, middle, packed.panels(), out.data(), kColumns);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t row = i / kColumns;
    const size_t column = i % kColumns;
    double sum = matrix.bias[column] + addend[i];
    for (size_t k = 0; k < kDepth; ++k) {
      sum += static_cast<double>(left[row * kDepth + k]) * matrix.values[column * kDepth + k];
    }
    ASSERT_NEAR(out[i], std::clamp(sum, -60.0, 60.0), slack) << "row " << row << ", " << column;
  }
}

TEST(PackedFloats, MultiplyAlikeAsFloatsAndAsBytes) {
  for (const bool areMultiples : {false, true}) {
    const Matrix matrix(areMultiples);
    for (const ops::SimdLevel level : ops::kSimdLevels) {
      if (!ops::hasSimdLevel(level)) continue;
      for (const size_t rows : {1, 2, 16, 31}) {
        KernelSite site;
        site.level = level;
        checkProducts(matrix, rows, site, 5e-4);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Each product is up to 3. A product or a row that is lost or taken twice differs by more.
TEST(PackedFloats, MultiplyNearlyAlikeIfRelaxed) {
  const Matrix matrix(false);
  for (const ops::SimdLevel level : ops::kSimdLevels) {
    if (!ops::hasSimdLevel(level) || halfGemm(level) == nullptr) continue;
    KernelSite site;
    site.level = level;
    site.isRelaxed = true;
    for (size_t rows = 1; rows < 40; ++rows) {
      checkProducts(matrix, rows, site, 0.25);
      if (HasFatalFailure()) return;
    }
    // Tiles, of 26 to 32 rows, keep more than float16 does.
    for (size_t rows = 128; rows < 165; ++rows) {
      checkProducts(matrix, rows, site, level == ops::SimdLevel::AMX ? 0.01 : 0.25);
      if (HasFatalFailure()) return;
    }
  }
}

// Without permission, or where the processor has no arithmetic of float16, results are the same.
TEST(PackedFloats, AreRelaxedOnlyIfTheSiteAllowsIt) {
  const Matrix matrix(false);
  for (const ops::SimdLevel level : ops::kSimdLevels) {
    if (!ops::hasSimdLevel(level)) continue;
    const auto packedBytes = [&](bool isRelaxed) {
      KernelSite site;
      site.level = level;
      site.isRelaxed = isRelaxed;
      const auto columnAt = [&](size_t column) { return &matrix.values[column * kDepth]; };
      return PackedFloats(site, kColumns, kDepth, columnAt, nullptr).packedBytes();
    };
    if (halfGemm(level) == nullptr) {
      EXPECT_EQ(packedBytes(true), packedBytes(false));
    } else {
      EXPECT_EQ(packedBytes(true), packedBytes(false) / kDepth * (kDepth + 1) / 2);
    }
  }
}

TEST(PackedFloats, AreBytesInAFullConnectionOfOneRow) {
  const Matrix matrix(true);
  for (const uint32_t rows : {1u, 3u}) {
    KernelCase test;
    test.operation = OperationType::FULLY_CONNECTED;
    std::vector<float> left(rows * kDepth);
    for (size_t i = 0; i < left.size(); ++i) left[i] = std::sin(static_cast<float>(i));
    using enum OperandType;
    test.inputs = {TestOperand::of<float>(TENSOR_FLOAT32, {rows, kDepth}, left),
                   TestOperand::of<float>(TENSOR_FLOAT32, {kColumns, kDepth}, matrix.values),
                   TestOperand::of<float>(TENSOR_FLOAT32, {kColumns}, matrix.bias),
                   TestOperand::int32(1)};
    test.outputs = {TestOperand::output(TENSOR_FLOAT32)};
    test.slack = 5e-4;
    checkKernel(std::move(test), kAllLevels, fmt::format("{} rows", rows));
    if (HasFatalFailure()) return;
  }
}

TEST(PackedFloats, LargeOnesOfBytesTakeAQuarterOfTheMemory) {
  class Counting final : public Packing {
   public:
    Bytes get(size_t bytes, const Write& write) override {
      total += bytes;
      return Packing::get(bytes, write);
    }
    void release(const void*) override {}
    void endStep(bool, const std::vector<const void*>&) override {}
    size_t total = 0;
  };
  const auto packedBytes = [](const Matrix& matrix, size_t rows) {
    Counting packing;
    KernelSite site;
    site.packing = &packing;
    const PackedFloats packed(
        site, kColumns, kDepth, [&](size_t column) { return &matrix.values[column * kDepth]; },
        nullptr, rows);
    return packing.total;
  };
  const Matrix bytes(true);
  const size_t floats = packedBytes(bytes, 0);
  EXPECT_EQ(packedBytes(bytes, 1), floats / 4);
  EXPECT_EQ(packedBytes(bytes, 20), floats / 4);
  // Few rows, which would be slower, and floats.
  EXPECT_EQ(packedBytes(bytes, 4), floats);
  EXPECT_EQ(packedBytes(Matrix(false), 1), floats);
}

}  // namespace
}  // namespace halyard::cpudriver::testing
