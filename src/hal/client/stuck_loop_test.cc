// Tests of time limits while the RPC thread does not work: each waiting thread checks its own
// limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "base/temporary_folder_for_test.h"
#include "base/testing/slow_descriptors.h"
#include "hal/client/driver_connection.h"
#include "hal/client/remote_device.h"
#include "hal/client/remote_prepared_model.h"
#include "hal/core/completion.h"
#include "hal/server/server.h"
#include "hal/testing/test_device.h"
#include "hal/testing/test_driver_manifest.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the test driver's vocabulary
using halyard::testing::becomes;
using halyard::testing::LingeringSocket;
using halyard::testing::sendDescriptors;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr seconds kStuck{30};
constexpr seconds kTimeLimit{10};

// The listening socket of a driver that is a service.
class ServiceSocket {
 public:
  ServiceSocket() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
  }
  Manifest manifest() const {
    Manifest manifest = testManifest();
    manifest.kind = Manifest::Kind::SOCKET;
    manifest.target = path_;
    return manifest;
  }
  UniqueFd accept() const {
    return UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }

 private:
  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/driver.sock";
  const UniqueFd listener_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

class StuckLoop : public ::testing::Test {
 protected:
  void TearDown() override { release(); }

  // After this, the thread is blocked until release().
  void block() {
    Completion<bool> begun;
    // The thread may return from its wait after the end of this object.
    loop_->post([released = released_, &begun](RpcLoop::Context&) {
      begun.set(true);
      (void)released->waitUntil(Clock::now() + kStuck);
    });
    begun.wait();
    begun_ = Clock::now();
  }
  void release() { released_->set(true); }
  // Checks that the result came before the thread could work again.
  void expectSoon() const { EXPECT_LT(Clock::now() - begun_, kTimeLimit); }

  std::shared_ptr<Completion<bool>> released_ = std::make_shared<Completion<bool>>();
  std::shared_ptr<RpcLoop> loop_ = RpcLoop::start().value();
  TimePoint begun_;
};

TEST_F(StuckLoop, DeadlinesHold) {
  const auto device = RemoteDevice::open(loop_, testManifest(), std::nullopt).value();
  block();
  PrepareOptions options;
  options.deadline = Clock::now() + milliseconds(100);
  const auto prepared = device->prepareModel(validated(addModel(2)).value(), options);
  EXPECT_EQ(prepared.status().code(), ResultCode::MISSED_DEADLINE_TRANSIENT)
      << prepared.status().toString();
  expectSoon();
  release();
  const auto again = device->prepareModel(validated(addModel(2)).value(), {});
  EXPECT_TRUE(again.ok()) << again.status().toString();
}

// A call ends with its connection, even after its waiting thread has given up.
TEST_F(StuckLoop, WhatHasBeenGivenUpEndsWithTheConnection) {
  const auto testDevice = std::make_shared<TestDevice>();
  const auto server = Server::start(RpcLoop::start().value(), testDevice).value();
  const ServiceSocket socket;
  std::thread accepting([&] { server->serve(socket.accept(), [] {}); });
  auto device = RemoteDevice::open(loop_, socket.manifest(), std::nullopt).value();
  accepting.join();
  auto prepared = device->prepareModel(validated(addModel(2)).value(), {}).value();
  std::static_pointer_cast<RemotePreparedModel>(prepared)->useRings(false);
  const float a[] = {kUntilCancelled, 2};
  float out[2] = {};
  ExecuteOptions options;
  options.deadline = Clock::now() + seconds(2);
  std::thread caller([&] {
    const Status status =
        prepared->executeSynchronously(pointerRequest(a, a, out, 2), options).status;
    EXPECT_EQ(status.code(), ResultCode::MISSED_DEADLINE_TRANSIENT) << status.toString();
  });
  EXPECT_TRUE(becomes([&] { return testDevice->running() > 0; }, kTimeLimit));
  block();
  caller.join();
  expectSoon();
  prepared.reset();
  // The loop runs only posted tasks until the connection has gone. The call then learns of the end
  // later.
  std::atomic<bool> isGone = false;
  const std::function<void(RpcLoop::Context&)> goOn = [&](RpcLoop::Context&) {
    if (!isGone) loop_->post(goOn);
  };
  loop_->post(goOn);
  release();
  device.reset();
  isGone = true;
  const auto again = RemoteDevice::open(loop_, testManifest(), std::nullopt);
  EXPECT_TRUE(again.ok()) << again.status().toString();
}

TEST_F(StuckLoop, CallsWithoutADeadlineSayWhoDoesNotWork) {
  ::setenv("HALYARD_DRIVER_ANSWER_TIMEOUT_MS", "300", 1);
  const auto device = RemoteDevice::open(loop_, testManifest(), std::nullopt).value();
  ::unsetenv("HALYARD_DRIVER_ANSWER_TIMEOUT_MS");
  block();
  const auto prepared = device->prepareModel(validated(addModel(2)).value(), {});
  EXPECT_EQ(prepared.status().code(), ResultCode::OP_FAILED);
  EXPECT_THAT(prepared.status().message(), HasSubstr("the RPC thread of this process"));
  expectSoon();
}

TEST_F(StuckLoop, StartUpLimitsHold) {
  block();
  const auto device = RemoteDevice::open(loop_, testManifest(), milliseconds(200));
  EXPECT_EQ(device.status().code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(device.status().message(), HasSubstr("within 200 ms of its start"));
  expectSoon();
}

TEST_F(StuckLoop, ADeviceGoes) {
  auto device = RemoteDevice::open(loop_, testManifest(), std::nullopt).value();
  block();
  device.reset();
  expectSoon();
}

TEST_F(StuckLoop, AServerIsTold) {
  auto server = Server::start(loop_, std::make_shared<TestDevice>(), {}).value();
  block();
  EXPECT_FALSE(server->drain(milliseconds(100)));
  expectSoon();
  release();
}

// A driver whose descriptors block on close.
TEST_F(StuckLoop, ADriversDescriptorsHoldUpNobody) {
  const ServiceSocket service;
  // The driver sends half a message with a socket whose queue contains a lingering socket. It does
  // not answer.
  std::vector<LingeringSocket> lingering;
  std::vector<UniqueFd> connections;
  std::thread driver([&] {
    for (int i = 0; i < 6; ++i) {
      connections.push_back(service.accept());
      lingering.emplace_back(seconds(60));
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
      const UniqueFd inner(ends[0]);
      const UniqueFd other(ends[1]);
      sendDescriptors(ends[1], {lingering.back().get()});
      lingering.back().close();
      sendDescriptors(connections.back().get(), {ends[0]}, 0);
      sendDescriptors(connections.back().get(), {ends[0]}, 0);
    }
  });
  begun_ = Clock::now();
  for (int i = 0; i < 6; ++i) {
    const auto device = RemoteDevice::open(loop_, service.manifest(), milliseconds(200));
    EXPECT_EQ(device.status().code(), ResultCode::DEAD_OBJECT) << device.status().toString();
  }
  EXPECT_LT(Clock::now() - begun_, seconds(30));
  driver.join();
  const auto good = RemoteDevice::open(loop_, testManifest(), std::nullopt);
  EXPECT_TRUE(good.ok()) << good.status().toString();
  for (LingeringSocket& socket : lingering) socket.endPeer();
}

}  // namespace
}  // namespace halyard::hal
