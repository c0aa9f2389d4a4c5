// What a driver says of itself (sections 3.1 and 13), on every method that a version has; how
// figures and statuses of a new driver look to an old method (9.1, 9.2, 9.6); the form rules of
// compilation caches (10.1, 10.2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "hal/client/remote_device.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "hal/testing/server_fixture.h"
#include "test_definitions.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the fixture's vocabulary
using Code = wire::ErrorStatus;
using kj::Exception;

constexpr HalVersion kVersions[] = {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2,
                                    HalVersion::V1_3};

class DeviceTable : public ServerTest {
 protected:
  // The answer of a call: its status, or nullopt when the method is not there.
  template <typename Call>
  std::optional<Code> statusOf(Call make) {
    return onLoop<std::optional<Code>>([&](RpcLoop::Context&) {
      return make().send().then(
          [](auto&& response) -> std::optional<Code> { return response.getStatus(); },
          [](Exception&& exception) -> std::optional<Code> {
            EXPECT_EQ(exception.getType(), Exception::Type::UNIMPLEMENTED);
            return std::nullopt;
          });
    });
  }
  static bool positive(wire::PerformanceInfo::Reader info) {
    return info.getExecTime() > 0 && info.getPowerUsage() > 0;
  }
};

TEST_F(DeviceTable, MethodsAreThereFromTheirVersionOn) {
  for (const HalVersion version : kVersions) {
    SCOPED_TRACE(std::string(halVersionName(version)));
    start(version);
    const auto expect = [&](HalVersion since, std::optional<Code> status) {
      EXPECT_EQ(status, version >= since ? std::optional<Code>(Code::NONE) : std::nullopt)
          << halVersionName(since);
    };
    expect(HalVersion::V1_0, statusOf([&] { return device().getCapabilitiesRequest(); }));
    expect(HalVersion::V1_1, statusOf([&] { return device().getCapabilities11Request(); }));
    expect(HalVersion::V1_2, statusOf([&] { return device().getCapabilities12Request(); }));
    expect(HalVersion::V1_3, statusOf([&] { return device().getCapabilities13Request(); }));
    expect(HalVersion::V1_2, statusOf([&] { return device().getVersionStringRequest(); }));
    expect(HalVersion::V1_2, statusOf([&] { return device().getTypeRequest(); }));
    expect(HalVersion::V1_2, statusOf([&] { return device().getSupportedExtensionsRequest(); }));
    expect(HalVersion::V1_2,
           statusOf([&] { return device().getNumberOfCacheFilesNeededRequest(); }));
    expect(HalVersion::V1_2, statusOf([&] { return device().isCachingSupportedRequest(); }));
    expect(HalVersion::V1_3, statusOf([&] { return device().getFeatureLevelRequest(); }));
    EXPECT_EQ(statusOf([&] { return device().prepareSupported13Request(); }),
              version >= HalVersion::V1_3 ? std::optional(Code::INVALID_ARGUMENT) : std::nullopt);
    const auto available = onLoop<wire::DeviceStatus>([&](RpcLoop::Context&) {
      return device().getStatusRequest().send().then(
          [](auto&& response) { return response.getStatus(); });
    });
    EXPECT_EQ(available, wire::DeviceStatus::AVAILABLE);
  }
}

