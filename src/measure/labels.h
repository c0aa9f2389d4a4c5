// Labels: the names of the classes of a model. Also finds the classes with the highest scores.
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
  // One label per line, in the order of the classes. Blanks at the ends of lines and empty lines at
  // the end of the file are ignored.
  static Labels parse(std::string_view text);
  // BAD_DATA when the file cannot be read, is too large (1 MiB) or has no label.
  static Result<Labels> load(const std::string& path);

  bool empty() const { return names_.empty(); }
  size_t size() const { return names_.size(); }

  // Fits the labels to a model with `classCount` classes. Some label files of ImageNet and COCO
  // begin with a line "background". With such a line and exactly one label too many, the labels are
  // shifted by one.
  // Returns a text for the user: the shift, or that the numbers of labels and classes differ. Empty
  // if there is nothing to report.
  std::string alignTo(size_t classCount);

  // The label of a class, or for example "class 17" if it has no label.
  std::string nameOf(size_t classIndex) const;

 private:
  std::vector<std::string> names_;
  size_t shift_ = 0;
};

struct ScoredClass {
  size_t index;
  float score;
};
// The `count` classes with the highest scores, best first. Of equal scores, the lower index comes
// first. NaN scores come last.
std::vector<ScoredClass> topClasses(std::span<const float> scores, size_t count);

// exp(x - max) / sum, computed in double precision.
std::vector<float> softmaxOf(std::span<const float> scores);

}  // namespace halyard::measure
