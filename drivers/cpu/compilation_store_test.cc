// What was saved comes back to the same code on the same sort of processor, and to no other.
#include "compilation_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "halyard/driver/compile_cache.h"
#include "ops/simd.h"
#include "testing/cached_models.h"

namespace halyard::cpudriver {
namespace {

using hal::CompileCache;
using Maker = CompilationStore::Maker;

class CompilationStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "halyard-cpu-store-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    info_.name = "halyard-cpu";
    info_.versionString = "1";
    auto compiled = CompiledModel::compile(test_.model(), {}, &recorder_);
    ASSERT_TRUE(compiled.ok() && *compiled != nullptr) << compiled.status().toString();
    compiled_ = std::move(*compiled);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  hal::PrepareOptions options() const {
    auto files = std::make_shared<hal::CacheFiles>();
    for (auto* list : {&files->modelCache, &files->dataCache}) {
      const auto path = folder_ / (list == &files->modelCache ? "model" : "data");
      list->emplace_back(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    }
    files->token = {1};
    hal::PrepareOptions made;
    made.cache = std::move(files);
    return made;
  }
  // All stores are at one place, one after the other: as after a restart.
  Status save(const hal::DeviceInfo& info, const Maker& maker) {
    const auto store = CompilationStore::open(info, folder_ / "state", true, maker);
    EXPECT_TRUE(store.ok()) << store.status().toString();
    return (*store)->save(*test_.model(), *compiled_, recorder_, options(), {});
  }
  Status load(const hal::DeviceInfo& info, const Maker& maker) const {
    const auto store = CompilationStore::open(info, folder_ / "state", true, maker);
    EXPECT_TRUE(store.ok()) << store.status().toString();
    return (*store)->load(options()).takeStatus();
  }

  std::filesystem::path folder_;
  hal::DeviceInfo info_;
  const testing::ModelForTest test_{OperandType::TENSOR_QUANT8_ASYMM};
  PackingRecorder recorder_;
  std::unique_ptr<CompiledModel> compiled_;
};

TEST_F(CompilationStoreTest, IsOfThisProcess) {
  const Maker maker = Maker::ofThisProcess();
  static const char here = 0;
  EXPECT_EQ(maker.build, CompileCache::buildIdOf(&here));
  EXPECT_FALSE(maker.build.empty());
  EXPECT_EQ(maker.processor, CompileCache::cpuFeatures());
  EXPECT_FALSE(maker.processor.empty());
  EXPECT_EQ(maker.simdLevel, static_cast<int>(ops::simdLevel()));
  ASSERT_TRUE(save(info_, maker).ok());
  EXPECT_TRUE(load(info_, Maker::ofThisProcess()).ok());
}

TEST_F(CompilationStoreTest, InvalidationMatrix) {
  struct Change {
    const char* what;
    std::function<void(hal::DeviceInfo&, Maker&)> make;
  };
  const Change changes[] = {
      {"build", [](auto&, Maker& maker) { maker.build.back() ^= 1; }},
      {"processor", [](auto&, Maker& maker) { maker.processor.back() ^= 1; }},
      {"a processor that can do more", [](auto&, Maker& maker) { maker.processor += " more"; }},
      {"fewer SIMD instructions", [](auto&, Maker& maker) { --maker.simdLevel; }},
      {"more SIMD instructions", [](auto&, Maker& maker) { ++maker.simdLevel; }},
      {"driver's version", [](hal::DeviceInfo& info, Maker&) { info.versionString = "2"; }},
      {"driver's name", [](hal::DeviceInfo& info, Maker&) { info.name = "another"; }},
  };
  const Maker own = Maker::ofThisProcess();
  for (const Change& change : changes) {
    SCOPED_TRACE(change.what);
    ASSERT_TRUE(save(info_, own).ok());
    ASSERT_TRUE(load(info_, own).ok());
    hal::DeviceInfo info = info_;
    Maker maker = own;
    change.make(info, maker);
    EXPECT_EQ(load(info, maker).code(), ResultCode::OP_FAILED);
    // Who changes the code saves anew, and what there was before is no longer good for anybody.
    ASSERT_TRUE(save(info, maker).ok());
    EXPECT_TRUE(load(info, maker).ok());
    EXPECT_EQ(load(info_, own).code(), ResultCode::OP_FAILED);
  }
}

}  // namespace
}  // namespace halyard::cpudriver
