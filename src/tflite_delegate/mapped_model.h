// MappedModel: the file that an interpreter has mapped, whose constants need no copy.
// Thread safety: immutable. Ownership: owns a descriptor of the file. The mapping is the
// interpreter's.
#pragma once

#include <cstdint>
#include <span>

#include "halyard/driver/shared_memory.h"

namespace halyard::tflite {

class MappedModel {
 public:
  // No file.
  MappedModel() = default;
  // The file whose mapping contains the address; none if it is in other memory, or if the file
  // cannot be opened any more. Reads /proc/self/maps.
  static MappedModel containing(const void* address);

  // Null for no file.
  const SharedMemoryPtr& pool() const { return pool_; }
  // The mapped bytes, which begin at `offset()` of the file.
  std::span<const uint8_t> bytes() const { return bytes_; }
  uint64_t offset() const { return offset_; }
  bool contains(const void* data, size_t size) const;
  // Whether the mapped bytes begin with a model, which describes all graphs of the interpreter.
  bool hasDescription() const;

 private:
  SharedMemoryPtr pool_;
  std::span<const uint8_t> bytes_;
  uint64_t offset_ = 0;
};

}  // namespace halyard::tflite
