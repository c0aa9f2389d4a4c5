#include "hal/argument_packer.h"

#include <bit>
#include <cstring>
#include <limits>

#include "hal/request_import.h"

namespace halyard::hal {
namespace {

constexpr uint64_t kAlignment = 64;

// Gives every pointer argument a place in pool `poolIndex`; returns the size that the pool needs.
// Places start behind the first 64 bytes: offset 0 with length 0 would mean the whole pool.
Result<size_t> place(std::vector<RequestArgument>& arguments, uint32_t poolIndex) {
  uint64_t end = 0;
  for (RequestArgument& argument : arguments) {
    if (argument.kind != RequestArgument::Kind::POINTER) continue;
    const uint64_t offset =
        end == 0 ? kAlignment : (end + kAlignment - 1) / kAlignment * kAlignment;
    end = offset + argument.length;
    if (end > std::numeric_limits<uint32_t>::max()) {
      return badData("the arguments of one execution have more than 4 GiB together");
    }
    argument.location = {poolIndex, static_cast<uint32_t>(offset), argument.length};
  }
  return static_cast<size_t>(end);
}

Status grow(ArgumentPacker::Area& area, size_t size, const char* name) {
  if (area.mapping.size() >= size) return okStatus();
  area = {};
  // Rounded up, so that slightly larger requests do not need a new pool each.
  HALYARD_ASSIGN_OR_RETURN(area.memory, SharedMemory::create(std::bit_ceil(size), name));
  HALYARD_ASSIGN_OR_RETURN(area.mapping, area.memory->map());
  return okStatus();
}

}  // namespace

ArgumentPacker::PackedRequest::~PackedRequest() {
  if (areas_ != nullptr) packer_->giveBack(std::move(areas_));
}

void ArgumentPacker::PackedRequest::unpack(const Model& model,
                                           const ExecutionResult& result) const {
  if (!result.status.ok()) return;
  for (const PointerOutput& output : outputs_) {
    const RequestArgument& argument = request_.outputs[output.index];
    const OutputShape* shape =
        output.index < result.outputShapes.size() ? &result.outputShapes[output.index] : nullptr;
    const Operand& operand = model.main.operands[model.main.outputIndexes[output.index]];
    const size_t size = writtenBytes(operand, argument, shape);
    if (size != 0) {
      std::memcpy(output.pointer, areas_->outputs.mapping.data() + argument.location.offset, size);
    }
  }
}

Result<ArgumentPacker::PackedRequest> ArgumentPacker::pack(Request request) {
  PackedRequest packed(std::move(request));
  Request& to = packed.request_;
  const auto inputPool = static_cast<uint32_t>(to.pools.size());
  HALYARD_ASSIGN_OR_RETURN(const size_t inputSize, place(to.inputs, inputPool));
  const uint32_t outputPool = inputPool + (inputSize != 0 ? 1 : 0);
  HALYARD_ASSIGN_OR_RETURN(const size_t outputSize, place(to.outputs, outputPool));
  if (inputSize == 0 && outputSize == 0) return packed;

  packed.packer_ = this;
  packed.areas_ = borrow();
  if (inputSize != 0) {
    Area& area = packed.areas_->inputs;
    HALYARD_RETURN_IF_ERROR(grow(area, inputSize, "halyard inputs"));
    to.pools.emplace_back(area.memory);
    for (RequestArgument& argument : to.inputs) {
      if (argument.kind != RequestArgument::Kind::POINTER) continue;
      if (argument.length != 0) {
        std::memcpy(area.mapping.data() + argument.location.offset, argument.pointer,
                    argument.length);
      }
      argument.kind = RequestArgument::Kind::POOL;
    }
  }
  if (outputSize != 0) {
    Area& area = packed.areas_->outputs;
    HALYARD_RETURN_IF_ERROR(grow(area, outputSize, "halyard outputs"));
    to.pools.emplace_back(area.memory);
    for (size_t i = 0; i < to.outputs.size(); ++i) {
      if (to.outputs[i].kind != RequestArgument::Kind::POINTER) continue;
      packed.outputs_.push_back({i, to.outputs[i].pointer});
      to.outputs[i].kind = RequestArgument::Kind::POOL;
    }
  }
  return packed;
}

std::unique_ptr<ArgumentPacker::Areas> ArgumentPacker::borrow() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::make_unique<Areas>();
  auto areas = std::move(free_.back());
  free_.pop_back();
  return areas;
}

void ArgumentPacker::giveBack(std::unique_ptr<Areas> areas) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(areas));
}

}  // namespace halyard::hal
