// A canonical model, call by call, through the C API.
#include "tools/halyard/api_session.h"

#include <halyard/halyard.h>

#include <algorithm>
#include <limits>

namespace halyard::cli {
namespace {

constexpr size_t kFirstCapacity = size_t{64} << 10;
constexpr size_t kMaxCapacity = size_t{1} << 30;
// From kFirstCapacity to kMaxCapacity by doubling takes 14; a correct runtime needs 2.
constexpr int kMaxAttempts = 20;

// Returns the Status of a failed API call; the call's name is only a fall-back for its text.
#define HALYARD_API_CALL(function, ...) \
  HALYARD_RETURN_IF_ERROR(apiStatus(function(__VA_ARGS__), #function))

ANeuralNetworksOperandType apiType(const Operand& operand, const Shape& dimensions) {
  ANeuralNetworksOperandType type = {};
  type.type = static_cast<int32_t>(operand.type);
  type.dimensionCount = static_cast<uint32_t>(dimensions.size());
  type.dimensions = dimensions.empty() ? nullptr : dimensions.data();
  type.scale = operand.scale;
  type.zeroPoint = operand.zeroPoint;
  return type;
}

// Bytes of a tensor whose dimensions are real (0 is zero-sized); nullopt beyond 32 bits.
std::optional<uint32_t> byteSize(OperandType type, const Shape& dimensions) {
  if (std::find(dimensions.begin(), dimensions.end(), 0u) != dimensions.end()) return 0;
  if (dimensions.empty()) return elementSize(type);
  return knownByteSize(type, dimensions);
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

Result<std::unique_ptr<ApiSession>> ApiSession::create(std::shared_ptr<const Model> model) {
  std::unique_ptr<ApiSession> session(new ApiSession(std::move(model)));
  HALYARD_RETURN_IF_ERROR(session->build());
  return session;
}

Status ApiSession::build() {
  if (!model_->referenced.empty()) {
    return badData("the model refers to {} other subgraphs (control flow), which is not passed on",
                   model_->referenced.size());
  }
  ANeuralNetworksModel* created = nullptr;
  HALYARD_API_CALL(ANeuralNetworksModel_create, &created);
  apiModel_.reset(created);
  HALYARD_RETURN_IF_ERROR(addMemories());
  const Subgraph& main = model_->main;
  for (size_t i = 0; i < main.operands.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(addOperand(static_cast<uint32_t>(i)), "operand %{}", i);
  }
  for (size_t i = 0; i < main.operations.size(); ++i) {
    const Operation& operation = main.operations[i];
    HALYARD_RETURN_IF_ERROR(
        apiStatus(ANeuralNetworksModel_addOperation(
                      apiModel_.get(), static_cast<ANeuralNetworksOperationType>(operation.type),
                      static_cast<uint32_t>(operation.inputs.size()), operation.inputs.data(),
                      static_cast<uint32_t>(operation.outputs.size()), operation.outputs.data()),
                  "ANeuralNetworksModel_addOperation"),
        "{}", operationText(i, operation.type));
  }
  HALYARD_API_CALL(ANeuralNetworksModel_identifyInputsAndOutputs, apiModel_.get(),
                   static_cast<uint32_t>(main.inputIndexes.size()), main.inputIndexes.data(),
                   static_cast<uint32_t>(main.outputIndexes.size()), main.outputIndexes.data());
  if (model_->relaxComputationFloat32toFloat16) {
    HALYARD_API_CALL(ANeuralNetworksModel_relaxComputationFloat32toFloat16, apiModel_.get(), true);
  }
  HALYARD_API_CALL(ANeuralNetworksModel_finish, apiModel_.get());
  return okStatus();
}

Status ApiSession::addMemories() {
  for (size_t i = 0; i < model_->pools.size(); ++i) {
    const SharedMemory& pool = *model_->pools[i];
    if (pool.kind() != MemoryKind::ASHMEM && pool.kind() != MemoryKind::MMAP_FD) {
      return badData("pool #{} is a {}, which is not passed on", i, memoryKindName(pool.kind()));
    }
    ANeuralNetworksMemory* memory = nullptr;
    HALYARD_RETURN_IF_ERROR(
        apiStatus(ANeuralNetworksMemory_createFromFd(pool.size(), pool.prot(), pool.fd(),
                                                     static_cast<size_t>(pool.offset()), &memory),
                  "ANeuralNetworksMemory_createFromFd"),
        "pool #{}", i);
    memories_.emplace_back(memory);
  }
  return okStatus();
}

Status ApiSession::addOperand(uint32_t index) {
  const Operand& operand = model_->main.operands[index];
  if (isExtension(operand.type) || operandTypeTraits(operand.type) == nullptr) {
    return badData("{} is not passed on", operandTypeName(operand.type));
  }
  const ANeuralNetworksOperandType type = apiType(operand, operand.dimensions);
  HALYARD_API_CALL(ANeuralNetworksModel_addOperand, apiModel_.get(), &type);
  if (const auto* quant = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams)) {
    ANeuralNetworksSymmPerChannelQuantParams params = {};
    params.channelDim = quant->channelDim;
    params.scaleCount = static_cast<uint32_t>(quant->scales.size());
    params.scales = quant->scales.data();
    HALYARD_API_CALL(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams, apiModel_.get(),
                     static_cast<int32_t>(index), &params);
  }
  return setConstant(index);
}

Status ApiSession::setConstant(uint32_t index) {
  const Operand& operand = model_->main.operands[index];
  const DataLocation& location = operand.location;
  const auto apiIndex = static_cast<int32_t>(index);
  switch (operand.lifetime) {
    case Lifetime::TEMPORARY_VARIABLE:
    case Lifetime::SUBGRAPH_INPUT:
    case Lifetime::SUBGRAPH_OUTPUT:
      return okStatus();
    case Lifetime::NO_VALUE:
      HALYARD_API_CALL(ANeuralNetworksModel_setOperandValue, apiModel_.get(), apiIndex, nullptr, 0);
      return okStatus();
    case Lifetime::CONSTANT_COPY:
      if (uint64_t{location.offset} + location.length > model_->operandValues.size()) {
        return badData("bytes {} to {} of {} bytes of constants", location.offset,
                       uint64_t{location.offset} + location.length, model_->operandValues.size());
      }
      // The API keeps the pointer of a longer value; the session keeps the model.
      HALYARD_API_CALL(ANeuralNetworksModel_setOperandValue, apiModel_.get(), apiIndex,
                       model_->operandValues.data() + location.offset, location.length);
      return okStatus();
    case Lifetime::CONSTANT_REFERENCE:
      if (location.poolIndex >= memories_.size()) {
        return badData("pool #{} of {}", location.poolIndex, memories_.size());
      }
      HALYARD_API_CALL(ANeuralNetworksModel_setOperandValueFromMemory, apiModel_.get(), apiIndex,
                       memories_[location.poolIndex].get(), location.offset, location.length);
      return okStatus();
    case Lifetime::SUBGRAPH:
      break;
  }
  return badData("lifetime {} is not passed on", lifetimeName(operand.lifetime));
}

Result<std::vector<bool>> ApiSession::supportedOperations(
    const ANeuralNetworksDevice* device) const {
  const size_t count = model_->main.operations.size();
  const std::unique_ptr<bool[]> supported(new bool[count]());
  HALYARD_API_CALL(ANeuralNetworksModel_getSupportedOperationsForDevices, apiModel_.get(), &device,
                   1, supported.get());
  return std::vector<bool>(supported.get(), supported.get() + count);
}

Status ApiSession::compile(const ANeuralNetworksDevice* device) {
  if (compilation_) return badState("the session has compiled already");
  ANeuralNetworksCompilation* created = nullptr;
  if (device == nullptr) {
    HALYARD_API_CALL(ANeuralNetworksCompilation_create, apiModel_.get(), &created);
  } else {
    HALYARD_API_CALL(ANeuralNetworksCompilation_createForDevices, apiModel_.get(), &device, 1,
                     &created);
  }
  std::unique_ptr<ANeuralNetworksCompilation, FreeCompilation> compilation(created);
  HALYARD_API_CALL(ANeuralNetworksCompilation_finish, compilation.get());
  compilation_ = std::move(compilation);
  return okStatus();
}

Result<std::vector<ApiSession::OutputBuffer>> ApiSession::makeOutputBuffers() const {
  std::vector<OutputBuffer> outputs;
  for (const uint32_t index : model_->main.outputIndexes) {
    const Operand& operand = model_->main.operands[index];
    const std::optional<uint32_t> size = knownByteSize(operand.type, operand.dimensions);
    outputs.push_back({size.has_value(), std::vector<uint8_t>(size.value_or(kFirstCapacity))});
  }
  return outputs;
}

Status ApiSession::setArguments(ANeuralNetworksExecution* execution,
                                std::span<const ApiInput> inputs,
                                std::vector<OutputBuffer>& outputs) const {
  const Subgraph& main = model_->main;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ApiInput& input = inputs[i];
    const ANeuralNetworksOperandType type =
        apiType(main.operands[main.inputIndexes[i]], input.dimensions);
    const bool given = !input.omitted;
    HALYARD_RETURN_IF_ERROR(
        apiStatus(ANeuralNetworksExecution_setInput(
                      execution, static_cast<int32_t>(i),
                      given && !input.dimensions.empty() ? &type : nullptr,
                      given ? input.bytes.data() : nullptr, given ? input.bytes.size() : 0),
                  "ANeuralNetworksExecution_setInput"),
        "input #{}", i);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(apiStatus(ANeuralNetworksExecution_setOutput(
                                          execution, static_cast<int32_t>(i), nullptr,
                                          outputs[i].bytes.data(), outputs[i].bytes.size()),
                                      "ANeuralNetworksExecution_setOutput"),
                            "output #{}", i);
  }
  return okStatus();
}

// What the API knows of an output's dimensions after a computation, also one that failed with
// OUTPUT_INSUFFICIENT_SIZE.
Result<Shape> ApiSession::outputDimensions(ANeuralNetworksExecution* execution,
                                           size_t output) const {
  const auto index = static_cast<int32_t>(output);
  const auto known = [](int code) {
    return code == ANEURALNETWORKS_NO_ERROR || code == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE;
  };
  uint32_t rank = 0;
  int code = ANeuralNetworksExecution_getOutputOperandRank(execution, index, &rank);
  if (!known(code)) return apiStatus(code, "ANeuralNetworksExecution_getOutputOperandRank");
  Shape dimensions(rank);
  if (rank == 0) return dimensions;
  code = ANeuralNetworksExecution_getOutputOperandDimensions(execution, index, dimensions.data());
  if (!known(code)) return apiStatus(code, "ANeuralNetworksExecution_getOutputOperandDimensions");
  return dimensions;
}

Status ApiSession::growBuffers(ANeuralNetworksExecution* execution,
                               std::vector<OutputBuffer>& outputs) const {
  bool grown = false;
  bool atLimit = false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    OutputBuffer& output = outputs[i];
    if (output.exact) continue;
    HALYARD_ASSIGN_OR_RETURN(const Shape dimensions, outputDimensions(execution, i), "output #{}",
                             i);
    const OperandType type = model_->main.operands[model_->main.outputIndexes[i]].type;
    const std::optional<uint32_t> needed = knownByteSize(type, dimensions);
    if (needed && *needed <= output.bytes.size()) continue;
    const size_t capacity = needed ? *needed : output.bytes.size() * 2;
    if (capacity > kMaxCapacity) {
      atLimit = true;
      continue;
    }
    output.bytes.assign(capacity, 0);
    grown = true;
  }
  if (grown) return okStatus();
  return makeStatus(ResultCode::OUTPUT_INSUFFICIENT_SIZE, "{}",
                    atLimit ? "an output needs more than 1 GiB"
                            : "the runtime asks for larger outputs without saying which");
}

Result<std::vector<ApiOutput>> ApiSession::takeOutputs(ANeuralNetworksExecution* execution,
                                                       std::vector<OutputBuffer> outputs) const {
  std::vector<ApiOutput> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(Shape dimensions, outputDimensions(execution, i), "output #{}", i);
    const OperandType type = model_->main.operands[model_->main.outputIndexes[i]].type;
    const std::optional<uint32_t> size = byteSize(type, dimensions);
    if (!size || *size > outputs[i].bytes.size()) {
      return opFailed("output #{}: the runtime reports {}{}, more than its buffer of {} bytes", i,
                      operandTypeName(type), shapeText(dimensions), outputs[i].bytes.size());
    }
    outputs[i].bytes.resize(*size);
    results.push_back({std::move(dimensions), std::move(outputs[i].bytes)});
  }
  return results;
}

Result<ApiExecution> ApiSession::execute(std::span<const ApiInput> inputs) const {
  if (!compilation_) return badState("the session has not compiled");
  if (inputs.size() != model_->main.inputIndexes.size()) {
    return badData("{} inputs for a model with {}", inputs.size(),
                   model_->main.inputIndexes.size());
  }
  HALYARD_ASSIGN_OR_RETURN(std::vector<OutputBuffer> outputs, makeOutputBuffers());
  ApiExecution result;
  for (;; ++result.attempts) {
    ANeuralNetworksExecution* created = nullptr;
    HALYARD_API_CALL(ANeuralNetworksExecution_create, compilation_.get(), &created);
    const std::unique_ptr<ANeuralNetworksExecution, FreeExecution> execution(created);
    HALYARD_RETURN_IF_ERROR(setArguments(execution.get(), inputs, outputs));
    const auto start = std::chrono::steady_clock::now();
    const int code = ANeuralNetworksExecution_compute(execution.get());
    result.duration = std::chrono::steady_clock::now() - start;
    if (code == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE && result.attempts < kMaxAttempts) {
      HALYARD_RETURN_IF_ERROR(growBuffers(execution.get(), outputs));
      continue;
    }
    HALYARD_RETURN_IF_ERROR(apiStatus(code, "ANeuralNetworksExecution_compute"));
    HALYARD_ASSIGN_OR_RETURN(result.outputs, takeOutputs(execution.get(), std::move(outputs)));
    return result;
  }
}

}  // namespace halyard::cli
