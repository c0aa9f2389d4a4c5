// Tests of the workflows of caching, with a device that records its calls.
#include "runtime/cache/cached_preparation.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "cpu/model_for_test.h"
#include "runtime/testing/cached_compilation_for_test.h"

namespace halyard::runtime::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using State = CacheRecord::State;
using enum OperationType;

// The same cases as NNAPI's own test: numbers of files, the answer of the driver to the files, with
// and without a token.
TEST_F(CachedPreparationTest, TheWorkflowsOfNnapi) {
  const std::vector<Status> answers = {
      okStatus(),
      opFailed("declined"),
      badData("not mine"),
      makeStatus(ResultCode::UNAVAILABLE_DEVICE, "busy"),
      makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT, "late"),
      makeStatus(ResultCode::RESOURCE_EXHAUSTED_PERSISTENT, "too much")};
  for (const uint32_t models : {0u, 1u, 32u}) {
    for (const uint32_t data : {0u, 1u, 32u}) {
      for (const Status& answer : answers) {
        SCOPED_TRACE(fmt::format("{} and {} files, {}", models, data, answer.toString()));
        script_->modelFiles = models;
        script_->dataFiles = data;
        script_->fromCache = okStatus();
        token_[1]++;
        start();
        const bool isSupported = models + data > 0;
        const auto hasFiles = [&](const CachingScript::Call& call) {
          return call.modelFiles == models && call.dataFiles == data;
        };

        // With a token, without files.
        EXPECT_EQ(compile().state, isSupported ? State::MISS : State::OFF);
        auto calls = script_->takeCalls();
        ASSERT_THAT(calls, SizeIs(1));
        EXPECT_FALSE(calls[0].isLoad);
        EXPECT_EQ(calls[0].hadCache, isSupported);
        EXPECT_TRUE(hasFiles(calls[0]));

        // With a token and files.
        script_->fromCache = answer;
        const CacheRecord record = compile();
        calls = script_->takeCalls();
        EXPECT_EQ(record.state, !isSupported ? State::OFF : answer.ok() ? State::HIT : State::MISS);
        ASSERT_THAT(calls, SizeIs(isSupported && !answer.ok() ? 2 : 1));
        EXPECT_EQ(calls[0].isLoad, isSupported);
        EXPECT_TRUE(hasFiles(calls[0]));
        if (calls.size() == 2) {
          EXPECT_FALSE(calls[1].isLoad);
          EXPECT_TRUE(hasFiles(calls[1]));
          EXPECT_EQ(calls[0].token, calls[1].token);
          EXPECT_THAT(record.reason, HasSubstr(answer.message()));
        }

        // Without a token.
        EXPECT_EQ(compile(false).state, State::OFF);
        calls = script_->takeCalls();
        ASSERT_THAT(calls, SizeIs(1));
        EXPECT_FALSE(calls[0].isLoad);
        EXPECT_FALSE(calls[0].hadCache);
      }
    }
  }
}

TEST_F(CachedPreparationTest, AHitIsRecorded) {
  const CacheRecord cold = compile();
  EXPECT_EQ(cold.state, State::MISS);
  EXPECT_THAT(cold.reason, HasSubstr("no files for it yet"));
  EXPECT_GT(cold.bytesWritten, 0u);
  EXPECT_EQ(cold.bytesRead, 0u);
  EXPECT_GT(cold.keyNs, 0);
  EXPECT_GT(cold.openNs, 0);
  EXPECT_GT(cold.compileNs, 0);
  EXPECT_GT(cold.saveNs, 0);
  EXPECT_EQ(cold.loadNs, 0);
  EXPECT_THAT(files(), SizeIs(2));
  start();
  const CacheRecord warm = compile();
  EXPECT_EQ(warm.state, State::HIT);
  EXPECT_THAT(warm.reason, IsEmpty());
  EXPECT_EQ(warm.bytesRead, cold.bytesWritten);
  EXPECT_EQ(warm.bytesWritten, 0u);
  EXPECT_GT(warm.loadNs, 0);
  EXPECT_EQ(warm.compileNs, 0);
}

