// Searches for the cheapest assignment of a subgraph's operations to devices.
// Thread safety: pure functions.
// Ownership: a problem borrows its graph.
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
  // A candidate to compute operations, by index: the devices, and last the runtime for control
  // flow.
  struct Candidate {
    std::vector<double> cost;  // of each operation; kNotCandidate: not supported
    LinkCosts link;            // of each part
    bool isCpu = false;        // may have parts without inputs
    bool takesDynamic = true;  // may give values of unknown size to other parts
  };
  std::vector<Candidate> candidates;
  bool mayBeWhole = true;  // a single part with everything needs neither inputs nor outputs
  uint32_t interpreted() const { return static_cast<uint32_t>(candidates.size() - 1); }
};

struct Assignment {
  std::vector<uint32_t> deviceOf;  // by operation
  std::vector<Part> parts;
  std::vector<PartBorder> borders;
  double compute = 0;
  double boundary = 0;
  uint32_t impossible = 0;  // parts that no device would accept

  double total() const { return compute + boundary; }
  // A working assignment is better than one that does not work.
  bool betterThan(const Assignment& other) const {
    if (impossible != other.impossible) return impossible < other.impossible;
    return total() < other.total();
  }
};

Assignment evaluate(const SearchProblem& problem, std::vector<uint32_t> deviceOf);

// Returns the best assignment found from `start` on. It is never worse than `start`, or than any
// single candidate that supports every operation. The same problem always has the same result.
Assignment improve(const SearchProblem& problem, std::vector<uint32_t> start);

}  // namespace halyard::runtime
