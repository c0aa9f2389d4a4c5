// Drivers that compile after preparation: at the model's first execution, or again in the
// background. Also the early form of caching, in which a driver saves on request.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

#include "cache_driver_for_test.h"
#include "hal/sandbox/sanitizer.h"

namespace halyard::cache_testing {
namespace {

const Chain kAdd{OperandType::TENSOR_FLOAT32, OperationType::ADD, 2};
constexpr const char* kJustInTime = R"("mode": "just_in_time")";
constexpr const char* kMultiStage = R"("mode": "multi_stage")";

class Stages : public ::testing::TestWithParam<Where> {
 protected:
  Stages() : files_(folder_.path(), "a", 1, 1) {}

  std::unique_ptr<CacheDriver> driver(const char* cacheFields, const char* fields = "") {
    return std::make_unique<CacheDriver>(
        DriverSetup{GetParam(), HalVersion::V1_3, 1, 1, cacheFields, fields},
        folder_.path() / "state");
  }
  std::shared_ptr<hal::PreparedModel> prepare(CacheDriver& driver) {
    auto prepared =
        driver.device().prepareModel(validated(kAdd.model()).value(), with(files_.open(token_)));
    EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
    return std::move(*prepared);
  }
  bool loads(CacheDriver& driver) {
    const auto cached = driver.device().prepareModelFromCache(validated(kAdd.model()).value(),
                                                              with(files_.open(token_)));
    if (cached.ok()) {
      EXPECT_TRUE(kAdd.isComputedBy(*cached->prepared));
    } else {
      EXPECT_EQ(cached.status().code(), ResultCode::OP_FAILED) << cached.status().toString();
    }
    return cached.ok();
  }
  // Waits until the model file differs from `before`.
  void waitForChange(const std::string& before) {
    const auto end = hal::Clock::now() + std::chrono::seconds(60);
    while (readFile(files_.paths()[0]) == before && hal::Clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_NE(readFile(files_.paths()[0]), before);
  }
  bool loadsEventually(CacheDriver& driver) {
    const auto end = hal::Clock::now() + std::chrono::seconds(60);
    while (hal::Clock::now() < end) {
      if (loads(driver)) return true;
    }
    return false;
  }

  TestFolder folder_;
  const FileSet files_;
  const hal::Token token_ = tokenOf(1);
};

TEST_P(Stages, JustInTimeSavesAtTheFirstExecution) {
  const auto jit = driver(kJustInTime);
  const auto prepared = prepare(*jit);
  EXPECT_EQ(readFile(files_.paths()[0]), "");
  EXPECT_FALSE(loads(*jit));
  EXPECT_TRUE(kAdd.isComputedBy(*prepared));
  EXPECT_TRUE(loads(*jit));
  const auto saved = files_.read();
  EXPECT_TRUE(kAdd.isComputedBy(*prepared));
  EXPECT_EQ(files_.read(), saved) << "once is enough";
  jit->restart();
  EXPECT_TRUE(loads(*jit));
}

TEST_P(Stages, JustInTimeCompilesOnceForAllWhoWait) {
  const auto jit = driver(kJustInTime, R"("delays": {"compile_ms": 30})");
  const auto prepared = prepare(*jit);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] { right += kAdd.isComputedBy(*prepared) ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 6);
  EXPECT_TRUE(loads(*jit));
}

TEST_P(Stages, JustInTimeKeepsToTheDeadlineAndTriesAgain) {
  const auto jit = driver(kJustInTime, R"("delays": {"compile_ms": 200})");
  const auto prepared = prepare(*jit);
  hal::ExecuteOptions options;
  options.deadline = hal::Clock::now() + std::chrono::milliseconds(20);
  std::vector<float> in(1024, 1);
  std::vector<float> out(1024);
  hal::Request request;
  for (auto* values : {&in, &out}) {
    hal::RequestArgument argument;
    argument.kind = hal::RequestArgument::Kind::POINTER;
    argument.pointer = values->data();
    argument.length = static_cast<uint32_t>(values->size() * sizeof(float));
    (values == &in ? request.inputs : request.outputs).push_back(argument);
  }
  const ResultCode code = prepared->executeSynchronously(request, options).status.code();
  EXPECT_TRUE(code == ResultCode::MISSED_DEADLINE_TRANSIENT ||
              code == ResultCode::MISSED_DEADLINE_PERSISTENT)
      << resultCodeName(code);
  EXPECT_TRUE(kAdd.isComputedBy(*prepared));
  EXPECT_TRUE(loads(*jit));
}

TEST_P(Stages, FilesThatAreGoneOrFullDoNotSpoilTheFirstExecution) {
  const auto jit = driver(kJustInTime);
  const auto prepared = prepare(*jit);
  for (const auto& path : files_.paths()) std::filesystem::remove(path);
  EXPECT_TRUE(kAdd.isComputedBy(*prepared));
  EXPECT_FALSE(loads(*jit)) << "new files have come in their place";
}

TEST_P(Stages, EarlyFormSavesAtAnyTimeAndCompilesIfNeedBe) {
  for (const char* const mode : {R"("mode": "eager")", kJustInTime, kMultiStage}) {
    SCOPED_TRACE(mode);
    const auto any = driver(mode);
    const auto prepared = any->device().prepareModel(validated(kAdd.model()).value(), {}).value();
    for (int round = 0; round < 2; ++round) {
      for (const auto& path : files_.paths()) std::filesystem::remove(path);
      const hal::CacheFiles files = files_.open(token_);
      const Status saved =
          prepared->saveToCache(files.modelCache[0].get(), files.dataCache[0].get(), token_);
      ASSERT_TRUE(saved.ok()) << saved.toString();
      EXPECT_TRUE(loads(*any));
      // The files are not empty any more.
      EXPECT_EQ(
          prepared->saveToCache(files.modelCache[0].get(), files.dataCache[0].get(), token_).code(),
          ResultCode::BAD_DATA);
      EXPECT_TRUE(kAdd.isComputedBy(*prepared));
    }
    any->restart();
    EXPECT_TRUE(loads(*any));
  }
}

TEST_P(Stages, MultiStageIsUsableAtOnceAndGetsBetter) {
  const auto multi = driver(kMultiStage, R"("delays": {"optimise_ms": 50})");
  const auto prepared = prepare(*multi);
  const std::string quick = readFile(files_.paths()[0]);
  EXPECT_NE(quick, "");
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) wrong += kAdd.isComputedBy(*prepared) ? 0 : 1;
    });
  }
  waitForChange(quick);
  EXPECT_TRUE(loadsEventually(*multi));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  multi->restart();
  EXPECT_TRUE(loads(*multi));
}

