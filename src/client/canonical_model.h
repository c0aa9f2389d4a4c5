// CanonicalModel: a canonical model as the public C API holds it, as an application builds it.
// Thread safety: `create` and free functions from any thread; one thread at a time uses an object,
// but for what the API allows with its handles.
// Ownership: shares the model and owns every API object that it makes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "client/nnapi.h"
#include "halyard/driver/model.h"
#include "halyard/driver/status.h"

namespace halyard::client {

// The operand's type with other dimensions, which are borrowed.
ANeuralNetworksOperandType operandType(const Operand& operand, const Shape& dimensions);

// Shared memory as the API takes it. BAD_DATA for kinds without a descriptor that can be mapped.
Result<Memory> memoryOf(const SharedMemory& memory);

// The dimensions that the API knows of an output after a computation, also one that failed with
// OUTPUT_INSUFFICIENT_SIZE. `sufficient`, unless null, receives whether this output's buffer was.
Result<Shape> outputDimensions(const Execution& execution, size_t output,
                               bool* sufficient = nullptr);

class CanonicalModel {
 public:
  // Builds and finishes the API's models, one for each subgraph: operands in the same order, so
  // that indices agree; constants in operandValues are referred to in place; each pool becomes one
  // memory. BAD_DATA for what this class does not pass on (extensions, pools without a file
  // descriptor that can be mapped), for constants outside their pool and for subgraphs that refer
  // to themselves; otherwise the API's errors.
  static Result<std::unique_ptr<CanonicalModel>> create(
      std::shared_ptr<const halyard::Model> model);

  const halyard::Model& model() const { return *model_; }

  // For one device, by model.main.operations: whether it can run each operation.
  Result<std::vector<bool>> supportedOperations(const ANeuralNetworksDevice* device) const;

  // Compiles for exactly one device, or with nullptr for whichever the runtime chooses. The model
  // must outlive what it gives.
  Result<Compilation> compile(const ANeuralNetworksDevice* device) const;
  // A compilation that is still to be finished, for these devices; with none, for all.
  Result<Compilation> createCompilation(
      std::span<const ANeuralNetworksDevice* const> devices) const;

 private:
  explicit CanonicalModel(std::shared_ptr<const halyard::Model> model) : model_(std::move(model)) {}

  Status build();
  Status addMemories();
  Result<Model> buildSubgraph(const Subgraph& subgraph) const;
  Status addOperand(const Model& to, const Operand& operand, uint32_t index) const;
  Status setConstant(const Model& to, const Operand& operand, uint32_t index) const;

  // In the order of the API's rule of lifetimes: what is declared later is freed first.
  const std::shared_ptr<const halyard::Model> model_;
  std::vector<Memory> memories_;
  std::vector<Model> referenced_;  // as in the model
  Model main_;
};

}  // namespace halyard::client
