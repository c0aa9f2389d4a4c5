// The one model and request validation: used by the API at finish and by every driver's boundary.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include "halyard/driver/model.h"
#include "halyard/driver/nnapi_types.h"
#include "halyard/driver/status.h"

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

// As validateModel, and the model must need no more than level `have`: the error names the first
// operation that does.
Status validateModelForLevel(const Model& model, FeatureLevel have);

// The feature level that one operation of the subgraph needs, with all operands that it touches.
Result<FeatureLevel> requiredFeatureLevel(const Model& model, const Subgraph& subgraph,
                                          size_t operationIndex);

}  // namespace halyard
