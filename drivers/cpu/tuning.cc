// Steps are measured within runs of the whole, where caches are as they will be in executions: run
// for run, each step takes the next of its candidates.
#include "tuning.h"

#include <algorithm>
#include <map>

namespace halyard::cpudriver {
namespace {

using std::chrono::nanoseconds;

constexpr size_t kLeastSamples = 5;  // of a candidate, for it to be taken
constexpr size_t kSamples = 15;
// Short models are run more often than that, for this long: their steps take as long as what
// disturbs them.
constexpr std::chrono::milliseconds kLeastTime{8};
// What a candidate may take of the usual way's time at the most.
constexpr double kMostToBeChosen = 0.96;
constexpr double kMostToBeConfirmed = 0.98;

nanoseconds median(std::vector<nanoseconds>& samples) {
  const auto middle = samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

// A candidate and the first one, in steps that have been measured with both.
struct Comparison {
  nanoseconds usual{0};
  nanoseconds other{0};
  size_t samples = 0;

  bool isBelow(double most) const {
    return samples >= kLeastSamples &&
           static_cast<double>(other.count()) < most * static_cast<double>(usual.count());
  }
  double ratio() const {
    return static_cast<double>(other.count()) / static_cast<double>(usual.count());
  }
};

class Tuner {
 public:
  Tuner(TuningSubject& subject, nanoseconds budget)
      : subject_(subject), budget_(budget), chosen_(subject.steps()), candidates_(subject.steps()) {
    std::map<size_t, size_t> places;
    for (size_t step = 0; step < subject.steps(); ++step) {
      kinds_.push_back(subject.kind(step));
      places_.push_back(places[kinds_.back()]++);
    }
  }

  Tuning tune() {
    tuning_.steps.resize(chosen_.size());
    tuning_.complete = chooseWays() && chooseDivision() && confirm();
    for (size_t step = 0; step < chosen_.size(); ++step) {
      subject_.choose(step, tuning_.complete ? chosen_[step] : StepChoice());
    }
    if (!tuning_.complete) tuning_.steps.clear();
    return std::move(tuning_);
  }

 private:
  // All ways of each step's kernel.
  bool chooseWays() {
    for (size_t step = 0; step < chosen_.size(); ++step) {
      candidates_[step].clear();
      for (size_t way = 0; way < subject_.ways(step); ++way) {
        candidates_[step].push_back({static_cast<uint8_t>(way), false});
      }
    }
    if (!measure(budget_ / 2)) return false;
    takeBest();
    return true;
  }

  // The way that has been chosen, with loops that are divided earlier.
  bool chooseDivision() {
    if (!subject_.divides()) return true;
    for (size_t step = 0; step < chosen_.size(); ++step) {
      candidates_[step] = {chosen_[step], {chosen_[step].way, true}};
    }
    if (!measure(budget_ / 4)) return false;
    takeBest();
    return true;
  }

  // The best of many is often one that was lucky.
  bool confirm() {
    for (size_t step = 0; step < chosen_.size(); ++step) {
      candidates_[step] = {StepChoice()};
      if (chosen_[step] != StepChoice()) candidates_[step].push_back(chosen_[step]);
    }
    if (!measure(budget_ - budget_ / 2 - budget_ / 4)) return false;
    for (size_t step = 0; step < chosen_.size(); ++step) {
      if (candidates_[step].size() == 1) continue;
      const Comparison compared = compare(kinds_[step], 1);
      TunedStep& tuned = tuning_.steps[step];
      if (compared.isBelow(kMostToBeConfirmed)) {
        const auto count = static_cast<nanoseconds::rep>(stepsOfKind(kinds_[step]));
        tuned = {chosen_[step], compared.usual / count, compared.other / count};
      } else {
        chosen_[step] = {};
      }
    }
    return true;
  }

  // Times of all candidates.
  bool measure(nanoseconds budget) {
    size_t most = 1;
    samples_.assign(chosen_.size(), {});
    for (size_t step = 0; step < chosen_.size(); ++step) {
      samples_[step].resize(candidates_[step].size());
      most = std::max(most, candidates_[step].size());
    }
    if (most == 1) return true;
    std::vector<nanoseconds> times;
    nanoseconds elapsed{0};
    // The first run is for caches and threads to warm up.
    for (size_t run = 0; run == 0 || elapsed < budget; ++run) {
      if (run > most * kSamples && elapsed >= kLeastTime) break;
      for (size_t step = 0; step < chosen_.size(); ++step) {
        subject_.choose(step, candidates_[step][candidateOf(step, run)]);
      }
      times.assign(chosen_.size(), nanoseconds(0));
      if (!subject_.run(&times)) return false;
      ++tuning_.runs;
      for (size_t step = 0; step < chosen_.size(); ++step) {
        elapsed += times[step];
        if (run > 0) samples_[step][candidateOf(step, run)].push_back(times[step]);
      }
    }
    return true;
  }

  // Steps that are alike take different candidates in the same run.
  size_t candidateOf(size_t step, size_t run) const {
    return (run + places_[step]) % candidates_[step].size();
  }

  Comparison compare(size_t kind, size_t candidate) {
    Comparison sum;
    for (size_t step = 0; step < chosen_.size(); ++step) {
      if (kinds_[step] != kind) continue;
      auto& usual = samples_[step][0];
      auto& other = samples_[step][candidate];
      if (usual.empty() || other.empty()) continue;
      sum.usual += median(usual);
      sum.other += median(other);
      sum.samples += std::min(usual.size(), other.size());
    }
    return sum;
  }

  void takeBest() {
    std::map<size_t, size_t> best;  // candidate, by kind
    for (size_t step = 0; step < chosen_.size(); ++step) {
      const auto [found, isNew] = best.try_emplace(kinds_[step], 0);
      double least = kMostToBeChosen;
      for (size_t candidate = 1; isNew && candidate < candidates_[step].size(); ++candidate) {
        const Comparison compared = compare(kinds_[step], candidate);
        if (!compared.isBelow(least)) continue;
        least = compared.ratio();
        found->second = candidate;
      }
      chosen_[step] = candidates_[step][found->second];
    }
  }

  size_t stepsOfKind(size_t kind) const {
    return static_cast<size_t>(std::ranges::count(kinds_, kind));
  }

  TuningSubject& subject_;
  const nanoseconds budget_;
  std::vector<size_t> kinds_;   // by step
  std::vector<size_t> places_;  // by step, among those of its kind
  std::vector<StepChoice> chosen_;
  std::vector<std::vector<StepChoice>> candidates_;  // by step; the first is what others must beat
  std::vector<std::vector<std::vector<nanoseconds>>> samples_;  // by step and candidate
  Tuning tuning_;
};

}  // namespace

size_t Tuning::changed() const {
  return static_cast<size_t>(std::ranges::count_if(
      steps, [](const TunedStep& step) { return step.choice != StepChoice(); }));
}

Tuning tune(TuningSubject& subject, nanoseconds budget) { return Tuner(subject, budget).tune(); }

}  // namespace halyard::cpudriver
