// TRANSPOSE: the same elements with the dimensions in another order.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

// order[i] is the input's dimension that becomes the output's dimension i. Without the operand the
// dimensions are reversed.
Status readOrder(const OperationContext& context, std::vector<size_t>* order) {
  const size_t rank = context.input(0).rank();
  order->resize(rank);
  if (!context.hasInput(1)) {
    for (size_t i = 0; i < rank; ++i) (*order)[i] = rank - 1 - i;
    return okStatus();
  }
  std::span<const int32_t> values;
  HALYARD_RETURN_IF_ERROR(context.readInts(1, &values), "permutation");
  if (values.size() != rank) {
    return opFailed("the permutation has {} entries, the input has rank {}", values.size(), rank);
  }
  std::vector<bool> used(rank, false);
  for (size_t i = 0; i < rank; ++i) {
    if (values[i] < 0 || static_cast<size_t>(values[i]) >= rank ||
        used[static_cast<size_t>(values[i])]) {
      return opFailed("the permutation [{}] is not one of 0 to {}", fmt::join(values, ","),
                      rank - 1);
    }
    (*order)[i] = static_cast<size_t>(values[i]);
    used[(*order)[i]] = true;
  }
  return okStatus();
}

Status infer(OperationContext& context) {
  const Tensor& input = context.input(0);
  HALYARD_RETURN_IF_ERROR(checkRank(input, 1, 4, "input"));
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(input, context.output(0)));
  std::vector<size_t> order;
  HALYARD_RETURN_IF_ERROR(readOrder(context, &order));
  Shape result;
  for (size_t dim : order) result.push_back(input.dims[dim]);
  context.output(0).dims = std::move(result);
  return okStatus();
}

// One or more of the output's dimensions that the input holds in the same order, in elements.
struct Axis {
  size_t extent;
  size_t inputStride;
  size_t outputStride;
};

// Outermost first; without dimensions of size 1, and never empty.
std::vector<Axis> planAxes(const Shape& input, const std::vector<size_t>& order) {
  const size_t rank = input.size();
  std::vector<size_t> inputStrides(rank, 1);
  for (size_t d = rank - 1; d-- > 0;) inputStrides[d] = inputStrides[d + 1] * input[d + 1];
  std::vector<Axis> axes;  // innermost first at first
  size_t outputStride = 1;
  for (size_t i = rank; i-- > 0;) {
    const size_t extent = input[order[i]];
    const size_t stride = inputStrides[order[i]];
    if (extent == 1) continue;
    if (!axes.empty() && stride == axes.back().inputStride * axes.back().extent) {
      axes.back().extent *= extent;
    } else {
      axes.push_back({extent, stride, outputStride});
    }
    outputStride *= extent;
  }
  if (axes.empty()) axes.push_back({1, 1, 1});
  std::reverse(axes.begin(), axes.end());
  return axes;
}

// Calls leaf(from, to) for every position along `axes`.
template <typename T, typename Leaf>
void forEachPosition(std::span<const Axis> axes, const T* from, T* to, const Leaf& leaf) {
  if (axes.empty()) return leaf(from, to);
  for (size_t i = 0; i < axes[0].extent; ++i) {
    forEachPosition(axes.subspan(1), from + i * axes[0].inputStride, to + i * axes[0].outputStride,
                    leaf);
  }
}

// A matrix in tiles that fit the first-level cache: `contiguous` is the axis that the input holds
// element by element, `row` that of the output.
template <typename T>
void transposeTiles(const Axis& contiguous, const Axis& row, const T* from, T* to) {
  constexpr size_t kTile = 32;
  for (size_t c = 0; c < contiguous.extent; c += kTile) {
    const size_t cEnd = std::min(c + kTile, contiguous.extent);
    for (size_t r = 0; r < row.extent; r += kTile) {
      const size_t rEnd = std::min(r + kTile, row.extent);
      for (size_t i = c; i < cEnd; ++i) {
        const T* x = from + i;
        T* y = to + i * contiguous.outputStride;
        for (size_t j = r; j < rEnd; ++j) y[j] = x[j * row.inputStride];
      }
    }
  }
}

template <typename T>
void transposeBlock(std::vector<Axis> axes, const T* from, T* to) {
  const Axis row = axes.back();
  axes.pop_back();
  if (row.inputStride == 1) {
    forEachPosition(std::span<const Axis>(axes), from, to,
                    [&](const T* x, T* y) { std::memcpy(y, x, row.extent * sizeof(T)); });
    return;
  }
  const auto contiguous = std::find_if(axes.begin(), axes.end(),
                                       [](const Axis& axis) { return axis.inputStride == 1; });
  const Axis column = *contiguous;
  axes.erase(contiguous);
  forEachPosition(std::span<const Axis>(axes), from, to,
                  [&](const T* x, T* y) { transposeTiles(column, row, x, y); });
}

template <typename T>
void transposeAll(OperationContext& context, const std::vector<Axis>& axes) {
  const T* from = context.input(0).as<T>();
  T* to = context.output(0).as<T>();
  const size_t grain = std::max<size_t>(1, kElementGrain / axes[0].outputStride);
  context.services().parallelFor(axes[0].extent, grain, [&](size_t begin, size_t end) {
    std::vector<Axis> part = axes;
    part[0].extent = end - begin;
    transposeBlock(part, from + begin * part[0].inputStride, to + begin * part[0].outputStride);
  });
}

Status compute(OperationContext& context) {
  std::vector<size_t> order;
  HALYARD_RETURN_IF_ERROR(readOrder(context, &order));
  const std::vector<Axis> axes = planAxes(context.input(0).dims, order);
  switch (elementSize(context.input(0).type)) {
    case 1:
      transposeAll<uint8_t>(context, axes);
      return okStatus();
    case 2:
      transposeAll<uint16_t>(context, axes);
      return okStatus();
    case 4:
      transposeAll<uint32_t>(context, axes);
      return okStatus();
    default:
      return badData("input is {}", operandTypeName(context.input(0).type));
  }
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::TRANSPOSE;
  definition.signature.rows = floatAndQuant8Rows(FeatureLevel::FL2);
  definition.signature.forms = {{"",
                                 {typed("input", 0, rankBetween(1, 4)),
                                  fixed("permutation", OperandType::TENSOR_INT32).orOmitted()},
                                 {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  definition.acceptsZeroSized = true;
  definition.float16AsFloat32 = false;
  return definition;
}

}  // namespace

const OperationDefinition& transpose() {
  static const OperationDefinition definition = define();
  return definition;
}

}  // namespace halyard::ops
