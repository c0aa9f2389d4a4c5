// Evaluates assignments, and improves them.
#include "runtime/partition/partition_search.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>

namespace halyard::runtime {
namespace {

// The limit of operations visited in all evaluations of the local search, which limits its time.
constexpr size_t kMostOperationsEvaluated = 1'500'000;
// The limit for all sweeps over sets of devices.
constexpr size_t kMostOperationsSwept = 250'000;
// With more operations, the search does not move them one by one.
constexpr size_t kMostSingleMoves = 256;

// Finds the cheapest way to cut a given order of the operations into segments, each on one
// candidate. It is exact for chains, where segments only share the values between them. Otherwise
// it is a good start, because the past of a segment is decided before its future is known.
class Sweep {
 public:
  Sweep(const SearchProblem& problem, std::span<const uint32_t> order)
      : problem_(problem), graph_(problem.graph), order_(order) {
    const size_t values = graph_.values.size();
    producedAt_.assign(values, -1);
    lastUse_.assign(values, -1);
    previousUse_.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      for (const uint32_t value : graph_.outputs[order[i]]) {
        producedAt_[value] = static_cast<int64_t>(i);
      }
      for (const uint32_t value : graph_.inputs[order[i]]) {
        previousUse_[i].push_back(lastUse_[value]);
        lastUse_[value] = static_cast<int64_t>(i);
      }
    }
  }

  // Uses the candidates in `allowed`, of which each operation must have one.
  std::vector<uint32_t> run(std::span<const bool> allowed) {
    const size_t candidates = problem_.candidates.size();
    std::vector<State> states(candidates);
    std::vector<State> next(candidates);
    std::vector<uint32_t> cameFrom(order_.size() * candidates);
    for (size_t i = 0; i < order_.size(); ++i) {
      // The cost if candidate j closes its segment after the previous operation.
      for (size_t j = 0; i > 0 && j < candidates; ++j) {
        states[j].closed =
            states[j].cost + states[j].outgoing * problem_.candidates[j].link.nsPerByte;
      }
      for (size_t k = 0; k < candidates; ++k) {
        next[k] = State();
        if (!allowed[k]) continue;
        const double cost = problem_.candidates[k].cost[order_[i]];
        if (cost == kNotCandidate) continue;
        if (i == 0) {
          next[k] = open(i, k, cost, 0);
          continue;
        }
        for (size_t j = 0; j < candidates; ++j) {
          const State& from = states[j];
          if (from.cost == kNotCandidate) continue;
          const State reached = j == k ? extend(i, k, cost, from) : open(i, k, cost, from.closed);
          if (reached.cost >= next[k].cost) continue;
          next[k] = reached;
          cameFrom[i * candidates + k] = static_cast<uint32_t>(j);
        }
      }
      states.swap(next);
    }
    return trace(states, cameFrom);
  }

 private:
  struct State {
    double cost = kNotCandidate;  // up to here, without the outputs of the open segment
    double closed = kNotCandidate;
    double outgoing = 0;  // bytes that the open segment must give to others
    int64_t begin = 0;    // start of the open segment
  };

  double incoming(size_t position, int64_t begin) const {
    double bytes = 0;
    const std::span<const uint32_t> inputs = graph_.inputs[order_[position]];
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (producedAt_[inputs[i]] >= begin || previousUse_[position][i] >= begin) continue;
      bytes += graph_.values[inputs[i]].bytes;
    }
    return bytes;
  }

  void updateOutgoing(size_t position, State* state) const {
    const uint32_t operation = order_[position];
    for (const uint32_t index : graph_.inputs[operation]) {
      const PartitionGraph::Value& value = graph_.values[index];
      const bool isOver = lastUse_[index] == static_cast<int64_t>(position);
      if (isOver && !value.isOutput && producedAt_[index] >= state->begin) {
        state->outgoing -= value.bytes;
      }
    }
    for (const uint32_t index : graph_.outputs[operation]) {
      const PartitionGraph::Value& value = graph_.values[index];
      if (value.isOutput || !graph_.consumers[index].empty()) state->outgoing += value.bytes;
    }
  }

  State open(size_t position, size_t candidate, double cost, double before) const {
    const LinkCosts& link = problem_.candidates[candidate].link;
    State state;
    state.begin = static_cast<int64_t>(position);
    state.cost = before + cost + link.wakeNs + incoming(position, state.begin) * link.nsPerByte;
    updateOutgoing(position, &state);
    return state;
  }