TEST_F(DeviceTable, CapabilitiesOfEveryVersion) {
  device_->mutableInfo().capabilities = Capabilities::uniform({2, 3});
  auto& table = device_->mutableInfo().capabilities.operandPerformance;
  for (OperandPerformance& entry : table) {
    if (entry.type == OperandType::TENSOR_FLOAT32) entry.info = {5, 6};
    if (entry.type == OperandType::TENSOR_QUANT8_ASYMM) entry.info = {7, 8};
  }
  device_->mutableInfo().capabilities.relaxedFloat32toFloat16PerformanceTensor = {9, 10};
  const auto ask = [&](auto make, auto look) {
    onLoop<bool>([&](RpcLoop::Context&) {
      return make().send().then([&](auto&& response) {
        EXPECT_EQ(response.getStatus(), Code::NONE);
        look(response.getCapabilities());
        return true;
      });
    });
  };
  using Reader = wire::Capabilities::Reader;
  ask([&] { return device().getCapabilitiesRequest(); },
      [](Reader c) {
        EXPECT_EQ(c.getFloat32Performance().getExecTime(), 5);
        EXPECT_EQ(c.getQuantized8Performance().getPowerUsage(), 8);
        EXPECT_FALSE(c.hasRelaxedFloat32toFloat16Performance());
        EXPECT_FALSE(c.hasOperandPerformance());
      });
  ask([&] { return device().getCapabilities11Request(); },
      [](Reader c) {
        EXPECT_EQ(c.getFloat32Performance().getExecTime(), 5);
        EXPECT_EQ(c.getQuantized8Performance().getExecTime(), 7);
        EXPECT_EQ(c.getRelaxedFloat32toFloat16Performance().getExecTime(), 9);
        EXPECT_FALSE(c.hasOperandPerformance());
      });
  const auto checkTable = [](Reader c, int32_t last) {
    EXPECT_TRUE(positive(c.getRelaxedFloat32toFloat16PerformanceScalar()));
    EXPECT_TRUE(positive(c.getRelaxedFloat32toFloat16PerformanceTensor()));
    int32_t previous = -1;
    int32_t lastFundamental = -1;
    for (const auto entry : c.getOperandPerformance()) {
      EXPECT_GT(entry.getType(), previous);
      EXPECT_NE(entry.getType(), static_cast<int32_t>(OperandType::MODEL));
      EXPECT_TRUE(positive(entry.getInfo()));
      previous = entry.getType();
      if (previous < 10000) lastFundamental = previous;
    }
    EXPECT_EQ(lastFundamental, last);
  };
  ask([&] { return device().getCapabilities12Request(); },
      [&](Reader c) {
        checkTable(c, 13);
        EXPECT_FALSE(c.hasIfPerformance());
      });
  ask([&] { return device().getCapabilities13Request(); },
      [&](Reader c) {
        checkTable(c, 14);
        EXPECT_TRUE(positive(c.getIfPerformance()));
        EXPECT_TRUE(positive(c.getWhilePerformance()));
      });
}

TEST_F(DeviceTable, WhatADriverSaysOfItself) {
  device_->mutableInfo().extensions = {{"com.acme.things", {{1, true, 4}}}};
  onLoop<bool>([&](RpcLoop::Context&) {
    return device().getVersionStringRequest().send().then([](auto&& response) {
      EXPECT_GT(response.getVersion().size(), 0u);
      return true;
    });
  });
  onLoop<bool>([&](RpcLoop::Context&) {
    return device().getTypeRequest().send().then([](auto&& response) {
      EXPECT_EQ(response.getType(), wire::DeviceType::CPU);
      return true;
    });
  });
  onLoop<bool>([&](RpcLoop::Context&) {
    return device().getSupportedExtensionsRequest().send().then([](auto&& response) {
      EXPECT_EQ(response.getExtensions().size(), 1u);
      EXPECT_EQ(response.getExtensions()[0].getOperandTypes()[0].getByteSize(), 4u);
      return true;
    });
  });
  using Counts = std::tuple<uint32_t, uint32_t, uint32_t>;
  const auto counts = [&] {
    return onLoop<Counts>([&](RpcLoop::Context&) {
      return device().getNumberOfCacheFilesNeededRequest().send().then([](auto&& response) {
        return Counts(response.getNumModelCache(), response.getNumDataCache(),
                      response.getPreferences());
      });
    });
  };
  const auto caching = [&] {
    return onLoop<bool>([&](RpcLoop::Context&) {
      return device().isCachingSupportedRequest().send().then(
          [](auto&& response) { return response.getSupported(); });
    });
  };
  EXPECT_EQ(counts(), Counts(0, 0, kEveryPreference));
  EXPECT_FALSE(caching());
  device_->mutableInfo().dataCacheFiles = 2;
  device_->mutableInfo().cachedPreferences = 5;
  EXPECT_EQ(counts(), Counts(0, 2, 5));
  EXPECT_TRUE(caching());
}

