// MappedRequest: the arguments of one execution as pointers, wherever they lie.
// Thread safety: immutable; made for one execution, usually used by one thread.
// Ownership: pointers are into the request's pools or the caller's memory: the Request must outlive
// the MappedRequest. Pools are mapped once and stay mapped as long as they live. Those that are
// dma-bufs are told of the CPU's accesses at the beginning and the end of the MappedRequest, which
// therefore has to live until the last of them.
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
  // Another process can write to the memory at any time: what is read from it twice can differ, so
  // a value that decides where the driver reads or writes has to be copied before it is checked.
  bool shared = false;
};

class HALYARD_EXPORT MappedRequest {
 public:
  // `model` is the one that was prepared, and `request` must have passed validateRequest with it,
  // as what a driver gets has. BAD_DATA for a pool that is a token (a driver never gets one), for
  // one that may not be read, or written, as its arguments need, and for an input shorter than its
  // type and dimensions need; UNMAPPABLE when a pool cannot be mapped. Nothing is said of the
  // lengths of outputs: see resultFor.
  static Result<MappedRequest> map(const Model& model, const Request& request);

  const std::vector<MappedArgument>& inputs() const { return inputs_; }
  const std::vector<MappedArgument>& outputs() const { return outputs_; }

 private:
  struct Pool {
    const Mapping* mapping;
    int prot;
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

// For the end of an execution whose outputs have the `shapes`: OK with the shapes, or
// OUTPUT_INSUFFICIENT_SIZE when one does not fit where it is to go. `shapes` has one entry per
// output of the model's main subgraph.
HALYARD_EXPORT ExecutionResult resultFor(const Model& model, const MappedRequest& request,
                                         const std::vector<Shape>& shapes);

}  // namespace halyard::hal
