// A driver for crash_points_test. It starts the real driver, and relays messages with their
// descriptors between it and the client. At one message it does the failure of the test.
//   HALYARD_CRASH_DRIVER  the real driver's executable
//   HALYARD_CRASH_POINT   DIRECTION:INDEX:ACTION, as in to:3:kill; otherwise all messages pass
//   HALYARD_CRASH_PERSONALITY  its personality, if any
//   HALYARD_CRASH_LOG     a file that gets a line, "to" or "from", for each relayed message
// DIRECTION is "to" the driver or "from" it, INDEX counts its messages from 0. ACTION happens in
// place of the message, or to it:
//   kill      the driver is killed, and the relay with it
//   stop      the driver is stopped (SIGSTOP); messages still pass
//   close     the connection to the client is closed, and the relay ends
//   linger    the connection to the client is closed, the process stays alive
//   truncate  half of the message passes, then as close
//   corrupt   bytes all over the message's content are changed
//   bit       one bit of the message's content is changed, a different one for each message
//   header    the message's table of segments is overwritten
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int kClient = 3;
// Longer than any wait of a test: the peer that loses the connection must end the process.
constexpr unsigned kLong = 60;
constexpr size_t kMostFds = 253;

struct Point {
  std::string direction;
  unsigned long index = 0;
  std::string action;
};

Point pointFromEnvironment() {
  const char* text = std::getenv("HALYARD_CRASH_POINT");
  if (text == nullptr) return {};
  const std::string all = text;
  const size_t first = all.find(':');
  const size_t second = all.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) std::_Exit(4);
  return {all.substr(0, first), std::strtoul(all.c_str() + first + 1, nullptr, 10),
          all.substr(second + 1)};
}

pid_t startDriver(int socket) {
  const char* const path = std::getenv("HALYARD_CRASH_DRIVER");
  if (path == nullptr) std::_Exit(5);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  // A stopped driver must not outlive the test.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) std::_Exit(6);
  ::dup2(socket, kClient);
  ::fcntl(kClient, F_SETFD, 0);
  const char* const personality = std::getenv("HALYARD_CRASH_PERSONALITY");
  if (personality == nullptr) {
    ::execl(path, path, "--fd=3", nullptr);
  } else {
    ::execl(path, path, "--fd=3", "--", "--personality", personality, nullptr);
  }
  std::_Exit(7);
}

struct Message {
  std::vector<uint8_t> bytes;
  std::vector<int> fds;
};

// Splits the stream of one direction into messages.
class Reader {
 public:
  explicit Reader(int fd) : fd_(fd) {}

  // False at the end of the stream.
  bool receive(std::vector<Message>* messages) {
    uint8_t buffer[65536];
    alignas(cmsghdr) char control[CMSG_SPACE(kMostFds * sizeof(int))];
    iovec part{buffer, sizeof buffer};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t count = ::recvmsg(fd_, &header, MSG_CMSG_CLOEXEC);
    if (count <= 0) return false;
    bytes_.insert(bytes_.end(), buffer, buffer + count);
    for (cmsghdr* each = CMSG_FIRSTHDR(&header); each != nullptr;
         each = CMSG_NXTHDR(&header, each)) {
      if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
      const auto* fds = reinterpret_cast<const int*>(CMSG_DATA(each));
      // The bytes that arrive with descriptors end within the message of those descriptors.
      fds_.insert(fds_.end(), fds, fds + (each->cmsg_len - CMSG_LEN(0)) / sizeof(int));
      fdsAt_ = bytes_.size() - 1;
    }
    while (const size_t size = messageSize()) {
      Message message{{bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size)}, {}};
      bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size));
      if (!fds_.empty() && fdsAt_ < size) message.fds.swap(fds_);
      fdsAt_ -= size;
      messages->push_back(std::move(message));
    }
    return true;
  }

 private:
  // The size of the first message; 0 while it is not complete.
  size_t messageSize() const {
    const auto word = [&](size_t i) {
      uint32_t value = 0;
      std::memcpy(&value, bytes_.data() + 4 * i, 4);
      return size_t{value};
    };
    if (bytes_.size() < 8) return 0;
    const size_t segments = word(0) + 1;
    if (segments > 512) std::_Exit(8);
    const size_t table = (segments + 2) / 2 * 8;
    if (bytes_.size() < table) return 0;
    size_t size = table;
    for (size_t i = 0; i < segments; ++i) size += 8 * word(1 + i);
    return bytes_.size() < size ? 0 : size;
  }

  const int fd_;
  std::vector<uint8_t> bytes_;
  std::vector<int> fds_;
  size_t fdsAt_ = 0;  // in bytes_
};

