// MemoryArguments: the memories made from descriptors among the arguments of an execution, and what
// an execution means for them.
// Thread safety: as Execution. Ownership: shares the memories.
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
  // The dimensions of input or output `index`.
  using DimensionsOf = std::function<Shape(size_t index)>;

  // Before an execution. OP_FAILED unless all inputs hold what the execution takes; the outputs
  // count as failed then.
  Status begin(const DimensionsOf& inputDimensions) const;
  // After one: the outputs have been written, or not. OP_FAILED when something has been written
  // that a memory was not made for.
  Status finish(bool success, const DimensionsOf& outputDimensions) const;
  // The outputs have not been written.
  void fail() const;
  // That whose buffer has the token; null if there is none.
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
