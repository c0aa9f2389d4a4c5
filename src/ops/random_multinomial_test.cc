// Tests of RANDOM_MULTINOMIAL: the generator against published results, samples against the
// documented algorithm, and frequencies against the probabilities.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/naive_for_test.h"
#include "ops/philox.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

// The known answers distributed with Random123, the authors' library.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

struct Draw {
  Shape dims;
  std::vector<float> logits;
  int count = 1;
  std::vector<int32_t> seeds = {1, 2};
  OperandType type = TENSOR_FLOAT32;

  std::vector<TestOperand> operands() const {
    TestOperand x = TestOperand::of<float>(TENSOR_FLOAT32, dims, logits);
    if (type == TENSOR_FLOAT16) {
      std::vector<Float16> halves;
      for (float logit : logits) halves.push_back(toFloat16(logit));
      x = TestOperand::of<Float16>(type, dims, halves);
    }
    return {x, TestOperand::int32(count), intList(seeds)};
  }
};

std::vector<int32_t> samplesOf(const Draw& draw) {
  std::vector<TestOperand> inputs = draw.operands();
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_INT32)};
  const Status status = runOperation(OperationType::RANDOM_MULTINOMIAL, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.toString();
  if (!status.ok()) return {};
  EXPECT_EQ(outputs[0].tensor.dims, (Shape{draw.dims[0], static_cast<uint32_t>(draw.count)}));
  return outputs[0].values<int32_t>();
}

TEST(RandomMultinomial, UsesTheGeneratorAsDocumented) {
  // With 4 equal classes, a sample is the highest two bits of its fraction.
  const std::vector<int32_t> samples = samplesOf({{2, 4}, std::vector<float>(8, 3.0f), 5, {7, -1}});
  std::vector<int32_t> expected;
  for (uint32_t row : {0u, 1u}) {
    for (uint32_t s = 0; s < 5; ++s) {
      const PhiloxCounter words = philox4x32({s / 2, 0, row, 0}, {7, 0xffffffff});
      expected.push_back(static_cast<int32_t>(words[s % 2 * 2] >> 30));
    }
  }
  EXPECT_EQ(samples, expected);
}

TEST(RandomMultinomial, FrequenciesAreTheProbabilities) {
  const int count = 200000;
  const std::vector<float> logits = {0.5f, -1.0f, -kInfinity, 2.0f, kNan, 0.0f, kInfinity, -9.0f,
                                     // a row of large ones, whose exponentials overflow
                                     9000, 9001, -9000, -kInfinity, 9002, kNan, 9000, 9000};
  for (OperandType type : {TENSOR_FLOAT32, TENSOR_FLOAT16}) {
    const Draw draw = {{2, 8}, logits, count, {17, 0}, type};
    const std::vector<int32_t> samples = samplesOf(draw);
    ASSERT_EQ(samples.size(), 2u * count);
    // float16 cannot represent 9001; its numbers are 8 apart there.
    const std::vector<double> values = realValues(draw.operands()[0]);
    for (size_t row = 0; row < 2; ++row) {
      std::vector<double> weights;
      double sum = 0;
      for (size_t j = 0; j < 8; ++j) {
        const double x = values[row * 8 + j];
        weights.push_back(std::isfinite(x) ? std::exp(x - (row == 0 ? 0 : 9002)) : 0);
        sum += weights.back();
      }
      std::vector<int> found(8);
      for (size_t s = 0; s < size_t(count); ++s) {
        const int32_t sample = samples[row * size_t(count) + s];
        ASSERT_TRUE(sample >= 0 && sample < 8);
        ++found[size_t(sample)];
      }
      for (size_t j = 0; j < 8; ++j) {
        const double p = weights[j] / sum;
        // The limit is six standard deviations. Classes without probability must not occur.
        EXPECT_NEAR(found[j], p * count, 6 * std::sqrt(p * (1 - p) * count)) << row << " " << j;
      }
    }
  }
}

TEST(RandomMultinomial, SeedsDecide) {
  Draw draw = {{3, 50}, std::vector<float>(150, 0.0f), 40, {5, 6}};
  const std::vector<int32_t> first = samplesOf(draw);
  EXPECT_EQ(samplesOf(draw), first);
  for (const std::vector<int32_t>& seeds :
       {std::vector<int32_t>{6, 5}, {5, 0}, {0, 6}, {5, 7}, {-5, 6}}) {
    draw.seeds = seeds;
    EXPECT_NE(samplesOf(draw), first);
  }
  // Rows differ from each other, and a smaller number of samples gives the start of a larger one.
  EXPECT_NE(std::vector<int32_t>(first.begin(), first.begin() + 40),
            std::vector<int32_t>(first.begin() + 40, first.begin() + 80));
  const std::vector<int32_t> fewer = samplesOf({{1, 50}, std::vector<float>(50, 0.0f), 7, {5, 6}});
  EXPECT_EQ(fewer, std::vector<int32_t>(first.begin(), first.begin() + 7));
  // Without seeds, each run is different.
  draw.seeds = {0, 0};
  EXPECT_NE(samplesOf(draw), samplesOf(draw));
}

TEST(RandomMultinomial, TypeLevels) {
  expectTypeLevels(OperationType::RANDOM_MULTINOMIAL, {{TENSOR_FLOAT32, 3}, {TENSOR_FLOAT16, 3}});
}

TEST(RandomMultinomial, Refuses) {
  const auto refuses = [](const Draw& draw, const std::string& text) {
    expectFailure(OperationType::RANDOM_MULTINOMIAL, draw.operands(),
                  {TestOperand::output(TENSOR_INT32)}, text);
  };
  refuses({{2, 2}, {0, 0, kNan, -kInfinity}},
          "row 1: none of the 2 log-probabilities of a row is finite");
  refuses({{1, 1}, {kInfinity}}, "none of the 1 log-probabilities");
  refuses({{2}, {0, 0}}, "logits has rank 1 [2], expected rank 2");
  refuses({{1, 2}, {0, 0}, 0}, "sample count is 0, expected 1 or more");
  refuses({{1, 2}, {0, 0}, -1}, "sample count is -1");
  refuses({{1, 2}, {0, 0}, 1, {1, 2, 3}}, "seeds have shape [3], expected [2]");
  refuses({{1, 2}, {0, 0}, 1, {}}, "seeds have shape [0], expected [2]");
  refuses({{1, 0}, {}}, "zero-sized");
  refuses({{3, 1}, {0, 0, 0}, INT32_MAX}, "would need more than 4294967295 bytes");
}

}  // namespace
}  // namespace halyard::ops::testing
