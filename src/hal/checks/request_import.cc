#include "hal/checks/request_import.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "hal/checks/operand_sizes.h"
#include "hal/core/version_adaptation.h"

namespace halyard::hal {
namespace {

// Inputs up to this size are copied out of shared memory before the driver sees them. The driver
// then checks and uses the same values. Larger inputs are data, not parameters.
constexpr uint64_t kMaxInputParameterBytes = 4096;

// Checks the features that the version lacks. ReceivedPool::open checks everything else.
Status checkPools(const DecodedRequest& decoded, const std::vector<PoolDescription>& memories,
                  HalVersion version) {
  for (size_t i = 0; i < decoded.pools.size(); ++i) {
    const auto* index = std::get_if<size_t>(&decoded.pools[i]);
    if (index == nullptr) {
      if (version >= HalVersion::V1_3) continue;
      return badData("memory pool {} is a buffer of the driver; the method has HAL {}", i,
                     halVersionName(version));
    }
    const uint32_t kind = memories[*index].kind;
    if (kind > static_cast<uint32_t>(MemoryKind::HARDWARE_BUFFER)) continue;
    HALYARD_RETURN_IF_ERROR(compliantWith(static_cast<MemoryKind>(kind), version), "memory pool {}",
                            i);
  }
  return okStatus();
}

}  // namespace

void ImportedRequest::Free::operator()(void* memory) const { std::free(memory); }

Status chargeRequest(Quota& quota, DecodedRequest& decoded,
                     const std::vector<PoolDescription>& memories) {
  const uint64_t bytes =
      (decoded.request.inputs.size() + decoded.request.outputs.size()) * sizeof(RequestArgument);
  HALYARD_ASSIGN_OR_RETURN(decoded.memory, quota.charge(Quota::Resource::MEMORY, bytes));
  HALYARD_ASSIGN_OR_RETURN(decoded.descriptors,
                           quota.charge(Quota::Resource::DESCRIPTORS, countDescriptors(memories)));
  return okStatus();
}

Result<ImportedRequest> ImportedRequest::create(const Model& model, DecodedRequest decoded,
                                                std::vector<PoolDescription> memories,
                                                HalVersion version) {
  HALYARD_ASSIGN_OR_RETURN(ImportedRequest imported,
                           bind(model, std::move(decoded), std::move(memories), version));
  HALYARD_RETURN_IF_ERROR(imported.load(model));
  return imported;
}

Result<ImportedRequest> ImportedRequest::bind(const Model& model, DecodedRequest decoded,
                                              std::vector<PoolDescription> memories,
                                              HalVersion version) {
  ImportedRequest imported;
  imported.request_ = std::move(decoded.request);
  imported.memory_ = std::move(decoded.memory);
  imported.descriptors_ = std::move(decoded.descriptors);
  HALYARD_RETURN_IF_ERROR(checkPools(decoded, memories, version));
  HALYARD_RETURN_IF_ERROR(imported.bindPools(decoded, std::move(memories)));
  HALYARD_RETURN_IF_ERROR(imported.check(model, version));
  return imported;
}

Status ImportedRequest::check(const Model& model, HalVersion version) {
  HALYARD_RETURN_IF_ERROR(validateRequest(model, request_, version >= HalVersion::V1_2));
  for (size_t i = 0; i < request_.inputs.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(checkAccess(request_.inputs[i], false), "request input {}", i);
  }
  for (size_t i = 0; i < request_.outputs.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(checkAccess(request_.outputs[i], true), "request output {}", i);
  }
  return okStatus();
}

Status ImportedRequest::load(const Model& model) {
  for (size_t i = 0; i < request_.inputs.size(); ++i) {
    const Operand& operand = model.main.operands[model.main.inputIndexes[i]];
    HALYARD_RETURN_IF_ERROR(privatise(operand, request_.inputs[i], false, i), "request input {}",
                            i);
  }
  for (size_t i = 0; i < request_.outputs.size(); ++i) {
    const Operand& operand = model.main.operands[model.main.outputIndexes[i]];
    HALYARD_RETURN_IF_ERROR(privatise(operand, request_.outputs[i], true, i), "request output {}",
                            i);
  }
  dropUnusedPools();
  return okStatus();
}

Result<ImportedRequest> ImportedRequest::createFromPools(
    const Model& model, Request request, std::vector<std::optional<ReceivedPool>> pools,
    HalVersion version, Quota::Charge memory) {
  ImportedRequest imported;
  imported.memory_ = std::move(memory);
  imported.request_ = std::move(request);
  imported.pools_ = std::move(pools);
  imported.request_.pools.resize(imported.pools_.size());
  for (size_t i = 0; i < imported.pools_.size(); ++i) {
    if (imported.pools_[i]) imported.request_.pools[i] = imported.pools_[i]->memory();
  }
  HALYARD_RETURN_IF_ERROR(imported.check(model, version));
  HALYARD_RETURN_IF_ERROR(imported.load(model));
  return imported;
}

Status ImportedRequest::repeat() {
  for (const PrivateArgument& input : privateInputs_) {
    const RequestArgument& argument = request_.inputs[input.index];
    HALYARD_RETURN_IF_ERROR(
        pools_[input.pool]->read(input.offset,
                                 {static_cast<uint8_t*>(argument.pointer), argument.length}),
        "request input {}", input.index);
  }
  return okStatus();
}

// Removes pools that the driver need not map: those whose arguments are private now, and above all
// those that could shrink. Tokens stay, used or not, because an unknown token is an error.
void ImportedRequest::dropUnusedPools() {
  std::vector<std::optional<uint32_t>> kept(request_.pools.size());
  std::vector<RequestPool> pools;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (pools_[i]) continue;
    kept[i] = static_cast<uint32_t>(pools.size());
    pools.push_back(request_.pools[i]);
  }
  for (auto* arguments : {&request_.inputs, &request_.outputs}) {
    for (RequestArgument& argument : *arguments) {
      if (argument.kind != RequestArgument::Kind::POOL) continue;
      std::optional<uint32_t>& index = kept[argument.location.poolIndex];
      if (!index) {
        index = static_cast<uint32_t>(pools.size());
        pools.push_back(request_.pools[argument.location.poolIndex]);
      }
      argument.location.poolIndex = *index;
    }
  }
  request_.pools = std::move(pools);
}

