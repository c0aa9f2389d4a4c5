// Looks for the cheapest assignment of a subgraph's operations to devices.
// Thread safety: pure functions. Ownership: a problem borrows its graph.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/partition/cost_model.h"
#include "runtime/partition/partition_graph.h"

namespace halyard::runtime {

constexpr double kNotCandidate = std::numeric_limits<double>::infinity();

struct SearchProblem {
  const PartitionGraph& graph;
  // Whoever may compute an operation, by index: the devices, and last the runtime for control flow.
  struct Candidate {
    std::vector<double> cost;  // of each operation; kNotCandidate: does not take it
    LinkCosts link;            // of each part
    bool isCpu = false;        // may have parts without inputs
    bool takesDynamic = true;  // may give values of unknown size to other parts
  };
  std::vector<Candidate> candidates;
  bool mayBeWhole = true;  // one part that has everything needs neither inputs nor outputs
  uint32_t interpreted() const { return static_cast<uint32_t>(candidates.size() - 1); }
};

struct Assignment {
  std::vector<uint32_t> deviceOf;  // by operation
  std::vector<Part> parts;
  std::vector<PartBorder> borders;
  double compute = 0;
  double boundary = 0;
  uint32_t impossible = 0;  // parts that no device would take

  double total() const { return compute + boundary; }
  // An assignment that works is better than one that does not.
  bool betterThan(const Assignment& other) const {
    if (impossible != other.impossible) return impossible < other.impossible;
    return total() < other.total();
  }
};

Assignment evaluate(const SearchProblem& problem, std::vector<uint32_t> deviceOf);

// The best assignment that is found from `start` on, never worse than `start`, nor than any one
// candidate that takes every operation. The same problem has the same answer always.
Assignment improve(const SearchProblem& problem, std::vector<uint32_t> start);

}  // namespace halyard::runtime
