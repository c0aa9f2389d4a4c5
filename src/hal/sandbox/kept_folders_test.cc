// Tests of a driver's caches in its sandbox: folders opened before stay usable, and no others.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "cache/testing/cache_folder.h"
#include "hal/sandbox/sandbox.h"
#include "halyard/driver/blob_cache.h"

namespace halyard::hal {
namespace {

using cache::testing::Bytes;
using cache::testing::bytesOf;
using cache::testing::CacheFolder;
using cache::testing::someBytes;
using cache::testing::tokenOf;

// Returns the error of work in another process; "" for success.
template <typename Work>
std::string inChild(Work work) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = work();
    (void)!::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  const UniqueFd reader(ends[0]);
  std::string text;
  char block[1024];
  ssize_t got = 0;
  while ((got = ::read(reader.get(), block, sizeof block)) > 0) {
    text.append(block, static_cast<size_t>(got));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? text : "the process ended with status " + std::to_string(status);
}

bool landlocked(const IsolationReport& report) {
  for (const IsolationMeasure& measure : report) {
    if (measure.name == "landlock") return measure.state == IsolationMeasure::State::APPLIED;
  }
  return false;
}

using Open = decltype(&CompileCache::open);

void expectWorksInTheSandbox(Open open) {
  const CacheFolder folder;
  const CompileCache::Content content = {{someBytes(3000, 1)}, {someBytes(4000, 2)}};
  const std::string problem = inChild([&]() -> std::string {
    auto cache = open({"acme-npu", "1"}, folder.store(), {});
    if (!cache.ok()) return cache.status().toString();
    const CacheFiles files = folder.open("a", 1, 1, tokenOf(1));
    (void)applySandbox({}, "");
    for (int i = 0; i < 3; ++i) {
      const Status saved = (*cache)->save(files, content, 1000);
      if (!saved.ok()) return saved.toString();
      const auto loaded = (*cache)->load(files, 1000);
      if (!loaded.ok()) return loaded.status().toString();
      if (loaded->model != content.model) return "another content";
    }
    // A store that is removed meanwhile is created again.
    if (::unlink(folder.database().c_str()) != 0) return "the store cannot be removed";
    const Status saved = (*cache)->save(files, content, 1000);
    if (!saved.ok()) return saved.toString();
    return (*cache)->load(files, 1000).status().toString() == "OK" ? "" : "lost";
  });
  EXPECT_EQ(problem, "");
  auto cache = CompileCache::open({"acme-npu", "1"}, folder.store());
  ASSERT_TRUE(cache.ok());
  EXPECT_TRUE((*cache)->load(folder.open("a", 1, 1, tokenOf(1)), 1000).ok());
}

TEST(KeptFolders, ACompileCacheWorksInTheSandbox) { expectWorksInTheSandbox(CompileCache::open); }

TEST(KeptFolders, SoDoesOneThatIsOpenedThere) {
  expectWorksInTheSandbox(CompileCache::openAtFirstUse);
}

TEST(KeptFolders, ADamagedStoreIsReplacedInTheSandbox) {
  const CacheFolder folder;
  const CompileCache::Content content = {{someBytes(300, 1)}, {}};
  const std::string problem = inChild([&]() -> std::string {
    auto cache = CompileCache::open({"acme-npu", "1"}, folder.store());
    if (!cache.ok()) return cache.status().toString();
    const CacheFiles files = folder.open("a", 1, 0, tokenOf(1));
    (void)applySandbox({}, "");
    if (::unlink(folder.database().c_str()) != 0) return "the store cannot be removed";
    const UniqueFd fd(::open(folder.database().c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600));
    if (::write(fd.get(), "no database, no database, no database", 37) != 37) return "not written";
    const Status saved = (*cache)->save(files, content, 1000);
    if (!saved.ok()) return saved.toString();
    return (*cache)->load(files, 1000).ok() ? "" : "lost";
  });
  EXPECT_EQ(problem, "");
}

TEST(KeptFolders, BlobsAreSavedInTheSandbox) {
  const CacheFolder folder;
  const std::filesystem::path file = folder.path() / "blobs" / "b";
  const BlobStore::Settings settings = {.file = file,
                                        .limits = {100, 1000, 10000},
                                        .policy = {},
                                        .build = "1",
                                        .saveAfter = std::chrono::milliseconds(1)};
  const std::string problem = inChild([&]() -> std::string {
    BlobStore store;
    const Status opened = store.open(settings);
    if (!opened.ok()) return opened.toString();
    (void)applySandbox({}, "");
    store.set(bytesOf("key"), bytesOf("value"));
    const Status saved = store.save();
    return saved.ok() ? "" : saved.toString();
  });
  EXPECT_EQ(problem, "");
  BlobStore store;
  ASSERT_TRUE(store.open(settings).ok());
  EXPECT_EQ(store.get(bytesOf("key")), bytesOf("value"));
}

TEST(KeptFolders, NothingElseBecomesWritable) {
  const CacheFolder folder;
  const std::string problem = inChild([&]() -> std::string {
    auto cache = CompileCache::open({"acme-npu", "1"}, folder.store());
    if (!cache.ok()) return cache.status().toString();
    if (!landlocked(applySandbox({}, ""))) return "";
    const auto creates = [&](const std::filesystem::path& path) {
      return UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT, 0600)).valid();
    };
    if (creates(folder.file("beside"))) return "a file beside the store was made";
    if (::mkdir((folder.store() / "folder").c_str(), 0700) == 0) return "a folder was made";
    if (::symlink("/", (folder.store() / "link").c_str()) == 0) return "a link was made";
    if (!creates(folder.store() / "file")) return "no file in the store's folder";
    return "";
  });
  EXPECT_EQ(problem, "");
}

}  // namespace
}  // namespace halyard::hal
