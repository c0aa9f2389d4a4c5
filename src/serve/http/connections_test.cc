// Tests of the choice of connections that are closed.
#include "serve/http/connections.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "halyard/driver/unique_fd.h"

namespace halyard::serve {
namespace {

constexpr std::chrono::milliseconds kShort{2};

// An entry with a real socket, whose other end sees the close.
class Connection {
 public:
  Connection(Connections& all, const std::string& address) {
    std::array<int, 2> sockets = {};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
    own_ = UniqueFd(sockets[0]);
    other_ = UniqueFd(sockets[1]);
    entry_ = std::make_unique<Connections::Entry>(all, own_.get(), address);
    std::this_thread::sleep_for(kShort);  // their times differ
  }
  Connections::Entry& entry() { return *entry_; }
  bool isClosed() const {
    char byte = 0;
    return ::recv(other_.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }

 private:
  UniqueFd own_;
  UniqueFd other_;
  std::unique_ptr<Connections::Entry> entry_;
};

TEST(Connections, TheLongestWaitEndsFirst) {
  Connections all;
  Connection first(all, "a");
  Connection second(all, "b");
  Connection third(all, "c");
  first.entry().beginWait();
  ASSERT_TRUE(all.closeOne());
  EXPECT_TRUE(second.isClosed());
  ASSERT_TRUE(all.closeOne());
  EXPECT_TRUE(third.isClosed());
  EXPECT_FALSE(first.isClosed());
}

TEST(Connections, AnAddressWithManyLosesFirst) {
  Connections all;
  Connection honest(all, "a");
  Connection many(all, "b");
  Connection more(all, "b");
  ASSERT_TRUE(all.closeOne());
  EXPECT_TRUE(many.isClosed());
  EXPECT_FALSE(honest.isClosed());
}

TEST(Connections, WorkIsNotClosed) {
  Connections all;
  Connection working(all, "a");
  working.entry().beginWork();
  EXPECT_FALSE(all.closeOne());
  all.closeSlow(Connections::Clock::now(), std::chrono::milliseconds(0));
  EXPECT_FALSE(working.isClosed());
  working.entry().beginWait();
  EXPECT_TRUE(all.closeOne());
  EXPECT_FALSE(all.closeOne()) << "it is closed already";
}

TEST(Connections, SlowOnesEndAfterTheirTime) {
  Connections all;
  Connection slow(all, "a");
  const auto begin = Connections::Clock::now();
  all.closeSlow(begin, std::chrono::minutes(1));
  EXPECT_FALSE(slow.isClosed()) << "the time counts from the begin";
  std::this_thread::sleep_for(kShort);
  all.closeSlow(begin, kShort);
  EXPECT_TRUE(slow.isClosed());
}

}  // namespace
}  // namespace halyard::serve
