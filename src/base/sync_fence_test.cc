// Tests of sync fences: Halyard's own across duplicates and processes, and other descriptors with
// poll().
#include "halyard/driver/sync_fence.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include <atomic>
#include <cstring>
#include <thread>

namespace halyard {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

FenceState stateOf(int fd) {
  const auto state = fenceState(fd);
  EXPECT_TRUE(state.ok()) << state.status().toString();
  return state.ok() ? *state : FenceState::PENDING;
}

// Returns the events for a program that knows only poll().
int eventsOf(int fd) {
  pollfd polled{fd, POLLIN, 0};
  EXPECT_GE(::poll(&polled, 1, 0), 0);
  return polled.revents;
}

void sendFd(int socket, int fd) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  if (::sendmsg(socket, &message, 0) != 1) ::_exit(2);
}

UniqueFd receiveFd(int socket) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  EXPECT_EQ(::recvmsg(socket, &message, MSG_CMSG_CLOEXEC), 1);
  int fd = -1;
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message)) {
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  }
  return UniqueFd(fd);
}

TEST(SyncFence, FailsThoughAForkedChildHasItsEnds) {
  NewFence made = createFence().value();
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (;;) ::pause();
  }
  const UniqueFd watched = made.fence.duplicate();
  made.signaller.fail();
  EXPECT_EQ(stateOf(made.fence.get()), FenceState::ERROR);
  const auto ended = waitFence(watched.get(), steady_clock::now() + std::chrono::seconds(20));
  EXPECT_EQ(ended.value(), FenceState::ERROR);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(stateOf(watched.get()), FenceState::ERROR);
}

TEST(SyncFence, SignalsOnceForAllDuplicates) {
  NewFence made = createFence().value();
  const UniqueFd duplicate = made.fence.duplicate();
  EXPECT_EQ(stateOf(made.fence.get()), FenceState::PENDING);
  EXPECT_EQ(eventsOf(made.fence.get()), 0);
  EXPECT_TRUE(made.signaller.pending());
  made.signaller.signal();
  EXPECT_FALSE(made.signaller.pending());
  made.signaller.signal();
  for (const int fd : {made.fence.get(), duplicate.get()}) {
    EXPECT_EQ(stateOf(fd), FenceState::SIGNALLED);
    EXPECT_EQ(eventsOf(fd) & (POLLIN | POLLERR), POLLIN);
    EXPECT_EQ(stateOf(fd), FenceState::SIGNALLED) << "looking changes nothing";
  }
}

TEST(SyncFence, FailsOnceForAllDuplicates) {
  for (const bool explicitly : {true, false}) {
    NewFence made = createFence().value();
    const UniqueFd duplicate = made.fence.duplicate();
    if (explicitly) {
      made.signaller.fail();
      made.signaller.signal();
    } else {
      made.signaller = FenceSignaller();
    }
    for (const int fd : {made.fence.get(), duplicate.get()}) {
      EXPECT_EQ(stateOf(fd), FenceState::ERROR);
      EXPECT_NE(eventsOf(fd) & POLLERR, 0);
      EXPECT_EQ(stateOf(fd), FenceState::ERROR) << "looking changes nothing";
    }
  }
}

TEST(SyncFence, HolderThatReadsTheErrorAwayMakesNoSignalOfIt) {
  NewFence made = createFence().value();
  const UniqueFd duplicate = made.fence.duplicate();
  made.signaller.fail();
  int error = 0;
  socklen_t length = sizeof error;
  ASSERT_EQ(::getsockopt(duplicate.get(), SOL_SOCKET, SO_ERROR, &error, &length), 0);
  EXPECT_EQ(error, ECONNRESET);
  EXPECT_EQ(stateOf(made.fence.get()), FenceState::ERROR);
}

TEST(SyncFence, HolderCannotSignal) {
  NewFence made = createFence().value();
  EXPECT_EQ(::send(made.fence.get(), "x", 1, MSG_NOSIGNAL), -1);
  (void)::shutdown(made.fence.get(), SHUT_RDWR);
  EXPECT_NE(stateOf(made.fence.get()), FenceState::SIGNALLED);
}

