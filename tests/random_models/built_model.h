// Builds a canonical model call by call, as an application does.
// Thread safety: none. Ownership: owns the builders; the model must outlive it.
#pragma once

#include <memory>
#include <vector>

#include "runtime/model/model_builder.h"

namespace halyard::runtime::random_models {

class BuiltModel {
 public:
  // Constants must be copies, and subgraphs may refer only to later ones.
  BuiltModel(const Model& model, ExtensionRegistry& extensions) : extensions_(extensions) {
    referenced_.resize(model.referenced.size());
    for (size_t i = referenced_.size(); i-- > 0 && status_.ok();) {
      referenced_[i] = build(model, model.referenced[i]);
    }
    if (status_.ok()) main_ = build(model, model.main);
  }

  // The status of the first call that failed.
  const Status& status() const { return status_; }
  const ModelBuilder& main() const { return *main_; }

 private:
  std::unique_ptr<ModelBuilder> build(const Model& model, const Subgraph& subgraph) {
    auto builder = std::make_unique<ModelBuilder>(extensions_);
    for (const Operand& operand : subgraph.operands) {
      note(builder->addOperand(operand.type, operand.dimensions, operand.scale, operand.zeroPoint));
    }
    for (uint32_t i = 0; i < subgraph.operands.size(); ++i) {
      const Operand& operand = subgraph.operands[i];
      if (const auto* params = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams)) {
        note(builder->setOperandSymmPerChannelQuantParams(i, *params));
      }
      if (operand.lifetime == Lifetime::CONSTANT_COPY) {
        note(builder->setOperandValue(i, model.operandValues.data() + operand.location.offset,
                                      operand.location.length));
      } else if (operand.lifetime == Lifetime::NO_VALUE) {
        note(builder->setOperandValue(i, nullptr, 0));
      } else if (operand.lifetime == Lifetime::SUBGRAPH) {
        note(builder->setOperandValueFromModel(i, *referenced_[operand.location.offset]));
      }
    }
    for (const Operation& operation : subgraph.operations) {
      note(builder->addOperation(operation.type, operation.inputs, operation.outputs));
    }
    note(builder->identifyInputsAndOutputs(subgraph.inputIndexes, subgraph.outputIndexes));
    if (model.relaxComputationFloat32toFloat16) {
      note(builder->relaxComputationFloat32toFloat16(true));
    }
    note(builder->finish());
    return builder;
  }
  void note(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  ExtensionRegistry& extensions_;
  Status status_;
  std::vector<std::unique_ptr<ModelBuilder>> referenced_;
  std::unique_ptr<ModelBuilder> main_;
};

}  // namespace halyard::runtime::random_models
