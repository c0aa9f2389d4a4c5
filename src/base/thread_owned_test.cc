#include "base/thread_owned.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

namespace halyard {
namespace {

struct Counted {
  Counted() { ++living; }
  ~Counted() { --living; }
  static inline int living = 0;
  std::string text;
};

Counted& counted() { return threadOwned<Counted, struct Tag>(); }

TEST(ThreadOwnedTest, EndsWithItsThread) {
  Counted& own = counted();
  EXPECT_EQ(&counted(), &own);
  std::thread other([&] {
    EXPECT_NE(&counted(), &own);
    EXPECT_EQ(Counted::living, 2);
  });
  other.join();
  EXPECT_EQ(Counted::living, 1);
}

TEST(ThreadOwnedTest, CanBeUsedWhenTheThreadsObjectsHaveEnded) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    // Runs in exit(), after the objects of this thread have ended.
    std::atexit([] {
      if (Counted::living != 0) ::_exit(1);
      counted().text.assign(100, 'x');
      ::_exit(counted().text.size() == 100 ? 7 : 2);
    });
    counted().text = "y";
    std::exit(3);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace halyard
