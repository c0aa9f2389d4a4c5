// QueuedRequest: a validated request on its way to an instance.
// Thread safety: none; it belongs to one thread at a time.
// Ownership: borrows the request, which its caller keeps until the answer.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "serve/protocol/infer.h"

namespace halyard::serve {

struct QueuedRequest {
  const InferRequest* request = nullptr;
  std::vector<const InputTensor*> inputs;  // in the order of the model
  std::vector<size_t> outputs;             // the model's outputs, in the order of the answer
  std::vector<uint32_t> classes;           // for each of `outputs`; 0: the values
  uint32_t rows = 1;                       // of the batch; 1 without batching
  uint32_t priority = 0;                   // a lower number comes first
  Clock::time_point arrival;
  std::optional<Clock::time_point> deadline;
  Clock::time_point waitEnd;  // when it stops waiting for others of its batch
  AnswerFunction done;
};
using QueuedRequestPtr = std::unique_ptr<QueuedRequest>;

}  // namespace halyard::serve
