// CanonicalModel: builds a canonical model through the public C API, as an application does.
// Thread safety: `create` and free functions may be called from any thread. One thread at a time
// may use an object. The handles of the API have the thread safety of the API.
// Ownership: shares the model and owns all API objects that it makes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "client/nnapi.h"
#include "halyard/driver/model.h"
#include "halyard/driver/status.h"

namespace halyard::client {

// The type of the operand with other dimensions, which are borrowed.
ANeuralNetworksOperandType operandType(const Operand& operand, const Shape& dimensions);

// Shared memory as an API object. BAD_DATA for kinds without a descriptor that can be mapped.
Result<Memory> memoryOf(const SharedMemory& memory);

// The dimensions of an output that the API reports after a computation. The computation may have
// failed with OUTPUT_INSUFFICIENT_SIZE. `sufficient`, unless null, receives whether the buffer of
// this output was large enough.
Result<Shape> outputDimensions(const Execution& execution, size_t output,
                               bool* sufficient = nullptr);

class CanonicalModel {
 public:
  // Builds and finishes an API model for each subgraph. The operands have the same order, so their
  // indices agree. Constants in operandValues are referred to in place. Each pool becomes one
  // memory.
  // BAD_DATA for:
  // - extensions, and pools without a file descriptor that can be mapped
  // - constants outside their pool
  // - subgraphs that refer to themselves
  // Other errors are those of the API.
  static Result<std::unique_ptr<CanonicalModel>> create(
      std::shared_ptr<const halyard::Model> model);

  const halyard::Model& model() const { return *model_; }

  // Whether one of the devices can run each operation, in the order of model.main.operations.
  Result<std::vector<bool>> supportedOperations(
      std::span<const ANeuralNetworksDevice* const> devices) const;
  Result<std::vector<bool>> supportedOperations(const ANeuralNetworksDevice* device) const {
    return supportedOperations({&device, 1});
  }

  // Compiles for one device, or, with nullptr, for the devices that the runtime chooses. This
  // object must outlive the result.
  Result<Compilation> compile(const ANeuralNetworksDevice* device) const;
  // An unfinished compilation for these devices, or for all devices if the list is empty.
  Result<Compilation> createCompilation(
      std::span<const ANeuralNetworksDevice* const> devices) const;

 private:
  explicit CanonicalModel(std::shared_ptr<const halyard::Model> model) : model_(std::move(model)) {}

  Status build();
  Status addMemories();
  Result<Model> buildSubgraph(const Subgraph& subgraph) const;
  Status addOperand(const Model& to, const Operand& operand, uint32_t index) const;
  Status setConstant(const Model& to, const Operand& operand, uint32_t index) const;

  // In the order that the lifetime rule of the API needs: a later member is freed first.
  const std::shared_ptr<const halyard::Model> model_;
  std::vector<Memory> memories_;
  std::vector<Model> referenced_;  // indexed as in the model
  Model main_;
};

}  // namespace halyard::client
