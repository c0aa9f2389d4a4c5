#include "hal/wire/wire_memory.h"

#include <kj/debug.h>
#include <sys/mman.h>

#include <set>

#include "hal/wire/received_fds.h"

namespace halyard::hal {
namespace {

class MemoryFile final : public wire::FileDescriptor::Server {
 public:
  explicit MemoryFile(SharedMemoryPtr memory) : memory_(std::move(memory)) {}
  kj::Maybe<int> getFd() override { return memory_->fd(); }

 private:
  SharedMemoryPtr memory_;
};

class PlainFile final : public wire::FileDescriptor::Server {
 public:
  explicit PlainFile(ForeignFd fd) : fd_(std::move(fd)) {}
  kj::Maybe<int> getFd() override { return fd_.get(); }

 private:
  const ForeignFd fd_;
};

}  // namespace

void MemoryEncoder::encode(const SharedMemoryPtr& memory, uint32_t index,
                           wire::Memory::Builder to) {
  to.setKind(static_cast<wire::MemoryKind>(memory->kind()));
  to.setSize(memory->size());
  to.setOffset(memory->offset());
  to.setProt(((memory->prot() & PROT_READ) != 0 ? 1 : 0) |
             ((memory->prot() & PROT_WRITE) != 0 ? 2 : 0));
  if (const HardwareBufferDescription* buffer = memory->hardwareBuffer()) {
    auto desc = to.initHardwareBuffer();
    desc.setWidth(buffer->width);
    desc.setHeight(buffer->height);
    desc.setLayers(buffer->layers);
    desc.setFormat(buffer->format);
    desc.setUsage(buffer->usage);
    desc.setStride(buffer->stride);
  }
  const auto [it, isNew] = indexByFd_.emplace(memory->fd(), index);
  if (isNew) {
    to.getFile().setFd(kj::heap<MemoryFile>(memory));
  } else {
    to.getFile().setSameAs(it->second);
  }
}

Status checkPoolCount(const std::vector<SharedMemoryPtr>& pools) {
  if (pools.size() > kMaxPools) {
    return badData("{} memory pools; a driver takes at most {}", pools.size(), kMaxPools);
  }
  std::set<int> fds;
  for (const SharedMemoryPtr& pool : pools) {
    if (pool == nullptr) return badData("a memory pool is null");
    fds.insert(pool->fd());
  }
  if (fds.size() > wire::MAX_FDS_PER_MESSAGE) {
    return badData("the memory pools use {} files; a driver takes at most {} at once", fds.size(),
                   static_cast<uint32_t>(wire::MAX_FDS_PER_MESSAGE));
  }
  return okStatus();
}

kj::Promise<ForeignFd> duplicateFd(wire::FileDescriptor::Client client) {
  // The descriptor comes with the capability. A promise of a capability is not waited for, since
  // its sender decides how long that takes.
  auto hook = capnp::ClientHook::from(kj::mv(client));
  const auto fd = hook->getFd();
  KJ_IF_MAYBE (number, fd) {
    Result<ForeignFd> taken = takeReceived(*number);
    if (taken.ok()) return std::move(*taken);
    return KJ_EXCEPTION(OVERLOADED, "no descriptor", taken.status().message().c_str());
  }
  return ForeignFd();
}

kj::Promise<Result<std::vector<PoolDescription>>> decodeMemories(
    std::vector<wire::Memory::Reader> memories) {
  using Pools = Result<std::vector<PoolDescription>>;
  std::vector<PoolDescription> pools(memories.size());
  std::vector<uint32_t> sources(memories.size());  // the pool with each one's descriptor
  auto fds = kj::heapArrayBuilder<kj::Promise<ForeignFd>>(memories.size());
  for (uint32_t i = 0; i < memories.size(); ++i) {
    const wire::Memory::Reader& memory = memories[i];
    pools[i].kind = static_cast<uint32_t>(memory.getKind());
    pools[i].size = memory.getSize();
    pools[i].prot = memory.getProt();
    pools[i].offset = memory.getOffset();
    if (memory.hasHardwareBuffer()) {
      const auto desc = memory.getHardwareBuffer();
      pools[i].hardwareBuffer = {desc.getWidth(),  desc.getHeight(), desc.getLayers(),
                                 desc.getFormat(), desc.getUsage(),  desc.getStride()};
    }
    sources[i] = i;
    const auto file = memory.getFile();
    if (file.isFd()) {
      fds.add(file.hasFd() ? duplicateFd(file.getFd()) : kj::Promise<ForeignFd>(ForeignFd()));
      continue;
    }
    fds.add(ForeignFd());
    if (!file.isSameAs() || file.getSameAs() >= i ||
        sources[file.getSameAs()] != file.getSameAs()) {
      return Pools(badData("memory pool {} shares the file of no earlier pool", i));
    }
    sources[i] = file.getSameAs();
  }
  return kj::joinPromises(fds.finish())
      .then([pools = std::move(pools),
             sources = std::move(sources)](kj::Array<ForeignFd> received) mutable -> Pools {
        for (size_t i = 0; i < pools.size(); ++i) {
          pools[i].fd = sources[i] == i ? std::move(received[i]) : pools[sources[i]].fd.duplicate();
        }
        return std::move(pools);
      });
}

kj::Promise<ForeignFd> decodeHandle(wire::Handle::Reader handle) {
  const auto fds = handle.getFds();
  if (fds.size() != 1) return ForeignFd();
  return duplicateFd(fds[0]);
}

kj::Maybe<wire::FileDescriptor::Client> encodeFile(int fd) {
  ForeignFd own = ForeignFd::duplicateOf(fd);
  if (!own.valid()) return nullptr;
  return wire::FileDescriptor::Client(kj::heap<PlainFile>(std::move(own)));
}

}  // namespace halyard::hal
