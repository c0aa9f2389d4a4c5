// Tests of CompileCache: its guarantees in normal operation, and its failures.
#include "halyard/driver/compile_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <link.h>

#include <csignal>
#include <thread>

#include "base/bulk_digest.h"
#include "base/foreign_fd.h"
#include "base/testing/slow_descriptors.h"
#include "cache/cache_file.h"
#include "cache/testing/cache_folder.h"

namespace halyard::hal {
namespace {

using cache::testing::Bytes;
using cache::testing::bytesOf;
using cache::testing::CacheFolder;
using cache::testing::kUid;
using cache::testing::someBytes;
using cache::testing::tokenOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr CompileCacheLimits kImpatient = {
    .entriesOfUser = 4, .entries = 6, .bytes = 1 << 20, .wait = std::chrono::milliseconds(30)};

class CompileCacheTest : public ::testing::Test {
 protected:
  std::shared_ptr<CompileCache> open(const std::string& driver = "acme-npu",
                                     const std::string& build = "build 1",
                                     const CompileCacheLimits& limits = {}) const {
    auto cache = CompileCache::open({driver, build}, folder_.store(), limits);
    EXPECT_TRUE(cache.ok()) << cache.status().toString();
    return cache.ok() ? *cache : nullptr;
  }
  std::shared_ptr<CompileCache> openAtFirstUse(const std::string& build = "build 1") const {
    auto cache = CompileCache::openAtFirstUse({"acme-npu", build}, folder_.store());
    EXPECT_TRUE(cache.ok()) << cache.status().toString();
    return cache.ok() ? *cache : nullptr;
  }
  CacheFiles files(const std::string& set, uint8_t token) const {
    return folder_.open(set, 2, 1, tokenOf(token));
  }
  static std::string missOf(CompileCache& cache, const CacheFiles& files, uint32_t uid = kUid) {
    auto content = cache.load(files, uid);
    EXPECT_FALSE(content.ok());
    return content.status().toString();
  }
  static void expectHit(CompileCache& cache, const CacheFiles& files,
                        const CompileCache::Content& saved, uint32_t uid = kUid) {
    auto content = cache.load(files, uid);
    ASSERT_TRUE(content.ok()) << content.status().toString();
    EXPECT_EQ(content->model, saved.model);
    EXPECT_EQ(content->data, saved.data);
  }

