// Validation of models and requests. The API calls it at finish, and every driver's boundary calls
// it.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <string>

#include "halyard/driver/model.h"
#include "halyard/driver/nnapi_types.h"
#include "halyard/driver/status.h"

namespace halyard {

// Checks one operand by itself for ANeuralNetworksModel_addOperand: known type, rank, quantisation,
// size. Ignores the extra parameters and the location.
Status validateOperandType(OperandType type, const Shape& dimensions, float scale,
                           int32_t zeroPoint);

// Validates the whole model: tables, locations, lifetimes, order of operations, and each operation
// against its signature (spec of NN HAL, model rules V1 to V17). Every index and offset may be
// hostile. Errors name the subgraph, operation and operand. Returns the feature level that the
// model needs.
Result<FeatureLevel> validateModel(const Model& model);

// As validateModel, for a model without referenced subgraphs. Each operation must have passed
// requiredFeatureLevel, with operands that have not changed since. The operations need `level` at
// most.
Result<FeatureLevel> validateCheckedOperations(const Model& model, FeatureLevel level);

// While the object exists, its thread treats the model as one that has passed validateModel. The
// model must not change or end meanwhile. It avoids repeated checks in functions that validate the
// models of all callers.
class KnownToBeValid {
 public:
  explicit KnownToBeValid(const Model& model);
  ~KnownToBeValid();
  KnownToBeValid(const KnownToBeValid&) = delete;
  KnownToBeValid& operator=(const KnownToBeValid&) = delete;

 private:
  const Model* const outer_;
};

// As validateModel, but does nothing for a model that is known to be valid.
Status checkValid(const Model& model);

// As validateModel, and also refuses everything that is newer than level `have`. An operation, an
// operand or a pool can be newer, even if no operation uses it. The error names the first such
// operation and the reason. Control flow of unknown sizes (control_flow_sizes.h) is refused too. A
// driver's boundary needs this check.
Status validateModelForLevel(const Model& model, FeatureLevel have);

// Returns the feature level that one operation of the subgraph needs, including all its operands.
Result<FeatureLevel> requiredFeatureLevel(const Model& model, const Subgraph& subgraph,
                                          size_t operationIndex);

// Returns the level that the operand itself needs, without the operations that use it. Its type, an
// unknown rank and its references determine the level.
FeatureLevel requiredFeatureLevel(const Model& model, const Operand& operand);
// Explains why the operand needs more than level `have`. Empty when it does not.
std::string whyNewer(const Model& model, const Operand& operand, FeatureLevel have);
// The same for a valid operation. The text names the operand, or the part of the signature.
std::string whyNewer(const Model& model, const Subgraph& subgraph, size_t operationIndex,
                     FeatureLevel have);
// Returns an error such as "operation #0 ADD needs feature level 3 (HAL 1.2), the device has
// feature level 1 (HAL 1.0): ...".
Status newerOperation(const Model& model, const Subgraph& subgraph, size_t operationIndex,
                      FeatureLevel needed, FeatureLevel have);
// Returns the first level at which a model may have pools of this kind.
FeatureLevel requiredFeatureLevel(MemoryKind kind);

}  // namespace halyard