TEST_F(CachedPreparationTest, AnyChangeIsAMissAndNoneIsAHit) {
  struct Case {
    const char* what;
    std::function<void()> change;
  };
  const std::vector<Case> cases = {
      {"weight", [&] { weights_[1] = 2.5f; }},
      {"shape",
       [&] {
         shape_ = {1, 2};
       }},
      {"preference", [&] { preference_ = 2; }},
      {"priority", [&] { priority_ = 110; }},
      {"driver's build", [&] { script_->version = "2"; }},
      {"device", [&] { script_->name = "test-caching-2"; }},
      {"application's token", [&] { token_[31] = 1; }},
  };
  ASSERT_EQ(compile().state, State::MISS);
  for (const Case& each : cases) {
    SCOPED_TRACE(each.what);
    start();
    EXPECT_EQ(compile().state, State::HIT);
    each.change();
    start();
    EXPECT_EQ(compile().state, State::MISS);
    EXPECT_EQ(compile().state, State::HIT);
    start();  // like another process
    EXPECT_EQ(compile().state, State::HIT);
  }
}

TEST_F(CachedPreparationTest, WhatCannotBeKeptIsCompiledAndSaidSo) {
  struct Case {
    const char* text;
    std::function<void()> prepare;
  };
  ASSERT_EQ(compile().state, State::MISS);
  const std::vector<std::string> names = files();
  ASSERT_THAT(names, SizeIs(2));
  const auto insteadOf = [](const std::string& path, auto&& make) {
    fs::remove_all(path);
    make(path);
  };
  const std::vector<Case> cases = {
      {"No such file", [&] { subfolder_ = "/none"; }},
      {"Not a directory", [&] { subfolder_ = "/" + fs::path(names[0]).filename().string(); }},
      {"File name too long", [&] { subfolder_ = "/" + std::string(300, 'x'); }},
      {"is not a regular file",
       [&] { insteadOf(names[0], [](auto& p) { ASSERT_EQ(::mkfifo(p.c_str(), 0600), 0); }); }},
      {"is not a regular file",
       [&] { insteadOf(names[1], [](auto& p) { ASSERT_EQ(::mkfifo(p.c_str(), 0600), 0); }); }},
      {"is a symbolic link",
       [&] { insteadOf(names[1], [](auto& p) { fs::create_symlink("/etc/passwd", p); }); }},
      {"Is a directory", [&] { insteadOf(names[0], [](auto& p) { fs::create_directory(p); }); }},
      // Only the names of the new files are blocked, so saving fails.
      {"Is a directory",
       [&] {
         fs::remove(names[0]);
         fs::create_directory(names[1] + ".new");
       }},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.text);
    subfolder_.clear();
    for (const std::string& name : names) {
      fs::remove_all(name);
      fs::remove_all(name + ".new");
    }
    ASSERT_EQ(compile().state, State::MISS);
    each.prepare();
    (void)script_->takeCalls();
    const CacheRecord record = compile();
    EXPECT_EQ(record.state, State::OFF);
    if (std::string(each.text) != "Is a directory") {
      EXPECT_THAT(record.reason, HasSubstr(each.text));
    }
    EXPECT_THAT(record.reason, HasSubstr(folder_));
    // The driver gets the token even without files.
    const auto calls = script_->takeCalls();
    ASSERT_THAT(calls, SizeIs(1));
    EXPECT_FALSE(calls[0].isLoad);
    EXPECT_TRUE(calls[0].hadCache);
    EXPECT_EQ(calls[0].modelFiles + calls[0].dataFiles, 0u);
    EXPECT_NE(calls[0].token, hal::Token{});
  }
}

