// Attacks on the files and on the store without the driver's knowledge. The driver must never load
// other content than it saved, and must never crash. A new save must always work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "cache/testing/cache_folder.h"
#include "halyard/driver/compile_cache.h"

namespace halyard::hal {
namespace {

using cache::testing::Bytes;
using cache::testing::bytesOf;
using cache::testing::CacheFolder;
using cache::testing::kUid;
using cache::testing::someBytes;
using cache::testing::tokenOf;
using ::testing::HasSubstr;

class CompileCacheAttackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cache_ = open();
    ASSERT_NE(cache_, nullptr);
    set_ = folder_.open("a", 1, 1, tokenOf(1));
    ASSERT_TRUE(cache_->save(set_, content_, kUid).ok());
    model_ = CacheFolder::read(folder_.modelFile("a", 0));
    data_ = CacheFolder::read(folder_.dataFile("a", 0));
  }
  std::shared_ptr<CompileCache> open() const {
    auto cache = CompileCache::open({"acme-npu", "build 1"}, folder_.store());
    EXPECT_TRUE(cache.ok()) << cache.status().toString();
    return cache.ok() ? *cache : nullptr;
  }
  bool hits() const { return cache_->load(set_, kUid).ok(); }
  // Expects a hit with the saved content, or a miss.
  void expectNothingWrong() const {
    const auto content = cache_->load(set_, kUid);
    if (!content.ok()) return;
    EXPECT_EQ(content->model, content_.model);
    EXPECT_EQ(content->data, content_.data);
  }
  void restore() const {
    CacheFolder::write(folder_.modelFile("a", 0), model_);
    CacheFolder::write(folder_.dataFile("a", 0), data_);
  }
  void expectNewSaveWorks() const {
    ASSERT_TRUE(cache_->save(set_, content_, kUid).ok());
    EXPECT_TRUE(hits());
  }

  CacheFolder folder_;
  std::shared_ptr<CompileCache> cache_;
  CacheFiles set_;
  const CompileCache::Content content_ = {{someBytes(300, 1)}, {someBytes(200, 2)}};
  Bytes model_;
  Bytes data_;
};

TEST_F(CompileCacheAttackTest, EveryByteOfEveryFileChanged) {
  for (const bool model : {true, false}) {
    const int fd = model ? set_.modelCache[0].get() : set_.dataCache[0].get();
    const Bytes& bytes = model ? model_ : data_;
    for (size_t i = 0; i < bytes.size(); ++i) {
      for (const int flip : {1, 0x80, 0xff}) {
        const auto changed = static_cast<uint8_t>(bytes[i] ^ flip);
        ASSERT_EQ(::pwrite(fd, &changed, 1, static_cast<off_t>(i)), 1);
        EXPECT_FALSE(hits()) << (model ? "model" : "data") << " byte " << i;
      }
      ASSERT_EQ(::pwrite(fd, &bytes[i], 1, static_cast<off_t>(i)), 1);
    }
    EXPECT_TRUE(hits());
  }
  expectNewSaveWorks();
}

TEST_F(CompileCacheAttackTest, TruncatedAtEveryLengthAndExtended) {
  for (const bool model : {true, false}) {
    const int fd = model ? set_.modelCache[0].get() : set_.dataCache[0].get();
    const size_t size = model ? model_.size() : data_.size();
    for (size_t length = size; length-- > 0;) {
      ASSERT_EQ(::ftruncate(fd, static_cast<off_t>(length)), 0);
      EXPECT_FALSE(hits()) << length;
      ASSERT_EQ(::ftruncate(fd, static_cast<off_t>(size)), 0);  // zeros replace the old bytes
      if (length < size - 8) {
        EXPECT_FALSE(hits()) << length;
      }
    }
    restore();
    EXPECT_TRUE(hits());
    for (size_t more = 1; more <= 256; ++more) {
      ASSERT_EQ(::ftruncate(fd, static_cast<off_t>(size + more)), 0);
      EXPECT_FALSE(hits()) << more;
    }
    restore();
    EXPECT_TRUE(hits());
  }
}