  State extend(size_t position, size_t candidate, double cost, const State& from) const {
    const LinkCosts& link = problem_.candidates[candidate].link;
    State state = from;
    state.cost += cost + incoming(position, state.begin) * link.nsPerByte;
    updateOutgoing(position, &state);
    return state;
  }

  std::vector<uint32_t> trace(const std::vector<State>& last,
                              const std::vector<uint32_t>& cameFrom) const {
    const size_t candidates = last.size();
    size_t best = 0;
    double cost = kNotCandidate;
    for (size_t k = 0; k < candidates; ++k) {
      const double closed = last[k].cost + last[k].outgoing * problem_.candidates[k].link.nsPerByte;
      if (closed >= cost) continue;
      cost = closed;
      best = k;
    }
    std::vector<uint32_t> deviceOf(order_.size());
    for (size_t i = order_.size(); i-- > 0;) {
      deviceOf[order_[i]] = static_cast<uint32_t>(best);
      if (i > 0) best = cameFrom[i * candidates + best];
    }
    return deviceOf;
  }

  const SearchProblem& problem_;
  const PartitionGraph& graph_;
  std::span<const uint32_t> order_;
  std::vector<int64_t> producedAt_;  // by value: position in the order; -1: before the first
  std::vector<int64_t> lastUse_;
  std::vector<std::vector<int64_t>> previousUse_;  // by position and input
};

// Returns sets of candidates that are worth a separate try, the largest first. The runtime's
// control flow belongs to the CPU device.
std::vector<std::vector<char>> subsetsOf(const SearchProblem& problem) {
  const size_t devices = problem.candidates.size() - 1;
  std::vector<std::vector<char>> subsets;
  const auto add = [&](auto isIn) {
    std::vector<char> subset(problem.candidates.size(), 0);
    for (size_t d = 0; d < devices; ++d) {
      if (!isIn(d)) continue;
      subset[d] = 1;
      if (problem.candidates[d].isCpu) subset.back() = 1;
    }
    if (std::find(subsets.begin(), subsets.end(), subset) == subsets.end()) {
      subsets.push_back(std::move(subset));
    }
  };
  add([](size_t) { return true; });
  if (devices <= 4) {
    for (size_t mask = (size_t{1} << devices) - 1; mask > 0; --mask) {
      add([&](size_t d) { return (mask >> d & 1) != 0; });
    }
    return subsets;
  }
  for (size_t one = 0; one < devices; ++one) {
    add([&](size_t d) { return d == one || problem.candidates[d].isCpu; });
  }
  for (size_t one = 0; one < devices; ++one) {
    add([&](size_t d) { return d != one; });
  }
  return subsets;
}

class Improver {
 public:
  Improver(const SearchProblem& problem, std::vector<uint32_t> start)
      : problem_(problem), count_(problem.graph.operationCount()) {
    best_ = evaluate(problem, std::move(start));
    evaluations_ = std::max<size_t>(20, kMostOperationsEvaluated / std::max<size_t>(count_, 1));
  }

  Assignment run() {
    trySingles();
    if (problem_.candidates.size() <= 2) return std::move(best_);  // one device
    trySubsets();
    moveMany();
    moveOneByOne();
    return std::move(best_);
  }

 private:
  bool propose(std::vector<uint32_t> deviceOf) {
    Assignment candidate = evaluate(problem_, std::move(deviceOf));
    if (!candidate.betterThan(best_)) return false;
    best_ = std::move(candidate);
    return true;
  }

  bool takesAll(size_t candidate, std::span<const uint32_t> operations) const {
    const std::vector<double>& cost = problem_.candidates[candidate].cost;
    return std::all_of(operations.begin(), operations.end(),
                       [&](uint32_t n) { return cost[n] != kNotCandidate; });
  }

  void trySingles() {
    for (size_t k = 0; k + 1 < problem_.candidates.size(); ++k) {
      const std::vector<double>& cost = problem_.candidates[k].cost;
      if (std::find(cost.begin(), cost.end(), kNotCandidate) != cost.end()) continue;
      propose(std::vector<uint32_t>(count_, static_cast<uint32_t>(k)));
    }
  }

  // Returns the cheapest candidate for each operation; empty when an operation has no candidate.
  std::vector<uint32_t> cheapest(const std::vector<char>& allowed) const {
    std::vector<uint32_t> deviceOf(count_);
    for (size_t n = 0; n < count_; ++n) {
      double best = kNotCandidate;
      for (size_t k = 0; k < problem_.candidates.size(); ++k) {
        if (allowed[k] == 0 || problem_.candidates[k].cost[n] >= best) continue;
        best = problem_.candidates[k].cost[n];
        deviceOf[n] = static_cast<uint32_t>(k);
      }
      if (best == kNotCandidate) return {};
    }
    return deviceOf;
  }

