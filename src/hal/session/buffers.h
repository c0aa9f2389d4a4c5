// Buffers: the buffers of one ClientSession (IBuffer), in memory that the session makes: a driver
// only ever sees shared memory in the place of their tokens.
// Thread safety: all methods may be called from any thread.
// Ownership: shared by the session's state and by the buffers that it has handed out. What is in
// use stays until its execution ends, even when its buffer is freed meanwhile; buffers and prepared
// models may be freed in either order.
//
// Dimensions may be unknown when a buffer is allocated, its rank as well. Then it has no memory
// until it is written: copyFrom needs all dimensions, and an execution finds them out, if need be
// by running again with more memory. Memory that a buffer has had is kept for the next time. A
// buffer holds no tensor with a dimension of 0: an execution that produces one fails.
//
// Any number of executions and copies may read a buffer at once. Nobody waits for a buffer: who
// would write one that is in use, or read one that is being written, gets OP_FAILED at once. A
// write that fails leaves the buffer uninitialised, this one as well, unless another one is still
// writing, whose outcome counts then. A use that contradicts the roles (BAD_DATA) changes nothing.
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
  // What a client can have: buffers, each of which costs a file descriptor, and bytes in them.
  static constexpr size_t kMaxBuffers = 1024;
  static constexpr uint64_t kMaxBytes = uint64_t{8} << 30;

  explicit Buffers(
      std::shared_ptr<TokenPool> tokens,
      std::shared_ptr<MemoryAccount> account = std::make_shared<MemoryAccount>(kMaxBytes));

  // OP_FAILED when there is no memory or too many buffers.
  Result<std::unique_ptr<Buffer>> allocate(BufferSpec spec);

  // BAD_DATA unless every token of the request is that of a buffer, used in one of its roles, and
  // none is used as an output and something else: what can be said before the execution begins.
  Status checkUses(uint64_t modelNumber, const Request& request);

  // Gives `run` the request with memory in the place of its tokens, and brings what comes out to
  // the state of its buffers. Without tokens it is just `run`. The request fits the prepared model
  // with the number `modelNumber`. `run` may be called several times; it must not throw.
  using Run = std::function<ExecutionResult(const Request&)>;
  ExecutionResult execute(uint64_t modelNumber, const Request& request, const Run& run);

  // How many buffers there are.
  size_t count() const;

 private:
  friend class BufferExecution;
  class Handle;
  struct State;
  using StatePtr = std::shared_ptr<State>;

  StatePtr find(uint32_t token) const;
  // Makes sure that a buffer that is claimed for writing, or new, has that many bytes.
  Status reserve(State& state, uint64_t size) const;
  Status claimForWriting(State& state) const;
  void endWriting(State& state, const std::optional<Shape>& written) const;
  void release(uint32_t token);

  const std::shared_ptr<TokenPool> tokens_;
  const std::shared_ptr<MemoryAccount> account_;
  mutable std::mutex mutex_;  // for states_ and what the states say of themselves
  std::map<uint32_t, StatePtr> states_;
};

}  // namespace halyard::hal
