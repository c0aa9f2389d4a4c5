// That idle memory is given back, and only that.
#include "idle_memory.h"

#include <gtest/gtest.h>

#include <atomic>

namespace halyard::cpudriver {
namespace {

class FakeKeeper final : public IdleMemory::Keeper {
 public:
  bool releaseUnusedSince(IdleMemory::Clock::time_point before) override {
    ++looks;
    if (usedAt.load() < before.time_since_epoch().count()) keeps = false;
    return keeps;
  }
  void use() {
    usedAt = IdleMemory::Clock::now().time_since_epoch().count();
    keeps = true;
  }

  std::atomic<bool> keeps{false};
  std::atomic<int> looks{0};
  std::atomic<IdleMemory::Clock::rep> usedAt{0};
};

TEST(IdleMemoryTest, GivesBackWhatNobodyHasUsedAndBeginsAgain) {
  IdleMemory idle(std::chrono::milliseconds(1));
  FakeKeeper keeper;
  idle.add(&keeper);
  // The second time, its thread has ended in between, or is about to.
  for (int round = 0; round < 20; ++round) {
    keeper.use();
    idle.startWatching();
    while (keeper.keeps) std::this_thread::yield();
  }
  idle.remove(&keeper);
}

TEST(IdleMemoryTest, AsksNobodyWhoHasGone) {
  IdleMemory idle(std::chrono::milliseconds(1));
  FakeKeeper gone;
  FakeKeeper other;
  idle.add(&gone);
  idle.add(&other);
  idle.remove(&gone);
  other.use();
  idle.startWatching();
  while (other.keeps) std::this_thread::yield();
  EXPECT_EQ(gone.looks, 0);
  idle.remove(&other);
}

TEST(IdleMemoryTest, LooksAtWhatIsInUseAgainLater) {
  IdleMemory idle(std::chrono::milliseconds(1));
  FakeKeeper keeper;
  idle.add(&keeper);
  keeper.usedAt = IdleMemory::Clock::time_point::max().time_since_epoch().count();
  keeper.keeps = true;
  idle.startWatching();
  while (keeper.looks < 3) std::this_thread::yield();
  EXPECT_TRUE(keeper.keeps);
  idle.remove(&keeper);
}

}  // namespace
}  // namespace halyard::cpudriver