  static std::vector<uint32_t> orderOf(const Assignment& assignment) {
    std::vector<uint32_t> order;
    for (const Part& part : assignment.parts) {
      order.insert(order.end(), part.operations.begin(), part.operations.end());
    }
    return order;
  }

  void trySubsets() {
    std::vector<uint32_t> order(count_);
    std::iota(order.begin(), order.end(), 0u);
    Sweep plain(problem_, order);
    size_t swept = 0;
    for (const std::vector<char>& subset : subsetsOf(problem_)) {
      std::vector<uint32_t> deviceOf = cheapest(subset);
      if (deviceOf.empty()) continue;
      if (swept > 0 && swept + count_ > kMostOperationsSwept) break;
      swept += count_;
      const std::unique_ptr<bool[]> allowed = std::make_unique<bool[]>(subset.size());
      for (size_t k = 0; k < subset.size(); ++k) allowed[k] = subset[k] != 0;
      const std::span<const bool> mask(allowed.get(), subset.size());
      // If the model's order jumps between branches, the order of the parts is better.
      const std::vector<uint32_t> grouped = orderOf(evaluate(problem_, deviceOf));
      propose(std::move(deviceOf));
      propose(plain.run(mask));
      propose(Sweep(problem_, grouped).run(mask));
    }
    const std::vector<uint32_t> ordered = orderOf(best_);
    const auto all = std::make_unique<bool[]>(problem_.candidates.size());
    std::fill_n(all.get(), problem_.candidates.size(), true);
    propose(Sweep(problem_, ordered).run({all.get(), problem_.candidates.size()}));
  }

  struct Move {
    double gain = 0;  // estimated; negative is better
    uint32_t part = 0;
    uint32_t candidate = 0;
  };

  // The borders that a part shares with the parts of each candidate.
  struct Neighbours {
    std::vector<double> bytes;
    std::vector<std::vector<uint32_t>> parts;
  };

  std::vector<uint32_t> partOf() const {
    std::vector<uint32_t> result(count_);
    for (uint32_t p = 0; p < best_.parts.size(); ++p) {
      for (const uint32_t n : best_.parts[p].operations) result[n] = p;
    }
    return result;
  }

  Neighbours neighboursOf(uint32_t part, const std::vector<uint32_t>& partOf) const {
    const size_t candidates = problem_.candidates.size();
    Neighbours result{std::vector<double>(candidates, 0),
                      std::vector<std::vector<uint32_t>>(candidates)};
    const auto note = [&](uint32_t other, double bytes) {
      if (other == part) return;
      const uint32_t candidate = best_.parts[other].device;
      result.bytes[candidate] += bytes;
      std::vector<uint32_t>& parts = result.parts[candidate];
      if (std::find(parts.begin(), parts.end(), other) == parts.end()) parts.push_back(other);
    };
    const PartitionGraph& graph = problem_.graph;
    for (const uint32_t n : best_.parts[part].operations) {
      for (const uint32_t index : graph.inputs[n]) {
        const PartitionGraph::Value& value = graph.values[index];
        if (value.producer != kNoOperation) note(partOf[value.producer], value.bytes);
      }
      for (const uint32_t index : graph.outputs[n]) {
        const double bytes = graph.values[index].bytes;
        for (const uint32_t consumer : graph.consumers[index]) note(partOf[consumer], bytes);
      }
    }
    return result;
  }

  // Returns the approximate gain of moving each part to each other candidate, best first.
  std::vector<Move> estimateMoves(const std::vector<uint32_t>& partOf) const {
    std::vector<Move> moves;
    for (uint32_t p = 0; p < best_.parts.size(); ++p) {
      const Part& part = best_.parts[p];
      const Neighbours neighbours = neighboursOf(p, partOf);
      const LinkCosts& from = problem_.candidates[part.device].link;
      const double crossing = best_.borders[p].bytesIn + best_.borders[p].bytesOut;
      for (uint32_t k = 0; k < problem_.candidates.size(); ++k) {
        if (k == part.device || !takesAll(k, part.operations)) continue;
        const LinkCosts& to = problem_.candidates[k].link;
        Move move{0, p, k};
        for (const uint32_t n : part.operations) {
          move.gain += problem_.candidates[k].cost[n] - problem_.candidates[part.device].cost[n];
        }
        move.gain -= from.wakeNs + crossing * from.nsPerByte;
        const double shared = neighbours.bytes[k];
        move.gain += to.nsPerByte * (std::max(0.0, crossing - shared) - shared);
        move.gain += to.wakeNs * (1 - static_cast<double>(neighbours.parts[k].size()));
        moves.push_back(move);
      }
    }
    std::stable_sort(moves.begin(), moves.end(),
                     [](const Move& a, const Move& b) { return a.gain < b.gain; });
    return moves;
  }

