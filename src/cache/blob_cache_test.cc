// Tests of BlobCache: policies, limits, the flattened form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/blob_format.h"
#include "cache/crc32c.h"
#include "cache/testing/cache_folder.h"
#include "halyard/driver/blob_cache.h"

namespace halyard::hal {
namespace {

using cache::testing::Bytes;
using cache::testing::bytesOf;
using cache::testing::someBytes;
using ::testing::HasSubstr;
using Select = BlobCache::Select;
using Capacity = BlobCache::Capacity;

constexpr BlobCache::Limits kLimits = {.key = 12, .value = 16, .total = 26};

Bytes key(size_t number) { return {static_cast<uint8_t>(number)}; }

TEST(Crc32c, HasTheKnownValues) {
  EXPECT_EQ(cache::crc32c({}), 0u);
  EXPECT_EQ(cache::crc32c(bytesOf("123456789")), 0xe3069283u);
  EXPECT_EQ(cache::crc32c(Bytes(32, 0)), 0x8a9136aau);
  EXPECT_EQ(cache::crc32c(Bytes(32, 0xff)), 0x62a8ab43u);
  const Bytes bytes = someBytes(100, 1);
  for (size_t at = 0; at <= bytes.size(); ++at) {
    EXPECT_EQ(
        cache::crc32c(std::span(bytes).subspan(at), cache::crc32c(std::span(bytes).first(at))),
        cache::crc32c(bytes));
  }
}

TEST(BlobCache, OneAndTwoValues) {
  BlobCache cache(kLimits);
  EXPECT_EQ(cache.get(bytesOf("abcd")), std::nullopt);
  cache.set(bytesOf("abcd"), bytesOf("efgh"));
  cache.set(bytesOf("ij"), bytesOf("klmn"));
  EXPECT_EQ(cache.get(bytesOf("abcd")), bytesOf("efgh"));
  EXPECT_EQ(cache.get(bytesOf("ij")), bytesOf("klmn"));
  EXPECT_EQ(cache.get(bytesOf("abc")), std::nullopt);
  EXPECT_EQ(cache.totalBytes(), 14u);
}

TEST(BlobCache, GetIntoABuffer) {
  BlobCache cache(kLimits);
  cache.set(bytesOf("abcd"), bytesOf("efgh"));
  Bytes buffer(6, 0xee);
  EXPECT_EQ(cache.get(bytesOf("abcd"), std::span(buffer).first(4)), 4u);
  EXPECT_EQ(buffer, (Bytes{'e', 'f', 'g', 'h', 0xee, 0xee}));
  buffer.assign(6, 0xee);
  EXPECT_EQ(cache.get(bytesOf("abcd"), std::span(buffer).first(3)), 4u);
  EXPECT_EQ(buffer, Bytes(6, 0xee));  // the buffer is too small, so nothing is written
  EXPECT_EQ(cache.get(bytesOf("abcd"), std::span<uint8_t>()), 4u);
  EXPECT_EQ(cache.get(bytesOf("none"), buffer), 0u);
}

TEST(BlobCache, GetIntoAllocatedMemory) {
  BlobCache cache(kLimits);
  cache.set(bytesOf("abcd"), bytesOf("efgh"));
  Bytes memory;
  void* value = nullptr;
  EXPECT_EQ(cache.get(bytesOf("abcd"), &value,
                      [&memory](size_t size) {
                        memory.resize(size);
                        return static_cast<void*>(memory.data());
                      }),
            4u);
  EXPECT_EQ(value, memory.data());
  EXPECT_EQ(memory, bytesOf("efgh"));
  value = &memory;
  EXPECT_EQ(cache.get(bytesOf("abcd"), &value, [](size_t) { return nullptr; }), 4u);
  EXPECT_EQ(value, nullptr);
  value = &memory;
  EXPECT_EQ(cache.get(bytesOf("none"), &value, [](size_t) -> void* { return nullptr; }), 0u);
  EXPECT_EQ(value, nullptr);
}

TEST(BlobCache, TheLaterValueWins) {
  BlobCache cache(kLimits);
  cache.set(bytesOf("abcd"), bytesOf("efgh"));
  cache.set(bytesOf("abcd"), bytesOf("ijkl"));
  EXPECT_EQ(cache.get(bytesOf("abcd")), bytesOf("ijkl"));
  EXPECT_EQ(cache.entries(), 1u);
}

TEST(BlobCache, AValueThatIsTooLargeLeavesTheFirst) {
  BlobCache cache(kLimits);
  cache.set(bytesOf("abcd"), bytesOf("efgh"));
  cache.set(bytesOf("abcd"), Bytes(kLimits.value + 1, 1));
  EXPECT_EQ(cache.get(bytesOf("abcd")), bytesOf("efgh"));
}

TEST(BlobCache, LimitsAreInclusive) {
  BlobCache cache(kLimits);
  cache.set(Bytes(kLimits.key + 1, 'k'), bytesOf("v"));
  EXPECT_EQ(cache.entries(), 0u);
  EXPECT_EQ(cache.get(Bytes(kLimits.key + 1, 'k')), std::nullopt);
  cache.set(Bytes(kLimits.key, 'k'), bytesOf("v"));
  EXPECT_EQ(cache.entries(), 1u);
  cache.clear();
  cache.set(bytesOf("k"), Bytes(kLimits.value + 1, 'v'));
  EXPECT_EQ(cache.entries(), 0u);
  cache.set(bytesOf("k"), Bytes(kLimits.value, 'v'));
  EXPECT_EQ(cache.entries(), 1u);
  cache.clear();
  // Each of the two fits alone, but not both together.
  cache.set(Bytes(kLimits.key, 'k'), Bytes(kLimits.total - kLimits.key + 1, 'v'));
  EXPECT_EQ(cache.entries(), 0u);
  cache.set(Bytes(kLimits.key, 'k'), Bytes(kLimits.total - kLimits.key, 'v'));
  EXPECT_EQ(cache.entries(), 1u);
  EXPECT_EQ(cache.totalBytes(), kLimits.total);
}

TEST(BlobCache, NothingIsNoKeyAndNoValue) {
  BlobCache cache(kLimits);
  cache.set({}, bytesOf("v"));
  cache.set(bytesOf("k"), {});
  EXPECT_EQ(cache.entries(), 0u);
  cache.set(bytesOf("k"), bytesOf("v"));
  cache.set(bytesOf("k"), {});
  EXPECT_EQ(cache.get(bytesOf("k")), bytesOf("v"));
}

TEST(BlobCache, KeysAreSortedByLengthAndThenBytes) {
  BlobCache cache({100, 100, 1000});
  for (const char* name : {"b", "aa", "a", "", "ab", "c"}) cache.set(bytesOf(name), bytesOf("v"));
  EXPECT_EQ(cache.entries(), 5u);
  for (const char* name : {"b", "aa", "a", "ab", "c"}) {
    EXPECT_EQ(cache.get(bytesOf(name)), bytesOf("v")) << name;
  }
}

class BlobPolicyTest : public ::testing::TestWithParam<std::tuple<Select, Capacity>> {
 protected:
  BlobCache::Policy policy() const { return {std::get<0>(GetParam()), std::get<1>(GetParam())}; }
};

TEST_P(BlobPolicyTest, TheTotalIsNeverExceeded) {
  BlobCache cache({12, 16, 26}, policy());
  uint32_t state = 7;
  for (int i = 0; i < 3000; ++i) {
    state = state * 1664525U + 1013904223U;
    const Bytes k = someBytes(1 + (state >> 8) % 3, (state >> 16) % 5);
    const Bytes v = someBytes(1 + (state >> 12) % 17, i);
    cache.set(k, v);
    ASSERT_LE(cache.totalBytes(), 26u);
    const auto found = cache.get(k);
    if (found && found->size() == v.size() && v.size() <= 16) {
      ASSERT_EQ(*found, v);
    }
  }
}

TEST_P(BlobPolicyTest, EvictsAsFarAsThePolicySays) {
  constexpr size_t kEntries = 10;  // of two bytes each
  BlobCache cache({1, 2, 2 * kEntries}, policy());
  for (size_t i = 0; i < kEntries; ++i) cache.set(key(i), bytesOf("x"));
  EXPECT_EQ(cache.entries(), kEntries);
  cache.set(key(kEntries), bytesOf("x"));
  const bool fit = policy().capacity == Capacity::FIT;
  EXPECT_EQ(cache.entries(), fit ? kEntries : kEntries / 2 + 1);
  EXPECT_EQ(cache.get(key(kEntries)), bytesOf("x"));
  if (policy().select == Select::LRU) {
    for (size_t i = 0; i < kEntries; ++i) {
      EXPECT_EQ(cache.get(key(i)).has_value(), i >= (fit ? 1 : kEntries / 2)) << i;
    }
  }
}

TEST_P(BlobPolicyTest, AnEntryThatGrows) {
  BlobCache cache({1, 12, 20}, policy());
  for (size_t i = 0; i < 10; ++i) cache.set(key(i), bytesOf("x"));
  cache.set(key(3), Bytes(8, 'y'));
  EXPECT_EQ(cache.get(key(3)), Bytes(8, 'y'));
  EXPECT_LE(cache.totalBytes(), 20u);
  if (policy().capacity == Capacity::FIT) {
    EXPECT_GE(cache.totalBytes(), 12u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, BlobPolicyTest,
                         ::testing::Combine(::testing::Values(Select::RANDOM, Select::LRU),
                                            ::testing::Values(Capacity::HALVE, Capacity::FIT,
                                                              Capacity::FIT_HALVE)));

// Exactly half full is not more than half full: HALVE gives up, the others make room.
TEST(BlobCache, WhatCannotBeCleanedKeepsWhatItHas) {
  for (const Capacity capacity : {Capacity::HALVE, Capacity::FIT, Capacity::FIT_HALVE}) {
    BlobCache cache({10, 20, 20}, {Select::LRU, capacity});
    cache.set(bytesOf("a"), Bytes(9, 1));
    cache.set(bytesOf("b"), Bytes(15, 2));
    const bool halve = capacity == Capacity::HALVE;
    EXPECT_EQ(cache.get(bytesOf("a")).has_value(), halve);
    EXPECT_EQ(cache.get(bytesOf("b")).has_value(), !halve);
  }
}

TEST(BlobCache, GettingIsUsing) {
  BlobCache cache({1, 1, 6}, {Select::LRU, Capacity::FIT});
  for (size_t i = 0; i < 3; ++i) cache.set(key(i), bytesOf("x"));
  EXPECT_TRUE(cache.get(key(0)).has_value());
  Bytes none;
  EXPECT_EQ(cache.get(key(1), none), 1u);
  cache.set(key(3), bytesOf("x"));
  EXPECT_FALSE(cache.get(key(2)).has_value());
  EXPECT_TRUE(cache.get(key(0)).has_value());
  EXPECT_TRUE(cache.get(key(1)).has_value());
}

class FlattenTest : public ::testing::Test {
 protected:
  static constexpr BlobCache::Limits kRoom = {20, 100, 2000};
  static Bytes flattened(const BlobCache& cache) {
    Bytes bytes(cache.flattenedSize());
    EXPECT_TRUE(cache.flatten(bytes).ok());
    return bytes;
  }
  static BlobCache filled(size_t entries, const std::string& build = "build 1") {
    BlobCache cache(kRoom, {Select::LRU, Capacity::FIT}, build);
    for (size_t i = 0; i < entries; ++i)
      cache.set(someBytes(1 + i % 9, i), someBytes(1 + i * 3, i));
    return cache;
  }
};

TEST_F(FlattenTest, ComesBack) {
  for (const size_t entries : {0u, 1u, 7u, 30u}) {
    BlobCache cache = filled(entries);
    const size_t total = cache.totalBytes();
    const Bytes bytes = flattened(cache);
    EXPECT_EQ(bytes.size() % 8, 0u);
    BlobCache again(kRoom, {}, "build 1");
    again.set(bytesOf("gone"), bytesOf("before"));
    const auto damaged = again.unflatten(bytes);
    ASSERT_TRUE(damaged.ok()) << damaged.status().toString();
    EXPECT_EQ(*damaged, 0u);
    EXPECT_EQ(again.entries(), entries);
    EXPECT_EQ(again.totalBytes(), total);
    for (size_t i = 0; i < entries; ++i) {
      EXPECT_EQ(again.get(someBytes(1 + i % 9, i)), cache.get(someBytes(1 + i % 9, i)));
    }
    EXPECT_EQ(again.get(bytesOf("gone")), std::nullopt);
    EXPECT_EQ(cache.entries(), entries);  // the failure changes nothing
  }
}

TEST_F(FlattenTest, KeepsTheOrderOfUse) {
  BlobCache cache({1, 1, 6}, {Select::LRU, Capacity::FIT}, "");
  for (size_t i = 0; i < 3; ++i) cache.set(key(i), bytesOf("x"));
  EXPECT_TRUE(cache.get(key(0)).has_value());
  BlobCache again({1, 1, 6}, {Select::LRU, Capacity::FIT}, "");
  ASSERT_TRUE(again.unflatten(flattened(cache)).ok());
  again.set(key(3), bytesOf("x"));
  EXPECT_FALSE(again.get(key(1)).has_value());
  EXPECT_TRUE(again.get(key(0)).has_value());
}

TEST_F(FlattenTest, TooSmallABufferIsRefused) {
  const BlobCache cache = filled(3);
  Bytes bytes(cache.flattenedSize());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Status status = cache.flatten(std::span(bytes).first(size));
    EXPECT_EQ(status.code(), ResultCode::BAD_DATA);
  }
}

TEST_F(FlattenTest, CutOffAtEveryLengthIsRefusedAndEmpty) {
  BlobCache cache = filled(4);
  const Bytes bytes = flattened(cache);
  for (size_t size = 0; size < bytes.size(); ++size) {
    BlobCache again = filled(2);
    const auto result = again.unflatten(std::span(bytes).first(size));
    EXPECT_EQ(result.status().code(), ResultCode::BAD_DATA) << size;
    EXPECT_EQ(again.entries(), 0u);
    EXPECT_EQ(again.totalBytes(), 0u);
  }
}

TEST_F(FlattenTest, BadMagicIsRefused) {
  BlobCache cache = filled(1);
  Bytes bytes = flattened(cache);
  bytes[1] ^= 1;
  const auto result = cache.unflatten(bytes);
  EXPECT_EQ(result.status().code(), ResultCode::BAD_DATA);
  EXPECT_EQ(cache.entries(), 0u);
}

TEST_F(FlattenTest, AnotherVersionOrBuildIsEmpty) {
  const Bytes bytes = flattened(filled(3));
  Bytes version = bytes;
  version[8] = 2;
  BlobCache cache = filled(1);
  EXPECT_TRUE(cache.unflatten(version).ok());
  EXPECT_EQ(cache.entries(), 0u);
  BlobCache build = filled(1, "build 2");
  EXPECT_TRUE(build.unflatten(bytes).ok());
  EXPECT_EQ(build.entries(), 0u);
}

// Every byte is changed in turn. The damage is always found, and the remaining entries are those
// that were saved.
TEST_F(FlattenTest, EveryByteChanged) {
  BlobCache cache = filled(6);
  const Bytes good = flattened(cache);
  size_t kept = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    for (const int flip : {1, 0x10, 0xff}) {
      Bytes bad = good;
      bad[i] ^= static_cast<uint8_t>(flip);
      BlobCache again(kRoom, {}, "build 1");
      const auto damaged = again.unflatten(bad);
      const bool otherVersion = i >= 8 && i < 12;
      if (damaged.ok() && !otherVersion) {
        EXPECT_GT(*damaged, 0u) << i;
        EXPECT_EQ(*damaged + again.entries(), 6u) << i;
      }
      for (size_t e = 0; e < 6; ++e) {
        const auto found = again.get(someBytes(1 + e % 9, e));
        if (!found) continue;
        ++kept;
        EXPECT_EQ(*found, someBytes(1 + e * 3, e)) << i;
      }
    }
  }
  EXPECT_GT(kept, good.size());
}

TEST_F(FlattenTest, WhatBreaksTheLimitsIsLeftOut) {
  BlobCache cache = filled(10);
  BlobCache small({3, 10, 2000}, {}, "build 1");
  ASSERT_TRUE(small.unflatten(flattened(cache)).ok());
  EXPECT_GT(small.entries(), 0u);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(small.get(someBytes(1 + i % 9, i)).has_value(), 1 + i % 9 <= 3 && 1 + i * 3 <= 10);
  }
}

}  // namespace
}  // namespace halyard::hal
