// Validation of models and requests. The API calls it at finish, and every driver's boundary calls
// it.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <memory>
#include <string>

#include "halyard/driver/model.h"
#include "halyard/driver/nnapi_types.h"
#include "halyard/driver/status.h"
#include "halyard/driver/valid_model.h"

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

// Makes a ValidModel without validation. The model must be made from a valid model that needs at
// most `level`: cut out of it, or with default inputs left out. Each caller states its reason.
ValidModel validByConstruction(std::shared_ptr<const Model> model, FeatureLevel level);

// Checks that no operation, operand or pool of the model is newer than level `have`, even if it is
// unused. The error names the first such operation and the reason. The model may have no control
// flow of unknown sizes either (control_flow_sizes.h). The boundary of a driver demands this.
Status checkForLevel(const ValidModel& model, FeatureLevel have);
// validated, then checkForLevel.
Result<ValidModel> validatedForLevel(std::shared_ptr<const Model> model, FeatureLevel have);
Result<ValidModel> validatedForLevel(Model model, FeatureLevel have);

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
