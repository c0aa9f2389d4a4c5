// Tests of the doorbell: it wakes the driver, and a hostile driver cannot block it.
#include "hal/ring/doorbell.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <thread>

namespace halyard::hal {
namespace {

using ::testing::HasSubstr;

// Watches the doorbell edge-triggered, as a driver does.
class Watcher {
 public:
  explicit Watcher(int doorbell) : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    EXPECT_EQ(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, doorbell, &event), 0);
    (void)isWoken(0);
  }
  bool isWoken(int milliseconds) const {
    epoll_event event{};
    return ::epoll_wait(epoll_.get(), &event, 1, milliseconds) == 1;
  }

 private:
  const UniqueFd epoll_;
};

TEST(DoorbellTest, WakesEachTime) {
  const Doorbell doorbell = Doorbell::create().value();
  const UniqueFd drivers(::fcntl(doorbell.watched(), F_DUPFD_CLOEXEC, 0));
  const Watcher watcher(drivers.get());
  EXPECT_FALSE(watcher.isWoken(0));
  for (int i = 0; i < 100'000; ++i) {
    doorbell.ring();
    ASSERT_TRUE(watcher.isWoken(0)) << i;
    ASSERT_FALSE(watcher.isWoken(0)) << i;
  }
  // The doorbell also wakes a sleeping thread.
  std::atomic<int> woken = 0;
  std::thread sleeper([&] {
    for (int i = 0; i < 100; ++i) {
      if (watcher.isWoken(60'000)) ++woken;
      woken.notify_all();
    }
  });
  for (int i = 0; i < 100; ++i) {
    doorbell.ring();
    woken.wait(i);
  }
  sleeper.join();
  EXPECT_EQ(woken, 100);
}

// The operations that a driver can perform on its end.
TEST(DoorbellTest, NobodyMakesItWaitOrRaisesASignal) {
  ::signal(SIGPIPE, SIG_DFL);
  using Attack = void (*)(int fd);
  const std::pair<const char*, Attack> attacks[] = {
      {"blocking", [](int fd) { ::fcntl(fd, F_SETFL, 0); }},
      {"asynchronous", [](int fd) { ::fcntl(fd, F_SETFL, O_ASYNC); }},
      {"no room to send",
       [](int fd) {
         const int size = 1;
         ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
       }},
      {"shut down", [](int fd) { ::shutdown(fd, SHUT_RDWR); }},
      {"named and passing credentials",
       [](int fd) {
         const int on = 1;
         ::setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
         sockaddr_un address{};
         address.sun_family = AF_UNIX;
         ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(sa_family_t));
       }},
      {"sent from and received from",
       [](int fd) {
         char bytes[100] = {};
         for (int i = 0; i < 1000; ++i) {
           (void)!::send(fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
           (void)!::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
         }
       }},
  };
  for (const auto& [what, attack] : attacks) {
    const Doorbell doorbell = Doorbell::create().value();
    UniqueFd drivers(::fcntl(doorbell.watched(), F_DUPFD_CLOEXEC, 0));
    attack(drivers.get());
    std::atomic<bool> done = false;
    std::thread ringer([&] {
      for (int i = 0; i < 10'000; ++i) doorbell.ring();
      drivers.reset();
      for (int i = 0; i < 10'000; ++i) doorbell.ring();
      done = true;
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_TRUE(done) << what;
    ringer.join();
  }
}

// Stored descriptors could take as long to close as their sender wants.
TEST(DoorbellTest, TakesNothingThatIsSent) {
  const Doorbell doorbell = Doorbell::create().value();
  char byte = 0;
  EXPECT_EQ(::send(doorbell.watched(), &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL), -1);
  EXPECT_EQ(errno, EPIPE);
  EXPECT_EQ(::recv(doorbell.watched(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST(CheckLocalSocketTest, TakesNothingElse) {
  const Doorbell doorbell = Doorbell::create().value();
  EXPECT_TRUE(checkLocalSocket(doorbell.watched(), SOCK_STREAM).ok());
  EXPECT_THAT(checkLocalSocket(doorbell.watched(), SOCK_SEQPACKET).message(),
              HasSubstr("type 1, expected 1 and 5"));
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd others[] = {UniqueFd(ends[0]),
                             UniqueFd(ends[1]),
                             UniqueFd(::eventfd(0, EFD_CLOEXEC)),
                             UniqueFd(::epoll_create1(EPOLL_CLOEXEC)),
                             UniqueFd(::memfd_create("test", MFD_CLOEXEC)),
                             UniqueFd(::open("/", O_PATH | O_CLOEXEC)),
                             UniqueFd()};
  for (const UniqueFd& other : others) {
    EXPECT_THAT(checkLocalSocket(other.get(), SOCK_STREAM).message(), HasSubstr("it is no socket"));
  }
  for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
    const UniqueFd inet(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
    EXPECT_THAT(checkLocalSocket(inet.get(), type).message(),
                HasSubstr("it is a socket of domain"));
  }
}

}  // namespace
}  // namespace halyard::hal
