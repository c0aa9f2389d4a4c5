// Buffers: the buffers of one ClientSession (IBuffer). The driver may make their memory
// (Device::allocateMemory); otherwise it is shared memory of the session. In requests, the driver
// sees this memory in place of the tokens.
// Thread safety: all methods may be called from any thread.
// Ownership: shared by the state of the session and by the buffers of the client. A buffer in use
// stays until its execution ends, even if the client frees it. Buffers and prepared models may be
// freed in any order.
//
// The dimensions of a buffer, and its rank, may be unknown at the allocation. Then it has no memory
// before the first write. copyFrom needs all dimensions. An execution determines unknown
// dimensions. If the memory is too small, it runs again with more memory. The buffer keeps its
// memory for later writes. A buffer cannot contain a tensor with a dimension of 0. An execution
// that produces one fails.
//
// Several executions and copies may read a buffer at the same time. No call waits for a buffer. A
// write to a buffer in use fails with OP_FAILED at once, and so does a read during a write. A write
// that fails, for that reason or another one, leaves the buffer uninitialised. If another write is
// still running, the result of that write counts. A use that contradicts the roles (BAD_DATA) does
// not change the buffer.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "hal/session/buffer_spec.h"
#include "hal/session/memory_account.h"
#include "hal/session/token_pool.h"

namespace halyard::hal {

class Buffers : public std::enable_shared_from_this<Buffers> {
 public:
  // The limits of a client: the number of buffers, each of which has a file descriptor, and their
  // total bytes.
  static constexpr size_t kMaxBuffers = 1024;
  static constexpr uint64_t kMaxBytes = uint64_t{8} << 30;

  // `device`: is asked for memory; null: all memory is shared memory.
  explicit Buffers(
      std::shared_ptr<TokenPool> tokens,
      std::shared_ptr<MemoryAccount> account = std::make_shared<MemoryAccount>(kMaxBytes),
      std::shared_ptr<Device> device = nullptr);

  // OP_FAILED when there is no memory or the client has too many buffers. Other errors: those of
  // Quota::charge.
  Result<std::unique_ptr<Buffer>> allocate(BufferSpec spec);

  // The checks before an execution begins. BAD_DATA unless each token of the request belongs to a
  // buffer and each use is one of its roles. A buffer that is an output must have no other use in
  // the request.
  Status checkUses(uint64_t modelNumber, const Request& request);

  // Calls `run` with memory in place of the tokens, and stores the results in the states of the
  // buffers. A request without tokens is passed to `run` unchanged.
  // The request must fit the prepared model with the number `modelNumber`. `run` may be called
  // several times and must not throw.
  using Run = std::function<ExecutionResult(const Request&)>;
  ExecutionResult execute(uint64_t modelNumber, const Request& request, const Run& run);

  // The number of buffers.
  size_t count() const;

 private:
  friend class BufferExecution;
  class Handle;
  struct State;
  using StatePtr = std::shared_ptr<State>;

  StatePtr find(uint32_t token) const;
  // Gives a buffer at least `size` bytes. The buffer must be new or claimed for writing.
  Status reserve(State& state, uint64_t size) const;
  Status claimForWriting(State& state) const;
  void endWriting(State& state, const std::optional<Shape>& written) const;
  void release(uint32_t token);

  const std::shared_ptr<TokenPool> tokens_;
  const std::shared_ptr<MemoryAccount> account_;
  const std::shared_ptr<Device> device_;
  mutable std::mutex mutex_;  // for states_ and the members of the states
  std::map<uint32_t, StatePtr> states_;
};

}  // namespace halyard::hal
