// Caching from an application's side, through the C API, with drivers in processes of their own.
// Several applications run in sequence and in parallel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "test_definitions.h"

namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class CachingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "halyard-caching-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::create_directory(cache());
    describe();
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string cache() const { return folder_ + "/cache"; }

  // The CPU driver, in a process of its own.
  void useCpuDriver() {
    device_ = "halyard-cpu";
    std::ofstream(folder_ + "/manifest.json")
        << R"({"name": "halyard-cpu", "version": "1", "hal_version": "1.3", "executable": ")"
        << CPU_DRIVER << R"("})";
  }
  // The driver of describe() as a library in the application's process.
  void useLibrary() {
    std::ofstream(folder_ + "/manifest.json") << R"({"name": ")" << device_ << R"(", "version": ")"
                                              << version_ << R"(", "hal_version": ")" << halVersion_
                                              << R"(", "library": ")" << CACHING_LIBRARY << R"("})";
    before_ = "CACHING_LIBRARY_PERSONALITY='" + folder_ + "/personality.json' ";
  }

  // Writes the driver's personality and manifest from the members. Its compilation is so slow that
  // a start from files is quicker on every machine. Otherwise the runtime drops the files.
  void describe() {
    std::ofstream(folder_ + "/personality.json")
        << R"({"name": ")" << device_ << R"(", "hal_version": ")" << halVersion_
        << R"(", "version": ")" << version_
        << R"(", "capabilities": {"default": {"exec_time": 0.1, "power_usage": 0.1}},
              "delays": {"compile_ms": )"
        << compileMs_ << R"(},
              "supports": {"not_operations": [)"
        << unsupported_ << R"(]})" << cacheFields_ << "}";
    std::ofstream(folder_ + "/manifest.json")
        << R"({"name": ")" << device_ << R"(", "version": ")" << version_
        << R"(", "hal_version": ")" << halVersion_ << R"(", "executable": ")" << REFERENCE_DRIVER
        << R"(", "arguments": ["--personality", ")" << folder_ << R"(/personality.json"]})";
  }
  void useVersion(const std::string& version) {
    halVersion_ = version;
    if (version < "1.2") cacheFields_.clear();
    describe();
  }

  std::string commandLine(const std::string& arguments) const {
    // The test also owns the drivers' stores.
    return before_ + "HALYARD_LOG=quiet HALYARD_PARTITION_OVERHEAD=off XDG_STATE_HOME='" + folder_ +
           "/state' HALYARD_DRIVER_FILES='" + folder_ + "/manifest.json' '" CACHE_CLIENT "' " +
           arguments + " 2>&1";
  }

  // Runs an application in its own process; returns its output and its exit status.
  struct Ended {
    int status;
    std::string text;
  };
  static Ended endOf(FILE* pipe) {
    std::string text;
    char piece[4096];
    for (size_t got = 0; (got = std::fread(piece, 1, sizeof(piece), pipe)) > 0;) {
      text.append(piece, got);
    }
    return {::pclose(pipe), std::move(text)};
  }
  Ended end(const std::string& arguments) const {
    FILE* const pipe = ::popen(commandLine(arguments).c_str(), "re");
    EXPECT_NE(pipe, nullptr);
    return endOf(pipe);
  }
  // The output lines of an application that succeeds.
  std::vector<std::string> run(const std::string& arguments) const {
    const Ended ended = end(arguments);
    EXPECT_TRUE(WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0)
        << arguments << ": " << ended.text;
    std::vector<std::string> lines;
    std::stringstream list(ended.text);
    for (std::string line; std::getline(list, line);) lines.push_back(line);
    return lines;
  }
  // The first word of the only line.
  std::string stateAfter(const std::string& arguments = "") const {
    const auto lines = run(device_ + " " + cache() + " " + arguments);
    EXPECT_THAT(lines, SizeIs(1));
    return lines.empty() ? "" : lines[0].substr(0, lines[0].find(' '));
  }

  std::string before_;  // the application
  std::string folder_;
  std::string device_ = "test-caching";
  std::string version_ = "1";
  std::string halVersion_ = "1.3";
  std::string unsupported_;
  int compileMs_ = 20;
  std::string cacheFields_ = R"(, "cache": {"model_files": 2, "data_files": 1})";
};

