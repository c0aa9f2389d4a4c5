// Section 10 with devices that cache: what files a driver is given, what becomes of those that are
// not as they should be, what a driver may give back, and that callbacks are called once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dirent.h>

#include <algorithm>

#include "hal/client/remote_device.h"
#include "hal/session/client_session.h"
#include "hal/core/quota.h"
#include "hal/session/session_services.h"
#include "hal/testing/server_fixture.h"
#include "hal/wire/wire_cache.h"
#include "test_definitions.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the fixture's vocabulary
using Code = wire::ErrorStatus;

constexpr const char* kFileName = "halyard-cache-table";

UniqueFd newFile() { return UniqueFd(::memfd_create(kFileName, MFD_CLOEXEC)); }
UniqueFd opened(int flags) {
  const UniqueFd file = newFile();
  return UniqueFd(::open(fmt::format("/proc/self/fd/{}", file.get()).c_str(), flags | O_CLOEXEC));
}
UniqueFd pipeEnd() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[1]);
  return UniqueFd(ends[0]);
}
Token tokenOf(char first) {
  Token token{};
  token[0] = static_cast<uint8_t>(first);
  return token;
}
CacheFiles filesOf(size_t modelFiles, size_t dataFiles, char token = 'A') {
  CacheFiles files;
  files.token = tokenOf(token);
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
// How many descriptors of this process are of the test's files.
size_t openFiles() {
  size_t count = 0;
  DIR* const folder = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(folder)) {
    char target[256] = {};
    const ssize_t length = ::readlinkat(::dirfd(folder), entry->d_name, target, sizeof target - 1);
    if (length > 0 && std::string_view(target).find(kFileName) != std::string_view::npos) ++count;
  }
  ::closedir(folder);
  return count;
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

// Files that a driver must not get, with the driver's own numbers of files.
struct BadFiles {
  const char* what;
  std::function<void(CacheFiles&)> spoil;
};
const BadFiles kBadFiles[] = {
    {"a model file too many", [](CacheFiles& f) { f.modelCache.push_back(newFile()); }},
    {"a data file too many", [](CacheFiles& f) { f.dataCache.push_back(newFile()); }},
    {"a model file too few", [](CacheFiles& f) { f.modelCache.pop_back(); }},
    {"a data file too few", [](CacheFiles& f) { f.dataCache.pop_back(); }},
    {"no files but a token", [](CacheFiles& f) { f = filesOf(0, 0); }},
    {"far too many files", [](CacheFiles& f) { f = filesOf(40, 40); }},
    {"a model handle without a descriptor", [](CacheFiles& f) { f.modelCache[0].reset(); }},
    {"a data handle without a descriptor", [](CacheFiles& f) { f.dataCache[0].reset(); }},
    {"a model file that may be read only",
     [](CacheFiles& f) { f.modelCache[0] = opened(O_RDONLY); }},
    {"a data file that may be read only", [](CacheFiles& f) { f.dataCache[0] = opened(O_RDONLY); }},
    {"a model file that may be written only",
     [](CacheFiles& f) { f.modelCache[0] = opened(O_WRONLY); }},
    {"a data file that may be written only",
     [](CacheFiles& f) { f.dataCache[0] = opened(O_WRONLY); }},
    {"a path in place of a file", [](CacheFiles& f) { f.modelCache[0] = opened(O_PATH); }},
    {"a pipe in place of a file", [](CacheFiles& f) { f.dataCache[0] = pipeEnd(); }},
    {"a device in place of a file",
     [](CacheFiles& f) { f.modelCache[0] = UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)); }},
    {"a folder in place of a file",
     [](CacheFiles& f) { f.dataCache[0] = UniqueFd(::open("/tmp", O_RDONLY | O_CLOEXEC)); }},
};

