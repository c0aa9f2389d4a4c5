// Tests of the RPC thread's effects on the application.
#include "hal/wire/rpc_loop.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hal/client/driver_connection.h"

namespace halyard::hal {
namespace {

TEST(RpcLoopTest, RunsTasksInOrder) {
  auto loop = RpcLoop::start();
  ASSERT_TRUE(loop.ok()) << loop.status().toString();
  std::vector<int> seen;
  for (int i = 0; i < 1000; ++i) {
    (*loop)->post([&seen, i](RpcLoop::Context&) { seen.push_back(i); });
  }
  loop->reset();  // joins the thread
  ASSERT_EQ(seen.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
}

TEST(RpcLoopTest, SigpipeStaysTheApplications) {
  for (const auto disposition : {SIG_DFL, SIG_IGN}) {
    ::signal(SIGPIPE, disposition);
    auto loop = RpcLoop::start();
    ASSERT_TRUE(loop.ok());
    struct sigaction now {};
    ::sigaction(SIGPIPE, nullptr, &now);
    EXPECT_EQ(now.sa_handler, disposition);
  }
  ::signal(SIGPIPE, SIG_DFL);
}

TEST(RpcLoopTest, WritingToABrokenConnectionDoesNotKill) {
  ::signal(SIGPIPE, SIG_DFL);
  auto loop = RpcLoop::start();
  ASSERT_TRUE(loop.ok());
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  ::close(ends[1]);
  Completion<bool> done;
  const int fd = ends[0];
  (*loop)->post([&done, fd](RpcLoop::Context& context) {
    auto stream = context.io.lowLevelProvider->wrapUnixSocketFd(kj::AutoCloseFd(fd));
    auto write = kj::evalNow([&] { return stream->write("x", 1); });
    context.tasks.add(
        write.then([&done] { done.set(false); }, [&done](kj::Exception&&) { done.set(true); })
            .attach(kj::mv(stream)));
  });
  EXPECT_TRUE(done.wait()) << "the write went through";
}

TEST(RpcLoopTest, TakesNoSignalsOfTheApplication) {
  auto loop = RpcLoop::start();
  ASSERT_TRUE(loop.ok());
  Completion<bool> blocked;
  (*loop)->post([&blocked](RpcLoop::Context&) {
    sigset_t mask;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    blocked.set(::sigismember(&mask, SIGUSR1) == 1 && ::sigismember(&mask, SIGPIPE) == 1 &&
                ::sigismember(&mask, SIGSEGV) == 0);
  });
  EXPECT_TRUE(blocked.wait());
  sigset_t mine;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mine);
  EXPECT_EQ(::sigismember(&mine, SIGUSR1), 0);
}

}  // namespace
}  // namespace halyard::hal
