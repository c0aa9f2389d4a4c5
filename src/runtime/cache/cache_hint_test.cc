// When a start does not try to be cached: nothing was saved lately, or never is.
#include "runtime/cache/cache_hint.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "runtime/testing/cached_compilation_for_test.h"

namespace halyard::runtime::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using State = CacheRecord::State;

class CacheHintTest : public CachedPreparationTest {};

// The model is not even digested then.
TEST_F(CacheHintTest, ADriverThatSavesNothingIsLeftAloneForADay) {
  script_->writes = false;
  for (uint32_t i = 0; i < kMostUselessStarts; ++i) EXPECT_EQ(compile().state, State::MISS);
  const auto expectNotTried = [&] {
    script_->takeCalls();
    const CacheRecord record = compile();
    EXPECT_EQ(record.state, State::OFF);
    EXPECT_THAT(record.reason, HasSubstr("no driver has saved anything of such a model"));
    EXPECT_EQ(record.keyNs, 0);
    const auto calls = script_->takeCalls();
    ASSERT_THAT(calls, SizeIs(1));
    EXPECT_FALSE(calls[0].isLoad || calls[0].hadCache);
  };
  expectNotTried();
  start();  // another process
  expectNotTried();
  const auto hints = [&] {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with(".halyard-hint-")) found.push_back(entry);
    }
    return found;
  };
  ASSERT_THAT(hints(), SizeIs(1));
  // Of another model, or for another version of the driver, it says nothing.
  preference_ = 2;
  EXPECT_EQ(compile().state, State::MISS);
  preference_ = 1;
  ++token_[0];
  EXPECT_EQ(compile().state, State::MISS);
  --token_[0];
  script_->version = "2";
  start();
  EXPECT_EQ(compile().state, State::MISS);
  script_->version = "1";
  start();
  expectNotTried();
  // A day later the driver may save, and the hint goes.
  script_->writes = true;
  expectNotTried();
  for (const fs::path& each : hints()) {
    fs::last_write_time(each, fs::last_write_time(each) - kNoteAge - std::chrono::minutes(1));
  }
  EXPECT_EQ(compile().state, State::MISS);
  EXPECT_EQ(compile().state, State::HIT);
}

// Neither files, nor the digest of the model, nor a trace in the folder.
TEST_F(CacheHintTest, APreferenceForWhichTheDriverSavesNothingIsNotCached) {
  script_->preferences = hal::preferenceBit(hal::ExecutionPreference::SUSTAINED_SPEED);
  for (uint32_t i = 0; i <= kMostUselessStarts; ++i) {
    const CacheRecord record = compile();
    EXPECT_EQ(record.state, State::OFF);
    EXPECT_EQ(record.reason, "the driver saves nothing that it compiles for a fast single answer");
    EXPECT_EQ(record.keyNs, 0);
    const auto calls = script_->takeCalls();
    ASSERT_THAT(calls, SizeIs(1));
    EXPECT_FALSE(calls[0].isLoad || calls[0].hadCache);
  }
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_EQ(fs::directory_iterator(folder_), fs::directory_iterator());
  preference_ = 2;
  EXPECT_EQ(compile().state, State::MISS);
  EXPECT_EQ(compile().state, State::HIT);
}

TEST_F(CacheHintTest, AStartThatIsSavedEndsTheCountOfUselessOnes) {
  for (int round = 0; round < 2; ++round) {
    ++token_[0];
    for (uint32_t i = 0; i < kMostUselessStarts; ++i) {
      script_->writes = i + 1 == kMostUselessStarts;
      EXPECT_EQ(compile().state, State::MISS);
    }
    EXPECT_EQ(compile().state, State::HIT);
    for (const std::string& file : files()) fs::remove(file);
    script_->writes = false;
    EXPECT_EQ(compile().state, State::MISS);
    EXPECT_EQ(compile().state, State::MISS);
  }
}

TEST_F(CacheHintTest, AHintThatIsNoneIsIgnored) {
  script_->writes = false;
  EXPECT_EQ(compile().state, State::MISS);
  std::string hint;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().filename().string().starts_with(".halyard-hint-")) hint = entry.path();
  }
  ASSERT_FALSE(hint.empty());
  for (const char* text : {"", "halyard hint 1", "halyard hint 1 9", "halyard hint 2 9\n",
                           "halyard hint 1 99999999999999999999999 9\n", "halyard hint 1 -\n"}) {
    SCOPED_TRACE(text);
    std::ofstream(hint) << text;
    EXPECT_EQ(compile().state, State::MISS);
  }
  // Nothing is left of what was longer.
  std::ofstream(hint) << "halyard hint 1 99999999999999999999999 9\n";
  for (uint32_t i = 0; i < kMostUselessStarts; ++i) EXPECT_EQ(compile().state, State::MISS);
  EXPECT_EQ(compile().state, State::OFF);
  const auto replace = [&](const std::function<void()>& make) {
    fs::remove(hint);
    make();
    EXPECT_EQ(compile().state, State::MISS);
    EXPECT_EQ(compile().state, State::MISS);
  };
  const std::string elsewhere = folder_ + "/elsewhere";
  std::ofstream(elsewhere) << "halyard hint 1 9\n";
  replace([&] { fs::create_symlink(elsewhere, hint); });
  replace([&] { fs::create_hard_link(elsewhere, hint); });
  replace([&] { ASSERT_EQ(::mkfifo(hint.c_str(), 0600), 0); });
  replace([&] { fs::create_directory(hint); });
  std::string line;
  std::getline(std::ifstream(elsewhere), line);
  EXPECT_EQ(line, "halyard hint 1 9");
}

}  // namespace
}  // namespace halyard::runtime::testing
