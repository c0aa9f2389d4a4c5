// Ranges of bytes that constants have, pool by pool, and reading them.
#include "cpu/constant_pools.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/file_facts.h"
#include "base/private_copy.h"

namespace halyard::cpu {
namespace {

// What lies between two constants is read with them if it is less: it costs less than a call.
constexpr uint64_t kSmallGap = 16 * 1024;

// By pool, in order and apart from each other.
std::vector<std::vector<ByteRange>> usedRanges(const Model& model) {
  std::vector<std::vector<ByteRange>> used(model.pools.size());
  const auto add = [&](const Subgraph& subgraph) {
    for (const Operand& operand : subgraph.operands) {
      const DataLocation& at = operand.location;
      if (operand.lifetime != Lifetime::CONSTANT_REFERENCE) continue;
      used[at.poolIndex].push_back({at.offset, uint64_t{at.offset} + at.length});
    }
  };
  add(model.main);
  std::ranges::for_each(model.referenced, add);
  for (std::vector<ByteRange>& ranges : used) {
    std::ranges::sort(ranges, {}, &ByteRange::begin);
    std::vector<ByteRange> merged;
    for (const ByteRange& range : ranges) {
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

}  // namespace

Result<std::vector<Mapping>> mapConstantPools(const Model& model) {
  const std::vector<std::vector<ByteRange>> used = usedRanges(model);
  std::vector<Mapping> mappings;
  for (size_t i = 0; i < model.pools.size(); ++i) {
    const SharedMemory& pool = *model.pools[i];
    if ((pool.prot() & PROT_READ) == 0) {
      return makeStatus(ResultCode::UNMAPPABLE, "model pool {} may not be read", i);
    }
    const bool isImage = pool.kind() == MemoryKind::HARDWARE_BUFFER;
    const Result<FileFacts> file = examineFile(pool.fd());
    const bool couldShrink = !isImage && file.ok() && !file->cannotShrink;
    HALYARD_ASSIGN_OR_RETURN(Mapping mapping,
                             couldShrink ? privateCopyOf(pool, used[i]) : pool.map(),
                             "model pool {}", i);
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

}  // namespace halyard::cpu
