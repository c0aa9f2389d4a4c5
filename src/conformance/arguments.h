// Arguments: the inputs and outputs of one execution, between bytes that nobody may touch.
// Thread safety: none; one object belongs to one thread. Ownership: owns its memory.
#pragma once

#include <span>
#include <vector>

#include "conformance/vectors.h"
#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"

namespace halyard::conformance {

class Arguments {
 public:
  struct Slot {
    bool omitted = false;
    uint8_t* data = nullptr;
    uint32_t offset = 0;  // in the memory, if there is one
    uint32_t length = 0;
  };

  // Copies the inputs; outputs get `capacities` bytes each (at least one), filled with a pattern,
  // so that nothing is right by chance. `inPools`: both lie in shared memory.
  // RESOURCE_EXHAUSTED_PERSISTENT when all of it is more than kMaxBytes.
  static Result<Arguments> make(const VectorCase& vectorCase, std::span<const size_t> capacities,
                                bool inPools);

  const std::vector<Slot>& inputs() const { return inputs_.slots; }
  const std::vector<Slot>& outputs() const { return outputs_.slots; }
  // Null unless in pools.
  const SharedMemoryPtr& inputMemory() const { return inputs_.memory; }
  const SharedMemoryPtr& outputMemory() const { return outputs_.memory; }

  // OP_FAILED when an input has changed, or a byte outside all outputs.
  Status checkUntouched(const VectorCase& vectorCase) const;

  static constexpr size_t kMaxBytes = size_t{2} << 30;

 private:
  struct Area {
    std::vector<Slot> slots;
    SharedMemoryPtr memory;
    Mapping mapping;
    std::vector<uint8_t> bytes;
    std::span<uint8_t> all;
  };
  static Status place(std::span<const size_t> lengths, bool inPool, Area* area);

  Area inputs_;
  Area outputs_;
};

}  // namespace halyard::conformance
