// Accuracy: the allowed and the actual differences between the results of a device and those of the
// CPU device. The limits are those of NNAPI's tests of random graphs; docs/accuracy.md has the
// table.
// Thread safety: pure functions.
// Ownership: results own their data.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "halyard/driver/model.h"
#include "ops/operation.h"

namespace halyard::accuracy {

// The source of the results: one operation of a kind, or several operations whose errors add up.
enum class Scope : uint8_t {
  EXACT,
  ROUNDED,
  APPROXIMATE,
  SUMS,
  SMALL_GRAPH,  // 2 to kSmallGraph operations
  LARGE_GRAPH,
};
std::string_view scopeName(Scope scope);
inline constexpr size_t kSmallGraph = 8;

// Limits for one type. Differences of quantised values are in units of the stored numbers. For
// floats, bias and mean square use differences relative to max(1, |expected|).
struct Criteria {
  double absolute = 0;  // |actual - expected| <= absolute + relative * |expected|, for each element
  double relative = 0;
  std::optional<double> bias;        // |mean difference|
  std::optional<double> meanSquare;  // mean square of the differences
  double mismatches = 0;             // share of elements that may break the rule for each element
  double largest = std::numeric_limits<double>::max();  // larger floats are ignored
};

// Means of fewer elements are not significant, and have no limits.
inline constexpr size_t kFewestForMeans = 10;
// Criteria::largest for graphs of random operations. Errors in larger values are mostly earlier
// errors, many times amplified.
inline constexpr double kLargestOfRandomGraphs = 100;

// Returns the limits. `relaxed`: float32 may be computed as float16.
Criteria criteriaFor(OperandType type, Scope scope, bool relaxed);

// Returns the scope of a model's results by its number of operations, including those of subgraphs.
Scope scopeOf(const Model& model);
// Returns whether an operation draws random numbers, so that results cannot be compared.
bool isNondeterministic(const Model& model);

// One tensor compared with the expected values.
struct Comparison {
  size_t elements = 0;
  size_t skipped = 0;    // above Criteria::largest, infinite or NaN
  size_t differing = 0;  // elements that break the rule for each element
  size_t firstDiffering = 0;
  double firstExpected = 0;
  double firstActual = 0;
  double largestAbsolute = 0;
  double largestRelative = 0;  // |difference| / max(|expected|, 1e-6); for integers max(..., 1)
  double bias = 0;
  double meanSquare = 0;
  bool failed = false;
  // "element 3 is 0.5, expected 0.25; ..." after a failure, else the largest errors.
  std::string text;
};

// Both spans hold the same number of elements of `type`. Types without numbers are compared as
// bytes. Where the CPU device computes a NaN or an infinity, any value is correct. Elsewhere these
// two are errors.
Comparison compareValues(OperandType type, const Criteria& criteria,
                         std::span<const uint8_t> expected, std::span<const uint8_t> actual);

// Returns element `index` as a number. For quantised types it is the stored number.
double elementNumber(OperandType type, std::span<const uint8_t> bytes, size_t index);

}  // namespace halyard::accuracy
