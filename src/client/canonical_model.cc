// Builds a canonical model through the C API.
#include "client/canonical_model.h"

#include "client/status.h"

namespace halyard::client {
namespace {

// The subgraphs that `subgraph` refers to. BAD_DATA for an invalid index.
Result<std::vector<uint32_t>> referencesOf(const halyard::Model& model, const Subgraph& subgraph) {
  std::vector<uint32_t> references;
  for (const Operand& operand : subgraph.operands) {
    if (operand.lifetime != Lifetime::SUBGRAPH) continue;
    if (operand.location.offset >= model.referenced.size()) {
      return badData("referenced subgraph #{} of {}", operand.location.offset,
                     model.referenced.size());
    }
    references.push_back(operand.location.offset);
  }
  return references;
}

// An order of the referenced subgraphs in which each one comes after those that it refers to.
Result<std::vector<uint32_t>> buildOrder(const halyard::Model& model) {
  enum class State : uint8_t { NEW, OPEN, DONE };
  std::vector<State> states(model.referenced.size(), State::NEW);
  std::vector<uint32_t> order;
  // An explicit stack instead of recursion, because a model file determines the depth.
  for (uint32_t root = 0; root < model.referenced.size(); ++root) {
    std::vector<uint32_t> stack{root};
    while (!stack.empty()) {
      const uint32_t top = stack.back();
      if (states[top] != State::NEW) {
        stack.pop_back();
        if (states[top] == State::OPEN) order.push_back(top);
        states[top] = State::DONE;
        continue;
      }
      states[top] = State::OPEN;
      HALYARD_ASSIGN_OR_RETURN(const std::vector<uint32_t> references,
                               referencesOf(model, model.referenced[top]));
      for (const uint32_t reference : references) {
        if (states[reference] == State::OPEN) {
          return badData("referenced subgraph #{} refers to itself", reference);
        }
        if (states[reference] == State::NEW) stack.push_back(reference);
      }
    }
  }
  return order;
}

template <typename Values>
Indexes indexesOf(const Values& values) {
  return Indexes(values.begin(), values.end());
}

}  // namespace

ANeuralNetworksOperandType operandType(const Operand& operand, const Shape& dimensions) {
  ANeuralNetworksOperandType type = {};
  type.type = static_cast<int32_t>(operand.type);
  type.dimensionCount = static_cast<uint32_t>(dimensions.size());
  type.dimensions = dimensions.empty() ? nullptr : dimensions.data();
  type.scale = operand.scale;
  type.zeroPoint = operand.zeroPoint;
  return type;
}

Result<Memory> memoryOf(const SharedMemory& memory) {
  if (memory.kind() != MemoryKind::ASHMEM && memory.kind() != MemoryKind::MMAP_FD) {
    return badData("a {}, which is not passed on", memoryKindName(memory.kind()));
  }
  Memory created;
  HALYARD_RETURN_IF_FAILED(created.createFromFd(memory.size(), memory.prot(), memory.fd(),
                                                static_cast<size_t>(memory.offset())));
  return created;
}

Result<Shape> outputDimensions(const Execution& execution, size_t output, bool* sufficient) {
  Dims dimensions;
  const CallResult result =
      execution.getOutputOperandDimensions(static_cast<int32_t>(output), dimensions);
  if (result != ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE) HALYARD_RETURN_IF_FAILED(result);
  if (sufficient != nullptr) *sufficient = result.ok();
  return Shape(dimensions.begin(), dimensions.end());
}

Result<std::unique_ptr<CanonicalModel>> CanonicalModel::create(
    std::shared_ptr<const halyard::Model> model) {
  std::unique_ptr<CanonicalModel> created(new CanonicalModel(std::move(model)));
  HALYARD_RETURN_IF_ERROR(created->build());
  return created;
}

Status CanonicalModel::build() {
  HALYARD_RETURN_IF_ERROR(addMemories());
  HALYARD_ASSIGN_OR_RETURN(const std::vector<uint32_t> order, buildOrder(*model_));
  HALYARD_RETURN_IF_ERROR(referencesOf(*model_, model_->main).takeStatus());
  referenced_.resize(model_->referenced.size());
  for (const uint32_t index : order) {
    HALYARD_ASSIGN_OR_RETURN(referenced_[index], buildSubgraph(model_->referenced[index]),
                             "referenced subgraph #{}", index);
  }
  HALYARD_ASSIGN_OR_RETURN(main_, buildSubgraph(model_->main));
  return okStatus();
}

Status CanonicalModel::addMemories() {
  for (size_t i = 0; i < model_->pools.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(memories_.emplace_back(), memoryOf(*model_->pools[i]), "pool #{}", i);
  }
  return okStatus();
}

Result<Model> CanonicalModel::buildSubgraph(const Subgraph& subgraph) const {
  Model model;
  HALYARD_RETURN_IF_FAILED(model.create());
  for (size_t i = 0; i < subgraph.operands.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(addOperand(model, subgraph.operands[i], static_cast<uint32_t>(i)),
                            "operand %{}", i);
  }
  for (const Operation& operation : subgraph.operations) {
    HALYARD_RETURN_IF_FAILED(model.addOperation(static_cast<int32_t>(operation.type),
                                                indexesOf(operation.inputs),
                                                indexesOf(operation.outputs)));
  }
  HALYARD_RETURN_IF_FAILED(model.identifyInputsAndOutputs(indexesOf(subgraph.inputIndexes),
                                                          indexesOf(subgraph.outputIndexes)));
  if (model_->relaxComputationFloat32toFloat16) {
    HALYARD_RETURN_IF_FAILED(model.relaxComputationFloat32toFloat16(true));
  }
  HALYARD_RETURN_IF_FAILED(model.finish());
  return model;
}

Status CanonicalModel::addOperand(const Model& to, const Operand& operand, uint32_t index) const {
  if (isExtension(operand.type) || operandTypeTraits(operand.type) == nullptr) {
    return badData("{} is not passed on", operandTypeName(operand.type));
  }
  HALYARD_RETURN_IF_FAILED(to.addOperand(operandType(operand, operand.dimensions)));
  if (const auto* quant = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams)) {
    ANeuralNetworksSymmPerChannelQuantParams params = {};
    params.channelDim = quant->channelDim;
    params.scaleCount = static_cast<uint32_t>(quant->scales.size());
    params.scales = quant->scales.data();
    HALYARD_RETURN_IF_FAILED(
        to.setOperandSymmPerChannelQuantParams(static_cast<int32_t>(index), params));
  }
  return setConstant(to, operand, index);
}