// `given`: what the driver got last, where the test can ask.
void expectFileTable(Device& device, const std::function<bool()>& given) {
  const auto model = std::make_shared<const Model>(addModel(4));
  const size_t models = device.info().modelCacheFiles;
  const size_t datas = device.info().dataCacheFiles;
  for (const BadFiles& row : kBadFiles) {
    SCOPED_TRACE(row.what);
    CacheFiles files = filesOf(models, datas);
    row.spoil(files);
    const auto prepared = device.prepareModel(model, with(copyOf(files)));
    ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
    EXPECT_EQ(addWith(**prepared), kSum);
    // A token without files is what the driver is told.
    const bool onlyToken = files.modelCache.empty() && files.dataCache.empty();
    if (given) {
      EXPECT_EQ(given(), onlyToken);
    }
    const auto loaded = device.prepareModelFromCache(model, with(std::move(files)));
    EXPECT_EQ(loaded.status().code(), ResultCode::BAD_DATA) << loaded.status().toString();
    EXPECT_FALSE(loaded.status().message().empty());
  }
  // Any content, any offset; the same files do for both.
  CacheFiles files = filesOf(models, datas);
  ASSERT_EQ(::write(files.modelCache[0].get(), "garbage", 7), 7);
  ASSERT_TRUE(device.prepareModel(model, with(copyOf(files))).ok());
  const auto cached = device.prepareModelFromCache(model, with(copyOf(files)));
  ASSERT_TRUE(cached.ok()) << cached.status().toString();
  EXPECT_EQ(addWith(*cached->prepared), kSum);
  CacheFiles otherToken = copyOf(files);
  otherToken.token = tokenOf('B');
  EXPECT_EQ(device.prepareModelFromCache(model, with(std::move(otherToken))).status().code(),
            ResultCode::OP_FAILED);
  EXPECT_EQ(device.prepareModelFromCache(model, with(filesOf(models, datas))).status().code(),
            ResultCode::OP_FAILED);
}

TEST(CacheTable, FilesOfADriverInThisProcess) {
  for (const HalVersion version : {HalVersion::V1_2, HalVersion::V1_3}) {
    const auto device = std::make_shared<TestDevice>(version);
    device->mutableInfo().modelCacheFiles = 2;
    device->mutableInfo().dataCacheFiles = 3;
    ClientSession session(device, std::make_shared<SessionServices>());
    expectFileTable(session, [&] { return device->lastCache().has_value(); });
  }
}

Result<std::shared_ptr<RemoteDevice>> tryTestDriver(HalVersion version, const char* mode) {
  Manifest manifest;
  manifest.name = "test-driver";
  manifest.version = "1";
  manifest.halVersion = version;
  manifest.target = HALYARD_TEST_DRIVER_PATH;
  ::setenv("HALYARD_TEST_DRIVER", mode, 1);
  auto device = RemoteDevice::open(RpcLoop::start().value(), manifest);
  ::unsetenv("HALYARD_TEST_DRIVER");
  return device;
}

std::shared_ptr<RemoteDevice> openTestDriver(HalVersion version, const char* mode) {
  auto device = tryTestDriver(version, mode);
  EXPECT_TRUE(device.ok()) << device.status().toString();
  return *device;
}

