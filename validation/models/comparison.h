// Comparison: what a device makes of a whole set of inputs, beside what the CPU device makes of it.
// Thread safety: none. Ownership: owns its sums.
//
// Where single results may differ (docs/accuracy.md), a set of them must not be worse:
//   top-1     the device is right less often than the CPU device by 0.5 % of the inputs whose class
//             is known at most (or by one), and for a class of at least 20 by 3 % of it (or by
//             two). Not asked where the CPU device is right hardly more often than by chance.
//   distance  the root mean square of the differences, over that of the CPU device's values
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
  // Of the outputs' types. `classes`: how many the first output scores; nullopt: it does not.
  Comparison(std::vector<OperandType> outputs, std::optional<size_t> classes);

  // Results of one input as real numbers, one list for each output. `right`: its class, if it is
  // known. OP_FAILED when an output has another length.
  Status add(std::span<const std::vector<float>> expected,
             std::span<const std::vector<float>> actual, std::optional<size_t> right);

  // OP_FAILED with everything that is worse than it may be.
  Status verdict() const;
  // "inputs", and with classes "top_1_percent", "reference_top_1_percent", "same_class_percent";
  // "distance_percent" and "factor" of the output that is worst.
  std::vector<Figure> figures() const;
  // Whether the CPU device knows the classes, so that top-1 means something.
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
    size_t notFinite = 0;  // where the CPU device's are

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
