// Descriptors as a hostile process makes them: their close, and sometimes other calls, block.
// Thread safety: one thread at a time. LingeringSocket::endPeer and SlowFile::end release the
// threads that are blocked.
// Ownership: a socket owns its peer. A file owns its file system, which ends with it.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "halyard/driver/unique_fd.h"

namespace halyard::testing {

// Returns whether `work` ends within the time. Blocked work goes on in a thread of its own.
template <typename Work>
bool within(std::chrono::seconds limit, Work work) {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  };
  const auto state = std::make_shared<State>();
  std::thread thread([state, work]() mutable {
    work();
    const std::lock_guard lock(state->mutex);
    state->done = true;
    state->changed.notify_all();
  });
  std::unique_lock lock(state->mutex);
  const bool done = state->changed.wait_for(lock, limit, [&] { return state->done; });
  lock.unlock();
  if (done) {
    thread.join();
  } else {
    thread.detach();
  }
  return done;
}

template <typename Condition>
bool becomes(Condition condition, std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Sends one byte with descriptors.
inline bool sendDescriptors(int socket, const std::vector<int>& fds, char byte = 'x') {
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(253 * sizeof(int))] = {};
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
  std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

// A TCP socket with bytes that its peer does not read. Its last close blocks for the linger time.
class LingeringSocket {
 public:
  explicit LingeringSocket(std::chrono::seconds time) {
    UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener.get(), generic, sizeof address) != 0 || ::listen(listener.get(), 1) != 0 ||
        ::getsockname(listener.get(), generic, &length) != 0) {
      return;
    }
    UniqueFd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(made.get(), generic, sizeof address) != 0) return;
    peer_.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::vector<char> bytes(1 << 20);
    while (::send(made.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    const linger how{1, static_cast<int>(time.count())};
    if (::setsockopt(made.get(), SOL_SOCKET, SO_LINGER, &how, sizeof how) == 0) {
      fd_ = std::move(made);
    }
  }

  int get() const { return fd_.get(); }
  int release() { return fd_.release(); }
  // Closes this descriptor of the socket. It cannot block if the socket has another descriptor.
  void close() { fd_.reset(); }
  // Releases all threads that wait for the socket.
  void endPeer() {
    const linger now{1, 0};
    (void)::setsockopt(peer_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    peer_.reset();
  }

 private:
  UniqueFd fd_;
  UniqueFd peer_;
};

// A file of a file system of this process (FUSE). The file system leaves some requests without an
// answer.
class SlowFile {
 public:
  enum class Stuck { CLOSE, STATUS, READ };

  // Returns null if the system does not allow such a mount.
  static std::unique_ptr<SlowFile> make(Stuck stuck) {
    std::unique_ptr<SlowFile> made(new SlowFile(stuck));
    if (!made->mount()) return nullptr;
    made->server_ = std::thread([raw = made.get()] { raw->serve(); });
    return made;
  }
  ~SlowFile() {
    end();
    ::rmdir(folder_.c_str());
  }
  SlowFile(const SlowFile&) = delete;
  SlowFile& operator=(const SlowFile&) = delete;

  UniqueFd open() const {
    return UniqueFd(::open((folder_ + "/file").c_str(), O_RDWR | O_CLOEXEC));
  }
  // Returns whether a process waits for an answer that does not come.
  bool isAsked() const { return isAsked_; }
  // All waiting calls on the file system get an error.
  void end() {
    if (!server_.joinable()) return;
    isEnding_ = true;
    ::umount2(folder_.c_str(), MNT_DETACH | MNT_FORCE);
    server_.join();
    device_.reset();
  }

 private:
  explicit SlowFile(Stuck stuck) : stuck_(stuck) {}

  bool mount() {
    char folder[] = "/tmp/halyard_slow_XXXXXX";
    if (::mkdtemp(folder) == nullptr) return false;
    folder_ = folder;
    device_.reset(::open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!device_.valid()) return false;
    const std::string options = "fd=" + std::to_string(device_.get()) +
                                ",rootmode=40000,user_id=" + std::to_string(::getuid()) +
                                ",group_id=" + std::to_string(::getgid());
    return ::mount("halyard", folder, "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
  }

  template <typename Answer>
  void answer(uint64_t unique, const Answer* body, int error = 0) {
    fuse_out_header header{};
    header.unique = unique;
    header.error = -error;
    header.len = static_cast<uint32_t>(sizeof header + (body != nullptr ? sizeof *body : 0));
    iovec parts[] = {{&header, sizeof header},
                     {const_cast<Answer*>(body), body != nullptr ? sizeof *body : 0}};
    (void)!::writev(device_.get(), parts, 2);
  }

  static fuse_attr attributes(uint64_t node) {
    fuse_attr about{};
    about.ino = node;
    about.nlink = 1;
    about.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0666;
    about.size = node == FUSE_ROOT_ID ? 0 : 4096;
    about.blksize = 4096;
    return about;
  }

  bool isStuck(uint32_t request) const {
    switch (stuck_) {
      case Stuck::CLOSE:
        return request == FUSE_FLUSH || request == FUSE_RELEASE;
      case Stuck::STATUS:
        return request == FUSE_GETATTR || request == FUSE_STATFS;
      case Stuck::READ:
        return request == FUSE_READ;
    }
    return false;
  }

  void serve() {
    std::vector<char> buffer(1 << 20);
    while (!isEnding_) {
      const ssize_t got = ::read(device_.get(), buffer.data(), buffer.size());
      if (got < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOENT)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      if (got < static_cast<ssize_t>(sizeof(fuse_in_header))) return;
      fuse_in_header request;
      std::memcpy(&request, buffer.data(), sizeof request);
      serveOne(request, buffer.data() + sizeof request);
    }
  }

  void serveOne(const fuse_in_header& request, const char* body) {
    // The folder answers, so that the file can be opened.
    if (request.nodeid != FUSE_ROOT_ID && isStuck(request.opcode)) {
      isAsked_ = true;
      return;
    }
    switch (request.opcode) {
      case FUSE_INIT: {
        fuse_init_in asked;
        std::memcpy(&asked, body, sizeof asked);
        fuse_init_out about{};
        about.major = FUSE_KERNEL_VERSION;
        about.minor = FUSE_KERNEL_MINOR_VERSION;
        about.max_readahead = asked.max_readahead;
        about.max_write = 4096;
        return answer(request.unique, &about);
      }
      case FUSE_LOOKUP: {
        fuse_entry_out entry{};
        entry.nodeid = 2;
        entry.attr = attributes(2);
        return answer(request.unique, &entry);
      }
      case FUSE_GETATTR: {
        fuse_attr_out about{};
        about.attr = attributes(request.nodeid);
        return answer(request.unique, &about);
      }
      case FUSE_OPEN: {
        const fuse_open_out opened{};
        return answer(request.unique, &opened);
      }
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT:
        return;  // these requests need no answer
      case FUSE_FLUSH:
      case FUSE_RELEASE:
        return answer<char>(request.unique, nullptr);
      default:
        return answer<char>(request.unique, nullptr, ENOSYS);
    }
  }

  const Stuck stuck_;
  std::string folder_;
  UniqueFd device_;
  std::thread server_;
  std::atomic<bool> isAsked_ = false;
  std::atomic<bool> isEnding_ = false;
};

}  // namespace halyard::testing
