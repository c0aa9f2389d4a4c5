// Finds the byte ranges of constants in each pool, and reads them.
#include "cpu/constant_pools.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/private_copy.h"

namespace halyard::cpu {
namespace {

// A gap smaller than this between two constants is read, too, because another call costs more.
constexpr uint64_t kSmallGap = 16 * 1024;

// Smaller ranges cost less to read than a separate call.
constexpr uint64_t kLeastLater = 64 * 1024;

struct Constant {
  ByteRange bytes;
  bool canWait = false;
};

bool canWait(const Operand& operand, const SharedMemory& pool) {
  if (operand.location.length < kLeastLater || mayBeIndices(operand.type)) return false;
  // Unaligned constants are copied from the pool at once.
  const uint32_t size = elementSize(operand.type);
  return size != 0 && (pool.offset() + operand.location.offset) % size == 0;
}

// Returns the constants of each pool in order.
std::vector<std::vector<Constant>> constantsOf(const Model& model) {
  std::vector<std::vector<Constant>> constants(model.pools.size());
  const auto add = [&](const Subgraph& subgraph, bool isMain) {
    for (const Operand& operand : subgraph.operands) {
      const DataLocation& at = operand.location;
      if (operand.lifetime != Lifetime::CONSTANT_REFERENCE) continue;
      constants[at.poolIndex].push_back({{at.offset, uint64_t{at.offset} + at.length},
                                         isMain && canWait(operand, *model.pools[at.poolIndex])});
    }
  };
  add(model.main, true);
  for (const Subgraph& subgraph : model.referenced) add(subgraph, false);
  for (std::vector<Constant>& ofPool : constants) {
    std::ranges::sort(ofPool, {}, [](const Constant& c) { return c.bytes.begin; });
  }
  return constants;
}

// Removes the constants that can be read later, one by one, from the ordered `constants`.
std::vector<ByteRange> takeLater(std::vector<Constant>* constants) {
  std::vector<ByteRange> later;
  std::vector<Constant> others;
  for (size_t i = 0; i < constants->size();) {
    // Finds all constants that overlap each other.
    const ByteRange first = (*constants)[i].bytes;
    uint64_t end = first.end;
    bool areAlike = true;
    size_t next = i;
    for (; next < constants->size() && (*constants)[next].bytes.begin < end; ++next) {
      const Constant& constant = (*constants)[next];
      end = std::max(end, constant.bytes.end);
      areAlike = areAlike && constant.canWait && constant.bytes.begin == first.begin &&
                 constant.bytes.end == first.end;
    }
    next = std::max(next, i + 1);  // a constant without bytes
    if (areAlike && first.begin < first.end) {
      later.push_back(first);
    } else {
      others.insert(others.end(), constants->begin() + static_cast<ptrdiff_t>(i),
                    constants->begin() + static_cast<ptrdiff_t>(next));
    }
    i = next;
  }
  *constants = std::move(others);
  return later;
}

// Returns the ranges to read, in order and disjoint.
std::vector<ByteRange> merged(const std::vector<Constant>& constants) {
  std::vector<ByteRange> ranges;
  for (const auto& [range, canWait] : constants) {
    if (!ranges.empty() && range.begin <= ranges.back().end + kSmallGap) {
      ranges.back().end = std::max(ranges.back().end, range.end);
    } else {
      ranges.push_back(range);
    }
  }
  return ranges;
}

}  // namespace

bool mayBeIndices(OperandType type) {
  return isScalarType(type) || type == OperandType::TENSOR_INT32;
}

Result<ConstantPools> mapConstantPools(const Model& model, ConstantReading reading) {
  std::vector<std::vector<Constant>> constants = constantsOf(model);
  ConstantPools pools;
  for (size_t i = 0; i < model.pools.size(); ++i) {
    const SharedMemory& pool = *model.pools[i];
    if ((pool.prot() & PROT_READ) == 0) {
      return makeStatus(ResultCode::UNMAPPABLE, "model pool {} may not be read", i);
    }
    const bool isImage = pool.kind() == MemoryKind::HARDWARE_BUFFER;
    const bool couldShrink = !isImage && pool.couldShrink();
    if (couldShrink && reading == ConstantReading::LARGE_LATER) {
      for (const ByteRange& later : takeLater(&constants[i])) pools.later.push_back({i, later});
    }
    HALYARD_ASSIGN_OR_RETURN(Mapping mapping,
                             couldShrink ? privateCopyOf(pool, merged(constants[i])) : pool.map(),
                             "model pool {}", i);
    pools.mappings.push_back(std::move(mapping));
  }
  return pools;
}

}  // namespace halyard::cpu
