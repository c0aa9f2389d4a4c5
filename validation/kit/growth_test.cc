#include "validation/kit/growth.h"

#include <gtest/gtest.h>

#include <utility>

namespace halyard::validation {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

GrowthRule impatient() {
  GrowthRule rule;
  rule.memoryBytes = 12 * kMiB;
  rule.descriptors = 12;
  rule.patience = std::chrono::milliseconds(0);
  return rule;
}

// A process that has `figures[n]` after n spans.
struct Fake {
  std::vector<ProcessFigures> figures;
  size_t spans = 0;

  CheckResult check() {
    return expectGrowthEnds(
        impatient(),
        [this] {
          ++spans;
          return CheckResult::passed();
        },
        [this]() -> Result<ProcessFigures> { return figures.at(spans); });
  }
};

TEST(Growth, SteadyProcessPassesAfterOneSpan) {
  Fake process{{{.memoryBytes = 15 * kMiB}, {.memoryBytes = 16 * kMiB}}};
  EXPECT_EQ(process.check().outcome, Outcome::PASSED);
  EXPECT_EQ(process.spans, 1u);
}

// A sound driver did this: a thread came late, and got a heap.
TEST(Growth, HeapThatSettlesLateIsNoLeak) {
  Fake process{
      {{.memoryBytes = 15 * kMiB}, {.memoryBytes = 31 * kMiB}, {.memoryBytes = 31 * kMiB}}};
  EXPECT_EQ(process.check().outcome, Outcome::PASSED);
  EXPECT_EQ(process.spans, 2u);
}

TEST(Growth, MemoryThatGrowsWithEachSpanIsALeak) {
  Fake process;
  for (size_t i = 0; i < 5; ++i) process.figures.push_back({.memoryBytes = (15 + 13 * i) * kMiB});
  const CheckResult result = process.check();
  EXPECT_EQ(result.outcome, Outcome::FAILED);
  EXPECT_NE(result.reason.find("15360 KiB and 0 descriptors, then 28672 KiB and 0"),
            std::string::npos)
      << result.reason;
  EXPECT_EQ(process.spans, 4u);
}

// It may settle, but not that high.
TEST(Growth, MuchMemoryAtOnceIsALeak) {
  Fake process{
      {{.memoryBytes = 15 * kMiB}, {.memoryBytes = 64 * kMiB}, {.memoryBytes = 64 * kMiB}}};
  EXPECT_EQ(process.check().outcome, Outcome::FAILED);
  EXPECT_EQ(process.spans, 1u);
}

TEST(Growth, DescriptorsThatGrowWithEachSpanAreALeak) {
  Fake process;
  for (size_t i = 0; i < 5; ++i) process.figures.push_back({.descriptors = 10 + 30 * i});
  EXPECT_EQ(process.check().outcome, Outcome::FAILED);
}

TEST(Growth, WaitsForWhatIsFreedLater) {
  GrowthRule rule = impatient();
  rule.patience = std::chrono::seconds(10);
  int measured = 0;
  const CheckResult result = expectGrowthEnds(
      rule, [] { return CheckResult::passed(); },
      [&]() -> Result<ProcessFigures> {
        ++measured;
        return ProcessFigures{.descriptors = measured == 2 ? 40u : 10u};
      });
  EXPECT_EQ(result.outcome, Outcome::PASSED);
  EXPECT_EQ(measured, 3);
}

TEST(Growth, EndsWithTheResultOfTheWork) {
  const auto measure = []() -> Result<ProcessFigures> { return ProcessFigures{}; };
  EXPECT_EQ(expectGrowthEnds(
                impatient(), [] { return CheckResult::skipped("no buffers"); }, measure)
                .reason,
            "no buffers");
  EXPECT_EQ(expectGrowthEnds(
                impatient(), [] { return CheckResult::passed(); },
                []() -> Result<ProcessFigures> { return opFailed("the process is gone"); })
                .outcome,
            Outcome::FAILED);
}

}  // namespace
}  // namespace halyard::validation