// 9.1, and what the results of the API make of it.
struct StatusRow {
  ResultCode code;
  Code since13;
  Code before;
  ResultCode back;  // from HAL 1.3
};
const StatusRow kStatuses[] = {
    {ResultCode::NO_ERROR, Code::NONE, Code::NONE, ResultCode::NO_ERROR},
    {ResultCode::UNAVAILABLE_DEVICE, Code::DEVICE_UNAVAILABLE, Code::DEVICE_UNAVAILABLE,
     ResultCode::UNAVAILABLE_DEVICE},
    {ResultCode::OP_FAILED, Code::GENERAL_FAILURE, Code::GENERAL_FAILURE, ResultCode::OP_FAILED},
    {ResultCode::OUTPUT_INSUFFICIENT_SIZE, Code::OUTPUT_INSUFFICIENT_SIZE,
     Code::OUTPUT_INSUFFICIENT_SIZE, ResultCode::OUTPUT_INSUFFICIENT_SIZE},
    {ResultCode::BAD_DATA, Code::INVALID_ARGUMENT, Code::INVALID_ARGUMENT, ResultCode::BAD_DATA},
    {ResultCode::MISSED_DEADLINE_TRANSIENT, Code::MISSED_DEADLINE_TRANSIENT, Code::GENERAL_FAILURE,
     ResultCode::MISSED_DEADLINE_TRANSIENT},
    {ResultCode::MISSED_DEADLINE_PERSISTENT, Code::MISSED_DEADLINE_PERSISTENT,
     Code::GENERAL_FAILURE, ResultCode::MISSED_DEADLINE_PERSISTENT},
    {ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, Code::RESOURCE_EXHAUSTED_TRANSIENT,
     Code::GENERAL_FAILURE, ResultCode::RESOURCE_EXHAUSTED_TRANSIENT},
    {ResultCode::RESOURCE_EXHAUSTED_PERSISTENT, Code::RESOURCE_EXHAUSTED_PERSISTENT,
     Code::GENERAL_FAILURE, ResultCode::RESOURCE_EXHAUSTED_PERSISTENT},
    // What a driver may find and the HAL has no name for.
    {ResultCode::DEAD_OBJECT, Code::GENERAL_FAILURE, Code::GENERAL_FAILURE, ResultCode::OP_FAILED},
    {ResultCode::OUT_OF_MEMORY, Code::GENERAL_FAILURE, Code::GENERAL_FAILURE,
     ResultCode::OP_FAILED},
};

TEST(StatusTable, ConvertsDownAndUp) {
  for (const StatusRow& row : kStatuses) {
    SCOPED_TRACE(resultCodeName(row.code));
    const Status status =
        row.code == ResultCode::NO_ERROR ? okStatus() : Status(row.code, "the test wants it");
    EXPECT_EQ(toWireStatus(status, HalVersion::V1_3), row.since13);
    for (const HalVersion old : {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2}) {
      EXPECT_EQ(toWireStatus(status, old), row.before);
    }
    EXPECT_EQ(fromWireStatus(row.since13, "").code(), row.back);
  }
  EXPECT_EQ(fromWireStatus(static_cast<Code>(9), "").code(), ResultCode::OP_FAILED);
}

// 10.2: what is wrong with cache files must not spoil a preparation.
TEST_F(DeviceTable, CacheFilesDoNotSpoilAPreparation) {
  for (const uint32_t files : {0u, 1u}) {
    device_->mutableInfo().modelCacheFiles = files;
    device_->mutableInfo().dataCacheFiles = files;
    const std::pair<unsigned, unsigned> kCounts[] = {{0, 0}, {1, 0}, {0, 1},
                                                     {1, 1}, {2, 1}, {3, 40}};
    for (const auto& [models, datas] : kCounts) {
      for (const unsigned fds : {0u, 1u, 2u}) {
        SCOPED_TRACE(fmt::format("{} and {} handles of {} descriptors", models, datas, fds));
        const auto fill = [fds](capnp::List<wire::Handle>::Builder handles) {
          for (auto handle : handles) handle.initFds(fds);  // null capabilities
        };
        const Outcome outcome =
            prepare(addModel(4), nullptr, [&, models = models, datas = datas](auto call) {
              fill(call.initModelCache(models));
              fill(call.initDataCache(datas));
              call.initToken(32);
            });
        EXPECT_EQ(outcome.status, Code::NONE) << outcome.message;
      }
    }
  }
  // A token has 32 bytes; one that is left out is all zero.
  for (const unsigned bytes : {1u, 31u, 33u}) {
    const Outcome outcome =
        prepare(addModel(4), nullptr, [&](auto call) { call.initToken(bytes); });
    EXPECT_EQ(outcome.status, Code::INVALID_ARGUMENT);
    EXPECT_THAT(outcome.message, HasSubstr("32"));
  }
}

