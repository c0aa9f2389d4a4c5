// Converts between channels first and channels last: one matrix transposition per image.
#include "ops/layout.h"

#include "ops/strided_copy.h"

namespace halyard::ops {
namespace {

// Transposes [batch][rows][columns] to [batch][columns][rows].
void transposeAny(KernelServices& services, uint32_t bytes, const void* from, void* to,
                  size_t batch, size_t rows, size_t columns) {
  const auto height = static_cast<ptrdiff_t>(rows);
  const auto width = static_cast<ptrdiff_t>(columns);
  copyStrided(services, bytes, static_cast<const std::byte*>(from), static_cast<std::byte*>(to),
              {{batch, height * width, height * width}, {rows, width, 1}, {columns, 1, height}});
}

}  // namespace

void* transposedMatrices(OperationContext& context, const Tensor& input, size_t batch, size_t rows,
                         size_t columns) {
  const uint32_t bytes = elementSize(input.type);
  void* result = context.scratch<uint8_t>(input.elementCount() * bytes);
  transposeAny(context.services(), bytes, input.data, result, batch, rows, columns);
  return result;
}

Tensor asNhwc(OperationContext& context, const Tensor& input, bool nchw) {
  Tensor result = input;
  if (!nchw) return result;
  const Shape& d = input.dims;
  result.dims = {d[0], d[2], d[3], d[1]};
  result.data = transposedMatrices(context, input, d[0], d[1], size_t{d[2]} * d[3]);
  return result;
}

NhwcOutput::NhwcOutput(OperationContext& context, size_t index, bool nchw)
    : context_(context), index_(index), nchw_(nchw), tensor_(context.output(index)) {
  if (!nchw_) return;
  const Shape d = tensor_.dims;
  tensor_.dims = {d[0], d[2], d[3], d[1]};
  tensor_.data = context.scratch<uint8_t>(tensor_.elementCount() * elementSize(tensor_.type));
}

void NhwcOutput::finish() {
  if (!nchw_) return;
  Tensor& output = context_.output(index_);
  const Shape& d = tensor_.dims;
  transposeAny(context_.services(), elementSize(output.type), tensor_.data, output.data, d[0],
               size_t{d[1]} * d[2], d[3]);
}

}  // namespace halyard::ops
