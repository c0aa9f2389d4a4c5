// Tests of `halyard cache` as a program, and of its treatment of folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/testing/command_for_test.h"
#include "cache/testing/cache_folder.h"
#include "halyard/driver/blob_cache.h"
#include "halyard/driver/compile_cache.h"

namespace halyard::cli {
namespace {

using cache::testing::bytesOf;
using cache::testing::CacheFolder;
using cache::testing::someBytes;
using hal::BlobStore;
using hal::CompileCache;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class CacheCommandTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    for (uint8_t i = 1; i <= 3; ++i) save(i);
  }
  static std::string nameOf(uint8_t first) {
    std::string name(64, 'A');
    name[0] = static_cast<char>('A' + (first & 15));
    name[1] = static_cast<char>('A' + (first >> 4));
    return name;
  }
  std::filesystem::path fileOf(uint8_t first, const char* suffix) const {
    return files_.path() / (nameOf(first) + suffix);
  }
  void save(uint8_t first) {
    auto cache = CompileCache::open({"acme-npu", "1"}, files_.store());
    ASSERT_TRUE(cache.ok()) << cache.status().toString();
    hal::Token token = {};
    token[0] = first;
    const auto set = files_.open(nameOf(first), 1, 1, token);
    ASSERT_TRUE((*cache)->save(set, {{someBytes(100, 1)}, {someBytes(200, 2)}}, 1).ok());
    // Each is one day older than the next.
    const timespec day{1000000000 + first * 86400, 0};
    const timespec times[2] = {day, day};
    for (const char* suffix : {"10", "20"}) {
      ASSERT_EQ(::utimensat(AT_FDCWD, fileOf(first, suffix).c_str(), times, 0), 0);
    }
  }
  CommandOutcome cache(const std::string& arguments) const {
    return halyard("cache " + arguments + " " + files_.path().string());
  }
  Json json(const std::string& arguments, int exitStatus = 0) const {
    const CommandOutcome outcome = cache(arguments + " --json");
    EXPECT_EQ(outcome.exitStatus, exitStatus) << outcome.errors;
    return Json::parse(outcome.output, nullptr, false);
  }

  CacheFolder files_;
};

constexpr uint64_t kBytes = 2 * 256 + 100 + 200;  // the size of one compilation

TEST_F(CacheCommandTest, ListsCompilations) {
  const CommandOutcome table = cache("ls");
  EXPECT_EQ(table.exitStatus, 0) << table.errors;
  EXPECT_THAT(table.output, HasSubstr("BAAAAAAAAAAA...  acme-npu  2      812"));
  EXPECT_THAT(table.output, HasSubstr("\n3 in the cache, 2436 bytes\n"));
  const Json listed = json("ls");
  ASSERT_EQ(listed["items"].size(), 3u);
  EXPECT_EQ(listed["items"][0]["name"], nameOf(1));
  EXPECT_EQ(listed["items"][0]["driver"], "acme-npu");
  EXPECT_EQ(listed["items"][0]["bytes"], kBytes);
  EXPECT_EQ(listed["items"][0]["files"].size(), 2u);
  EXPECT_EQ(listed["bytes"], 3 * kBytes);
}

TEST_F(CacheCommandTest, VerifyFindsWhatIsDamaged) {
  EXPECT_EQ(json("verify")["damaged"], 0);
  auto bytes = CacheFolder::read(fileOf(1, "10"));
  bytes[300] ^= 1;
  CacheFolder::write(fileOf(1, "10"), bytes);
  CacheFolder::write(fileOf(2, "20"), CacheFolder::read(fileOf(3, "20")));
  CacheFolder::write(files_.path() / (nameOf(4) + "10"), {});
  CacheFolder::write(files_.path() / (nameOf(5) + "10"), bytesOf("a driver's own"));
  const CommandOutcome table = cache("verify");
  EXPECT_EQ(table.exitStatus, 1);
  EXPECT_THAT(table.errors, HasSubstr("halyard cache: BAD_DATA: 2 of 5 are damaged"));
  EXPECT_THAT(table.output, HasSubstr("10: its content has been changed"));
  EXPECT_THAT(table.output, HasSubstr("20: it was saved under another name"));
  const Json checked = json("verify", 1);
  EXPECT_EQ(checked["damaged"], 2);
  EXPECT_EQ(checked["items"][2]["state"], "ok");
  EXPECT_EQ(checked["items"][3]["state"], "empty");
  EXPECT_EQ(checked["items"][4]["state"], "the driver's own format");
  EXPECT_EQ(json("prune --damaged")["removed"].size(), 2u);
  EXPECT_EQ(json("verify")["damaged"], 0);
}

