// Computes a digest over fields in a fixed order. The first part is that of NNAPI. After it, each
// list and text comes with its length, so that different inputs give different bytes.
#include "runtime/cache/cache_key.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#include <sys/utsname.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/made_once.h"
#include "base/signals_blocked.h"
#include "hal/checks/pool_mapping.h"
#include "runtime/partition/plan.h"

namespace halyard::runtime {
namespace {

// The number of bytes of a file that are read at once. They fit in the cache of the processor.
constexpr size_t kPiece = size_t{256} << 10;
// The bytes of work that justify another thread, and the largest number of threads.
constexpr uint64_t kBytesForThread = uint64_t{1} << 20;
constexpr size_t kMostThreads = 4;

class KeyWriter {
 public:
  KeyWriter(const CacheKeyParts& parts, ConstantDigests& constants)
      : parts_(parts), constants_(constants) {}

  Result<hal::Token> run() {
    nnapiPart();
    ownPart();
    HALYARD_RETURN_IF_ERROR(modelPart(*parts_.model));
    flush();
    return hash_.finish();
  }

 private:
  // Gathers small pieces, because a call of the digest takes longer than a copy.
  void bytes(const void* data, size_t size) {
    if (size > gathered_.size() - used_) flush();
    if (size > gathered_.size()) {
      hash_.add(data, size);
    } else if (size > 0) {
      std::memcpy(gathered_.data() + used_, data, size);
      used_ += size;
    }
  }
  void flush() { hash_.add(gathered_.data(), std::exchange(used_, 0)); }
  void bytes(std::string_view text) { bytes(text.data(), text.size()); }
  template <typename T>
  void number(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    bytes(&value, sizeof(value));
  }
  void text(std::string_view value) {
    number(uint64_t{value.size()});
    bytes(value);
  }
  template <typename Container>
  void numbers(const Container& values) {
    number(uint64_t{values.size()});
    bytes(values.data(), values.size() * sizeof(typename Container::value_type));
  }

  // The data that NNAPI's runtime digests, in its order.
  void nnapiPart() {
    bytes(parts_.application.data(), parts_.application.size());
    for (const uint32_t operation : parts_.operations) {
      number(parts_.subgraph + 1);  // the main subgraph is 0
      number(static_cast<int32_t>(operation));
    }
    bytes(parts_.device->name);
    bytes(parts_.device->versionString);
    number(static_cast<int32_t>(parts_.preference));
    number(static_cast<int32_t>(parts_.priority));
    if (parts_.attributes == nullptr) return;
    for (const Attribute& attribute : sortedAttributes()) {
      bytes(attribute.name);
      number(attribute.code);
      bytes(attribute.value->data(), attribute.value->size());
    }
  }

  // The data that NNAPI's part does not cover: the end of each text, and other parameters of the
  // preparation.
  void ownPart() {
    text(kCacheKeyFormat);
    text(HALYARD_VERSION);
    number(parts_.device->halVersion);
    number(parts_.device->featureLevel);
    number(parts_.device->modelCacheFiles);
    number(parts_.device->dataCacheFiles);
    text(parts_.device->name);
    text(parts_.device->versionString);
    text(parts_.processor);
    number(uint64_t{parts_.operations.size()});
    const std::vector<Attribute> attributes =
        parts_.attributes == nullptr ? std::vector<Attribute>() : sortedAttributes();
    number(uint64_t{attributes.size()});
    for (const Attribute& attribute : attributes) {
      text(attribute.name);
      number(attribute.code);
      numbers(*attribute.value);
    }
  }

  struct Attribute {
    std::string_view name;
    uint16_t code;
    const std::vector<uint8_t>* value;
  };
  std::vector<Attribute> sortedAttributes() const {
    std::vector<Attribute> result;
    for (const hal::ExtensionAttribute& each : parts_.attributes->attributes) {
      result.push_back({nameOf(parts_.attributes->extensionNameToPrefix, each.token),
                        static_cast<uint16_t>(each.token), &each.value});
    }
    std::ranges::sort(result, [](const Attribute& a, const Attribute& b) {
      return std::tie(a.name, a.code) < std::tie(b.name, b.code);
    });
    return result;
  }

