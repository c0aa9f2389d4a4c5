// A canonical model, call by call, through the C API.
#include "tools/halyard/api_model.h"

#include <halyard/halyard.h>

namespace halyard::cli {
namespace {

// The subgraphs that `subgraph` refers to. BAD_DATA for an index that is none.
Result<std::vector<uint32_t>> referencesOf(const Model& model, const Subgraph& subgraph) {
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

// The referenced subgraphs in an order in which each comes after those it refers to.
Result<std::vector<uint32_t>> buildOrder(const Model& model) {
  enum class State : uint8_t { NEW, OPEN, DONE };
  std::vector<State> states(model.referenced.size(), State::NEW);
  std::vector<uint32_t> order;
  // A stack of its own: a file says how deep it goes.
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

}  // namespace

Status apiStatus(int code, std::string_view call) {
  if (code == ANEURALNETWORKS_NO_ERROR) return okStatus();
  std::string text = halyard_lastErrorText();
  if (text.empty()) text = fmt::format("{} failed", call);
  return Status(static_cast<ResultCode>(code), std::move(text));
}

Result<std::vector<ApiDevice>> listApiDevices() {
  uint32_t count = 0;
  HALYARD_API_CALL(ANeuralNetworks_getDeviceCount, &count);
  std::vector<ApiDevice> devices;
  for (uint32_t i = 0; i < count; ++i) {
    ANeuralNetworksDevice* handle = nullptr;
    HALYARD_API_CALL(ANeuralNetworks_getDevice, i, &handle);
    const char* name = nullptr;
    HALYARD_API_CALL(ANeuralNetworksDevice_getName, handle, &name);
    devices.push_back({handle, name});
  }
  return devices;
}

Result<int64_t> driverProcessId(const ANeuralNetworksDevice* device) {
  int64_t pid = 0;
  // Not an NNAPI call: it leaves no text of its own.
  const int code = halyard_deviceProcessId(device, &pid);
  if (code != ANEURALNETWORKS_NO_ERROR) {
    return Status(static_cast<ResultCode>(code), "halyard_deviceProcessId failed");
  }
  return pid;
}

ANeuralNetworksOperandType apiOperandType(const Operand& operand, const Shape& dimensions) {
  ANeuralNetworksOperandType type = {};
  type.type = static_cast<int32_t>(operand.type);
  type.dimensionCount = static_cast<uint32_t>(dimensions.size());
  type.dimensions = dimensions.empty() ? nullptr : dimensions.data();
  type.scale = operand.scale;
  type.zeroPoint = operand.zeroPoint;
  return type;
}

Result<ApiHandle<ANeuralNetworksMemory>> apiMemory(const SharedMemory& memory) {
  if (memory.kind() != MemoryKind::ASHMEM && memory.kind() != MemoryKind::MMAP_FD) {
    return badData("a {}, which is not passed on", memoryKindName(memory.kind()));
  }
  ANeuralNetworksMemory* created = nullptr;
  HALYARD_API_CALL(ANeuralNetworksMemory_createFromFd, memory.size(), memory.prot(), memory.fd(),
                   static_cast<size_t>(memory.offset()), &created);
  return ApiHandle<ANeuralNetworksMemory>(created);
}

Result<Shape> apiOutputDimensions(ANeuralNetworksExecution* execution, size_t output,
                                  bool* sufficient) {
  const auto index = static_cast<int32_t>(output);
  const auto known = [](int code) {
    return code == ANEURALNETWORKS_NO_ERROR || code == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE;
  };
  uint32_t rank = 0;
  int code = ANeuralNetworksExecution_getOutputOperandRank(execution, index, &rank);
  if (!known(code)) return apiStatus(code, "ANeuralNetworksExecution_getOutputOperandRank");
  if (sufficient != nullptr) *sufficient = code == ANEURALNETWORKS_NO_ERROR;
  Shape dimensions(rank);
  if (rank == 0) return dimensions;
  code = ANeuralNetworksExecution_getOutputOperandDimensions(execution, index, dimensions.data());
  if (!known(code)) return apiStatus(code, "ANeuralNetworksExecution_getOutputOperandDimensions");
  return dimensions;
}

Result<std::unique_ptr<ApiModel>> ApiModel::create(std::shared_ptr<const Model> model) {
  std::unique_ptr<ApiModel> created(new ApiModel(std::move(model)));
  HALYARD_RETURN_IF_ERROR(created->build());
  return created;
}

Status ApiModel::build() {
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

Status ApiModel::addMemories() {
  for (size_t i = 0; i < model_->pools.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(memories_.emplace_back(), apiMemory(*model_->pools[i]), "pool #{}", i);
  }
  return okStatus();
}

Result<ApiHandle<ANeuralNetworksModel>> ApiModel::buildSubgraph(const Subgraph& subgraph) const {
  ANeuralNetworksModel* created = nullptr;
  HALYARD_API_CALL(ANeuralNetworksModel_create, &created);
  ApiHandle<ANeuralNetworksModel> model(created);
  for (size_t i = 0; i < subgraph.operands.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(addOperand(created, subgraph.operands[i], static_cast<uint32_t>(i)),
                            "operand %{}", i);
  }
  for (const Operation& operation : subgraph.operations) {
    HALYARD_API_CALL(ANeuralNetworksModel_addOperation, created,
                     static_cast<ANeuralNetworksOperationType>(operation.type),
                     static_cast<uint32_t>(operation.inputs.size()), operation.inputs.data(),
                     static_cast<uint32_t>(operation.outputs.size()), operation.outputs.data());
  }
  HALYARD_API_CALL(
      ANeuralNetworksModel_identifyInputsAndOutputs, created,
      static_cast<uint32_t>(subgraph.inputIndexes.size()), subgraph.inputIndexes.data(),
      static_cast<uint32_t>(subgraph.outputIndexes.size()), subgraph.outputIndexes.data());
  if (model_->relaxComputationFloat32toFloat16) {
    HALYARD_API_CALL(ANeuralNetworksModel_relaxComputationFloat32toFloat16, created, true);
  }
  HALYARD_API_CALL(ANeuralNetworksModel_finish, created);
  return model;
}

Status ApiModel::addOperand(ANeuralNetworksModel* to, const Operand& operand,
                            uint32_t index) const {
  if (isExtension(operand.type) || operandTypeTraits(operand.type) == nullptr) {
    return badData("{} is not passed on", operandTypeName(operand.type));
  }
  const ANeuralNetworksOperandType type = apiOperandType(operand, operand.dimensions);
  HALYARD_API_CALL(ANeuralNetworksModel_addOperand, to, &type);
  if (const auto* quant = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams)) {
    ANeuralNetworksSymmPerChannelQuantParams params = {};
    params.channelDim = quant->channelDim;
    params.scaleCount = static_cast<uint32_t>(quant->scales.size());
    params.scales = quant->scales.data();
    HALYARD_API_CALL(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams, to,
                     static_cast<int32_t>(index), &params);
  }
  return setConstant(to, operand, index);
}

Status ApiModel::setConstant(ANeuralNetworksModel* to, const Operand& operand,
                             uint32_t index) const {
  const DataLocation& location = operand.location;
  const auto apiIndex = static_cast<int32_t>(index);
  switch (operand.lifetime) {
    case Lifetime::TEMPORARY_VARIABLE:
    case Lifetime::SUBGRAPH_INPUT:
    case Lifetime::SUBGRAPH_OUTPUT:
      return okStatus();
    case Lifetime::NO_VALUE:
      HALYARD_API_CALL(ANeuralNetworksModel_setOperandValue, to, apiIndex, nullptr, 0);
      return okStatus();
    case Lifetime::CONSTANT_COPY:
      if (uint64_t{location.offset} + location.length > model_->operandValues.size()) {
        return badData("bytes {} to {} of {} bytes of constants", location.offset,
                       uint64_t{location.offset} + location.length, model_->operandValues.size());
      }
      // The API keeps the pointer of a longer value; this object keeps the model.
      HALYARD_API_CALL(ANeuralNetworksModel_setOperandValue, to, apiIndex,
                       model_->operandValues.data() + location.offset, location.length);
      return okStatus();
    case Lifetime::CONSTANT_REFERENCE:
      if (location.poolIndex >= memories_.size()) {
        return badData("pool #{} of {}", location.poolIndex, memories_.size());
      }
      HALYARD_API_CALL(ANeuralNetworksModel_setOperandValueFromMemory, to, apiIndex,
                       memories_[location.poolIndex].get(), location.offset, location.length);
      return okStatus();
    case Lifetime::SUBGRAPH:
      HALYARD_API_CALL(ANeuralNetworksModel_setOperandValueFromModel, to, apiIndex,
                       referenced_[location.offset].get());
      return okStatus();
  }
  return badData("lifetime {} is not passed on", lifetimeName(operand.lifetime));
}

Result<std::vector<bool>> ApiModel::supportedOperations(const ANeuralNetworksDevice* device) const {
  const size_t count = model_->main.operations.size();
  const std::unique_ptr<bool[]> supported(new bool[count]());
  HALYARD_API_CALL(ANeuralNetworksModel_getSupportedOperationsForDevices, main_.get(), &device, 1,
                   supported.get());
  return std::vector<bool>(supported.get(), supported.get() + count);
}

Result<ApiHandle<ANeuralNetworksCompilation>> ApiModel::compile(
    const ANeuralNetworksDevice* device) const {
  HALYARD_ASSIGN_OR_RETURN(
      ApiHandle<ANeuralNetworksCompilation> compilation,
      createCompilation(std::span(&device, device == nullptr ? size_t{0} : size_t{1})));
  HALYARD_API_CALL(ANeuralNetworksCompilation_finish, compilation.get());
  return compilation;
}

Result<ApiHandle<ANeuralNetworksCompilation>> ApiModel::createCompilation(
    std::span<const ANeuralNetworksDevice* const> devices) const {
  ANeuralNetworksCompilation* created = nullptr;
  if (devices.empty()) {
    HALYARD_API_CALL(ANeuralNetworksCompilation_create, main_.get(), &created);
  } else {
    HALYARD_API_CALL(ANeuralNetworksCompilation_createForDevices, main_.get(), devices.data(),
                     static_cast<uint32_t>(devices.size()), &created);
  }
  return ApiHandle<ANeuralNetworksCompilation>(created);
}

}  // namespace halyard::cli
