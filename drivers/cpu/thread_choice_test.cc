#include "thread_choice.h"

#include <gtest/gtest.h>

namespace halyard::cpudriver {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

using Manner = ThreadChoice::Manner;

// A client that executes a model again and again.
class Client {
 public:
  explicit Client(bool knowsOrder = false) { choice_.setKnowsOrder(knowsOrder); }

  microseconds inOrder{100};  // as below
  microseconds divided{100};  // how long executions take
  microseconds alone{100};
  microseconds gapDivided{1};  // until the next request
  microseconds gapAlone{1};
  bool counts = true;
  int ordered = 0;  // executions in order so far

  // Returns how many of the executions were divided.
  int execute(int times) {
    int count = 0;
    for (int i = 0; i < times; ++i) {
      const Manner manner = choice_.begin(time_);
      const bool divides = manner != Manner::ALONE;
      count += divides ? 1 : 0;
      ordered += manner == Manner::IN_ORDER ? 1 : 0;
      time_ += manner == Manner::IN_ORDER ? inOrder : divides ? divided : alone;
      choice_.end(time_, counts);
      time_ += divides ? gapDivided : gapAlone;
    }
    return count;
  }
  ThreadChoice& choice() { return choice_; }
  ThreadChoice::TimePoint time() const { return time_; }

 private:
  ThreadChoice choice_;
  ThreadChoice::TimePoint time_{std::chrono::hours(1)};
};

constexpr int kTrial = ThreadChoice::kSettling + ThreadChoice::kSamples;

TEST(ThreadChoice, DividesBeforeAnythingIsKnown) {
  Client client;
  EXPECT_EQ(client.execute(ThreadChoice::kShortestInterval), ThreadChoice::kShortestInterval);
}

TEST(ThreadChoice, TakesOneThreadWhereThatIsFaster) {
  Client client;
  client.divided = microseconds(150);
  client.execute(ThreadChoice::kShortestInterval + kTrial + 1);
  const int dividedAfter = client.execute(10'000);
  EXPECT_LT(dividedAfter, 150);
  EXPECT_GT(dividedAfter, 0);  // it is tried
}

TEST(ThreadChoice, DividesWhereThatIsFaster) {
  Client client;
  client.alone = microseconds(190);
  const int alone = 10'000 - client.execute(10'000);
  EXPECT_LT(alone, 100);
  EXPECT_GT(alone, kTrial);  // it is tried more than once
}

TEST(ThreadChoice, WhatIsAsFastIsNotTaken) {
  Client client;
  client.alone = microseconds(98);
  EXPECT_GT(client.execute(10'000), 9'500);
}

TEST(ThreadChoice, FindsOutWhenItChanges) {
  Client client;
  client.divided = microseconds(150);
  client.execute(5'000);
  std::swap(client.divided, client.alone);
  client.execute(ThreadChoice::kLongestInterval + kTrial);
  EXPECT_GT(client.execute(100), 60);
  std::swap(client.divided, client.alone);
  client.execute(ThreadChoice::kLongestInterval + kTrial);
  EXPECT_LT(client.execute(100), 40);
}

TEST(ThreadChoice, TrialsTakeLittleOfTheTime) {
  for (const int alone : {101, 110, 130, 170}) {
    Client client;
    client.alone = microseconds(alone);
    client.gapAlone = client.gapDivided = microseconds(0);
    client.execute(10'000);  // until it is known
    const int executions = 100'000;
    const auto before = client.time();
    client.execute(executions);
    const auto lost = client.time() - before - executions * client.divided;
    const auto lostInTrial = kTrial * (client.alone - client.divided);
    EXPECT_LE(lost, executions * client.divided / ThreadChoice::kShareOfTime + lostInTrial)
        << alone;
  }
}

TEST(ThreadChoice, TheTimeToTheNextRequestCounts) {
  Client client;
  client.divided = microseconds(95);
  client.gapDivided = microseconds(20);
  client.execute(ThreadChoice::kShortestInterval + kTrial + 1);
  EXPECT_LT(client.execute(1'000), 100);
}

TEST(ThreadChoice, AClientThatComesMuchLaterDoesNot) {
  Client client;
  client.divided = microseconds(80);
  client.gapDivided = milliseconds(20);
  client.gapAlone = milliseconds(10);
  EXPECT_GT(client.execute(1'000), 900);
}

TEST(ThreadChoice, OddExecutionsDoNotDecide) {
  Client client;
  client.execute(ThreadChoice::kShortestInterval + ThreadChoice::kSettling + 1);
  client.alone = microseconds(10);
  client.execute(ThreadChoice::kSamples / 2);
  client.alone = microseconds(100);
  EXPECT_GT(client.execute(1'000), 900);
}

TEST(ThreadChoice, LongExecutionsAreAlwaysDivided) {
  Client client;
  client.divided = ThreadChoice::kLongest + microseconds(100);
  client.alone = ThreadChoice::kLongest / 2;
  EXPECT_EQ(client.execute(1'000), 1'000);
}

TEST(ThreadChoice, LongExecutionsAreInOrderWhereThatIsFaster) {
  Client client(/*knowsOrder=*/true);
  client.divided = ThreadChoice::kLongest * 5 / 2;
  client.inOrder = ThreadChoice::kLongest * 9 / 4;
  EXPECT_EQ(client.execute(1'000), 1'000);
  EXPECT_GT(client.ordered, 900);
  EXPECT_LT(client.ordered, 1'000);  // the other is tried
  std::swap(client.divided, client.inOrder);
  client.execute(ThreadChoice::kLongestInterval + kTrial);
  client.ordered = 0;
  EXPECT_EQ(client.execute(1'000), 1'000);
  EXPECT_LT(client.ordered, 100);
  EXPECT_GT(client.ordered, 0);
}

TEST(ThreadChoice, OrderIsNotTriedWhereItIsNothingElse) {
  Client client;
  client.divided = ThreadChoice::kLongest * 2;
  client.inOrder = ThreadChoice::kLongest;
  client.execute(3'000);
  EXPECT_EQ(client.ordered, 0);
}

TEST(ThreadChoice, ShortExecutionsTryOneThreadInstead) {
  Client client(/*knowsOrder=*/true);
  client.divided = microseconds(150);
  client.inOrder = microseconds(50);
  EXPECT_LT(client.execute(10'000), 200);
  EXPECT_EQ(client.ordered, 0);
}

TEST(ThreadChoice, WhatDoesNotCountIsNoTrial) {
  Client client;
  client.divided = microseconds(150);
  client.counts = false;
  EXPECT_EQ(client.execute(1'000), 1'000);
}

TEST(ThreadChoice, ExecutionsAtTheSameTimeSayNothing) {
  Client client;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(client.choice().begin(client.time()), Manner::DIVIDED);
    EXPECT_EQ(client.choice().begin(client.time()), Manner::DIVIDED);
    client.choice().end(client.time() + microseconds(100), true);
    client.choice().end(client.time() + microseconds(100), true);
  }
}

}  // namespace
}  // namespace halyard::cpudriver
