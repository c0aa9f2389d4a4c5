// Extracts models from models.
#include "runtime/partition/step_model.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "model/validation/validation.h"

namespace halyard::runtime {
namespace {

uint16_t prefixOf(uint32_t code) { return static_cast<uint16_t>(code >> 16); }

// Builds a model from operands and operations of another.
class Extraction {
 public:
  explicit Extraction(const ValidModel& from)
      : from_(*from), level_(from.level()), to_(std::make_shared<Model>()) {
    to_->relaxComputationFloat32toFloat16 = from->relaxComputationFloat32toFloat16;
  }

  Subgraph& main() { return to_->main; }

  // Returns the operand for the new model, with its constant or its referenced subgraph.
  Operand convert(Operand operand) {
    noteExtension(static_cast<uint32_t>(operand.type));
    switch (operand.lifetime) {
      case Lifetime::CONSTANT_COPY: {
        const DataLocation at = operand.location;
        operand.location = appendConstant(*to_, from_.operandValues.data() + at.offset, at.length);
        break;
      }
      case Lifetime::CONSTANT_REFERENCE:
        operand.location.poolIndex = poolOf(operand.location.poolIndex);
        break;
      case Lifetime::SUBGRAPH:
        operand.location.offset = subgraphOf(operand.location.offset);
        break;
      default:
        break;
    }
    return operand;
  }

  void addOperation(Operation operation) {
    noteExtension(static_cast<uint32_t>(operation.type));
    to_->main.operations.push_back(std::move(operation));
  }

  // Valid: the operations, their operands and their order are those of a valid model.
  ValidModel finish() {
    // Converting a subgraph can find others that it refers to.
    for (size_t i = 0; i < subgraphs_.size(); ++i) {
      Subgraph copy = from_.referenced[subgraphs_[i]];
      for (Operand& operand : copy.operands) operand = convert(std::move(operand));
      for (const Operation& operation : copy.operations) {
        noteExtension(static_cast<uint32_t>(operation.type));
      }
      to_->referenced.push_back(std::move(copy));
    }
    for (const ExtensionNameAndPrefix& extension : from_.extensionNameToPrefix) {
      if (prefixes_.contains(extension.prefix)) to_->extensionNameToPrefix.push_back(extension);
    }
    return validByConstruction(std::move(to_), level_);
  }

 private:
  void noteExtension(uint32_t code) {
    if (prefixOf(code) != 0) prefixes_.insert(prefixOf(code));
  }

  uint32_t poolOf(uint32_t index) {
    const auto [it, isNew] = pools_.emplace(index, static_cast<uint32_t>(to_->pools.size()));
    if (isNew) to_->pools.push_back(from_.pools[index]);
    return it->second;
  }

  uint32_t subgraphOf(uint32_t index) {
    const auto [it, isNew] =
        subgraphIndex_.emplace(index, static_cast<uint32_t>(subgraphs_.size()));
    if (isNew) subgraphs_.push_back(index);
    return it->second;
  }

  const Model& from_;
  const FeatureLevel level_;
  std::shared_ptr<Model> to_;
  std::unordered_map<uint32_t, uint32_t> pools_;
  std::unordered_map<uint32_t, uint32_t> subgraphIndex_;
  std::vector<uint32_t> subgraphs_;  // subgraphs of the old model, by their new indices
  std::set<uint16_t> prefixes_;
};

// Builds the model of some operations of a subgraph.
class StepBuilder {
 public:
  StepBuilder(const ValidModel& model, const Subgraph& subgraph,
              std::span<const uint32_t> consumers)
      : subgraph_(subgraph), consumers_(consumers), extraction_(model) {}

  StepModel run(std::span<const uint32_t> operations) {
    findReadsAndWrites(operations);
    for (const uint32_t index : operations) {
      const Operation& from = subgraph_.operations[index];
      Operation operation;
      operation.type = from.type;
      for (const uint32_t operand : from.inputs) operation.inputs.push_back(placeOf(operand));
      for (const uint32_t operand : from.outputs) operation.outputs.push_back(placeOf(operand));
      extraction_.addOperation(std::move(operation));
    }
    Subgraph& main = extraction_.main();
    std::sort(temporariesIn_.begin(), temporariesIn_.end());
    std::sort(temporariesOut_.begin(), temporariesOut_.end());
    std::sort(outputsIn_.begin(), outputsIn_.end());
    std::vector<uint32_t> inputs = subgraphInputs_;
    inputs.insert(inputs.end(), temporariesIn_.begin(), temporariesIn_.end());
    inputs.insert(inputs.end(), outputsIn_.begin(), outputsIn_.end());
    std::vector<uint32_t> outputs = subgraphOutputs_;
    outputs.insert(outputs.end(), temporariesOut_.begin(), temporariesOut_.end());
    for (const uint32_t operand : inputs) main.inputIndexes.push_back(places_.at(operand));
    for (const uint32_t operand : outputs) main.outputIndexes.push_back(places_.at(operand));
    return {extraction_.finish(), std::move(inputs), std::move(outputs)};
  }

