#include "base/process_generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "base/made_once.h"

namespace halyard {
namespace {

using ::testing::HasSubstr;

// Returns the exit status of a child that runs `work`; -1 when it does not end by itself within 20
// s.
int statusOfChild(const std::function<int()>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(20);
    ::_exit(work());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ProcessStampTest, TellsAChildFromItsParent) {
  const ProcessStamp stamp;
  EXPECT_TRUE(stamp.isOfThisProcess());
  EXPECT_TRUE(stamp.check("x").ok());
  EXPECT_EQ(statusOfChild([&] {
              const ProcessStamp own;
              if (!own.isOfThisProcess()) return 1;
              const Status status = stamp.check("the model");
              if (status.code() != ResultCode::BAD_STATE) return 2;
              return status.message().starts_with("the model was made before fork()") ? 0 : 3;
            }),
            0);
  EXPECT_TRUE(stamp.isOfThisProcess());
}

TEST(ProcessStampTest, GrandchildrenAreProcessesOfTheirOwnToo) {
  const ProcessStamp first;
  EXPECT_EQ(statusOfChild([&] {
              const ProcessStamp second;
              return statusOfChild(
                  [&] { return !first.isOfThisProcess() && !second.isOfThisProcess() ? 0 : 1; });
            }),
            0);
}

TEST(PerProcessTest, AChildMakesItsOwn) {
  static constinit PerProcess<int> number;
  EXPECT_EQ(number.find(), nullptr);
  const auto makeWith = [](int value) { return [value] { return std::make_unique<int>(value); }; };
  int& made = number.get(makeWith(1));
  EXPECT_EQ(&number.get(makeWith(2)), &made);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(statusOfChild([&] {
              if (number.find() != nullptr) return 1;
              if (number.get(makeWith(3)) != 3) return 2;
              if (number.get(makeWith(4)) != 3) return 3;
              return made == 1 ? 0 : 4;
            }),
            0);
  EXPECT_EQ(number.find(), &made);
}

TEST(PerProcessTest, AForkInTheMiddleOfMakingDoesNotHoldUpTheChild) {
  static constinit PerProcess<int> number;
  static std::atomic<int> stage = 0;
  std::thread maker([] {
    number.get([] {
      stage = 1;
      while (stage != 2) std::this_thread::yield();
      return std::make_unique<int>(1);
    });
  });
  while (stage != 1) std::this_thread::yield();
  EXPECT_EQ(statusOfChild(
                [] { return number.get([] { return std::make_unique<int>(5); }) == 5 ? 0 : 1; }),
            0);
  stage = 2;
  maker.join();
  EXPECT_EQ(*number.find(), 1);
}

TEST(PerProcessTest, AThrowingMakerMayBeTriedAgain) {
  static constinit PerProcess<int> number;
  EXPECT_THROW(number.get([]() -> std::unique_ptr<int> { throw std::bad_alloc(); }),
               std::bad_alloc);
  EXPECT_EQ(number.get([] { return std::make_unique<int>(7); }), 7);
}

std::atomic<int> resets = 0;

TEST(ResetInChildrenTest, RunsThereAndNotHere) {
  resetInChildren([] { ++resets; });
  EXPECT_EQ(statusOfChild([] { return resets > 0 ? 0 : 1; }), 0);
  EXPECT_EQ(resets, 0);
}

TEST(MadeOnceTest, MakesOneValueForAPlace) {
  static std::atomic<int> made = 0;
  const auto place = []() -> const int& { return madeOnce([] { return ++made; }); };
  const int& first = place();
  EXPECT_EQ(&place(), &first);
  EXPECT_EQ(made, 1);
  EXPECT_NE(&madeOnce([] { return 1; }), &madeOnce([] { return 1; }));
}

TEST(MadeOnceTest, AForkInTheMiddleOfMakingDoesNotHoldUpTheChild) {
  static std::atomic<int> stage = 0;
  static std::atomic<bool> isChild = false;
  const auto place = []() -> const int& {
    return madeOnce([] {
      if (isChild) return 2;
      stage = 1;
      while (stage != 2) std::this_thread::yield();
      return 1;
    });
  };
  std::thread maker([&] { EXPECT_EQ(place(), 1); });
  while (stage != 1) std::this_thread::yield();
  EXPECT_EQ(statusOfChild([&] {
              isChild = true;
              return place() == 2 ? 0 : 1;
            }),
            0);
  stage = 2;
  maker.join();
}

}  // namespace
}  // namespace halyard
