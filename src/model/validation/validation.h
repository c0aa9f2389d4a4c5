// The one model and request validation: used by the API at finish and by every driver's boundary.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <string>

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

// As validateModel, for a model without referenced subgraphs whose operations have each passed
// requiredFeatureLevel, with operands that were as they are, and need `level` at the most.
Result<FeatureLevel> validateCheckedOperations(const Model& model, FeatureLevel level);

// While it exists, its thread knows that the model, which must not change or end meanwhile, has
// passed validateModel: for the calls of those who check what they get, whoever it comes from.
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

// As validateModel, and the model must have nothing that is newer than level `have`: neither an
// operation (the error names the first and says why), nor an operand or a pool, even if no
// operation uses them. Nor may it have control flow of unknown sizes (control_flow_sizes.h). What a
// driver's boundary demands.
Status validateModelForLevel(const Model& model, FeatureLevel have);

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
