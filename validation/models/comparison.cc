#include "validation/models/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/labels.h"

namespace halyard::validation {
namespace {

constexpr double kMostLost = 0.005;  // of the inputs with a class
constexpr double kMostLostOfClass = 0.03;
constexpr size_t kFewestOfClass = 20;
// A guess is right in one case of as many as there are classes. A device that knows the classes is
// right in more than twice as many cases.
constexpr size_t kBetterThanChance = 2;

double percent(size_t part, size_t all) {
  return all == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(all);
}

size_t mostLost(size_t all, double share, size_t least) {
  return std::max(least, static_cast<size_t>(share * static_cast<double>(all)));
}

}  // namespace

DistanceLimits limitsFor(OperandType type) {
  switch (type) {
    case OperandType::TENSOR_FLOAT32:
    case OperandType::FLOAT32:
      return {0.005, 0.005};
    case OperandType::TENSOR_FLOAT16:
    case OperandType::FLOAT16:
      return {0.02, 0.01};
    default:
      // Values of few steps, which each layer may round to the next one.
      return {0.05, 0.01};
  }
}

double Comparison::Sums::distance() const {
  if (differenceSquares == 0) return 0;
  if (expectedSquares == 0) return INFINITY;
  return std::sqrt(differenceSquares / expectedSquares);
}

double Comparison::Sums::factor() const {
  return expectedSquares == 0 ? 1 : products / expectedSquares;
}

Comparison::Comparison(std::vector<OperandType> outputs, std::optional<size_t> classes)
    : classes_(classes) {
  for (const OperandType type : outputs) outputs_.push_back({.type = type});
}

Status Comparison::add(std::span<const std::vector<float>> expected,
                       std::span<const std::vector<float>> actual, std::optional<size_t> right) {
  for (size_t o = 0; o < outputs_.size(); ++o) {
    if (actual[o].size() != expected[o].size()) {
      return opFailed("output {} has {} elements, the CPU device's {}", o, actual[o].size(),
                      expected[o].size());
    }
    Sums& sums = outputs_[o];
    for (size_t i = 0; i < expected[o].size(); ++i) {
      const double e = expected[o][i];
      const double a = actual[o][i];
      if (!std::isfinite(e)) continue;
      if (!std::isfinite(a)) {
        ++sums.notFinite;
        continue;
      }
      sums.expectedSquares += e * e;
      sums.products += e * a;
      sums.differenceSquares += (a - e) * (a - e);
    }
  }
  ++inputs_;
  if (!classes_) return okStatus();
  const size_t expectedClass = measure::topClasses(expected[0], 1)[0].index;
  const size_t actualClass = measure::topClasses(actual[0], 1)[0].index;
  sameClass_ += expectedClass == actualClass;
  if (!right) return okStatus();
  for (Right* const counts : {&total_, &perClass_[*right]}) {
    ++counts->all;
    counts->expected += expectedClass == *right;
    counts->actual += actualClass == *right;
  }
  return okStatus();
}

bool Comparison::judgesClasses() const {
  return classes_ && total_.expected * *classes_ > kBetterThanChance * total_.all;
}

std::vector<std::string> Comparison::classProblems() const {
  std::vector<std::string> problems;
  if (!judgesClasses()) return problems;
  const auto isWorse = [](const Right& counts, size_t most) {
    return counts.actual + most < counts.expected;
  };
  const size_t most = mostLost(total_.all, kMostLost, 1);
  if (isWorse(total_, most)) {
    problems.push_back(fmt::format(
        "top-1: right about {} of {} inputs ({:.2f} %), the CPU device about {} ({:.2f} %), "
        "expected at most {} fewer",
        total_.actual, total_.all, percent(total_.actual, total_.all), total_.expected,
        percent(total_.expected, total_.all), most));
  }
  for (const auto& [number, counts] : perClass_) {
    if (counts.all < kFewestOfClass) continue;
    const size_t mostOfClass = mostLost(counts.all, kMostLostOfClass, 2);
    if (!isWorse(counts, mostOfClass)) continue;
    problems.push_back(
        fmt::format("class {}: right about {} of {}, the CPU device about {}, expected at most {} "
                    "fewer",
                    number, counts.actual, counts.all, counts.expected, mostOfClass));
  }
  return problems;
}

std::vector<std::string> Comparison::distanceProblems() const {
  std::vector<std::string> problems;
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const Sums& sums = outputs_[o];
    const DistanceLimits limits = limitsFor(sums.type);
    if (sums.notFinite > 0) {
      problems.push_back(
          fmt::format("output {}: {} values are infinite or no numbers, the CPU "
                      "device's are finite",
                      o, sums.notFinite));
    }
    if (sums.distance() > limits.distance) {
      problems.push_back(fmt::format(
          "output {}: the values are {:.3g} % from the CPU device's (root mean square), "
          "expected at most {:.3g} %",
          o, 100 * sums.distance(), 100 * limits.distance));
    }
    if (std::abs(sums.factor() - 1) > limits.factor) {
      problems.push_back(fmt::format(
          "output {}: the values are {:.4f} times the CPU device's, expected {:.3f} to {:.3f}", o,
          sums.factor(), 1 - limits.factor, 1 + limits.factor));
    }
  }
  return problems;
}

Status Comparison::verdict() const {
  std::vector<std::string> problems = classProblems();
  for (std::string& problem : distanceProblems()) problems.push_back(std::move(problem));
  if (problems.empty()) return okStatus();
  return opFailed("over {} inputs:\n{}", inputs_, fmt::join(problems, "\n"));
}

std::vector<Figure> Comparison::figures() const {
  std::vector<Figure> figures = {{"inputs", static_cast<double>(inputs_)}};
  if (classes_) {
    if (total_.all > 0) {
      figures.push_back({"top_1_percent", percent(total_.actual, total_.all)});
      figures.push_back({"reference_top_1_percent", percent(total_.expected, total_.all)});
    }
    figures.push_back({"same_class_percent", percent(sameClass_, inputs_)});
  }
  double distance = 0;
  double factor = 1;
  for (const Sums& sums : outputs_) {
    distance = std::max(distance, sums.distance());
    if (std::abs(sums.factor() - 1) > std::abs(factor - 1)) factor = sums.factor();
  }
  figures.push_back({"distance_percent", 100 * distance});
  figures.push_back({"factor", factor});
  return figures;
}

}  // namespace halyard::validation
