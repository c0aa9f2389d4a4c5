// The calls from which the API fuzzer makes its sequences. Each takes its arguments from a
// ByteSource.
// Thread safety: one thread.
// Ownership: the table owns the objects that they make.
#pragma once

#include <span>

#include "api/fuzz/object_table.h"

namespace halyard::api::fuzz {

using Call = void (*)(ObjectTable&, ByteSource&);

// The first byte of a call is its group, and the second byte its number. A corpus depends on the
// order of groups, and of calls in a group. So new calls go to the end of a group.
std::span<const Call> modelCalls();
std::span<const Call> compilationCalls();
std::span<const Call> executionCalls();
std::span<const Call> memoryCalls();

// An operand's description, often a valid one. The table keeps the dimensions.
ANeuralNetworksOperandType chooseOperandType(ObjectTable& table, ByteSource& bytes);
// The size of a value in bytes, at most 1 MiB. 0 where the shape leaves it open.
size_t valueSize(int32_t type, std::span<const uint32_t> dims);

}  // namespace halyard::api::fuzz
