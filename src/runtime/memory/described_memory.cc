#include "runtime/memory/described_memory.h"

#include <algorithm>

#include "model/shape_agreement.h"

namespace halyard::runtime {

std::optional<uint32_t> MemoryDescription::bytes(const Shape& contents) const {
  if (!extension) return knownByteSize(operand.type, contents);
  if (!extension->isTensor) return extension->byteSize;
  const std::optional<uint32_t> count = knownElementCount(contents);
  const uint64_t bytes = uint64_t{count.value_or(0)} * extension->byteSize;
  return count && bytes <= UINT32_MAX ? std::optional(static_cast<uint32_t>(bytes)) : std::nullopt;
}

bool MemoryDescription::isScalar() const {
  return extension ? !extension->isTensor : isScalarType(operand.type);
}

DescribedMemory::DescribedMemory(MemoryDescription description, Storage storage,
                                 std::span<const std::shared_ptr<hal::PreparedModel>> models)
    : description_(std::move(description)),
      storage_(std::move(storage)),
      models_(models.begin(), models.end()) {}

bool DescribedMemory::isKnownTo(const hal::PreparedModel& model) const {
  return std::ranges::any_of(models_,
                             [&](const auto& each) { return each.lock().get() == &model; });
}

Status DescribedMemory::checkUse(const MemoryRole& role, const Shape& dimensions, uint64_t offset,
                                 uint64_t length) const {
  if (!description_.roles.contains(role)) {
    return badData("the memory's descriptor has no role as this {} of this compilation",
                   role.isInput ? "input" : "output");
  }
  if (offset != 0 || length != 0) {
    return badData("offset {}, length {}: memory made from a descriptor is used as a whole, with 0",
                   offset, length);
  }
  if (description_.isScalar() && !dimensions.empty()) {
    return badData("dimensions {} for a scalar", shapeText(dimensions));
  }
  if (!combineShapes(description_.dimensions, dimensions)) {
    return badData("dimensions {}; the memory was made for {}", shapeText(dimensions),
                   shapeText(description_.dimensions));
  }
  return okStatus();
}

hal::RequestPool DescribedMemory::requestPool() const {
  if (const SharedMemoryPtr memory = pool()) return memory;
  return buffer()->token();
}

uint32_t DescribedMemory::requestLength() const {
  const SharedMemoryPtr memory = pool();
  return memory == nullptr ? 0 : static_cast<uint32_t>(memory->size());
}

Status DescribedMemory::checkHolds(const Shape& dimensions) const {
  const std::optional<Shape> held = contents();
  if (!held) return opFailed("the memory is not initialised: nothing has been written to it");
  if (*held != dimensions) {
    return opFailed("dimensions {}; the memory holds {}", shapeText(dimensions), shapeText(*held));
  }
  return okStatus();
}

Status DescribedMemory::setWritten(const Shape& dimensions) {
  std::optional<Shape> combined = combineShapes(description_.dimensions, dimensions);
  const std::lock_guard lock(mutex_);
  contents_ = std::move(combined);
  if (contents_) return okStatus();
  return opFailed("dimensions {} were written to memory made for {}", shapeText(dimensions),
                  shapeText(description_.dimensions));
}

void DescribedMemory::setFailed() {
  const std::lock_guard lock(mutex_);
  contents_.reset();
}

std::optional<Shape> DescribedMemory::contents() const {
  const std::lock_guard lock(mutex_);
  return contents_;
}

SharedMemoryPtr DescribedMemory::pool() const {
  const auto* const memory = std::get_if<SharedMemoryPtr>(&storage_);
  return memory == nullptr ? nullptr : *memory;
}

std::shared_ptr<hal::Buffer> DescribedMemory::buffer() const {
  const auto* const buffer = std::get_if<std::shared_ptr<hal::Buffer>>(&storage_);
  return buffer == nullptr ? nullptr : *buffer;
}

}  // namespace halyard::runtime
