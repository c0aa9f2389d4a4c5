// DescribedMemory: memory made from a descriptor: a device's buffer, or shared memory where no
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

// What the memory stands for.
struct MemoryDescription {
  Operand operand;   // type, scale, zero point, extra parameters
  Shape dimensions;  // what is known of them
  std::set<MemoryRole> roles;
  std::optional<hal::ExtensionOperandType>
      extension;  // what its devices say of an extension's type

  // Of contents with these dimensions; nullopt when these are not all known.
  std::optional<uint32_t> bytes(const Shape& contents) const;
  bool isScalar() const;
};

class DescribedMemory {
 public:
  using Storage = std::variant<SharedMemoryPtr, std::shared_ptr<hal::Buffer>>;

  // `models`: of a buffer, those in whose requests its token may be.
  DescribedMemory(MemoryDescription description, Storage storage,
                  std::span<const std::shared_ptr<hal::PreparedModel>> models = {});

  // How an execution may use it: in one of its roles, as a whole (`offset` and `length` 0), with
  // `dimensions`, which may be empty, that agree with what it was made for. BAD_DATA.
  Status checkUse(const MemoryRole& role, const Shape& dimensions, uint64_t offset,
                  uint64_t length) const;
  // For Request::pools, and where in it the contents are.
  hal::RequestPool requestPool() const;
  uint32_t requestLength() const;

  // OP_FAILED unless it holds something of just these dimensions.
  Status checkHolds(const Shape& dimensions) const;
  // It has been written with `dimensions`. OP_FAILED, and as failed(), when they contradict what it
  // was made for.
  Status setWritten(const Shape& dimensions);
  // Writing it has failed: there is nothing in it.
  void setFailed();

  const Operand& operand() const { return description_.operand; }
  // As MemoryDescription::bytes.
  std::optional<uint32_t> bytes(const Shape& contents) const {
    return description_.bytes(contents);
  }
  const Shape& initialDimensions() const { return description_.dimensions; }
  // Of the contents; nullopt while there are none.
  std::optional<Shape> contents() const;
  // One of the two is there.
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
