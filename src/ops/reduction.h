// Reductions over a set of dimensions for MEAN and the REDUCE_ operations: the operands that select
// the dimensions, the result's shape, and the loops.
// Thread safety: as OperationContext.
// Ownership: none.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "halyard/driver/status.h"
#include "model/signature.h"
#include "ops/elementwise.h"
#include "ops/operation.h"

namespace halyard::ops {

// The input that tells whether the reduced dimensions stay as 1. Its type depends on the operation.
inline constexpr size_t kKeepDimsInput = 2;

// Returns input, axes and `keepDims`; the input's type is column 0.
std::vector<OperandSpec> reductionInputs(OperandSpec keepDims);

// Sets the dims of output 0. Checks input and axes, and that the quantisation stays the same.
Status inferReduction(OperationContext& context, bool keepDims);

// Neighbouring dimensions that are all kept or all reduced; `outputStride` is 0 if reduced.
struct DimGroup {
  size_t extent;
  size_t outputStride;
};

// Outermost first, never empty.
Status planReduction(const OperationContext& context, std::vector<DimGroup>* groups);

// A Reducer of the loops below has a type State that elements convert to. It also has the State
// identity() of an empty set and the State merge(State, State) of two sets. All are static.
template <typename S>
struct AddReducer {
  using State = S;
  static State identity() { return State{0}; }
  static State merge(State a, State b) { return a + b; }
};

// Several partial states, because with one, every merge would wait for the last.
template <typename Reducer, typename T>
typename Reducer::State reduceRow(const T* x, size_t count) {
  using State = typename Reducer::State;
  constexpr size_t kLanes = 8;
  std::array<State, kLanes> lanes;
  lanes.fill(Reducer::identity());
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = Reducer::merge(lanes[lane], static_cast<State>(x[i + lane]));
    }
  }
  for (; i < count; ++i) lanes[0] = Reducer::merge(lanes[0], static_cast<State>(x[i]));
  State all = lanes[0];
  for (size_t lane = 1; lane < kLanes; ++lane) all = Reducer::merge(all, lanes[lane]);
  return all;
}

// Merges the elements from `x` on into their states. Returns the end of the elements.
template <typename Reducer, typename T>
const T* reduceGroups(std::span<const DimGroup> groups, const T* x,
                      typename Reducer::State* states) {
  using State = typename Reducer::State;
  const DimGroup& group = groups.front();
  if (groups.size() > 1) {
    for (size_t i = 0; i < group.extent; ++i) {
      x = reduceGroups<Reducer>(groups.subspan(1), x, states + i * group.outputStride);
    }
    return x;
  }
  if (group.outputStride == 0) {
    *states = Reducer::merge(*states, reduceRow<Reducer>(x, group.extent));
  } else {
    for (size_t i = 0; i < group.extent; ++i) {
      states[i] = Reducer::merge(states[i], static_cast<State>(x[i]));
    }
  }
  return x + group.extent;
}

// output(0) = finish(state of all elements of input(0) for that output), both of element type T.
template <typename Reducer, typename T, typename Finish>
Status reduce(OperationContext& context, Finish finish) {
  using State = typename Reducer::State;
  std::vector<DimGroup> plan;
  HALYARD_RETURN_IF_ERROR(planReduction(context, &plan));
  const std::span<const DimGroup> groups(plan);
  const T* input = context.input(0).as<T>();
  T* output = context.output(0).as<T>();
  const size_t outputs = context.output(0).elementCount();
  State* states = context.scratch<State>(outputs);
  std::fill_n(states, outputs, Reducer::identity());
  // The work is split so that the parts write to different states.
  const DimGroup& first = groups.front();
  if (first.outputStride != 0 && groups.size() > 1) {
    const size_t part = context.input(0).elementCount() / first.extent;
    context.services().parallelFor(
        first.extent, std::max<size_t>(1, kElementGrain / part), [&](size_t begin, size_t end) {
          const T* x = input + begin * part;
          for (size_t i = begin; i < end; ++i) {
            x = reduceGroups<Reducer>(groups.subspan(1), x, states + i * first.outputStride);
          }
        });
  } else {
    reduceGroups<Reducer>(groups, input, states);
  }
  for (size_t i = 0; i < outputs; ++i) output[i] = finish(states[i]);
  return okStatus();
}

}  // namespace halyard::ops