Status CanonicalModel::setConstant(const Model& to, const Operand& operand, uint32_t index) const {
  const DataLocation& location = operand.location;
  const auto apiIndex = static_cast<int32_t>(index);
  switch (operand.lifetime) {
    case Lifetime::TEMPORARY_VARIABLE:
    case Lifetime::SUBGRAPH_INPUT:
    case Lifetime::SUBGRAPH_OUTPUT:
      return okStatus();
    case Lifetime::NO_VALUE:
      return toStatus(to.setOperandValue(apiIndex, nullptr, 0));
    case Lifetime::CONSTANT_COPY:
      if (uint64_t{location.offset} + location.length > model_->operandValues.size()) {
        return badData("bytes {} to {} of {} bytes of constants", location.offset,
                       uint64_t{location.offset} + location.length, model_->operandValues.size());
      }
      // The API keeps a pointer to a long value. This object keeps the model, which has the bytes.
      return toStatus(to.setOperandValue(apiIndex, model_->operandValues.data() + location.offset,
                                         location.length));
    case Lifetime::CONSTANT_REFERENCE:
      if (location.poolIndex >= memories_.size()) {
        return badData("pool #{} of {}", location.poolIndex, memories_.size());
      }
      return toStatus(to.setOperandValueFromMemory(apiIndex, memories_[location.poolIndex].get(),
                                                   location.offset, location.length));
    case Lifetime::SUBGRAPH:
      return toStatus(to.setOperandValueFromModel(apiIndex, referenced_[location.offset].get()));
  }
  return badData("lifetime {} is not passed on", lifetimeName(operand.lifetime));
}

Result<std::vector<bool>> CanonicalModel::supportedOperations(
    std::span<const ANeuralNetworksDevice* const> devices) const {
  std::vector<bool> supported;
  HALYARD_RETURN_IF_FAILED(
      main_.getSupportedOperationsForDevices(devices, model_->main.operations.size(), supported));
  return supported;
}

Result<Compilation> CanonicalModel::compile(const ANeuralNetworksDevice* device) const {
  HALYARD_ASSIGN_OR_RETURN(
      Compilation compilation,
      createCompilation(std::span(&device, device == nullptr ? size_t{0} : size_t{1})));
  HALYARD_RETURN_IF_FAILED(compilation.finish());
  return compilation;
}

Result<Compilation> CanonicalModel::createCompilation(
    std::span<const ANeuralNetworksDevice* const> devices) const {
  Compilation created;
  HALYARD_RETURN_IF_FAILED(devices.empty() ? created.create(main_.get())
                                           : created.createForDevices(main_.get(), devices));
  return created;
}

}  // namespace halyard::client
