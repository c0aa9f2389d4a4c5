// Tests devices that misbehave or describe themselves unusually, with the calls of every HAL
// version. The test device is behind a server in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <stdexcept>

#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "hal/testing/test_device.h"
#include "validation/vts/cache_files.h"
#include "validation/vts/hal_client.h"
#include "validation/vts/models.h"
#include "validation/vts/rules.h"
#include "validation/vts/runs.h"

namespace halyard::validation {
namespace {

using hal::CachedModel;
using hal::testing::TestDevice;
using ::testing::HasSubstr;

constexpr HalVersion kVersions[] = {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2,
                                    HalVersion::V1_3};
constexpr HalVersion kCaching[] = {HalVersion::V1_2, HalVersion::V1_3};

// A device with its version, and its client.
struct Served {
  explicit Served(HalVersion version) : device(std::make_shared<TestDevice>(version)) {}

  HalClient& client() {
    if (client_ == nullptr) {
      TargetSpec spec;
      spec.name = "test-device";
      spec.deviceVersion = device->info().halVersion;
      spec.makeDevice = [this]() -> Result<std::shared_ptr<hal::Device>> {
        return std::shared_ptr<hal::Device>(device);
      };
      target_ = std::make_unique<Target>(spec);
      auto opened = HalClient::open(*target_);
      if (!opened.ok()) throw std::runtime_error(opened.status().toString());
      client_ = *opened;
    }
    return *client_;
  }

  const std::shared_ptr<TestDevice> device;

