#include "validation/random_graphs/surgery.h"

#include <algorithm>
#include <map>
#include <set>

namespace halyard::random_graphs {
namespace {

using conformance::VectorCase;

// Copies subgraphs from one model to another, with the constants and subgraphs that they need.
class Transplant {
 public:
  Transplant(const Model& from, Model& to) : from_(from), to_(to) {
    to_.relaxComputationFloat32toFloat16 = from.relaxComputationFloat32toFloat16;
    to_.extensionNameToPrefix = from.extensionNameToPrefix;
  }

  Status copyOperand(const Operand& operand, Subgraph* to) {
    Operand copy = operand;
    if (operand.lifetime == Lifetime::CONSTANT_COPY ||
        operand.lifetime == Lifetime::CONSTANT_REFERENCE) {
      HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, constantBytes(from_, operand));
      copy.lifetime = Lifetime::CONSTANT_COPY;
      copy.location = appendConstant(to_, bytes.data(), bytes.size());
    } else if (operand.lifetime == Lifetime::SUBGRAPH) {
      HALYARD_ASSIGN_OR_RETURN(copy.location.offset, copyReferenced(operand.location.offset));
    }
    to->operands.push_back(std::move(copy));
    return okStatus();
  }

 private:
  Result<uint32_t> copyReferenced(uint32_t index) {
    const auto known = referenced_.find(index);
    if (known != referenced_.end()) return known->second;
    const Subgraph& subgraph = from_.referenced[index];
    Subgraph copy;
    copy.operations = subgraph.operations;
    copy.inputIndexes = subgraph.inputIndexes;
    copy.outputIndexes = subgraph.outputIndexes;
    for (const Operand& operand : subgraph.operands) {
      HALYARD_RETURN_IF_ERROR(copyOperand(operand, &copy));
    }
    to_.referenced.push_back(std::move(copy));
    const auto result = static_cast<uint32_t>(to_.referenced.size() - 1);
    referenced_[index] = result;
    return result;
  }

  const Model& from_;
  Model& to_;
  std::map<uint32_t, uint32_t> referenced_;
};

class Cut {
 public:
  Cut(const VectorCase& from, std::span<const TestOperand> values, const std::vector<bool>& keep)
      : from_(from),
        main_(from.model.main),
        values_(values),
        keep_(keep),
        transplant_(from.model, result_.model) {}

  Result<VectorCase> run() {
    result_.name = from_.name;
    result_.relaxed = from_.relaxed;
    findRoles();
    for (size_t i = 0; i < main_.operations.size(); ++i) {
      if (!keep_[i]) continue;
      Operation operation = main_.operations[i];
      for (OperandIndexes* list : {&operation.inputs, &operation.outputs}) {
        for (uint32_t& index : *list) {
          HALYARD_ASSIGN_OR_RETURN(index, moved(index), "operand #{}", index);
        }
      }
      result_.model.main.operations.push_back(std::move(operation));
    }
    return std::move(result_);
  }

 private:
  // Finds the results of the kept operations, and the operands that these read.
  void findRoles() {
    for (size_t i = 0; i < main_.operations.size(); ++i) {
      if (!keep_[i]) continue;
      const Operation& operation = main_.operations[i];
      computed_.insert(operation.outputs.begin(), operation.outputs.end());
      read_.insert(operation.inputs.begin(), operation.inputs.end());
    }
  }

  bool isIgnored(uint32_t index) const {
    const auto at = std::ranges::find(main_.outputIndexes, index) - main_.outputIndexes.begin();
    return static_cast<size_t>(at) < from_.outputs.size() &&
           from_.outputs[static_cast<size_t>(at)].ignored;
  }

  Result<uint32_t> moved(uint32_t index) {
    const auto known = indexes_.find(index);
    if (known != indexes_.end()) return known->second;
    const Operand& operand = main_.operands[index];
    const auto result = static_cast<uint32_t>(result_.model.main.operands.size());
    HALYARD_RETURN_IF_ERROR(transplant_.copyOperand(operand, &result_.model.main));
    Operand& copy = result_.model.main.operands.back();
    const TestOperand& value = values_[index];
    if (computed_.contains(index)) {
      const bool isOutput = operand.lifetime == Lifetime::SUBGRAPH_OUTPUT || !read_.contains(index);
      copy.lifetime = isOutput ? Lifetime::SUBGRAPH_OUTPUT : Lifetime::TEMPORARY_VARIABLE;
      if (isOutput) {
        result_.model.main.outputIndexes.push_back(result);
        result_.outputs.push_back({value.bytes, value.tensor.dims, isIgnored(index)});
      }
    } else if (operand.lifetime == Lifetime::SUBGRAPH_INPUT ||
               operand.lifetime == Lifetime::TEMPORARY_VARIABLE ||
               operand.lifetime == Lifetime::SUBGRAPH_OUTPUT) {
      copy.lifetime = Lifetime::SUBGRAPH_INPUT;
      if (!isScalarType(copy.type) && !value.tensor.omitted) copy.dimensions = value.tensor.dims;
      result_.model.main.inputIndexes.push_back(result);
      result_.inputs.push_back({value.bytes, value.tensor.omitted});
    }
    indexes_[index] = result;
    return result;
  }

  const VectorCase& from_;
  const Subgraph& main_;
  const std::span<const TestOperand> values_;
  const std::vector<bool>& keep_;
  VectorCase result_;
  Transplant transplant_;
  std::set<uint32_t> computed_;
  std::set<uint32_t> read_;
  std::map<uint32_t, uint32_t> indexes_;
};

}  // namespace

Result<std::vector<TestOperand>> valuesOf(const VectorCase& from) {
  std::vector<TestOperand> inputs;
  for (size_t i = 0; i < from.inputs.size(); ++i) {
    TestOperand input = operandOf(from.model.main.operands[from.model.main.inputIndexes[i]]);
    input.tensor.omitted = from.inputs[i].omitted;
    input.bytes = from.inputs[i].bytes;
    inputs.push_back(std::move(input));
  }
  return interpret(from.model, from.model.main, inputs);
}

Result<VectorCase> cutOut(const VectorCase& from, std::span<const TestOperand> values,
                          const std::vector<bool>& keep) {
  return Cut(from, values, keep).run();
}

Status recompute(VectorCase* changed) {
  Subgraph& main = changed->model.main;
  HALYARD_ASSIGN_OR_RETURN(const std::vector<TestOperand> values, valuesOf(*changed));
  for (size_t i = 0; i < main.outputIndexes.size(); ++i) {
    const TestOperand& value = values[main.outputIndexes[i]];
    changed->outputs[i].bytes = value.bytes;
    changed->outputs[i].dims = value.tensor.dims;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    Operand& operand = main.operands[i];
    const bool isComputed = operand.lifetime == Lifetime::TEMPORARY_VARIABLE ||
                            operand.lifetime == Lifetime::SUBGRAPH_OUTPUT;
    if (isComputed && !isScalarType(operand.type)) operand.dimensions = values[i].tensor.dims;
  }
  return okStatus();
}

}  // namespace halyard::random_graphs
