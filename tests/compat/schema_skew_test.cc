// Clients and drivers built with an older schema, together with current ones. Also refusals, whose
// texts name both protocol numbers.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>

#include "hal/client/remote_device.h"
#include "hal/testing/test_device.h"
#include "test_definitions.h"
#include "trace/trace_collection.h"

namespace halyard::hal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace hal::testing;  // NOLINT: the test driver's vocabulary

Manifest oldDriver(HalVersion version = HalVersion::V1_3) {
  Manifest manifest;
  manifest.name = "old-driver";
  manifest.version = "1";
  manifest.halVersion = version;
  manifest.target = OLD_DRIVER;
  return manifest;
}

// Whether the device adds {1, 2, 3, 4} and {10, 20, 30, 40}.
void expectAdds(Device& device) {
  const auto prepared = device.prepareModel(validated(addModel(4)).value(), {});
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  const std::vector<float> a = {1, 2, 3, 4};
  const std::vector<float> b = {10, 20, 30, 40};
  std::vector<float> out(4);
  const auto result =
      (*prepared)->executeSynchronously(pointerRequest(a.data(), b.data(), out.data(), 4), {});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(out, ::testing::ElementsAre(11, 22, 33, 44));
}

TEST(NewRuntime, WorksWithAnOldDriver) {
  for (const HalVersion version : {HalVersion::V1_0, HalVersion::V1_3}) {
    SCOPED_TRACE(std::string(halVersionName(version)));
    const auto device = RemoteDevice::open(RpcLoop::start().value(), oldDriver(version));
    ASSERT_TRUE(device.ok()) << device.status().toString();
    EXPECT_EQ((*device)->info().capabilities.lookup(OperandType::TENSOR_FLOAT32).execTime, 0.5f);
    const auto supported = (*device)->getSupportedOperations(validated(addModel(4)).value());
    ASSERT_TRUE(supported.ok()) << supported.status().toString();
    EXPECT_THAT(*supported, ::testing::ElementsAre(true));
    EXPECT_EQ((*device)->status(), DeviceStatus::AVAILABLE);
    expectAdds(**device);
  }
}

