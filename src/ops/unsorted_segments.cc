// UNSORTED_SEGMENT_SUM, _PROD, _MAX and _MIN of the extension halyard.tflite: combine the slices of
// a tensor that have the same number.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

enum Input : size_t { kData, kSegments, kCount };

Status infer(OperationContext& context) {
  const Shape& data = context.input(kData).dims;
  const Shape& segments = context.input(kSegments).dims;
  if (segments.size() > data.size() ||
      !std::ranges::equal(segments, std::span(data.data(), segments.size()))) {
    return opFailed("segments are {}, expected the first dimensions of the data {}",
                    realShapeText(segments), realShapeText(data));
  }
  int32_t count = 0;
  HALYARD_RETURN_IF_ERROR(context.read(kCount, &count), "number of segments");
  if (count < 1) return opFailed("the number of segments is {}, expected at least 1", count);
  Shape dims = {static_cast<uint32_t>(count)};
  dims.insert(dims.end(), data.begin() + static_cast<ptrdiff_t>(segments.size()), data.end());
  context.output(0).dims = std::move(dims);
  return okStatus();
}

// The result of a segment without slices, and the combination of two elements. Integers are
// combined as uint32_t where they may wrap around.
struct Sum {
  template <typename T>
  static T empty() {
    return 0;
  }
  static float of(float x, float y) { return x + y; }
  static int32_t of(int32_t x, int32_t y) {
    return static_cast<int32_t>(static_cast<uint32_t>(x) + static_cast<uint32_t>(y));
  }
};
struct Product {
  template <typename T>
  static T empty() {
    return 1;
  }
  static float of(float x, float y) { return x * y; }
  static int32_t of(int32_t x, int32_t y) {
    return static_cast<int32_t>(static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
  }
};
struct Greatest {
  template <typename T>
  static T empty() {
    return std::numeric_limits<T>::lowest();
  }
  template <typename T>
  static T of(T x, T y) {
    return std::max(x, y);
  }
};
struct Least {
  template <typename T>
  static T empty() {
    return std::numeric_limits<T>::max();
  }
  template <typename T>
  static T of(T x, T y) {
    return std::min(x, y);
  }
};

template <typename T, typename Op>
Status combine(OperationContext& context) {
  std::span<const int32_t> segments;
  HALYARD_RETURN_IF_ERROR(context.readInts(kSegments, &segments), "input 1 (segments)");
  const uint32_t count = context.output(0).dims[0];
  const size_t slice = context.output(0).elementCount() / count;
  const T* from = context.input(kData).as<T>();
  T* const to = context.output(0).as<T>();
  std::fill(to, to + count * slice, Op::template empty<T>());
  for (size_t i = 0; i < segments.size(); ++i, from += slice) {
    // A negative number drops the slice.
    if (segments[i] < 0) continue;
    const auto segment = static_cast<uint32_t>(segments[i]);
    if (segment >= count) {
      return opFailed("segment {} of slice {}, expected at most {}", segment, i, count - 1);
    }
    T* const target = to + segment * slice;
    for (size_t k = 0; k < slice; ++k) target[k] = Op::of(target[k], from[k]);
  }
  return okStatus();
}

template <typename Op>
Status compute(OperationContext& context) {
  const bool isInt = context.output(0).type == OperandType::TENSOR_INT32;
  return isInt ? combine<int32_t, Op>(context) : combine<float, Op>(context);
}

OperationDefinition define(OperationType type, Status (*reference)(OperationContext&),
                           Precision precision) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature.rows = singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL3},
                                              {OperandType::TENSOR_INT32, FeatureLevel::FL3}});
  definition.signature.forms = {{"",
                                 {typed("data", 0), fixed("segments", OperandType::TENSOR_INT32),
                                  int32("number of segments")},
                                 {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = reference;
  definition.precision = precision;
  return definition;
}

}  // namespace

const OperationDefinition& unsortedSegmentSum() {
  return madeOnce(
      [] { return define(OperationType::UNSORTED_SEGMENT_SUM, compute<Sum>, Precision::SUMS); });
}

const OperationDefinition& unsortedSegmentProd() {
  return madeOnce([] {
    return define(OperationType::UNSORTED_SEGMENT_PROD, compute<Product>, Precision::SUMS);
  });
}

const OperationDefinition& unsortedSegmentMax() {
  return madeOnce([] {
    return define(OperationType::UNSORTED_SEGMENT_MAX, compute<Greatest>, Precision::EXACT);
  });
}

const OperationDefinition& unsortedSegmentMin() {
  return madeOnce(
      [] { return define(OperationType::UNSORTED_SEGMENT_MIN, compute<Least>, Precision::EXACT); });
}

}  // namespace halyard::ops
