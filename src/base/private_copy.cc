#include "base/private_copy.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/file_facts.h"
#include "base/read_range.h"

namespace halyard {
namespace {

// Larger copies use mapped memory, so that pages that are no longer needed can be returned to the
// system.
constexpr uint64_t kLargestOnHeap = 64 * 1024;

// Returns the current number of bytes of a file; 0 if the kernel does not know it.
uint64_t fileSize(const SharedMemory& memory) {
  const Result<FileFacts> file = memory.examine();
  return file.ok() ? file->size : 0;
}

Status readPresent(const SharedMemory& memory, const ByteRange& range, uint64_t fileBytes,
                   const Mapping& copy) {
  uint8_t* const begin = copy.data() + range.begin;
  const auto bytes = static_cast<size_t>(range.end - range.begin);
  // Populating all pages at once is faster than page by page. Kernels without this call report an
  // error, and the pages fault later. Parts beyond the end of the file take no memory.
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t behindPage = reinterpret_cast<uintptr_t>(begin) % page;
  if (bytes <= fileBytes) {
    (void)::madvise(begin - behindPage, bytes + behindPage, MADV_POPULATE_WRITE);
  }
  return readPart(memory, range, {begin, bytes});
}

}  // namespace

Result<Mapping> privateCopyOf(const SharedMemory& memory, std::span<const ByteRange> ranges) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto skip = static_cast<size_t>(memory.offset() % page);
  if (memory.size() <= kLargestOnHeap) {
    Mapping copy = Mapping::onHeap(skip, memory.size());
    if (copy.data() == nullptr) {
      return makeStatus(ResultCode::UNMAPPABLE, "{} bytes for a copy of constants", memory.size());
    }
    for (const ByteRange& range : ranges) {
      const std::span<uint8_t> all(copy.data(), copy.size());
      HALYARD_RETURN_IF_ERROR(
          readPart(memory, range, all.subspan(range.begin, range.end - range.begin)));
    }
    return copy;
  }
  const int error = memory.size() > SIZE_MAX - skip ? EOVERFLOW : 0;
  void* const base = error != 0 ? MAP_FAILED
                                : ::mmap(nullptr, memory.size() + skip, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return errnoStatus(ResultCode::UNMAPPABLE, error != 0 ? error : errno,
                       fmt::format("{} bytes for a copy of constants", memory.size()));
  }
  Mapping copy(base, memory.size() + skip, skip, memory.size());
  const uint64_t fileBytes = ranges.empty() ? 0 : fileSize(memory);
  for (const ByteRange& range : ranges) {
    HALYARD_RETURN_IF_ERROR(readPresent(memory, range, fileBytes, copy));
  }
  return copy;
}

Status readPart(const SharedMemory& memory, const ByteRange& range, std::span<uint8_t> to) {
  const Status read = readRange(memory.fd(), memory.offset() + range.begin, to);
  HALYARD_RETURN_IF_ERROR(read.withCode(ResultCode::UNMAPPABLE),
                          "{} memory of {} bytes at offset {}: its file",
                          memoryKindName(memory.kind()), memory.size(), memory.offset());
  return okStatus();
}

Status readIntoCopy(const SharedMemory& memory, const ByteRange& range, const Mapping& copy) {
  return readPresent(memory, range, fileSize(memory), copy);
}

}  // namespace halyard
