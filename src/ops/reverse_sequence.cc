// REVERSE_SEQUENCE of the extension halyard.tflite: reverses the beginning of each sequence of a
// batch. The sequences have lengths of their own.
#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/axis.h"
#include "ops/data_movement.h"
#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/small_copy.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

enum Input : size_t { kLengths = 1, kSequenceAxis, kBatchAxis };

struct Axes {
  size_t sequence = 0;
  size_t batch = 0;
};

Status readAxes(const OperationContext& context, Axes* axes) {
  int32_t value = 0;
  const size_t rank = context.input(0).rank();
  HALYARD_RETURN_IF_ERROR(context.read(kSequenceAxis, &value), "axis of the sequence");
  HALYARD_RETURN_IF_ERROR(resolveAxis(value, rank, &axes->sequence), "axis of the sequence");
  HALYARD_RETURN_IF_ERROR(context.read(kBatchAxis, &value), "axis of the batch");
  HALYARD_RETURN_IF_ERROR(resolveAxis(value, rank, &axes->batch), "axis of the batch");
  if (axes->sequence != axes->batch) return okStatus();
  return opFailed("axis {} is that of the sequence and that of the batch", axes->batch);
}

Status readLengths(const OperationContext& context, const Axes& axes,
                   std::span<const int32_t>* lengths) {
  const Shape& dims = context.input(0).dims;
  HALYARD_RETURN_IF_ERROR(
      readIntsOfShape(context, kLengths, {dims[axes.batch]}, "lengths", lengths));
  for (size_t i = 0; i < lengths->size(); ++i) {
    const int32_t length = (*lengths)[i];
    if (length >= 0 && static_cast<uint32_t>(length) <= dims[axes.sequence]) continue;
    return opFailed("length {} of sequence {}, expected 0 to {}", length, i, dims[axes.sequence]);
  }
  return okStatus();
}

Status infer(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(context.input(0), context.output(0)));
  Axes axes;
  std::span<const int32_t> lengths;
  const Status found = readAxes(context, &axes);
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(found));
  if (found.ok()) HALYARD_RETURN_IF_ERROR(unlessIncomplete(readLengths(context, axes, &lengths)));
  return inferSameShape(context);
}

Status compute(OperationContext& context) {
  Axes axes;
  std::span<const int32_t> lengths;
  HALYARD_RETURN_IF_ERROR(readAxes(context, &axes));
  HALYARD_RETURN_IF_ERROR(readLengths(context, axes, &lengths));
  const Tensor& input = context.input(0);
  const AxisView batch = axisView(input.dims, axes.batch);
  const AxisView sequence = axisView(input.dims, axes.sequence);
  // The elements behind the later of the two axes stay together.
  const size_t together = std::min(batch.inner, sequence.inner);
  const size_t bytes = together * elementSize(input.type);
  const auto* const from = input.as<std::byte>();
  auto* const to = context.output(0).as<std::byte>();
  const size_t runs = input.elementCount() / together;
  context.services().parallelFor(runs, kElementGrain / together + 1, [&](size_t begin, size_t end) {
    for (size_t run = begin; run < end; ++run) {
      const size_t element = run * together;
      const size_t at = element / sequence.inner % sequence.extent;
      const auto length = static_cast<size_t>(lengths[element / batch.inner % batch.extent]);
      const size_t source = at < length ? length - 1 - at : at;
      const size_t moved =
          run - at * (sequence.inner / together) + source * (sequence.inner / together);
      copySmall(to + run * bytes, from + moved * bytes, bytes);
    }
  });
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::REVERSE_SEQUENCE;
  definition.signature.rows = floatInt32AndQuant8Rows(FeatureLevel::FL3);
  definition.signature.rows.push_back({FeatureLevel::FL3, {OperandType::TENSOR_BOOL8}});
  definition.signature.forms = {{"",
                                 {typed("input", 0), int32List("lengths"),
                                  int32("axis of the sequence"), int32("axis of the batch")},
                                 {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  definition.float16AsFloat32 = false;
  return definition;
}

}  // namespace

const OperationDefinition& reverseSequence() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
