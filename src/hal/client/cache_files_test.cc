// Tests of compilation caches for a caller in this process: the drivers that it uses, the times of
// saving, and the order of checks.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "hal/client/remote_device.h"
#include "hal/core/quota.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "hal/testing/test_device.h"
#include "hal/testing/test_driver_manifest.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the test device's vocabulary

constexpr HalVersion kVersions[] = {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2,
                                    HalVersion::V1_3};

UniqueFd newFile(const std::string& contents = "") {
  UniqueFd fd(::memfd_create("halyard-cache-files", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), contents.data(), contents.size()),
            static_cast<ssize_t>(contents.size()));
  return fd;
}
std::string textOf(const UniqueFd& fd) {
  char text[64] = {};
  const ssize_t length = ::pread(fd.get(), text, sizeof text, 0);
  return std::string(text, static_cast<size_t>(std::max<ssize_t>(length, 0)));
}
CacheFiles filesOf(size_t modelFiles, size_t dataFiles, char token = 'A') {
  CacheFiles files;
  files.token[0] = static_cast<uint8_t>(token);
  while (files.modelCache.size() < modelFiles) files.modelCache.push_back(newFile());
  while (files.dataCache.size() < dataFiles) files.dataCache.push_back(newFile());
  return files;
}
CacheFiles copyOf(const CacheFiles& files) {
  CacheFiles copy;
  copy.token = files.token;
  for (const UniqueFd& file : files.modelCache) copy.modelCache.push_back(file.duplicate());
  for (const UniqueFd& file : files.dataCache) copy.dataCache.push_back(file.duplicate());
  return copy;
}
PrepareOptions with(CacheFiles files) {
  PrepareOptions options;
  options.cache = std::make_shared<const CacheFiles>(std::move(files));
  return options;
}
std::vector<float> addWith(PreparedModel& prepared) {
  const std::vector<float> a = {1, 2, 3, 4};
  const std::vector<float> b = {10, 20, 30, 40};
  std::vector<float> out(4);
  const auto result =
      prepared.executeSynchronously(pointerRequest(a.data(), b.data(), out.data(), 4), {});
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  return out;
}
const std::vector<float> kSum = {11, 22, 33, 44};

Result<std::shared_ptr<RemoteDevice>> tryTestDriver(HalVersion version, const char* mode) {
  ::setenv("HALYARD_TEST_DRIVER", mode, 1);
  auto device = RemoteDevice::open(RpcLoop::start().value(), testing::testManifest(version));
  ::unsetenv("HALYARD_TEST_DRIVER");
  return device;
}

std::shared_ptr<RemoteDevice> openTestDriver(HalVersion version, const char* mode) {
  auto device = tryTestDriver(version, mode);
  EXPECT_TRUE(device.ok()) << device.status().toString();
  return *device;
}

// A driver that wants more than 32 files of a kind is not used at all.
TEST(CacheFilesTest, NumbersOfFilesDecideWhetherADriverIsUsed) {
  for (const unsigned modelFiles : {0, 1, 32, 33}) {
    for (const unsigned dataFiles : {0, 1, 32, 33}) {
      const std::string mode = fmt::format("caching={},{}", modelFiles, dataFiles);
      SCOPED_TRACE(mode);
      const auto device = tryTestDriver(HalVersion::V1_3, mode.c_str());
      ASSERT_EQ(device.ok(), modelFiles <= 32 && dataFiles <= 32) << device.status().toString();
      if (!device.ok()) continue;
      EXPECT_EQ((*device)->info().modelCacheFiles, modelFiles);
      EXPECT_EQ((*device)->info().dataCacheFiles, dataFiles);
    }
  }
}

TEST(CacheFilesTest, ADriverSaysForWhichPreferencesItSaves) {
  const auto device = openTestDriver(HalVersion::V1_2, "caching=1,0,4");
  EXPECT_TRUE(savesFor(device->info(), ExecutionPreference::SUSTAINED_SPEED));
  EXPECT_FALSE(savesFor(device->info(), ExecutionPreference::FAST_SINGLE_ANSWER));
  EXPECT_FALSE(savesFor(device->info(), ExecutionPreference::LOW_POWER));
  EXPECT_FALSE(savesFor(openTestDriver(HalVersion::V1_2, "caching=0,0,7")->info(),
                        ExecutionPreference::SUSTAINED_SPEED));
}

TEST(CacheFilesTest, OlderVersionsCacheNothing) {
  const auto model = std::make_shared<const Model>(addModel(4));
  for (const HalVersion version : {HalVersion::V1_0, HalVersion::V1_1}) {
    const auto remote = openTestDriver(version, "caching");
    const CacheFiles files = filesOf(1, 1);
    EXPECT_TRUE(remote->prepareModel(validated(model).value(), with(copyOf(files))).ok());
    struct stat st {};
    ASSERT_EQ(::fstat(files.modelCache[0].get(), &st), 0);
    EXPECT_EQ(st.st_size, 0);
    EXPECT_EQ(remote->prepareModelFromCache(validated(model).value(), with(copyOf(files)))
                  .status()
                  .code(),
              ResultCode::OP_FAILED);
  }
}