TEST(NewRuntime, DoesWithoutWhatAnOldDriverLacks) {
  const auto device = RemoteDevice::open(RpcLoop::start().value(), oldDriver());
  ASSERT_TRUE(device.ok()) << device.status().toString();
  EXPECT_EQ((*device)->info().featureLevel, FeatureLevel::FL4);
  EXPECT_EQ((*device)->info().versionString, "old 1");
  EXPECT_EQ((*device)->info().cachedPreferences, kEveryPreference);
  // The old driver does not implement prepareSupported13, so the runtime makes two calls.
  for (int i = 0; i < 2; ++i) {
    const auto both = (*device)->prepareIfSupported(
        validated(std::make_shared<const Model>(addModel(4))).value(), {});
    ASSERT_TRUE(both.ok()) << both.status().toString();
    EXPECT_THAT(both->supported, ::testing::ElementsAre(true));
    ASSERT_TRUE(both->prepared.has_value());
    EXPECT_TRUE(both->prepared->ok()) << both->prepared->status().toString();
  }
  const auto prepared = (*device)->prepareModel(validated(addModel(4)).value(), {});
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  const Status saved = (*prepared)->saveToCache(-1, -1, Token{});
  EXPECT_EQ(saved.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(saved.message(), HasSubstr("does not implement saveToCache"));

  // The old driver needs no cache files. When it gets some, it prepares, and leaves them empty.
  CacheFiles files;
  files.modelCache.emplace_back(::memfd_create("test", MFD_CLOEXEC));
  files.token[0] = 1;
  PrepareOptions options;
  options.cache = std::make_shared<const CacheFiles>(std::move(files));
  const auto model = std::make_shared<const Model>(addModel(4));
  EXPECT_TRUE((*device)->prepareModel(validated(model).value(), options).ok());
  const auto cached = (*device)->prepareModelFromCache(validated(model).value(), options);
  EXPECT_EQ(cached.status().code(), ResultCode::OP_FAILED);
  EXPECT_THAT(cached.status().message(), HasSubstr("does not implement prepareModelFromCache"));
}

TEST(NewRuntime, TracesWithoutAnOldDriverAndSaysSo) {
  trace::TraceCollection& collection = trace::TraceCollection::ofProcess();
  ASSERT_TRUE(collection.start(1000).ok());
  const auto device = RemoteDevice::open(RpcLoop::start().value(), oldDriver());
  ASSERT_TRUE(device.ok()) << device.status().toString();
  expectAdds(**device);
  ASSERT_TRUE(collection.stop().ok());
  const trace::TraceRecords records = collection.records();
  ASSERT_EQ(records.drivers.size(), 1u);
  EXPECT_THAT(records.drivers[0].status.message(),
              AllOf(HasSubstr("old-driver"), HasSubstr("does not implement trace")));
  EXPECT_TRUE(records.drivers[0].records.empty());
}

TEST(NewRuntime, RefusesADriverOfAnotherProtocolNamingBoth) {
  for (const char* const number : {"0", "2"}) {
    ::setenv("OLD_DRIVER_PROTOCOL", number, 1);
    const auto device = RemoteDevice::open(RpcLoop::start().value(), oldDriver());
    ::unsetenv("OLD_DRIVER_PROTOCOL");
    ASSERT_FALSE(device.ok());
    EXPECT_THAT(device.status().message(),
                AllOf(HasSubstr("old-driver"),
                      HasSubstr(fmt::format("speaks protocol version {}, not 1", number))));
  }
}

struct ClientRun {
  int exitStatus = -1;
  std::string output;
};

// The old client with the current driver, on a connection that the client makes.
ClientRun runOldClient(int protocol) {
  ClientRun run;
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / fmt::format("halyard-skew-{}.sock", ::getpid());
  std::filesystem::remove(path);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  const UniqueFd listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(listening.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(listening.get(), 1), 0);
  const std::string command = fmt::format("'{}' '{}' {}", OLD_CLIENT, path.string(), protocol);
  std::FILE* const client = ::popen(command.c_str(), "r");
  UniqueFd connection(::accept(listening.get(), nullptr, nullptr));
  std::filesystem::remove(path);

  const std::string option = fmt::format("--fd={}", connection.get());
  std::string program = NEW_DRIVER;
  char* const arguments[] = {program.data(), const_cast<char*>(option.data()), nullptr};
  pid_t driver = 0;
  EXPECT_EQ(::posix_spawn(&driver, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  connection.reset();  // only the driver holds it now; the driver ends with its client

  char text[256];
  while (std::fgets(text, sizeof text, client) != nullptr) run.output += text;
  const int status = ::pclose(client);
  run.exitStatus = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  int driverStatus = 0;
  EXPECT_EQ(::waitpid(driver, &driverStatus, 0), driver);
  EXPECT_TRUE(WIFEXITED(driverStatus) && WEXITSTATUS(driverStatus) == 0) << driverStatus;
  return run;
}

TEST(OldClient, WorksWithANewDriver) {
  const ClientRun run = runOldClient(1);
  EXPECT_EQ(run.exitStatus, 0) << run.output;
  EXPECT_THAT(run.output,
              AllOf(HasSubstr("version 'test 1', protocol 1, HAL 1.3"), HasSubstr("all right")));
}

TEST(FutureClient, IsRefusedWithBothNumbers) {
  const ClientRun run = runOldClient(2);
  EXPECT_EQ(run.exitStatus, 3) << run.output;
  EXPECT_THAT(run.output,
              HasSubstr("refused: the client speaks protocol version 2, this driver 1"));
}

}  // namespace
}  // namespace halyard::hal