  // The name of the extension that `code` belongs to. Empty for a code of NNAPI itself.
  static std::string_view nameOf(const std::vector<ExtensionNameAndPrefix>& names, uint32_t code) {
    const auto prefix = static_cast<uint16_t>(code >> 16);
    const auto it = std::ranges::find(names, prefix, &ExtensionNameAndPrefix::prefix);
    return it == names.end() ? std::string_view() : it->name;
  }

  // The prefix of an extension differs between processes; its name does not.
  void typeCode(const Model& model, uint32_t code) {
    if (code >> 16 == 0) return number(code);
    number(code & 0xFFFF);
    text(nameOf(model.extensionNameToPrefix, code));
  }

  Status modelPart(const Model& model) {
    number(model.relaxComputationFloat32toFloat16);
    HALYARD_RETURN_IF_ERROR(subgraph(model, model.main));
    number(uint64_t{model.referenced.size()});
    for (const Subgraph& each : model.referenced) HALYARD_RETURN_IF_ERROR(subgraph(model, each));
    return okStatus();
  }

  Status subgraph(const Model& model, const Subgraph& graph) {
    number(uint64_t{graph.operands.size()});
    for (size_t i = 0; i < graph.operands.size(); ++i) {
      HALYARD_RETURN_IF_ERROR(operand(model, graph.operands[i]), "operand #{}", i);
    }
    number(uint64_t{graph.operations.size()});
    for (const Operation& operation : graph.operations) {
      typeCode(model, static_cast<uint32_t>(operation.type));
      numbers(operation.inputs);
      numbers(operation.outputs);
    }
    numbers(graph.inputIndexes);
    numbers(graph.outputIndexes);
    return okStatus();
  }

  Status operand(const Model& model, const Operand& operand) {
    typeCode(model, static_cast<uint32_t>(operand.type));
    numbers(operand.dimensions);
    number(operand.scale);
    number(operand.zeroPoint);
    number(uint64_t{operand.extraParams.index()});
    if (const auto* perChannel = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams)) {
      numbers(perChannel->scales);
      number(perChannel->channelDim);
    } else if (const auto* data = std::get_if<std::vector<uint8_t>>(&operand.extraParams)) {
      numbers(*data);
    }
    const bool isReference = operand.lifetime == Lifetime::CONSTANT_REFERENCE;
    // The digest depends on the value of a constant, not on its place.
    number(isReference ? Lifetime::CONSTANT_COPY : operand.lifetime);
    const DataLocation& at = operand.location;
    if (operand.lifetime == Lifetime::SUBGRAPH) number(at.offset);
    if (isReference) {
      HALYARD_ASSIGN_OR_RETURN(const Digest digest, constants_.of(model.pools[at.poolIndex], at));
      constant(digest, at.length);
    } else if (operand.lifetime == Lifetime::CONSTANT_COPY) {
      constant(bulkDigest({model.operandValues.data() + at.offset, at.length}), at.length);
    }
    return okStatus();
  }

  void constant(const Digest& digest, uint32_t length) {
    number(length);
    bytes(digest.data(), digest.size());
  }

  const CacheKeyParts& parts_;
  ConstantDigests& constants_;
  Sha256 hash_;
  std::array<uint8_t, 4096> gathered_;
  size_t used_ = 0;
};

// Does not map memory that another process can shrink. An access to a mapping beyond the end of the
// file ends the process.
Result<Digest> digestOf(const SharedMemoryPtr& pool, const DataLocation& at) {
  HALYARD_ASSIGN_OR_RETURN(hal::ReceivedPool received, hal::ReceivedPool::inspect(pool));
  if (received.opaque() || !received.readable()) {
    return opFailed("the memory of a constant cannot be read");
  }
  if (received.mappable()) {
    const CpuAccess access(pool, false);
    HALYARD_ASSIGN_OR_RETURN(const Mapping* mapping, pool->mapped());
    return bulkDigest({mapping->data() + at.offset, at.length});
  }
  BulkDigester digester;
  std::vector<uint8_t> piece(std::min<size_t>(kPiece, at.length));
  for (uint64_t done = 0; done < at.length;) {
    const size_t size = std::min<uint64_t>(piece.size(), at.length - done);
    HALYARD_RETURN_IF_ERROR(received.read(at.offset + done, std::span(piece.data(), size)));
    digester.add(std::span(piece.data(), size));
    done += size;
  }
  return digester.finish();
}

// The bytes of the pool. Empty if reading through a mapping is not possible or not safe.
std::span<const uint8_t> mappedBytes(const SharedMemoryPtr& pool) {
  const auto received = hal::ReceivedPool::inspect(pool);
  if (!received.ok() || received->opaque() || !received->readable() || !received->mappable()) {
    return {};
  }
  const Result<const Mapping*> mapping = pool->mapped();
  if (!mapping.ok()) return {};
  return {(*mapping)->data(), (*mapping)->size()};
}

}  // namespace

