// Loops over tensors whose input and output elements correspond one to one.
// Thread safety: as for the OperationContext.
// Ownership: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/requantize.h"

namespace halyard::ops {

// The number of elements that justifies a thread: about ten microseconds of work.
inline constexpr size_t kElementGrain = 16384;

// to[i] = f(from[i]). All arguments are passed by value. The compiler must assume that a store of
// bytes may change a closure, and would read its captures again for every element.
template <typename In, typename Out, typename F>
void applyToRange(const In* from, Out* to, size_t count, F f) {
  for (size_t i = 0; i < count; ++i) to[i] = f(from[i]);
}

// OperationDefinition::infer for a function of one element: the output has the input's shape.
inline Status inferSameShape(OperationContext& context) {
  context.output(0).dims = context.input(0).dims;
  return okStatus();
}
// The same for operations of the first feature levels, which support at most 4 dimensions.
inline Status inferSameShapeToRank4(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(0), 1, 4, "input"));
  return inferSameShape(context);
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

// The result byte for each byte that an 8-bit tensor can store.
using ByteTable = std::array<uint8_t, 256>;

// Returns the table of an operation on one 8-bit type: f maps a stored value to a stored value.
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

// Returns the table that converts stored values of `from` to those of `to`, both of one 8-bit type.
inline ByteTable requantizeTable(const Tensor& from, const Tensor& to) {
  return makeByteTable(from.type, [&](int32_t q) { return requantize(q, from, to); });
}

// output[i] = table[input[i]] for the first input and output, both of one 8-bit type.
inline void applyTable(OperationContext& context, const ByteTable& table) {
  const auto* from = context.input(0).as<uint8_t>();
  auto* to = context.output(0).as<uint8_t>();
  context.services().parallelFor(
      context.output(0).elementCount(), kElementGrain,
      [&](size_t begin, size_t end) { lookUp(table, from + begin, to + begin, end - begin); });
}

// output = f(input), where f maps real numbers (as double). Both tensors are quantised to 8 bits
// with their own parameters. Infinities saturate; f must not return NaN.
template <typename F>
void applyToQuantized(OperationContext& context, F f) {
  const Tensor& input = context.input(0);
  const Tensor& output = context.output(0);
  applyTable(context, makeByteTable(input.type, [&](int32_t q) {
               const double real = static_cast<double>(input.scale) * (q - input.zeroPoint);
               return quantizeUnits(f(real) / static_cast<double>(output.scale), output.zeroPoint,
                                    quantizedRange(output.type));
             }));
}

}  // namespace halyard::ops
