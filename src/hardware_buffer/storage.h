// Memory for hardware buffers: where it comes from, and what of another process's is good enough.
// Thread safety: pure functions. Ownership: descriptors belong to who gets them.
#pragma once

#include <cstdint>

#include "halyard/driver/status.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hardware_buffer {

enum class Storage : uint8_t {
  DMA_HEAP,  // a dma-buf of the system heap
  UDMABUF,   // a dma-buf over a sealed memfd
  MEMFD,     // a sealed memfd
  DMA_BUF,   // somebody else's dma-buf
};
const char* storageName(Storage storage);

struct Memory {
  UniqueFd fd;
  Storage storage = Storage::MEMFD;
};

// Where the kernel's allocators are; tests have others.
struct Allocators {
  const char* dmaHeap = "/dev/dma_heap/system";
  const char* udmabuf = "/dev/udmabuf";
};

// `size` > 0 zeroed bytes of the first storage that can be had. OUT_OF_MEMORY.
Result<Memory> allocateMemory(uint64_t size, const Allocators& allocators = {});

// Takes memory from a peer who says that it holds `size` bytes. BAD_DATA unless it is a dma-buf or
// a memfd that cannot shrink, has the size, and is open for reading and, if `writable`, writing.
Result<Memory> adoptMemory(UniqueFd fd, uint64_t size, bool writable);

// A number that no other living memory has; the same in all processes.
Result<uint64_t> memoryId(const Memory& memory);

}  // namespace halyard::hardware_buffer
