// Bisect: which operation of a model a device computes otherwise than the CPU device.
// Thread safety: as conformance::Target. Ownership: results own their data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "accuracy/accuracy.h"
#include "conformance/target.h"
#include "conformance/vectors.h"
#include "validation/random_graphs/checker.h"

namespace halyard::random_graphs {

// One operation of the main subgraph.
struct OperationFinding {
  size_t index = 0;
  OperationType type = {};
  // With the CPU device's inputs, by the criteria for such an operation; the worst of its outputs.
  // Nothing when it could not be computed: `note` says why.
  std::optional<accuracy::Comparison> own;
  // In the model, after all that came before, by the criteria for so many operations. Nothing when
  // the device does not compute the whole model.
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
  // The results of the model as it is, without intermediate results as outputs, differ.
  bool modelDiffers = false;
  // Intermediate results were outputs of one model for each operation, for all in one model, where
  // the device can work otherwise, showed nothing.
  bool usedPrefixes = false;
  std::string difference;  // of the model's own outputs
  // The smallest part that fails, and how; nothing when nothing differs.
  std::optional<conformance::VectorCase> smallest;
  std::string smallestDifference;
};

// `vectorCase`: model and inputs; its outputs are not looked at. `reference` is the CPU device. An
// error when the CPU device cannot compute the model.
Result<Bisection> bisect(conformance::Target& tested, conformance::Target& reference,
                         conformance::VectorCase vectorCase);

}  // namespace halyard::random_graphs