TEST(SyncFence, DyingProcessFailsWhatItHasNotSignalled) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
  const UniqueFd here(sockets[0]);
  UniqueFd there(sockets[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    NewFence failing = createFence().value();
    NewFence signalled = createFence().value();
    sendFd(there.get(), failing.fence.get());
    sendFd(there.get(), signalled.fence.get());
    signalled.signaller.signal();
    char byte = 0;
    (void)!::read(there.get(), &byte, 1);
    ::raise(SIGKILL);
  }
  there.reset();
  const UniqueFd failing = receiveFd(here.get());
  const UniqueFd signalled = receiveFd(here.get());
  EXPECT_EQ(waitFence(signalled.get()).value(), FenceState::SIGNALLED);
  EXPECT_EQ(stateOf(failing.get()), FenceState::PENDING);
  ASSERT_EQ(::write(here.get(), "x", 1), 1);
  EXPECT_EQ(waitFence(failing.get()).value(), FenceState::ERROR);
  EXPECT_NE(eventsOf(failing.get()) & POLLERR, 0);
  EXPECT_EQ(stateOf(signalled.get()), FenceState::SIGNALLED);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

// The kernel marks the end of a stream an instant before the error.
TEST(SyncFence, FailureIsNeverSeenAsASignal) {
  constexpr int kRounds = 5000;
  std::atomic<int> fd = -1;
  std::atomic<int> wrong = 0;
  std::thread watcher([&] {
    for (int round = 0; round < kRounds; ++round) {
      int watched = -1;
      while ((watched = fd.load()) < 0) std::this_thread::yield();
      FenceState state = FenceState::PENDING;
      while (state == FenceState::PENDING) state = stateOf(watched);
      if (state != FenceState::ERROR) ++wrong;
      fd = -1;
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    NewFence made = createFence().value();
    fd = made.fence.get();
    made.signaller.fail();
    while (fd.load() >= 0) std::this_thread::yield();
  }
  watcher.join();
  EXPECT_EQ(wrong, 0);
}

TEST(SyncFence, WaitEndsWithSignalErrorAndDeadline) {
  NewFence made = createFence().value();
  const auto soon = steady_clock::now() + milliseconds(20);
  EXPECT_EQ(waitFence(made.fence.get(), soon).value(), FenceState::PENDING);
  EXPECT_GE(steady_clock::now(), soon);
  std::thread signaller([&] { made.signaller.signal(); });
  EXPECT_EQ(waitFence(made.fence.get()).value(), FenceState::SIGNALLED);
  signaller.join();

  NewFence failing = createFence().value();
  std::thread failer([&] { failing.signaller.fail(); });
  EXPECT_EQ(waitFence(failing.fence.get(), steady_clock::now() + std::chrono::hours(1)).value(),
            FenceState::ERROR);
  failer.join();
}

TEST(SyncFence, EventfdsPipesAndSocketsAreFences) {
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  EXPECT_EQ(stateOf(event.get()), FenceState::PENDING);
  ASSERT_EQ(::eventfd_write(event.get(), 1), 0);
  EXPECT_EQ(stateOf(event.get()), FenceState::SIGNALLED);

  for (const bool writes : {true, false}) {
    int pipe[2];
    ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
    const UniqueFd out(pipe[0]);
    UniqueFd in(pipe[1]);
    EXPECT_EQ(stateOf(out.get()), FenceState::PENDING);
    if (writes) {
      ASSERT_EQ(::write(in.get(), "x", 1), 1);
    }
    in.reset();
    EXPECT_EQ(stateOf(out.get()), writes ? FenceState::SIGNALLED : FenceState::ERROR);

    int sockets[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    const UniqueFd here(sockets[0]);
    UniqueFd there(sockets[1]);
    EXPECT_EQ(stateOf(here.get()), FenceState::PENDING);
    if (writes) {
      ASSERT_EQ(::write(there.get(), "x", 1), 1);
    }
    there.reset();
    EXPECT_EQ(stateOf(here.get()), writes ? FenceState::SIGNALLED : FenceState::ERROR);
  }
}

// A poll of an epoll polls the files in it, so the maker of these decides how long it takes. The
// same holds for sockets that wait for a lock of their users.
TEST(SyncFence, RefusesDescriptorsWhosePollCouldBlock) {
  const UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  const UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  const UniqueFd network(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const int fd : {epoll.get(), timer.get(), network.get()}) {
    const auto state = fenceState(fd);
    EXPECT_EQ(state.status().code(), ResultCode::BAD_DATA) << fd;
    EXPECT_THAT(state.status().message(),
                ::testing::HasSubstr("expected a fence: sync_file, eventfd, pipe or Unix socket"));
    EXPECT_EQ(waitFence(fd).status().code(), ResultCode::BAD_DATA) << fd;
  }
}

TEST(SyncFence, WhatCannotBePolledIsRefused) {
  const UniqueFd memory(::memfd_create("test", MFD_CLOEXEC));
  const UniqueFd folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd program(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd path(::open("/proc/self/exe", O_PATH | O_CLOEXEC));
  UniqueFd closed = null.duplicate();
  const int number = closed.get();
  closed.reset();
  for (const int fd : {memory.get(), folder.get(), program.get(), null.get(), path.get(), number,
                       -1, -1000, 1 << 30}) {
    EXPECT_EQ(fenceState(fd).status().code(), ResultCode::BAD_DATA) << fd;
    EXPECT_EQ(waitFence(fd).status().code(), ResultCode::BAD_DATA) << fd;
  }
}

}  // namespace
}  // namespace halyard
