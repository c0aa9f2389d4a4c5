// The state of one buffer, for the files that implement Buffers.
// Thread safety: guarded by the mutex of its Buffers, but for `memory` and `share`, which belong to
// who has claimed the buffer for writing. Ownership: shared by its Buffers and its executions.
#pragma once

#include "hal/session/buffers.h"

namespace halyard::hal {

struct Buffers::State {
  State(uint32_t theToken, BufferSpec theSpec)
      : token(theToken), spec(std::move(theSpec)), current(spec.dimensions) {}

  // Of what the buffer holds, as far as that is known.
  std::optional<uint32_t> currentSize() const { return knownByteSize(spec.type, current); }

  const uint32_t token;
  const BufferSpec spec;
  Shape current;
  bool initialised = false;
  unsigned readers = 0;
  bool writing = false;
  SharedMemoryPtr memory;  // null until a size is known
  MemoryAccount::Share share;
  Quota::Charge counted;
};

// An execution with buffers among its arguments: their claims and what becomes of them.
class BufferExecution {
 public:
  BufferExecution(Buffers& buffers, uint64_t modelNumber)
      : buffers_(buffers), modelNumber_(modelNumber) {}
  // Gives up what is still claimed; outputs count as failed.
  ~BufferExecution();
  BufferExecution(const BufferExecution&) = delete;
  BufferExecution& operator=(const BufferExecution&) = delete;

  // What Buffers::checkUses checks.
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
    Shape expected;  // by model, request and buffer
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
