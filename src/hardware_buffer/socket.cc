// Sends and receives hardware buffers through Unix domain sockets. A buffer is one message of fixed
// size with one descriptor.
#include <android/hardware_buffer.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "hardware_buffer/buffer.h"

using namespace halyard;  // NOLINT(google-build-using-namespace): entry points are global
using hardware_buffer::toErrno;

namespace {

// The message. Both ends are on the same machine.
struct Message {
  static constexpr uint64_t kMagic = 0x3146554257484c48;  // "HLHWBUF1"

  uint64_t magic = kMagic;
  uint64_t usage = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t layers = 0;
  uint32_t format = 0;
  uint32_t stride = 0;
  uint32_t reserved = 0;
};
static_assert(sizeof(Message) == 40, "no padding, which would leak memory of the sender");

constexpr size_t kMostDescriptors = 4;  // more than one, so that extra descriptors are detected

// Owns all received descriptors, so that a peer cannot leave descriptors open in this process.
struct Received {
  Message message;
  std::array<UniqueFd, kMostDescriptors> fds;
  size_t count = 0;
};

// Returns the negative errno of recvmsg, or 0. `wrong` receives the error of an invalid message.
int receive(int socketFd, Received* received, Status* wrong) {
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))];
  iovec data{&received->message, sizeof(Message)};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t size = 0;
  do {
    size = ::recvmsg(socketFd, &header, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return -errno;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      UniqueFd own(fd);
      if (received->count < kMostDescriptors) received->fds[received->count++] = std::move(own);
    }
  }
  if (size == 0) return -ENODATA;
  if (static_cast<size_t>(size) != sizeof(Message) || received->message.magic != Message::kMagic) {
    *wrong = badData("{} bytes that are no hardware buffer", size);
  } else if (received->count != 1 || (header.msg_flags & MSG_CTRUNC) != 0) {
    *wrong = badData("a hardware buffer with {} file descriptors, expected 1", received->count);
  }
  return 0;
}

Result<AHardwareBuffer*> adopt(Received received) {
  const Message& message = received.message;
  const HardwareBufferDescription description{message.width,  message.height, message.layers,
                                              message.format, message.usage,  message.stride};
  HALYARD_ASSIGN_OR_RETURN(const HardwareBufferLayout layout, layoutOf(description));
  if (description.stride != layout.stride) {
    return badData("a hardware buffer with a stride of {} pixels, expected {}", description.stride,
                   layout.stride);
  }
  const bool writable = (description.usage & AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK) != 0;
  HALYARD_ASSIGN_OR_RETURN(
      hardware_buffer::Memory memory,
      hardware_buffer::adoptMemory(std::move(received.fds[0]), layout.size, writable));
  return AHardwareBuffer::make(description, layout, std::move(memory));
}

}  // namespace

int AHardwareBuffer_sendHandleToUnixSocket(const AHardwareBuffer* buffer, int socketFd) {
  if (buffer == nullptr) return toErrno(__func__, unexpectedNull("buffer is null"));
  const HardwareBufferDescription& from = buffer->description();
  Message message;
  message.usage = from.usage;
  message.width = from.width;
  message.height = from.height;
  message.layers = from.layers;
  message.format = from.format;
  message.stride = from.stride;
  const int fd = buffer->memory().fd.get();

  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec data{&message, sizeof message};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* const part = CMSG_FIRSTHDR(&header);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(part), &fd, sizeof fd);
  ssize_t size = 0;
  do {
    size = ::sendmsg(socketFd, &header, MSG_NOSIGNAL);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return -errno;
  return static_cast<size_t>(size) == sizeof message ? 0 : -EIO;
}

int AHardwareBuffer_recvHandleFromUnixSocket(int socketFd, AHardwareBuffer** outBuffer) {
  if (outBuffer == nullptr) return toErrno(__func__, unexpectedNull("outBuffer is null"));
  *outBuffer = nullptr;
  Received received;
  Status wrong;
  if (const int error = receive(socketFd, &received, &wrong); error != 0) return error;
  if (!wrong.ok()) return toErrno(__func__, wrong);
  Result<AHardwareBuffer*> adopted = adopt(std::move(received));
  if (!adopted.ok()) return toErrno(__func__, adopted.status());
  *outBuffer = adopted.value();
  return 0;
}
