// MEAN: averages over any set of dimensions.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "ops/axis.h"
#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/requantize.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

constexpr size_t kAxes = 1;
constexpr size_t kKeepDims = 2;
constexpr size_t kMaxRank = 4;

Status readReduced(const OperationContext& context, std::array<bool, kMaxRank>* reduced) {
  std::span<const int32_t> axes;
  HALYARD_RETURN_IF_ERROR(context.readInts(kAxes, &axes), "axes");
  reduced->fill(false);
  for (int32_t value : axes) {
    size_t axis = 0;
    HALYARD_RETURN_IF_ERROR(resolveAxis(value, context.input(0).rank(), &axis));
    (*reduced)[axis] = true;
  }
  return okStatus();
}

Status infer(OperationContext& context) {
  const Tensor& input = context.input(0);
  HALYARD_RETURN_IF_ERROR(checkRank(input, 1, kMaxRank, "input"));
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(input, context.output(0)));
  std::array<bool, kMaxRank> reduced;
  HALYARD_RETURN_IF_ERROR(readReduced(context, &reduced));
  int32_t keepDims = 0;
  HALYARD_RETURN_IF_ERROR(context.read(kKeepDims, &keepDims), "keep_dims");
  Shape result;
  for (size_t d = 0; d < input.rank(); ++d) {
    if (!reduced[d]) {
      result.push_back(input.dims[d]);
    } else if (keepDims > 0) {
      result.push_back(1);
    }
  }
  if (result.empty()) result.push_back(1);
  context.output(0).dims = std::move(result);
  return okStatus();
}

// Neighbouring dimensions that are all kept or all reduced; `outputStride` is 0 where reduced.
struct Group {
  size_t extent;
  size_t outputStride;
};

std::vector<Group> groupDims(const Shape& dims, const std::array<bool, kMaxRank>& reduced) {
  std::vector<Group> groups;  // innermost first at first
  size_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 1) continue;
    if (!groups.empty() && (groups.back().outputStride == 0) == reduced[d]) {
      groups.back().extent *= dims[d];
    } else {
      groups.push_back({dims[d], reduced[d] ? 0 : stride});
    }
    if (!reduced[d]) stride *= dims[d];
  }
  std::reverse(groups.begin(), groups.end());
  return groups;
}

// Several partial sums, because one would make every addition wait for the last.
template <typename T, typename Sum>
Sum sumOf(const T* x, size_t count) {
  constexpr size_t kLanes = 8;
  std::array<Sum, kLanes> lanes{};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += x[i + lane];
  }
  for (; i < count; ++i) lanes[0] += x[i];
  Sum sum = 0;
  for (Sum lane : lanes) sum += lane;
  return sum;
}

// Adds the elements from `x` on to the sums they belong to; returns where they end.
template <typename T, typename Sum>
const T* accumulate(std::span<const Group> groups, const T* x, Sum* sums) {
  const Group& group = groups.front();
  if (groups.size() > 1) {
    for (size_t i = 0; i < group.extent; ++i) {
      x = accumulate(groups.subspan(1), x, sums + i * group.outputStride);
    }
    return x;
  }
  if (group.outputStride == 0) {
    *sums += sumOf<T, Sum>(x, group.extent);
  } else {
    for (size_t i = 0; i < group.extent; ++i) sums[i] += x[i];
  }
  return x + group.extent;
}

template <typename T>
void average(OperationContext& context, const std::vector<Group>& groups) {
  using Sum = std::conditional_t<std::is_same_v<T, float>, double, int64_t>;
  const T* input = context.input(0).as<T>();
  T* output = context.output(0).as<T>();
  const size_t inputs = context.input(0).elementCount();
  const size_t outputs = context.output(0).elementCount();
  Sum* sums = context.scratch<Sum>(outputs);
  std::fill_n(sums, outputs, Sum{0});
  // The work is split where the parts write to different sums.
  const Group& first = groups.front();
  if (first.outputStride != 0 && groups.size() > 1) {
    const size_t part = inputs / first.extent;
    context.services().parallelFor(
        first.extent, std::max<size_t>(1, kElementGrain / part), [&](size_t begin, size_t end) {
          const T* x = input + begin * part;
          for (size_t i = begin; i < end; ++i) {
            x = accumulate(std::span(groups).subspan(1), x, sums + i * first.outputStride);
          }
        });
  } else {
    accumulate(std::span(groups), input, sums);
  }
  const double count = static_cast<double>(inputs) / static_cast<double>(outputs);
  for (size_t i = 0; i < outputs; ++i) {
    const double mean = static_cast<double>(sums[i]) / count;
    if constexpr (std::is_same_v<T, float>) {
      output[i] = static_cast<float>(mean);
    } else {
      output[i] = static_cast<T>(quantizeUnits(mean, 0, quantizedRange(context.output(0).type)));
    }
  }
}

Status compute(OperationContext& context) {
  const Tensor& input = context.input(0);
  Tensor& output = context.output(0);
  if (input.elementCount() == output.elementCount()) {
    std::memcpy(output.data, input.data, input.elementCount() * elementSize(input.type));
    return okStatus();
  }
  std::array<bool, kMaxRank> reduced;
  HALYARD_RETURN_IF_ERROR(readReduced(context, &reduced));
  const std::vector<Group> groups = groupDims(input.dims, reduced);
  switch (input.type) {
    case OperandType::TENSOR_FLOAT32:
      average<float>(context, groups);
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM:
      average<uint8_t>(context, groups);
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      average<int8_t>(context, groups);
      return okStatus();
    default:
      return badData("input is {}", operandTypeName(input.type));
  }
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::MEAN;
  definition.signature.rows = floatAndQuant8Rows(FeatureLevel::FL2);
  definition.signature.forms = {{"",
                                 {typed("input", 0, rankBetween(1, kMaxRank)),
                                  fixed("axes", OperandType::TENSOR_INT32), int32("keep_dims")},
                                 {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  return definition;
}

}  // namespace

const OperationDefinition& mean() {
  static const OperationDefinition definition = define();
  return definition;
}

}  // namespace halyard::ops