TEST_F(CompileCacheAttackTest, SwappedBetweenTokensDriversUsersAndKinds) {
  const CompileCache::Content other = {{someBytes(300, 7)}, {someBytes(200, 8)}};
  const CacheFiles second = folder_.open("b", 1, 1, tokenOf(2));
  ASSERT_TRUE(cache_->save(second, other, kUid).ok());
  auto driver = CompileCache::open({"acme-gpu", "build 1"}, folder_.store());
  ASSERT_TRUE(driver.ok());
  const CacheFiles third = folder_.open("c", 1, 1, tokenOf(1));
  ASSERT_TRUE((*driver)->save(third, other, kUid).ok());
  const CacheFiles fourth = folder_.open("d", 1, 1, tokenOf(1));
  ASSERT_TRUE(cache_->save(fourth, other, kUid + 1).ok());
  for (const char* set : {"b", "c", "d"}) {
    CacheFolder::write(folder_.modelFile("a", 0), CacheFolder::read(folder_.modelFile(set, 0)));
    EXPECT_FALSE(hits()) << set;
    CacheFolder::write(folder_.dataFile("a", 0), CacheFolder::read(folder_.dataFile(set, 0)));
    EXPECT_FALSE(hits()) << set;
    CacheFolder::write(folder_.modelFile("a", 0), model_);
    EXPECT_FALSE(hits()) << set;
    restore();
    EXPECT_TRUE(hits()) << set;
  }
  CacheFiles crossed = folder_.open("a", 0, 0, tokenOf(1));
  crossed.modelCache.push_back(CacheFolder::openOne(folder_.dataFile("a", 0)));
  crossed.dataCache.push_back(CacheFolder::openOne(folder_.modelFile("a", 0)));
  EXPECT_FALSE(cache_->load(crossed, kUid).ok());
}

TEST_F(CompileCacheAttackTest, TheSameContentUnderAnotherTokenIsNotTheSameFile) {
  const CacheFiles second = folder_.open("b", 1, 1, tokenOf(2));
  ASSERT_TRUE(cache_->save(second, content_, kUid).ok());
  CacheFolder::write(folder_.modelFile("a", 0), CacheFolder::read(folder_.modelFile("b", 0)));
  EXPECT_FALSE(hits());
}

TEST_F(CompileCacheAttackTest, AnOlderValidFileIsRefused) {
  const CompileCache::Content next = {{someBytes(300, 3)}, {someBytes(200, 4)}};
  ASSERT_TRUE(cache_->save(set_, next, kUid).ok());
  restore();  // the sizes stay the same
  const auto content = cache_->load(set_, kUid);
  EXPECT_THAT(content.status().toString(),
              HasSubstr("the model cache files are not what was saved last under this token"));
}

TEST_F(CompileCacheAttackTest, ALinkInPlaceOfTheStoreIsNotFollowed) {
  const std::filesystem::path victim = folder_.file("victim");
  CacheFolder::write(victim, bytesOf("precious"));
  cache_.reset();
  std::filesystem::remove(folder_.database());
  std::filesystem::create_symlink(victim, folder_.database());
  cache_ = open();
  ASSERT_NE(cache_, nullptr);
  EXPECT_FALSE(hits());
  expectNewSaveWorks();
  EXPECT_EQ(CacheFolder::read(victim), bytesOf("precious"));
  EXPECT_FALSE(std::filesystem::is_symlink(folder_.database()));
}

TEST_F(CompileCacheAttackTest, AStoreThatOthersCanWriteIsReplaced) {
  ASSERT_EQ(::chmod(folder_.database().c_str(), 0666), 0);
  cache_ = open();
  EXPECT_FALSE(hits());
  expectNewSaveWorks();
}

TEST_F(CompileCacheAttackTest, NoStoreOrAForeignOneIsReplaced) {
  const Bytes good = CacheFolder::read(folder_.database());
  const auto withStore = [&](const Bytes& bytes) {
    // Another program may create a new file.
    std::filesystem::remove(folder_.database());
    CacheFolder::write(folder_.database(), bytes);
    expectNothingWrong();
    expectNewSaveWorks();
    cache_ = open();
    EXPECT_TRUE(hits());
  };
  withStore({});
  withStore(
      bytesOf("this is no database at all, and it is longer than a head of SQLite's files is"));
  withStore(someBytes(8192, 9));
  withStore(Bytes(good.begin(), good.begin() + 1000));
  withStore(Bytes(good.begin(), good.begin() + 4096));
  std::filesystem::remove(folder_.database());
  EXPECT_FALSE(hits());
  expectNewSaveWorks();
}