 private:
  std::unique_ptr<Target> target_;
  std::shared_ptr<HalClient> client_;
};

void expectOk(const Status& status) { EXPECT_TRUE(status.ok()) << status.toString(); }

// Memory whose a[0] is `first`, which the test device checks.
RequestMemory memoryWith(float first) {
  std::vector<uint8_t> a = filled(kFloat, 4, 1);
  std::memcpy(a.data(), &first, sizeof first);
  return RequestMemory::make({a, filled(kFloat, 4, 2)}, {16}).value();
}

TEST(SpecialDevice, SaysOfItselfWhatItIs) {
  Served served(HalVersion::V1_3);
  hal::DeviceInfo& info = served.device->mutableInfo();
  EXPECT_EQ(served.client().facts(HalVersion::V1_2)->cachedPreferences, hal::kEveryPreference);
  info.extensions = {{"com.acme.things", {{1, true, 4}}}};
  info.dataCacheFiles = 2;
  info.cachedPreferences = 5;
  for (const HalVersion method : kCaching) {
    const DeviceFacts facts = served.client().facts(method).value();
    EXPECT_TRUE(facts.problems.empty());
    EXPECT_EQ(facts.versionString, "test 1");
    EXPECT_EQ(facts.type, static_cast<int>(hal::DeviceType::CPU));
    ASSERT_EQ(facts.extensions.size(), 1u);
    ASSERT_EQ(facts.extensions[0].operandTypes.size(), 1u);
    EXPECT_EQ(facts.extensions[0].operandTypes[0].byteSize, 4u);
    EXPECT_EQ(facts.modelCacheFiles, 0u);
    EXPECT_EQ(facts.dataCacheFiles, 2u);
    EXPECT_EQ(facts.cachedPreferences, 5u);
  }
}

TEST(SpecialDevice, FiguresOfEveryVersion) {
  Served served(HalVersion::V1_3);
  hal::Capabilities& capabilities = served.device->mutableInfo().capabilities;
  capabilities = hal::Capabilities::uniform({2, 3});
  for (hal::OperandPerformance& entry : capabilities.operandPerformance) {
    if (entry.type == OperandType::TENSOR_FLOAT32) entry.info = {5, 6};
    if (entry.type == OperandType::TENSOR_QUANT8_ASYMM) entry.info = {7, 8};
  }
  capabilities.relaxedFloat32toFloat16PerformanceTensor = {9, 10};
  for (const HalVersion method : kVersions) {
    SCOPED_TRACE(std::string(halVersionName(method)));
    const DeviceFacts facts = served.client().facts(method).value();
    EXPECT_EQ(facts.capabilitiesStatus, Code::NONE);
    EXPECT_THAT(facts.newerFigures, ::testing::IsEmpty());
    std::vector<float> times;
    for (const hal::PerformanceInfo& figure : facts.oldFigures) times.push_back(figure.execTime);
    if (method < HalVersion::V1_2) {
      EXPECT_EQ(facts.oldFigures[1].powerUsage, 8);
      EXPECT_EQ(times, method == HalVersion::V1_0 ? std::vector<float>({5, 7})
                                                  : std::vector<float>({5, 7, 9}));
      continue;
    }
    // Every fundamental type of the version, and no other type.
    int last = -1;
    for (const hal::OperandPerformance& entry : facts.capabilities.operandPerformance) {
      if (entry.type < OperandType::OEM_SCALAR) last = static_cast<int>(entry.type);
    }
    EXPECT_EQ(last, static_cast<int>(method == HalVersion::V1_2
                                         ? OperandType::TENSOR_QUANT8_SYMM
                                         : OperandType::TENSOR_QUANT8_ASYMM_SIGNED));
  }
}

// Options that the method of an old version does not have keep their defaults.
TEST(SpecialDevice, OldMethodsSayLess) {
  Served served(HalVersion::V1_3);
  Model model = addModel(4);
  model.relaxComputationFloat32toFloat16 = true;
  for (const HalVersion method : kVersions) {
    SCOPED_TRACE(std::string(halVersionName(method)));
    PrepareCall call;
    call.preference = 2;
    call.priority = 2;
    call.deadline = hal::Clock::now() + std::chrono::minutes(5);
    const Preparation prepared = served.client().prepare(method, model, call).value();
    expectOk(expectPrepared(prepared));
    EXPECT_EQ(served.device->lastModel()->relaxComputationFloat32toFloat16,
              method >= HalVersion::V1_1);
    const hal::PrepareOptions options = served.device->lastOptions();
    EXPECT_EQ(options.preference, method >= HalVersion::V1_1
                                      ? hal::ExecutionPreference::SUSTAINED_SPEED
                                      : hal::ExecutionPreference::FAST_SINGLE_ANSWER);
    EXPECT_EQ(options.priority,
              method >= HalVersion::V1_3 ? hal::Priority::HIGH : hal::Priority::MEDIUM);
    EXPECT_EQ(options.deadline.has_value(), method >= HalVersion::V1_3);
    EXPECT_EQ(options.clientUid, ::geteuid());
  }
}

TEST(SpecialDevice, OperationsOfItsFeatureLevel) {
  Served served(HalVersion::V1_3);  // level 4
  Model model = addModel(4);
  model.main.operations = {{static_cast<OperationType>(102), {0, 1, 2, 2}, {3}}};
  expectOk(expectModelRefused(served.client(), HalVersion::V1_3, model));
}

TEST(SpecialDevice, PreparationsThatThrow) {
  for (const HalVersion method : kVersions) {
    SCOPED_TRACE(std::string(halVersionName(method)));
    Served served(HalVersion::V1_3);
    std::atomic<int> round = 0;
    served.device->onPrepare = [&round] {
      switch (round++) {
        case 0:
          throw std::runtime_error("the test wants it");
        case 1:
          throw 42;
        case 2:
          throw std::bad_alloc();
      }
    };
    for (int i = 0; i < 3; ++i) {
      const Preparation failed = served.client().prepare(method, addModel(4)).value();
      EXPECT_EQ(failed.launch, Code::NONE);
      // HAL 1.3 has an error code of its own for missing memory.
      const bool isNamed = i == 2 && method == HalVersion::V1_3;
      expectOk(expectFailed(
          failed, {isNamed ? Code::RESOURCE_EXHAUSTED_TRANSIENT : Code::GENERAL_FAILURE}));
    }
    const Preparation prepared = served.client().prepare(method, addModel(4)).value();
    expectOk(expectPrepared(prepared));
    expectOk(runsAdd(served.client(), method, prepared.model, 4));
  }
}

// The callback, not the launch, reports that the driver does not support the model.
TEST(SpecialDevice, ModelsThatItCannotCompute) {
  Model model = addModel(4);
  model.main.operations = {{OperationType::RELU, {0}, {3}}};
  for (const HalVersion method : kVersions) {
    SCOPED_TRACE(std::string(halVersionName(method)));
    Served served(HalVersion::V1_3);
    const SupportedAnswer supported = served.client().supported(method, model).value();
    EXPECT_EQ(supported.status, Code::NONE);
    EXPECT_EQ(supported.supported, std::vector<bool>{false});
    const Preparation failed = served.client().prepare(method, model).value();
    EXPECT_EQ(failed.launch, Code::NONE);
    expectOk(expectFailed(failed, {Code::GENERAL_FAILURE}));
  }
}

class Executions : public ::testing::TestWithParam<HalVersion> {
 protected:
  // Executes in every way of the version, with times and without.
  void forEach(float first,
               const std::function<void(const ExecutionAnswer&, Path, bool measure)>& look) {
    const Preparation prepared = served_.client().prepare(GetParam(), addModel(4)).value();
    expectOk(expectPrepared(prepared));
    for (const Path path : pathsOf(GetParam())) {
      for (const bool measure : {false, true}) {
        SCOPED_TRACE(fmt::format("{}, measure {}", pathName(path), measure));
        ExecuteCall call;
        call.measure = measure;
        const RequestMemory memory = memoryWith(first);
        const ExecutionAnswer answer =
            served_.client()
                .execute(GetParam(), path, prepared.model, memory.request(), call)
                .value();
        if (path == Path::ASYNCHRONOUS) {
          EXPECT_EQ(answer.launch, Code::NONE);
        }
        look(answer, path, measure);
      }
    }
  }
  // HAL 1.0 and 1.1 report only a status.
  bool reports() const { return GetParam() >= HalVersion::V1_2; }

