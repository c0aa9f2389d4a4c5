// Places tensors greedily by size; see arena_plan.h.
#include "cpu/arena_plan.h"

#include <algorithm>
#include <numeric>

namespace halyard::cpu {
namespace {

struct Placed {
  size_t begin;
  size_t end;
  size_t first;  // first step of the tensor
  size_t last;
};

bool aliveTogether(const Placed& a, const ArenaTensor& b) {
  return a.first <= b.last && b.first <= a.last;
}

// Returns the start of the smallest gap for `bytes` bytes between the placed tensors that are alive
// together with `tensor`. Returns the end of them all if there is no gap. `placed` is in ascending
// order of `begin`.
size_t smallestGap(const std::vector<Placed>& placed, const ArenaTensor& tensor, size_t bytes) {
  size_t end = 0;  // end of the tensors passed so far
  size_t best = 0;
  size_t bestSize = 0;
  bool found = false;
  for (const Placed& other : placed) {
    if (!aliveTogether(other, tensor)) continue;
    if (other.begin >= end + bytes && (!found || other.begin - end < bestSize)) {
      best = end;
      bestSize = other.begin - end;
      found = true;
    }
    end = std::max(end, other.end);
  }
  return found ? best : end;
}

}  // namespace

ArenaPlan planArena(const std::vector<ArenaTensor>& tensors, size_t alignment) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tensors[a].bytes > tensors[b].bytes; });
  ArenaPlan plan;
  plan.offsets.resize(tensors.size());
  std::vector<Placed> placed;
  placed.reserve(tensors.size());
  for (size_t index : order) {
    const size_t bytes = (tensors[index].bytes + alignment - 1) / alignment * alignment;
    const size_t offset = smallestGap(placed, tensors[index], bytes);
    plan.offsets[index] = offset;
    plan.bytes = std::max(plan.bytes, offset + bytes);
    const Placed entry{offset, offset + bytes, tensors[index].first, tensors[index].last};
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), entry,
                         [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
        entry);
  }
  return plan;
}

void LifetimePlanner::write(uint32_t operand, size_t bytes, size_t step) {
  entries_[operand] = tensors_.size();
  tensors_.push_back({bytes, step, step});
}

void LifetimePlanner::extend(uint32_t operand, size_t step) {
  if (!entries_[operand]) return;
  size_t& last = tensors_[*entries_[operand]].last;
  last = std::max(last, step);
}

OperandPlaces LifetimePlanner::place(size_t alignment) const {
  const ArenaPlan plan = planArena(tensors_, alignment);
  OperandPlaces places{.offsets = entries_, .bytes = plan.bytes};
  for (std::optional<size_t>& place : places.offsets) {
    if (place) place = plan.offsets[*place];
  }
  return places;
}

}  // namespace halyard::cpu
