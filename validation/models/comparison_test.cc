// Tests which results over a set of inputs count as worse than the CPU device's.
#include "validation/models/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace halyard::validation {
namespace {

using enum OperandType;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kClasses = 10;
using Scores = std::vector<std::vector<float>>;

Scores scoresFor(size_t chosen) {
  Scores scores(1, std::vector<float>(kClasses, 0.01f));
  scores[0][chosen] = 0.91f;
  return scores;
}

// 100 inputs of each class. The CPU device is right about nine of ten. `chosen` returns the class
// that the device finds where the CPU device finds `expected`.
template <typename Choose>
Comparison compare(Choose chosen) {
  Comparison comparison({TENSOR_FLOAT32}, kClasses);
  for (size_t n = 0; n < 100 * kClasses; ++n) {
    const size_t right = n % kClasses;
    const bool isHard = n / kClasses % 10 == 0;
    const size_t expected = isHard ? (right + 1) % kClasses : right;
    const Status added = comparison.add(scoresFor(expected), scoresFor(chosen(n, expected)), right);
    EXPECT_TRUE(added.ok());
  }
  return comparison;
}

double figure(const Comparison& comparison, std::string_view name) {
  for (const Figure& one : comparison.figures()) {
    if (one.name == name) return one.value;
  }
  return NAN;
}

std::string problems(const Comparison& comparison) {
  const Status verdict = comparison.verdict();
  return verdict.ok() ? "" : std::string(verdict.message());
}

TEST(Comparison, TheSameIsFine) {
  const Comparison comparison = compare([](size_t, size_t expected) { return expected; });
  EXPECT_EQ(problems(comparison), "");
  EXPECT_EQ(figure(comparison, "inputs"), 1000);
  EXPECT_NEAR(figure(comparison, "top_1_percent"), 90, 1e-9);
  EXPECT_NEAR(figure(comparison, "reference_top_1_percent"), 90, 1e-9);
  EXPECT_EQ(figure(comparison, "same_class_percent"), 100);
  EXPECT_EQ(figure(comparison, "distance_percent"), 0);
  EXPECT_NEAR(figure(comparison, "factor"), 1, 1e-12);
}

TEST(Comparison, OneInAHundredWrong) {
  const Comparison comparison = compare([](size_t n, size_t expected) {
    return n % 100 == 15 ? (expected + 2) % kClasses : expected;
  });
  EXPECT_THAT(problems(comparison),
              HasSubstr("top-1: right about 890 of 1000 inputs (89.00 %), the CPU device about 900 "
                        "(90.00 %), expected at most 5 fewer"));
}

TEST(Comparison, GainsMakeUpForLosses) {
  // Some changes in each direction: 5 lost, 5 gained.
  const Comparison comparison = compare([](size_t n, size_t expected) {
    if (n < 5) return n % kClasses;                           // hard, and now right
    if (n >= 10 && n < 15) return (expected + 1) % kClasses;  // easy, and now wrong
    return expected;
  });
  EXPECT_THAT(problems(comparison), Not(HasSubstr("top-1")));
  EXPECT_NEAR(figure(comparison, "same_class_percent"), 99, 1e-9);
}

TEST(Comparison, AClassIsNotOutweighedByOthers) {
  // Class 3 is found in four of its 90 cases fewer, and hard cases of class 5 are found instead.
  const Comparison comparison = compare([](size_t n, size_t expected) {
    const size_t right = n % kClasses;
    if (right == 3 && n / kClasses >= 1 && n / kClasses <= 4) return size_t{7};
    return right == 5 ? right : expected;
  });
  const std::string text = problems(comparison);
  EXPECT_THAT(text, HasSubstr("class 3: right about 86 of 100, the CPU device about 90"));
  EXPECT_THAT(text, Not(HasSubstr("top-1")));
  EXPECT_THAT(text, Not(HasSubstr("class 5")));
}

TEST(Comparison, ClassesThatTheModelDoesNotKnow) {
  Comparison comparison({TENSOR_FLOAT32}, kClasses);
  for (size_t n = 0; n < 100; ++n) {
    // The CPU device is right about a tenth, and the device about no input.
    ASSERT_TRUE(
        comparison.add(scoresFor(0), scoresFor(n % kClasses == 0 ? 1 : 0), n % kClasses).ok());
  }
  EXPECT_FALSE(comparison.judgesClasses());
  EXPECT_THAT(problems(comparison), Not(HasSubstr("top-1")));
}

TEST(Comparison, FactorsAreFoundBelowRoundingErrors) {
  for (const auto& [type, factor, isFound] :
       {std::tuple(TENSOR_FLOAT32, 1.01f, true), std::tuple(TENSOR_FLOAT32, 1.002f, false),
        std::tuple(TENSOR_FLOAT32, 0.99f, true), std::tuple(TENSOR_QUANT8_ASYMM, 1.02f, true),
        std::tuple(TENSOR_QUANT8_ASYMM, 1.005f, false)}) {
    Comparison comparison({type}, std::nullopt);
    for (int n = 1; n <= 100; ++n) {
      const std::vector<std::vector<float>> expected = {{static_cast<float>(n)}};
      ASSERT_TRUE(comparison.add(expected, Scores{{static_cast<float>(n) * factor}}, {}).ok());
    }
    EXPECT_EQ(!comparison.verdict().ok(), isFound) << factor;
    EXPECT_NEAR(figure(comparison, "factor"), factor, 1e-6);
    EXPECT_NEAR(figure(comparison, "distance_percent"), 100 * std::abs(factor - 1), 1e-3);
  }
}

TEST(Comparison, NoiseWithoutABias) {
  Comparison comparison({TENSOR_INT32, TENSOR_FLOAT32}, std::nullopt);
  for (int n = 0; n < 1000; ++n) {
    const float noise = n % 2 == 0 ? 0.01f : -0.01f;
    ASSERT_TRUE(comparison.add(Scores{{5}, {1}}, Scores{{5}, {1 + noise}}, {}).ok());
  }
  EXPECT_THAT(problems(comparison),
              HasSubstr("output 1: the values are 1 % from the CPU device's (root mean square)"));
  EXPECT_THAT(problems(comparison), Not(HasSubstr("times")));
}

TEST(Comparison, WhatIsNoNumber) {
  Comparison comparison({TENSOR_FLOAT32}, std::nullopt);
  ASSERT_TRUE(comparison.add(Scores{{1, INFINITY}}, Scores{{1, 7}}, {}).ok());
  EXPECT_EQ(problems(comparison), "") << "anything is right where the CPU device has an infinity";
  ASSERT_TRUE(comparison.add(Scores{{1, 2}}, Scores{{NAN, 2}}, {}).ok());
  EXPECT_THAT(problems(comparison), HasSubstr("1 values are infinite or no numbers"));
}

TEST(Comparison, AllZerosExpected) {
  Comparison comparison({TENSOR_FLOAT32}, std::nullopt);
  ASSERT_TRUE(comparison.add(Scores{{0, 0}}, Scores{{0, 0}}, {}).ok());
  EXPECT_EQ(problems(comparison), "");
  ASSERT_TRUE(comparison.add(Scores{{0, 0}}, Scores{{0, 0.1f}}, {}).ok());
  EXPECT_THAT(problems(comparison), HasSubstr("output 0"));
}

TEST(Comparison, AnotherLength) {
  Comparison comparison({TENSOR_FLOAT32}, std::nullopt);
  EXPECT_THAT(std::string(comparison.add(Scores{{0, 0}}, Scores{{0}}, {}).message()),
              HasSubstr("output 0 has 1 elements, the CPU device's 2"));
}

}  // namespace
}  // namespace halyard::validation
