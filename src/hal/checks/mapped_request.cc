#include "halyard/driver/mapped_request.h"

#include <sys/mman.h>

#include <algorithm>

#include "model/shape_agreement.h"

namespace halyard::hal {

namespace {

// An input must have all the bytes that a driver will read.
Status checkLength(const Operand& operand, const MappedArgument& input) {
  const std::optional<uint32_t> needed = knownByteSize(operand.type, input.dims);
  if (!needed || input.length >= *needed) return okStatus();
  return badData("has {} bytes, {}{} needs {}", input.length, operandTypeName(operand.type),
                 isScalarType(operand.type) ? "" : shapeText(input.dims), *needed);
}

}  // namespace

Result<MappedRequest> MappedRequest::map(const Model& model, const Request& request) {
  MappedRequest mapped;
  for (size_t i = 0; i < request.pools.size(); ++i) {
    if (const auto* const own = std::get_if<DeviceMemoryPtr>(&request.pools[i])) {
      mapped.pools_.push_back({nullptr, PROT_READ | PROT_WRITE, own->get()});
      continue;
    }
    const auto* memory = std::get_if<SharedMemoryPtr>(&request.pools[i]);
    if (memory == nullptr) {
      return badData("request pool {} is the token of a buffer, expected shared memory", i);
    }
    HALYARD_ASSIGN_OR_RETURN(const Mapping* mapping, (*memory)->mapped(), "request pool {}", i);
    mapped.pools_.push_back({mapping, (*memory)->prot(), nullptr});
  }
  HALYARD_RETURN_IF_ERROR(mapped.addAll(model.main, request.inputs, false, &mapped.inputs_));
  HALYARD_RETURN_IF_ERROR(mapped.addAll(model.main, request.outputs, true, &mapped.outputs_));
  mapped.beginAccess(request);
  return mapped;
}

void MappedRequest::beginAccess(const Request& request) {
  for (size_t i = 0; i < request.pools.size(); ++i) {
    const auto* const memory = std::get_if<SharedMemoryPtr>(&request.pools[i]);
    if (memory == nullptr || !(*memory)->isDmaBuf()) continue;
    accesses_.emplace_back(
        *memory,
        std::any_of(request.outputs.begin(), request.outputs.end(), [i](const auto& output) {
          return output.kind == RequestArgument::Kind::POOL && output.location.poolIndex == i;
        }));
  }
}

Status MappedRequest::addAll(const Subgraph& main, const std::vector<RequestArgument>& from,
                             bool areOutputs, std::vector<MappedArgument>* to) const {
  const std::vector<uint32_t>& indexes = areOutputs ? main.outputIndexes : main.inputIndexes;
  const std::string_view what = areOutputs ? "output" : "input";
  if (from.size() != indexes.size()) {
    return badData("the request has {} {}s, the model {}", from.size(), what, indexes.size());
  }
  to->reserve(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    const Operand& operand = main.operands[indexes[i]];
    HALYARD_ASSIGN_OR_RETURN(MappedArgument argument, bind(operand, from[i], areOutputs),
                             "request {} {}", what, i);
    if (!areOutputs && (argument.data != nullptr || argument.deviceMemory != nullptr)) {
      HALYARD_RETURN_IF_ERROR(checkLength(operand, argument), "request {} {}", what, i);
    }
    to->push_back(std::move(argument));
  }
  return okStatus();
}

// A validated request has valid indices and ranges. This second check costs almost nothing.
Result<MappedArgument> MappedRequest::bind(const Operand& operand, const RequestArgument& from,
                                           bool isOutput) const {
  MappedArgument argument;
  argument.dims = completeShape(from.dimensions, operand.dimensions);
  switch (from.kind) {
    case RequestArgument::Kind::NO_VALUE:
      break;
    case RequestArgument::Kind::POINTER:
      argument.data = from.pointer;
      argument.length = from.length;
      break;
    case RequestArgument::Kind::POOL: {
      const DataLocation& at = from.location;
      if (at.poolIndex >= pools_.size()) {
        return badData("pool {}, the request has {}", at.poolIndex, pools_.size());
      }
      const Pool& pool = pools_[at.poolIndex];
      if (pool.deviceMemory != nullptr) {
        argument.deviceMemory = pool.deviceMemory;
        argument.length = at.length;
        break;
      }
      if (uint64_t{at.offset} + at.length > pool.mapping->size()) {
        return badData("{} bytes at offset {} of pool {} of {} bytes", at.length, at.offset,
                       at.poolIndex, pool.mapping->size());
      }
      // An access to memory against its protection would end the process.
      if ((pool.prot & (isOutput ? PROT_WRITE : PROT_READ)) == 0) {
        return badData("pool {} may not be {}", at.poolIndex, isOutput ? "written" : "read");
      }
      const bool isWhole = at.offset == 0 && at.length == 0;
      argument.data = pool.mapping->data() + at.offset;
      argument.length = isWhole ? pool.mapping->size() : at.length;
      argument.shared = true;
      break;
    }
  }
  return argument;
}

ExecutionResult resultFor(const Model& model, const MappedRequest& request,
                          const std::vector<Shape>& shapes) {
  ExecutionResult result;
  std::string text;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const OperandType type = model.main.operands[model.main.outputIndexes[i]].type;
    const std::optional<uint32_t> needed = realByteSize(type, shapes[i]);
    const size_t length = request.outputs()[i].length;
    // Only a driver knows the size of its extension's types.
    const bool isSufficient = needed ? *needed <= length : isExtension(type);
    result.outputShapes.push_back({shapes[i], isSufficient});
    if (isSufficient) continue;
    text += fmt::format("{}output {} is {}{}, its buffer has {} bytes", text.empty() ? "" : "; ", i,
                        operandTypeName(type), shapeText(shapes[i]), length);
  }
  if (!text.empty()) result.status = Status(ResultCode::OUTPUT_INSUFFICIENT_SIZE, std::move(text));
  return result;
}

}  // namespace halyard::hal
