#include "runtime/cache/cache_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

namespace halyard::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr const char* kLock = ".halyard-lock";

class CacheFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/cache_files_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<CacheSet> open(uint32_t model = 1, uint32_t data = 1,
                                 std::optional<hal::TimePoint> until = std::nullopt) const {
    auto set = CacheSet::open(folder_, token_, model, data, until);
    EXPECT_TRUE(set.ok()) << set.status().toString();
    return set.ok() ? std::move(set).value() : nullptr;
  }
  static std::optional<OpenedCache> filesOf(CacheSet& set) {
    auto files = set.openFiles();
    EXPECT_TRUE(files.ok()) << files.status().toString();
    return files.ok() ? std::move(files).value() : std::nullopt;
  }
  static void writeTo(const UniqueFd& fd, const std::string& text) {
    ASSERT_EQ(::pwrite(fd.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  static std::string textOf(const UniqueFd& fd) {
    std::string text(1000, '\0');
    const ssize_t got = ::pread(fd.get(), text.data(), text.size(), 0);
    text.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return text;
  }
  void save(const std::string& model, const std::string& data) const {
    const auto set = open();
    const auto files = set->replace();
    ASSERT_TRUE(files.ok()) << files.status().toString();
    writeTo((*files)->modelCache[0], model);
    writeTo((*files)->dataCache[0], data);
    const Status status = set->publish();
    ASSERT_TRUE(status.ok()) << status.toString();
  }
  std::string modelPath() const { return folder_ + "/" + cacheFileName(token_, '1', 0); }
  std::string dataPath() const { return folder_ + "/" + cacheFileName(token_, '2', 0); }
  std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  std::string folder_;
  const hal::Token token_ = {0x10, 0xFE};
};

TEST_F(CacheFilesTest, NamesAreThoseOfNnapi) {
  const std::string zeroes(60, 'A');
  EXPECT_EQ(cacheFileName(token_, '1', 0), "ABOP" + zeroes + "10");
  EXPECT_EQ(cacheFileName(token_, '2', 31), "ABOP" + zeroes + "231");
}

TEST_F(CacheFilesTest, ASetIsThereWhenItIsPublished) {
  const auto set = open(2, 1);
  EXPECT_FALSE(filesOf(*set).has_value());
  const auto files = set->replace();
  ASSERT_TRUE(files.ok());
  EXPECT_EQ((*files)->token, token_);
  ASSERT_EQ((*files)->modelCache.size(), 2u);
  ASSERT_EQ((*files)->dataCache.size(), 1u);
  writeTo((*files)->modelCache[1], "second");
  EXPECT_FALSE(fs::exists(modelPath()));
  ASSERT_TRUE(set->publish().ok());
  EXPECT_THAT(listing(),
              UnorderedElementsAre(cacheFileName(token_, '1', 0), cacheFileName(token_, '1', 1),
                                   cacheFileName(token_, '2', 0), kLock));
  struct stat st {};
  ASSERT_EQ(::stat(modelPath().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600u);
  const auto opened = filesOf(*open(2, 1));
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->bytes, 6u);
  EXPECT_EQ(textOf(opened->files->modelCache[1]), "second");
  // A driver may write to the files after publish().
  writeTo((*files)->dataCache[0], "later");
  EXPECT_EQ(textOf(filesOf(*open(2, 1))->files->dataCache[0]), "later");
  EXPECT_FALSE(filesOf(*open(2, 2)).has_value());  // the set has fewer data files
}

TEST_F(CacheFilesTest, WhatIsGivenUpLeavesTheOldSet) {
  save("old", "data");
  {
    const auto set = open();
    ASSERT_TRUE(set->replace().ok());
    set->abandon();
    ASSERT_TRUE(set->replace().ok());
  }
  EXPECT_THAT(listing(), UnorderedElementsAre(cacheFileName(token_, '1', 0),
                                              cacheFileName(token_, '2', 0), kLock));
  EXPECT_EQ(textOf(filesOf(*open())->files->modelCache[0]), "old");
}

TEST_F(CacheFilesTest, AReaderKeepsTheSetThatItHasOpened) {
  save("old", "data");
  const auto opened = filesOf(*open());
  save("new", "new data");
  EXPECT_EQ(textOf(opened->files->modelCache[0]), "old");
  EXPECT_EQ(textOf(opened->files->dataCache[0]), "data");
  EXPECT_EQ(textOf(filesOf(*open())->files->modelCache[0]), "new");
}

TEST_F(CacheFilesTest, ItIsSeenThatSomebodyElseWasFaster) {
  const auto slow = open();
  EXPECT_FALSE(filesOf(*slow).has_value());
  save("1", "1");
  ASSERT_TRUE(slow->replace().ok());
  EXPECT_TRUE(slow->hasChanged());
  const auto now = filesOf(*slow);  // while `slow` replaces them
  ASSERT_TRUE(now.has_value());
  EXPECT_EQ(textOf(now->files->modelCache[0]), "1");
  slow->abandon();

  const auto other = open();
  const auto opened = filesOf(*other);
  ASSERT_TRUE(opened.has_value());
  ASSERT_TRUE(other->replace().ok());
  EXPECT_FALSE(other->hasChanged());
  other->abandon();
  save("2", "2");
  ASSERT_TRUE(other->replace().ok());
  EXPECT_TRUE(other->hasChanged());
}

TEST_F(CacheFilesTest, NobodyWaitsForLong) {
  const auto owner = open();
  ASSERT_TRUE(owner->replace().ok());
  const auto soon = [] { return hal::Clock::now() + std::chrono::milliseconds(20); };
  EXPECT_THAT(open(1, 1, soon())->openFiles().status().message(),
              HasSubstr("somebody else has been replacing the files in " + folder_));
  EXPECT_THAT(open(1, 1, soon())->replace().status().message(), HasSubstr("somebody else"));
  // Another token has other files.
  const auto other = CacheSet::open(folder_, hal::Token{1}, 1, 1);
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE((*other)->replace().ok());
  owner->abandon();
  EXPECT_TRUE(open()->replace().ok());
}

TEST_F(CacheFilesTest, AStoppedProcessDelaysOthersOnly) {
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto set = CacheSet::open(folder_, token_, 1, 1);
    const bool ok = set.ok() && (*set)->replace().ok();
    (void)!::write(fds[1], ok ? "y" : "n", 1);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  char answer = 0;
  ASSERT_EQ(::read(fds[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_THAT(open()->openFiles().status().message(), HasSubstr("1000 ms"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(fds[0]);
  ::close(fds[1]);
  // The unfinished replacement does not block other writers.
  EXPECT_FALSE(filesOf(*open()).has_value());
  save("a", "b");
  EXPECT_EQ(textOf(filesOf(*open())->files->modelCache[0]), "a");
}

TEST_F(CacheFilesTest, WhatIsNoFileOfTheUsersIsLeftAlone) {
  struct Case {
    const char* text;
    std::function<void(const std::string& path)> make;
  };
  const std::vector<Case> cases = {
      {"is not a regular file",
       [](const std::string& p) { ASSERT_EQ(::mkfifo(p.c_str(), 0600), 0); }},
      {"is a symbolic link",
       [&](const std::string& p) {
         std::ofstream(folder_ + "/elsewhere") << "precious";
         ASSERT_EQ(::symlink((folder_ + "/elsewhere").c_str(), p.c_str()), 0);
       }},
      {"is a symbolic link",
       [](const std::string& p) { ASSERT_EQ(::symlink("/nonexistent", p.c_str()), 0); }},
      {"Is a directory", [](const std::string& p) { ASSERT_EQ(::mkdir(p.c_str(), 0700), 0); }},
      {"2 names",
       [&](const std::string& p) {
         std::ofstream(folder_ + "/elsewhere") << "precious";
         ASSERT_EQ(::link((folder_ + "/elsewhere").c_str(), p.c_str()), 0);
       }},
  };
  for (const Case& each : cases) {
    for (const std::string& path : {modelPath(), dataPath(), folder_ + "/" + kLock}) {
      save("model", "data");
      fs::remove_all(path);
      each.make(path);
      const auto set = CacheSet::open(folder_, token_, 1, 1);
      Status status = set.status();
      if (set.ok()) status = (*set)->openFiles().status();
      EXPECT_EQ(status.code(), ResultCode::OP_FAILED) << path << each.text;
      // The lock file is opened in another way. The kernel decides which error a link or a folder
      // causes.
      if (path.find(kLock) == std::string::npos) {
        EXPECT_THAT(status.message(), HasSubstr(each.text));
      }
      EXPECT_THAT(status.message(), HasSubstr(path)) << each.text;
      EXPECT_TRUE(fs::symlink_status(path).type() != fs::file_type::not_found);
      fs::remove_all(path);
      if (fs::exists(folder_ + "/elsewhere")) {
        EXPECT_EQ(fs::file_size(folder_ + "/elsewhere"), 8u);
        fs::remove(folder_ + "/elsewhere");
      }
    }
  }
}

TEST_F(CacheFilesTest, FilesOfOthersAreLeftAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  save("model", "data");
  ASSERT_EQ(::chown(dataPath().c_str(), 1, 1), 0);
  EXPECT_THAT(open()->openFiles().status().message(), HasSubstr("belongs to user 1, expected 0"));
}

// Acts as another user than root. For root no folder is read-only.
class EffectiveUser {
 public:
  explicit EffectiveUser(uid_t user) { EXPECT_EQ(::seteuid(user), 0); }
  ~EffectiveUser() { EXPECT_EQ(::seteuid(0), 0); }
  EffectiveUser(const EffectiveUser&) = delete;
  EffectiveUser& operator=(const EffectiveUser&) = delete;
};

TEST_F(CacheFilesTest, AReadOnlyFolderIsReadFromOnly) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs another user than its own";
  constexpr uid_t kNobody = 65534;
  save("model", "data");
  for (const auto& entry : fs::directory_iterator(folder_)) {
    ASSERT_EQ(::chown(entry.path().c_str(), kNobody, kNobody), 0);
  }
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  const EffectiveUser nobody(kNobody);
  for (const bool hasLock : {true, false}) {
    if (!hasLock) {
      ASSERT_EQ(::seteuid(0), 0);
      fs::remove(folder_ + "/" + kLock);
      ASSERT_EQ(::seteuid(kNobody), 0);
    }
    const auto set = open();
    const auto opened = filesOf(*set);
    ASSERT_TRUE(opened.has_value());
    EXPECT_EQ(textOf(opened->files->dataCache[0]), "data");
    EXPECT_FALSE(set->replace().ok());
    EXPECT_EQ(textOf(filesOf(*open())->files->dataCache[0]), "data");
  }
}

TEST_F(CacheFilesTest, NoFolder) {
  EXPECT_THAT(CacheSet::open(folder_ + "/none/", token_, 1, 1).status().message(),
              HasSubstr(folder_ + "/none/: No such file"));
  EXPECT_THAT(CacheSet::open("/dev/null", token_, 1, 1).status().message(),
              HasSubstr("Not a directory"));
}

TEST_F(CacheFilesTest, TimesAreKeptWithTheFiles) {
  save("model", "data");
  EXPECT_FALSE(filesOf(*open())->times.has_value());
  setTimes(*filesOf(*open())->files, {2e9, 3e6, 2});
  const auto opened = filesOf(*open());
  if (!opened->times) GTEST_SKIP() << "no extended attributes in " << folder_;
  EXPECT_EQ(opened->times->coldNs, 2e9);
  EXPECT_EQ(opened->times->warmNs, 3e6);
  EXPECT_EQ(opened->times->slower, 2u);
  for (const std::string garbage :
       {"", "1", "1 9 5 5", "2 9 5 5 5", "1 9 -5 3 2", "1 9 nan 3 2", "1 8 5 5 5", "x"}) {
    ASSERT_EQ(
        ::setxattr(modelPath().c_str(), "user.halyard.times", garbage.data(), garbage.size(), 0),
        0);
    EXPECT_FALSE(filesOf(*open())->times.has_value()) << garbage;
  }
  // The times are not valid for files to which a driver has added data.
  setTimes(*filesOf(*open())->files, {2e9, 3e6, 2});
  EXPECT_TRUE(filesOf(*open())->times.has_value());
  std::ofstream(dataPath(), std::ios::app) << "x";
  EXPECT_FALSE(filesOf(*open())->times.has_value());
  save("model", "data");  // new files have no times
  EXPECT_FALSE(filesOf(*open())->times.has_value());
}

// Writes and reads sets until the process is killed, or for `rounds` rounds. Returns 1 when a set
// was mixed.
int raceInChild(const std::string& folder, const hal::Token& token, unsigned seed, int rounds) {
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    auto set = CacheSet::open(folder, token, 2, 2);
    if (!set.ok()) return 2;
    const auto opened = (*set)->openFiles();
    if (!opened.ok()) continue;  // other processes held the lock for too long
    if (*opened) {
      uint32_t first = 0;
      bool isFirst = true;
      for (const auto* list : {&(*opened)->files->modelCache, &(*opened)->files->dataCache}) {
        for (const UniqueFd& fd : *list) {
          uint32_t found = 0;
          if (::pread(fd.get(), &found, sizeof(found), 0) != sizeof(found)) return 1;
          if (!isFirst && found != first) return 1;
          first = found;
          isFirst = false;
        }
      }
      if (random() % 4 != 0) continue;
    }
    const auto files = (*set)->replace();
    if (!files.ok()) continue;
    const auto generation = static_cast<uint32_t>(random());
    for (const auto* list : {&(*files)->modelCache, &(*files)->dataCache}) {
      for (const UniqueFd& fd : *list) {
        if (::pwrite(fd.get(), &generation, sizeof(generation), 0) != sizeof(generation)) return 3;
      }
    }
    if (!(*set)->publish().ok()) return 4;
  }
  return 0;
}

TEST_F(CacheFilesTest, ProcessesThatRaceAndDieNeverMixSets) {
  constexpr int kProcesses = 3;
  constexpr int kKills = 60;
  std::mt19937 random(1);
  unsigned seed = 0;
  const auto start = [&](int rounds) {
    const unsigned childSeed = ++seed;
    const pid_t child = ::fork();
    if (child == 0) ::_exit(raceInChild(folder_, token_, childSeed, rounds));
    return child;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) children.push_back(start(1 << 30));
  for (int kill = 0; kill < kKills; ++kill) {
    ::usleep(random() % 3000);
    const size_t victim = random() % children.size();
    int status = 0;
    ::kill(children[victim], SIGKILL);
    ASSERT_EQ(::waitpid(children[victim], &status, 0), children[victim]);
    EXPECT_TRUE(WIFSIGNALED(status)) << "ended by itself with " << WEXITSTATUS(status);
    children[victim] = start(1 << 30);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "ended by itself with " << WEXITSTATUS(status);
  }
  // No process is left that could hold a lock, so the next one can continue.
  EXPECT_EQ(raceInChild(folder_, token_, 0, 20), 0);
  const auto last = open(2, 2);
  ASSERT_TRUE(last->replace().ok());
  ASSERT_TRUE(last->publish().ok());
  EXPECT_TRUE(filesOf(*last).has_value());
  for (const std::string& name : listing()) EXPECT_THAT(name, Not(HasSubstr(".new")));
}

}  // namespace
}  // namespace halyard::runtime
