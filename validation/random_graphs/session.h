// A session of random graphs: the operations that a device supports, one graph for each seed, and
// the smallest part of a graph that fails.
// Thread safety: one thread.
// Ownership: each type states its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/target.h"
#include "conformance/vectors.h"
#include "validation/random_graphs/checker.h"
#include "validation/random_graphs/choices.h"

namespace halyard::random_graphs {

// Runs cases, in this process or in others.
class GraphRunner {
 public:
  virtual ~GraphRunner() = default;
  virtual Result<std::vector<bool>> supported(const conformance::VectorCase& vectorCase) = 0;
  virtual Verdict check(const conformance::VectorCase& vectorCase) = 0;
};

// Runs cases in this process. Borrows the targets; `reference` is the CPU device.
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

// One model with one operation of each of `choices` that has a legal case. One question about it
// tells which choices a device supports. `of`: the choice of each operation of the model, by index.
struct Survey {
  conformance::VectorCase question;
  std::vector<size_t> of;
};
Survey makeSurvey(const std::vector<Choice>& choices);
// The choices that the runner's device supports. IF and WHILE are always included: their support
// depends on their models.
Result<std::vector<Choice>> supportedChoices(GraphRunner& runner,
                                             const std::vector<Choice>& choices);

struct SeedOptions {
  uint64_t seed = 1;
  size_t operations = 1;  // at most
  std::vector<Choice> choices;
};

// The seed's graph, without the operations that the device does not support. Their results become
// inputs. Empty when no operation is left.
Result<std::optional<conformance::VectorCase>> graphFor(const SeedOptions& options,
                                                        GraphRunner& runner);

// The smallest part of a graph that still fails, and its verdict. `first`: the verdict on the whole
// graph.
struct SmallestFailure {
  conformance::VectorCase vectorCase;
  Verdict verdict;
};
SmallestFailure findSmallest(conformance::VectorCase failing, Verdict first, GraphRunner& runner);

// The number of operations of the case, with those of its subgraphs.
size_t operationCount(const conformance::VectorCase& vectorCase);

}  // namespace halyard::random_graphs
