// Reads a message ModelInferRequest of a client. Its parts may take far more memory than its bytes:
// an element of two bytes becomes an object of a hundred. So the memory is charged before the
// message is parsed.
// Thread safety: pure functions, except for the budget. Ownership: results are values.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "serve/grpc/inference.pb.h"
#include "serve/grpc/memory_budget.h"

namespace halyard::serve {

// The facts of a message that is not parsed yet.
struct MessageFacts {
  uint64_t memory = 0;  // that it takes at most when it is parsed and converted
  uint64_t inputs = 0;
  uint64_t outputs = 0;
  uint64_t raws = 0;  // raw_input_contents
  std::string id;     // of the request; empty if it is longer than any sensible one
};

// BAD_DATA for bytes that are no message.
Result<MessageFacts> factsOf(grpc::ByteBuffer& bytes);

// Charges the memory, parses the message and frees its bytes. INVALID for more tensors than any
// request may have.
Outcome parseWithin(MemoryBudget& budget, const MessageFacts& facts, grpc::ByteBuffer& bytes,
                    MemoryBudget::Share& share, inference::ModelInferRequest& message);

}  // namespace halyard::serve
