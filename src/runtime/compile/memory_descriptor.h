// MemoryDescriptor: an ANeuralNetworksMemoryDesc: what a memory is going to be used for.
// Thread safety: one modifying thread at a time; once finished, any number of readers.
// Ownership: refers to the compilations of its roles, which must outlive it.
#pragma once

#include <memory>
#include <vector>

#include "runtime/compile/compilation.h"
#include "runtime/memory/memory.h"

namespace halyard::runtime {

class MemoryDescriptor {
 public:
  // BAD_STATE once finished. BAD_DATA: a compilation that is not finished or failed to, no such
  // input or output, named already, of another kind than the roles so far, dimensions that
  // contradict what is known, a frequency outside 0 < frequency <= 1.
  Status addRole(const Compilation& compilation, bool isInput, uint32_t index, float frequency);
  // BAD_STATE once finished; BAD_DATA when they contradict what is known.
  Status setDimensions(const Shape& dimensions);
  // BAD_STATE once finished; BAD_DATA without roles.
  Status finish();

  // On the one device that all roles are on, if it makes buffers; else in shared memory, unless the
  // application has chosen the devices itself. BAD_STATE unless finished; OP_FAILED, or the
  // driver's own code, when neither is possible.
  Result<std::unique_ptr<Memory>> createMemory() const;

 private:
  struct Role {
    const Compilation* compilation;
    MemoryRole role;
    float frequency;
  };

  Status checkKind(const Operand& operand) const;
  using PreparedModels = std::vector<std::shared_ptr<hal::PreparedModel>>;
  // `users`: the models that the buffer is for.
  Result<std::shared_ptr<hal::Buffer>> allocateOnDevice(PreparedModels* users) const;

  bool finished_ = false;
  std::vector<Role> roles_;
  MemoryDescription description_;
};

}  // namespace halyard::runtime