  Served served_{HalVersion::V1_3};
};

TEST_P(Executions, ReportTimesWhenAsked) {
  forEach(1, [&](const ExecutionAnswer& answer, Path, bool measure) {
    EXPECT_EQ(answer.callback, Code::NONE);
    EXPECT_EQ(answer.message, "");
    EXPECT_EQ(answer.timing.timeInDriver.has_value(), measure && reports());
    EXPECT_EQ(answer.timing.timeOnDevice.has_value(), measure && reports());
    EXPECT_LE(answer.shapes.size(), reports() ? 1u : 0u);
    for (const hal::OutputShape& shape : answer.shapes) {
      EXPECT_TRUE(shape.isSufficient);
      EXPECT_EQ(shape.dimensions, Shape{4});
    }
  });
}

TEST_P(Executions, ReportOutputsThatAreTooSmall) {
  forEach(hal::testing::kTooSmall, [&](const ExecutionAnswer& answer, Path, bool) {
    EXPECT_EQ(answer.callback, Code::OUTPUT_INSUFFICIENT_SIZE);
    EXPECT_NE(answer.message, "");
    EXPECT_FALSE(answer.timing.timeInDriver.has_value());
    ASSERT_EQ(answer.shapes.size(), reports() ? 1u : 0u);
    for (const hal::OutputShape& shape : answer.shapes) {
      EXPECT_FALSE(shape.isSufficient);
      EXPECT_EQ(shape.dimensions, Shape{4});
    }
  });
}

TEST_P(Executions, ThatThrowReportNothing) {
  forEach(hal::testing::kThrow, [](const ExecutionAnswer& answer, Path, bool) {
    expectOk(expectError(answer, {Code::GENERAL_FAILURE}));
  });
}

INSTANTIATE_TEST_SUITE_P(EveryVersion, Executions, ::testing::ValuesIn(kVersions),
                         [](const auto& tested) {
                           return fmt::format("V1_{}", static_cast<int>(tested.param) - 1);
                         });

// Answers about cached models are checked like those about prepared models.
struct BadAnswer {
  const char* what;
  std::function<Result<CachedModel>(CachedModel)> answer;
};

BadAnswer withModel(const char* what, const std::function<void(Model&)>& change) {
  return {what, [change](CachedModel cached) {
            const auto model = std::make_shared<Model>(*cached.interface);
            change(*model);
            cached.interface = model;
            return cached;
          }};
}

const std::vector<BadAnswer>& badAnswers() {
  static const std::vector<BadAnswer> kAnswers = {
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
      withModel("an input that is not there", [](Model& m) { m.main.inputIndexes[0] = 99; }),
      withModel("an input twice",
                [](Model& m) { m.main.inputIndexes[0] = m.main.inputIndexes[1]; }),
      withModel("an output that is an input", [](Model& m) { m.main.outputIndexes = {0}; }),
      withModel("dimensions that are too large",
                [](Model& m) {
                  m.main.operands[3].dimensions = {65536, 65536, 65536};
                }),
      withModel("a type that is none",
                [](Model& m) { m.main.operands[0].type = static_cast<OperandType>(99); }),
      {"a priority that is none", [](CachedModel cached) {
         cached.priority = static_cast<hal::Priority>(3);
         return cached;
       }}};
  return kAnswers;
}

hal::PrepareOptions withFiles(const MemoryFiles& files, const hal::Token& token) {
  hal::PrepareOptions options;
  options.cache = std::make_shared<const hal::CacheFiles>(files.copy(token));
  return options;
}

TEST(SpecialDevice, BadAnswersFromTheCacheAreToldOnce) {
  for (const HalVersion method : kCaching) {
    Served served(HalVersion::V1_3);
    served.device->mutableInfo().modelCacheFiles = 1;
    for (const BadAnswer& row : badAnswers()) {
      SCOPED_TRACE(fmt::format("{}, HAL {}", row.what, halVersionName(method)));
      served.device->onLoad = row.answer;
      MemoryFiles files = MemoryFiles::make(1, 0).value();
      const Preparation failed =
          served.client().prepareFromCache(method, files.open(newToken())).value();
      expectOk(expectRefusedAtLaunch(failed, {Code::GENERAL_FAILURE}));
    }
  }
}

TEST(SpecialDevice, BadAnswersFromTheCacheInThisProcess) {
  const auto device = std::make_shared<TestDevice>();
  device->mutableInfo().modelCacheFiles = 1;
  hal::ClientSession session(device, std::make_shared<hal::SessionServices>());
  const MemoryFiles files = MemoryFiles::make(1, 0).value();
  const auto load = [&](const std::optional<ValidModel>& model) {
    return session.prepareModelFromCache(model, withFiles(files, newToken())).status();
  };
  for (const BadAnswer& row : badAnswers()) {
    SCOPED_TRACE(row.what);
    device->onLoad = row.answer;
    EXPECT_EQ(load(std::nullopt).code(), ResultCode::OP_FAILED);
  }
  // The cached model needs no operations. If the caller has the model, the rest must match it.
  device->onLoad = withModel("", [](Model& model) { model.main.operations.clear(); }).answer;
  expectOk(load(std::nullopt));
  expectOk(load(validated(addModel(4)).value()));
  for (const Model& other : {addModel(5), hal::testing::addConstantModel({1, 2, 3, 4})}) {
    const Status refused = load(validated(other).value());
    EXPECT_EQ(refused.code(), ResultCode::OP_FAILED);
    EXPECT_THAT(refused.message(), HasSubstr("what was cached"));
  }
}

TEST(SpecialDevice, GetsTheFilesThatItWantsOrNone) {
  for (const HalVersion driver : kCaching) {
    for (const HalVersion method : kCaching) {
      if (method > driver) continue;
      SCOPED_TRACE(fmt::format("{} of {}", halVersionName(method), halVersionName(driver)));
      Served served(driver);
      served.device->mutableInfo().modelCacheFiles = 1;
      served.device->mutableInfo().dataCacheFiles = 1;
      const auto save = [&](const CacheHandles& handles) {
        PrepareCall call;
        call.cache = &handles;
        expectOk(expectPrepared(served.client().prepare(method, addModel(4), call).value()));
        return served.device->lastCache();
      };
      const hal::Token token = newToken();
      MemoryFiles files = MemoryFiles::make(1, 1).value();
      const auto given = save(files.open(token));
      ASSERT_TRUE(given.has_value());
      EXPECT_EQ(given->modelFiles, 1u);
      EXPECT_EQ(given->dataFiles, 1u);
      EXPECT_EQ(given->token, token);
      EXPECT_EQ(served.device->lastOptions().clientUid, ::geteuid());
      for (const size_t descriptors : {0u, 2u}) {
        CacheHandles wrong = files.open(token);
        wrong.modelCache[0].resize(descriptors, wrong.dataCache[0][0]);
        EXPECT_FALSE(save(wrong).has_value()) << descriptors;
      }
      MemoryFiles more = MemoryFiles::make(2, 1).value();
      EXPECT_FALSE(save(more.open(token)).has_value());
      EXPECT_FALSE(save(files.open(token, 0, O_RDONLY)).has_value());
      // A token without files is passed to the driver.
      CacheHandles onlyToken;
      onlyToken.token = token;
      const auto told = save(onlyToken);
      ASSERT_TRUE(told.has_value());
      EXPECT_EQ(told->modelFiles, 0u);
      EXPECT_EQ(told->token, token);
    }
  }
}

}  // namespace
}  // namespace halyard::validation
