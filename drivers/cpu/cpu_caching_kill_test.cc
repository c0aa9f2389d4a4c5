// A process with the CPU driver that is killed while it saves: the next one gets what was saved
// before, or what was being saved, or nothing, and can save again; results are right.
//
// It is killed at 20 system calls, evenly spread over those of preparing a model. HALYARD_KILLS in
// the environment is another number; what is more than there are calls means each of them.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "cache/testing/killed_writer.h"
#include "cpu_driver.h"
#include "testing/cached_models.h"

namespace halyard::cpudriver {
namespace {

using cache::testing::KilledWriter;
using testing::ModelForTest;
using End = KilledWriter::End;

size_t mostKills() {
  const char* const text = std::getenv("HALYARD_KILLS");
  return text != nullptr ? std::max(1ul, std::strtoul(text, nullptr, 10)) : 20;
}

class CpuCachingKillTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "halyard-cpu-kill-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // No device lives while a process is forked.
  std::shared_ptr<hal::Device> open() const {
    const std::string arguments[] = {"--cache=" + (folder_ / "state").string(), "--cache-all",
                                     "--threads=1"};
    auto device = makeCpuDriver(arguments);
    return device.ok() ? *device : nullptr;
  }
  hal::PrepareOptions options(uint8_t token) const {
    auto files = std::make_shared<hal::CacheFiles>();
    for (auto* list : {&files->modelCache, &files->dataCache}) {
      const auto name = (list == &files->modelCache ? "model" : "data") + std::to_string(token);
      list->emplace_back(::open((folder_ / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    }
    files->token = {token};
    hal::PrepareOptions made;
    made.cache = std::move(files);
    return made;
  }
  std::vector<uint8_t> prepareAndRun(hal::Device& device, const ModelForTest& test,
                                     uint8_t token) const {
    const auto prepared = device.prepareModel(test.model(), options(token));
    EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
    return prepared.ok() ? test.run(**prepared) : std::vector<uint8_t>();
  }
  // Of what is in the files; empty: a miss.
  std::vector<uint8_t> loadAndRun(hal::Device& device, uint8_t token) const {
    const auto cached = device.prepareModelFromCache(std::nullopt, options(token));
    if (cached.ok()) return before_.run(*cached->prepared);
    EXPECT_EQ(cached.status().code(), ResultCode::OP_FAILED) << cached.status().toString();
    return {};
  }
  // Saves the second model in place of the first in a process that is killed at its call `stop`.
  End killAt(size_t stop) const {
    std::shared_ptr<hal::Device> device;
    return KilledWriter::run(
        stop, [&] { device = open(); },
        [&] {
          return device != nullptr && device->prepareModel(after_.model(), options(1)).ok() &&
                 device->prepareModelFromCache(std::nullopt, options(1)).ok();
        });
  }
  void expectUsable() {
    const auto device = open();
    ASSERT_NE(device, nullptr);
    const std::vector<uint8_t> found = loadAndRun(*device, 1);
    EXPECT_TRUE(found.empty() || found == resultBefore_ || found == resultAfter_);
    ++ends_[found.empty() ? "miss" : found == resultBefore_ ? "before" : "after"];
    EXPECT_EQ(loadAndRun(*device, 2), resultBefore_) << "another compilation";
    EXPECT_EQ(prepareAndRun(*device, before_, 1), resultBefore_);
    EXPECT_EQ(loadAndRun(*device, 1), resultBefore_);
  }

  std::filesystem::path folder_;
  const ModelForTest before_{OperandType::TENSOR_QUANT8_ASYMM, 1};
  const ModelForTest after_{OperandType::TENSOR_QUANT8_ASYMM, 2};
  std::vector<uint8_t> resultBefore_;
  std::vector<uint8_t> resultAfter_;
  std::map<std::string, int> ends_;
};

TEST_F(CpuCachingKillTest, AtSystemCallsOfASave) {
  {
    const auto device = open();
    ASSERT_NE(device, nullptr);
    resultAfter_ = prepareAndRun(*device, after_, 1);
    resultBefore_ = prepareAndRun(*device, before_, 1);
    ASSERT_EQ(prepareAndRun(*device, before_, 2), resultBefore_);
  }
  ASSERT_NE(resultAfter_, resultBefore_);
  // Their number is found by doubling, then by halving; each try is a kill as well.
  size_t calls = 1;
  for (End end = killAt(calls); end != End::FINISHED; end = killAt(calls *= 2)) {
    if (end == End::NOT_TRACED) GTEST_SKIP() << "processes cannot be traced here";
    ASSERT_EQ(end, End::KILLED) << "call " << calls;
    expectUsable();
  }
  expectUsable();
  for (size_t step = calls / 4; step > 0; step /= 2) {
    const End end = killAt(calls - step);
    ASSERT_NE(end, End::FAILED);
    if (end == End::FINISHED) calls -= step;
    expectUsable();
  }
  EXPECT_GT(calls, 25u);
  const size_t kills = std::min(calls, mostKills());
  for (size_t i = 0; i < kills; ++i) {
    const size_t stop = calls * i / kills;
    SCOPED_TRACE(stop);
    const End end = killAt(stop);
    ASSERT_NE(end, End::FAILED);
    expectUsable();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(ends_["miss"], 0);
  EXPECT_GT(ends_["before"], 0);
  EXPECT_GT(ends_["after"], 0);
  for (const auto& [name, count] : ends_) RecordProperty(name, count);
}

}  // namespace
}  // namespace halyard::cpudriver
