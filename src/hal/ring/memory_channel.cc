#include "hal/ring/memory_channel.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace halyard::hal {
namespace {

// The limit of messages for one receive(). Honest clients send fewer.
constexpr unsigned kMostAtOnce = 2 * OfferedMemories::kMost;

constexpr size_t kMostFds = 253;  // the kernel's limit for one message

// Space for the descriptors of a message, with the alignment of the kernel's headers. There is
// space for the maximum number, because the kernel closes other descriptors on the receiving
// thread.
union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(kMostFds * sizeof(int))];
};

// A message to send or receive, with space for its descriptors.
class Envelope {
 public:
  explicit Envelope(MemoryMessage* message) : data_{message, sizeof *message} {
    header_.msg_iov = &data_;
    header_.msg_iovlen = 1;
    header_.msg_control = &control_;
    header_.msg_controllen = sizeof control_;
  }
  Envelope(const Envelope&) = delete;
  Envelope& operator=(const Envelope&) = delete;

  msghdr& header() { return header_; }
  void put(int fd) {
    header_.msg_controllen = CMSG_SPACE(sizeof(int));
    control_.header.cmsg_level = SOL_SOCKET;
    control_.header.cmsg_type = SCM_RIGHTS;
    control_.header.cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(&control_.header), &fd, sizeof fd);
  }

 private:
  iovec data_;
  msghdr header_{};
  Control control_{};  // last: its array has no length
};

}  // namespace

bool offerMemory(int channel, int32_t slot, const SharedMemory& memory) {
  if (channel < 0) return false;
  const MemoryKind kind = memory.kind();
  if (kind != MemoryKind::ASHMEM && kind != MemoryKind::MMAP_FD) return false;
  MemoryMessage offer;
  offer.slot = slot;
  offer.kind = static_cast<uint32_t>(kind);
  offer.prot =
      ((memory.prot() & PROT_READ) != 0 ? 1 : 0) | ((memory.prot() & PROT_WRITE) != 0 ? 2 : 0);
  offer.size = memory.size();
  offer.offset = memory.offset();
  Envelope envelope(&offer);
  envelope.put(memory.fd());
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(channel, &envelope.header(), MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == sizeof offer;
}

ForeignFd OfferedMemories::takeDescriptor(msghdr& message) const {
  ForeignFd taken;
  size_t all = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      if (closing_ != nullptr && !isKernelMemory(fd)) assignForeign(fd, closing_);
      taken.reset(fd);
    }
    all += count;
  }
  return all == 1 ? std::move(taken) : ForeignFd();
}

Result<OfferedMemories::Made> OfferedMemories::create(std::shared_ptr<Quota> quota,
                                                      std::shared_ptr<ForeignAccount> closing) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno, "socketpair for a burst");
  }
  if (closing != nullptr) assignForeign(ends[0], closing);
  return Made{OfferedMemories(ForeignFd(ends[0]), std::move(quota), std::move(closing)),
              UniqueFd(ends[1])};
}

void OfferedMemories::receive() {
  for (unsigned i = 0; i < kMostAtOnce && receiveOne(); ++i) {
  }
}

bool OfferedMemories::receiveOne() {
  // Descriptors in the channel are no burden for this process. Those that wait to be closed are.
  if (closing_ != nullptr && closing_->isBehind()) return false;
  MemoryMessage offer;
  Envelope envelope(&offer);
  const ssize_t size =
      ::recvmsg(channel_.get(), &envelope.header(), MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0) return errno == EINTR;
  ForeignFd fd = takeDescriptor(envelope.header());
  const bool isWhole =
      size == sizeof offer && (envelope.header().msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  // Size 0 also means that the client has closed its end.
  if (!isWhole || !fd.valid()) return size != 0;
  PoolDescription memory;
  memory.kind = offer.kind;
  memory.size = offer.size;
  memory.prot = offer.prot;
  memory.offset = offer.offset;
  memory.fd = std::move(fd);
  keep(offer.slot, std::move(memory));
  return true;
}

void OfferedMemories::keep(int32_t slot, PoolDescription memory) {
  offers_.erase(slot);
  const auto kind = static_cast<MemoryKind>(memory.kind);
  if (kind != MemoryKind::ASHMEM && kind != MemoryKind::MMAP_FD) return;
  if (offers_.size() >= kMost) return;
  Quota::Charge descriptor;
  if (quota_ != nullptr) {
    auto charge = quota_->charge(Quota::Resource::DESCRIPTORS, 1);
    if (!charge.ok()) return;
    descriptor = std::move(*charge);
  }
  offers_.emplace(slot, Kept{std::move(memory), std::move(descriptor)});
}

std::optional<PoolDescription> OfferedMemories::take(int32_t slot) {
  const auto at = offers_.find(slot);
  if (at == offers_.end()) return std::nullopt;
  PoolDescription memory = std::move(at->second.memory);
  offers_.erase(at);
  return memory;
}

}  // namespace halyard::hal
