#include "serve/scheduling/request_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::serve {
namespace {

using ::testing::ElementsAre;

constexpr uint32_t kSizes[] = {1, 2, 4, 8};

QueuedRequestPtr request(uint32_t rows, uint32_t priority = 100,
                         std::optional<Clock::time_point> deadline = std::nullopt) {
  auto made = std::make_unique<QueuedRequest>();
  made->rows = rows;
  made->priority = priority;
  made->deadline = deadline;
  return made;
}

std::vector<uint32_t> rowsOf(const std::vector<QueuedRequestPtr>& requests) {
  std::vector<uint32_t> rows;
  for (const auto& each : requests) rows.push_back(each->rows);
  return rows;
}

RequestQueue queueOf(std::initializer_list<uint32_t> rows) {
  RequestQueue queue;
  for (const uint32_t each : rows) queue.push(request(each));
  return queue;
}

TEST(RequestQueue, BatchesAreFilledExactlyIfPossible) {
  RequestQueue queue = queueOf({1, 1, 1, 1, 1});
  EXPECT_EQ(queue.rows(), 5u);
  EXPECT_EQ(queue.takeBatch(kSizes).size(), 4u);
  EXPECT_EQ(queue.takeBatch(kSizes).size(), 1u);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.rows(), 0u);
}

TEST(RequestQueue, ALargeRequestIsPadded) {
  RequestQueue queue = queueOf({3, 8});
  EXPECT_THAT(rowsOf(queue.takeBatch(kSizes)), ElementsAre(3));
  EXPECT_THAT(rowsOf(queue.takeBatch(kSizes)), ElementsAre(8));
}

TEST(RequestQueue, TheLongestExactPrefixWins) {
  RequestQueue queue = queueOf({3, 1, 3, 1});
  EXPECT_THAT(rowsOf(queue.takeBatch(kSizes)), ElementsAre(3, 1, 3, 1));
}

TEST(RequestQueue, PriorityComesBeforeArrival) {
  RequestQueue queue;
  queue.push(request(1, 100));
  queue.push(request(2, 1));
  queue.push(request(4, 1));
  constexpr uint32_t kOne[] = {4};
  EXPECT_THAT(rowsOf(queue.takeBatch(kOne)), ElementsAre(2));
  EXPECT_THAT(rowsOf(queue.takeBatch(kOne)), ElementsAre(4));
  EXPECT_THAT(rowsOf(queue.takeBatch(kOne)), ElementsAre(1));
}

// The wait for a batch ends for the request that waits longest, at any priority.
TEST(RequestQueue, TheFirstEndOfAWaitIsKnown) {
  const Clock::time_point now = Clock::now();
  RequestQueue queue;
  for (const uint32_t each : {3, 2, 1}) {
    QueuedRequestPtr made = request(each, each);
    made->waitEnd = now + std::chrono::seconds(3 - each);
    queue.push(std::move(made));
  }
  EXPECT_EQ(queue.firstWaitEnd(), now);
  constexpr uint32_t kOne[] = {1};
  EXPECT_THAT(rowsOf(queue.takeBatch(kOne)), ElementsAre(1));
  EXPECT_EQ(queue.firstWaitEnd(), now);
}

TEST(RequestQueue, ExpiredRequestsAreTaken) {
  const Clock::time_point now = Clock::now();
  RequestQueue queue;
  queue.push(request(1, 100, now + std::chrono::seconds(9)));
  queue.push(request(2, 100, now));
  queue.push(request(4, 1, now));
  queue.push(request(8, 1));
  EXPECT_EQ(queue.nextDeadline(), now);
  EXPECT_THAT(rowsOf(queue.takeExpired(now)), ::testing::UnorderedElementsAre(2, 4));
  EXPECT_EQ(queue.nextDeadline(), now + std::chrono::seconds(9));
  EXPECT_EQ(queue.rows(), 9u);
  EXPECT_EQ(queue.takeAll().size(), 2u);
  EXPECT_EQ(queue.nextDeadline(), std::nullopt);
}

}  // namespace
}  // namespace halyard::serve
