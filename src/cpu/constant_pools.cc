// Ranges of bytes that constants have, pool by pool, and reading them.
#include "cpu/constant_pools.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file_facts.h"
#include "base/read_range.h"

namespace halyard::cpu {
namespace {

// What lies between two constants is read with them if it is less: it costs less than a call.
constexpr uint64_t kSmallGap = 16 * 1024;

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// By pool, in order and apart from each other.
std::vector<std::vector<Range>> usedRanges(const Model& model) {
  std::vector<std::vector<Range>> used(model.pools.size());
  const auto add = [&](const Subgraph& subgraph) {
    for (const Operand& operand : subgraph.operands) {
      const DataLocation& at = operand.location;
      if (operand.lifetime != Lifetime::CONSTANT_REFERENCE) continue;
      used[at.poolIndex].push_back({at.offset, uint64_t{at.offset} + at.length});
    }
  };
  add(model.main);
  std::ranges::for_each(model.referenced, add);
  for (std::vector<Range>& ranges : used) {
    std::ranges::sort(ranges, {}, &Range::begin);
    std::vector<Range> merged;
    for (const Range& range : ranges) {
      if (!merged.empty() && range.begin <= merged.back().end + kSmallGap) {
        merged.back().end = std::max(merged.back().end, range.end);
      } else {
        merged.push_back(range);
      }
    }
    ranges = std::move(merged);
  }
  return used;
}

Result<Mapping> copyOf(const SharedMemory& pool, const std::vector<Range>& ranges) {
  const int protection = PROT_READ | PROT_WRITE;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const base = ::mmap(nullptr, pool.size(), protection, flags, -1, 0);
  if (base == MAP_FAILED) {
    return errnoStatus(ResultCode::UNMAPPABLE, errno,
                       fmt::format("{} bytes for a copy of constants", pool.size()));
  }
  Mapping copy(base, pool.size(), 0, pool.size());
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const Range& range : ranges) {
    // At once is quicker than page by page. Kernels that do not know this say so, and fault.
    const uint64_t firstPage = range.begin - range.begin % page;
    (void)::madvise(copy.data() + firstPage, static_cast<size_t>(range.end - firstPage),
                    MADV_POPULATE_WRITE);
    Status read =
        readRange(pool.fd(), pool.offset() + range.begin,
                  {copy.data() + range.begin, static_cast<size_t>(range.end - range.begin)});
    if (!read.ok()) return read.withCode(ResultCode::UNMAPPABLE);
  }
  return copy;
}

}  // namespace

Result<std::vector<Mapping>> mapConstantPools(const Model& model) {
  const std::vector<std::vector<Range>> used = usedRanges(model);
  std::vector<Mapping> mappings;
  for (size_t i = 0; i < model.pools.size(); ++i) {
    const SharedMemory& pool = *model.pools[i];
    if ((pool.prot() & PROT_READ) == 0) {
      return makeStatus(ResultCode::UNMAPPABLE, "model pool {} may not be read", i);
    }
    const bool isImage = pool.kind() == MemoryKind::HARDWARE_BUFFER;
    const Result<FileFacts> file = examineFile(pool.fd());
    const bool couldShrink = !isImage && file.ok() && !file->cannotShrink;
    HALYARD_ASSIGN_OR_RETURN(Mapping mapping, couldShrink ? copyOf(pool, used[i]) : pool.map(),
                             "model pool {}", i);
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

}  // namespace halyard::cpu
