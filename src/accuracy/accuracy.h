// Accuracy: how far the results of a device may lie from those of the CPU device, and how far they
// do. The figures are those of NNAPI's tests of random graphs, docs/accuracy.md has the table.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "halyard/driver/model.h"
#include "ops/operation.h"

namespace halyard::accuracy {

// What produced the results: one operation of a kind, or several whose errors add up.
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

// Limits for one type. Quantised values are measured in units of the stored numbers; the difference
// of floats that bias and mean square are made of is relative to max(1, |expected|).
struct Criteria {
  double absolute = 0;  // |actual - expected| <= absolute + relative * |expected|, for each element
  double relative = 0;
  std::optional<double> bias;        // |mean difference|
  std::optional<double> meanSquare;  // of the differences
  double mismatches = 0;  // the share of the elements that may break the rule for each element
  double largest = std::numeric_limits<double>::max();  // floats expected beyond it are left out
};

// Means of fewer elements say nothing, and have no limits.
inline constexpr size_t kFewestForMeans = 10;
// Criteria::largest for graphs of random operations: errors in larger values are those of what led
// to them, many times enlarged.
inline constexpr double kLargestOfRandomGraphs = 100;

// `relaxed`: float32 may be computed as float16.
Criteria criteriaFor(OperandType type, Scope scope, bool relaxed);

// The scope of a model's results: by its number of operations, those of subgraphs counted.
Scope scopeOf(const Model& model);
// Whether some operation draws at random, so that results cannot be compared.
bool isNondeterministic(const Model& model);

// One tensor beside what was expected.
struct Comparison {
  size_t elements = 0;
  size_t skipped = 0;    // beyond Criteria::largest, infinite or no number
  size_t differing = 0;  // break the rule for each element
  size_t firstDiffering = 0;
  double firstExpected = 0;
  double firstActual = 0;
  double largestAbsolute = 0;
  double largestRelative = 0;  // |difference| / max(|expected|, 1e-6), of integers max(..., 1)
  double bias = 0;
  double meanSquare = 0;
  bool failed = false;
  // "element 3 is 0.5, expected 0.25; ..." when failed, else the largest errors.
  std::string text;
};

// Both hold as many elements of `type`; types without numbers are compared as bytes. Where the CPU
// device finds a NaN or an infinity, anything is right; elsewhere they are wrong.
Comparison compareValues(OperandType type, const Criteria& criteria,
                         std::span<const uint8_t> expected, std::span<const uint8_t> actual);

// Element `index` as a number: of quantised types the stored one.
double elementNumber(OperandType type, std::span<const uint8_t> bytes, size_t index);

}  // namespace halyard::accuracy
