// Tests of caching through the C API without a driver. tests/caching_test.cc uses a driver.
#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "api/api_for_test.h"

namespace halyard::api::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint8_t kToken[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {1, 2, 3};

class CachingApi : public ::testing::Test {
 protected:
  void SetUp() override {
    model_ = addModel({2}, {2}, {2});
    ASSERT_NN_OK(model_.finish());
  }
  client::Compilation newCompilation(bool forDevice = true) {
    const ANeuralNetworksDevice* device = deviceNamed(kCpuDevice);
    ANeuralNetworksCompilation* compilation = nullptr;
    if (forDevice) {
      EXPECT_NN_OK(
          ANeuralNetworksCompilation_createForDevices(model_.get(), &device, 1, &compilation));
    } else {
      EXPECT_NN_OK(ANeuralNetworksCompilation_create(model_.get(), &compilation));
    }
    return client::Compilation(compilation);
  }
  static nlohmann::json cacheOf(const client::Compilation& compilation) {
    std::string text;
    EXPECT_NN_OK(compilation.report(text));
    auto json = nlohmann::json::parse(text);
    return json.at("partitions").at(0).at("cache");
  }

  client::Model model_;
};

TEST_F(CachingApi, ArgumentsAreChecked) {
  const auto compilation = newCompilation();
  ANeuralNetworksCompilation* const c = compilation.get();
  EXPECT_NN_ERROR(ANeuralNetworksCompilation_setCaching(nullptr, "/tmp", kToken),
                  ANEURALNETWORKS_UNEXPECTED_NULL, "compilation is null");
  EXPECT_NN_ERROR(ANeuralNetworksCompilation_setCaching(c, nullptr, kToken),
                  ANEURALNETWORKS_UNEXPECTED_NULL, "cacheDir is null");
  EXPECT_NN_ERROR(ANeuralNetworksCompilation_setCaching(c, "/tmp", nullptr),
                  ANEURALNETWORKS_UNEXPECTED_NULL, "token is null");
  const int fds[] = {0};
  EXPECT_NN_ERROR(halyard_compilationSetCachingFromFds(nullptr, fds, 1, fds, 1, kToken),
                  ANEURALNETWORKS_UNEXPECTED_NULL,
                  "halyard_compilationSetCachingFromFds: compilation is null");
  EXPECT_NN_ERROR(halyard_compilationSetCachingFromFds(c, fds, 1, fds, 1, nullptr),
                  ANEURALNETWORKS_UNEXPECTED_NULL, "token is null");
  EXPECT_NN_ERROR(halyard_compilationSetCachingFromFds(c, nullptr, 1, fds, 1, kToken),
                  ANEURALNETWORKS_UNEXPECTED_NULL, "modelCache is null");
  EXPECT_NN_ERROR(halyard_compilationSetCachingFromFds(c, fds, 1, nullptr, 1, kToken),
                  ANEURALNETWORKS_UNEXPECTED_NULL, "dataCache is null");
  EXPECT_NN_ERROR(halyard_compilationSetCachingFromFds(c, fds, 1, nullptr, 0, kToken),
                  ANEURALNETWORKS_BAD_DATA,
                  "1 model and 0 data cache files, device nnapi-reference needs 0 and 0");
  EXPECT_NN_ERROR(halyard_compilationSetCachingFromFds(newCompilation(false).get(), nullptr, 0,
                                                       nullptr, 0, kToken),
                  ANEURALNETWORKS_BAD_DATA, "exactly one device");
  EXPECT_NN_OK(halyard_compilationSetCachingFromFds(c, nullptr, 0, nullptr, 0, kToken));
  EXPECT_NN_OK(ANeuralNetworksCompilation_setCaching(c, "/nonexistent", kToken));
  EXPECT_NN_OK(ANeuralNetworksCompilation_finish(c));
  EXPECT_NN_ERROR(ANeuralNetworksCompilation_setCaching(c, "/tmp", kToken),
                  ANEURALNETWORKS_BAD_STATE, "finished");
  EXPECT_NN_ERROR(halyard_compilationSetCachingFromFds(c, nullptr, 0, nullptr, 0, kToken),
                  ANEURALNETWORKS_BAD_STATE, "finished");
}

TEST_F(CachingApi, TheRuntimesOwnDeviceDoesNotCache) {
  uint32_t models = 9;
  uint32_t data = 9;
  const ANeuralNetworksDevice* const cpu = deviceNamed(kCpuDevice);
  EXPECT_EQ(halyard_deviceCacheFiles(cpu, &models, &data), ANEURALNETWORKS_NO_ERROR);
  EXPECT_EQ(models, 0u);
  EXPECT_EQ(data, 0u);
  EXPECT_EQ(halyard_deviceCacheFiles(nullptr, &models, &data), ANEURALNETWORKS_UNEXPECTED_NULL);
  EXPECT_EQ(halyard_deviceCacheFiles(cpu, nullptr, &data), ANEURALNETWORKS_UNEXPECTED_NULL);
  EXPECT_EQ(
      halyard_deviceCacheFiles(reinterpret_cast<ANeuralNetworksDevice*>(&models), &models, &data),
      ANEURALNETWORKS_BAD_DATA);

  const auto uncached = newCompilation();
  EXPECT_NN_OK(uncached.finish());
  EXPECT_EQ(cacheOf(uncached).at("state"), "off");
  EXPECT_EQ(cacheOf(uncached).at("reason"), "the application has asked for none");
  const auto cached = newCompilation();
  EXPECT_NN_OK(cached.setCaching("/tmp", kToken));
  EXPECT_NN_OK(cached.finish());
  EXPECT_EQ(cacheOf(cached).at("state"), "off");
  EXPECT_THAT(cacheOf(cached).at("reason").get<std::string>(), HasSubstr("own device"));
}

}  // namespace
}  // namespace halyard::api::testing