bool ConstantDigests::knows(const Place& place) {
  const std::lock_guard lock(mutex_);
  return digests_.contains(place);
}

void ConstantDigests::learn(const Model& model) {
  const std::lock_guard learning(learning_);
  std::vector<std::span<const uint8_t>> pools;
  std::vector<CpuAccess> accesses;
  for (const SharedMemoryPtr& pool : model.pools) {
    accesses.emplace_back(pool, false);
    pools.push_back(mappedBytes(pool));
  }
  std::vector<Place> places;
  std::vector<Place> inFiles;
  std::vector<std::span<const uint8_t>> pieces;
  const auto add = [&](const Operand& operand) {
    const DataLocation& at = operand.location;
    if (operand.lifetime != Lifetime::CONSTANT_REFERENCE || at.length < kDigestLeafBytes) return;
    const std::span<const uint8_t> pool = pools[at.poolIndex];
    const Place place{model.pools[at.poolIndex], at.offset, at.length};
    if (knows(place)) return;
    if (pool.empty()) inFiles.push_back(place);
    if (uint64_t{at.offset} + at.length > pool.size()) return;
    places.push_back(place);
    pieces.push_back(pool.subspan(at.offset, at.length));
  };
  std::ranges::for_each(model.main.operands, add);
  for (const Subgraph& each : model.referenced) std::ranges::for_each(each.operands, add);
  const std::vector<Digest> digests = bulkDigests(pieces);
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < places.size(); ++i) digests_.emplace(places[i], digests[i]);
  }
  learnFromFiles(inFiles);
}

void ConstantDigests::learnFromFiles(std::span<const Place> places) {
  uint64_t bytes = 0;
  for (const Place& place : places) bytes += std::get<2>(place);
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < places.size(); i = next++) {
      const auto& [pool, offset, length] = places[i];
      // of() reports the error again when the caller asks for this constant.
      (void)of(pool, {0, offset, length});
    }
  };
  const size_t useful = std::min<uint64_t>(bytes / kBytesForThread + 1, kMostThreads);
  const size_t threads = std::min<size_t>(useful, std::thread::hardware_concurrency());
  std::vector<std::jthread> others;
  try {
    const SignalsBlocked blocked;
    while (others.size() + 1 < threads) others.emplace_back(work);
  } catch (const std::system_error&) {
    // The work continues with the threads that exist.
  }
  work();
}

Result<Digest> ConstantDigests::of(const SharedMemoryPtr& pool, const DataLocation& at) {
  const Place place{pool, at.offset, at.length};
  {
    const std::lock_guard lock(mutex_);
    const auto it = digests_.find(place);
    if (it != digests_.end()) return it->second;
  }
  HALYARD_ASSIGN_OR_RETURN(const Digest digest, digestOf(pool, at));
  const std::lock_guard lock(mutex_);
  digests_.emplace(place, digest);
  return digest;
}

const std::string& processorText() {
  return madeOnce([] {
#if defined(__x86_64__) || defined(__i386__)
    // Only features that are the same on all cores. Numbers and models of cores are left out.
    std::array<unsigned, 4> first{};
    std::array<unsigned, 4> seventh{};
    (void)__get_cpuid(1, &first[0], &first[1], &first[2], &first[3]);
    (void)__get_cpuid_count(7, 0, &seventh[0], &seventh[1], &seventh[2], &seventh[3]);
    return fmt::format("x86 {:x} {:x} {:x} {:x} {:x}", first[2], first[3], seventh[1], seventh[2],
                       seventh[3]);
#else
    struct utsname system {};
    (void)::uname(&system);
    return fmt::format("{} {:x} {:x}", system.machine, ::getauxval(AT_HWCAP),
                       ::getauxval(AT_HWCAP2));
#endif
  });
}

Result<hal::Token> cacheKey(const CacheKeyParts& parts, ConstantDigests& constants) {
  constants.learn(*parts.model);
  return KeyWriter(parts, constants).run();
}

}  // namespace halyard::runtime
