// Bisect: finds the operations of a model that a device computes differently from the CPU device.
// Thread safety: as conformance::Target.
// Ownership: results own their data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "accuracy/accuracy.h"
#include "conformance/target.h"
#include "conformance/vectors.h"
#include "validation/random_graphs/checker.h"

namespace halyard::random_graphs {

// The findings about one operation of the main subgraph.
struct OperationFinding {
  size_t index = 0;
  OperationType type = {};
  // The worst of its outputs, computed alone with the CPU device's inputs, by the criteria for such
  // an operation. Failed, with a `note`, if the device fails to compute it. Empty if the device
  // does not support it: `note` gives the reason.
  std::optional<accuracy::Comparison> own;
  // The worst of its outputs in the model, after all operations before it, by the criteria for this
  // number of operations. Empty when the device does not support this part of the model, or an
  // earlier operation differs.
  std::optional<accuracy::Comparison> accumulated;
  std::string note;

  bool isWrong() const { return own.has_value() && own->failed; }
  bool diverges() const { return accumulated.has_value() && accumulated->failed; }
};

struct Bisection {
  std::vector<OperationFinding> operations;
  // Indices into `operations`.
  std::optional<size_t> firstWrong;      // by itself
  std::optional<size_t> firstDiverging;  // with what came before
  // The device fails to compute the unchanged model, or its results differ. Intermediate results
  // are not outputs here.
  bool modelDiffers = false;
  // Each operation's results came from a model of its own, which ends with the operation. This is
  // done if a model with all intermediate results as outputs cannot be computed, or shows no
  // difference.
  bool usedPrefixes = false;
  std::string difference;  // of the model's own outputs
  // The smallest part that fails, and its difference. Empty when no result differs.
  std::optional<conformance::VectorCase> smallest;
  std::string smallestDifference;
};

// `vectorCase`: model and inputs; its outputs are not used. `reference` is the CPU device. Returns
// an error when the CPU device cannot compute the model.
Result<Bisection> bisect(conformance::Target& tested, conformance::Target& reference,
                         conformance::VectorCase vectorCase);

}  // namespace halyard::random_graphs
