// DescribedMemory: memory made from a descriptor. It is a device's buffer, or shared memory if no
// device makes one.
// Thread safety: all methods may be called from any thread.
// Ownership: owns the buffer or shares the memory; needs neither the descriptor nor the
// compilations of its roles.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <variant>
#include <vector>

#include "halyard/driver/device.h"

namespace halyard::runtime {

// One input or output of one compilation (Compilation::id).
struct MemoryRole {
  uint64_t compilation = 0;
  bool isInput = false;
  uint32_t index = 0;
  auto operator<=>(const MemoryRole&) const = default;  // NOLINT(modernize-use-nullptr)
};

// The combined requirements of the descriptor.
struct MemoryDescription {
  Operand operand;   // type, scale, zero point, extra parameters
  Shape dimensions;  // the known dimensions
  std::set<MemoryRole> roles;
  std::optional<hal::ExtensionOperandType>
      extension;  // the devices' description of an extension's type

  // Returns the size of contents with these dimensions; nullopt when some are unknown.
  std::optional<uint32_t> bytes(const Shape& contents) const;
  bool isScalar() const;
};

class DescribedMemory {
 public:
  using Storage = std::variant<SharedMemoryPtr, std::shared_ptr<hal::Buffer>>;

  // `models`: for a buffer, the prepared models whose requests may use its token.
  DescribedMemory(MemoryDescription description, Storage storage,
                  std::span<const std::shared_ptr<hal::PreparedModel>> models = {});

  // Checks an execution's use. It must be in one of the memory's roles, and of the whole memory
  // (`offset` and `length` 0). Its `dimensions` may be empty, and must agree with the description.
  // Returns BAD_DATA otherwise.
  Status checkUse(const MemoryRole& role, const Shape& dimensions, uint64_t offset,
                  uint64_t length) const;
  // Returns the memory for Request::pools, and the place of the contents.
  hal::RequestPool requestPool() const;
  uint32_t requestLength() const;

  // Returns OP_FAILED unless it holds contents of exactly these dimensions.
  Status checkHolds(const Shape& dimensions) const;
  // Records a write with `dimensions`. Returns OP_FAILED, and acts as setFailed(), when they
  // contradict the description.
  Status setWritten(const Shape& dimensions);
  // Records a failed write: the memory has no contents.
  void setFailed();

  const Operand& operand() const { return description_.operand; }
  // As MemoryDescription::bytes.
  std::optional<uint32_t> bytes(const Shape& contents) const {
    return description_.bytes(contents);
  }
  const Shape& initialDimensions() const { return description_.dimensions; }
  // Returns the dimensions of the contents; nullopt without contents.
  std::optional<Shape> contents() const;
  // Exactly one of the two is set.
  SharedMemoryPtr pool() const;
  std::shared_ptr<hal::Buffer> buffer() const;
  bool isKnownTo(const hal::PreparedModel& model) const;

 private:
  const MemoryDescription description_;
  const Storage storage_;
  std::vector<std::weak_ptr<hal::PreparedModel>> models_;
  mutable std::mutex mutex_;
  std::optional<Shape> contents_;
};

}  // namespace halyard::runtime
