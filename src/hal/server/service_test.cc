// Tests of drivers as services, whose clients do not trust each other.
#include "hal/server/service.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/fair_executor.h"
#include "hal/client/remote_device.h"
#include "hal/testing/raw_client.h"
#include "hal/testing/test_device.h"
#include "test_definitions.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the test device's vocabulary
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr seconds kLong{60};  // limits hangs only

template <typename Condition>
bool becomes(Condition condition, milliseconds limit = kLong) {
  const auto end = Clock::now() + limit;
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

Manifest manifestFor(const std::string& path) {
  Manifest manifest;
  manifest.name = "test-service";
  manifest.kind = Manifest::Kind::SOCKET;
  manifest.target = path;
  return manifest;
}

// A folder for sockets and manifests.
class ServiceFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/halyard_service_test_XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
    path_ = folder_ + "/driver.sock";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
  std::string path_;
};

// A service in this process, so that tests can examine its device.
class ServiceTest : public ServiceFolder {
 protected:
  void start(ServiceSettings settings = ServiceSettings::defaults()) {
    bool made = false;
    listener_ = listenForClients(path_, made).value();
    stop_.reset(::eventfd(0, EFD_CLOEXEC));
    server_ = Server::start(loop_, device_, {}).value();
    service_ = std::make_unique<Service>(*server_, std::move(settings));
    thread_ = std::thread([this] { EXPECT_TRUE(service_->run(listener_, stop_.get()).ok()); });
  }
  // Accepts no more clients, ends running work and releases everything.
  void stopServing() {
    if (!thread_.joinable()) return;
    const uint64_t one = 1;
    ASSERT_EQ(::write(stop_.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
    thread_.join();
    EXPECT_TRUE(server_->drain(kLong));
    server_.reset();
  }
  void TearDown() override {
    stopServing();
    ServiceFolder::TearDown();
  }

  Result<std::shared_ptr<RemoteDevice>> open() {
    return RemoteDevice::open(clientLoop_, manifestFor(path_), kLong);
  }
  static Result<std::shared_ptr<PreparedModel>> prepare(Device& device) {
    return device.prepareModel(validated(addModel(4)).value(), {});
  }
  static ExecutionResult execute(PreparedModel& prepared, float first = 1) {
    const float in[4] = {first, 2, 3, 4};
    float out[4] = {};
    auto result = prepared.executeSynchronously(pointerRequest(in, in, out, 4), {});
    if (result.status.ok()) {
      EXPECT_EQ(out[3], 8.0f);
    }
    return result;
  }
  // Checks that another client is served.
  void expectServes() {
    const auto device = open();
    ASSERT_TRUE(device.ok()) << device.status().toString();
    const auto prepared = prepare(**device);
    ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
    for (int i = 0; i < 10; ++i) {
      const auto result = execute(**prepared);
      ASSERT_TRUE(result.status.ok()) << result.status.toString();
    }
  }

  const std::shared_ptr<TestDevice> device_ = std::make_shared<TestDevice>();
  const std::shared_ptr<RpcLoop> loop_ = RpcLoop::start().value();
  const std::shared_ptr<RpcLoop> clientLoop_ = RpcLoop::start().value();
  UniqueFd listener_;
  UniqueFd stop_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Service> service_;
  std::thread thread_;
};

TEST_F(ServiceTest, ModelsOfAClientAreLimited) {
  ServiceSettings settings = ServiceSettings::defaults();
  settings.client.models = 2;
  start(settings);
  const auto device = open().value();
  const auto other = open().value();
  auto first = prepare(*device);
  const auto second = prepare(*device);
  ASSERT_TRUE(first.ok() && second.ok());
  const auto third = prepare(*device);
  EXPECT_EQ(third.status().code(), ResultCode::RESOURCE_EXHAUSTED_TRANSIENT);
  EXPECT_THAT(third.status().message(), HasSubstr("2 of 2 prepared models"));
  EXPECT_TRUE(prepare(*other).ok());
  first = badState("released");
  EXPECT_TRUE(becomes([&] { return prepare(*device).ok(); }));
}

TEST_F(ServiceTest, ModelsOfAUserAreLimited) {
  ServiceSettings settings = ServiceSettings::defaults();
  settings.user.models = 3;
  start(settings);
  std::vector<std::shared_ptr<RemoteDevice>> devices;
  std::vector<std::shared_ptr<PreparedModel>> models;
  for (int i = 0; i < 3; ++i) {
    devices.push_back(open().value());
    models.push_back(prepare(*devices.back()).value());
  }
  const auto fourth = prepare(*devices[0]);
  EXPECT_EQ(fourth.status().code(), ResultCode::RESOURCE_EXHAUSTED_TRANSIENT);
  EXPECT_THAT(fourth.status().message(), HasSubstr(fmt::format("user {} has 3 of 3", ::getuid())));
}

TEST_F(ServiceTest, MemoryAndDescriptorsOfAClientAreLimited) {
  ServiceSettings settings = ServiceSettings::defaults();
  settings.client.memoryBytes = 20'000;
  settings.client.descriptors = 2;
  start(settings);
  const auto device = open().value();
  // Does not count: 10,000 floats in the message or in a separate file, which are not the driver's
  // memory. Counts: 30,000 bytes of copied arguments.
  const auto prepared = prepare(*device);
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  EXPECT_TRUE(execute(**prepared).status.ok());
  Model large = addModel(4);
  large.operandValues.resize(30'000);
  const auto refused = device->prepareModel(validated(std::move(large)).value(), {});
  EXPECT_EQ(refused.status().code(), ResultCode::RESOURCE_EXHAUSTED_PERSISTENT);
  EXPECT_THAT(refused.status().message(), HasSubstr("it may have 20000"));
  Model files = addModel(4);
  for (int i = 0; i < 3; ++i) files.pools.push_back(SharedMemory::create(64, "pool").value());
  const auto tooMany = device->prepareModel(validated(std::move(files)).value(), {});
  EXPECT_EQ(tooMany.status().code(), ResultCode::RESOURCE_EXHAUSTED_PERSISTENT);
  EXPECT_THAT(tooMany.status().message(), HasSubstr("descriptors"));
  EXPECT_TRUE(execute(**prepared).status.ok());  // no charge is left
}

TEST_F(ServiceTest, ExecutionsOfAClientAreLimited) {
  ServiceSettings settings = ServiceSettings::defaults();
  settings.client.executions = 1;
  start(settings);
  const auto device = open().value();
  const auto prepared = prepare(*device).value();
  std::thread endless([prepared] { (void)execute(*prepared, kUntilCancelled); });
  EXPECT_TRUE(becomes([&] { return device_->running() == 1; }));
  const Status refused = execute(*prepared).status;
  EXPECT_EQ(refused.code(), ResultCode::RESOURCE_EXHAUSTED_TRANSIENT);
  EXPECT_THAT(refused.message(), HasSubstr("1 of 1 running executions"));
  expectServes();
  stopServing();
  endless.join();
}

TEST_F(ServiceTest, AClientsWaitingCallsAreLimitedAndOthersAreServed) {
  ServiceSettings settings = ServiceSettings::defaults();
  settings.queuedCalls = 3;
  start(settings);
  const auto device = open().value();
  const auto prepared = prepare(*device).value();
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  constexpr int kRunning = FairExecutor::LaneLimits{}.running;  // over rings and as calls
  for (int i = 0; i < kRunning + 4; ++i) {                      // 3 wait
    threads.emplace_back([&] {
      if (execute(*prepared, kUntilCancelled).status.code() ==
          ResultCode::RESOURCE_EXHAUSTED_TRANSIENT) {
        ++refused;
      }
    });
    // The executions start in sequence, so that the first ones do not wait for a thread.
    if (i < kRunning) {
      EXPECT_TRUE(becomes([&] { return device_->running() == i + 1; }));
    }
  }
  EXPECT_TRUE(becomes([&] { return refused == 1; }));
  expectServes();
  EXPECT_EQ(refused, 1);
  stopServing();
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ServiceTest, ConnectionsAreLimitedAndTheRefusedAreTold) {
  ServiceSettings settings = ServiceSettings::defaults();
  settings.connectionsOfUser = 2;
  start(settings);
  auto first = open();
  const auto second = open();
  ASSERT_TRUE(first.ok() && second.ok());
  const auto third = open();
  EXPECT_EQ(third.status().code(), ResultCode::RESOURCE_EXHAUSTED_TRANSIENT);
  EXPECT_THAT(third.status().message(),
              AllOf(HasSubstr("test-service"),
                    HasSubstr(fmt::format("user {} has 2 connections", ::getuid()))));
  first = badState("gone");
  EXPECT_TRUE(becomes([&] { return open().ok(); }));
}

TEST_F(ServiceTest, ConnectionsOfAllUsersAreLimited) {
  ServiceSettings settings = ServiceSettings::defaults();
  settings.connections = 1;
  start(settings);
  const auto first = open();
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(open().status().message(), HasSubstr("1 clients already"));
}

TEST_F(ServiceTest, OnlyWhoIsAllowedIsServed) {
  ServiceSettings settings = ServiceSettings::defaults();
  settings.users = {::getuid() + 1};
  settings.groups = {::getgid() + 1};
  start(settings);
  const auto refused = open();
  EXPECT_EQ(refused.status().code(), ResultCode::UNAVAILABLE_DEVICE);
  EXPECT_THAT(refused.status().message(),
              HasSubstr(fmt::format("does not serve user {}", ::getuid())));
  EXPECT_EQ(service_->clients(), 0u);
}

TEST_F(ServiceTest, AllowRules) {
  ServiceSettings settings = ServiceSettings::defaults();
  EXPECT_TRUE(settings.allows(5, 6));
  settings.groups = {6};
  EXPECT_TRUE(settings.allows(5, 6));
  EXPECT_FALSE(settings.allows(5, 7));
  settings.users = {5};
  EXPECT_TRUE(settings.allows(5, 7));
  EXPECT_FALSE(settings.allows(8, 9));
}

TEST_F(ServiceTest, AClientWhoseExecutionsNeverEndStopsNobody) {
  start();
  const auto device = open().value();
  const auto prepared = prepare(*device).value();
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&] { (void)execute(*prepared, kUntilCancelled); });
  }
  for (int i = 0; i < 5; ++i) expectServes();
  stopServing();
  for (std::thread& thread : threads) thread.join();
}