TEST_F(CachingTest, WorkflowsOfEveryVersion) {
  for (const std::string version : {"1.3", "1.2"}) {
    SCOPED_TRACE(version);
    device_ = "test-caching" + version;
    useVersion(version);
    EXPECT_THAT(run(device_ + " " + cache()), ElementsAre(StartsWith("miss there are no files")));
    EXPECT_THAT(run(device_ + " " + cache()), ElementsAre("hit "));
    EXPECT_THAT(run(device_ + " " + cache() + " rounds=3"), ElementsAre("hit ", "hit ", "hit "));
    EXPECT_THAT(run(device_ + " -"), ElementsAre("off the application has asked for none"));
    EXPECT_THAT(run(device_ + " " + cache() + "/none"), ElementsAre(HasSubstr("No such file")));
    EXPECT_EQ(stateAfter(), "hit");
  }
  // Two sets of three files, and the lock.
  const auto files = std::distance(fs::directory_iterator(cache()), fs::directory_iterator());
  EXPECT_EQ(files, 7);
  for (const std::string version : {"1.1", "1.0"}) {
    SCOPED_TRACE(version);
    useVersion(version);
    EXPECT_THAT(run(device_ + " " + cache()), ElementsAre(HasSubstr("off the driver needs no")));
  }
}

TEST_F(CachingTest, TheCpuDriverNeedsNoFiles) {
  useCpuDriver();
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(run(device_ + " " + cache() + " large=5000"),
                ElementsAre(StartsWith("off the driver needs no files")));
  }
}

TEST_F(CachingTest, ADriverInTheApplicationsProcess) {
  useLibrary();
  const std::string large = " large=5000";
  EXPECT_EQ(stateAfter(large), "miss");
  EXPECT_EQ(stateAfter(large), "hit");
  EXPECT_THAT(run(device_ + " " + cache() + large + " rounds=3"),
              ElementsAre("hit ", "hit ", "hit "));
  for (const std::string change : {"large=4999", "large=5000 weight=7", "large=5000 rows=2",
                                   "large=5000 preference=0", "large=5000 priority=110"}) {
    SCOPED_TRACE(change);
    EXPECT_EQ(stateAfter(change), "miss");
    EXPECT_EQ(stateAfter(change), "hit");
  }
  EXPECT_EQ(stateAfter(large), "hit");
  // Another store does not know the files.
  fs::remove_all(folder_ + "/state");
  EXPECT_EQ(stateAfter(large), "miss");
  EXPECT_EQ(stateAfter(large), "hit");
}

// The application sets a limit on sizes of files; the signal of that limit would end it. The limit
// allows the constants in memory, but not the constants with a header.
TEST_F(CachingTest, NothingEndsAtALimitOnSizesOfFiles) {
  useLibrary();
  const std::string unlimited = before_;
  const auto runLarge = [&] { return run(device_ + " " + cache() + " large=50000"); };
  EXPECT_THAT(runLarge(), ElementsAre(StartsWith("miss")));
  fs::remove_all(cache());
  fs::create_directory(cache());
  before_ = "ulimit -f 391; " + unlimited;
  EXPECT_THAT(runLarge(), ElementsAre(StartsWith("miss")));
  EXPECT_THAT(runLarge(), ElementsAre(StartsWith("miss")));
  before_ = unlimited;
  EXPECT_THAT(runLarge(), ElementsAre(StartsWith("miss")));
  EXPECT_THAT(runLarge(), ElementsAre("hit "));
}

TEST_F(CachingTest, InvalidationMatrix) {
  EXPECT_EQ(stateAfter(), "miss");
  for (const std::string change : {"weight=7", "large=5", "large=1000", "rows=2", "preference=2",
                                   "preference=0", "priority=90", "priority=110", "token=1"}) {
    SCOPED_TRACE(change);
    EXPECT_EQ(stateAfter(change), "miss");
    EXPECT_EQ(stateAfter(change), "hit");
    EXPECT_EQ(stateAfter(), "hit");
  }
  const auto expectAnother = [&](const char* what) {
    SCOPED_TRACE(what);
    describe();
    EXPECT_EQ(stateAfter(), "miss");
    EXPECT_EQ(stateAfter(), "hit");
  };
  version_ = "2";
  expectAnother("driver's version");
  device_ = "test-other";
  expectAnother("device");
  // Both operations at first, then only the first one.
  unsupported_ = R"("MUL")";
  describe();
  const std::string both = device_ + ",nnapi-reference " + cache();
  EXPECT_THAT(run(both), ElementsAre(StartsWith("miss")));
  EXPECT_THAT(run(both), ElementsAre("hit "));
  unsupported_ = R"("ADD")";
  describe();
  EXPECT_THAT(run(both), ElementsAre(StartsWith("miss")));
  EXPECT_THAT(run(both), ElementsAre("hit "));
}