// 10.2.4 for a driver that caches nothing.
TEST_F(DeviceTable, NothingComesFromTheCache) {
  const auto ask = [&](auto make, unsigned token) {
    return onLoop<std::pair<Code, Code>>([&](RpcLoop::Context&) {
      auto call = make();
      call.initToken(token);
      auto answer = kj::newPromiseAndFulfiller<PreparedAnswer>();
      call.setCallback(kj::heap<PreparedModelCallback>(kj::mv(answer.fulfiller)));
      return call.send().then([promise = kj::mv(answer.promise)](auto&& response) mutable {
        const Code launched = response.getStatus();
        return promise.then([launched](PreparedAnswer told) {
          EXPECT_TRUE(told.preparedModel == nullptr);
          return std::pair(launched, toWireStatus(told.status, HalVersion::V1_3));
        });
      });
    });
  };
  const std::pair<Code, Code> refused = {Code::GENERAL_FAILURE, Code::GENERAL_FAILURE};
  const std::pair<Code, Code> invalid = {Code::INVALID_ARGUMENT, Code::INVALID_ARGUMENT};
  EXPECT_EQ(ask([&] { return device().prepareModelFromCacheRequest(); }, 32), refused);
  EXPECT_EQ(ask([&] { return device().prepareModelFromCache13Request(); }, 32), refused);
  EXPECT_EQ(ask([&] { return device().prepareModelFromCache13Request(); }, 5), invalid);
}

// 10.1: the order of decisions in saveToCache.
UniqueFd newFile(const std::string& contents = "") {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), contents.data(), contents.size()),
            static_cast<ssize_t>(contents.size()));
  return fd;
}
std::string textOf(const UniqueFd& fd) {
  char text[64] = {};
  const ssize_t length = ::pread(fd.get(), text, sizeof text, 0);
  return std::string(text, static_cast<size_t>(std::max<ssize_t>(length, 0)));
}

void expectSaveTable(PreparedModel& prepared, const std::string& traceName) {
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

TEST(SaveTable, OfADriverThatSaves) {
  const auto model = std::make_shared<const Model>(addModel(4));
  const auto device = std::make_shared<TestDevice>();
  device->mutableInfo().modelCacheFiles = 1;
  device->mutableInfo().dataCacheFiles = 1;
  ClientSession session(device, std::make_shared<SessionServices>());
  expectSaveTable(*session.prepareModel(model, {}).value(), "in this process");

  ::setenv("HALYARD_TEST_DRIVER", "caching", 1);
  for (const HalVersion version : {HalVersion::V1_2, HalVersion::V1_3}) {
    Manifest manifest;
    manifest.name = "test-driver";
    manifest.version = "1";
    manifest.halVersion = version;
    manifest.target = HALYARD_TEST_DRIVER_PATH;
    const auto remote = RemoteDevice::open(RpcLoop::start().value(), manifest).value();
    expectSaveTable(*remote->prepareModel(model, {}).value(), "in a driver's process");
  }
  ::unsetenv("HALYARD_TEST_DRIVER");
}

TEST(SaveTable, OfADriverThatDoesNot) {
  const auto model = std::make_shared<const Model>(addModel(4));
  ClientSession session(std::make_shared<TestDevice>(), std::make_shared<SessionServices>());
  const auto here = session.prepareModel(model, {}).value();
  EXPECT_EQ(here->saveToCache(-1, -1, Token{}).code(), ResultCode::OP_FAILED);
  for (const HalVersion version : kVersions) {
    Manifest manifest;
    manifest.name = "test-driver";
    manifest.version = "1";
    manifest.halVersion = version;
    manifest.target = HALYARD_TEST_DRIVER_PATH;
    const auto remote = RemoteDevice::open(RpcLoop::start().value(), manifest).value();
    const auto there = remote->prepareModel(model, {}).value();
    EXPECT_EQ(there->saveToCache(-1, -1, Token{}).code(), ResultCode::OP_FAILED);
  }
}

}  // namespace
}  // namespace halyard::hal
