#include "hal/testing/fuzz/hostile_queue.h"

#include <fcntl.h>
#include <kj/debug.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "hal/ring/memory_channel.h"
#include "hal/wire/wire_memory.h"

namespace halyard::hal::fuzz {
namespace {

constexpr uint32_t kHeaderBytes = 256;
constexpr uint32_t kHostileCapacity = 64;
constexpr uint32_t kDatumBytes = 24;
constexpr size_t kWriterPosition = 64;

}  // namespace

SharedMemoryPtr fillQueue(ByteSource& bytes, wire::QueueDescriptor::Builder queue,
                          capnp::Capability::Client& other) {
  if (bytes.oneIn(4)) {
    fillMemory(bytes, queue.initMemory(), other);
    queue.setElementCount(bytes.number32());
    queue.setElementSize(bytes.number32());
    queue.setHasEventWord(!bytes.oneIn(4));
    return nullptr;
  }
  auto memory = SharedMemory::create(kHeaderBytes + kHostileCapacity * kDatumBytes, "fuzz").value();
  const uint32_t header[] = {0x51594c48, 1, kHostileCapacity, kDatumBytes};
  std::memcpy(memory->mapped().value()->data(), header, sizeof header);
  MemoryEncoder().encode(memory, 0, queue.initMemory());
  queue.setElementCount(kHostileCapacity);
  queue.setElementSize(kDatumBytes);
  queue.setHasEventWord(true);
  return memory;
}

std::shared_ptr<const Doorbell> chooseDoorbell(ByteSource& bytes, ConfigureCall& call,
                                               capnp::Capability::Client& other) {
  if (bytes.oneIn(4)) {
    KJ_IF_MAYBE (file, chooseFile(bytes, other)) call.setDoorbell(kj::mv(*file));
    return nullptr;
  }
  if (bytes.oneIn(2)) return nullptr;
  auto doorbell = std::make_shared<const Doorbell>(Doorbell::create().value());
  call.setDoorbell(KJ_ASSERT_NONNULL(encodeFile(doorbell->watched())));
  return doorbell;
}

kj::Promise<OpenQueue> takeChannels(Configured& response) {
  auto fds = kj::heapArrayBuilder<kj::Promise<ForeignFd>>(2);
  fds.add(response.hasDoorbell() ? duplicateFd(response.getDoorbell())
                                 : kj::Promise<ForeignFd>(ForeignFd()));
  fds.add(duplicateFd(response.getMemoryChannel()));
  return kj::joinPromises(fds.finish()).then([](kj::Array<ForeignFd> received) {
    OpenQueue queue;
    queue.driversDoorbell.reset(received[0].release());
    queue.memoryChannel.reset(received[1].release());
    return queue;
  });
}

void sendPacket(ByteSource& bytes, const OpenQueue& queue) {
  uint8_t* const base = queue.memory->mapped().value()->data();
  const auto packet = bytes.take(bytes.below(8) * kDatumBytes);
  if (!packet.empty()) std::memcpy(base + kHeaderBytes, packet.data(), packet.size());
  const uint64_t moved = bytes.oneIn(4) ? bytes.number64() : packet.size() / kDatumBytes;
  std::atomic_ref(*reinterpret_cast<uint64_t*>(base + kWriterPosition)).fetch_add(moved);
  if (queue.doorbell != nullptr) return queue.doorbell->ring();
  // The large number may fill the doorbell. A driver that writes to it without O_NONBLOCK then
  // blocks.
  const uint64_t number = bytes.oneIn(4) ? UINT64_MAX - 1 : 1;
  (void)::fcntl(queue.driversDoorbell.get(), F_SETFL, O_NONBLOCK);
  (void)!::write(queue.driversDoorbell.get(), &number, sizeof number);
  if (bytes.oneIn(4)) (void)::fcntl(queue.driversDoorbell.get(), F_SETFL, 0);
}

namespace {

void sendWith(int socket, std::span<const uint8_t> data, const UniqueFd& fd) {
  iovec vector{const_cast<uint8_t*>(data.data()), data.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  if (fd.valid()) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* const part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = fd.get();
    std::memcpy(CMSG_DATA(part), &number, sizeof number);
  }
  (void)!::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

void offerMemory(ByteSource& bytes, const OpenQueue& queue) {
  MemoryMessage message{static_cast<int32_t>(bytes.below(4)), bytes.below(3), 3, 0, 64, 0};
  if (bytes.oneIn(4)) message.slot = static_cast<int32_t>(bytes.number32());
  if (bytes.oneIn(4)) message.prot = bytes.number32();
  if (bytes.oneIn(4)) message.size = bytes.number64();
  if (bytes.oneIn(4)) message.offset = bytes.number64();
  const UniqueFd fd = bytes.oneIn(8) ? UniqueFd() : chooseDescriptor(bytes);
  const size_t size = bytes.oneIn(8) ? bytes.below(sizeof message) : sizeof message;
  sendWith(queue.memoryChannel.get(), {reinterpret_cast<const uint8_t*>(&message), size}, fd);
}

kj::Promise<void> giveUp(ByteSource& bytes, wire::v1_2::IBurstContext::Client burst) {
  if (bytes.oneIn(4)) {
    auto call = burst.freeRecordingRequest();
    call.setNumber(bytes.oneIn(4) ? bytes.number32() : bytes.below(20));
    return call.send().ignoreResult();
  }
  auto call = burst.freeMemoryRequest();
  call.setSlot(static_cast<int32_t>(bytes.number32()));
  return call.send().ignoreResult();
}

void sendRaw(int socket, ByteSource bytes) {
  const bool withFd = bytes.oneIn(2);
  const UniqueFd fd = withFd ? chooseDescriptor(bytes) : UniqueFd();
  sendWith(socket, bytes.take(100'000), fd);
}

}  // namespace halyard::hal::fuzz
