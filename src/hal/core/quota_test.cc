#include "hal/core/quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace halyard::hal {
namespace {

using ::testing::HasSubstr;
using Resource = Quota::Resource;

TEST(QuotaTest, ChargesUpToTheLimitAndGivesBack) {
  QuotaLimits limits;
  limits.models = 2;
  const auto quota = Quota::create(limits, "the client");
  auto first = quota->charge(Resource::MODELS, 1);
  ASSERT_TRUE(first.ok());
  {
    auto second = quota->charge(Resource::MODELS, 1);
    ASSERT_TRUE(second.ok());
    const auto third = quota->charge(Resource::MODELS, 1);
    EXPECT_EQ(third.status().code(), ResultCode::RESOURCE_EXHAUSTED_TRANSIENT);
    EXPECT_EQ(third.status().message(),
              "the client has 2 of 2 prepared models, and asks for 1 more");
  }
  EXPECT_EQ(quota->held(Resource::MODELS), 1u);
  EXPECT_TRUE(quota->charge(Resource::MODELS, 1).ok());
  EXPECT_TRUE(quota->charge(Resource::BUFFERS, UINT64_MAX / 2).ok());  // no limit
}

TEST(QuotaTest, MoreThanThereEverIsIsPersistent) {
  QuotaLimits limits;
  limits.memoryBytes = 1000;
  const auto quota = Quota::create(limits, "the client");
  const auto charge = quota->charge(Resource::MEMORY, 1001);
  EXPECT_EQ(charge.status().code(), ResultCode::RESOURCE_EXHAUSTED_PERSISTENT);
  EXPECT_EQ(charge.status().message(),
            "the client asks for 1001 bytes of memory; it may have 1000");
  EXPECT_EQ(quota->charge(Resource::MEMORY, UINT64_MAX).status().code(),
            ResultCode::RESOURCE_EXHAUSTED_PERSISTENT);
}

TEST(QuotaTest, ChargesMoveAndGrow) {
  QuotaLimits limits;
  limits.memoryBytes = 100;
  const auto quota = Quota::create(limits, "the client");
  Quota::Charge kept;
  {
    auto charge = quota->charge(Resource::MEMORY, 30);
    ASSERT_TRUE(charge.ok());
    kept = std::move(*charge);
  }
  EXPECT_EQ(quota->held(Resource::MEMORY), 30u);
  EXPECT_TRUE(kept.add(70).ok());
  EXPECT_EQ(kept.add(1).code(), ResultCode::RESOURCE_EXHAUSTED_TRANSIENT);
  EXPECT_EQ(quota->held(Resource::MEMORY), 100u);
  kept = Quota::Charge();
  EXPECT_EQ(quota->held(Resource::MEMORY), 0u);
}

TEST(QuotaTest, WhatIsAboveIsChargedToo) {
  QuotaLimits userLimits;
  userLimits.models = 3;
  const auto user = Quota::create(userLimits, "user 7");
  QuotaLimits limits;
  limits.models = 2;
  const auto a = Quota::create(limits, "the client", user);
  const auto b = Quota::create(limits, "the client", user);
  const auto ofA = a->charge(Resource::MODELS, 2);
  const auto ofB = b->charge(Resource::MODELS, 1);
  ASSERT_TRUE(ofA.ok() && ofB.ok());
  const auto refused = b->charge(Resource::MODELS, 1);
  EXPECT_THAT(refused.status().message(), HasSubstr("user 7 has 3 of 3"));
  EXPECT_EQ(b->held(Resource::MODELS), 1u);  // no charge remains
  EXPECT_EQ(user->held(Resource::MODELS), 3u);
}

TEST(QuotaTest, ThreadsNeverGetMoreThanThereIs) {
  QuotaLimits limits;
  limits.executions = 3;
  const auto quota = Quota::create(limits, "the client");
  std::atomic<int> inside = 0;
  std::atomic<bool> tooMany = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5000; ++round) {
        const auto charge = quota->charge(Resource::EXECUTIONS, 1);
        if (!charge.ok()) continue;
        if (++inside > 3) tooMany = true;
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(tooMany);
  EXPECT_EQ(quota->held(Resource::EXECUTIONS), 0u);
}

}  // namespace
}  // namespace halyard::hal
