// Tests of BlobStore: files, several processes, killed processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <random>
#include <thread>

#include "cache/testing/cache_folder.h"
#include "cache/testing/killed_writer.h"
#include "halyard/driver/blob_cache.h"

namespace halyard::hal {
namespace {

using cache::testing::Bytes;
using cache::testing::bytesOf;
using cache::testing::CacheFolder;
using cache::testing::KilledWriter;
using cache::testing::someBytes;
using ::testing::HasSubstr;

class BlobStoreTest : public ::testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / "driver" / "blobs"; }
  BlobStore::Settings settings() const {
    return {.file = file(),
            .limits = {100, 5000, 100000},
            .policy = {BlobCache::Select::LRU, BlobCache::Capacity::FIT},
            .build = "build 1",
            .saveAfter = std::chrono::minutes(5),
            .wait = std::chrono::milliseconds(2000)};
  }
  CacheFolder folder_;
};

TEST_F(BlobStoreTest, ClosedItMissesAlways) {
  BlobStore store;
  store.set(bytesOf("a"), bytesOf("1"));
  EXPECT_EQ(store.get(bytesOf("a")), std::nullopt);
  EXPECT_EQ(store.get(bytesOf("a"), std::span<uint8_t>()), 0u);
  void* value = &store;
  EXPECT_EQ(store.get(bytesOf("a"), &value, [](size_t) -> void* { return nullptr; }), 0u);
  EXPECT_EQ(value, nullptr);
  EXPECT_TRUE(store.save().ok());
  EXPECT_EQ(store.entries(), 0u);
  ASSERT_TRUE(store.open(settings()).ok());
  EXPECT_EQ(store.open(settings()).code(), ResultCode::BAD_STATE);
  store.set(bytesOf("a"), bytesOf("1"));
  EXPECT_EQ(store.get(bytesOf("a")), bytesOf("1"));
  store.close();
  EXPECT_EQ(store.get(bytesOf("a")), std::nullopt);
}

