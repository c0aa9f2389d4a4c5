// A device in this process that saves models in cache files. A test controls the result of loading.
// Thread safety: a test may change the script while no model is prepared.
// Ownership: the device shares its script with the test. The fixture owns its folder.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cpu/cpu_device.h"
#include "hal/session/client_session.h"
#include "runtime/device/device_manager.h"

namespace halyard::runtime::testing {

struct CachingScript {
  std::string name = "test-caching";
  std::string version = "1";
  uint32_t modelFiles = 1;
  uint32_t dataFiles = 1;
  uint32_t preferences = hal::kEveryPreference;  // preferences for which it saves
  std::set<OperationType> unsupported;
  Status fromCache;  // an error is the result of loading; with OK, the contents of the files decide
  std::function<Status()> beforeLoad;
  std::function<Status()> beforePrepare;
  bool writes = true;                      // when it prepares
  bool loadsNothing = false;               // returns OK without a model
  std::shared_ptr<const Model> interface;  // returned instead of the interface of the model

  // A call of the device.
  struct Call {
    bool isLoad = false;
    bool hadCache = false;  // a token, with or without files
    size_t modelFiles = 0;
    size_t dataFiles = 0;
    hal::Token token = {};
  };
  std::mutex mutex;
  std::vector<Call> calls;
  std::shared_ptr<const hal::CacheFiles> lastFiles;
  int waits = 0;
  // Prepared models of an earlier generation answer DEAD_OBJECT.
  std::atomic<int> generation = 0;

  std::vector<Call> takeCalls() {
    const std::lock_guard lock(mutex);
    return std::exchange(calls, {});
  }
};

class MortalModel final : public hal::PreparedModel {
 public:
  MortalModel(std::shared_ptr<CachingScript> script, std::shared_ptr<hal::PreparedModel> real)
      : script_(std::move(script)), real_(std::move(real)), generation_(script_->generation) {}
  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& options) override {
    if (generation_ != script_->generation) {
      return {makeStatus(ResultCode::DEAD_OBJECT, "the process ended"), {}, {}};
    }
    return real_->executeSynchronously(request, options);
  }

 private:
  const std::shared_ptr<CachingScript> script_;
  const std::shared_ptr<hal::PreparedModel> real_;
  const int generation_;
};

