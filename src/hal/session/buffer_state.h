// The state of one buffer, for the files that implement Buffers.
// Thread safety: guarded by the mutex of its Buffers. The exception is `memory`, which belongs to
// the writer that has claimed the buffer.
// Ownership: shared by its Buffers and by its executions.
#pragma once

#include "hal/session/buffer_memory.h"
#include "hal/session/buffers.h"

namespace halyard::hal {

struct Buffers::State {
  State(uint32_t theToken, BufferSpec theSpec)
      : token(theToken), spec(std::move(theSpec)), current(spec.dimensions) {}

  // The size of the contents, as far as it is known.
  std::optional<uint32_t> currentSize() const { return knownByteSize(spec.type, current); }

  const uint32_t token;
  const BufferSpec spec;
  Shape current;
  bool initialised = false;
  unsigned readers = 0;
  bool writing = false;
  BufferMemory memory;  // none until a size is known
  Quota::Charge counted;
};

// An execution that has buffers among its arguments. It claims the buffers and updates their
// states.
class BufferExecution {
 public:
  BufferExecution(Buffers& buffers, uint64_t modelNumber)
      : buffers_(buffers), modelNumber_(modelNumber) {}
  // Releases all claims. Outputs that are still in the list count as failed.
  ~BufferExecution();
  BufferExecution(const BufferExecution&) = delete;
  BufferExecution& operator=(const BufferExecution&) = delete;

  // Makes the checks of Buffers::checkUses.
  Status bind(const Request& request);
  ExecutionResult run(const Request& request, const Buffers::Run& run);

 private:
  struct Input {
    size_t index;
    Buffers::StatePtr state;
    Shape dimensions;
  };
  struct Output {
    size_t index;
    Buffers::StatePtr state;
    Shape expected;  // combined from model, request and buffer
    uint32_t length = 0;
    bool claimed = false;
  };

  Status bindInput(size_t index, const Buffers::StatePtr& state);
  Status bindOutput(const RequestArgument& argument, size_t index, const Buffers::StatePtr& state);
  Status claim(const Request& request);
  Status claimInputs(const Request& request);
  Status reserveOutputs();
  Request substitute(const Request& request) const;
  ExecutionResult runUntilLargeEnough(const Request& request, const Buffers::Run& run);
  Result<bool> grow(const Request& request, const ExecutionResult& result);
  Status takeShapes(const ExecutionResult& result);

  Buffers& buffers_;
  const uint64_t modelNumber_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  bool inputsClaimed_ = false;
  bool bound_ = false;
};

}  // namespace halyard::hal