// The pages of the database change while a driver runs.
TEST_F(CompileCacheAttackTest, BytesOfTheStoreChanged) {
  const Bytes good = CacheFolder::read(folder_.database());
  size_t replaced = 0;
  for (size_t i = 0; i < good.size(); i += (i < 200 ? 1 : 13)) {
    cache_.reset();
    Bytes bad = good;
    bad[i] ^= 0xff;
    CacheFolder::write(folder_.database(), bad);
    cache_ = open();
    ASSERT_NE(cache_, nullptr) << i;
    replaced += hits() ? 0 : 1;
    expectNothingWrong();
    ASSERT_TRUE(cache_->save(set_, content_, kUid).ok()) << i;
    EXPECT_TRUE(hits()) << i;
  }
  EXPECT_GT(replaced, 10u);
}

// A thread copies other files over the cache files all the time. A load gets the saved content or
// nothing.
TEST_F(CompileCacheAttackTest, AWriterRacesTheReader) {
  const CompileCache::Content large = {{someBytes(200000, 5)}, {someBytes(100000, 6)}};
  const CompileCache::Content others = {{someBytes(200000, 15)}, {someBytes(100000, 16)}};
  const CacheFiles second = folder_.open("b", 1, 1, tokenOf(2));
  ASSERT_TRUE(cache_->save(second, others, kUid).ok());
  ASSERT_TRUE(cache_->save(set_, large, kUid).ok());
  const Bytes ours = CacheFolder::read(folder_.modelFile("a", 0));
  const Bytes theirs = CacheFolder::read(folder_.modelFile("b", 0));
  std::atomic<bool> end{false};
  std::thread writer([&] {
    const UniqueFd fd = CacheFolder::openOne(folder_.modelFile("a", 0));
    while (!end) {
      (void)!::pwrite(fd.get(), theirs.data(), theirs.size(), 0);
      (void)!::pwrite(fd.get(), ours.data(), ours.size(), 0);
    }
  });
  size_t found = 0;
  for (int i = 0; i < 300; ++i) {
    const auto content = cache_->load(set_, kUid);
    if (!content.ok()) continue;
    ++found;
    EXPECT_EQ(content->model, large.model);
    EXPECT_EQ(content->data, large.data);
  }
  end = true;
  writer.join();
  // The files change during the save, too. The digest is that of the memory, not of the file.
  std::thread spoiler([&] {
    const UniqueFd fd = CacheFolder::openOne(folder_.modelFile("a", 0));
    for (int i = 0; i < 300; ++i) (void)!::pwrite(fd.get(), theirs.data(), theirs.size(), 0);
  });
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(cache_->save(set_, large, kUid).ok());
    const auto content = cache_->load(set_, kUid);
    if (content.ok()) {
      EXPECT_EQ(content->model, large.model);
    }
  }
  spoiler.join();
  ASSERT_TRUE(cache_->save(set_, large, kUid).ok());
  EXPECT_TRUE(hits());
  RecordProperty("hits", static_cast<int>(found));
}

// Several threads update the same compilation, as several stages do, while others read it. Each
// reader gets one complete version.
TEST_F(CompileCacheAttackTest, VersionsAreNeverMixed) {
  const auto version = [](uint32_t number) {
    return CompileCache::Content{{someBytes(5000 + number, number)},
                                 {someBytes(3000 + number, number + 100)}};
  };
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto cache = CompileCache::open({"acme-npu", "build 1"}, folder_.store());
      ASSERT_TRUE(cache.ok());
      const CacheFiles files = folder_.open("a", 1, 1, tokenOf(1));
      for (uint32_t i = 0; i < 20; ++i) {
        if (t < 2) {
          const Status status = (*cache)->save(files, version(t * 20 + i), kUid);
          EXPECT_TRUE(status.ok()) << status.toString();
          continue;
        }
        const auto content = (*cache)->load(files, kUid);
        if (!content.ok() || content->model == content_.model) continue;
        const auto number = static_cast<uint32_t>(content->model[0].size() - 5000);
        EXPECT_EQ(content->model, version(number).model);
        EXPECT_EQ(content->data, version(number).data);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto last = cache_->load(set_, kUid);
  ASSERT_TRUE(last.ok()) << last.status().toString();
}

}  // namespace
}  // namespace halyard::hal