class CachingDevice final : public hal::Device {
 public:
  explicit CachingDevice(std::shared_ptr<CachingScript> script) : script_(std::move(script)) {
    hal::DeviceInfo info = cpu::cpuDeviceInfo();
    info.name = script_->name;
    info.versionString = script_->version;
    info.modelCacheFiles = script_->modelFiles;
    info.dataCacheFiles = script_->dataFiles;
    info.cachedPreferences = script_->preferences;
    info.type = hal::DeviceType::ACCELERATOR;
    info.capabilities = hal::Capabilities::uniform({0.1f, 0.1f});
    real_ = cpu::makeCpuDevice(std::move(info), 1);
  }
  const hal::DeviceInfo& info() const override { return real_->info(); }
  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    hal::SupportedOperations supported;
    for (const Operation& operation : model->main.operations) {
      supported.push_back(!script_->unsupported.contains(operation.type));
    }
    return supported;
  }
  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& options) override {
    note(false, options);
    if (script_->beforePrepare) HALYARD_RETURN_IF_ERROR(script_->beforePrepare());
    if (options.cache != nullptr && script_->writes) save(*model, *options.cache);
    return prepare(model);
  }
  Result<hal::CachedModel> prepareModelFromCache(const std::optional<ValidModel>& model,
                                                 const hal::PrepareOptions& options) override {
    note(true, options);
    if (script_->beforeLoad) HALYARD_RETURN_IF_ERROR(script_->beforeLoad());
    HALYARD_RETURN_IF_ERROR(script_->fromCache);
    if (script_->loadsNothing) return hal::CachedModel{};
    HALYARD_RETURN_IF_ERROR(check(**model, *options.cache));
    hal::CachedModel cached;
    cached.interface = script_->interface == nullptr ? model->share() : script_->interface;
    HALYARD_ASSIGN_OR_RETURN(cached.prepared, prepare(*model));
    return cached;
  }
  Status wait() override {
    ++script_->waits;
    return okStatus();
  }

  // The contents of a file of the set. `index` counts the files of both kinds.
  static std::string contentOf(const Model& model, const hal::Token& token, size_t index) {
    std::string text(token.begin(), token.end());
    text += fmt::format("file {} of {} operations, values ", index, model.main.operations.size());
    text.append(model.operandValues.begin(), model.operandValues.end());
    return text;
  }

 private:
  Result<std::shared_ptr<hal::PreparedModel>> prepare(const ValidModel& model) {
    HALYARD_ASSIGN_OR_RETURN(auto real, real_->prepareModel(model, {}));
    return std::shared_ptr<hal::PreparedModel>(
        std::make_shared<MortalModel>(script_, std::move(real)));
  }
  void note(bool isLoad, const hal::PrepareOptions& options) {
    CachingScript::Call call;
    call.isLoad = isLoad;
    call.hadCache = options.cache != nullptr;
    if (call.hadCache) {
      call.modelFiles = options.cache->modelCache.size();
      call.dataFiles = options.cache->dataCache.size();
      call.token = options.cache->token;
    }
    const std::lock_guard lock(script_->mutex);
    script_->calls.push_back(call);
    script_->lastFiles = options.cache;
  }
  static std::vector<int> allOf(const hal::CacheFiles& files) {
    std::vector<int> fds;
    for (const UniqueFd& fd : files.modelCache) fds.push_back(fd.get());
    for (const UniqueFd& fd : files.dataCache) fds.push_back(fd.get());
    return fds;
  }
  // A full disk does not fail the preparation.
  static void save(const Model& model, const hal::CacheFiles& files) {
    const std::vector<int> fds = allOf(files);
    for (size_t i = 0; i < fds.size(); ++i) {
      const std::string text = contentOf(model, files.token, i);
      (void)!::ftruncate(fds[i], 0);
      (void)!::pwrite(fds[i], text.data(), text.size(), 0);
    }
  }
  static Status check(const Model& model, const hal::CacheFiles& files) {
    const std::vector<int> fds = allOf(files);
    for (size_t i = 0; i < fds.size(); ++i) {
      const std::string expected = contentOf(model, files.token, i);
      std::string found(expected.size() + 1, '\0');
      const ssize_t got = ::pread(fds[i], found.data(), found.size(), 0);
      found.resize(got < 0 ? 0 : static_cast<size_t>(got));
      if (found != expected) return opFailed("file {} is not what was saved", i);
    }
    return okStatus();
  }

  const std::shared_ptr<CachingScript> script_;
  std::shared_ptr<hal::Device> real_;
};

// Has a folder, a device, and the device list of the runtime.
class CachingDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("HALYARD_LOG", "quiet", 1);
    std::string name = ::testing::TempDir() + "/caching_device_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    token_[0] = 7;
  }
  void TearDown() override {
    manager_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Makes new device objects, as another process does.
  void start() {
    std::vector<Device> drivers;
    drivers.emplace_back(std::make_shared<CachingDevice>(script_), "caching.json", false);
    manager_ = std::make_unique<DeviceManager>(std::move(drivers));
  }
  // All files in the folder except the lock file, sorted.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().filename().string()[0] != '.') names.push_back(entry.path());
    }
    std::ranges::sort(names);
    return names;
  }

  std::string folder_;
  hal::Token token_ = {};
  std::shared_ptr<CachingScript> script_ = std::make_shared<CachingScript>();
  std::unique_ptr<DeviceManager> manager_;
};

}  // namespace halyard::runtime::testing