TEST_P(Stages, MultiStageGoesOnWithWhatCameFromTheCache) {
  auto multi = driver(kMultiStage, R"("delays": {"optimise_ms": 3600000})");
  (void)prepare(*multi);
  // Ends the driver in the middle of the work, which stays unfinished.
  multi.reset();
  multi = driver(kMultiStage, R"("delays": {"optimise_ms": 20})");
  const std::string quick = readFile(files_.paths()[0]);
  const auto cached = multi->device().prepareModelFromCache(validated(kAdd.model()).value(),
                                                            with(files_.open(token_)));
  ASSERT_TRUE(cached.ok()) << cached.status().toString();
  waitForChange(quick);
  EXPECT_TRUE(kAdd.isComputedBy(*cached->prepared));
  EXPECT_TRUE(loadsEventually(*multi));
}

// Others load while the driver updates the files. Each load gives a correct model or fails.
TEST_P(Stages, NobodySeesAHalfWrittenCache) {
  const auto multi = driver(kMultiStage, R"("delays": {"optimise_ms": 1})");
  const auto reader = driver("");
  std::atomic<bool> stop = false;
  int loaded = 0;
  std::thread thread([&] {
    while (!stop) loaded += loads(*reader) ? 1 : 0;
  });
  for (int round = 0; round < 30; ++round) {
    const auto prepared = prepare(*multi);
    EXPECT_TRUE(kAdd.isComputedBy(*prepared));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_TRUE(loadsEventually(*multi));
  stop = true;
  thread.join();
}

INSTANTIATE_TEST_SUITE_P(Drivers, Stages,
                         ::testing::Values(Where::IN_THIS_PROCESS, Where::OVER_RPC,
                                           Where::IN_ITS_OWN_PROCESS),
                         [](const auto& each) { return nameOf(each.param); });

// Kills the driver's process `rounds` times, at random moments of a preparation.
void expectUsableAfterKills(const DriverSetup& setup, int rounds) {
  const TestFolder folder;
  CacheDriver driver(setup, folder.path() / "state");
  const FileSet files(folder.path(), "a", 1, 1);
  std::mt19937 random(1);
  int hits = 0;
  for (int round = 0; round < rounds; ++round) {
    ASSERT_TRUE(driver.device().wait().ok());
    const pid_t pid = driver.device().processId();
    ASSERT_GT(pid, 0);
    std::thread killer([pid, wait = std::chrono::microseconds(random() % 6000)] {
      std::this_thread::sleep_for(wait);
      ::kill(pid, SIGKILL);
    });
    const auto prepared =
        driver.device().prepareModel(validated(kAdd.model()).value(), with(files.open(tokenOf(1))));
    killer.join();
    if (!prepared.ok()) {
      EXPECT_EQ(prepared.status().code(), ResultCode::DEAD_OBJECT) << prepared.status().toString();
    }
    // The next process loads the files as they are.
    auto cached = driver.device().prepareModelFromCache(validated(kAdd.model()).value(),
                                                        with(files.open(tokenOf(1))));
    if (cached.status().code() == ResultCode::DEAD_OBJECT) {
      cached = driver.device().prepareModelFromCache(validated(kAdd.model()).value(),
                                                     with(files.open(tokenOf(1))));
    }
    if (cached.ok()) {
      ASSERT_TRUE(kAdd.isComputedBy(*cached->prepared)) << round;
      ++hits;
    } else {
      ASSERT_EQ(cached.status().code(), ResultCode::OP_FAILED) << cached.status().toString();
    }
  }
  ::testing::Test::RecordProperty("hits", hits);
  // Store and files are usable.
  ASSERT_TRUE(driver.device()
                  .prepareModel(validated(kAdd.model()).value(), with(files.open(tokenOf(1))))
                  .ok());
  const auto end = hal::Clock::now() + std::chrono::seconds(60);
  bool usable = false;
  while (!usable && hal::Clock::now() < end) {
    usable =
        driver.device()
            .prepareModelFromCache(validated(kAdd.model()).value(), with(files.open(tokenOf(1))))
            .ok();
  }
  EXPECT_TRUE(usable);
}

// Kills in the first write or in the update.
TEST(KilledDriver, LeavesACacheThatIsRightOrAMiss) {
  expectUsableAfterKills({Where::IN_ITS_OWN_PROCESS, HalVersion::V1_3, 1, 1, kMultiStage,
                          R"("delays": {"optimise_ms": 1})"},
                         hal::kSanitized ? 20 : 200);  // a sanitizer's start takes long
}

}  // namespace
}  // namespace halyard::cache_testing
