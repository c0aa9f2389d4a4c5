// MappedRequest: the arguments of one execution as pointers, wherever they lie. Thread safety:
// immutable; made for one execution, usually used by one thread. Ownership: pointers are into the
// request's pools or the caller's memory: the Request must outlive the MappedRequest. Pools are
// mapped once and stay mapped as long as they live. The MappedRequest announces the CPU's accesses
// to dma-bufs at its beginning and its end. So it must live until the last access.
#pragma once

#include <cstddef>
#include <vector>

#include "halyard/driver/export.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// One main input or output of a model as the caller holds it.
struct MappedArgument {
  void* data = nullptr;  // never written for an input; null: omitted
  size_t length = 0;     // bytes available
  // The request's and, where that leaves them open, the model's: empty for a scalar and an unknown
  // rank. An entry 0 of an output's is for the driver to find out.
  Shape dims;
  // Another process can write to the memory at any time, so two reads can differ. Copy a value that
  // decides where the driver reads or writes before you check it.
  bool shared = false;
  // The driver's own memory in place of `data`, which is null. Only a driver that implements
  // Device::allocateMemory sees it. Its contents have `length` bytes, and begin at its start.
  DeviceMemory* deviceMemory = nullptr;
};

class HALYARD_EXPORT MappedRequest {
 public:
  // `model` is the prepared one. `request` must have passed validateRequest with it, as each
  // request to a driver has. BAD_DATA for a pool that is a token (a driver never gets one).
  // BAD_DATA for a pool without the rights to read or write that its arguments need. BAD_DATA also
  // for an input shorter than its type and dimensions need. UNMAPPABLE when a pool cannot be
  // mapped. resultFor checks the lengths of outputs.
  static Result<MappedRequest> map(const Model& model, const Request& request);

  const std::vector<MappedArgument>& inputs() const { return inputs_; }
  const std::vector<MappedArgument>& outputs() const { return outputs_; }

 private:
  struct Pool {
    const Mapping* mapping;  // null for `deviceMemory`
    int prot;
    DeviceMemory* deviceMemory;
  };

  Status addAll(const Subgraph& main, const std::vector<RequestArgument>& from, bool areOutputs,
                std::vector<MappedArgument>* to) const;
  Result<MappedArgument> bind(const Operand& operand, const RequestArgument& from,
                              bool isOutput) const;

  void beginAccess(const Request& request);

  std::vector<Pool> pools_;
  std::vector<CpuAccess> accesses_;  // of pools that are dma-bufs
  std::vector<MappedArgument> inputs_;
  std::vector<MappedArgument> outputs_;
};

// The result of an execution with outputs of the `shapes`: OK with the shapes, or
// OUTPUT_INSUFFICIENT_SIZE when an output does not fit its memory. `shapes` has one entry per
// output of the model's main subgraph.
HALYARD_EXPORT ExecutionResult resultFor(const Model& model, const MappedRequest& request,
                                         const std::vector<Shape>& shapes);

}  // namespace halyard::hal
