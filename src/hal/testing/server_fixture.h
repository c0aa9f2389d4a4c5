// ServerTest: a Server, and a client that can send any message.
// Thread safety: the thread of the test only. Marked members are used only on the loop thread.
// Ownership: owns the server, its device and the client's end of the connection.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "hal/client/remote_callbacks.h"
#include "hal/core/completion.h"
#include "hal/driver.capnp.h"
#include "hal/server/server.h"
#include "hal/testing/float_memories.h"
#include "hal/testing/test_device.h"
#include "hal/wire/rpc_loop_context.h"
#include "hal/wire/wire_connection.h"
#include "hal/wire/wire_model.h"
#include "hal/wire/wire_request.h"

namespace halyard::hal::testing {

using ::testing::HasSubstr;
using Device13 = wire::v1_3::IDevice;
using Prepared13 = wire::v1_3::IPreparedModel;

// The result of a call.
struct Outcome {
  wire::ErrorStatus status = wire::ErrorStatus::NONE;
  std::string message;
  unsigned shapes = 0;
};

// Has a Server with a TestDevice, and the client's end of a connection to it on the same loop.
class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override { start(HalVersion::V1_3); }

  void start(HalVersion version, uint32_t usualThreads = 0, ClientTerms terms = {}) {
    stop();
    device_ = std::make_shared<TestDevice>(version);
    device_->mutableInfo().usualThreads = usualThreads;
    loop_ = RpcLoop::start().value();
    server_ = Server::start(loop_, device_).value();
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    server_->serve(
        UniqueFd(ends[0]), [this] { disconnected_.set(true); }, std::move(terms));
    clientFd_ = ends[1];
    onLoop<bool>([fd = ends[1], this](RpcLoop::Context& context) -> kj::Promise<bool> {
      client_ =
          new WireConnection(context, UniqueFd(fd), capnp::rpc::twoparty::Side::CLIENT, nullptr);
      auto hello = client_->peer().castAs<wire::IDriver>().helloRequest();
      hello.setProtocolVersion(wire::PROTOCOL_VERSION);
      return hello.send().then([this](auto&& response) {
        deviceClient_ = new wire::v1_0::IDevice::Client(response.getDevice());
        return true;
      });
    });
  }
  void stop() {
    if (loop_ == nullptr) return;
    onLoop<bool>([this](RpcLoop::Context&) -> kj::Promise<bool> {
      delete std::exchange(preparedClient_, nullptr);
      delete std::exchange(deviceClient_, nullptr);
      delete std::exchange(client_, nullptr);
      return true;
    });
    server_.reset();
    loop_.reset();
  }
  void TearDown() override { stop(); }

  // Runs a promise on the loop thread and waits for it.
  template <typename T>
  T onLoop(std::function<kj::Promise<T>(RpcLoop::Context&)> start) {
    Completion<T> completion;
    loop_->post([&](RpcLoop::Context& context) {
      context.tasks.add(kj::evalNow([&] { return start(context); })
                            .then([&](T value) { completion.set(std::move(value)); },
                                  [&](kj::Exception&& exception) {
                                    ADD_FAILURE() << exception.getDescription().cStr();
                                    completion.set(T());
                                  }));
    });
    return completion.wait();
  }

  template <typename Interface = Device13>
  typename Interface::Client device() {
    return deviceClient_->castAs<Interface>();
  }