void send(int fd, const Message& message, size_t size) {
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFds * sizeof(int))] = {};
  size_t sent = 0;
  while (sent < size) {
    iovec part{const_cast<uint8_t*>(message.bytes.data()) + sent, size - sent};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (sent == 0 && !message.fds.empty()) {
      header.msg_control = control;
      header.msg_controllen = CMSG_SPACE(message.fds.size() * sizeof(int));
      cmsghdr* const rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(message.fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(rights), message.fds.data(), message.fds.size() * sizeof(int));
    }
    const ssize_t count = ::sendmsg(fd, &header, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // the other end has closed; its reader notices that
    sent += static_cast<size_t>(count);
  }
}

class Relay {
 public:
  Relay(int driverSocket, pid_t driver)
      : driverSocket_(driverSocket), driver_(driver), point_(pointFromEnvironment()) {
    const char* log = std::getenv("HALYARD_CRASH_LOG");
    if (log != nullptr) log_ = ::open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  }

  int run() {
    Reader fromClient(kClient);
    Reader fromDriver(driverSocket_);
    for (;;) {
      pollfd polls[] = {{kClient, POLLIN, 0}, {driverSocket_, POLLIN, 0}};
      if (::poll(polls, 2, -1) < 0) return 9;
      if (polls[0].revents != 0 && !pass(fromClient, "to", &toCount_, driverSocket_)) break;
      if (polls[1].revents != 0 && !pass(fromDriver, "from", &fromCount_, kClient)) break;
    }
    ::shutdown(driverSocket_, SHUT_RDWR);
    ::shutdown(kClient, SHUT_RDWR);
    ::kill(driver_, SIGCONT);  // a stopped driver cannot end
    int status = 0;
    ::waitpid(driver_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 10;
  }

 private:
  bool pass(Reader& reader, const char* direction, unsigned long* count, int target) {
    std::vector<Message> messages;
    const bool open = reader.receive(&messages);
    for (Message& message : messages) {
      const bool isPoint = point_.direction == direction && point_.index == *count;
      ++*count;
      if (isPoint) act(message, target);
      if (log_ >= 0) ::dprintf(log_, "%s\n", direction);
      send(target, message, message.bytes.size());
      for (const int fd : message.fds) ::close(fd);
    }
    return open;
  }

  // Some actions return, and the message passes.
  void act(Message& message, int target) {
    if (point_.action == "kill") {
      ::kill(driver_, SIGKILL);
      ::waitpid(driver_, nullptr, 0);
      ::kill(::getpid(), SIGKILL);
    } else if (point_.action == "stop") {
      ::kill(driver_, SIGSTOP);
    } else if (point_.action == "close") {
      end(0);
    } else if (point_.action == "linger") {
      end(kLong);
    } else if (point_.action == "truncate") {
      send(target, message, message.bytes.size() / 2);
      end(0);
    } else if (point_.action == "bit") {
      const size_t bits = 8 * (message.bytes.size() - 8);
      const size_t bit = (point_.index + 1) * 7919 % bits;
      message.bytes[8 + bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    } else if (point_.action == "corrupt") {
      for (size_t i = 8; i < message.bytes.size(); i += 11) message.bytes[i] ^= 0x5a;
    } else if (point_.action == "header") {
      std::memset(message.bytes.data(), 0xff, 8);
    } else {
      std::_Exit(11);
    }
  }

  [[noreturn]] void end(unsigned seconds) {
    ::close(kClient);
    ::close(driverSocket_);
    ::sleep(seconds);
    std::_Exit(12);
  }

  const int driverSocket_;
  const pid_t driver_;
  const Point point_;
  int log_ = -1;
  unsigned long toCount_ = 0;
  unsigned long fromCount_ = 0;
};

}  // namespace

int main() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 2;
  ::fcntl(kClient, F_SETFD, FD_CLOEXEC);
  const pid_t driver = startDriver(ends[1]);
  if (driver < 0) return 3;
  ::close(ends[1]);
  return Relay(ends[0], driver).run();
}