TEST_F(CachedPreparationTest, OnAFullDiskEverythingWorks) {
  const std::string disk = folder_ + "/disk";
  fs::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=16k,nr_inodes=20") != 0) {
    GTEST_SKIP() << "only root can make a small disk: " << std::strerror(errno);
  }
  subfolder_ = "/disk";
  {
    std::ofstream filler(disk + "/filler");
    const std::string block(4096, 'x');
    while (filler.write(block.data(), 4096).flush()) {
    }
  }
  // The files exist but are empty. They do not count as a compilation.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(compile().state, State::MISS);
  fs::remove(disk + "/filler");
  EXPECT_EQ(compile().state, State::MISS);
  EXPECT_EQ(compile().state, State::HIT);
  // No files can be made.
  for (int i = 0; i < 30; ++i) std::ofstream(fmt::format("{}/{}", disk, i));
  token_[3] = 1;
  EXPECT_EQ(compile().state, State::OFF);
  EXPECT_THAT(compile().reason, HasSubstr("No space left"));
  manager_.reset();
  script_->lastFiles.reset();
  EXPECT_EQ(::umount(disk.c_str()), 0);
}

TEST_F(CachedPreparationTest, AReadOnlyDiskIsReadFrom) {
  ASSERT_EQ(compile().state, State::MISS);
  if (::mount(folder_.c_str(), folder_.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    GTEST_SKIP() << "only root can make a disk read only: " << std::strerror(errno);
  }
  ASSERT_EQ(::mount(nullptr, folder_.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr),
            0);
  // A driver may write to its files. If the files are read-only, it gets no files.
  const CacheRecord there = compile();
  EXPECT_EQ(there.state, State::OFF);
  EXPECT_THAT(there.reason, HasSubstr("Read-only file system"));
  weights_[0] = 5;
  const CacheRecord absent = compile();
  EXPECT_EQ(absent.state, State::OFF);
  EXPECT_THAT(absent.reason, HasSubstr("cannot be written"));
  EXPECT_EQ(::umount2(folder_.c_str(), MNT_DETACH), 0);
}

TEST_F(CachedPreparationTest, ADriverThatFailsToLoadIsAskedToCompile) {
  ASSERT_EQ(compile().state, State::MISS);
  const auto expectMiss = [&](const char* reason) {
    const CacheRecord record = compile();
    EXPECT_EQ(record.state, State::MISS);
    EXPECT_THAT(record.reason, HasSubstr(reason));
    EXPECT_GT(record.loadNs, 0);
  };
  script_->loadsNothing = true;
  expectMiss("without a prepared model");
  script_->loadsNothing = false;
  EXPECT_EQ(compile().state, State::HIT);

  // The driver returns another model than the requested one.
  cpu::testing::TestModel other;
  other.add(other.input({3}), other.input({3}), other.output({3}));
  script_->interface = other.share();
  expectMiss("it has 2 inputs, expected 1");
  cpu::testing::TestModel wide;
  wide.operation(RELU, {wide.input({3})}, {wide.output({3})});
  script_->interface = wide.share();
  expectMiss("its input 0 is TENSOR_FLOAT32[3], expected TENSOR_FLOAT32[2]");
  script_->interface = nullptr;

  // The files cannot be loaded. The next compilation writes valid files.
  for (const std::string& path : files()) {
    std::ofstream(path, std::ios::app) << "x";
    expectMiss("is not what was saved");
    EXPECT_EQ(compile().state, State::HIT);
    fs::resize_file(path, 3);
    expectMiss("is not what was saved");
    fs::remove(path);
    EXPECT_THAT(compile().reason, HasSubstr("no files for it yet"));
  }
}

TEST_F(CachedPreparationTest, ADriverThatDiesOfTheFilesIsStartedAgain) {
  ASSERT_EQ(compile().state, State::MISS);
  script_->fromCache = makeStatus(ResultCode::DEAD_OBJECT, "the process ended");
  const CacheRecord record = compile();
  EXPECT_EQ(record.state, State::MISS);
  EXPECT_THAT(record.reason, HasSubstr("DEAD_OBJECT"));
  EXPECT_EQ(script_->waits, 1);
}

TEST_F(CachedPreparationTest, AFailureToCompileLeavesTheFilesAlone) {
  ASSERT_EQ(compile().state, State::MISS);
  const auto model = newModel();
  script_->fromCache = opFailed("declined");
  script_->beforePrepare = [] { return opFailed("out of sorts"); };
  const auto compilation = newCompilation(*model);
  ASSERT_TRUE(compilation->setCaching(folder_, token_).ok());
  EXPECT_THAT(compilation->finish().message(), HasSubstr("out of sorts"));
  EXPECT_THAT(files(), SizeIs(2));
  script_->beforePrepare = nullptr;
  script_->fromCache = okStatus();
  EXPECT_EQ(compile().state, State::HIT);
}

TEST_F(CachedPreparationTest, WhatADriverWritesLaterIsKept) {
  script_->writes = false;
  ASSERT_EQ(compile().state, State::MISS);
  const auto late = script_->lastFiles;
  EXPECT_EQ(compile().state, State::MISS);  // which writes other files
  const auto later = script_->lastFiles;
  const auto model = newModel();
  const auto write = [&](const hal::CacheFiles& to) {
    const std::string first = CachingDevice::contentOf(*model->model(), to.token, 0);
    const std::string second = CachingDevice::contentOf(*model->model(), to.token, 1);
    ASSERT_GT(::pwrite(to.modelCache[0].get(), first.data(), first.size(), 0), 0);
    ASSERT_GT(::pwrite(to.dataCache[0].get(), second.data(), second.size(), 0), 0);
  };
  write(*late);  // after the next compilation has replaced its files
  script_->writes = true;
  script_->fromCache = opFailed("not yet");
  write(*later);
  script_->fromCache = okStatus();
  EXPECT_EQ(compile().state, State::HIT);
}

TEST_F(CachedPreparationTest, StartsThatAreNoGainAreGivenUp) {
  ASSERT_EQ(compile().state, State::MISS);
  script_->beforeLoad = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return okStatus();
  };
  auto set = CacheSet::open(folder_, script_->lastFiles->token, 1, 1);
  ASSERT_TRUE(set.ok());
  setTimes(*script_->lastFiles, {1000, 0, 0});
  const auto times = [&] { return (*set)->openFiles()->value().times; };
  if (!times()) GTEST_SKIP() << "no extended attributes in " << folder_;
  for (uint32_t i = 1; i <= kMostSlowerStarts; ++i) {
    EXPECT_EQ(compile().state, State::HIT);
    EXPECT_EQ(times()->slower, i);
  }
  (void)script_->takeCalls();
  const CacheRecord record = compile();
  EXPECT_EQ(record.state, State::OFF);
  EXPECT_THAT(record.reason, HasSubstr("have taken longer than compiling"));
  const auto calls = script_->takeCalls();
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_FALSE(calls[0].hadCache);
  // A fast load resets the count of slow loads.
  setTimes(*(*set)->openFiles()->value().files, {1e12, 5, kMostSlowerStarts - 1});
  EXPECT_EQ(compile().state, State::HIT);
  EXPECT_EQ(times()->slower, 0u);
}