  // Sends `model` to prepareModel_1_3, after `mutate` has changed it in the message. The status of
  // the launch and that of the callback must agree if they are errors.
  using Mutation = std::function<void(wire::Model::Builder)>;
  using CallMutation = std::function<void(Device13::PrepareModel13Params::Builder)>;
  Outcome prepare(const Model& model, const Mutation& mutate = nullptr,
                  const CallMutation& mutateCall = nullptr) {
    return onLoop<Outcome>([&](RpcLoop::Context&) -> kj::Promise<Outcome> {
      auto call = device().prepareModel13Request();
      encodeModel(model, nullptr, call.initModel());
      call.setPreference(wire::ExecutionPreference::FAST_SINGLE_ANSWER);
      call.setPriority(wire::Priority::MEDIUM);
      auto answer = kj::newPromiseAndFulfiller<PreparedAnswer>();
      call.setCallback(kj::heap<PreparedModelCallback>(kj::mv(answer.fulfiller)));
      if (mutate) mutate(call.getModel());
      if (mutateCall) mutateCall(call);
      const bool hasCallback = call.hasCallback();
      return call.send().then([this, hasCallback, promise = kj::mv(answer.promise)](
                                  auto&& response) mutable -> kj::Promise<Outcome> {
        Outcome launched{response.getStatus(), response.getMessage().cStr()};
        if (!hasCallback) return launched;
        return promise.then([this, launched](PreparedAnswer prepared) -> Outcome {
          KJ_IF_MAYBE (client, prepared.preparedModel) {
            delete preparedClient_;
            preparedClient_ = new Prepared13::Client(client->castAs<Prepared13>());
          }
          if (launched.status != wire::ErrorStatus::NONE) {
            EXPECT_EQ(toWireStatus(prepared.status, HalVersion::V1_3), launched.status);
          }
          return launched;
        });
      });
    });
  }
  Outcome supported(const Model& model, const Mutation& mutate = nullptr) {
    return onLoop<Outcome>([&](RpcLoop::Context&) {
      auto call = device().getSupportedOperations13Request();
      encodeModel(model, nullptr, call.initModel());
      if (mutate) mutate(call.getModel());
      return call.send().then([](auto&& response) -> Outcome {
        return {response.getStatus(), response.getMessage().cStr(), response.getSupported().size()};
      });
    });
  }
  // Both methods must refuse the model with an error text that contains `text`. The server must
  // continue.
  void expectRefused(const Mutation& mutate, const std::string& text, Model model = addModel(4)) {
    SCOPED_TRACE(text);
    for (const Outcome& outcome : {supported(model, mutate), prepare(model, mutate)}) {
      EXPECT_EQ(outcome.status, wire::ErrorStatus::INVALID_ARGUMENT);
      EXPECT_THAT(outcome.message, HasSubstr(text));
      EXPECT_EQ(outcome.shapes, 0u);
    }
    EXPECT_EQ(supported(addModel(4)).status, wire::ErrorStatus::NONE);
  }

  using RequestMutation = std::function<void(wire::Request::Builder)>;
  Outcome execute(const Request& request, const RequestMutation& mutate = nullptr) {
    return onLoop<Outcome>([&](RpcLoop::Context&) {
      auto call = preparedClient_->executeSynchronously13Request();
      encodeRequest(request, call.initRequest());
      if (mutate) mutate(call.getRequest());
      return call.send().then([](auto&& response) -> Outcome {
        EXPECT_EQ(response.getTiming().getTimeOnDevice(), ~uint64_t{0});
        return {response.getStatus(), response.getMessage().cStr(),
                response.getOutputShapes().size()};
      });
    });
  }

  std::shared_ptr<TestDevice> device_;
  std::shared_ptr<RpcLoop> loop_;
  std::unique_ptr<Server> server_;
  Completion<bool> disconnected_;
  int clientFd_ = -1;
  // Used only on the loop thread.
  WireConnection* client_ = nullptr;
  wire::v1_0::IDevice::Client* deviceClient_ = nullptr;
  Prepared13::Client* preparedClient_ = nullptr;
};

// A file that is not sealed, like a file of an application.
inline UniqueFd fileOf(const std::vector<float>& values) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  const size_t size = values.size() * sizeof(float);
  EXPECT_EQ(::pwrite(fd.get(), values.data(), size, 0), static_cast<ssize_t>(size));
  return fd;
}

inline RequestArgument poolArgument(uint32_t pool, uint32_t offset, uint32_t length) {
  RequestArgument argument;
  argument.kind = RequestArgument::Kind::POOL;
  argument.location = {pool, offset, length};
  return argument;
}

// Inputs a and b from pool 0, the output to pool 1, with four floats each.
inline Request poolRequest(SharedMemoryPtr in, SharedMemoryPtr out) {
  Request request;
  request.inputs = {poolArgument(0, 0, 16), poolArgument(0, 16, 16)};
  request.outputs = {poolArgument(1, 0, 16)};
  request.pools = {std::move(in), std::move(out)};
  return request;
}

inline std::vector<float> contentsOf(const SharedMemory& memory) {
  std::vector<float> values(memory.size() / sizeof(float));
  EXPECT_EQ(::pread(memory.fd(), values.data(), memory.size(), static_cast<off_t>(memory.offset())),
            static_cast<ssize_t>(memory.size()));
  return values;
}

inline const std::vector<float> kInputs = {1, 2, 3, 4, 10, 20, 30, 40};

}  // namespace halyard::hal::testing
