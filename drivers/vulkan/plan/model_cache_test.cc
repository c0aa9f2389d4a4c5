// Saved models: the same results from the files, and a miss for all other bytes.
#include "plan/model_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "device/vulkan_device.h"
#include "svdf_for_test.h"
#include "vulkan_driver.h"

namespace halyard::vulkandriver {
namespace {

class ModelCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/halyard_vulkan_cache_XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
    auto files = std::make_shared<hal::CacheFiles>();
    for (const char* name : {"model", "data"}) {
      const std::string path = folder_ / name;
      UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      ASSERT_TRUE(fd.valid());
      paths_.push_back(path);
      (files->modelCache.empty() ? files->modelCache : files->dataCache).push_back(std::move(fd));
    }
    files->token.fill(7);
    options_.cache = files;
    options_.preference = hal::ExecutionPreference::SUSTAINED_SPEED;
    device_ = open();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // As another process of the same driver. Null without a Vulkan device.
  std::shared_ptr<hal::Device> open() {
    auto vulkan = VulkanDevice::open({.software = true});
    if (!vulkan.ok()) return nullptr;
    return makeVulkanDriverOn(*vulkan, {.saves = true, .cacheFolder = folder_ / "store"});
  }
  static void expectComputes(hal::PreparedModel& model) {
    testing::SvdfValues values;
    const auto result = model.executeSynchronously(values.request(), {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(values.outputs[1], 130);
  }
  std::vector<uint8_t> bytesOf(size_t file) const {
    std::vector<uint8_t> bytes(std::filesystem::file_size(paths_[file]));
    const UniqueFd fd(::open(paths_[file].c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(::pread(fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    return bytes;
  }
  void write(size_t file, const std::vector<uint8_t>& bytes) const {
    const UniqueFd fd(::open(paths_[file].c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    EXPECT_EQ(::pwrite(fd.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }

  std::filesystem::path folder_;
  std::vector<std::string> paths_;
  hal::PrepareOptions options_;
  std::shared_ptr<hal::Device> device_;
};

TEST_F(ModelCacheTest, AnotherProcessFindsTheModel) {
  if (device_ == nullptr) GTEST_SKIP() << "NO VULKAN DEVICE, NOTHING IS TESTED";
  EXPECT_EQ(device_->info().modelCacheFiles, 1u);
  EXPECT_EQ(device_->info().dataCacheFiles, 1u);
  EXPECT_FALSE(device_->prepareModelFromCache({}, options_).ok());
  const auto prepared = device_->prepareModel(validated(testing::svdfModel()).value(), options_);
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  expectComputes(**prepared);
  const auto next = open();
  const auto cached = next->prepareModelFromCache({}, options_);
  ASSERT_TRUE(cached.ok()) << cached.status().toString();
  EXPECT_EQ(cached->preference, hal::ExecutionPreference::SUSTAINED_SPEED);
  EXPECT_EQ(cached->interface->main.inputIndexes.size(), 5u);
  expectComputes(*cached->prepared);
}

TEST_F(ModelCacheTest, ChangedFilesAreMisses) {
  if (device_ == nullptr) GTEST_SKIP() << "NO VULKAN DEVICE, NOTHING IS TESTED";
  const auto model = validated(testing::svdfModel()).value();
  ASSERT_TRUE(device_->prepareModel(model, options_).ok());
  const std::vector<uint8_t> saved[] = {bytesOf(0), bytesOf(1)};
  const auto expectMiss = [&](const char* what) {
    const auto cached = device_->prepareModelFromCache({}, options_);
    EXPECT_EQ(cached.status().code(), ResultCode::OP_FAILED) << what;
  };
  for (size_t i = 0; i < saved[0].size(); i += 1 + saved[0].size() / 50) {
    std::vector<uint8_t> changed = saved[0];
    changed[i] ^= 1 << i % 8;
    write(0, changed);
    expectMiss("a bit");
    changed.resize(i);
    write(0, changed);
    expectMiss("the end");
  }
  write(0, saved[1]);
  write(1, saved[0]);
  expectMiss("swapped");
  write(0, saved[0]);
  write(1, saved[1]);
  EXPECT_TRUE(device_->prepareModelFromCache({}, options_).ok());
  // The application compiles after a miss.
  write(0, {});
  const auto prepared = device_->prepareModel(model, options_);
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  EXPECT_TRUE(device_->prepareModelFromCache({}, options_).ok());
}

TEST_F(ModelCacheTest, OtherDevicesAndUsersMiss) {
  const Model model = testing::svdfModel();
  const std::vector<uint8_t> code = {1, 2, 3};
  const auto cache = ModelCache::open("test", "device 1", folder_ / "own").value();
  ASSERT_TRUE(cache->save(model, code, options_).ok());
  const auto loaded = cache->load(options_);
  ASSERT_TRUE(loaded.ok()) << loaded.status().toString();
  EXPECT_EQ(loaded->code, code);
  hal::PrepareOptions other = options_;
  other.clientUid = options_.clientUid + 1;
  EXPECT_EQ(cache->load(other).status().code(), ResultCode::OP_FAILED);
  const auto next = ModelCache::open("test", "device 2", folder_ / "own").value();
  EXPECT_EQ(next->load(options_).status().code(), ResultCode::OP_FAILED);
}

// Bytes that the store has recorded, but that are no saved model.
TEST_F(ModelCacheTest, BytesOfAFaultyDriverAreMisses) {
  const auto store = hal::CompileCache::open({"test", "build"}, folder_ / "own").value();
  const ModelCache cache(store);
  for (size_t bytes = 0; bytes < 64; ++bytes) {
    for (const uint8_t value : {0, 1, 255}) {
      const std::vector<uint8_t> content(bytes, value);
      ASSERT_TRUE(store->save(*options_.cache, {{content}, {content}}, options_.clientUid).ok());
      EXPECT_EQ(cache.load(options_).status().code(), ResultCode::OP_FAILED);
    }
  }
}

}  // namespace
}  // namespace halyard::vulkandriver