  CacheFolder folder_;
  const CompileCache::Content content_ = {{someBytes(3000, 1), {}}, {someBytes(5000, 2)}};
};

TEST_F(CompileCacheTest, GivesBackWhatWasSaved) {
  const auto cache = open();
  const CacheFiles set = files("a", 1);
  EXPECT_THAT(missOf(*cache, set),
              HasSubstr("OP_FAILED: loading a compilation: nothing was saved"));
  ASSERT_TRUE(cache->save(set, content_, kUid).ok());
  expectHit(*cache, set, content_);
  expectHit(*cache, files("a", 1), content_);
  // A second connection to the store, as another process has it.
  expectHit(*open(), files("a", 1), content_);
}

TEST_F(CompileCacheTest, WhateverTheFilesHadAndWhereverTheirOffsetIs) {
  const auto cache = open();
  const CacheFiles set = files("a", 1);
  for (const UniqueFd& fd : set.modelCache) ASSERT_EQ(::write(fd.get(), "garbage", 7), 7);
  for (const UniqueFd& fd : set.dataCache) ASSERT_EQ(::ftruncate(fd.get(), 100000), 0);
  ASSERT_TRUE(cache->save(set, content_, kUid).ok());
  char byte = 0;
  for (const UniqueFd& fd : set.modelCache) {
    ::lseek(fd.get(), 0, SEEK_SET);
    ASSERT_EQ(::read(fd.get(), &byte, 1), 1);
  }
  expectHit(*cache, set, content_);
}

TEST_F(CompileCacheTest, TheLastOneSavedCounts) {
  const auto cache = open();
  const CacheFiles set = files("a", 1);
  ASSERT_TRUE(cache->save(set, content_, kUid).ok());
  const Bytes older[] = {CacheFolder::read(folder_.modelFile("a", 0)),
                         CacheFolder::read(folder_.modelFile("a", 1)),
                         CacheFolder::read(folder_.dataFile("a", 0))};
  const CompileCache::Content next = {{someBytes(10, 3), someBytes(20, 4)}, {{}}};
  ASSERT_TRUE(cache->save(set, next, kUid).ok());
  expectHit(*cache, set, next);
  // An old version of the file returns.
  CacheFolder::write(folder_.modelFile("a", 0), older[0]);
  CacheFolder::write(folder_.modelFile("a", 1), older[1]);
  CacheFolder::write(folder_.dataFile("a", 0), older[2]);
  EXPECT_THAT(missOf(*cache, set), HasSubstr("3256 bytes, 266 were saved"));
}

TEST_F(CompileCacheTest, AnotherIdentityIsAMiss) {
  const auto cache = open();
  ASSERT_TRUE(cache->save(files("a", 1), content_, kUid).ok());
  EXPECT_THAT(missOf(*cache, files("a", 2)), HasSubstr("nothing was saved under this token"));
  EXPECT_THAT(missOf(*cache, files("a", 1), kUid + 1), HasSubstr("nothing was saved"));
  EXPECT_THAT(missOf(*open("acme-gpu"), files("a", 1)), HasSubstr("nothing was saved"));
  expectHit(*cache, files("a", 1), content_);
}

TEST_F(CompileCacheTest, AnotherBuildForgets) {
  const auto cache = open();
  ASSERT_TRUE(cache->save(files("a", 1), content_, kUid).ok());
  const auto other = open("other-npu");
  ASSERT_TRUE(other->save(files("b", 1), content_, kUid).ok());
  EXPECT_THAT(missOf(*open("acme-npu", "build 2"), files("a", 1)), HasSubstr("nothing was saved"));
  EXPECT_THAT(missOf(*open(), files("a", 1)), HasSubstr("nothing was saved"));
  expectHit(*other, files("b", 1), content_);
}

// Two builds that run at the same time do not use each other's entries.
TEST_F(CompileCacheTest, WhatAnElderBuildSavesIsAMiss) {
  const auto elder = open("acme-npu", "build 1");
  const auto younger = open("acme-npu", "build 2");
  ASSERT_TRUE(elder->save(files("a", 1), content_, kUid).ok());
  EXPECT_THAT(missOf(*younger, files("a", 1)), HasSubstr("by another build of the driver"));
  expectHit(*elder, files("a", 1), content_);
}

TEST_F(CompileCacheTest, Forgets) {
  const auto cache = open();
  ASSERT_TRUE(cache->save(files("a", 1), content_, kUid).ok());
  EXPECT_TRUE(cache->forget(tokenOf(2), kUid).ok());
  expectHit(*cache, files("a", 1), content_);
  EXPECT_TRUE(cache->forget(tokenOf(1), kUid).ok());
  EXPECT_THAT(missOf(*cache, files("a", 1)), HasSubstr("nothing was saved"));
}

TEST_F(CompileCacheTest, OpenedAtFirstUseItHasNoDatabaseBefore) {
  const auto cache = openAtFirstUse();
  EXPECT_EQ(std::filesystem::file_size(folder_.database()), 0u);
  EXPECT_THAT(missOf(*cache, files("a", 1)), HasSubstr("nothing was saved under this token"));
  EXPECT_GT(std::filesystem::file_size(folder_.database()), 0u);
  ASSERT_TRUE(cache->save(files("a", 1), content_, kUid).ok());
  expectHit(*cache, files("a", 1), content_);
  expectHit(*openAtFirstUse(), files("a", 1), content_);
  EXPECT_THAT(missOf(*openAtFirstUse("build 2"), files("a", 1)), HasSubstr("nothing was saved"));
}

TEST_F(CompileCacheTest, OpenedAtFirstUseItReplacesWhatIsNoStoreThen) {
  for (const bool isLink : {false, true}) {
    const auto before = openAtFirstUse();
    std::filesystem::remove(folder_.database());
    const Bytes foreign =
        bytesOf("this is no database, and longer than a head of one would be....");
    CacheFolder::write(isLink ? folder_.file("victim") : folder_.database(), foreign);
    if (isLink) std::filesystem::create_symlink(folder_.file("victim"), folder_.database());
    const auto cache = openAtFirstUse();
    EXPECT_EQ(CacheFolder::read(folder_.database()), foreign);
    ASSERT_TRUE(cache->save(files("a", 1), content_, kUid).ok());
    expectHit(*cache, files("a", 1), content_);
    expectHit(*before, files("a", 1), content_);
    if (isLink) {
      EXPECT_EQ(CacheFolder::read(folder_.file("victim")), foreign);
    }
  }
}

// The test runs in a process without root rights, because file modes do not stop root.
TEST_F(CompileCacheTest, OpenedAtFirstUseItTellsAtOnceOfAFolderThatCannotBeWritten) {
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(12345) != 0) ::_exit(2);
    const auto status = [&] {
      return CompileCache::openAtFirstUse({"acme-npu", "build 1"}, folder_.store()).status();
    };
    bool right = status().ok();
    // A file that is not writable is replaced when it is needed.
    right = right && ::chmod(folder_.database().c_str(), 0400) == 0 && status().ok();
    right = right && ::chmod(folder_.store().c_str(), 0500) == 0 &&
            status().code() == ResultCode::OP_FAILED &&
            status().message().find("Permission denied") != std::string::npos;
    (void)::chmod(folder_.store().c_str(), 0700);
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(CompileCacheTest, OnlyModelOrOnlyDataFiles) {
  const auto cache = open();
  const CacheFiles model = folder_.open("m", 1, 0, tokenOf(1));
  const CacheFiles data = folder_.open("d", 0, 1, tokenOf(2));
  ASSERT_TRUE(cache->save(model, {{bytesOf("code")}, {}}, kUid).ok());
  ASSERT_TRUE(cache->save(data, {{}, {bytesOf("constants")}}, kUid).ok());
  expectHit(*cache, model, {{bytesOf("code")}, {}});
  expectHit(*cache, data, {{}, {bytesOf("constants")}});
  EXPECT_THAT(missOf(*cache, folder_.open("m", 1, 1, tokenOf(1))),
              HasSubstr("0 data cache files were saved, there are 1"));
}

TEST_F(CompileCacheTest, ForgetsThoseUsedLongestAgo) {
  const auto cache = open("acme-npu", "1", kImpatient);
  for (uint8_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(cache->save(files(std::to_string(i), i), content_, kUid).ok());
  }
  expectHit(*cache, files("0", 0), content_);
  ASSERT_TRUE(cache->save(files("4", 4), content_, kUid).ok());
  EXPECT_THAT(missOf(*cache, files("1", 1)), HasSubstr("nothing was saved"));
  for (const uint8_t i : {0, 2, 3, 4}) {
    expectHit(*cache, files(std::to_string(i), i), content_);
  }
  // Entries of other users do not count for this user's limit. They count for the limit of all
  // users.
  ASSERT_TRUE(cache->save(files("x", 1), content_, kUid + 1).ok());
  ASSERT_TRUE(cache->save(files("y", 2), content_, kUid + 2).ok());
  expectHit(*cache, files("0", 0), content_);
  ASSERT_TRUE(cache->save(files("z", 3), content_, kUid + 3).ok());
  EXPECT_THAT(missOf(*cache, files("2", 2)), HasSubstr("nothing was saved"));
}

TEST_F(CompileCacheTest, TheStoreIsPrivate) {
  const auto cache = open();
  ASSERT_TRUE(cache->save(files("a", 1), content_, kUid).ok());
  struct stat st {};
  ASSERT_EQ(::stat(folder_.store().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.store())) {
    ASSERT_EQ(::stat(entry.path().c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777, 0600u) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 1u);
  EXPECT_EQ(cache->folder(), folder_.store());
}

TEST_F(CompileCacheTest, RefusesWhatIsNotAPairOfFilesAndContents) {
  const auto cache = open();
  const CacheFiles set = files("a", 1);
  const Status counts = cache->save(set, {{{}}, {{}}}, kUid);
  EXPECT_EQ(counts.code(), ResultCode::BAD_DATA);
  EXPECT_THAT(counts.message(), HasSubstr("1 + 1 contents for 2 model cache and 1 data cache"));
  const Status none = cache->save({}, {}, kUid);
  EXPECT_EQ(none.code(), ResultCode::BAD_DATA);
  EXPECT_THAT(missOf(*cache, {}), HasSubstr("BAD_DATA: loading a compilation: there are no files"));
  const Status large =
      open("acme-npu", "build 1", kImpatient)->save(set, {{Bytes(1 << 20), {}}, {{}}}, kUid);
  EXPECT_EQ(large.code(), ResultCode::BAD_DATA);
  EXPECT_THAT(large.message(), HasSubstr("at most 1048576 are saved"));
  EXPECT_THAT(missOf(*cache, folder_.open("many", 33, 0, tokenOf(9))), HasSubstr("at most 32"));
}

TEST_F(CompileCacheTest, RefusesDescriptorsThatAreNoFiles) {
  const auto cache = open();
  ASSERT_TRUE(cache->save(files("a", 1), content_, kUid).ok());
  const std::filesystem::path fifo = folder_.file("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd other(ends[1]);
  std::vector<UniqueFd> bad;
  bad.emplace_back(::open(fifo.c_str(), O_RDWR | O_CLOEXEC));
  bad.emplace_back(ends[0]);
  bad.emplace_back(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  bad.emplace_back(::open(folder_.path().c_str(), O_RDONLY | O_CLOEXEC));
  bad.emplace_back(::open(folder_.modelFile("a", 1).c_str(), O_WRONLY | O_CLOEXEC));
  bad.emplace_back(::open(folder_.modelFile("a", 1).c_str(), O_PATH | O_CLOEXEC));
  bad.emplace_back(-1);
  for (UniqueFd& fd : bad) {
    CacheFiles set = files("a", 1);
    set.modelCache[1] = std::move(fd);
    const Status status = cache->save(set, content_, kUid);
    EXPECT_EQ(status.code(), ResultCode::BAD_DATA);
    EXPECT_THAT(status.message(), HasSubstr("model cache file 1: "));
    EXPECT_THAT(missOf(*cache, set), HasSubstr("BAD_DATA: loading a compilation: model cache"));
  }
  CacheFiles reading = folder_.open("a", 2, 1, tokenOf(1), O_RDONLY);
  EXPECT_THAT(cache->save(reading, content_, kUid).toString(),
              HasSubstr("model cache file 0: it is not open for reading and writing"));
  expectHit(*cache, reading, content_);
  CacheFiles twice = files("a", 1);
  twice.modelCache[1] = twice.modelCache[0].duplicate();
  EXPECT_THAT(cache->save(twice, content_, kUid).toString(), HasSubstr("it is there twice"));
}

// A client may send files of a file system that never answers.
TEST_F(CompileCacheTest, FilesThatDoNotAnswerAreAMissInBoundedTime) {
  using halyard::testing::SlowFile;
  const auto file = SlowFile::make(SlowFile::Stuck::STATUS);
  if (file == nullptr) GTEST_SKIP() << "file systems of users cannot be mounted here";
  CompileCacheLimits limits = kImpatient;
  limits.foreignFiles = std::chrono::milliseconds(200);
  const auto cache = open("acme-npu", "build 1", limits);
  ASSERT_TRUE(cache->save(files("a", 1), content_, kUid).ok());
  ForeignFd slow(file->open());
  ASSERT_TRUE(slow.valid());
  const auto account = std::make_shared<ForeignAccount>();
  assignForeign(slow.get(), account);
  CacheFiles set = files("a", 1);
  set.modelCache[1] = UniqueFd(slow.get());
  const bool ends = halyard::testing::within(std::chrono::seconds(60), [&] {
    EXPECT_EQ(cache->save(set, content_, kUid).code(), ResultCode::RESOURCE_EXHAUSTED_TRANSIENT);
    EXPECT_THAT(missOf(*cache, set), HasSubstr("model cache file 1: its file, which another"));
  });
  EXPECT_TRUE(ends);
  (void)set.modelCache[1].release();
  file->end();
  EXPECT_TRUE(
      halyard::testing::becomes([&] { return account->pending() == 0; }, std::chrono::seconds(10)));
  expectHit(*cache, files("a", 1), content_);
}

TEST_F(CompileCacheTest, AHugeFileIsRefusedBeforeItIsRead) {
  const auto cache = open();
  const CacheFiles set = files("a", 1);
  ASSERT_TRUE(cache->save(set, content_, kUid).ok());
  ASSERT_EQ(::ftruncate(set.dataCache[0].get(), off_t{1} << 42), 0);
  EXPECT_THAT(missOf(*cache, set), HasSubstr("data cache file 0: it has 4398046511104 bytes"));
}

TEST_F(CompileCacheTest, ALockThatStaysIsAMissInBoundedTime) {
  const auto cache = open("acme-npu", "build 1", kImpatient);
  const CacheFiles set = files("a", 1);
  ASSERT_TRUE(cache->save(set, content_, kUid).ok());
  {
    const CacheFiles other = files("a", 1);
    ASSERT_EQ(::flock(other.modelCache[0].get(), LOCK_SH), 0);
    expectHit(*cache, set, content_);
    EXPECT_THAT(cache->save(set, content_, kUid).toString(),
                HasSubstr("OP_FAILED: saving a compilation: the cache files: another process"));
    ASSERT_EQ(::flock(other.modelCache[0].get(), LOCK_EX), 0);
    EXPECT_THAT(missOf(*cache, set), HasSubstr("another process has held its lock for 30 ms"));
  }
  expectHit(*cache, set, content_);
}

TEST_F(CompileCacheTest, AStoppedProcessWithTheStoreIsAMissInBoundedTime) {
  const auto cache = open("acme-npu", "build 1", kImpatient);
  ASSERT_TRUE(cache->save(files("a", 1), content_, kUid).ok());
  int ready[2] = {-1, -1};
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {  // takes SQLite's write lock, and stops
    const int fd = ::open(folder_.database().c_str(), O_RDWR | O_CLOEXEC);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = 0x40000000;
    lock.l_len = 512;
    const bool locked = ::fcntl(fd, F_SETLK, &lock) == 0;
    (void)!::write(ready[1], locked ? "1" : "0", 1);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  const UniqueFd reader(ready[0]);
  const UniqueFd writer(ready[1]);
  char locked = 0;
  ASSERT_EQ(::read(reader.get(), &locked, 1), 1);
  ASSERT_EQ(locked, '1');
  EXPECT_THAT(missOf(*cache, files("a", 1)),
              AllOf(HasSubstr("OP_FAILED"), HasSubstr("database is locked")));
  EXPECT_THAT(cache->save(files("b", 2), content_, kUid).toString(), HasSubstr("locked"));
  EXPECT_TRUE(CacheFolder::read(folder_.modelFile("b", 0)).empty());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  expectHit(*cache, files("a", 1), content_);
  EXPECT_TRUE(cache->save(files("b", 2), content_, kUid).ok());
}

TEST_F(CompileCacheTest, NoPlaceForTheStoreIsAClearError) {
  const auto errorOf = [](const std::filesystem::path& folder) {
    auto cache = CompileCache::open({"acme-npu", "1"}, folder);
    EXPECT_FALSE(cache.ok());
    EXPECT_EQ(cache.status().code(), ResultCode::OP_FAILED);
    auto later = CompileCache::openAtFirstUse({"acme-npu", "1"}, folder);
    EXPECT_EQ(later.status().toString(), cache.status().toString());
    return cache.status().message();
  };
  EXPECT_THAT(errorOf("/proc/halyard/cache"), HasSubstr("making /proc/halyard"));
  EXPECT_THAT(errorOf("relative"), HasSubstr("'relative' is no absolute path"));
  CacheFolder::write(folder_.file("file"), bytesOf("x"));
  EXPECT_THAT(errorOf(folder_.file("file") / "below"), HasSubstr("Not a directory"));
  if (::geteuid() == 0) {
    const std::filesystem::path others = folder_.file("others");
    std::filesystem::create_directory(others);
    ASSERT_EQ(::chown(others.c_str(), 12345, 12345), 0);
    EXPECT_THAT(errorOf(others), HasSubstr("belongs to user 12345, expected 0"));
  }
  for (const char* bad : {"", "with\nline"}) {
    auto cache = CompileCache::open({bad, "1"}, folder_.store());
    EXPECT_EQ(cache.status().code(), ResultCode::BAD_DATA);
  }
}

TEST_F(CompileCacheTest, TheEnvironmentSaysWhereTheStoreIs) {
  const std::string home = folder_.path().string();
  const auto with = [](const char* variable, const std::string& value) {
    for (const char* each : {"STATE_DIRECTORY", "XDG_STATE_HOME", "HOME"}) ::unsetenv(each);
    if (!value.empty()) ::setenv(variable, value.c_str(), 1);
    auto folder = CompileCache::defaultFolder("acme-npu");
    return folder.ok() ? folder->string() : folder.status().toString();
  };
  const char* const old = std::getenv("HOME");
  const std::string oldHome = old != nullptr ? old : "/";
  EXPECT_EQ(with("HOME", home), home + "/.local/state/halyard/compile_cache/acme-npu");
  EXPECT_EQ(with("XDG_STATE_HOME", home), home + "/halyard/compile_cache/acme-npu");
  EXPECT_EQ(with("STATE_DIRECTORY", home + ":/b"), home + "/compile_cache/acme-npu");
  EXPECT_THAT(with("XDG_STATE_HOME", "relative"), HasSubstr("OP_FAILED: none of STATE_DIRECTORY"));
  EXPECT_THAT(with("HOME", ""), HasSubstr("OP_FAILED: none of STATE_DIRECTORY"));
  auto none = CompileCache::open({"acme-npu", "1"});
  EXPECT_EQ(none.status().code(), ResultCode::OP_FAILED);
  ::setenv("HOME", home.c_str(), 1);
  EXPECT_TRUE(CompileCache::open({"../up", "1"}).ok());
  EXPECT_TRUE(std::filesystem::exists(home + "/.local/state/halyard/compile_cache/%2e.%2fup"));
  ::setenv("HOME", oldHome.c_str(), 1);
}

// A file that cannot grow simulates a full disk. The kernel's signal then ends no process.
TEST_F(CompileCacheTest, AFullDiskIsAClearErrorAndLeavesNothing) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_DFL);
    const auto cache = open();
    bool right = cache->save(files("a", 1), content_, kUid).ok();
    const rlimit limit{4096, 4096};
    right = ::setrlimit(RLIMIT_FSIZE, &limit) == 0 && right;
    const CompileCache::Content larger = {{someBytes(100, 1), someBytes(6000, 2)}, {{}}};
    const Status status = cache->save(files("a", 1), larger, kUid);
    right =
        right && status.code() == ResultCode::OP_FAILED &&
        status.message().find("model cache file 1: writing: File too large") != std::string::npos;
    right = right && CacheFolder::read(folder_.modelFile("a", 0)).empty() &&
            !cache->load(files("a", 1), kUid).ok();
    // The store itself is not writable.
    right = right && CompileCache::open({"acme-npu", "1"}, folder_.file("s")).status().code() ==
                         ResultCode::OP_FAILED;
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(CompileCacheTest, HeadsOfFilesSayWhoseTheyAre) {
  ASSERT_TRUE(open()->save(files("a", 7), content_, kUid).ok());
  const auto model = cache::decodeHead(CacheFolder::read(folder_.modelFile("a", 1)));
  ASSERT_TRUE(model.ok()) << model.status().toString();
  EXPECT_EQ(model->kind, cache::CacheFileFacts::Kind::MODEL);
  EXPECT_EQ(model->index, 1);
  EXPECT_EQ(model->modelFiles, 2);
  EXPECT_EQ(model->dataFiles, 1);
  EXPECT_EQ(model->driver, "acme-npu");
  EXPECT_EQ(model->token, tokenOf(7));
  EXPECT_EQ(model->content, sha256({}));
  Bytes data = CacheFolder::read(folder_.dataFile("a", 0));
  const auto head = cache::decodeHead(data);
  ASSERT_TRUE(head.ok()) << head.status().toString();
  EXPECT_EQ(head->contentBytes, 5000u);
  EXPECT_EQ(head->allData, model->allData);
  EXPECT_EQ(head->content, bulkDigest(content_.data[0]));
  for (size_t i = 0; i < cache::kCacheFileHeadBytes; ++i) {
    data[i] ^= 1;
    EXPECT_FALSE(cache::decodeHead(data).ok()) << i;
    data[i] ^= 1;
  }
  EXPECT_FALSE(cache::decodeHead(std::span(data).first(255)).ok());
}

TEST(BuildIdentity, IsThatOfTheProgramAndTheProcessor) {
  const std::string build = CompileCache::buildIdOfThisProgram();
  EXPECT_GE(build.size(), 32u);
  EXPECT_EQ(build, CompileCache::buildIdOfThisProgram());
  static const int here = 0;
  EXPECT_THAT(build, HasSubstr(CompileCache::buildIdOf(&here)));
  EXPECT_NE(CompileCache::buildIdOf(&here),
            CompileCache::buildIdOf(reinterpret_cast<const void*>(&::dl_iterate_phdr)));
  EXPECT_EQ(CompileCache::buildIdOf(nullptr), CompileCache::buildIdOf(&here));
  EXPECT_FALSE(CompileCache::cpuFeatures().empty());
  EXPECT_EQ(CompileCache::cpuFeatures(), CompileCache::cpuFeatures());
}

}  // namespace
}  // namespace halyard::hal
