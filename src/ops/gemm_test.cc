// Tests of gemm against a plain triple loop, for every instruction set of this processor.
#include "ops/gemm.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "ops/testing/test_operand.h"

namespace halyard::ops {
namespace {

// Splits every loop into the smallest ranges and runs them backwards. The results of a kernel must
// not depend on the division of its work.
class ScatteredServices : public testing::InlineServices {
 public:
  void parallelFor(size_t count, size_t grain,
                   const std::function<void(size_t, size_t)>& body) override {
    for (size_t end = count; end > 0;) {
      const size_t begin = (end - 1) / grain * grain;
      body(begin, end);
      end = begin;
    }
  }
};

template <typename T>
struct Matrices {
  using Sum = typename GemmSum<T>::Type;
  size_t rows;
  size_t columns;
  size_t depth;
  std::vector<T> left;   // [rows][depth]
  std::vector<T> right;  // [columns][depth]

  Matrices(size_t rowCount, size_t columnCount, size_t depthCount, unsigned seed)
      : rows(rowCount), columns(columnCount), depth(depthCount) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> values(-255, 255);
    const T unit = std::is_same_v<T, float> ? T{1} / T{64} : T{1};
    for (size_t i = 0; i < rows * depth; ++i) left.push_back(static_cast<T>(values(random)) * unit);
    for (size_t i = 0; i < columns * depth; ++i) {
      right.push_back(static_cast<T>(values(random)) * unit);
    }
  }

  const T* leftRows(size_t begin, size_t end, T* buffer) const {
    for (size_t r = begin; r < end; ++r) {
      std::copy_n(left.data() + r * depth, depth, buffer + (r - begin) * gemmRowStride<T>(depth));
    }
    return buffer;
  }
  const T* rightColumn(size_t column, T* buffer) const {
    std::copy_n(right.data() + column * depth, depth, buffer);
    return buffer;
  }

  std::vector<Sum> multiply(KernelServices& services, SimdLevel level, bool inPlace) const {
    std::vector<Sum> sums(rows * columns);
    std::vector<int> stored(rows * columns);
    GemmProblem<T> problem;
    problem.rows = rows;
    problem.columns = columns;
    problem.depth = depth;
    problem.left = [&](size_t begin, size_t end, T* buffer) -> const T* {
      return inPlace ? left.data() + begin * depth : leftRows(begin, end, buffer);
    };
    problem.right = [&](size_t column, T* buffer) { return rightColumn(column, buffer); };
    problem.store = [&](const GemmTile<T>& tile) {
      for (size_t r = tile.rowBegin; r < tile.rowEnd; ++r) {
        for (size_t c = tile.columnBegin; c < tile.columnEnd; ++c) {
          sums[r * columns + c] =
              tile.sums[(r - tile.rowBegin) * tile.stride + c - tile.columnBegin];
          ++stored[r * columns + c];
        }
      }
    };
    gemm(services, problem, level);
    EXPECT_EQ(stored, std::vector<int>(rows * columns, 1));
    return sums;
  }
};

std::vector<SimdLevel> levels() {
  std::vector<SimdLevel> result;
  for (SimdLevel level : kSimdLevels) {
    if (level <= simdLevel()) result.push_back(level);
  }
  return result;
}

template <typename T>
void checkAgainstLoops(size_t rows, size_t columns, size_t depth) {
  const Matrices<T> matrices(rows, columns, depth, static_cast<unsigned>(rows + columns + depth));
  for (SimdLevel level : levels()) {
    testing::InlineServices services;
    const bool inPlace = gemmRowStride<T>(depth) == depth && rows % 2 == 0;
    const auto sums = matrices.multiply(services, level, inPlace);
    ScatteredServices scattered;
    ASSERT_EQ(sums, matrices.multiply(scattered, level, inPlace))
        << "the division of work changed the result";
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < columns; ++c) {
        double expected = 0;
        double magnitude = 0;
        for (size_t k = 0; k < depth; ++k) {
          const double product = static_cast<double>(matrices.left[r * depth + k]) *
                                 static_cast<double>(matrices.right[c * depth + k]);
          expected += product;
          magnitude += std::abs(product);
        }
        const double tolerance = std::is_same_v<T, float> ? magnitude * 1e-6 : 0;
        ASSERT_NEAR(static_cast<double>(sums[r * columns + c]), expected, tolerance)
            << rows << "x" << columns << "x" << depth << " at " << r << "," << c << ", level "
            << static_cast<int>(level);
      }
    }
  }
}

template <typename T>
class Gemm : public ::testing::Test {};
using ElementTypes = ::testing::Types<float, int16_t>;
TYPED_TEST_SUITE(Gemm, ElementTypes);

