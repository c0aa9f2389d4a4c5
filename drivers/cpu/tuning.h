// Tuning: choosing by measuring among the ways in which the steps of a model can be computed.
// Thread safety: tune is called by one thread, which alone uses the subject meanwhile; the rest are
// values. Ownership: borrows the subject.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace halyard::cpudriver {

// How a step is computed; the default is what is taken without measuring.
struct StepChoice {
  uint8_t way = 0;     // of its kernel's
  bool finer = false;  // its loops are divided among the threads from fewer elements on

  bool operator==(const StepChoice&) const = default;
};

// What is tuned: steps that are run one after the other.
class TuningSubject {
 public:
  virtual ~TuningSubject() = default;
  virtual size_t steps() const = 0;
  // At least 1.
  virtual size_t ways(size_t step) const = 0;
  // Steps with the same number are alike: what is found out of one holds for all.
  virtual size_t kind(size_t step) const = 0;
  // Whether there are threads to divide loops among.
  virtual bool divides() const = 0;
  virtual void choose(size_t step, StepChoice choice) = 0;
  // Runs all steps and gives the time of each. False: nothing can be measured, or not any more.
  virtual bool run(std::vector<std::chrono::nanoseconds>* times) = 0;
};

// What was found out of a step. Times are medians over all steps of its kind, and 0 where there was
// nothing to choose, or where the usual way was not beaten.
struct TunedStep {
  StepChoice choice;
  std::chrono::nanoseconds usual{0};
  std::chrono::nanoseconds chosen{0};
};

struct Tuning {
  bool complete = false;  // otherwise the subject has been left with the default everywhere
  size_t runs = 0;        // of the subject
  std::vector<TunedStep> steps;

  size_t changed() const;  // steps that are not computed in the usual way
};

// The most that running the subject may take, but for the run with which that is exceeded.
inline constexpr std::chrono::milliseconds kTuningBudget{150};

// Measures and leaves the subject with what is best: another way is taken only if it was better by
// a few percent than the usual one, and again in a second comparison of these two alone. Does
// nothing for subjects without anything to choose.
Tuning tune(TuningSubject& subject, std::chrono::nanoseconds budget = kTuningBudget);

}  // namespace halyard::cpudriver
