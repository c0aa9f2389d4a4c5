// Arguments: the inputs and outputs of one execution, with guard bytes between them.
// Thread safety: none; one object belongs to one thread.
// Ownership: owns its memory.
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
    uint32_t offset = 0;  // offset in the shared memory, if any
    uint32_t length = 0;
  };

  // Copies the inputs. Each output gets its number of `capacities` in bytes (at least one), filled
  // with a pattern, so that no output is correct by chance. `inPools`: inputs and outputs lie in
  // shared memory. Returns RESOURCE_EXHAUSTED_PERSISTENT when the total exceeds kMaxBytes.
  static Result<Arguments> make(const VectorCase& vectorCase, std::span<const size_t> capacities,
                                bool inPools);

  const std::vector<Slot>& inputs() const { return inputs_.slots; }
  const std::vector<Slot>& outputs() const { return outputs_.slots; }
  // Null unless `inPools` was set.
  const SharedMemoryPtr& inputMemory() const { return inputs_.memory; }
  const SharedMemoryPtr& outputMemory() const { return outputs_.memory; }

  // Returns OP_FAILED when an input or a byte outside all outputs has changed.
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
