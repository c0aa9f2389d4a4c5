// MemoryArguments: the memories made from descriptors among an execution's arguments. It checks and
// updates their contents for the execution.
// Thread safety: as Execution.
// Ownership: shares the memories.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/memory/described_memory.h"

namespace halyard::runtime {

class MemoryArguments {
 public:
  void add(bool isInput, size_t index, std::shared_ptr<DescribedMemory> memory) {
    (isInput ? inputs_ : outputs_).push_back({index, std::move(memory)});
  }
  // Returns the dimensions of input or output `index`.
  using DimensionsOf = std::function<Shape(size_t index)>;

  // Called before an execution. Returns OP_FAILED unless all inputs hold the contents that the
  // execution needs; the outputs then count as failed.
  Status begin(const DimensionsOf& inputDimensions) const;
  // Called after an execution: the outputs have been written, or not. Returns OP_FAILED when an
  // output's dimensions contradict its memory's description.
  Status finish(bool success, const DimensionsOf& outputDimensions) const;
  // Records that the outputs have not been written.
  void fail() const;
  // Returns the memory whose buffer has the token; null if no memory has it.
  std::shared_ptr<DescribedMemory> find(uint32_t token) const;
  bool empty() const { return inputs_.empty() && outputs_.empty(); }

 private:
  struct Argument {
    size_t index;
    std::shared_ptr<DescribedMemory> memory;
  };

  std::vector<Argument> inputs_;
  std::vector<Argument> outputs_;
};

}  // namespace halyard::runtime