Status ImportedRequest::bindPools(DecodedRequest& decoded, std::vector<PoolDescription> memories) {
  HALYARD_ASSIGN_OR_RETURN(std::vector<ReceivedPool> opened, openPools(std::move(memories)));
  for (size_t i = 0; i < decoded.pools.size(); ++i) {
    if (const auto* token = std::get_if<DecodedRequest::Token>(&decoded.pools[i])) {
      request_.pools.emplace_back(token->token);
      pools_.emplace_back(std::nullopt);
      continue;
    }
    ReceivedPool& pool = opened[std::get<size_t>(decoded.pools[i])];
    request_.pools.emplace_back(pool.memory());
    pools_.push_back(std::move(pool));
  }
  return okStatus();
}

Result<uint8_t*> ImportedRequest::allocate(uint64_t size) {
  // calloc, because bytes that a kernel leaves unwritten must not show another client's data. Large
  // blocks of calloc cost nothing until they are used.
  HALYARD_RETURN_IF_ERROR(memory_.add(size));
  allocated_ += size;
  void* memory =
      allocated_ > kMaxCopiedBytes ? nullptr : std::calloc(std::max<uint64_t>(size, 1), 1);
  if (memory == nullptr) {
    return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                      "no memory for a copy of {} bytes; at most {} are copied for a request", size,
                      kMaxCopiedBytes);
  }
  buffers_.emplace_back(static_cast<uint8_t*>(memory));
  return static_cast<uint8_t*>(memory);
}

