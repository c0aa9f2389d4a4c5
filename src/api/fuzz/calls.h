// The calls of which the API fuzzer makes its sequences, each with arguments out of a ByteSource.
// Thread safety: none. Ownership: what they make goes to the table.
#pragma once

#include <span>

#include "api/fuzz/object_table.h"

namespace halyard::api::fuzz {

using Call = void (*)(ObjectTable&, ByteSource&);

// The groups' order and that of calls in them is part of the meaning of a corpus: new ones go to
// the end of a group, and the first byte of a call is its group, the second its number.
std::span<const Call> modelCalls();
std::span<const Call> compilationCalls();
std::span<const Call> executionCalls();
std::span<const Call> memoryCalls();

// An operand's description, often a legal one; the dimensions are kept in the table.
ANeuralNetworksOperandType chooseOperandType(ObjectTable& table, ByteSource& bytes);
// The size of a value; 0 where the shape leaves it open, and at most 1 MiB.
size_t valueSize(int32_t type, std::span<const uint32_t> dims);

}  // namespace halyard::api::fuzz
