// The one model and request validation: used by the API at finish and by every driver's boundary.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <memory>
#include <string>

#include "halyard/driver/model.h"
#include "halyard/driver/nnapi_types.h"
#include "halyard/driver/status.h"
#include "halyard/driver/valid_model.h"

namespace halyard {

// One operand by itself, as it may be given to ANeuralNetworksModel_addOperand: known type, rank,
// quantisation, size. Extra parameters and location are not looked at.
Status validateOperandType(OperandType type, const Shape& dimensions, float scale,
                           int32_t zeroPoint);

// The whole model: tables, locations, lifetimes, order of operations, and each operation against
// its signature (spec of NN HAL, model rules V1 to V17). Every index and offset is taken as
// hostile. Errors name the subgraph, operation and operand. On success: the feature level that the
// model needs.
Result<FeatureLevel> validateModel(const Model& model);

// As validateModel, for a model without referenced subgraphs whose operations have each passed
// requiredFeatureLevel, with operands that were as they are, and need `level` at the most.
Result<FeatureLevel> validateCheckedOperations(const Model& model, FeatureLevel level);

// A model whose validity follows from the way it was made out of a valid model that needs `level` at
// most: cut out of it, or with default inputs left out. The callers are few; each states its reason.
ValidModel validByConstruction(std::shared_ptr<const Model> model, FeatureLevel level);

// Checks that the model has nothing newer than level `have`: no operation (the error names the first
// one and the reason), no operand and no pool, even if no operation uses them. The model may have no
// control flow of unknown sizes either (control_flow_sizes.h). The boundary of a driver demands this.
Status checkForLevel(const ValidModel& model, FeatureLevel have);
// validated, then checkForLevel.
Result<ValidModel> validatedForLevel(std::shared_ptr<const Model> model, FeatureLevel have);

// The feature level that one operation of the subgraph needs, with all operands that it touches.
Result<FeatureLevel> requiredFeatureLevel(const Model& model, const Subgraph& subgraph,
                                          size_t operationIndex);

// The level that the operand itself needs, besides the operations that touch it: by its type, an
// unknown rank, what it refers to.
FeatureLevel requiredFeatureLevel(const Model& model, const Operand& operand);
// Why the operand needs more than level `have`, in words; empty when it does not.
std::string whyNewer(const Model& model, const Operand& operand, FeatureLevel have);
// The same for a valid operation: which of its operands, or what of its signature.
std::string whyNewer(const Model& model, const Subgraph& subgraph, size_t operationIndex,
                     FeatureLevel have);
// "operation #0 ADD needs feature level 3 (HAL 1.2), the device has feature level 1 (HAL 1.0): ..."
Status newerOperation(const Model& model, const Subgraph& subgraph, size_t operationIndex,
                      FeatureLevel needed, FeatureLevel have);
// The level from which a model may have pools of this kind.
FeatureLevel requiredFeatureLevel(MemoryKind kind);

}  // namespace halyard
