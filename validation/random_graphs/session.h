// A session of random graphs: what a device can do, one graph for each seed, and what is left of a
// graph that fails.
// Thread safety: none. Ownership: as each type says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/target.h"
#include "conformance/vectors.h"
#include "validation/random_graphs/checker.h"
#include "validation/random_graphs/choices.h"

namespace halyard::random_graphs {

// Who runs cases, in this process or in others.
class GraphRunner {
 public:
  virtual ~GraphRunner() = default;
  virtual Result<std::vector<bool>> supported(const conformance::VectorCase& vectorCase) = 0;
  virtual Verdict check(const conformance::VectorCase& vectorCase) = 0;
};

// In this process. Borrows the targets; `reference` is the CPU device.
class TargetRunner final : public GraphRunner {
 public:
  TargetRunner(conformance::Target& tested, conformance::Target& reference)
      : tested_(tested), reference_(reference) {}
  Result<std::vector<bool>> supported(const conformance::VectorCase& vectorCase) override {
    return supportedOperations(tested_, vectorCase);
  }
  Verdict check(const conformance::VectorCase& vectorCase) override {
    return checkGraph(tested_, reference_, vectorCase);
  }

 private:
  conformance::Target& tested_;
  conformance::Target& reference_;
};

// One operation of each of `choices` that a legal case is found for, side by side in one model: a
// device that is asked what it supports of that has been asked for all. `of`: the choice of each
// operation of the model, by index.
struct Survey {
  conformance::VectorCase question;
  std::vector<size_t> of;
};
Survey makeSurvey(const std::vector<Choice>& choices);
// Those of `choices` that the runner's device takes. IF and WHILE always stay: it depends on what
// is in them.
Result<std::vector<Choice>> supportedChoices(GraphRunner& runner,
                                             const std::vector<Choice>& choices);

struct SeedOptions {
  uint64_t seed = 1;
  size_t operations = 1;  // at most
  std::vector<Choice> choices;
};

// The seed's graph, without the operations that the device does not take after all: what they
// compute is an input. nullopt when nothing is left.
Result<std::optional<conformance::VectorCase>> graphFor(const SeedOptions& options,
                                                        GraphRunner& runner);

// The smallest part of a graph that fails as `first` says, and how it fails.
struct SmallestFailure {
  conformance::VectorCase vectorCase;
  Verdict verdict;
};
SmallestFailure findSmallest(conformance::VectorCase failing, Verdict first, GraphRunner& runner);

// How many operations the case has, those of its subgraphs counted.
size_t operationCount(const conformance::VectorCase& vectorCase);

}  // namespace halyard::random_graphs
