// The calls from which the API fuzzer makes its sequences. A ByteSource gives the arguments of a
// call.
// Thread safety: one thread at a time. Ownership: the table owns the objects that the calls make.
#pragma once

#include <span>

#include "api/fuzz/object_table.h"

namespace halyard::api::fuzz {

using Call = void (*)(ObjectTable&, ByteSource&);

// The first byte of a call is its group, the second is its number in the group. The meaning of a
// corpus depends on both orders. So new calls are added at the end of a group.
std::span<const Call> modelCalls();
std::span<const Call> compilationCalls();
std::span<const Call> executionCalls();
std::span<const Call> memoryCalls();

// The description of an operand, often a legal one. The table keeps the dimensions.
ANeuralNetworksOperandType chooseOperandType(ObjectTable& table, ByteSource& bytes);
// The size of a value in bytes, at most 1 MiB. 0 if the shape does not determine it.
size_t valueSize(int32_t type, std::span<const uint32_t> dims);

}  // namespace halyard::api::fuzz
