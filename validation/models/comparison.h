// Comparison: compares a device's results of a whole set of inputs with those of the CPU device.
// Thread safety: one thread.
// Ownership: owns its sums.
//
// Where single results may differ (docs/accuracy.md), a set of them must not be worse:
//   top-1     the number of inputs with a known class about which the device is right. It may be
//             less than the CPU device's by 0.5 % of these inputs, or by one. For a class of at
//             least 20 inputs it may be less by 3 % of them, or by two. Not compared where the CPU
//             device is right in at most twice as many cases as by chance.
//   distance  the root mean square of the differences, divided by that of the CPU device's values
//   factor    by which the values are larger, in the sense of least squares
// The last two hold for each output, with the limits of its type (limitsFor).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"
#include "validation/kit/check.h"

namespace halyard::validation {

struct DistanceLimits {
  double distance = 0;
  double factor = 0;  // |factor - 1|
};
DistanceLimits limitsFor(OperandType type);

class Comparison {
 public:
  // `outputs`: the outputs' types. `classes`: the number of classes that the first output scores;
  // empty if it scores no classes.
  Comparison(std::vector<OperandType> outputs, std::optional<size_t> classes);

  // Adds the results of one input as real numbers, one list for each output. `right`: its class, if
  // known. OP_FAILED when an output has another length.
  Status add(std::span<const std::vector<float>> expected,
             std::span<const std::vector<float>> actual, std::optional<size_t> right);

  // OP_FAILED with a text of all values that are worse than allowed.
  Status verdict() const;
  // "inputs", and with classes "top_1_percent", "reference_top_1_percent", "same_class_percent".
  // Also "distance_percent" and "factor" of the worst output.
  std::vector<Figure> figures() const;
  // Whether the CPU device is right about the classes often enough for a comparison of top-1.
  bool judgesClasses() const;

 private:
  struct Right {
    size_t all = 0;
    size_t expected = 0;  // found by the CPU device
    size_t actual = 0;    // found by the device
  };
  struct Sums {
    OperandType type = OperandType::TENSOR_FLOAT32;
    double expectedSquares = 0;
    double products = 0;
    double differenceSquares = 0;
    size_t notFinite = 0;  // elements where only the CPU device's value is finite

    double distance() const;
    double factor() const;
  };

  std::vector<std::string> classProblems() const;
  std::vector<std::string> distanceProblems() const;

  const std::optional<size_t> classes_;
  std::vector<Sums> outputs_;
  std::map<size_t, Right> perClass_;
  Right total_;
  size_t inputs_ = 0;
  size_t sameClass_ = 0;
};

}  // namespace halyard::validation
