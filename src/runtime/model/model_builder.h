// ModelBuilder, an ANeuralNetworksModel: the application builds it, and finishes it into a Model.
// Thread safety: one modifying thread at a time; once finished, any number of readers.
// Ownership: copies small values, refers to large ones until finish, shares memory pools.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cpu/shape_propagation.h"
#include "halyard/driver/model.h"
#include "halyard/driver/status.h"
#include "runtime/device/extension_registry.h"
#include "runtime/memory/memory.h"

namespace halyard::runtime {

class ConstantDigests;

// Checks a type from the application as validateOperandType does. Scale and zero point of
// TENSOR_INT32 are only checked when the model is finished.
Status validateGivenType(OperandType type, const Shape& dimensions, float scale, int32_t zeroPoint);

class ModelBuilder {
 public:
  // `extensions` must outlive the builder.
  explicit ModelBuilder(ExtensionRegistry& extensions);
  ModelBuilder(const ModelBuilder&) = delete;
  ModelBuilder& operator=(const ModelBuilder&) = delete;

  // After finish(), every call below that changes the model fails with BAD_STATE.
  Status addOperand(OperandType type, Shape dimensions, float scale, int32_t zeroPoint);
  // A null `buffer` with `length` 0 marks the operand as omitted. More than 128 bytes are not
  // copied before finish.
  Status setOperandValue(uint32_t index, const void* buffer, size_t length);
  Status setOperandValueFromMemory(uint32_t index, const Memory& memory, size_t offset,
                                   size_t length);
  Status setOperandValueFromModel(uint32_t index, const ModelBuilder& value);
  Status setOperandSymmPerChannelQuantParams(uint32_t index, SymmPerChannelQuantParams params);
  Status setOperandExtensionData(uint32_t index, const void* data, size_t length);
  Status addOperation(OperationType type, std::span<const uint32_t> inputs,
                      std::span<const uint32_t> outputs);
  // May fail half-way. The operands handled before that are inputs or outputs, and cannot be named
  // again.
  Status identifyInputsAndOutputs(std::span<const uint32_t> inputs,
                                  std::span<const uint32_t> outputs);
  Status relaxComputationFloat32toFloat16(bool allow);
  // Sorts and validates. Leaves out trailing inputs with their default values, so that drivers see
  // the oldest form of each operation. After a failure, except OUT_OF_MEMORY, the model stays
  // invalid.
  Status finish();

  Status checkBuilding() const;  // BAD_STATE once finish() was called
  Status checkFinished() const;  // BAD_STATE unless finish() succeeded
  // Only of a finished builder.
  const ValidModel& model() const { return *finished_; }
  // For each operation of model()->main in run order, its index in the application's order.
  const std::vector<uint32_t>& applicationOrder() const { return applicationOrder_; }
  ExtensionRegistry& extensions() const { return extensions_; }
  // The finished model's operations that fail in every execution; null if the model has no such
  // operations.
  const std::shared_ptr<const cpu::SureFailures>& sureFailures() const { return sureFailures_; }
  // Shared by the compilations of the finished model.
  const std::shared_ptr<ConstantDigests>& constantDigests() const { return constantDigests_; }

 private:
  enum class State { BUILDING, FINISHED, INVALID };

  Result<Operand*> operandAt(uint32_t index);
  // Returns the operand for calls that change facts that added operations may depend on.
  Result<Operand*> changeableOperand(uint32_t index);
  // Returns the size in bytes of the operand's value; nullopt when any size is allowed.
  Result<std::optional<uint32_t>> requiredSize(const Operand& operand) const;
  // Discards the operand's previous value. The caller sets its lifetime.
  void forgetValue(uint32_t index);
  Status checkValueLength(const Operand& operand, size_t length) const;
  Status copyLargeConstants();
  Status sortOperations();
  void attachReferencedModels();
  void fillExtensionTable();
  void leaveOutDefaults();
  Result<FeatureLevel> finishAfterCopy();

  ExtensionRegistry& extensions_;
  const std::shared_ptr<ConstantDigests> constantDigests_;
  State state_ = State::BUILDING;
  Model building_;
  std::optional<ValidModel> finished_;
  std::shared_ptr<const cpu::SureFailures> sureFailures_;
  std::vector<uint32_t> applicationOrder_;
  // Whether all operations were checked against operands that have not changed since, and the level
  // that they need.
  bool areOperationsChecked_ = true;
  FeatureLevel operationsLevel_ = FeatureLevel::FL1;
  struct LargeConstant {
    uint32_t operand;
    const void* data;
    uint32_t length;
  };
  std::vector<LargeConstant> largeConstants_;
  struct Reference {
    uint32_t operand;
    std::shared_ptr<const Model> model;
  };
  std::vector<Reference> references_;
};

}  // namespace halyard::runtime
