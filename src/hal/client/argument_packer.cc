#include "hal/client/argument_packer.h"

#include <bit>
#include <cstring>
#include <limits>

#include "hal/checks/request_import.h"

namespace halyard::hal {
namespace {

constexpr uint64_t kAlignment = 64;

// A pool with its mapping.
struct Area {
  SharedMemoryPtr memory;
  Mapping mapping;
};

// Gives each pointer argument a place in pool `poolIndex`. Returns the size that the pool needs.
// Places start behind the first 64 bytes, because offset 0 with length 0 means the whole pool.
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

Status grow(Area& area, size_t size, const char* name) {
  if (area.mapping.size() >= size) return okStatus();
  area = {};
  // The size is rounded up, so that a slightly larger request does not need a new pool.
  HALYARD_ASSIGN_OR_RETURN(area.memory, SharedMemory::create(std::bit_ceil(size), name));
  HALYARD_ASSIGN_OR_RETURN(area.mapping, area.memory->map());
  return okStatus();
}

void copyIn(const RequestArgument& argument, uint32_t offset, const Area& area) {
  if (argument.length == 0) return;
  std::memcpy(area.mapping.data() + offset, argument.pointer, argument.length);
}

}  // namespace

struct ArgumentPacker::Work {
  Area inputs;
  Area outputs;
  Request request;
  struct PointerOutput {
    size_t index;
    void* pointer;
  };
  std::vector<PointerOutput> pointerOutputs;
  uint64_t inputBytes = 0;  // copied for each execution
};

ArgumentPacker::ArgumentPacker() = default;
ArgumentPacker::~ArgumentPacker() = default;

ArgumentPacker::PackedRequest::PackedRequest(ArgumentPacker& packer, std::unique_ptr<Work> work)
    : packer_(packer), work_(std::move(work)) {}
ArgumentPacker::PackedRequest::PackedRequest(PackedRequest&&) noexcept = default;
ArgumentPacker::PackedRequest::~PackedRequest() {
  if (work_ != nullptr) packer_.giveBack(std::move(work_));
}

const Request& ArgumentPacker::PackedRequest::request() const { return work_->request; }

void ArgumentPacker::PackedRequest::repeat(const Request& request) const {
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const RequestArgument& from = request.inputs[i];
    if (from.kind != RequestArgument::Kind::POINTER) continue;
    copyIn(from, work_->request.inputs[i].location.offset, work_->inputs);
  }
}

void ArgumentPacker::PackedRequest::abandon() {
  abandoned_ = true;
  work_->inputs = {};
  work_->outputs = {};
  work_->pointerOutputs.clear();
}

void ArgumentPacker::PackedRequest::unpack(const Model& model, ExecutionResult& result) const {
  if (!result.status.ok()) return;
  result.copiedBytes += work_->inputBytes;
  for (const Work::PointerOutput& output : work_->pointerOutputs) {
    const RequestArgument& argument = work_->request.outputs[output.index];
    const OutputShape* shape =
        output.index < result.outputShapes.size() ? &result.outputShapes[output.index] : nullptr;
    const Operand& operand = model.main.operands[model.main.outputIndexes[output.index]];
    const size_t size = writtenBytes(operand, argument, shape);
    result.copiedBytes += size;
    if (size != 0) {
      std::memcpy(output.pointer, work_->outputs.mapping.data() + argument.location.offset, size);
    }
  }
}

Result<ArgumentPacker::PackedRequest> ArgumentPacker::pack(const Request& request) {
  PackedRequest packed(*this, borrow());
  Work& work = *packed.work_;
  Request& to = work.request;
  // The assignment reuses the memory of the tables. Their sizes mostly equal those of the last
  // request.
  to = request;
  work.inputBytes = 0;
  const auto inputPool = static_cast<uint32_t>(to.pools.size());
  HALYARD_ASSIGN_OR_RETURN(const size_t inputSize, place(to.inputs, inputPool));
  const uint32_t outputPool = inputPool + (inputSize != 0 ? 1 : 0);
  HALYARD_ASSIGN_OR_RETURN(const size_t outputSize, place(to.outputs, outputPool));
  if (inputSize != 0) {
    HALYARD_RETURN_IF_ERROR(grow(work.inputs, inputSize, "halyard inputs"));
    to.pools.emplace_back(work.inputs.memory);
    for (RequestArgument& argument : to.inputs) {
      if (argument.kind != RequestArgument::Kind::POINTER) continue;
      copyIn(argument, argument.location.offset, work.inputs);
      work.inputBytes += argument.length;
      argument.kind = RequestArgument::Kind::POOL;
    }
  }
  if (outputSize != 0) {
    HALYARD_RETURN_IF_ERROR(grow(work.outputs, outputSize, "halyard outputs"));
    to.pools.emplace_back(work.outputs.memory);
    for (size_t i = 0; i < to.outputs.size(); ++i) {
      if (to.outputs[i].kind != RequestArgument::Kind::POINTER) continue;
      work.pointerOutputs.push_back({i, to.outputs[i].pointer});
      to.outputs[i].kind = RequestArgument::Kind::POOL;
    }
  }
  return packed;
}

std::unique_ptr<ArgumentPacker::Work> ArgumentPacker::borrow() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::make_unique<Work>();
  auto work = std::move(free_.back());
  free_.pop_back();
  return work;
}

void ArgumentPacker::giveBack(std::unique_ptr<Work> work) {
  // A free Work keeps no pools and no pointers of the caller.
  work->request.pools.clear();
  work->pointerOutputs.clear();
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(work));
}

}  // namespace halyard::hal
