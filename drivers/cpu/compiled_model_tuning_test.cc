// A compiled model that is measured: what it computes is the same, and who cannot be measured is
// left as it was.
#include <gtest/gtest.h>

#include "testing/cached_models.h"

namespace halyard::cpudriver {
namespace {

using testing::ModelForTest;

class CompiledModelTuningTest : public ::testing::TestWithParam<OperandType> {
 protected:
  std::unique_ptr<CompiledModel> compile(bool tunable) {
    auto compiled = CompiledModel::compile(test_.model(), {&threads_, nullptr}, nullptr, tunable);
    EXPECT_TRUE(compiled.ok() && *compiled != nullptr) << compiled.status().toString();
    return compiled.ok() ? std::move(*compiled) : nullptr;
  }

  // The output for inputs that count up.
  static std::vector<uint8_t> run(CompiledModel& compiled) {
    std::vector<uint8_t> input(cpu::byteSizeOf(compiled.input(0)));
    const bool isFloat = compiled.input(0).type == OperandType::TENSOR_FLOAT32;
    for (size_t i = 0; i < input.size(); ++i) {
      input[i] = isFloat && i % 4 == 3 ? 0x3f : static_cast<uint8_t>(37 * i);
    }
    std::vector<uint8_t> output(cpu::byteSizeOf(compiled.output(0)), uint8_t{0x5a});
    const cpu::Argument from = {input.data(), input.size(), compiled.input(0).dims, false};
    const cpu::Argument to = {output.data(), output.size(), compiled.output(0).dims, false};
    const auto result = compiled.run(std::span(&from, 1), std::span(&to, 1), {});
    EXPECT_TRUE(result.status.ok()) << result.status.toString();
    return output;
  }

  void expectSame(const std::vector<uint8_t>& actual, const std::vector<uint8_t>& expected) {
    if (GetParam() != OperandType::TENSOR_FLOAT32) {
      EXPECT_EQ(actual, expected);
      return;
    }
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); i += sizeof(float)) {
      float is = 0;
      float was = 0;
      std::memcpy(&is, actual.data() + i, sizeof is);
      std::memcpy(&was, expected.data() + i, sizeof was);
      EXPECT_NEAR(is, was, 1e-5f + 1e-5f * std::abs(was)) << i;
    }
  }

  ThreadShare threads_{2};
  const ModelForTest test_{GetParam()};
};

TEST_P(CompiledModelTuningTest, ComputesTheSame) {
  const auto usual = compile(false);
  const auto tuned = compile(true);
  const Tuning tuning = tuned->tune();
  ASSERT_TRUE(tuning.complete);
  EXPECT_GT(tuning.runs, 0u);
  ASSERT_EQ(tuned->choices().size(), tuned->facts().steps);
  for (size_t step = 0; step < tuning.steps.size(); ++step) {
    EXPECT_EQ(tuning.steps[step].choice, tuned->choices()[step]);
    EXPECT_EQ(tuned->stepFacts(step).way.empty(), tuned->choices()[step] == StepChoice());
  }
  expectSame(run(*tuned), run(*usual));
}

// Whatever it is that is chosen.
TEST_P(CompiledModelTuningTest, ComputesTheSameInAllWays) {
  const std::vector<uint8_t> expected = run(*compile(false));
  const auto tuned = compile(true);
  size_t most = 0;
  for (size_t step = 0; step < tuned->facts().steps; ++step) {
    most = std::max(most, tuned->stepFacts(step).ways);
  }
  EXPECT_GT(most, 1u);
  for (size_t way = 0; way < most; ++way) {
    for (const bool finer : {false, true}) {
      std::vector<StepChoice> choices;
      for (size_t step = 0; step < tuned->facts().steps; ++step) {
        const size_t ways = tuned->stepFacts(step).ways;
        choices.push_back({static_cast<uint8_t>(std::min(way, ways - 1)), finer});
      }
      ASSERT_TRUE(tuned->choose(choices).ok());
      expectSame(run(*tuned), expected);
    }
  }
}

TEST_P(CompiledModelTuningTest, SaysInWhichWayAStepIsComputed) {
  const auto tuned = compile(true);
  std::vector<StepChoice> choices(tuned->facts().steps);
  ASSERT_TRUE(tuned->choose(choices).ok());
  EXPECT_EQ(tuned->stepFacts(0).way, "");
  choices[0].finer = true;
  ASSERT_TRUE(tuned->choose(choices).ok());
  EXPECT_EQ(tuned->stepFacts(0).way, "finer");
  ASSERT_GT(tuned->stepFacts(0).ways, 1u);
  choices[0].way = 1;
  ASSERT_TRUE(tuned->choose(choices).ok());
  EXPECT_TRUE(tuned->stepFacts(0).way.ends_with(", finer")) << tuned->stepFacts(0).way;
}

TEST_P(CompiledModelTuningTest, IsNotMeasuredWhileOthersExecute) {
  const auto tuned = compile(true);
  const ThreadShare::Execution other(&threads_);
  EXPECT_FALSE(tuned->tune().complete);
  EXPECT_TRUE(tuned->choices().empty());
  EXPECT_EQ(run(*tuned), run(*compile(false)));
}

TEST_P(CompiledModelTuningTest, IsNotMeasuredPastItsEnd) {
  const auto tuned = compile(true);
  EXPECT_FALSE(tuned->tune(kTuningBudget, hal::Clock::now()).complete);
  EXPECT_TRUE(tuned->choices().empty());
  EXPECT_EQ(run(*tuned), run(*compile(false)));
}

INSTANTIATE_TEST_SUITE_P(Types, CompiledModelTuningTest,
                         ::testing::Values(OperandType::TENSOR_FLOAT32,
                                           OperandType::TENSOR_QUANT8_ASYMM));

}  // namespace
}  // namespace halyard::cpudriver
