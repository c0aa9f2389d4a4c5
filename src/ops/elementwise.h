// Loops over tensors whose input and output elements correspond one to one.
// Thread safety: as for the OperationContext.
// Ownership: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ops/operation.h"

namespace halyard::ops {

// Elements that are worth a thread of their own: some ten microseconds of work.
inline constexpr size_t kElementGrain = 16384;

// to[i] = f(from[i]). All are passed by value: stores of bytes might change what lies in a closure,
// for all the compiler knows, so that it would read its captures again for every element.
template <typename In, typename Out, typename F>
void applyToRange(const In* from, Out* to, size_t count, F f) {
  for (size_t i = 0; i < count; ++i) to[i] = f(from[i]);
}

// output[i] = f(input[i]) for the first input and output. `f` is copied.
template <typename In, typename Out, typename F>
void applyUnary(OperationContext& context, F f) {
  const In* input = context.input(0).as<In>();
  Out* output = context.output(0).as<Out>();
  context.services().parallelFor(context.output(0).elementCount(), kElementGrain,
                                 [input, output, f](size_t begin, size_t end) {
                                   applyToRange(input + begin, output + begin, end - begin, f);
                                 });
}

// For every byte that an 8 bit tensor can store, the byte to put in its place.
using ByteTable = std::array<uint8_t, 256>;

// The table of an operation on one 8 bit type: f maps a stored value to a stored value.
template <typename F>
ByteTable makeByteTable(OperandType type, F f) {
  const bool isSigned = type != OperandType::TENSOR_QUANT8_ASYMM;
  ByteTable table;
  for (int byte = 0; byte < 256; ++byte) {
    const int32_t stored = isSigned ? static_cast<int8_t>(byte) : byte;
    table[static_cast<size_t>(byte)] = static_cast<uint8_t>(f(stored));
  }
  return table;
}

inline void lookUp(const ByteTable& table, const uint8_t* input, uint8_t* output, size_t count) {
  for (size_t i = 0; i < count; ++i) output[i] = table[input[i]];
}

}  // namespace halyard::ops
