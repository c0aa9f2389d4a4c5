#include "hal/core/completion.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace halyard::hal {
namespace {

TEST(Completion, GivesTheValueThatWasSetFirst) {
  Completion<std::unique_ptr<int>> completion;
  completion.set(std::make_unique<int>(1));
  completion.set(std::make_unique<int>(2));
  EXPECT_EQ(*completion.wait(), 1);
}

TEST(Completion, WaitsForAnotherThread) {
  Completion<int> completion;
  std::thread setter([&] { completion.set(7); });
  EXPECT_EQ(completion.wait(), 7);
  setter.join();
}

// The sanitizers detect whether `set` uses the object after the waiter has destroyed it.
TEST(Completion, MayEndAsSoonAsTheValueIsThere) {
  for (int i = 0; i < 2000; ++i) {
    auto completion = std::make_unique<Completion<int>>();
    std::thread setter([pointer = completion.get(), i] { pointer->set(i); });
    EXPECT_EQ(completion->wait(), i);
    completion.reset();
    setter.join();
  }
}

}  // namespace
}  // namespace halyard::hal
