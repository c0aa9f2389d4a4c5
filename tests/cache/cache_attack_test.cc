// Attacks on the files of a compilation cache, at the level of the HAL. No attack causes a wrong
// result, a crash or a hang. A compilation after the attack is cached again.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cache_driver_for_test.h"

namespace halyard::cache_testing {
namespace {

const Chain kAdd{OperandType::TENSOR_FLOAT32, OperationType::ADD, 2};
const Chain kMul{OperandType::TENSOR_FLOAT32, OperationType::MUL, 2};

class CacheAttack : public ::testing::TestWithParam<Where> {
 protected:
  CacheAttack() : driver_(setup(), folder_.path() / "state"), files_(fileSet("a")) {
    save(kAdd, files_, token_);
    good_ = files_.read();
  }

  static constexpr unsigned kModelFiles = 2;
  static Where where() { return GetParam(); }
  static DriverSetup setup(const std::string& fields = "") {
    return {where(), HalVersion::V1_3, kModelFiles, 1, "", fields};
  }
  FileSet fileSet(const std::string& name) const {
    return FileSet(folder_.path(), name, kModelFiles, 1);
  }

  Status saveBy(hal::Device& device, const Chain& chain, const FileSet& files, hal::Token token) {
    auto prepared = device.prepareModel(validated(chain.model()).value(), with(files.open(token)));
    if (!prepared.ok()) return prepared.takeStatus();
    EXPECT_TRUE(chain.isComputedBy(**prepared));
    return okStatus();
  }
  void save(const Chain& chain, const FileSet& files, hal::Token token) {
    const Status saved = saveBy(driver_.device(), chain, files, token);
    ASSERT_TRUE(saved.ok()) << saved.toString();
  }
  // Whether `chain` is loaded from the files. A loaded model must compute correctly.
  bool loads(hal::Device& device, const Chain& chain, const FileSet& files, hal::Token token,
             uint32_t user = ::geteuid()) {
    hal::PrepareOptions options = with(files.open(token));
    options.clientUid = user;
    const auto cached = device.prepareModelFromCache(validated(chain.model()).value(), options);
    if (cached.ok()) {
      EXPECT_TRUE(chain.isComputedBy(*cached->prepared));
    } else {
      EXPECT_EQ(cached.status().code(), ResultCode::OP_FAILED) << cached.status().toString();
    }
    return cached.ok();
  }
  bool loads() { return loads(driver_.device(), kAdd, files_, token_); }
  // The application compiles, as after any miss, and the next load is a hit again.
  void expectCleanRecompile() {
    save(kAdd, files_, token_);
    EXPECT_TRUE(loads());
    good_ = files_.read();
  }
  // Tests each nth change: every change in this process, fewer in the other places, which are
  // slower.
  size_t stride() const { return where() == Where::IN_THIS_PROCESS ? 1 : 17; }

