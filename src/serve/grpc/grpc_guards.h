// GrpcGuards: the limits that protect the memory and the threads of the server from clients of
// gRPC. Thread safety: any thread. Ownership: calls borrow it, and end before it.
#pragma once

#include <exception>

#include "serve/grpc/memory_budget.h"
#include "serve/grpc/send_watch.h"

namespace halyard::serve {

struct GrpcGuards {
  GrpcGuards(uint64_t mostBytes, size_t streams, std::chrono::milliseconds sendTime)
      : memory(mostBytes), mostStreams(streams), sends(sendTime) {}

  MemoryBudget memory;
  const size_t mostStreams;
  SendWatch sends;
};

// The outcome of a request whose computation could not begin, for example without memory.
inline Outcome exhaustionOf(const std::exception& error) {
  return {Fault::OVERLOADED, fmt::format("the request exhausts a resource: {}", error.what())};
}

}  // namespace halyard::serve
