#include "device_arena.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "halyard/driver/mapped_request.h"

namespace halyard::drivers {
namespace {

// A copy of one argument.
struct Staged {
  std::unique_ptr<ArenaMemory> memory;
  const hal::MappedArgument* outside = nullptr;
};

bool isImported(const hal::Request& request, const hal::RequestArgument& argument,
                uint32_t imports) {
  if (argument.kind != hal::RequestArgument::Kind::POOL) return false;
  const auto* const memory =
      std::get_if<SharedMemoryPtr>(&request.pools[argument.location.poolIndex]);
  if (memory == nullptr) return false;
  const hal::ImportKind kind =
      (*memory)->isDmaBuf() ? hal::ImportKind::DMA_BUF : hal::ImportKind::HOST_PAGES;
  return (imports & importBit(kind)) != 0;
}

Status checkRange(size_t bytes, size_t size) {
  if (bytes <= size) return okStatus();
  return badData("a copy of {} bytes, the device's memory has {}", bytes, size);
}

// The arguments of one request in the arena.
class ArenaRequest {
 public:
  ArenaRequest(const hal::Request& request, const hal::MappedRequest& mapped, uint32_t imports)
      : outer_(request), imports_(imports) {
    for (size_t i = 0; i < mapped.inputs().size(); ++i) {
      own_.inputs.push_back(place(mapped.inputs()[i], request.inputs[i], false));
    }
    for (size_t i = 0; i < mapped.outputs().size(); ++i) {
      own_.outputs.push_back(place(mapped.outputs()[i], request.outputs[i], true));
    }
  }

  const hal::Request& request() const { return own_; }
  uint64_t copied() const { return copied_; }

  void copyBack(const Model& model, const hal::ExecutionResult& result) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Staged& output = outputs_[i];
      if (output.memory == nullptr) continue;
      size_t length = output.outside->length;
      if (i < result.outputShapes.size()) {
        const OperandType type = model.main.operands[model.main.outputIndexes[i]].type;
        length = std::min<size_t>(
            length, realByteSize(type, result.outputShapes[i].dimensions).value_or(length));
      }
      std::memcpy(output.outside->data, output.memory->bytes().data(), length);
      copied_ += length;
    }
  }

 private:
  hal::RequestArgument place(const hal::MappedArgument& mapped,
                             const hal::RequestArgument& argument, bool isOutput) {
    if (isOutput) outputs_.emplace_back();
    hal::RequestArgument own = argument;
    if (argument.kind == hal::RequestArgument::Kind::NO_VALUE) return own;
    own.kind = hal::RequestArgument::Kind::POINTER;
    own.location = {};
    own.length = static_cast<uint32_t>(mapped.length);
    if (mapped.deviceMemory != nullptr) {
      own.pointer = static_cast<ArenaMemory*>(mapped.deviceMemory)->bytes().data();
    } else if (isImported(outer_, argument, imports_)) {
      own.pointer = mapped.data;
    } else {
      Staged staged{std::make_unique<ArenaMemory>(mapped.length), &mapped};
      own.pointer = staged.memory->bytes().data();
      if (!isOutput) {
        std::memcpy(own.pointer, mapped.data, mapped.length);
        copied_ += mapped.length;
        inputs_.push_back(std::move(staged));
      } else {
        outputs_.back() = std::move(staged);
      }
    }
    return own;
  }

  const hal::Request& outer_;
  const uint32_t imports_;
  hal::Request own_;
  std::vector<Staged> inputs_;
  std::vector<Staged> outputs_;  // one for each output; without memory: not copied
  uint64_t copied_ = 0;
};

}  // namespace

ArenaMemory::ArenaMemory(size_t bytes)
    : size_(bytes), bytes_(std::make_unique<uint8_t[]>(std::max<size_t>(bytes, 1))) {}

Status ArenaMemory::read(std::span<uint8_t> destination, const Shape&) {
  HALYARD_RETURN_IF_ERROR(checkRange(destination.size(), size_));
  std::ranges::copy(bytes().first(destination.size()), destination.begin());
  return okStatus();
}

Status ArenaMemory::write(std::span<const uint8_t> source, const Shape&) {
  HALYARD_RETURN_IF_ERROR(checkRange(source.size(), size_));
  std::ranges::copy(source, bytes_.get());
  return okStatus();
}

hal::ExecutionResult computeInArena(
    const Model& model, const hal::Request& request, uint32_t imports,
    const std::function<hal::ExecutionResult(const hal::Request&)>& run) {
  const Result<hal::MappedRequest> mapped = hal::MappedRequest::map(model, request);
  if (!mapped.ok()) return {mapped.status(), {}, {}};
  ArenaRequest own(request, *mapped, imports);
  hal::ExecutionResult result = run(own.request());
  if (result.status.ok()) own.copyBack(model, result);
  result.copiedBytes = own.copied();
  return result;
}

}  // namespace halyard::drivers
