// MemoryDescriptor: the implementation of ANeuralNetworksMemoryDesc. It lists the future uses of a
// memory.
// Thread safety: one modifying thread at a time. After finish(), any number of threads may read.
// Ownership: refers to the compilations of its roles, which must outlive it.
#pragma once

#include <memory>
#include <vector>

#include "runtime/compile/compilation.h"
#include "runtime/memory/memory.h"

namespace halyard::runtime {

class MemoryDescriptor {
 public:
  // Adds a use as an input or output of a compilation. BAD_STATE after finish().
  // BAD_DATA for these cases:
  // - the compilation is not finished, or finish() failed
  // - the input or output does not exist, or is in the list already
  // - its type differs from that of the other roles, or its dimensions contradict the known ones
  // - not 0 < frequency <= 1
  Status addRole(const Compilation& compilation, bool isInput, uint32_t index, float frequency);
  // BAD_STATE after finish(). BAD_DATA when the dimensions contradict the known ones.
  Status setDimensions(const Shape& dimensions);
  // BAD_STATE after finish(). BAD_DATA without roles.
  Status finish();

  // Makes a buffer of the device, if all roles are on one device that supports buffers. Otherwise
  // it makes shared memory, unless the application has chosen the devices.
  // BAD_STATE before finish(). OP_FAILED, or the error of the driver, when neither is possible.
  Result<std::unique_ptr<Memory>> createMemory() const;

 private:
  struct Role {
    const Compilation* compilation;
    MemoryRole role;
    float frequency;
  };

  Status checkKind(const Operand& operand) const;
  using PreparedModels = std::vector<std::shared_ptr<hal::PreparedModel>>;
  // `users` receives the models that use the buffer.
  Result<std::shared_ptr<hal::Buffer>> allocateOnDevice(PreparedModels* users) const;

  bool finished_ = false;
  std::vector<Role> roles_;
  MemoryDescription description_;
};

}  // namespace halyard::runtime
