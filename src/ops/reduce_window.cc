// REDUCE_WINDOW of the extension halyard.tflite: a window slides along all dimensions of a tensor,
// and its elements are combined.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "ops/axis_lines.h"
#include "ops/conv_geometry.h"
#include "ops/data_movement.h"
#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

enum Input : size_t { kInput, kInit, kWindow, kStrides, kDilations, kFunction };
enum Function : int32_t { kAdd = 1, kMul, kMinimum, kMaximum, kAll, kAny };

// Reads how the window moves along each dimension.
Status readAxes(const OperationContext& context, std::vector<WindowAxis>* axes) {
  const Shape& dims = context.input(kInput).dims;
  const Shape shape = {static_cast<uint32_t>(dims.size())};
  std::span<const int32_t> window, strides, dilations;
  HALYARD_RETURN_IF_ERROR(readIntsOfShape(context, kWindow, shape, "window", &window));
  HALYARD_RETURN_IF_ERROR(readIntsOfShape(context, kStrides, shape, "strides", &strides));
  HALYARD_RETURN_IF_ERROR(readIntsOfShape(context, kDilations, shape, "dilations", &dilations));
  for (size_t d = 0; d < dims.size(); ++d) {
    WindowAxis axis{
        .input = dims[d], .filter = window[d], .stride = strides[d], .dilation = dilations[d]};
    if (axis.filter < 1 || axis.stride < 1 || axis.dilation < 1) {
      return opFailed("window {}, stride {} and dilation {} of dimension {}, expected at least 1",
                      axis.filter, axis.stride, axis.dilation, d);
    }
    const int64_t extent = (axis.filter - 1) * axis.dilation + 1;
    if (extent > axis.input) {
      return opFailed("the window covers {} elements of dimension {}, which has {}", extent, d,
                      axis.input);
    }
    axis.output = (axis.input - extent) / axis.stride + 1;
    axes->push_back(axis);
  }
  return okStatus();
}

Status readFunction(const OperationContext& context, Function* function) {
  int32_t code = 0;
  HALYARD_RETURN_IF_ERROR(context.read(kFunction, &code), "function");
  const bool isOfBools = context.input(kInput).type == OperandType::TENSOR_BOOL8;
  const auto [first, last] = isOfBools ? std::pair(kAll, kAny) : std::pair(kAdd, kMaximum);
  if (code < first || code > last) {
    return opFailed("function is {}, expected {} to {} for {}", code, static_cast<int32_t>(first),
                    static_cast<int32_t>(last), operandTypeName(context.input(kInput).type));
  }
  *function = static_cast<Function>(code);
  return okStatus();
}

Status infer(OperationContext& context) {
  if (context.input(kInit).elementCount() != 1) {
    return opFailed("init is {}, expected one element", realShapeText(context.input(kInit).dims));
  }
  Function function = kAdd;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readFunction(context, &function)));
  std::vector<WindowAxis> axes;
  HALYARD_RETURN_IF_ERROR(readAxes(context, &axes));
  Shape dims;
  for (const WindowAxis& axis : axes) dims.push_back(static_cast<uint32_t>(axis.output));
  context.output(0).dims = std::move(dims);
  return okStatus();
}

// The functions are associative, so the window is combined along one dimension after the other.
template <typename T, typename Combine>
Status slide(OperationContext& context, Combine combine) {
  std::vector<WindowAxis> axes;
  HALYARD_RETURN_IF_ERROR(readAxes(context, &axes));
  Shape dims = context.input(kInput).dims;
  const T* from = context.input(kInput).as<T>();
  for (size_t d = 0; d < axes.size(); ++d) {
    const WindowAxis& axis = axes[d];
    if (axis.output == axis.input) continue;
    const AxisView view = axisView(dims, d);
    const auto outputs = static_cast<size_t>(axis.output);
    T* const to = context.scratch<T>(view.outer * outputs * view.inner);
    const auto count = view.outer * outputs;
    const auto grain =
        std::max<size_t>(1, kElementGrain / (view.inner * static_cast<size_t>(axis.filter)));
    context.services().parallelFor(count, grain, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        const size_t outer = row / outputs;
        const size_t first = row % outputs * static_cast<size_t>(axis.stride);
        T* const line = to + row * view.inner;
        for (size_t tap = 0; tap < static_cast<size_t>(axis.filter); ++tap) {
          const size_t at = first + tap * static_cast<size_t>(axis.dilation);
          const T* const taken = from + (outer * view.extent + at) * view.inner;
          for (size_t i = 0; i < view.inner; ++i) {
            line[i] = tap == 0 ? taken[i] : combine(line[i], taken[i]);
          }
        }
      }
    });
    dims[d] = static_cast<uint32_t>(outputs);
    from = to;
  }
  const T init = *context.input(kInit).as<T>();
  T* const result = context.output(0).as<T>();
  for (size_t i = 0; i < context.output(0).elementCount(); ++i) result[i] = combine(init, from[i]);
  return okStatus();
}

// Sum: float, or uint32_t for integers, which wrap around.
template <typename T, typename Sum>
Status slideNumbers(OperationContext& context, Function function) {
  switch (function) {
    case kMul:
      return slide<Sum>(context, [](Sum a, Sum b) { return a * b; });
    case kMinimum:
      return slide<T>(context, [](T a, T b) { return b < a ? b : a; });
    case kMaximum:
      return slide<T>(context, [](T a, T b) { return b > a ? b : a; });
    default:
      return slide<Sum>(context, [](Sum a, Sum b) { return a + b; });
  }
}

Status compute(OperationContext& context) {
  Function function = kAdd;
  HALYARD_RETURN_IF_ERROR(readFunction(context, &function));
  switch (context.input(kInput).type) {
    case OperandType::TENSOR_BOOL8:
      if (function == kAll) {
        return slide<uint8_t>(context, [](uint8_t a, uint8_t b) -> uint8_t { return a && b; });
      }
      return slide<uint8_t>(context, [](uint8_t a, uint8_t b) -> uint8_t { return a || b; });
    case OperandType::TENSOR_INT32:
      return slideNumbers<int32_t, uint32_t>(context, function);
    default:
      return slideNumbers<float, float>(context, function);
  }
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::REDUCE_WINDOW;
  definition.signature.rows = singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL3},
                                              {OperandType::TENSOR_FLOAT16, FeatureLevel::FL3},
                                              {OperandType::TENSOR_INT32, FeatureLevel::FL3},
                                              {OperandType::TENSOR_BOOL8, FeatureLevel::FL3}});
  definition.signature.forms = {{"",
                                 {typed("input", 0), typed("init", 0), int32List("window"),
                                  int32List("strides"), int32List("dilations"), int32("function")},
                                 {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  definition.precision = Precision::SUMS;
  return definition;
}

}  // namespace

const OperationDefinition& reduceWindow() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