// Not a test: the client process of the next test, which kills it during its executions.
TEST_F(ServiceTest, DISABLED_ClientThatHoldsMuch) {
  const char* const path = std::getenv("HALYARD_TEST_SOCKET");
  ASSERT_NE(path, nullptr);
  const auto device = RemoteDevice::open(clientLoop_, manifestFor(path), kLong).value();
  std::vector<std::shared_ptr<PreparedModel>> models;
  for (int i = 0; i < 8; ++i) models.push_back(prepare(*device).value());
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {  // some run, and some wait
    threads.emplace_back([&] { (void)execute(*models[0], kUntilCancelled); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ServiceTest, DeathOfAClientFreesWhatItHeld) {
  start();
  expectServes();
  const auto idle = [&] { return service_->clients() == 0 && device_->preparedModels() == 0; };
  ASSERT_TRUE(becomes(idle));
  ::setenv("HALYARD_TEST_SOCKET", path_.c_str(), 1);
  const pid_t client = ::fork();
  if (client == 0) {
    ::execl("/proc/self/exe", "client", "--gtest_also_run_disabled_tests",
            "--gtest_filter=*.DISABLED_ClientThatHoldsMuch", nullptr);
    ::_exit(99);
  }
  ::unsetenv("HALYARD_TEST_SOCKET");
  ASSERT_TRUE(becomes([&] { return device_->running() >= 4; }));
  EXPECT_EQ(device_->preparedModels(), 8u);
  ASSERT_EQ(::kill(client, SIGKILL), 0);
  const auto killed = Clock::now();
  EXPECT_TRUE(becomes([&] { return idle() && device_->running() == 0; }));
  RecordProperty(
      "microseconds",
      static_cast<int>(
          std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - killed).count()));
  EXPECT_LT(Clock::now() - killed, seconds(5));
  ASSERT_EQ(::waitpid(client, nullptr, 0), client);
  expectServes();
}

TEST_F(ServiceTest, AClientEndsWithItsProcessWhoeverHoldsItsSocket) {
  start();
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const pid_t client = ::fork();
  if (client == 0) {
    const RawClient raw(path_);
    const pid_t holder = ::fork();
    if (holder == 0) {
      for (;;) ::pause();
    }
    (void)!::write(pipe[1], &holder, sizeof holder);
    for (;;) ::pause();
  }
  pid_t holder = 0;
  ASSERT_EQ(::read(pipe[0], &holder, sizeof holder), static_cast<ssize_t>(sizeof holder));
  ::close(pipe[0]);
  ::close(pipe[1]);
  EXPECT_TRUE(becomes([&] { return service_->clients() == 1; }));
  ::kill(client, SIGKILL);
  ASSERT_EQ(::waitpid(client, nullptr, 0), client);
  EXPECT_TRUE(becomes([&] { return service_->clients() == 0; }));
  EXPECT_EQ(::kill(holder, SIGKILL), 0);  // the process existed until now
}

TEST_F(ServiceTest, AClientEndsWhenItLetsGoWhoeverHoldsItsSocket) {
  start();
  auto device = open();
  ASSERT_TRUE(device.ok());
  ASSERT_TRUE(prepare(**device).ok());
  ASSERT_EQ(service_->clients(), 1u);
  // The child process inherits the socket, as in a prefork server.
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  device->reset();
  EXPECT_TRUE(becomes([&] { return service_->clients() == 0; }));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(ServiceTest, AClientThatNeverReadsIsNotReadFrom) {
  start();
  RawClient raw(path_);
  ASSERT_TRUE(raw.connected());
  std::string calls;
  for (int i = 0; i < 1000; ++i) calls += raw.bootstrap(true);
  uint64_t written = 0;
  constexpr uint64_t kEnough = uint64_t{256} << 20;
  while (written < kEnough && raw.write(calls, seconds(2))) written += calls.size();
  EXPECT_LT(written, kEnough);
  EXPECT_EQ(service_->clients(), 1u);
  expectServes();
  // The client may read later, and is then served again.
  EXPECT_TRUE(becomes(
      [&] { return raw.discard() && raw.write(std::exchange(calls, {}), milliseconds(1)); }));
}

TEST_F(ServiceTest, AClientThatFinishesNothingIsCutOff) {
  start();
  RawClient raw(path_);
  ASSERT_TRUE(raw.connected());
  unsigned calls = 0;
  while (calls < 100'000 && raw.exchange(raw.bootstrap(false), kLong)) ++calls;
  EXPECT_LT(calls, 100'000u);
  EXPECT_TRUE(becomes([&] { return service_->clients() == 0; }));
  expectServes();
}

TEST_F(ServiceTest, FloodsAndHalfMessagesStopNobody) {
  start();
  std::vector<std::unique_ptr<RawClient>> halves;
  for (int i = 0; i < 20; ++i) {
    halves.push_back(std::make_unique<RawClient>(path_));
    // A segment of 60 MB without any data.
    const uint32_t header[] = {0, 60'000'000 / 8};
    ASSERT_TRUE(
        halves.back()->write({reinterpret_cast<const char*>(header), sizeof header}, kLong));
  }
  std::atomic<bool> stop = false;
  std::vector<std::thread> floods;
  for (int i = 0; i < 2; ++i) {
    floods.emplace_back([&] {
      RawClient raw(path_);
      while (!stop && raw.write(raw.bootstrap(true), milliseconds(1)) && raw.discard()) {
      }
    });
  }
  for (int i = 0; i < 5; ++i) expectServes();
  stop = true;
  for (std::thread& flood : floods) flood.join();
}

// A service in its own process.
class ServiceProcessTest : public ServiceFolder {
 protected:
  void TearDown() override {
    if (service_ > 0) {
      ::kill(service_, SIGKILL);
      ::waitpid(service_, nullptr, 0);
    }
    ServiceFolder::TearDown();
  }
  void spawn(const char* option, const std::string& value) {
    service_ = ::fork();
    if (service_ == 0) {
      ::execl(HALYARD_TEST_DRIVER_PATH, HALYARD_TEST_DRIVER_PATH, option, value.c_str(), nullptr);
      ::_exit(99);
    }
  }
  void end(int signal) {
    ASSERT_EQ(::kill(service_, signal), 0);
    ASSERT_EQ(::waitpid(service_, nullptr, 0), service_);
    service_ = 0;
  }
  std::shared_ptr<RemoteDevice> open() {
    Result<std::shared_ptr<RemoteDevice>> device = badState("not tried");
    EXPECT_TRUE(becomes([&] {
      device = RemoteDevice::open(loop_, manifestFor(path_), kLong);
      return device.ok();
    })) << device.status().toString();
    return device.ok() ? *device : nullptr;
  }
  Status executeOnce(Device& device) {
    const auto prepared = device.prepareModel(validated(addModel(2)).value(), {});
    if (!prepared.ok()) return prepared.status();
    const float in[2] = {1, 2};
    float out[2] = {};
    return (*prepared)->executeSynchronously(pointerRequest(in, in, out, 2), {}).status;
  }

  const std::shared_ptr<RpcLoop> loop_ = RpcLoop::start().value();
  pid_t service_ = 0;
};

TEST_F(ServiceProcessTest, ServesAsItsManifestSays) {
  const std::string manifest = folder_ + "/m.json";
  std::ofstream(manifest) << R"({"name": "test-service", "version": "1", "hal_version": "1.3",
      "socket": "driver.sock",
      "sandbox": {"off": {"seccomp": "the test wants it"}},
      "service": {"user": {"connections": 1}}})";
  spawn("--service", manifest);
  const auto device = open();
  ASSERT_NE(device, nullptr);
  EXPECT_TRUE(executeOnce(*device).ok());
  const IsolationReport report = device->isolation();
  ASSERT_EQ(report.size(), kMeasures.size());
  EXPECT_EQ(report[5].state, IsolationMeasure::State::OFF);
  EXPECT_EQ(report[5].detail, "the test wants it");
  const auto second = RemoteDevice::open(loop_, manifestFor(path_), kLong);
  EXPECT_EQ(second.status().code(), ResultCode::RESOURCE_EXHAUSTED_TRANSIENT);
  end(SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ServiceProcessTest, AManifestWithoutSocketIsRefused) {
  const std::string manifest = folder_ + "/m.json";
  std::ofstream(manifest) << R"({"name": "a-b", "version": "1", "hal_version": "1.3",
                                 "executable": "x"})";
  spawn("--service", manifest);
  int status = 0;
  ASSERT_EQ(::waitpid(service_, &status, 0), service_);
  service_ = 0;
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

TEST_F(ServiceProcessTest, ClientsComeBackAfterARestart) {
  spawn("--listen", path_);
  const auto device = open();
  ASSERT_NE(device, nullptr);
  const auto prepared = device->prepareModel(validated(addModel(2)).value(), {}).value();
  end(SIGKILL);
  const float in[2] = {1, 2};
  float out[2] = {};
  const auto dead = prepared->executeSynchronously(pointerRequest(in, in, out, 2), {});
  EXPECT_EQ(dead.status.code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(dead.status.message(), HasSubstr(path_));
  const Status away = executeOnce(*device);
  EXPECT_EQ(away.code(), ResultCode::UNAVAILABLE_DEVICE);
  EXPECT_THAT(away.message(), HasSubstr(path_));
  spawn("--listen", path_);  // replaces the socket of the previous service
  Status status;
  EXPECT_TRUE(becomes([&] {
    status = executeOnce(*device);
    return status.ok();
  })) << status.toString();
  EXPECT_EQ(device->processId(), service_);
  EXPECT_EQ(prepared->executeSynchronously(pointerRequest(in, in, out, 2), {}).status.code(),
            ResultCode::DEAD_OBJECT);
}

TEST_F(ServiceProcessTest, TakesTheSocketThatSystemdHandsOver) {
  bool made = false;
  const UniqueFd listener = listenForClients(path_, made).value();
  EXPECT_TRUE(made);
  service_ = ::fork();
  if (service_ == 0) {
    ::dup2(listener.get(), 3);
    ::setenv("LISTEN_FDS", "1", 1);
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    ::execl(HALYARD_TEST_DRIVER_PATH, HALYARD_TEST_DRIVER_PATH, "--listen", "/nowhere/at/all",
            nullptr);
    ::_exit(99);
  }
  const auto device = open();
  ASSERT_NE(device, nullptr);
  EXPECT_TRUE(executeOnce(*device).ok());
  end(SIGTERM);
  EXPECT_TRUE(std::filesystem::exists(path_));  // the socket belongs to systemd
}

TEST(ServiceSettingsTest, OfAManifest) {
  const auto settings = parseService(Json::parse(R"({
    "allow": {"users": [1000, 0], "groups": [44]}, "connections": 10,
    "client": {"memory_bytes": 1000, "models": 1, "executions": 2, "buffers": 3, "rings": 4,
               "descriptors": 5, "queued_calls": 6},
    "user": {"models": 7, "connections": 8}})"));
  ASSERT_TRUE(settings.ok()) << settings.status().toString();
  EXPECT_EQ(settings->users, (std::vector<uid_t>{1000, 0}));
  EXPECT_EQ(settings->groups, (std::vector<gid_t>{44}));
  EXPECT_EQ(settings->connections, 10u);
  EXPECT_EQ(settings->client.memoryBytes, 1000u);
  EXPECT_EQ(settings->client.descriptors, 5u);
  EXPECT_EQ(settings->queuedCalls, 6u);
  EXPECT_EQ(settings->user.models, 7u);
  EXPECT_EQ(settings->connectionsOfUser, 8u);
  EXPECT_EQ(settings->user.buffers, ServiceSettings::defaults().user.buffers);
}

TEST(ServiceSettingsTest, MistakesAreNamed) {
  const std::pair<const char*, const char*> mistakes[] = {
      {R"(3)", "not an object"},
      {R"({"quota": 1})", "'quota' is unknown"},
      {R"({"allow": {"uids": []}})", "'allow.uids' is unknown"},
      {R"({"allow": {"users": "root"}})", "not a list"},
      {R"({"allow": {"users": [-1]}})", "'allow.users' is -1"},
      {R"({"connections": 0})", "'connections' is 0"},
      {R"({"client": {"model": 1}})", "'client.model' is unknown"},
      {R"({"client": {"models": "1"}})", "'client.models' is \"1\""},
      {R"({"client": {"connections": 1}})", "'client.connections' is unknown"},
      {R"({"user": {"queued_calls": 1}})", "'user.queued_calls' is unknown"},
  };
  for (const auto& [text, expected] : mistakes) {
    const auto settings = parseService(Json::parse(text));
    ASSERT_FALSE(settings.ok()) << text;
    EXPECT_THAT(settings.status().message(), HasSubstr(expected)) << text;
  }
}

}  // namespace
}  // namespace halyard::hal