 private:
  void findReadsAndWrites(std::span<const uint32_t> operations) {
    for (const uint32_t index : operations) {
      for (const uint32_t operand : subgraph_.operations[index].inputs) ++readInside_[operand];
      for (const uint32_t operand : subgraph_.operations[index].outputs) written_.insert(operand);
    }
  }

  // Returns the operand's index in the step, and adds it at the first request.
  uint32_t placeOf(uint32_t index) {
    std::vector<Operand>& operands = extraction_.main().operands;
    const auto [it, isNew] = places_.emplace(index, static_cast<uint32_t>(operands.size()));
    if (!isNew) return it->second;
    Operand operand = extraction_.convert(subgraph_.operands[index]);
    classify(index, &operand);
    operands.push_back(std::move(operand));
    return it->second;
  }

  void classify(uint32_t index, Operand* operand) {
    const bool isWritten = written_.contains(index);
    switch (operand->lifetime) {
      case Lifetime::SUBGRAPH_INPUT:
        subgraphInputs_.push_back(index);
        break;
      case Lifetime::SUBGRAPH_OUTPUT:
        (isWritten ? subgraphOutputs_ : outputsIn_).push_back(index);
        if (!isWritten) operand->lifetime = Lifetime::SUBGRAPH_INPUT;
        break;
      case Lifetime::TEMPORARY_VARIABLE:
        if (!isWritten) {
          temporariesIn_.push_back(index);
          operand->lifetime = Lifetime::SUBGRAPH_INPUT;
        } else if (consumers_[index] > readInside(index)) {
          temporariesOut_.push_back(index);
          operand->lifetime = Lifetime::SUBGRAPH_OUTPUT;
        }
        break;
      default:
        break;
    }
  }

  uint32_t readInside(uint32_t index) const {
    const auto it = readInside_.find(index);
    return it == readInside_.end() ? 0 : it->second;
  }

  const Subgraph& subgraph_;
  std::span<const uint32_t> consumers_;
  Extraction extraction_;
  std::unordered_map<uint32_t, uint32_t> places_;
  std::unordered_map<uint32_t, uint32_t> readInside_;
  std::set<uint32_t> written_;
  std::vector<uint32_t> subgraphInputs_;
  std::vector<uint32_t> subgraphOutputs_;
  std::vector<uint32_t> temporariesIn_;
  std::vector<uint32_t> temporariesOut_;
  std::vector<uint32_t> outputsIn_;
};

// Returns the operands that are used by an operation, or are inputs or outputs.
std::vector<bool> liveOperands(const Subgraph& subgraph) {
  std::vector<bool> live(subgraph.operands.size(), false);
  for (const Operation& operation : subgraph.operations) {
    for (const uint32_t operand : operation.inputs) live[operand] = true;
    for (const uint32_t operand : operation.outputs) live[operand] = true;
  }
  for (const uint32_t operand : subgraph.inputIndexes) live[operand] = true;
  for (const uint32_t operand : subgraph.outputIndexes) live[operand] = true;
  return live;
}

}  // namespace

StepModel makeStepModel(const ValidModel& model, uint32_t subgraph,
                        std::span<const uint32_t> operations, std::span<const uint32_t> consumers) {
  return StepBuilder(model, subgraphAt(*model, subgraph), consumers).run(operations);
}

ValidModel subgraphAsModel(const ValidModel& model, uint32_t subgraph) {
  const Subgraph& from = subgraphAt(*model, subgraph);
  const std::vector<bool> live = liveOperands(from);
  if (subgraph == kMainSubgraph && std::find(live.begin(), live.end(), false) == live.end()) {
    return model;
  }
  Extraction extraction(model);
  Subgraph& to = extraction.main();
  std::vector<uint32_t> places(live.size(), 0);
  for (size_t i = 0; i < live.size(); ++i) {
    if (!live[i]) continue;
    places[i] = static_cast<uint32_t>(to.operands.size());
    to.operands.push_back(extraction.convert(from.operands[i]));
  }
  const auto placesOf = [&](auto list) {
    for (uint32_t& operand : list) operand = places[operand];
    return list;
  };
  for (const Operation& operation : from.operations) {
    extraction.addOperation(
        {operation.type, placesOf(operation.inputs), placesOf(operation.outputs)});
  }
  to.inputIndexes = placesOf(from.inputIndexes);
  to.outputIndexes = placesOf(from.outputIndexes);
  return extraction.finish();
}

}  // namespace halyard::runtime