TEST_F(BlobStoreTest, OpenedAgainItHasTheValues) {
  BlobStore store;
  ASSERT_TRUE(store.open(settings()).ok());
  store.set(bytesOf("a"), bytesOf("1"));
  store.set(bytesOf("b"), someBytes(3000, 2));
  store.close();
  struct stat st {};
  ASSERT_EQ(::stat(file().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  ASSERT_TRUE(store.open(settings()).ok());
  EXPECT_EQ(store.get(bytesOf("a")), bytesOf("1"));
  EXPECT_EQ(store.get(bytesOf("b")), someBytes(3000, 2));
  store.close();
  BlobStore::Settings smaller = settings();
  smaller.limits.value = 2999;
  ASSERT_TRUE(store.open(smaller).ok());
  EXPECT_EQ(store.get(bytesOf("a")), bytesOf("1"));
  EXPECT_EQ(store.get(bytesOf("b")), std::nullopt);
  store.close();
  BlobStore::Settings other = settings();
  other.build = "build 2";
  ASSERT_TRUE(store.open(other).ok());
  EXPECT_EQ(store.entries(), 0u);
}

TEST_F(BlobStoreTest, WithoutAFileItIsMemory) {
  BlobStore store;
  BlobStore::Settings memory = settings();
  memory.file.clear();
  ASSERT_TRUE(store.open(memory).ok());
  store.set(bytesOf("a"), bytesOf("1"));
  EXPECT_TRUE(store.save().ok());
  EXPECT_EQ(store.get(bytesOf("a")), bytesOf("1"));
}

TEST_F(BlobStoreTest, SavesByItselfAfterAWhile) {
  BlobStore store;
  BlobStore::Settings soon = settings();
  soon.saveAfter = std::chrono::milliseconds(1);
  ASSERT_TRUE(store.open(soon).ok());
  store.set(bytesOf("a"), bytesOf("1"));
  BlobStore reader;
  ASSERT_TRUE(reader.open(settings()).ok());
  while (!reader.get(bytesOf("a"))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  store.set(bytesOf("b"), bytesOf("2"));
  while (!reader.get(bytesOf("b"))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_F(BlobStoreTest, TwoStoresKeepWhatBothHave) {
  BlobStore first;
  BlobStore second;
  ASSERT_TRUE(first.open(settings()).ok());
  ASSERT_TRUE(second.open(settings()).ok());
  first.set(bytesOf("a"), bytesOf("1"));
  second.set(bytesOf("b"), bytesOf("2"));
  second.set(bytesOf("c"), bytesOf("3"));
  ASSERT_TRUE(first.save().ok());
  EXPECT_EQ(second.get(bytesOf("a")), bytesOf("1"));
  first.set(bytesOf("c"), bytesOf("older"));
  ASSERT_TRUE(first.save().ok());
  ASSERT_TRUE(second.save().ok());
  EXPECT_EQ(first.get(bytesOf("b")), bytesOf("2"));
  BlobStore third;
  ASSERT_TRUE(third.open(settings()).ok());
  EXPECT_EQ(third.entries(), 3u);
  EXPECT_EQ(third.get(bytesOf("c")), bytesOf("3"));
}

TEST_F(BlobStoreTest, WhatIsNoFileOfOursIsReplaced) {
  const auto expectReplaced = [this](const char* what) {
    {
      BlobStore store;
      ASSERT_TRUE(store.open(settings()).ok()) << what;
      EXPECT_EQ(store.entries(), 0u) << what;
      store.set(bytesOf("a"), bytesOf("1"));
      const Status saved = store.save();
      EXPECT_TRUE(saved.ok()) << what << ": " << saved.toString();
    }
    BlobStore store;
    ASSERT_TRUE(store.open(settings()).ok());
    EXPECT_EQ(store.get(bytesOf("a")), bytesOf("1")) << what;
    store.close();
    std::filesystem::remove(file());
  };
  std::filesystem::create_directories(file().parent_path());
  CacheFolder::write(file(), bytesOf("something else"));
  expectReplaced("text");
  CacheFolder::write(file(), {});
  expectReplaced("an empty file");
  CacheFolder::write(file(), {});
  std::filesystem::resize_file(file(), uint64_t{1} << 40);
  expectReplaced("a huge file");
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  expectReplaced("a FIFO");
  const std::filesystem::path victim = folder_.file("victim");
  CacheFolder::write(victim, bytesOf("precious"));
  std::filesystem::create_symlink(victim, file());
  expectReplaced("a link");
  EXPECT_EQ(CacheFolder::read(victim), bytesOf("precious"));
  CacheFolder::write(file(), bytesOf("x"));
  ASSERT_EQ(::chmod(file().c_str(), 0666), 0);
  expectReplaced("a file that others can write");
}

TEST_F(BlobStoreTest, DamageCostsWhatIsDamaged) {
  {
    BlobStore store;
    ASSERT_TRUE(store.open(settings()).ok());
    for (uint8_t i = 0; i < 10; ++i) store.set({{i}}, someBytes(200, i));
  }
  const Bytes good = CacheFolder::read(file());
  for (size_t at = 0; at < good.size(); at += 7) {
    Bytes bad = good;
    bad[at] ^= 0x40;
    CacheFolder::write(file(), bad);
    BlobStore store;
    ASSERT_TRUE(store.open(settings()).ok());
    for (uint8_t i = 0; i < 10; ++i) {
      const auto found = store.get({{i}});
      if (found) {
        EXPECT_EQ(*found, someBytes(200, i)) << at;
      }
    }
    if (at > good.size() - 200) {
      EXPECT_EQ(store.entries(), 9u) << at;
    }
  }
}

TEST_F(BlobStoreTest, ALockThatStaysIsAnErrorInBoundedTime) {
  BlobStore store;
  BlobStore::Settings impatient = settings();
  impatient.wait = std::chrono::milliseconds(20);
  ASSERT_TRUE(store.open(impatient).ok());
  store.set(bytesOf("a"), bytesOf("1"));
  {
    const UniqueFd lock = CacheFolder::openOne(file().string() + ".lock");
    ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
    EXPECT_THAT(store.save().toString(), HasSubstr("another process has held its lock for 20 ms"));
    EXPECT_EQ(store.get(bytesOf("a")), bytesOf("1"));
  }
  EXPECT_TRUE(store.save().ok());
  EXPECT_TRUE(std::filesystem::exists(file()));
}

TEST_F(BlobStoreTest, NoFolderIsAClearErrorAndMemoryIsLeft) {
  BlobStore store;
  BlobStore::Settings nowhere = settings();
  nowhere.file = "/proc/halyard/blobs";
  const Status status = store.open(nowhere);
  EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(status.message(), HasSubstr("the file of blobs: making /proc/halyard"));
  store.set(bytesOf("a"), bytesOf("1"));
  EXPECT_EQ(store.get(bytesOf("a")), bytesOf("1"));
  EXPECT_TRUE(store.save().ok());
}

// A process that dies while it saves leaves either the old file or the new one.
TEST_F(BlobStoreTest, KilledAtEveryStepOfASave) {
  const auto fill = [](BlobStore& store, uint32_t version) {
    for (uint8_t i = 0; i < 5; ++i) store.set({{i}}, someBytes(500 + version, i + version));
  };
  size_t step = 0;
  size_t olds = 0;
  size_t news = 0;
  for (bool finished = false; !finished; ++step) {
    std::filesystem::remove_all(file().parent_path());
    {
      BlobStore store;
      ASSERT_TRUE(store.open(settings()).ok());
      fill(store, 1);
    }
    std::unique_ptr<BlobStore> store;
    const auto end = KilledWriter::run(
        step,
        [&] {
          store = std::make_unique<BlobStore>();
          (void)store->open(settings());
          fill(*store, 2);
        },
        [&] { return store->save().ok(); });
    if (end == KilledWriter::End::NOT_TRACED) GTEST_SKIP() << "processes cannot be traced here";
    ASSERT_NE(end, KilledWriter::End::FAILED) << step;
    finished = end == KilledWriter::End::FINISHED;
    BlobStore after;
    ASSERT_TRUE(after.open(settings()).ok());
    ASSERT_EQ(after.entries(), 5u) << step;
    const bool isNew = after.get({{0}}) == someBytes(502, 2);
    ++(isNew ? news : olds);
    for (uint8_t i = 0; i < 5; ++i) {
      const uint32_t version = isNew ? 2 : 1;
      EXPECT_EQ(after.get({{i}}), someBytes(500 + version, i + version)) << step;
    }
    fill(after, 3);
    EXPECT_TRUE(after.save().ok()) << step;
  }
  EXPECT_GT(step, 8u);
  EXPECT_GT(olds, 0u);
  EXPECT_GT(news, 0u);
}

TEST_F(BlobStoreTest, ManyProcessesSomeOfWhichDie) {
  constexpr uint8_t kProcesses = 8;
  BlobStore::Settings patient = settings();  // a busy disk is not a failure
  patient.wait = std::chrono::minutes(1);
  std::vector<pid_t> children;
  for (uint8_t p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      BlobStore store;
      bool right = store.open(patient).ok();
      std::mt19937 random(p);
      for (uint8_t i = 0; i < 20 && right; ++i) {
        store.set({{p, i}}, someBytes(100 + p, i));
        right = store.save().ok();
        const auto other = static_cast<uint8_t>(random() % kProcesses);
        const auto number = static_cast<uint8_t>(random() % 20);
        const auto found = store.get({{other, number}});
        right = right && (!found || *found == someBytes(100 + other, number));
      }
      store.close();
      ::_exit(right ? 0 : 1);
    }
    children.push_back(child);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(15));
  for (size_t i = 0; i < 2; ++i) ::kill(children[i], SIGKILL);
  for (size_t i = 0; i < children.size(); ++i) {
    int status = 0;
    ASSERT_EQ(::waitpid(children[i], &status, 0), children[i]);
    if (i >= 2) {
      EXPECT_EQ(status, 0) << i;
    }
  }
  BlobStore store;
  ASSERT_TRUE(store.open(settings()).ok());
  for (uint8_t p = 2; p < kProcesses; ++p) {
    for (uint8_t i = 0; i < 20; ++i) {
      EXPECT_EQ(store.get({{p, i}}), someBytes(100 + p, i)) << int{p} << " " << int{i};
    }
  }
}

TEST_F(BlobStoreTest, ManyThreads) {
  BlobStore store;
  BlobStore::Settings soon = settings();
  soon.saveAfter = std::chrono::milliseconds(1);
  ASSERT_TRUE(store.open(soon).ok());
  std::vector<std::thread> threads;
  for (uint8_t t = 0; t < 4; ++t) {
    threads.emplace_back([&store, t] {
      for (uint8_t i = 0; i < 100; ++i) {
        store.set({{t, i}}, someBytes(50, i));
        const auto found = store.get({{static_cast<uint8_t>((t + 1) % 4), i}});
        if (found) {
          EXPECT_EQ(*found, someBytes(50, i));
        }
        if (i % 20 == 0) {
          EXPECT_TRUE(store.save().ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  store.close();
  ASSERT_TRUE(store.open(settings()).ok());
  EXPECT_EQ(store.entries(), 400u);
}

}  // namespace
}  // namespace halyard::hal
