// Labels: names of a model's classes; and the classes with the highest scores.
// Thread safety: pure functions and values. Ownership: owns its texts.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::measure {

class Labels {
 public:
  Labels() = default;
  // One label a line, in the order of the classes; blanks at the ends of lines and empty lines at
  // the end of the file do not count.
  static Labels parse(std::string_view text);
  // BAD_DATA when the file cannot be read, is too large (1 MiB) or has no label.
  static Result<Labels> load(const std::string& path);

  bool empty() const { return names_.empty(); }
  size_t size() const { return names_.size(); }

  // Fits the labels to a model with `classCount` classes. Label files of ImageNet and COCO exist
  // with and without a first line "background"; when there is one and exactly one label too many,
  // the labels are shifted. Returns what a person should know: the shift, or that the numbers do
  // not agree; empty when there is nothing to say.
  std::string alignTo(size_t classCount);

  // The label of a class, or "class 17" without one.
  std::string nameOf(size_t classIndex) const;

 private:
  std::vector<std::string> names_;
  size_t shift_ = 0;
};

struct ScoredClass {
  size_t index;
  float score;
};
// The `count` classes with the highest scores, best first; of equal scores the lower index comes
// first. NaN scores come last.
std::vector<ScoredClass> topClasses(std::span<const float> scores, size_t count);

// exp(x - max) / sum, computed in double precision.
std::vector<float> softmaxOf(std::span<const float> scores);

}  // namespace halyard::measure
