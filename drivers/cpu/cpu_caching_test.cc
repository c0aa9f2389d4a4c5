// The CPU driver's cache, in this process: what it saves, and when.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cpu_driver.h"
#include "testing/cached_models.h"

namespace halyard::cpudriver {
namespace {

using ::testing::HasSubstr;
using testing::ModelForTest;

class CpuCachingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "halyard-cpu-cache-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    device_ = make({"--cache-all"});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::shared_ptr<hal::Device> make(std::vector<std::string> arguments) const {
    arguments.push_back("--cache=" + (folder_ / "state").string());
    auto device = makeCpuDriver(arguments);
    EXPECT_TRUE(device.ok()) << device.status().toString();
    return device.ok() ? *device : nullptr;
  }

  hal::PrepareOptions options() const {
    auto files = std::make_shared<hal::CacheFiles>();
    for (auto* list : {&files->modelCache, &files->dataCache}) {
      const auto path = folder_ / (list == &files->modelCache ? "model" : "data");
      list->emplace_back(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      EXPECT_TRUE(list->back().valid());
    }
    files->token = {1};
    hal::PrepareOptions made;
    made.cache = std::move(files);
    return made;
  }
  uintmax_t savedBytes() const { return std::filesystem::file_size(folder_ / "data"); }

  std::vector<uint8_t> prepareAndRun(hal::Device& device, const ModelForTest& test) const {
    const auto prepared = device.prepareModel(test.model(), options());
    EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
    const auto output = prepared.ok() ? test.run(**prepared) : std::vector<uint8_t>();
    EXPECT_FALSE(output.empty());
    return output;
  }

  std::filesystem::path folder_;
  std::shared_ptr<hal::Device> device_;
};

TEST_F(CpuCachingTest, GivesBackWhatItHasCompiled) {
  EXPECT_EQ(device_->info().modelCacheFiles, 1u);
  EXPECT_EQ(device_->info().dataCacheFiles, 1u);
  for (const OperandType type : {OperandType::TENSOR_FLOAT32, OperandType::TENSOR_QUANT8_ASYMM}) {
    const ModelForTest test(type);
    const std::vector<uint8_t> expected = prepareAndRun(*device_, test);
    for (const auto& device : {device_, make({})}) {
      const auto cached = device->prepareModelFromCache(std::nullopt, options());
      ASSERT_TRUE(cached.ok()) << cached.status().toString();
      EXPECT_EQ(test.run(*cached->prepared), expected);
      EXPECT_EQ(cached->interface->main.inputIndexes, test.model()->main.inputIndexes);
    }
  }
}

TEST_F(CpuCachingTest, KnowsWhatItWasPreparedFor) {
  const ModelForTest test(OperandType::TENSOR_FLOAT32);
  hal::PrepareOptions given = options();
  given.preference = hal::ExecutionPreference::LOW_POWER;
  given.priority = hal::Priority::LOW;
  ASSERT_TRUE(device_->prepareModel(test.model(), given).ok());
  const auto cached = device_->prepareModelFromCache(std::nullopt, options());
  ASSERT_TRUE(cached.ok()) << cached.status().toString();
  EXPECT_EQ(cached->preference, hal::ExecutionPreference::LOW_POWER);
  EXPECT_EQ(cached->priority, hal::Priority::LOW);
}

class TuningTest : public CpuCachingTest {
 protected:
  std::shared_ptr<hal::Device> makeWatched(std::vector<std::string> arguments) {
    arguments.push_back("--threads=2");
    arguments.push_back("--cache=" + (folder_ / "state").string());
    auto device = makeWatchedCpuDriver(
        arguments, [this](const Tuning& tuning) { tunings_.push_back(tuning); });
    EXPECT_TRUE(device.ok()) << device.status().toString();
    return device.ok() ? *device : nullptr;
  }
  hal::PrepareOptions optionsFor(hal::ExecutionPreference preference) const {
    hal::PrepareOptions made = options();
    made.preference = preference;
    return made;
  }