TEST_F(CachingTest, FilesThatWereChangedAreCompiledAnew) {
  EXPECT_EQ(stateAfter(), "miss");
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(cache())) {
    if (entry.path().filename().string()[0] != '.') files.push_back(entry.path());
  }
  ASSERT_THAT(files, SizeIs(3));
  for (const fs::path& file : files) {
    SCOPED_TRACE(file);
    std::fstream stream(file, std::ios::in | std::ios::out);
    stream.seekg(static_cast<std::streamoff>(fs::file_size(file) / 2));
    const int byte = stream.peek();
    stream.seekp(static_cast<std::streamoff>(fs::file_size(file) / 2));
    stream.put(static_cast<char>(byte ^ 1));
    stream.close();
    EXPECT_EQ(stateAfter(), "miss");
    EXPECT_EQ(stateAfter(), "hit");
    fs::resize_file(file, 0);
    EXPECT_EQ(stateAfter(), "miss");
    EXPECT_EQ(stateAfter(), "hit");
    fs::remove(file);
    EXPECT_EQ(stateAfter(), "miss");
    EXPECT_EQ(stateAfter(), "hit");
  }
}

TEST_F(CachingTest, WhatComesBackAfterTheDriversDeathIsFromTheCache) {
  const std::string arguments = device_ + " " + cache() + " all=1 kill=1";
  // The driver compiles, dies and loads.
  EXPECT_THAT(run(arguments), ElementsAre("hit "));
  EXPECT_THAT(run(arguments + " rounds=2"), ElementsAre("hit ", "hit "));
}

// The application learns of a refusal when it compiles, even if the driver prepared the model
// quickly before. The folder stays empty.
TEST_F(CachingTest, ADriverWithoutFilesIsWaitedForInEveryStart) {
  const std::string arguments = device_ + " " + cache();
  compileMs_ = 0;
  for (const std::string fault : {R"("do": "fail", "text": "no room")", R"("do": "crash")"}) {
    SCOPED_TRACE(fault);
    cacheFields_.clear();
    describe();
    for (int start = 0; start < 3; ++start) {
      EXPECT_THAT(run(arguments), ElementsAre("off the driver needs no files: it does not cache"));
    }
    cacheFields_ = R"(, "faults": [{"at": "prepare", )" + fault + "}]";
    describe();
    const Ended failed = end(arguments);
    EXPECT_TRUE(WIFEXITED(failed.status) && WEXITSTATUS(failed.status) == 1) << failed.text;
    EXPECT_THAT(failed.text, StartsWith("finish: "));
    EXPECT_THAT(failed.text,
                HasSubstr(fault.find("room") != fault.npos ? "no room" : "killed by signal"));
  }
  EXPECT_TRUE(fs::is_empty(cache()));
}

TEST_F(CachingTest, TheApplicationsOwnDescriptors) {
  const std::string arguments = device_ + " " + cache() + " fds=1";
  EXPECT_THAT(run(arguments), ElementsAre("miss the application's files are empty"));
  EXPECT_THAT(run(arguments), ElementsAre("hit "));
  EXPECT_THAT(run(arguments + " weight=9"), ElementsAre(StartsWith("miss the driver does not")));
  EXPECT_THAT(run(arguments + " weight=9"), ElementsAre("hit "));
}

TEST_F(CachingTest, ApplicationsThatRaceForTheSameFiles) {
  constexpr int kApplications = 3;
  constexpr int kTokens = 40;
  const std::string arguments = device_ + " " + cache() + " rounds=" + std::to_string(kTokens) +
                                " tokens=" + std::to_string(kTokens);
  std::vector<FILE*> running;
  for (int i = 0; i < kApplications; ++i) {
    running.push_back(::popen(commandLine(arguments).c_str(), "re"));
  }
  for (FILE* const each : running) {
    const Ended ended = endOf(each);
    EXPECT_EQ(ended.status, 0) << ended.text;
  }
  const auto afterwards = run(arguments);
  EXPECT_THAT(afterwards, SizeIs(kTokens));
  EXPECT_THAT(afterwards, Each("hit "));
}

}  // namespace