  TestFolder folder_;
  CacheDriver driver_;
  const FileSet files_;
  const hal::Token token_ = tokenOf(1);
  std::vector<std::string> good_;
};

TEST_P(CacheAttack, EveryByteOfEachModelFile) {
  for (size_t file = 0; file < files_.modelFiles(); ++file) {
    ASSERT_GT(good_[file].size(), 32u);
    for (size_t i = 0; i < good_[file].size(); i += stride()) {
      for (const char change : {'\x01', '\xff'}) {
        std::string bad = good_[file];
        bad[i] ^= change;
        writeFile(files_.paths()[file], bad);
        ASSERT_FALSE(loads()) << "byte " << i << " of file " << file;
      }
    }
    writeFile(files_.paths()[file], good_[file]);
  }
  EXPECT_TRUE(loads());
  expectCleanRecompile();
}

TEST_P(CacheAttack, EveryByteOfTheDataFile) {
  std::string bad = good_.back();
  for (size_t i = 0; i < bad.size(); i += 5 * stride()) {
    bad[i] ^= 1;
    writeFile(files_.paths().back(), bad);
    // The HAL allows wrong numbers here. This driver gives no wrong number.
    (void)loads();
    bad[i] ^= 1;
  }
  writeFile(files_.paths().back(), bad);
  EXPECT_TRUE(loads());
}

TEST_P(CacheAttack, EveryLengthOfEachFile) {
  for (size_t file = 0; file < good_.size(); ++file) {
    const bool isModel = file < files_.modelFiles();
    for (size_t length = 0; length < good_[file].size(); length += isModel ? stride() : 61) {
      writeFile(files_.paths()[file], good_[file].substr(0, length));
      ASSERT_FALSE(loads()) << length << " bytes of file " << file;
    }
    for (const size_t more : {size_t{1}, size_t{7}, size_t{4096}, size_t{1} << 20}) {
      writeFile(files_.paths()[file], good_[file] + std::string(more, '\0'));
      ASSERT_FALSE(loads()) << more << " bytes more in file " << file;
    }
    writeFile(files_.paths()[file], good_[file]);
  }
  expectCleanRecompile();
}

TEST_P(CacheAttack, FilesThatSeemToBeHuge) {
  for (const auto& path : files_.paths()) {
    ASSERT_EQ(::truncate(path.c_str(), off_t{1} << 42), 0) << path;
    EXPECT_FALSE(loads());
    expectCleanRecompile();
  }
}

TEST_P(CacheAttack, FilesInEachOthersPlaces) {
  for (size_t file = 0; file < good_.size(); ++file) {
    for (size_t other = 0; other < good_.size(); ++other) {
      if (other == file) continue;
      std::vector<std::string> mixed = good_;
      std::swap(mixed[file], mixed[other]);
      files_.write(mixed);
      EXPECT_FALSE(loads()) << file << " and " << other;
      mixed = good_;
      mixed[file] = good_[other];
      files_.write(mixed);
      EXPECT_FALSE(loads()) << other << " instead of " << file;
    }
  }
  expectCleanRecompile();
}

TEST_P(CacheAttack, FilesOfAnotherToken) {
  const FileSet other = fileSet("b");
  save(kMul, other, tokenOf(2));
  const std::vector<std::string> theirs = other.read();
  EXPECT_FALSE(loads(driver_.device(), kMul, other, token_));
  EXPECT_FALSE(loads(driver_.device(), kAdd, files_, tokenOf(2)));
  // All files of the other compilation, then each file alone.
  files_.write(theirs);
  EXPECT_FALSE(loads());
  for (size_t file = 0; file < good_.size(); ++file) {
    std::vector<std::string> mixed = good_;
    mixed[file] = theirs[file];
    files_.write(mixed);
    // Both compilations have the same constants. The files of constants still belong to the other
    // one.
    if (file < files_.modelFiles()) {
      EXPECT_FALSE(loads()) << file;
    } else {
      (void)loads();
    }
  }
  expectCleanRecompile();
}

TEST_P(CacheAttack, ReplayOfAnOlderValidFile) {
  const std::vector<std::string> older = good_;
  save(kMul, files_, token_);
  EXPECT_TRUE(loads(driver_.device(), kMul, files_, token_));
  files_.write(older);
  EXPECT_FALSE(loads());
  driver_.restart();
  EXPECT_FALSE(loads());
  expectCleanRecompile();
}

TEST_P(CacheAttack, TokenUsedForTwoModels) {
  const FileSet other = fileSet("b");
  save(kMul, other, token_);
  EXPECT_FALSE(loads(driver_.device(), kAdd, files_, token_));
  EXPECT_TRUE(loads(driver_.device(), kMul, other, token_));
}

TEST_P(CacheAttack, FilesOfAnotherDriverBuildOrStore) {
  // `same`: the other driver saves the same files as the first one, byte for byte.
  const auto expectMiss = [&](const DriverSetup& setup, const std::filesystem::path& state,
                              bool same) {
    CacheDriver other(setup, state);
    EXPECT_FALSE(loads(other.device(), kAdd, files_, token_));
    // The first driver does not accept the files of the other one, either.
    const FileSet theirs = fileSet("theirs");
    EXPECT_TRUE(saveBy(other.device(), kAdd, theirs, token_).ok());
    EXPECT_TRUE(loads(other.device(), kAdd, theirs, token_));
    EXPECT_EQ(theirs.read() == good_, same);
    EXPECT_EQ(loads(driver_.device(), kAdd, theirs, token_), same);
  };
  expectMiss(setup(), folder_.path() / "otherstate", true);
  EXPECT_TRUE(loads());
  expectMiss(setup(R"("name": "acme-other")"), folder_.path() / "state", false);
  expectMiss(setup(R"("version": "another build")"), folder_.path() / "state", false);
  driver_.restart();
  EXPECT_FALSE(loads()) << "a store begins anew with another build";
  expectCleanRecompile();
}

TEST_P(CacheAttack, OtherThingsInPlaceOfFiles) {
  const std::filesystem::path& path = files_.paths()[0];
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  auto fifo = driver_.device().prepareModelFromCache(validated(kAdd.model()).value(),
                                                     with(files_.open(token_)));
  EXPECT_EQ(fifo.status().code(), ResultCode::BAD_DATA);
  save(kAdd, files_, token_);  // compiled, and cached nowhere
  std::filesystem::remove(path);
  for (const char* const target : {"/dev/zero", "/dev/null"}) {
    std::filesystem::create_symlink(target, path);
    const auto device = driver_.device().prepareModelFromCache(validated(kAdd.model()).value(),
                                                               with(files_.open(token_)));
    EXPECT_EQ(device.status().code(), ResultCode::BAD_DATA) << target;
    save(kAdd, files_, token_);
    std::filesystem::remove(path);
  }
  // Another file of the same user: its content decides.
  const std::filesystem::path elsewhere = folder_.path() / "elsewhere";
  writeFile(elsewhere, good_.back());
  std::filesystem::create_symlink(elsewhere, path);
  EXPECT_FALSE(loads());
  std::filesystem::remove(path);
  expectCleanRecompile();
}

INSTANTIATE_TEST_SUITE_P(Drivers, CacheAttack,
                         ::testing::Values(Where::IN_THIS_PROCESS, Where::OVER_RPC,
                                           Where::IN_ITS_OWN_PROCESS),
                         [](const auto& each) { return std::string(nameOf(each.param)); });

// The driver identifies a compilation also by the client's user, which the kernel reports.
TEST(CacheOfUsers, IsEachUsersOwn) {
  const TestFolder folder;
  CacheDriver driver({}, folder.path() / "state");
  const FileSet files(folder.path(), "a", 1, 1);
  hal::PrepareOptions options = with(files.open(tokenOf(1)));
  options.clientUid = 1234;
  ASSERT_TRUE(driver.device().prepareModel(validated(kAdd.model()).value(), options).ok());
  const auto codeFor = [&](uint32_t user) {
    hal::PrepareOptions own = with(files.open(tokenOf(1)));
    own.clientUid = user;
    return driver.device()
        .prepareModelFromCache(validated(kAdd.model()).value(), own)
        .status()
        .code();
  };
  EXPECT_EQ(codeFor(1234), ResultCode::NO_ERROR);
  EXPECT_EQ(codeFor(4321), ResultCode::OP_FAILED);
}

// A driver that saves invalid data, and reports success.
TEST(MistakenDriver, WhatItSavedIsAMiss) {
  for (const std::pair<unsigned, unsigned>& counts : {std::pair(1u, 1u), {3u, 0u}, {0u, 2u}}) {
    const TestFolder folder;
    CacheDriver driver({Where::IN_THIS_PROCESS, HalVersion::V1_3, counts.first, counts.second,
                        R"("saves_garbage": true)", ""},
                       folder.path() / "state");
    const FileSet files(folder.path(), "a", counts.first, counts.second);
    const auto prepared =
        driver.device().prepareModel(validated(kAdd.model()).value(), with(files.open(tokenOf(1))));
    ASSERT_TRUE(prepared.ok());
    EXPECT_TRUE(kAdd.isComputedBy(**prepared));
    EXPECT_EQ(
        driver.device()
            .prepareModelFromCache(validated(kAdd.model()).value(), with(files.open(tokenOf(1))))
            .status()
            .code(),
        ResultCode::OP_FAILED);
  }
}

// Any numbers of files.
TEST(FileNumbers, AnyAreGoodForSaving) {
  for (const std::pair<unsigned, unsigned>& counts :
       {std::pair(1u, 0u), {0u, 1u}, {5u, 3u}, {32u, 32u}, {0u, 32u}}) {
    SCOPED_TRACE(fmt::format("{} and {}", counts.first, counts.second));
    const TestFolder folder;
    CacheDriver driver(
        {Where::IN_THIS_PROCESS, HalVersion::V1_3, counts.first, counts.second, "", ""},
        folder.path() / "state");
    const FileSet files(folder.path(), "a", counts.first, counts.second);
    ASSERT_TRUE(driver.device()
                    .prepareModel(validated(kMul.model()).value(), with(files.open(tokenOf(1))))
                    .ok());
    driver.restart();
    const auto cached = driver.device().prepareModelFromCache(validated(kMul.model()).value(),
                                                              with(files.open(tokenOf(1))));
    ASSERT_TRUE(cached.ok()) << cached.status().toString();
    EXPECT_TRUE(kMul.isComputedBy(*cached->prepared));
  }
}

}  // namespace
}  // namespace halyard::cache_testing