// The runtime does not make files, does not digest the model, and leaves no files in the folder.
TEST_F(CachedPreparationTest, APreferenceForWhichTheDriverSavesNothingIsNotCached) {
  script_->preferences = hal::preferenceBit(hal::ExecutionPreference::SUSTAINED_SPEED);
  for (int i = 0; i < 4; ++i) {
    const CacheRecord record = compile();
    EXPECT_EQ(record.state, State::OFF);
    EXPECT_EQ(record.reason, "the driver saves nothing that it compiles for a fast single answer");
    EXPECT_EQ(record.keyNs, 0);
    EXPECT_GT(record.compileNs, 0);
    const auto calls = script_->takeCalls();
    ASSERT_THAT(calls, SizeIs(1));
    EXPECT_FALSE(calls[0].isLoad || calls[0].hadCache);
  }
  EXPECT_EQ(fs::directory_iterator(folder_), fs::directory_iterator());
  preference_ = 2;
  EXPECT_EQ(compile().state, State::MISS);
  EXPECT_EQ(compile().state, State::HIT);
}

// A later compilation may find files that the driver writes then.
TEST_F(CachedPreparationTest, ADriverThatHasSavedNothingGetsFilesAgain) {
  script_->writes = false;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(compile().state, State::MISS);
  script_->writes = true;
  EXPECT_EQ(compile().state, State::MISS);
  EXPECT_EQ(compile().state, State::HIT);
}

