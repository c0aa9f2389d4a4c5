// The memory of hardware buffers: allocates it, and checks memory from another process.
// Thread safety: pure functions. Ownership: the caller owns the returned descriptors.
#pragma once

#include <cstdint>

#include "halyard/driver/status.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hardware_buffer {

enum class Storage : uint8_t {
  DMA_HEAP,  // a dma-buf of the system heap
  UDMABUF,   // a dma-buf over a sealed memfd
  MEMFD,     // a sealed memfd
  DMA_BUF,   // a dma-buf of another allocator
};
const char* storageName(Storage storage);

struct Memory {
  UniqueFd fd;
  Storage storage = Storage::MEMFD;
};

// The paths of the kernel's allocators. Tests use other paths.
struct Allocators {
  const char* dmaHeap = "/dev/dma_heap/system";
  const char* udmabuf = "/dev/udmabuf";
};

// Allocates `size` > 0 zeroed bytes from the first available storage. Error: OUT_OF_MEMORY.
Result<Memory> allocateMemory(uint64_t size, const Allocators& allocators = {});

// Takes memory from a peer that states a size of `size` bytes. BAD_DATA unless it is a dma-buf, or
// a memfd that cannot shrink. It must have at least this size. It must be open for reading and, if
// `writable`, be writable.
Result<Memory> adoptMemory(UniqueFd fd, uint64_t size, bool writable);

// A number that is unique among all existing memories of all processes.
Result<uint64_t> memoryId(const Memory& memory);

}  // namespace halyard::hardware_buffer