Status ImportedRequest::checkAccess(RequestArgument& argument, bool isOutput) const {
  if (argument.kind != RequestArgument::Kind::POOL) return okStatus();
  const size_t poolIndex = argument.location.poolIndex;
  if (!pools_[poolIndex]) return okStatus();
  const ReceivedPool& pool = *pools_[poolIndex];
  if (isOutput ? !pool.writable() : !pool.readable()) {
    return badData("memory pool {} is not {}", poolIndex, isOutput ? "writable" : "readable");
  }
  if (pool.opaque()) return okStatus();  // only the driver knows its content
  DataLocation& at = argument.location;
  if (at.offset == 0 && at.length == 0) {  // the whole pool
    at.length = static_cast<uint32_t>(
        std::min<uint64_t>(pool.size(), std::numeric_limits<uint32_t>::max()));
  }
  return okStatus();
}

Status ImportedRequest::privatise(const Operand& operand, RequestArgument& argument, bool isOutput,
                                  size_t index) {
  if (argument.kind != RequestArgument::Kind::POOL) return okStatus();
  const size_t poolIndex = argument.location.poolIndex;
  if (!pools_[poolIndex]) return okStatus();  // a buffer, which the session knows
  const ReceivedPool& pool = *pools_[poolIndex];
  if (pool.opaque()) return okStatus();
  const DataLocation& at = argument.location;
  const bool aligned = (pool.memory()->offset() + at.offset) % elementAlignment(operand.type) == 0;
  const bool parameter = !isOutput && at.length <= kMaxInputParameterBytes;
  if (pool.mappable() && aligned && !parameter) return okStatus();

  HALYARD_ASSIGN_OR_RETURN(uint8_t* const memory, allocate(at.length));
  if (isOutput) {
    privateOutputs_.push_back({index, poolIndex, at.offset});
  } else {
    privateInputs_.push_back({index, poolIndex, at.offset});
    HALYARD_RETURN_IF_ERROR(pool.read(at.offset, {memory, at.length}));
  }
  argument.kind = RequestArgument::Kind::POINTER;
  argument.pointer = memory;
  argument.length = at.length;
  argument.location = {};
  return okStatus();
}

Status ImportedRequest::writeBack(const Model& model, ExecutionResult& result) const {
  if (!result.status.ok()) return okStatus();
  for (const PrivateArgument& input : privateInputs_) {
    result.copiedBytes += request_.inputs[input.index].length;
  }
  for (const PrivateArgument& output : privateOutputs_) {
    const RequestArgument& argument = request_.outputs[output.index];
    const OutputShape* shape =
        output.index < result.outputShapes.size() ? &result.outputShapes[output.index] : nullptr;
    const Operand& operand = model.main.operands[model.main.outputIndexes[output.index]];
    const size_t size = writtenBytes(operand, argument, shape);
    HALYARD_RETURN_IF_ERROR(
        pools_[output.pool]->write(output.offset,
                                   {static_cast<const uint8_t*>(argument.pointer), size}),
        "request output {}", output.index);
    result.copiedBytes += size;
  }
  return okStatus();
}

size_t writtenBytes(const Operand& operand, const RequestArgument& argument,
                    const OutputShape* shape) {
  const size_t length =
      argument.kind == RequestArgument::Kind::POINTER ? argument.length : argument.location.length;
  if (elementSize(operand.type) == 0) return length;  // only the driver knows the size
  if (shape != nullptr) {
    // Unlike in a model, a dimension of 0 is a size here.
    uint64_t size = elementSize(operand.type);
    for (const uint32_t dimension : shape->dimensions) {
      if (dimension != 0 && size > length / dimension) return length;
      size *= dimension;
    }
    return static_cast<size_t>(size);
  }
  const Shape& dimensions = argument.dimensions.empty() ? operand.dimensions : argument.dimensions;
  const std::optional<uint32_t> size = knownByteSize(operand.type, dimensions);
  return size ? std::min<size_t>(*size, length) : length;
}

}  // namespace halyard::hal