TEST_F(CachedPreparationTest, Slower) {
  EXPECT_FALSE(isSlower(1.9e6, 1e6));  // difference below a millisecond
  EXPECT_TRUE(isSlower(2.2e6, 1e6));
  EXPECT_FALSE(isSlower(1.05e9, 1e9));  // difference below a tenth
  EXPECT_TRUE(isSlower(1.2e9, 1e9));
}

TEST_F(CachedPreparationTest, TheApplicationsOwnFiles) {
  const auto model = newModel();
  const auto file = [&](const char* name) {
    return UniqueFd(::open((folder_ + name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  };
  const auto compileWith = [&](int first, int second, const ModelBuilder& what) {
    const auto compilation = newCompilation(what);
    EXPECT_TRUE(
        compilation->setCachingFromFds(std::span(&first, 1), std::span(&second, 1), token_).ok());
    return finish(*compilation);
  };
  {
    const UniqueFd first = file("/first");
    const UniqueFd second = file("/second");
    const CacheRecord cold = compileWith(first.get(), second.get(), *model);
    EXPECT_EQ(cold.state, State::MISS);
    EXPECT_THAT(cold.reason, HasSubstr("are empty"));
    EXPECT_GT(cold.bytesWritten, 0u);
    EXPECT_THAT(script_->takeCalls(), SizeIs(1));
  }
  const UniqueFd first = file("/first");
  const UniqueFd second = file("/second");
  EXPECT_EQ(compileWith(first.get(), second.get(), *model).state, State::HIT);
  // The files are in the wrong order. The compilation then writes valid files in this order.
  EXPECT_EQ(compileWith(second.get(), first.get(), *model).state, State::MISS);
  EXPECT_EQ(compileWith(second.get(), first.get(), *model).state, State::HIT);
  weights_[0] = 3;
  EXPECT_EQ(compileWith(second.get(), first.get(), *newModel()).state, State::MISS);
  EXPECT_THAT(files(), SizeIs(2));  // no other files

  const auto compilation = newCompilation(*model);
  const auto refusal = [&](int a, int b) {
    return compilation->setCachingFromFds(std::span(&a, 1), std::span(&b, 1), token_).message();
  };
  const UniqueFd readOnly(::open((folder_ + "/first").c_str(), O_RDONLY));
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  EXPECT_THAT(refusal(first.get(), -1), HasSubstr("data cache file 0: -1 is no descriptor"));
  EXPECT_THAT(refusal(readOnly.get(), second.get()), HasSubstr("model cache file 0: descriptor"));
  EXPECT_THAT(refusal(pipe[0], second.get()), HasSubstr("not open for reading and writing"));
  const UniqueFd null(::open("/dev/null", O_RDWR));
  EXPECT_THAT(refusal(null.get(), second.get()), HasSubstr("not of a regular file"));
  ::close(pipe[0]);
  ::close(pipe[1]);
  EXPECT_THAT(compilation->setCachingFromFds({}, {}, token_).message(),
              HasSubstr("0 model and 0 data cache files, device test-caching needs 1 and 1"));
}

TEST_F(CachedPreparationTest, ThreadsThatCompileTheSameAllGetItRight) {
  start();
  // Loading is faster even on a busy machine. The wait for the thread that compiles is not part of
  // the time.
  script_->beforePrepare = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return okStatus();
  };
  const auto model = newModel();
  std::atomic<int> hits = 0;
  for (int round = 0; round < 10; ++round) {
    token_[2]++;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const auto compilation = newCompilation(*model);
        ASSERT_TRUE(compilation->setCaching(folder_, token_).ok());
        if (finish(*compilation).state == State::HIT) ++hits;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(compile().state, State::HIT);
  }
}

}  // namespace
}  // namespace halyard::runtime::testing
