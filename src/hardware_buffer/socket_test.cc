// Tests of hardware buffers that pass through sockets, from correct and incorrect peers.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "halyard/driver/unique_fd.h"
#include "hardware_buffer/buffer_for_test.h"

namespace halyard::hardware_buffer::testing {
namespace {

class HardwareBufferSocket : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, GetParam() | SOCK_CLOEXEC, 0, ends), 0);
    mine_.reset(ends[0]);
    peer_.reset(ends[1]);
  }

  int receive(Buffer* buffer) {
    AHardwareBuffer* received = reinterpret_cast<AHardwareBuffer*>(this);
    const int result = AHardwareBuffer_recvHandleFromUnixSocket(mine_.get(), &received);
    buffer->reset(received);
    return result;
  }
  // Makes the peer send these bytes with these descriptors.
  void send(const std::vector<uint8_t>& bytes, const std::vector<int>& fds) {
    std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
    iovec data{const_cast<uint8_t*>(bytes.data()), bytes.size()};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    if (!fds.empty()) {
      header.msg_control = control.data();
      header.msg_controllen = control.size();
      cmsghdr* const part = CMSG_FIRSTHDR(&header);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(part), fds.data(), fds.size() * sizeof(int));
    }
    ASSERT_EQ(::sendmsg(peer_.get(), &header, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // The message of a correct sender, for later changes.
  std::vector<uint8_t> messageOf(const Buffer& buffer) {
    EXPECT_EQ(AHardwareBuffer_sendHandleToUnixSocket(buffer.get(), peer_.get()), 0);
    std::vector<uint8_t> bytes(1000);
    const ssize_t size = ::recv(mine_.get(), bytes.data(), bytes.size(), 0);
    EXPECT_GT(size, 0);
    bytes.resize(static_cast<size_t>(size));
    return bytes;
  }

  UniqueFd mine_;
  UniqueFd peer_;
};

size_t openDescriptors() {
  using std::filesystem::directory_iterator;
  return static_cast<size_t>(std::distance(directory_iterator("/proc/self/fd"), {}));
}

TEST_P(HardwareBufferSocket, SharesTheMemoryWithAnotherProcess) {
  const AHardwareBuffer_Desc asked = describe(AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, 33, 5);
  const pid_t child = ::fork();
  if (child == 0) {
    AHardwareBuffer* buffer = nullptr;
    void* address = nullptr;
    if (AHardwareBuffer_allocate(&asked, &buffer) != 0 ||
        AHardwareBuffer_lock(buffer, kWrite, -1, nullptr, &address) != 0) {
      ::_exit(1);
    }
    std::memset(address, 5, 192);
    uint64_t id = 0;
    const bool done = AHardwareBuffer_unlock(buffer, nullptr) == 0 &&
                      AHardwareBuffer_getId(buffer, &id) == 0 &&
                      AHardwareBuffer_sendHandleToUnixSocket(buffer, peer_.get()) == 0 &&
                      ::send(peer_.get(), &id, sizeof id, 0) == sizeof id;
    ::_exit(done ? 0 : 2);
  }
  Buffer buffer;
  ASSERT_EQ(receive(&buffer), 0);
  uint64_t id = 0;
  uint64_t sentId = 1;
  EXPECT_EQ(::recv(mine_.get(), &sentId, sizeof sentId, 0), 8);
  EXPECT_EQ(AHardwareBuffer_getId(buffer.get(), &id), 0);
  EXPECT_EQ(id, sentId);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  AHardwareBuffer_Desc desc{};
  AHardwareBuffer_describe(buffer.get(), &desc);
  EXPECT_EQ(desc.width, 33u);
  EXPECT_EQ(desc.stride, 48u);
  EXPECT_EQ(desc.usage, kReadWrite);
  const uint8_t* const pixels = lockBuffer(buffer, kReadWrite);
  EXPECT_EQ(pixels[191], 5);
  EXPECT_EQ(pixels[192], 0);
  unlockBuffer(buffer);
}

TEST_P(HardwareBufferSocket, RefusesWhatIsNoBuffer) {
  Buffer kept = blob(100);
  const std::vector<uint8_t> good = messageOf(kept);
  const int fd = halyard_hardwareBufferFd(kept.get());
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd unsealed(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(unsealed.get(), 100), 0);
  const size_t before = openDescriptors();
  Buffer buffer;
  const auto refused = [&](const std::vector<uint8_t>& bytes, const std::vector<int>& fds) {
    send(bytes, fds);
    EXPECT_EQ(receive(&buffer), -EINVAL);
    EXPECT_EQ(buffer, nullptr);
    EXPECT_EQ(openDescriptors(), before);
  };
  send(good, {fd});
  EXPECT_EQ(receive(&buffer), 0);
  buffer.reset();
  refused(good, {});
  refused(good, {fd, fd});
  refused(good, std::vector<int>(50, fd));  // more than the receiver accepts
  refused({good.begin(), good.end() - 1}, {fd});
  refused({1}, {fd});
  refused({1}, {});
  refused(good, {null.get()});
  refused(good, {mine_.get()});
  refused(good, {unsealed.get()});
  // Changes each byte in turn. The receiver must refuse the message or return a buffer that fits
  // its memory. A changed usage may also be valid.
  for (size_t i = 0; i < good.size(); ++i) {
    std::vector<uint8_t> bad = good;
    bad[i] ^= 0x81;
    send(bad, {fd});
    if (receive(&buffer) != 0) continue;
    AHardwareBuffer_Desc desc{};
    AHardwareBuffer_describe(buffer.get(), &desc);
    EXPECT_LE(desc.width, 100u);
    EXPECT_EQ(desc.format, uint32_t{AHARDWAREBUFFER_FORMAT_BLOB});
    buffer.reset();
  }
  EXPECT_EQ(openDescriptors(), before);
}

TEST_P(HardwareBufferSocket, ReportsErrorsOfTheSocket) {
  Buffer buffer;
  EXPECT_EQ(AHardwareBuffer_recvHandleFromUnixSocket(mine_.get(), nullptr), -EINVAL);
  EXPECT_EQ(AHardwareBuffer_sendHandleToUnixSocket(nullptr, mine_.get()), -EINVAL);
  const Buffer good = blob(8);
  EXPECT_EQ(AHardwareBuffer_sendHandleToUnixSocket(good.get(), -1), -EBADF);
  AHardwareBuffer* received = nullptr;
  EXPECT_EQ(AHardwareBuffer_recvHandleFromUnixSocket(-1, &received), -EBADF);
  ASSERT_EQ(::fcntl(mine_.get(), F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(receive(&buffer), -EAGAIN);
  peer_.reset();
  EXPECT_EQ(receive(&buffer), -ENODATA);
  EXPECT_LT(AHardwareBuffer_sendHandleToUnixSocket(good.get(), mine_.get()), 0);
}

INSTANTIATE_TEST_SUITE_P(Sockets, HardwareBufferSocket,
                         ::testing::Values(SOCK_STREAM, SOCK_SEQPACKET));

}  // namespace
}  // namespace halyard::hardware_buffer::testing
