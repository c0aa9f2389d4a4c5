// What is chosen of measurements, with subjects whose times are made up.
#include "tuning.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

namespace halyard::cpudriver {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

// Steps whose times follow from their choices.
class MadeUpSubject final : public TuningSubject {
 public:
  struct Step {
    size_t kind;
    size_t ways;
    std::function<nanoseconds(StepChoice)> time;
  };

  explicit MadeUpSubject(std::vector<Step> made, bool divides = true)
      : made_(std::move(made)), divides_(divides), choices_(made_.size()) {}

  size_t steps() const override { return made_.size(); }
  size_t ways(size_t step) const override { return made_[step].ways; }
  size_t kind(size_t step) const override { return made_[step].kind; }
  bool divides() const override { return divides_; }
  void choose(size_t step, StepChoice choice) override { choices_[step] = choice; }
  bool run(std::vector<nanoseconds>* times) override {
    if (runs_ == failsAt) return false;
    ++runs_;
    for (size_t step = 0; step < made_.size(); ++step) {
      (*times)[step] += made_[step].time(choices_[step]);
    }
    return true;
  }

  const std::vector<StepChoice>& choices() const { return choices_; }
  size_t runs() const { return runs_; }
  size_t failsAt = SIZE_MAX;

 private:
  const std::vector<Step> made_;
  const bool divides_;
  std::vector<StepChoice> choices_;
  size_t runs_ = 0;
};

// Of the ways in turn.
std::function<nanoseconds(StepChoice)> times(std::vector<int> ofWays) {
  return [ofWays](StepChoice choice) { return microseconds(ofWays.at(choice.way)); };
}

TEST(Tuning, TakesTheFastestWayOfEachStep) {
  MadeUpSubject subject(
      {{0, 3, times({100, 90, 80})}, {1, 2, times({50, 60})}, {2, 1, times({70})}});
  const Tuning tuning = tune(subject);
  EXPECT_TRUE(tuning.complete);
  EXPECT_EQ(tuning.runs, subject.runs());
  const std::vector<StepChoice> wanted = {{2, false}, {0, false}, {0, false}};
  EXPECT_EQ(subject.choices(), wanted);
  EXPECT_EQ(tuning.changed(), 1u);
  EXPECT_EQ(tuning.steps[0].choice, wanted[0]);
  EXPECT_EQ(tuning.steps[0].usual, microseconds(100));
  EXPECT_EQ(tuning.steps[0].chosen, microseconds(80));
  EXPECT_EQ(tuning.steps[1].usual, nanoseconds(0));
}

TEST(Tuning, WhatIsHardlyFasterIsNotTaken) {
  MadeUpSubject subject({{0, 2, times({1000, 970})}});
  EXPECT_EQ(tune(subject).changed(), 0u);
  EXPECT_EQ(subject.choices()[0], StepChoice());
}

TEST(Tuning, DividesFinerWhereThatIsFaster) {
  const auto time = [](StepChoice choice) {
    return microseconds(100 - 20 * choice.way - (choice.finer ? 10 : 0));
  };
  for (const bool divides : {true, false}) {
    MadeUpSubject subject({{0, 2, time}}, divides);
    EXPECT_EQ(tune(subject).changed(), 1u);
    EXPECT_EQ(subject.choices()[0], (StepChoice{1, divides}));
  }
}

// Each alike step measures another candidate in the same run, and all get what is found out.
TEST(Tuning, StepsThatAreAlikeAreMeasuredOnce) {
  std::map<size_t, size_t> samples;
  const auto time = [&samples](StepChoice choice) {
    ++samples[choice.way];
    return microseconds(choice.way == 3 ? 8'000 : 10'000);
  };
  const std::vector<MadeUpSubject::Step> alike(10, {7, 4, time});
  // Too few runs for each step to see each candidate five times.
  MadeUpSubject subject(alike, false);
  const Tuning tuning = tune(subject, std::chrono::milliseconds(2000));
  EXPECT_LT(tuning.runs, 4u * 5u + 1 + 2 * 5 + 1);
  EXPECT_EQ(subject.choices(), (std::vector<StepChoice>(10, {3, false})));
}

TEST(Tuning, TooFewSamplesDecideNothing) {
  MadeUpSubject subject({{0, 2, times({50'000, 10'000})}}, false);
  const Tuning tuning = tune(subject);
  EXPECT_TRUE(tuning.complete);
  EXPECT_LT(tuning.runs, 20u);
  EXPECT_EQ(tuning.changed(), 0u);
}

TEST(Tuning, KeepsToItsBudget) {
  for (const int each : {1, 100, 10'000, 1'000'000}) {
    nanoseconds elapsed{0};
    const auto time = [&](StepChoice) {
      elapsed += microseconds(each);
      return microseconds(each);
    };
    MadeUpSubject subject({{0, 4, time}});
    (void)tune(subject);
    // A run more in each of three comparisons.
    EXPECT_LE(elapsed, kTuningBudget + 3 * microseconds(each)) << each;
  }
}

// One that was fast by chance in the first comparison is found out in the last one.
TEST(Tuning, LuckIsNotEnough) {
  size_t runs = 0;
  const auto time = [&runs](StepChoice choice) {
    ++runs;
    return microseconds(choice.way == 1 && runs < 60 ? 80 : 100);
  };
  MadeUpSubject subject({{0, 2, time}}, false);
  const Tuning tuning = tune(subject);
  EXPECT_TRUE(tuning.complete);
  EXPECT_EQ(tuning.changed(), 0u);
  EXPECT_EQ(subject.choices()[0], StepChoice());
}

TEST(Tuning, NoiseHardlyEverDecides) {
  std::mt19937 engine(5);
  const auto time = [&engine](StepChoice) {
    return nanoseconds(std::uniform_int_distribution<int>(90'000, 110'000)(engine));
  };
  std::vector<MadeUpSubject::Step> steps;
  for (size_t step = 0; step < 40; ++step) steps.push_back({step, 5, time});
  MadeUpSubject subject(std::move(steps));
  EXPECT_LE(tune(subject).changed(), 2u);
}

TEST(Tuning, AfterAFailureEverythingIsUsual) {
  for (const size_t run : {0u, 1u, 40u, 80u}) {
    MadeUpSubject subject({{0, 2, times({100, 50})}});
    subject.failsAt = run;
    const Tuning tuning = tune(subject);
    EXPECT_FALSE(tuning.complete) << run;
    EXPECT_EQ(tuning.changed(), 0u);
    EXPECT_EQ(subject.choices()[0], StepChoice());
  }
}

TEST(Tuning, WithoutAnythingToChooseNothingRuns) {
  MadeUpSubject subject({{0, 1, times({1})}, {1, 1, times({1})}}, false);
  const Tuning tuning = tune(subject);
  EXPECT_TRUE(tuning.complete);
  EXPECT_EQ(subject.runs(), 0u);
}

}  // namespace
}  // namespace halyard::cpudriver