  static constexpr auto kSustained = hal::ExecutionPreference::SUSTAINED_SPEED;
  std::vector<Tuning> tunings_;
};

TEST_F(TuningTest, WhatWasMeasuredOnceComesFromTheCache) {
  // Without --cache-all: that this was measured makes it worth saving.
  const auto device = makeWatched({});
  for (const OperandType type : {OperandType::TENSOR_FLOAT32, OperandType::TENSOR_QUANT8_ASYMM}) {
    tunings_.clear();
    const ModelForTest test(type);
    const auto prepared = device->prepareModel(test.model(), optionsFor(kSustained));
    ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
    ASSERT_EQ(tunings_.size(), 1u);
    EXPECT_TRUE(tunings_[0].complete);
    EXPECT_GT(tunings_[0].runs, 0u);
    const std::vector<uint8_t> expected = test.run(**prepared);
    EXPECT_FALSE(expected.empty());
    for (const auto& from : {device, makeWatched({})}) {
      const auto cached = from->prepareModelFromCache(std::nullopt, optionsFor(kSustained));
      ASSERT_TRUE(cached.ok()) << cached.status().toString();
      EXPECT_EQ(test.run(*cached->prepared), expected);
    }
    EXPECT_EQ(tunings_.size(), 1u);
  }
}

TEST_F(TuningTest, OnlyForSustainedSpeed) {
  const auto device = makeWatched({});
  const ModelForTest test(OperandType::TENSOR_QUANT8_ASYMM);
  std::vector<std::vector<uint8_t>> outputs;
  for (const auto preference : {hal::ExecutionPreference::LOW_POWER,
                                hal::ExecutionPreference::FAST_SINGLE_ANSWER, kSustained}) {
    EXPECT_EQ(tunings_.size(), 0u);
    const auto prepared = device->prepareModel(test.model(), optionsFor(preference));
    ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
    outputs.push_back(test.run(**prepared));
    EXPECT_EQ(outputs.back(), outputs.front());
  }
  EXPECT_EQ(tunings_.size(), 1u);
}

TEST_F(TuningTest, CanBeTurnedOff) {
  const auto device = makeWatched({"--no-tuning"});
  const ModelForTest test(OperandType::TENSOR_FLOAT32);
  EXPECT_TRUE(device->prepareModel(test.model(), optionsFor(kSustained)).ok());
  EXPECT_EQ(tunings_.size(), 0u);
}

// What was measured then is used all the same.
TEST_F(TuningTest, WhatWasSavedBeforeItWasTurnedOffComesBack) {
  const ModelForTest test(OperandType::TENSOR_FLOAT32);
  const auto prepared = makeWatched({})->prepareModel(test.model(), optionsFor(kSustained));
  ASSERT_TRUE(prepared.ok());
  const auto cached =
      makeWatched({"--no-tuning"})->prepareModelFromCache(std::nullopt, optionsFor(kSustained));
  ASSERT_TRUE(cached.ok()) << cached.status().toString();
  EXPECT_EQ(test.run(*cached->prepared), test.run(**prepared));
}

// Applications are told so, who then need not digest their models.
TEST_F(CpuCachingTest, SavesForSustainedSpeedOnly) {
  using enum hal::ExecutionPreference;
  const auto savesFor = [&](std::vector<std::string> arguments,
                            hal::ExecutionPreference preference) {
    return hal::savesFor(make(std::move(arguments))->info(), preference);
  };
  EXPECT_TRUE(savesFor({}, SUSTAINED_SPEED));
  EXPECT_FALSE(savesFor({}, FAST_SINGLE_ANSWER));
  EXPECT_FALSE(savesFor({}, LOW_POWER));
  EXPECT_TRUE(savesFor({"--cache-all"}, FAST_SINGLE_ANSWER));
  EXPECT_TRUE(savesFor({"--no-tuning"}, FAST_SINGLE_ANSWER));
}

// A model this small is compiled as quickly as anything could be read.
TEST_F(CpuCachingTest, SavesNothingThatDoesNotPay) {
  const auto device = make({});
  prepareAndRun(*device, ModelForTest(OperandType::TENSOR_FLOAT32));
  EXPECT_EQ(savedBytes(), 0u);
  EXPECT_EQ(device->prepareModelFromCache(std::nullopt, options()).status().code(),
            ResultCode::OP_FAILED);
}

TEST_F(CpuCachingTest, EveryChangedByteIsAMiss) {
  prepareAndRun(*device_, ModelForTest(OperandType::TENSOR_QUANT8_ASYMM));
  for (const char* name : {"model", "data"}) {
    std::fstream file(folder_ / name, std::ios::in | std::ios::out | std::ios::binary);
    const auto size = std::filesystem::file_size(folder_ / name);
    for (uintmax_t at = 0; at < size; at += name == std::string("model") ? 1 : 37) {
      const auto flip = [&] {
        file.seekg(static_cast<std::streamoff>(at));
        const int byte = file.get();
        file.seekp(static_cast<std::streamoff>(at));
        file.put(static_cast<char>(byte ^ 0x10)).flush();
      };
      flip();
      const auto cached = device_->prepareModelFromCache(std::nullopt, options());
      ASSERT_EQ(cached.status().code(), ResultCode::OP_FAILED) << name << ' ' << at;
      flip();
    }
  }
  EXPECT_TRUE(device_->prepareModelFromCache(std::nullopt, options()).ok());
}

TEST_F(CpuCachingTest, ACompilationOfAnotherModelUnderTheTokenReplacesTheFirst) {
  const ModelForTest first(OperandType::TENSOR_FLOAT32, 1);
  const ModelForTest second(OperandType::TENSOR_FLOAT32, 2);
  const auto ofFirst = prepareAndRun(*device_, first);
  const auto ofSecond = prepareAndRun(*device_, second);
  EXPECT_NE(ofFirst, ofSecond);
  const auto cached = device_->prepareModelFromCache(std::nullopt, options());
  ASSERT_TRUE(cached.ok()) << cached.status().toString();
  EXPECT_EQ(second.run(*cached->prepared), ofSecond);
}

TEST_F(CpuCachingTest, WithoutACacheItSaysThatItNeedsNoFiles) {
  const std::string arguments[] = {"--no-cache"};
  const auto device = makeCpuDriver(arguments);
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->info().modelCacheFiles + (*device)->info().dataCacheFiles, 0u);
  EXPECT_EQ((*device)->prepareModelFromCache(std::nullopt, options()).status().code(),
            ResultCode::OP_FAILED);
}

// A store that cannot be made is no reason to do without the driver.
TEST_F(CpuCachingTest, WithoutAPlaceForItsStoreItDoesWithout) {
  std::ofstream(folder_ / "file") << "no folder";
  const std::vector<std::string> arguments = {"--cache=" + (folder_ / "file" / "x").string()};
  ::testing::internal::CaptureStderr();
  const auto device = makeCpuDriver(arguments);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("caches nothing"));
  ASSERT_TRUE(device.ok()) << device.status().toString();
  EXPECT_EQ((*device)->info().modelCacheFiles, 0u);
}

TEST_F(CpuCachingTest, ADeadlineThatHasPassedEndsLoading) {
  prepareAndRun(*device_, ModelForTest(OperandType::TENSOR_FLOAT32));
  hal::PrepareOptions late = options();
  late.deadline = hal::Clock::now();
  EXPECT_EQ(device_->prepareModelFromCache(std::nullopt, late).status().code(),
            ResultCode::MISSED_DEADLINE_PERSISTENT);
}

}  // namespace
}  // namespace halyard::cpudriver
