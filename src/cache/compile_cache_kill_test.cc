// Tests of a driver that is killed while it saves. The next driver gets the previous content, the
// new content or nothing, and can save again.
//
// HALYARD_KILLS sets the number of kills at each step. The default is one; CI's soak test uses 200.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <thread>

#include "cache/testing/cache_folder.h"
#include "cache/testing/killed_writer.h"
#include "halyard/driver/compile_cache.h"

namespace halyard::hal {
namespace {

using cache::testing::CacheFolder;
using cache::testing::KilledWriter;
using cache::testing::kUid;
using cache::testing::someBytes;
using cache::testing::tokenOf;

size_t killsOfStep() {
  const char* const text = std::getenv("HALYARD_KILLS");
  return text != nullptr ? std::strtoul(text, nullptr, 10) : 1;
}

class CompileCacheKillTest : public ::testing::Test {
 protected:
  static CompileCache::Content version(uint32_t number, size_t bytes) {
    return {{someBytes(bytes, number), someBytes(bytes / 2, number + 1000)},
            {someBytes(bytes, number + 2000)}};
  }
  std::shared_ptr<CompileCache> open() const {
    auto cache = CompileCache::open({"acme-npu", "build 1"}, folder_.store());
    return cache.ok() ? *cache : nullptr;
  }
  CacheFiles files(uint8_t token) const {
    return folder_.open(std::to_string(token), 2, 1, tokenOf(token));
  }
  // Any content except `before` and `after` is an error. Counts the outcomes.
  void check(const CompileCache::Content& before, const CompileCache::Content& after) {
    const auto cache = open();
    ASSERT_NE(cache, nullptr);
    const auto content = cache->load(files(1), kUid);
    if (!content.ok()) {
      ++misses_;
    } else if (content->model == after.model && content->data == after.data) {
      ++new_;
    } else {
      ++old_;
      EXPECT_EQ(content->model, before.model);
      EXPECT_EQ(content->data, before.data);
    }
    // The save does not affect another compilation.
    const auto bystander = cache->load(files(2), kUid);
    ASSERT_TRUE(bystander.ok()) << bystander.status().toString();
    EXPECT_EQ(bystander->model, bystander_.model);
    const Status saved = cache->save(files(1), before, kUid);
    ASSERT_TRUE(saved.ok()) << saved.toString();
    EXPECT_TRUE(cache->load(files(1), kUid).ok());
  }

  CacheFolder folder_;
  const CompileCache::Content bystander_ = version(77, 100);
  size_t misses_ = 0;
  size_t old_ = 0;
  size_t new_ = 0;
};

TEST_F(CompileCacheKillTest, AtEveryStepOfASave) {
  const CompileCache::Content before = version(1, 3000);
  const CompileCache::Content after = version(2, 4000);
  {
    const auto cache = open();
    ASSERT_TRUE(cache->save(files(2), bystander_, kUid).ok());
    ASSERT_TRUE(cache->save(files(1), before, kUid).ok());
  }
  const size_t kills = killsOfStep();
  size_t step = 0;
  for (bool finished = false; !finished; ++step) {
    for (size_t i = 0; i < kills && !finished; ++i) {
      std::shared_ptr<CompileCache> cache;
      const auto end = KilledWriter::run(
          step, [&] { cache = open(); },
          [&] { return cache != nullptr && cache->save(files(1), after, kUid).ok(); });
      if (end == KilledWriter::End::NOT_TRACED) GTEST_SKIP() << "processes cannot be traced here";
      ASSERT_NE(end, KilledWriter::End::FAILED) << "step " << step;
      finished = end == KilledWriter::End::FINISHED;
      check(before, after);
      if (HasFatalFailure()) return;
    }
  }
  // Three files, a lock and a transaction take more steps than this.
  EXPECT_GT(step, 25u);
  EXPECT_GT(misses_, 0u);
  EXPECT_GT(old_, 0u);
  EXPECT_GT(new_, 0u);
  RecordProperty("steps", static_cast<int>(step));
}

// Creating the store and dropping another build's entries take several steps, too.
TEST_F(CompileCacheKillTest, AtEveryStepOfTheFirstOpen) {
  size_t step = 0;
  for (bool finished = false; !finished; ++step) {
    std::filesystem::remove_all(folder_.store());
    const auto end = KilledWriter::run(
        step, [] {},
        [&] {
          const auto cache = open();
          return cache != nullptr && cache->save(files(1), bystander_, kUid).ok();
        });
    if (end == KilledWriter::End::NOT_TRACED) GTEST_SKIP() << "processes cannot be traced here";
    ASSERT_NE(end, KilledWriter::End::FAILED) << "step " << step;
    finished = end == KilledWriter::End::FINISHED;
    const auto cache = open();
    ASSERT_NE(cache, nullptr) << "step " << step;
    const auto content = cache->load(files(1), kUid);
    if (finished) {
      EXPECT_TRUE(content.ok());
    }
    if (content.ok()) {
      EXPECT_EQ(content->model, bystander_.model);
    }
    ASSERT_TRUE(cache->save(files(1), bystander_, kUid).ok()) << "step " << step;
    EXPECT_TRUE(cache->load(files(1), kUid).ok());
  }
  EXPECT_GT(step, 40u);
}

// Kills also in the middle of a write, because writing large files takes a while.
TEST_F(CompileCacheKillTest, AtAnyMoment) {
  const CompileCache::Content before = version(1, 300000);
  const CompileCache::Content after = version(2, 400000);
  {
    const auto cache = open();
    ASSERT_TRUE(cache->save(files(2), bystander_, kUid).ok());
    ASSERT_TRUE(cache->save(files(1), before, kUid).ok());
  }
  std::mt19937 random(1);
  for (size_t i = 0; i < 200; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto cache = open();
      const CacheFiles set = files(1);
      while (cache != nullptr) (void)cache->save(set, after, kUid);
      ::_exit(1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + random() % 12000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    check(before, after);
    if (HasFatalFailure()) return;
  }
  RecordProperty("misses", static_cast<int>(misses_));
}

// Many processes save at once, and some of them are killed. No wrong content is ever loaded.
TEST_F(CompileCacheKillTest, ManyProcesses) {
  constexpr size_t kProcesses = 8;
  std::vector<pid_t> children;
  for (uint32_t p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto cache = open();
      bool right = cache != nullptr;
      std::mt19937 random(p);
      for (int i = 0; right && i < 40; ++i) {
        const auto token = static_cast<uint8_t>(1 + random() % 3);
        if (random() % 3 == 0) {
          const Status saved = cache->save(files(token), version(token, 2000), kUid);
          right = saved.ok() || saved.code() == ResultCode::OP_FAILED;
        } else {
          const auto content = cache->load(files(token), kUid);
          right = !content.ok() || (content->model == version(token, 2000).model &&
                                    content->data == version(token, 2000).data);
        }
      }
      ::_exit(right ? 0 : 1);
    }
    children.push_back(child);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (size_t i = 0; i < 2; ++i) ::kill(children[i], SIGKILL);
  for (size_t i = 0; i < children.size(); ++i) {
    int status = 0;
    ASSERT_EQ(::waitpid(children[i], &status, 0), children[i]);
    if (i >= 2) {
      EXPECT_EQ(status, 0) << "process " << i;
    }
  }
  const auto cache = open();
  ASSERT_NE(cache, nullptr);
  for (uint8_t token = 1; token <= 3; ++token) {
    ASSERT_TRUE(cache->save(files(token), version(token, 2000), kUid).ok());
    EXPECT_TRUE(cache->load(files(token), kUid).ok());
  }
}

}  // namespace
}  // namespace halyard::hal