TYPED_TEST(Gemm, SmallSizes) {
  for (size_t rows : {1, 2, 3, 4, 5, 7, 8, 9, 13, 16}) {
    for (size_t columns : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50, 65}) {
      for (size_t depth : {0, 1, 2, 3, 16, 33}) {
        checkAgainstLoops<TypeParam>(rows, columns, depth);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(Gemm, SeveralTilesBlocksAndStrips) {
  checkAgainstLoops<TypeParam>(300, 70, 20);
  checkAgainstLoops<TypeParam>(9, 600, 515);
  checkAgainstLoops<TypeParam>(140, 33, 1100);
  checkAgainstLoops<TypeParam>(3, 500, 131);
  checkAgainstLoops<TypeParam>(8, 40, 33000);
}

TYPED_TEST(Gemm, DepthsThatAreNotRearranged) {
  checkAgainstLoops<TypeParam>(5, 3, (size_t{1} << 18) + 1);
}

// Each product has the same result as alone, spread over the threads or not.
TYPED_TEST(Gemm, EachOfSeveral) {
  for (const std::array<size_t, 3>& sizes :
       {std::array<size_t, 3>{3, 5, 7}, {6, 4, 9}, {5, 3, 0}, {200, 210, 200}}) {
    const size_t rows = sizes[0];
    const size_t columns = sizes[1];
    const size_t depth = sizes[2];
    constexpr size_t kCount = 5;
    std::vector<Matrices<TypeParam>> matrices;
    std::vector<std::vector<typename GemmSum<TypeParam>::Type>> expected;
    testing::InlineServices services;
    for (unsigned i = 0; i < kCount; ++i) {
      matrices.emplace_back(rows, columns, depth, i);
      expected.push_back(matrices[i].multiply(services, simdLevel(), false));
    }
    auto sums = expected;
    for (auto& values : sums) std::fill(values.begin(), values.end(), -1);
    ScatteredServices scattered;
    gemmEach<TypeParam>(scattered, kCount, rows * columns * depth, [&](size_t i) {
      GemmProblem<TypeParam> problem;
      problem.rows = rows;
      problem.columns = columns;
      problem.depth = depth;
      problem.left = [&, i](size_t begin, size_t end, TypeParam* buffer) {
        return matrices[i].leftRows(begin, end, buffer);
      };
      problem.right = [&, i](size_t column, TypeParam* buffer) {
        return matrices[i].rightColumn(column, buffer);
      };
      problem.store = [&, i](const GemmTile<TypeParam>& tile) {
        for (size_t r = tile.rowBegin; r < tile.rowEnd; ++r) {
          std::copy_n(tile.sums + (r - tile.rowBegin) * tile.stride,
                      tile.columnEnd - tile.columnBegin, &sums[i][r * columns + tile.columnBegin]);
        }
      };
      return problem;
    });
    EXPECT_EQ(sums, expected) << rows << "x" << columns << "x" << depth;
  }
}

// Columns of more than 16 MiB together are rearranged in several blocks.
TYPED_TEST(Gemm, SeveralBlocksOfColumns) {
  constexpr size_t kDepth = 4096;
  constexpr size_t kColumns = 2200;
  GemmProblem<TypeParam> problem;
  problem.rows = 4;
  problem.columns = kColumns;
  problem.depth = kDepth;
  problem.left = [](size_t begin, size_t end, TypeParam* buffer) {
    for (size_t r = begin; r < end; ++r) {
      std::fill_n(buffer + (r - begin) * kDepth, kDepth, static_cast<TypeParam>(r + 1));
    }
    return buffer;
  };
  problem.right = [](size_t column, TypeParam* buffer) {
    std::fill_n(buffer, kDepth, TypeParam{0});
    buffer[column] = static_cast<TypeParam>(column % 200);
    return buffer;
  };
  size_t stored = 0;
  problem.store = [&](const GemmTile<TypeParam>& tile) {
    for (size_t r = tile.rowBegin; r < tile.rowEnd; ++r) {
      for (size_t c = tile.columnBegin; c < tile.columnEnd; ++c, ++stored) {
        const auto sum = tile.sums[(r - tile.rowBegin) * tile.stride + c - tile.columnBegin];
        ASSERT_EQ(static_cast<double>(sum), static_cast<double>((r + 1) * (c % 200)));
      }
    }
  };
  testing::InlineServices services;
  gemm(services, problem);
  EXPECT_EQ(stored, 4 * kColumns);
}

TEST(GemmInt16, OverflowWrapsAround) {
  // 40,000 products of 65,025 exceed 2^31.
  constexpr size_t kDepth = 40000;
  for (size_t rows : {1, 5}) {
    Matrices<int16_t> matrices(rows, 1, kDepth, 1);
    std::fill(matrices.left.begin(), matrices.left.end(), int16_t{255});
    std::fill(matrices.right.begin(), matrices.right.end(), int16_t{255});
    const auto wrapped = static_cast<int32_t>(static_cast<uint32_t>(kDepth) * 65025u);
    for (SimdLevel level : levels()) {
      testing::InlineServices services;
      EXPECT_EQ(matrices.multiply(services, level, false), std::vector<int32_t>(rows, wrapped));
    }
  }
}

}  // namespace
}  // namespace halyard::ops
