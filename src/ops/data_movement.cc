// Copies between regularly spaced positions.
#include "ops/data_movement.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/work_limit.h"
#include "ops/operand_checks.h"

namespace halyard::ops {
namespace {

constexpr size_t kElementsPerChunk = 16384;

// The same copy with as few and as long loops as possible, outermost first and never empty.
// `loops` has no count of 0.
std::vector<CopyLoop> simplified(std::vector<CopyLoop> loops) {
  std::erase_if(loops, [](const CopyLoop& loop) { return loop.count == 1; });
  // In the order of the output, so that writing is sequential.
  std::stable_sort(loops.begin(), loops.end(),
                   [](const CopyLoop& a, const CopyLoop& b) { return a.to > b.to; });
  std::vector<CopyLoop> result;
  for (const CopyLoop& loop : loops) {
    const auto count = static_cast<ptrdiff_t>(loop.count);
    if (!result.empty() && result.back().from == count * loop.from &&
        result.back().to == count * loop.to) {
      result.back() = {result.back().count * loop.count, loop.from, loop.to};
    } else {
      result.push_back(loop);
    }
  }
  if (result.empty()) result.push_back({1, 1, 1});
  return result;
}

// A loop of more than one round multiplies what is in memory, so that there are few of them,
// however many dimensions a tensor has.
template <typename T>
void runLoops(std::span<const CopyLoop> loops, const T* from, T* to) {
  const CopyLoop loop = loops.front();
  const auto count = static_cast<ptrdiff_t>(loop.count);
  if (loops.size() > 1) {
    for (ptrdiff_t i = 0; i < count; ++i) {
      runLoops(loops.subspan(1), from + i * loop.from, to + i * loop.to);
    }
  } else if (loop.from == 1 && loop.to == 1) {
    std::memcpy(to, from, loop.count * sizeof(T));
  } else {
    for (ptrdiff_t i = 0; i < count; ++i) to[i * loop.to] = from[i * loop.from];
  }
}

}  // namespace

void copyElements(const Tensor& from, size_t fromOffset, const Tensor& to, size_t toOffset,
                  std::vector<CopyLoop> loops) {
  for (const CopyLoop& loop : loops) {
    if (loop.count == 0) return;
  }
  std::vector<CopyLoop> plan = simplified(std::move(loops));
  const CopyLoop outermost = plan.front();
  size_t inner = 1;
  for (size_t i = 1; i < plan.size(); ++i) inner *= plan[i].count;
  const auto run = [&]<typename T>(T*) {
    forEachChunk(0, outermost.count, kElementsPerChunk / inner + 1, [&](size_t begin, size_t end) {
      plan.front().count = end - begin;
      const auto first = static_cast<ptrdiff_t>(begin);
      runLoops(plan, static_cast<const T*>(from.data) + fromOffset + first * outermost.from,
               static_cast<T*>(to.data) + toOffset + first * outermost.to);
    });
  };
  switch (elementSize(to.type)) {
    case 1:
      return run(static_cast<uint8_t*>(nullptr));
    case 2:
      return run(static_cast<uint16_t*>(nullptr));
    default:
      return run(static_cast<uint32_t*>(nullptr));
  }
}

Status copyAll(OperationContext& context) {
  Tensor& output = context.output(0);
  const auto* from = context.input(0).as<std::byte>();
  auto* to = output.as<std::byte>();
  const size_t bytes = output.elementCount() * elementSize(output.type);
  forEachChunk(0, bytes, kElementsPerChunk, [&](size_t begin, size_t end) {
    std::memcpy(to + begin, from + begin, end - begin);
  });
  return okStatus();
}

std::vector<ptrdiff_t> rowMajorStrides(const Shape& shape) {
  std::vector<ptrdiff_t> strides(shape.size());
  ptrdiff_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

Status readIntsOfShape(const OperationContext& context, size_t i, const Shape& shape,
                       std::string_view name, std::span<const int32_t>* values) {
  if (context.input(i).dims != shape) {
    return opFailed("the shape of {} is {}, expected {}", name,
                    realShapeText(context.input(i).dims), realShapeText(shape));
  }
  HALYARD_RETURN_IF_ERROR(context.readInts(i, values), "{}", name);
  return okStatus();
}

Status setDimension(size_t d, uint64_t size, Shape* shape) {
  if (size > UINT32_MAX) return opFailed("dimension {} of the output would be {}", d, size);
  (*shape)[d] = static_cast<uint32_t>(size);
  return okStatus();
}

Status checkOutputLikeInput(const OperationView& operation, FeatureLevel&) {
  return checkSameQuantization(operation.input(0), operation.output(0))
      .withCode(ResultCode::BAD_DATA);
}

Status checkBorderOfZeros(const OperationView& operation, FeatureLevel& level) {
  if (isQuant8Asymm(operation.input(0).type) && operation.input(0).zeroPoint != 0) {
    level = std::max(level, FeatureLevel::FL3);
  }
  return okStatus();
}

}  // namespace halyard::ops