TEST(CacheFilesTest, ModelsFromTheCacheCountAsModels) {
  const auto device = std::make_shared<TestDevice>();
  device->mutableInfo().modelCacheFiles = 1;
  QuotaLimits limits;
  limits.models = 2;
  ClientSession session(device, std::make_shared<SessionServices>(),
                        Quota::create(limits, "the client"));
  const CacheFiles files = filesOf(1, 0);
  const auto first = session.prepareModel(
      validated(std::make_shared<const Model>(addModel(4))).value(), with(copyOf(files)));
  auto second = session.prepareModelFromCache(std::nullopt, with(copyOf(files)));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(session.prepareModelFromCache(std::nullopt, with(copyOf(files))).status().code(),
            ResultCode::RESOURCE_EXHAUSTED_TRANSIENT);
  second->prepared.reset();
  EXPECT_TRUE(session.prepareModelFromCache(std::nullopt, with(copyOf(files))).ok());
}

// Checks which error saveToCache reports first.
void expectSaves(PreparedModel& prepared, const std::string& traceName) {
  SCOPED_TRACE(traceName);
  Token token{};
  token[0] = 'X';
  const UniqueFd good = newFile();
  const UniqueFd data = newFile();
  const auto statusOf = [&](const UniqueFd& file) {
    const ResultCode asModel = prepared.saveToCache(file.get(), data.get(), token).code();
    const ResultCode asData = prepared.saveToCache(good.get(), file.get(), token).code();
    EXPECT_EQ(asModel, asData);
    return asModel;
  };
  EXPECT_EQ(statusOf(UniqueFd()), ResultCode::BAD_DATA);
  EXPECT_EQ(statusOf(newFile("x")), ResultCode::BAD_DATA);
  const UniqueFd moved = newFile();
  ::lseek(moved.get(), 3, SEEK_SET);
  EXPECT_EQ(statusOf(moved), ResultCode::BAD_DATA);
  const UniqueFd readOnly(
      ::open(fmt::format("/proc/self/fd/{}", good.get()).c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(statusOf(readOnly), ResultCode::BAD_DATA);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  EXPECT_EQ(statusOf(UniqueFd(ends[0])), ResultCode::BAD_DATA);
  EXPECT_EQ(statusOf(UniqueFd(ends[1])), ResultCode::BAD_DATA);
  EXPECT_EQ(textOf(good) + textOf(data), "");

  const Status saved = prepared.saveToCache(good.get(), data.get(), token);
  EXPECT_TRUE(saved.ok()) << saved.toString();
  EXPECT_EQ(textOf(good), "modelX");
  EXPECT_EQ(textOf(data), "dataX");
}

TEST(SaveToCacheTest, OfADriverThatSaves) {
  const auto model = std::make_shared<const Model>(addModel(4));
  const auto device = std::make_shared<TestDevice>();
  device->mutableInfo().modelCacheFiles = 1;
  device->mutableInfo().dataCacheFiles = 1;
  ClientSession session(device, std::make_shared<SessionServices>());
  expectSaves(*session.prepareModel(validated(model).value(), {}).value(), "in this process");

  for (const HalVersion version : {HalVersion::V1_2, HalVersion::V1_3}) {
    const auto remote = openTestDriver(version, "caching");
    expectSaves(*remote->prepareModel(validated(model).value(), {}).value(),
                "in a driver's process");
  }
}

TEST(SaveToCacheTest, OfADriverThatDoesNot) {
  const auto model = std::make_shared<const Model>(addModel(4));
  ClientSession session(std::make_shared<TestDevice>(), std::make_shared<SessionServices>());
  const auto here = session.prepareModel(validated(model).value(), {}).value();
  EXPECT_EQ(here->saveToCache(-1, -1, Token{}).code(), ResultCode::OP_FAILED);
  for (const HalVersion version : kVersions) {
    const auto remote = openTestDriver(version, "");
    const auto there = remote->prepareModel(validated(model).value(), {}).value();
    EXPECT_EQ(there->saveToCache(-1, -1, Token{}).code(), ResultCode::OP_FAILED);
  }
}

// The early form saves at any time after the compilation.
TEST(CacheFilesTest, EarlyForm) {
  const auto device = std::make_shared<TestDevice>();
  device->mutableInfo().modelCacheFiles = 2;
  device->mutableInfo().dataCacheFiles = 0;
  ClientSession session(device, std::make_shared<SessionServices>());
  const auto model = std::make_shared<const Model>(addModel(4));
  const auto expectRoundTrip = [&](Device& any) {
    const auto prepared = any.prepareModel(validated(model).value(), {}).value();
    EXPECT_EQ(addWith(*prepared), kSum);
    const CacheFiles files = filesOf(1, 1);
    ASSERT_TRUE(
        prepared->saveToCache(files.modelCache[0].get(), files.dataCache[0].get(), files.token)
            .ok());
    const auto cached = any.prepareModelFromCache(validated(model).value(), with(copyOf(files)));
    ASSERT_TRUE(cached.ok()) << cached.status().toString();
    EXPECT_EQ(addWith(*cached->prepared), kSum);
  };
  expectRoundTrip(session);
  for (const HalVersion version : {HalVersion::V1_2, HalVersion::V1_3}) {
    expectRoundTrip(*openTestDriver(version, "caching"));
  }
}

}  // namespace
}  // namespace halyard::hal
