// Channels first to channels last and back: one matrix transposition per image.
#include "ops/layout.h"

#include <algorithm>

namespace halyard::ops {
namespace {

// [batch][rows][columns] to [batch][columns][rows], in square blocks that fit the first-level
// cache.
template <typename T>
void transposeMatrices(KernelServices& services, const T* from, T* to, size_t batch, size_t rows,
                       size_t columns) {
  constexpr size_t kBlock = 32;
  const size_t rowBlocks = (rows + kBlock - 1) / kBlock;
  const size_t grain = std::max<size_t>(size_t{1 << 18} / (kBlock * columns), 1);
  services.parallelFor(batch * rowBlocks, grain, [&](size_t begin, size_t end) {
    for (size_t task = begin; task < end; ++task) {
      const T* source = from + task / rowBlocks * rows * columns;
      T* target = to + task / rowBlocks * rows * columns;
      const size_t rowBegin = task % rowBlocks * kBlock;
      const size_t rowEnd = std::min(rowBegin + kBlock, rows);
      for (size_t columnBegin = 0; columnBegin < columns; columnBegin += kBlock) {
        const size_t columnEnd = std::min(columnBegin + kBlock, columns);
        for (size_t row = rowBegin; row < rowEnd; ++row) {
          for (size_t column = columnBegin; column < columnEnd; ++column) {
            target[column * rows + row] = source[row * columns + column];
          }
        }
      }
    }
  });
}

void transposeAny(KernelServices& services, uint32_t bytes, const void* from, void* to,
                  size_t batch, size_t rows, size_t columns) {
  const auto run = [&]<typename T>(T*) {
    transposeMatrices(services, static_cast<const T*>(from), static_cast<T*>(to), batch, rows,
                      columns);
  };
  if (bytes == 1) {
    run(static_cast<uint8_t*>(nullptr));
  } else if (bytes == 2) {
    run(static_cast<uint16_t*>(nullptr));
  } else {
    run(static_cast<uint32_t*>(nullptr));
  }
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