  // Returns promising moves that do not affect each other.
  std::vector<Move> independentMoves() const {
    const std::vector<uint32_t> owner = partOf();
    std::vector<char> isTouched(best_.parts.size(), 0);
    std::vector<Move> chosen;
    for (const Move& move : estimateMoves(owner)) {
      if (move.gain >= 0) break;
      if (isTouched[move.part] != 0) continue;
      chosen.push_back(move);
      isTouched[move.part] = 1;
      for (const auto& parts : neighboursOf(move.part, owner).parts) {
        for (const uint32_t each : parts) isTouched[each] = 1;
      }
    }
    return chosen;
  }

  std::vector<uint32_t> applied(std::span<const Move> moves) const {
    std::vector<uint32_t> deviceOf = best_.deviceOf;
    for (const Move& move : moves) {
      for (const uint32_t n : best_.parts[move.part].operations) deviceOf[n] = move.candidate;
    }
    return deviceOf;
  }

  bool mayEvaluate() {
    if (evaluations_ == 0) return false;
    --evaluations_;
    return true;
  }

  // Moves many parts at once, for plans with many parts; fewer if that is no improvement.
  void moveMany() {
    bool goesOn = true;
    while (goesOn) {
      goesOn = false;
      std::vector<Move> moves = independentMoves();
      while (!moves.empty() && mayEvaluate()) {
        goesOn = propose(applied(moves));
        if (goesOn) break;
        moves.resize(moves.size() / 2);
      }
    }
  }

  // Moves each part alone, whether or not its estimate is good. In small graphs it also moves each
  // operation.
  void moveOneByOne() {
    bool goesOn = true;
    while (goesOn) {
      goesOn = false;
      for (const Move& move : estimateMoves(partOf())) {
        if (!mayEvaluate()) return;
        goesOn = propose(applied({&move, 1}));
        if (goesOn) break;
      }
      if (!goesOn && count_ <= kMostSingleMoves) goesOn = moveOneOperation();
    }
  }

  bool moveOneOperation() {
    for (uint32_t n = 0; n < count_; ++n) {
      for (uint32_t k = 0; k < problem_.candidates.size(); ++k) {
        if (k == best_.deviceOf[n] || problem_.candidates[k].cost[n] == kNotCandidate) continue;
        if (!mayEvaluate()) return false;
        std::vector<uint32_t> deviceOf = best_.deviceOf;
        deviceOf[n] = k;
        if (propose(std::move(deviceOf))) return true;
      }
    }
    return false;
  }

  const SearchProblem& problem_;
  const size_t count_;
  Assignment best_;
  size_t evaluations_ = 0;  // remaining evaluations
};

}  // namespace

Assignment evaluate(const SearchProblem& problem, std::vector<uint32_t> deviceOf) {
  Assignment result;
  result.deviceOf = std::move(deviceOf);
  result.parts = arrangeParts(problem.graph, result.deviceOf, problem.interpreted());
  result.borders = bordersOf(problem.graph, result.parts);
  for (size_t n = 0; n < result.deviceOf.size(); ++n) {
    result.compute += problem.candidates[result.deviceOf[n]].cost[n];
  }
  const bool isWhole = problem.mayBeWhole && result.parts.size() == 1;
  for (size_t p = 0; p < result.parts.size(); ++p) {
    const uint32_t device = result.parts[p].device;
    if (device == problem.interpreted()) continue;
    const SearchProblem::Candidate& candidate = problem.candidates[device];
    const PartBorder& border = result.borders[p];
    result.boundary +=
        candidate.link.wakeNs + (border.bytesIn + border.bytesOut) * candidate.link.nsPerByte;
    if (isWhole) continue;
    const bool lacksInputs = border.inputs == 0 && !candidate.isCpu;
    const bool isDynamic = border.dynamicTemporary && !candidate.takesDynamic;
    if (lacksInputs || border.outputs == 0 || isDynamic) ++result.impossible;
  }
  return result;
}

Assignment improve(const SearchProblem& problem, std::vector<uint32_t> start) {
  return Improver(problem, std::move(start)).run();
}

}  // namespace halyard::runtime
