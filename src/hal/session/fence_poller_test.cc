// Tests of FencePoller: signals, errors, deadlines and cancellation, with few fences and with many.
#include "hal/session/fence_poller.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace halyard::hal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Stores the results of a watch and waits for them.
class WatchResult {
 public:
  FencePoller::Callback callback() {
    return [this](FenceState state) {
      const std::lock_guard lock(mutex_);
      ++calls_;
      state_ = state;
      changed_.notify_all();
    };
  }
  FenceState wait() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [this] { return calls_ != 0; }));
    return state_;
  }
  int calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int calls_ = 0;
  FenceState state_ = FenceState::PENDING;
};

std::vector<ForeignFd> duplicatesOf(const std::vector<const NewFence*>& fences) {
  std::vector<ForeignFd> duplicates;
  for (const NewFence* fence : fences) duplicates.emplace_back(fence->fence.duplicate());
  return duplicates;
}

class FencePollerTest : public ::testing::Test {
 protected:
  uint64_t watch(const std::vector<const NewFence*>& fences, WatchResult& told,
                 std::optional<Clock::time_point> deadline = std::nullopt) {
    const auto number = poller_->watch(duplicatesOf(fences), deadline, told.callback());
    EXPECT_TRUE(number.ok()) << number.status().toString();
    return number.ok() ? *number : 0;
  }
  // Afterwards, all callbacks that were due before have been called.
  void settle() {
    NewFence fence = createFence().value();
    WatchResult told;
    watch({&fence}, told);
    fence.signaller.signal();
    EXPECT_EQ(told.wait(), FenceState::SIGNALLED);
  }

  std::unique_ptr<FencePoller> poller_ = FencePoller::start().value();
};

TEST_F(FencePollerTest, TellsWhenTheLastHasSignalled) {
  NewFence first = createFence().value();
  NewFence second = createFence().value();
  WatchResult told;
  watch({&first, &second, &first}, told);
  first.signaller.signal();
  settle();
  EXPECT_EQ(told.calls(), 0);
  second.signaller.signal();
  EXPECT_EQ(told.wait(), FenceState::SIGNALLED);
  settle();
  EXPECT_EQ(told.calls(), 1);
}

TEST_F(FencePollerTest, TellsOfTheFirstErrorAtOnce) {
  NewFence pending = createFence().value();
  NewFence failing = createFence().value();
  WatchResult told;
  watch({&pending, &failing}, told, Clock::now() + hours(1));
  failing.signaller.fail();
  EXPECT_EQ(told.wait(), FenceState::ERROR);
  pending.signaller.signal();
  settle();
  EXPECT_EQ(told.calls(), 1);
}

TEST_F(FencePollerTest, FencesThatAreNotPendingAreToldToo) {
  NewFence signalled = createFence().value();
  signalled.signaller.signal();
  NewFence failed = createFence().value();
  failed.signaller.fail();
  WatchResult good;
  WatchResult bad;
  watch({&signalled}, good);
  watch({&failed}, bad);
  EXPECT_EQ(good.wait(), FenceState::SIGNALLED);
  EXPECT_EQ(bad.wait(), FenceState::ERROR);
}

TEST_F(FencePollerTest, DeadlinesInAnyOrder) {
  const NewFence fence = createFence().value();
  const auto now = Clock::now();
  WatchResult late;
  WatchResult early;
  WatchResult timer;
  watch({&fence}, late, now + milliseconds(60));
  watch({&fence}, early, now + milliseconds(20));
  watch({}, timer, now + milliseconds(40));
  EXPECT_EQ(early.wait(), FenceState::PENDING);
  EXPECT_GE(Clock::now(), now + milliseconds(20));
  EXPECT_EQ(timer.wait(), FenceState::PENDING);
  EXPECT_GE(Clock::now(), now + milliseconds(40));
  EXPECT_EQ(late.wait(), FenceState::PENDING);
  EXPECT_GE(Clock::now(), now + milliseconds(60));
}

TEST_F(FencePollerTest, CancelledWatchesAreNotTold) {
  NewFence fence = createFence().value();
  WatchResult told;
  const uint64_t number = watch({&fence}, told, Clock::now() + hours(1));
  EXPECT_TRUE(poller_->cancel(number));
  EXPECT_FALSE(poller_->cancel(number));
  fence.signaller.signal();
  settle();
  EXPECT_EQ(told.calls(), 0);
  EXPECT_FALSE(poller_->cancel(12345));
}

TEST_F(FencePollerTest, WhatCannotBePolledIsRefusedAndNotTold) {
  const NewFence fence = createFence().value();
  std::vector<ForeignFd> fences = duplicatesOf({&fence});
  fences.emplace_back(::memfd_create("test", MFD_CLOEXEC));
  const auto held = std::make_shared<int>();
  WatchResult told;
  const auto number =
      poller_->watch(std::move(fences), std::nullopt,
                     [held, tell = told.callback()](FenceState state) { tell(state); });
  EXPECT_EQ(number.status().code(), ResultCode::BAD_DATA);
  EXPECT_EQ(held.use_count(), 1);
  settle();
  EXPECT_EQ(told.calls(), 0);
}

TEST_F(FencePollerTest, CallbackMayWatchCancelAndEndThePoller) {
  NewFence first = createFence().value();
  NewFence second = createFence().value();
  WatchResult told;
  const auto number = poller_->watch(duplicatesOf({&first}), std::nullopt, [&](FenceState) {
    EXPECT_TRUE(poller_->cancel(watch({&second}, told)));
    watch({&second}, told);
    second.signaller.signal();
  });
  ASSERT_TRUE(number.ok());
  first.signaller.signal();
  EXPECT_EQ(told.wait(), FenceState::SIGNALLED);

  NewFence third = createFence().value();
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  const auto last = poller_->watch(duplicatesOf({&third}), std::nullopt, [&](FenceState) {
    poller_.reset();
    const std::lock_guard lock(mutex);
    ended = true;
    changed.notify_all();
  });
  ASSERT_TRUE(last.ok());
  third.signaller.signal();
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return ended; }));
}

TEST_F(FencePollerTest, ThousandsOfFences) {
  constexpr int kFences = 3000;
  std::vector<NewFence> fences;
  std::atomic<int> signalled = 0;
  std::atomic<int> failed = 0;
  for (int i = 0; i < kFences; ++i) {
    fences.push_back(createFence().value());
    const auto number = poller_->watch(
        duplicatesOf({&fences.back()}), Clock::now() + hours(1),
        [&](FenceState state) { ++(state == FenceState::SIGNALLED ? signalled : failed); });
    ASSERT_TRUE(number.ok()) << number.status().toString();
  }
  for (int i = kFences; i-- > 0;) {
    if (i % 3 == 0) {
      fences[static_cast<size_t>(i)].signaller.fail();
    } else {
      fences[static_cast<size_t>(i)].signaller.signal();
    }
  }
  const auto limit = Clock::now() + std::chrono::seconds(60);
  while (signalled + failed < kFences && Clock::now() < limit) settle();
  EXPECT_EQ(failed, kFences / 3);
  EXPECT_EQ(signalled, kFences - kFences / 3);
}

TEST_F(FencePollerTest, EndingDropsWhatIsWatched) {
  const NewFence fence = createFence().value();
  const auto held = std::make_shared<int>();
  ASSERT_TRUE(poller_->watch(duplicatesOf({&fence}), std::nullopt, [held](FenceState) {}).ok());
  poller_.reset();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace halyard::hal