// A driver that wants more than 32 files of a kind is not used at all.
TEST(CacheTable, NumbersOfFilesDecideWhetherADriverIsUsed) {
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

TEST(CacheTable, ADriverSaysForWhichPreferencesItSaves) {
  const auto device = openTestDriver(HalVersion::V1_2, "caching=1,0,4");
  EXPECT_TRUE(savesFor(device->info(), ExecutionPreference::SUSTAINED_SPEED));
  EXPECT_FALSE(savesFor(device->info(), ExecutionPreference::FAST_SINGLE_ANSWER));
  EXPECT_FALSE(savesFor(device->info(), ExecutionPreference::LOW_POWER));
  EXPECT_FALSE(savesFor(openTestDriver(HalVersion::V1_2, "caching=0,0,7")->info(),
                        ExecutionPreference::SUSTAINED_SPEED));
}

TEST(CacheTable, FilesOfADriverInAProcessOfItsOwn) {
  for (const HalVersion version : {HalVersion::V1_2, HalVersion::V1_3}) {
    expectFileTable(*openTestDriver(version, "caching"), nullptr);
  }
}

TEST(CacheTable, OlderVersionsCacheNothing) {
  const auto model = std::make_shared<const Model>(addModel(4));
  for (const HalVersion version : {HalVersion::V1_0, HalVersion::V1_1}) {
    const auto remote = openTestDriver(version, "caching");
    const CacheFiles files = filesOf(1, 1);
    EXPECT_TRUE(remote->prepareModel(model, with(copyOf(files))).ok());
    struct stat st {};
    ASSERT_EQ(::fstat(files.modelCache[0].get(), &st), 0);
    EXPECT_EQ(st.st_size, 0);
    EXPECT_EQ(remote->prepareModelFromCache(model, with(copyOf(files))).status().code(),
              ResultCode::OP_FAILED);
  }
}

// What comes back from the cache is checked as what is prepared.
struct BadAnswer {
  const char* what;
  std::function<Result<CachedModel>(CachedModel)> answer;
};
std::shared_ptr<Model> changed(const CachedModel& cached) {
  return std::make_shared<Model>(*cached.interface);
}
const BadAnswer kBadAnswers[] = {
    {"an error of the driver's", [](CachedModel) { return opFailed("the test wants it"); }},
    {"an exception",
     [](CachedModel) -> Result<CachedModel> { throw std::runtime_error("the test wants it"); }},
    {"an exception of no known kind", [](CachedModel) -> Result<CachedModel> { throw 42; }},
    {"no model",
     [](CachedModel cached) {
       cached.prepared = nullptr;
       return cached;
     }},
    {"no interface",
     [](CachedModel cached) {
       cached.interface = nullptr;
       return cached;
     }},
    {"an input that is not there",
     [](CachedModel cached) {
       const auto model = changed(cached);
       model->main.inputIndexes[0] = 99;
       cached.interface = model;
       return cached;
     }},
    {"an input twice",
     [](CachedModel cached) {
       const auto model = changed(cached);
       model->main.inputIndexes[0] = model->main.inputIndexes[1];
       cached.interface = model;
       return cached;
     }},
    {"an output that is an input",
     [](CachedModel cached) {
       const auto model = changed(cached);
       model->main.outputIndexes = {0};
       cached.interface = model;
       return cached;
     }},
    {"dimensions that are too large",
     [](CachedModel cached) {
       const auto model = changed(cached);
       model->main.operands[3].dimensions = {65536, 65536, 65536};
       cached.interface = model;
       return cached;
     }},
    {"a type that is none",
     [](CachedModel cached) {
       const auto model = changed(cached);
       model->main.operands[0].type = static_cast<OperandType>(99);
       cached.interface = model;
       return cached;
     }},
    {"a priority that is none",
     [](CachedModel cached) {
       cached.priority = static_cast<Priority>(3);
       return cached;
     }},
};

TEST(CacheTable, WhatADriverMayGiveBackInThisProcess) {
  const auto device = std::make_shared<TestDevice>();
  device->mutableInfo().modelCacheFiles = 1;
  ClientSession session(device, std::make_shared<SessionServices>());
  for (const BadAnswer& row : kBadAnswers) {
    SCOPED_TRACE(row.what);
    device->onLoad = row.answer;
    const auto loaded = session.prepareModelFromCache(std::nullopt, with(filesOf(1, 0)));
    EXPECT_EQ(loaded.status().code(), ResultCode::OP_FAILED) << loaded.status().toString();
  }
  // Operations are not needed; who knows the model sees to it that it is the right one.
  device->onLoad = [](CachedModel cached) {
    const auto model = changed(cached);
    model->main.operations.clear();
    cached.interface = model;
    return cached;
  };
  EXPECT_TRUE(session.prepareModelFromCache(std::nullopt, with(filesOf(1, 0))).ok());
  const auto same = std::make_shared<const Model>(addModel(4));
  EXPECT_TRUE(session.prepareModelFromCache(same, with(filesOf(1, 0))).ok());
  for (const Model& other : {addModel(5), addConstantModel({1, 2, 3, 4})}) {
    const auto loaded =
        session.prepareModelFromCache(std::make_shared<const Model>(other), with(filesOf(1, 0)));
    EXPECT_EQ(loaded.status().code(), ResultCode::OP_FAILED);
    EXPECT_THAT(loaded.status().message(), HasSubstr("what was cached"));
  }
}

TEST(CacheTable, ModelsFromTheCacheCountAsModels) {
  const auto device = std::make_shared<TestDevice>();
  device->mutableInfo().modelCacheFiles = 1;
  QuotaLimits limits;
  limits.models = 2;
  ClientSession session(device, std::make_shared<SessionServices>(),
                        Quota::create(limits, "the client"));
  const CacheFiles files = filesOf(1, 0);
  const auto first =
      session.prepareModel(validated(addModel(4)).value(), with(copyOf(files)));
  auto second = session.prepareModelFromCache(std::nullopt, with(copyOf(files)));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(session.prepareModelFromCache(std::nullopt, with(copyOf(files))).status().code(),
            ResultCode::RESOURCE_EXHAUSTED_TRANSIENT);
  second->prepared.reset();
  EXPECT_TRUE(session.prepareModelFromCache(std::nullopt, with(copyOf(files))).ok());
}

// Calls by hand: what no C++ object can say.
class CacheWireTable : public ServerTest {
 protected:
  struct Answer {
    std::optional<Code> launch;
    std::vector<Code> notified;
    bool withModel = false;
  };
  class Counter final : public wire::v1_3::IPreparedModelCallback::Server {
   public:
    Counter(Answer& to, kj::Maybe<wire::v1_0::IPreparedModel::Client>& model)
        : to_(to), model_(model) {}
    kj::Promise<void> notify(NotifyContext context) override { return take(context); }
    kj::Promise<void> notify12(Notify12Context context) override { return take(context); }
    kj::Promise<void> notify13(Notify13Context context) override { return take(context); }

   private:
    template <typename Context>
    kj::Promise<void> take(Context context) {
      const auto params = context.getParams();
      to_.notified.push_back(params.getStatus());
      to_.withModel = params.hasPreparedModel();
      if (to_.withModel) model_ = wire::v1_0::IPreparedModel::Client(params.getPreparedModel());
      return kj::READY_NOW;
    }
    Answer& to_;
    kj::Maybe<wire::v1_0::IPreparedModel::Client>& model_;
  };

  void caches(HalVersion version, uint32_t modelFiles = 1, uint32_t dataFiles = 1) {
    start(version);
    device_->mutableInfo().modelCacheFiles = modelFiles;
    device_->mutableInfo().dataCacheFiles = dataFiles;
  }

  // Calls with any callback until it has been told, and waits for what else might come.
  template <typename Make>
  Answer ask(Make make) {
    Answer answer;
    kj::Maybe<wire::v1_0::IPreparedModel::Client> model;
    onLoop<bool>([&](RpcLoop::Context&) {
      auto call = make();
      call.setCallback(kj::heap<Counter>(answer, model));
      return call.send().then([&](auto&& response) {
        answer.launch = response.getStatus();
        return true;
      });
    });
    const auto end = Clock::now() + std::chrono::seconds(30);
    for (bool told = false; !told && Clock::now() < end;) {
      told = onLoop<bool>(
          [&](RpcLoop::Context&) -> kj::Promise<bool> { return !answer.notified.empty(); });
    }
    roundTrip();
    onLoop<bool>([&](RpcLoop::Context&) -> kj::Promise<bool> {
      model = nullptr;
      return true;
    });
    return answer;
  }
  void roundTrip() {
    onLoop<bool>([this](RpcLoop::Context&) {
      return device().getTypeRequest().send().then([](auto&&) { return true; });
    });
  }
  template <typename Call>
  static Call filled(Call call, const CacheFiles& files) {
    putCacheFiles(&files, call);
    return call;
  }
  // From the cache by the method of `version`.
  Answer load(HalVersion version, const CacheFiles& files) {
    if (version < HalVersion::V1_3) {
      return ask([&] { return filled(device().prepareModelFromCacheRequest(), files); });
    }
    return ask([&] { return filled(device().prepareModelFromCache13Request(), files); });
  }
  static void expectBoth(const Answer& answer, Code status) {
    EXPECT_EQ(answer.launch, status);
    ASSERT_EQ(answer.notified.size(), 1u);
    EXPECT_EQ(answer.notified[0], status);
    EXPECT_EQ(answer.withModel, status == Code::NONE);
  }
};

TEST_F(CacheWireTable, EveryMethodOfEveryVersion) {
  for (const HalVersion driver : {HalVersion::V1_2, HalVersion::V1_3}) {
    for (const HalVersion method : {HalVersion::V1_2, HalVersion::V1_3}) {
      if (method > driver) continue;
      SCOPED_TRACE(fmt::format("{} of {}", halVersionName(method), halVersionName(driver)));
      caches(driver);
      const CacheFiles files = filesOf(1, 1);
      expectBoth(load(method, files), Code::GENERAL_FAILURE);
      if (driver >= HalVersion::V1_3) {
        ASSERT_EQ(
            prepare(addModel(4), nullptr, [&](auto call) { putCacheFiles(&files, call); }).status,
            Code::NONE);
      } else {
        expectBoth(ask([&] {
                     auto call = filled(device().prepareModel12Request(), files);
                     encodeModel(addModel(4), nullptr, call.initModel());
                     call.setPreference(wire::ExecutionPreference::SUSTAINED_SPEED);
                     return call;
                   }),
                   Code::NONE);
      }
      ASSERT_TRUE(device_->lastCache().has_value());
      EXPECT_EQ(device_->lastCache()->modelFiles, 1u);
      EXPECT_EQ(device_->lastCache()->token, files.token);
      EXPECT_EQ(device_->lastOptions().clientUid, ::geteuid());
      expectBoth(load(method, files), Code::NONE);
      expectBoth(load(method, filesOf(1, 1)), Code::GENERAL_FAILURE);
      expectBoth(load(method, filesOf(2, 1)), Code::INVALID_ARGUMENT);
    }
  }
}

TEST_F(CacheWireTable, HandlesHaveOneDescriptor) {
  caches(HalVersion::V1_3);
  for (const unsigned count : {0u, 2u}) {
    const auto fill = [count](auto call) {
      for (auto handle : {call.initModelCache(1)[0], call.initDataCache(1)[0]}) {
        auto fds = handle.initFds(count);
        for (unsigned i = 0; i < count; ++i) {
          fds.set(i, KJ_ASSERT_NONNULL(encodeFile(newFile().get())));
        }
      }
      call.initToken(32)[0] = 'A';
    };
    EXPECT_EQ(prepare(addModel(4), nullptr, fill).status, Code::NONE);
    EXPECT_FALSE(device_->lastCache().has_value());
    expectBoth(ask([&] {
                 auto call = device().prepareModelFromCache13Request();
                 fill(wire::v1_3::IDevice::PrepareModelFromCache13Params::Builder(call));
                 return call;
               }),
               Code::INVALID_ARGUMENT);
  }
}

TEST_F(CacheWireTable, WhatADriverGivesBackIsToldOnce) {
  caches(HalVersion::V1_3);
  for (const BadAnswer& row : kBadAnswers) {
    SCOPED_TRACE(row.what);
    device_->onLoad = row.answer;
    expectBoth(load(HalVersion::V1_3, filesOf(1, 1)), Code::GENERAL_FAILURE);
  }
}

TEST_F(CacheWireTable, DeadlinesAreTheCallbacksMatter) {
  caches(HalVersion::V1_3);
  const Answer answer = ask([&] {
    auto call = filled(device().prepareModelFromCache13Request(), filesOf(1, 1));
    call.getDeadline().setNanosecondsSinceEpoch(1);
    return call;
  });
  EXPECT_EQ(answer.launch, Code::NONE);
  EXPECT_THAT(answer.notified, ::testing::ElementsAre(Code::MISSED_DEADLINE_PERSISTENT));
  EXPECT_FALSE(answer.withModel);
}

TEST_F(CacheWireTable, RequestsAreCheckedAgainstWhatTheDriverGaveBack) {
  caches(HalVersion::V1_3);
  device_->onLoad = [](CachedModel cached) { return cached; };
  const auto loaded = onLoop<bool>([&](RpcLoop::Context&) {
    auto call = filled(device().prepareModelFromCache13Request(), filesOf(1, 1));
    auto answer = kj::newPromiseAndFulfiller<PreparedAnswer>();
    call.setCallback(kj::heap<PreparedModelCallback>(kj::mv(answer.fulfiller)));
    return call.send().then([this, promise = kj::mv(answer.promise)](auto&&) mutable {
      return promise.then([this](PreparedAnswer told) {
        KJ_IF_MAYBE (client, told.preparedModel) {
          preparedClient_ = new Prepared13::Client(client->castAs<Prepared13>());
        }
        return told.status.ok();
      });
    });
  });
  ASSERT_TRUE(loaded);
  const auto out = memoryOf({0, 0, 0, 0});
  EXPECT_EQ(execute(poolRequest(memoryOf(kInputs), out)).status, Code::NONE);
  EXPECT_EQ(contentsOf(*out), kSum);
  Request fewer = poolRequest(memoryOf(kInputs), out);
  fewer.inputs.pop_back();
  EXPECT_EQ(execute(fewer).status, Code::INVALID_ARGUMENT);
  Request larger = poolRequest(memoryOf(kInputs), out);
  larger.inputs[0].dimensions = {8};
  EXPECT_EQ(execute(larger).status, Code::INVALID_ARGUMENT);
}

TEST_F(CacheWireTable, DescriptorsAreClosedWhenItIsDone) {
  caches(HalVersion::V1_3);
  for (int round = 0; round < 3; ++round) {
    const CacheFiles files = filesOf(1, 1);
    ASSERT_EQ(prepare(addModel(4), nullptr, [&](auto call) { putCacheFiles(&files, call); }).status,
              Code::NONE);
    expectBoth(load(HalVersion::V1_3, files), Code::NONE);
    expectBoth(load(HalVersion::V1_3, filesOf(1, 1)), Code::GENERAL_FAILURE);
    expectBoth(load(HalVersion::V1_3, filesOf(3, 1)), Code::INVALID_ARGUMENT);
    const auto end = Clock::now() + std::chrono::seconds(30);
    while (openFiles() > 2 && Clock::now() < end) roundTrip();
    EXPECT_EQ(openFiles(), 2u) << "the test's own";
  }
}

// The early form, with the same driver: saved at any time after the compilation.
TEST(CacheTable, EarlyForm) {
  const auto device = std::make_shared<TestDevice>();
  device->mutableInfo().modelCacheFiles = 2;
  device->mutableInfo().dataCacheFiles = 0;
  ClientSession session(device, std::make_shared<SessionServices>());
  const auto model = std::make_shared<const Model>(addModel(4));
  const auto expectRoundTrip = [&](Device& any) {
    const auto prepared = any.prepareModel(model, {}).value();
    EXPECT_EQ(addWith(*prepared), kSum);
    const CacheFiles files = filesOf(1, 1);
    ASSERT_TRUE(
        prepared->saveToCache(files.modelCache[0].get(), files.dataCache[0].get(), files.token)
            .ok());
    const auto cached = any.prepareModelFromCache(model, with(copyOf(files)));
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