TEST_F(CacheCommandTest, VerifyWantsAllFilesOfACompilation) {
  std::filesystem::remove(fileOf(1, "20"));
  EXPECT_THAT(cache("verify").output,
              HasSubstr("it has 1 model cache and 0 data cache files, 1 and 1 were saved"));
}

TEST_F(CacheCommandTest, PrunesBySize) {
  EXPECT_EQ(json("prune --max-size 2000 --dry-run")["removed"].size(), 1u);
  EXPECT_EQ(json("ls")["items"].size(), 3u);
  const Json pruned = json("prune --max-size 2kB");
  ASSERT_EQ(pruned["removed"].size(), 1u);
  EXPECT_EQ(pruned["removed"][0]["name"], nameOf(1));  // the oldest
  EXPECT_EQ(pruned["removed_bytes"], kBytes);
  EXPECT_EQ(pruned["left"], 2);
  EXPECT_EQ(json("ls")["items"].size(), 2u);
  EXPECT_FALSE(std::filesystem::exists(fileOf(1, "10")));
  EXPECT_EQ(json("prune --max-size 0")["left"], 0);
  EXPECT_TRUE(std::filesystem::exists(files_.database()));  // not a file of a compilation
}

TEST_F(CacheCommandTest, ANegativeSizeIsRefused) {
  const CommandOutcome outcome = cache("prune --max-size -1");
  EXPECT_EQ(outcome.exitStatus, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("--max-size: '-1', expected a number of bytes from 0"));
}

TEST_F(CacheCommandTest, PrunesByAge) {
  save(3);
  ASSERT_EQ(::utimensat(AT_FDCWD, fileOf(3, "10").c_str(), nullptr, 0), 0);
  const Json pruned = json("prune --max-age 365");
  EXPECT_EQ(pruned["removed"].size(), 2u);
  const Json left = json("ls");
  ASSERT_EQ(left["items"].size(), 1u);
  EXPECT_EQ(left["items"][0]["name"], nameOf(3));
}

TEST_F(CacheCommandTest, KnowsBlobs) {
  const std::filesystem::path file = files_.path() / "acme-npu" / "blobs";
  {
    BlobStore store;
    ASSERT_TRUE(
        store.open({.file = file, .limits = {100, 100, 1000}, .policy = {}, .build = "1"}).ok());
    store.set(bytesOf("a"), bytesOf("1"));
    store.set(bytesOf("b"), bytesOf("2"));
  }
  const CommandOutcome listed = halyard("cache ls " + file.string());
  EXPECT_EQ(listed.exitStatus, 0) << listed.errors;
  EXPECT_THAT(listed.output, HasSubstr("2 blobs in " + file.string() + "  acme-npu"));
  EXPECT_EQ(halyard("cache verify " + file.string()).exitStatus, 0);
  EXPECT_THAT(halyard("cache prune --max-age 0.5 " + file.string()).output, HasSubstr("0 removed"));
  auto bytes = CacheFolder::read(file);
  bytes[bytes.size() - 8] ^= 1;
  CacheFolder::write(file, bytes);
  const CommandOutcome damaged = halyard("cache verify " + file.string());
  EXPECT_EQ(damaged.exitStatus, 1);
  EXPECT_THAT(damaged.output, HasSubstr("1 of 2 entries are damaged"));
}

TEST_F(CacheCommandTest, DefaultFoldersMayBeAbsent) {
  const std::string home = "HOME='" + files_.path().string() + "' XDG_CACHE_HOME= XDG_STATE_HOME=";
  const CommandOutcome none = halyard("cache ls", home);
  EXPECT_EQ(none.exitStatus, 0) << none.errors;
  EXPECT_EQ(none.output, "0 in the cache, 0 bytes\n");
  const std::filesystem::path folder = files_.path() / ".cache/halyard/compilations";
  std::filesystem::create_directories(folder);
  std::filesystem::copy(fileOf(1, "10"), folder);
  EXPECT_THAT(halyard("cache ls", home).output, HasSubstr("1 in the cache, 356 bytes\n"));
}

TEST_F(CacheCommandTest, MisuseAndFailure) {
  EXPECT_EQ(halyard("cache").exitStatus, 2);
  EXPECT_EQ(halyard("cache fly").exitStatus, 2);
  EXPECT_EQ(cache("prune").exitStatus, 2);
  EXPECT_EQ(cache("prune --max-age soon").exitStatus, 2);
  const CommandOutcome missing = halyard("cache ls /none/there");
  EXPECT_EQ(missing.exitStatus, 1);
  EXPECT_THAT(missing.errors, HasSubstr("halyard cache: OP_FAILED: /none/there"));
  const CommandOutcome file = halyard("cache ls " + files_.database().string());
  EXPECT_EQ(file.exitStatus, 1);
  EXPECT_THAT(file.errors, HasSubstr("does not begin as a file of blobs does"));
}

}  // namespace
}  // namespace halyard::cli
