#include "device/matrix_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace halyard::vulkandriver {
namespace {

using ::testing::ElementsAre;

VkCooperativeMatrixPropertiesKHR listed(uint32_t rows, uint32_t columns, uint32_t depth,
                                        VkComponentTypeKHR input, VkComponentTypeKHR sum) {
  VkCooperativeMatrixPropertiesKHR made = {};
  made.MSize = rows;
  made.NSize = columns;
  made.KSize = depth;
  made.AType = input;
  made.BType = input;
  made.CType = sum;
  made.ResultType = sum;
  made.scope = VK_SCOPE_SUBGROUP_KHR;
  return made;
}

std::array<uint32_t, 4> numbersOf(const MatrixSize& size) {
  return {size.rows, size.columns, size.depth, size.subgroups};
}

TEST(MatrixCodeTest, TheLargestSuitableMatricesAreChosen) {
  constexpr auto kHalf = VK_COMPONENT_TYPE_FLOAT16_KHR;
  constexpr auto kFloat = VK_COMPONENT_TYPE_FLOAT32_KHR;
  constexpr auto kByte = VK_COMPONENT_TYPE_SINT8_KHR;
  const std::vector<VkCooperativeMatrixPropertiesKHR> all = {
      listed(16, 8, 8, kHalf, kFloat),
      listed(16, 8, 16, kHalf, kFloat),
      listed(16, 16, 16, kHalf, kHalf),   // other sums
      listed(64, 64, 16, kHalf, kFloat),  // more columns than a tile
      listed(16, 16, 24, kHalf, kFloat),  // its depth does not divide a part
      listed(16, 8, 32, kByte, VK_COMPONENT_TYPE_SINT32_KHR)};
  EXPECT_THAT(numbersOf(chooseMatrices(all, false, 32)), ElementsAre(16, 8, 16, 2));
  EXPECT_THAT(numbersOf(chooseMatrices(all, true, 64)), ElementsAre(16, 8, 32, 1));
  EXPECT_FALSE(chooseMatrices(all, false, 128).isThere());
  EXPECT_FALSE(chooseMatrices({}, false, 32).isThere());
  const std::vector<VkCooperativeMatrixPropertiesKHR> empty = {listed(0, 0, 0, kHalf, kFloat)};
  EXPECT_FALSE(chooseMatrices(empty, false, 32).isThere());
  // Sixteen subgroups have nothing to do with eight matrices.
  const std::vector<VkCooperativeMatrixPropertiesKHR> large = {listed(16, 16, 16, kHalf, kFloat)};
  EXPECT_TRUE(chooseMatrices(large, false, 8).isThere());
  EXPECT_FALSE(chooseMatrices(large, false, 4).isThere());
}

// A header, types, and two matrices with numbers as operands.
TEST(MatrixCodeTest, TypesAndConstantsReplaceNumbers) {
  constexpr uint32_t kInt = 4 << 16 | 21;
  constexpr uint32_t kFloat = 3 << 16 | 22;
  constexpr uint32_t kConstant = 4 << 16 | 43;
  constexpr uint32_t kMatrix = 7 << 16 | 4456;
  const std::vector<uint32_t> begin = {kFloat, 1,  16, kFloat, 2, 32, kInt, 3,    32, 1, kInt,
                                       4,      32, 0,  kInt,   5, 8,  1,    kInt, 6,  8, 0};
  std::vector<uint32_t> code = {0, 0, 0, 20, 0};
  code.insert(code.end(), begin.begin(), begin.end());
  code.insert(code.end(), {kMatrix, 7, 0, 3, 0, 2, 0, kMatrix, 8, 1, 3, 0, 1, 2});
  const auto expected = [&](uint32_t input, uint32_t sum) {
    std::vector<uint32_t> made = {0, 0, 0, 28, 0};
    made.insert(made.end(), begin.begin(), begin.end());
    made.insert(made.end(), {kConstant, 3, 20, 3, kConstant, 3, 21,    16, kConstant, 3,  22, 8,
                             kConstant, 3, 23, 0, kMatrix,   7, input, 20, 21,        22, 23});
    made.insert(made.end(), {kConstant, 3, 24, 3, kConstant, 3, 25,  16, kConstant, 3,  26, 32,
                             kConstant, 3, 27, 2, kMatrix,   8, sum, 24, 25,        26, 27});
    return made;
  };
  EXPECT_EQ(matrixCode(code, {16, 32, 8, 1}, false), expected(1, 2));
  EXPECT_EQ(matrixCode(code, {16, 32, 8, 1}, true), expected(5, 3));
}

}  // namespace
}  // namespace halyard::vulkandriver
