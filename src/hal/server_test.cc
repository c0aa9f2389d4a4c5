// Tests of the Server against clients that do not keep to the rules, and of what arrives at the
// device.
#include "hal/server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "hal/driver.capnp.h"
#include "hal/driver_connection.h"
#include "hal/remote_callbacks.h"
#include "hal/testing/test_device.h"
#include "hal/wire_model.h"
#include "hal/wire_request.h"

namespace halyard::hal {
namespace {

using testing::addConstantModel;
using testing::addModel;
using ::testing::HasSubstr;
using testing::TestDevice;
using Device13 = wire::v1_3::IDevice;
using Prepared13 = wire::v1_3::IPreparedModel;

// What a call came to.
struct Outcome {
  wire::ErrorStatus status = wire::ErrorStatus::NONE;
  std::string message;
  unsigned shapes = 0;
};

// The text of an answer that is not INVALID_ARGUMENT fails the test.
class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override { start(HalVersion::V1_3); }

  void start(HalVersion version) {
    stop();
    device_ = std::make_shared<TestDevice>(version);
    loop_ = RpcLoop::start().value();
    server_ = Server::start(loop_, device_).value();
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    server_->serve(UniqueFd(ends[0]), [this] { disconnected_.set(true); });
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

  // Sends `model`, changed by `mutate` on the wire, to prepareModel_1_3. The status of the launch
  // and that of the callback must agree when they are errors.
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
  // Both entry points refuse the model, with a text that has `text`, and the server lives on.
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
  // Loop thread only.
  WireConnection* client_ = nullptr;
  wire::v1_0::IDevice::Client* deviceClient_ = nullptr;
  Prepared13::Client* preparedClient_ = nullptr;
};

SharedMemoryPtr memoryOf(const std::vector<float>& values) {
  const auto memory = SharedMemory::create(values.size() * sizeof(float), "test").value();
  const Mapping mapping = memory->map().value();
  std::memcpy(mapping.data(), values.data(), mapping.size());
  return memory;
}

// A file that is not sealed, as an application may have one.
UniqueFd fileOf(const std::vector<float>& values) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  const size_t size = values.size() * sizeof(float);
  EXPECT_EQ(::pwrite(fd.get(), values.data(), size, 0), static_cast<ssize_t>(size));
  return fd;
}

RequestArgument poolArgument(uint32_t pool, uint32_t offset, uint32_t length) {
  RequestArgument argument;
  argument.kind = RequestArgument::Kind::POOL;
  argument.location = {pool, offset, length};
  return argument;
}

// a and b from pool 0, out to pool 1, four floats each.
Request poolRequest(SharedMemoryPtr in, SharedMemoryPtr out) {
  Request request;
  request.inputs = {poolArgument(0, 0, 16), poolArgument(0, 16, 16)};
  request.outputs = {poolArgument(1, 0, 16)};
  request.pools = {std::move(in), std::move(out)};
  return request;
}

std::vector<float> contentsOf(const SharedMemory& memory) {
  std::vector<float> values(memory.size() / sizeof(float));
  EXPECT_EQ(::pread(memory.fd(), values.data(), memory.size(), static_cast<off_t>(memory.offset())),
            static_cast<ssize_t>(memory.size()));
  return values;
}

const std::vector<float> kInputs = {1, 2, 3, 4, 10, 20, 30, 40};

TEST_F(ServerTest, ModelArrivesAsItWasSent) {
  Model model = addModel(4);
  Operand filter;
  filter.type = OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL;
  filter.dimensions = {2, 3};
  filter.lifetime = Lifetime::CONSTANT_REFERENCE;
  filter.location = {0, 64, 6};
  filter.extraParams = SymmPerChannelQuantParams{{0.5f, 0.25f}, 0};
  model.main.operands.push_back(filter);
  Operand vendor;
  vendor.type = static_cast<OperandType>(0x00050001);
  vendor.lifetime = Lifetime::NO_VALUE;
  vendor.extraParams = std::vector<uint8_t>{9, 8, 7};
  model.main.operands.push_back(vendor);
  Operand large;
  large.type = OperandType::TENSOR_FLOAT32;
  large.dimensions = {1000};
  large.lifetime = Lifetime::CONSTANT_REFERENCE;
  large.location = {1, 0, 4000};
  model.main.operands.push_back(large);
  model.extensionNameToPrefix = {{"com.acme.things", 5}};
  model.relaxComputationFloat32toFloat16 = true;
  std::vector<float> weights(1000);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i);
  model.pools = {memoryOf(std::vector<float>(32, 1.5f)), memoryOf(weights)};

  const Outcome outcome = prepare(model, nullptr, [](auto call) {
    call.setPriority(wire::Priority::HIGH);
    call.setPreference(wire::ExecutionPreference::LOW_POWER);
    call.getDeadline().setNanosecondsSinceEpoch(123'456'789);
  });
  ASSERT_EQ(outcome.status, wire::ErrorStatus::NONE) << outcome.message;
  EXPECT_EQ(device_->lastOptions().priority, Priority::HIGH);
  EXPECT_EQ(device_->lastOptions().preference, ExecutionPreference::LOW_POWER);
  ASSERT_TRUE(device_->lastOptions().deadline.has_value());
  EXPECT_EQ(device_->lastOptions().deadline->time_since_epoch(),
            std::chrono::nanoseconds(123'456'789));

  const std::shared_ptr<const Model> arrived = device_->lastModel();
  ASSERT_NE(arrived, nullptr);
  ASSERT_EQ(arrived->main.operands.size(), model.main.operands.size());
  for (size_t i = 0; i < model.main.operands.size(); ++i) {
    EXPECT_EQ(arrived->main.operands[i].type, model.main.operands[i].type) << i;
    EXPECT_EQ(arrived->main.operands[i].dimensions, model.main.operands[i].dimensions) << i;
    EXPECT_EQ(arrived->main.operands[i].extraParams, model.main.operands[i].extraParams) << i;
    EXPECT_EQ(arrived->main.operands[i].location.length, model.main.operands[i].location.length);
  }
  EXPECT_EQ(arrived->main.operations[0].inputs, model.main.operations[0].inputs);
  EXPECT_EQ(arrived->main.inputIndexes, model.main.inputIndexes);
  EXPECT_EQ(arrived->main.outputIndexes, model.main.outputIndexes);
  EXPECT_TRUE(arrived->relaxComputationFloat32toFloat16);
  ASSERT_EQ(arrived->extensionNameToPrefix.size(), 1u);
  EXPECT_EQ(arrived->extensionNameToPrefix[0].name, "com.acme.things");
  EXPECT_EQ(arrived->extensionNameToPrefix[0].prefix, 5);
  // Small: a private copy. Large, in memory that cannot shrink: where it was.
  const Operand& small = arrived->main.operands[4];
  EXPECT_EQ(small.lifetime, Lifetime::CONSTANT_COPY);
  EXPECT_EQ(std::memcmp(arrived->operandValues.data() + small.location.offset,
                        contentsOf(*model.pools[0]).data() + 16, 6),
            0);
  const Operand& shared = arrived->main.operands[6];
  EXPECT_EQ(shared.lifetime, Lifetime::CONSTANT_REFERENCE);
  EXPECT_EQ(contentsOf(*arrived->pools[shared.location.poolIndex]), weights);
}

TEST_F(ServerTest, ConstantsInFilesThatCanShrinkAreCopied) {
  Model model = addModel(1000);
  model.main.inputIndexes = {0};
  model.main.operands[1].lifetime = Lifetime::CONSTANT_REFERENCE;
  model.main.operands[1].location = {0, 0, 4000};
  const std::vector<float> values(1000, 7.0f);
  const UniqueFd file = fileOf(values);
  model.pools = {SharedMemory::fromFd(4000, PROT_READ, file.get(), 0).value()};
  ASSERT_EQ(prepare(model).status, wire::ErrorStatus::NONE);
  ASSERT_EQ(::ftruncate(file.get(), 0), 0);
  const auto arrived = device_->lastModel();
  const Operand& constant = arrived->main.operands[1];
  EXPECT_EQ(constant.lifetime, Lifetime::CONSTANT_COPY);
  EXPECT_EQ(
      std::memcmp(arrived->operandValues.data() + constant.location.offset, values.data(), 4000),
      0);
  const SharedMemoryPtr in = memoryOf(std::vector<float>(1000, 1.0f));
  const SharedMemoryPtr out = memoryOf(std::vector<float>(1000, 0.0f));
  Request request;
  request.inputs = {poolArgument(0, 0, 4000)};
  request.outputs = {poolArgument(1, 0, 4000)};
  request.pools = {in, out};
  EXPECT_EQ(execute(request).status, wire::ErrorStatus::NONE);
  EXPECT_EQ(contentsOf(*out)[999], 8.0f);
}

TEST_F(ServerTest, HostileModels) {
  expectRefused([](auto m) { m.getMain().getOperations()[0].getInputs().set(1, 1000); }, "1000");
  expectRefused([](auto m) { m.getMain().getOperations()[0].getOutputs().set(0, 0xffffffff); },
                "4294967295");
  expectRefused([](auto m) { m.getMain().getInputIndexes().set(0, 0x80000000); }, "2147483648");
  expectRefused([](auto m) { m.getMain().getOutputIndexes().set(0, 77); }, "77");
  expectRefused(
      [](auto m) {
        m.getMain().getOperands()[0].setLifetime(static_cast<wire::OperandLifeTime>(500));
      },
      "lifetime 500");
  expectRefused([](auto m) { m.getMain().getOperands()[0].setType(9999); }, "9999");
  expectRefused([](auto m) { m.getMain().getOperands()[0].setType(-1); }, "");
  expectRefused([](auto m) { m.getMain().getOperations()[0].setType(9999); }, "9999");
  expectRefused([](auto m) { m.getMain().getOperands()[0].setNumberOfConsumers(2); },
                "numberOfConsumers 2");
  expectRefused([](auto m) { m.getMain().getOperands()[2].getLocation().setOffset(0xfffffffe); },
                "");
  expectRefused([](auto m) { m.getMain().getOperands()[2].getLocation().setLength(1 << 30); }, "");
  expectRefused(
      [](auto m) {
        auto operand = m.getMain().getOperands()[2];
        operand.setLifetime(wire::OperandLifeTime::CONSTANT_REFERENCE);
        operand.getLocation().setPoolIndex(3);
      },
      "pool");
  expectRefused([](auto m) { m.getMain().initOperations(0); }, "");
  expectRefused([](auto m) { m.initMain(); }, "");
  expectRefused([](auto m) { m.getMain().initOperands(1'000'001); }, "more than 1000000 operands");
  expectRefused(
      [](auto m) {
        auto dimensions = m.getMain().getOperands()[0].initDimensions(3);
        for (unsigned i = 0; i < 3; ++i) dimensions.set(i, 0xffffffff);
      },
      "");
  expectRefused([](auto m) { m.initPools(600); }, "600 memory pools");
}

TEST_F(ServerTest, HostilePools) {
  Model model = addModel(4);
  model.pools = {memoryOf({1, 2, 3, 4}), memoryOf({5, 6, 7, 8})};
  ASSERT_EQ(prepare(model).status, wire::ErrorStatus::NONE);
  expectRefused([](auto m) { m.getPools()[0].setSize(uint64_t{1} << 45); }, "do not fit", model);
  expectRefused([](auto m) { m.getPools()[0].setSize(~uint64_t{0}); }, "beyond any file", model);
  expectRefused([](auto m) { m.getPools()[0].setSize(0); }, "size is 0", model);
  expectRefused([](auto m) { m.getPools()[1].setOffset(1); }, "do not fit", model);
  expectRefused([](auto m) { m.getPools()[1].setProt(64); }, "protection 64", model);
  expectRefused([](auto m) { m.getPools()[1].setKind(static_cast<wire::MemoryKind>(40)); },
                "kind 40", model);
  expectRefused([](auto m) { m.getPools()[1].getFile().disownFd(); }, "missing", model);
  expectRefused([](auto m) { m.getPools()[1].getFile().setSameAs(1); }, "no earlier pool", model);
  expectRefused([](auto m) { m.getPools()[0].getFile().setSameAs(0xffffffff); }, "no earlier pool",
                model);
  // A capability that is no file: the device itself.
  expectRefused(
      [this](auto m) {
        m.getPools()[1].getFile().setFd(deviceClient_->castAs<wire::FileDescriptor>());
      },
      "missing", model);
}

TEST_F(ServerTest, BadEnumsAndNullCallback) {
  const Model model = addModel(4);
  const auto refused = [&](const CallMutation& mutate) {
    return prepare(model, nullptr, mutate).status == wire::ErrorStatus::INVALID_ARGUMENT;
  };
  for (const int value : {-1, 3}) {
    EXPECT_TRUE(refused(
        [value](auto call) { call.setPreference(static_cast<wire::ExecutionPreference>(value)); }));
    EXPECT_TRUE(
        refused([value](auto call) { call.setPriority(static_cast<wire::Priority>(value)); }));
  }
  EXPECT_TRUE(refused([](auto call) { call.disownCallback(); }));
  EXPECT_EQ(prepare(model).status, wire::ErrorStatus::NONE);
}

TEST_F(ServerTest, ComputesInSealedAndInShrinkableMemory) {
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  const SharedMemoryPtr out = memoryOf({0, 0, 0, 0});
  EXPECT_EQ(execute(poolRequest(memoryOf(kInputs), out)).status, wire::ErrorStatus::NONE);
  EXPECT_THAT(contentsOf(*out), ::testing::ElementsAre(11, 22, 33, 44));

  const UniqueFd in = fileOf(kInputs);
  const UniqueFd to = fileOf({-1, 0, 0, 0, 0, -1});
  Request request =
      poolRequest(SharedMemory::fromFd(32, PROT_READ, in.get(), 0).value(),
                  SharedMemory::fromFd(16, PROT_READ | PROT_WRITE, to.get(), 4).value());
  EXPECT_EQ(execute(request).status, wire::ErrorStatus::NONE);
  std::vector<float> written(6);
  ASSERT_EQ(::pread(to.get(), written.data(), 24, 0), 24);
  EXPECT_THAT(written, ::testing::ElementsAre(-1, 11, 22, 33, 44, -1));
}

TEST_F(ServerTest, MisalignedArgumentsWork) {
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  const auto in = SharedMemory::create(64, "test").value();
  const auto out = SharedMemory::create(64, "test").value();
  std::memcpy(in->map().value().data() + 1, kInputs.data(), 32);
  Request request = poolRequest(in, out);
  request.inputs = {poolArgument(0, 1, 16), poolArgument(0, 17, 16)};
  request.outputs = {poolArgument(1, 3, 16)};
  ASSERT_EQ(execute(request).status, wire::ErrorStatus::NONE);
  float sums[4];
  std::memcpy(sums, out->map().value().data() + 3, 16);
  EXPECT_THAT(sums, ::testing::ElementsAre(11, 22, 33, 44));
}

TEST_F(ServerTest, HostileRequests) {
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  const SharedMemoryPtr out = memoryOf({0, 0, 0, 0});
  const Request good = poolRequest(memoryOf(kInputs), out);
  const auto refused = [&](const RequestMutation& mutate, const std::string& text,
                           const Request* request = nullptr) {
    SCOPED_TRACE(text);
    const Outcome outcome = execute(request != nullptr ? *request : good, mutate);
    EXPECT_EQ(outcome.status, wire::ErrorStatus::INVALID_ARGUMENT);
    EXPECT_THAT(outcome.message, HasSubstr(text));
    EXPECT_EQ(outcome.shapes, 0u);
    EXPECT_EQ(execute(good).status, wire::ErrorStatus::NONE);
  };
  refused([](auto r) { r.getInputs()[0].getLocation().setPoolIndex(2); }, "pool");
  refused([](auto r) { r.getInputs()[0].getLocation().setOffset(20); }, "");
  refused([](auto r) { r.getInputs()[0].getLocation().setOffset(0xfffffff8); }, "");
  refused([](auto r) { r.getOutputs()[0].getLocation().setLength(0xffffffff); }, "");
  refused([](auto r) { r.getInputs()[0].setHasNoValue(true); }, "location");
  refused([](auto r) { r.initInputs(0); }, "");
  refused([](auto r) { r.initOutputs(2); }, "");
  refused([](auto r) { r.getInputs()[0].initDimensions(1).set(0, 5); }, "");
  refused([](auto r) { r.getInputs()[0].initDimensions(100); }, "");
  refused([](auto r) { r.getPools()[0].setToken(0); }, "token 0");
  refused([](auto r) { r.getPools()[0].setToken(100); }, "token 100");
  refused([](auto r) { r.getPools()[0].getMemory().getFile().disownFd(); }, "missing");
  refused([](auto r) { r.getPools()[0].getMemory().setSize(33); }, "do not fit");
  refused([](auto r) { r.initPools(1000); }, "1000 memory pools");
  // Protection: the driver would die of a write to memory that it may only read.
  refused([](auto r) { r.getPools()[1].getMemory().setProt(1); }, "not writable");
  refused([](auto r) { r.getPools()[0].getMemory().setProt(2); }, "not readable");

  // A file that is too short for what is said of it, and one that is cut later.
  const UniqueFd file = fileOf(kInputs);
  Request fromFile = poolRequest(SharedMemory::fromFd(32, PROT_READ, file.get(), 0).value(), out);
  ASSERT_EQ(execute(fromFile).status, wire::ErrorStatus::NONE);
  ASSERT_EQ(::ftruncate(file.get(), 20), 0);
  refused(nullptr, "do not fit", &fromFile);
}

TEST_F(ServerTest, ClientThatTruncatesItsFileAllTheTimeHarmsNobody) {
  ASSERT_EQ(prepare(addModel(100'000)).status, wire::ErrorStatus::NONE);
  const std::vector<float> values(200'000, 1.0f);
  const UniqueFd in = fileOf(values);
  const UniqueFd to = fileOf(std::vector<float>(100'000, 0.0f));
  Request request;
  request.inputs = {poolArgument(0, 0, 400'000), poolArgument(0, 400'000, 400'000)};
  request.outputs = {poolArgument(1, 0, 400'000)};
  request.pools = {SharedMemory::fromFd(800'000, PROT_READ, in.get(), 0).value(),
                   SharedMemory::fromFd(400'000, PROT_READ | PROT_WRITE, to.get(), 0).value()};
  std::atomic<bool> stop = false;
  std::thread saboteur([&] {
    while (!stop) {
      (void)!::ftruncate(in.get(), 0);
      (void)!::ftruncate(in.get(), 800'000);
    }
  });
  unsigned refused = 0;
  for (int i = 0; i < 100; ++i) {
    const Outcome outcome = execute(request);
    if (outcome.status != wire::ErrorStatus::NONE) {
      EXPECT_EQ(outcome.status, wire::ErrorStatus::INVALID_ARGUMENT) << outcome.message;
      ++refused;
    }
  }
  stop = true;
  saboteur.join();
  EXPECT_GT(refused, 0u);
}

TEST_F(ServerTest, WhatIsNotThereYetSaysSo) {
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  using Error = wire::ErrorStatus;
  const auto statusOf = [](auto&& response) -> Outcome {
    return {response.getStatus(), response.getMessage().cStr()};
  };
  const Outcome burst = onLoop<Outcome>([&](RpcLoop::Context&) {
    return preparedClient_->configureExecutionBurstRequest().send().then(statusOf);
  });
  EXPECT_EQ(burst.status, Error::GENERAL_FAILURE);
  EXPECT_THAT(burst.message, HasSubstr("burst"));
  const Outcome fenced = onLoop<Outcome>([&](RpcLoop::Context&) {
    return preparedClient_->executeFencedRequest().send().then(statusOf);
  });
  EXPECT_EQ(fenced.status, Error::GENERAL_FAILURE);
  EXPECT_THAT(fenced.message, HasSubstr("fenced"));
  const Outcome buffer = onLoop<Outcome>(
      [&](RpcLoop::Context&) { return device().allocateRequest().send().then(statusOf); });
  EXPECT_EQ(buffer.status, Error::GENERAL_FAILURE);
  EXPECT_THAT(buffer.message, HasSubstr("buffers"));
  const Outcome cached = onLoop<Outcome>([&](RpcLoop::Context&) -> kj::Promise<Outcome> {
    auto call = device().prepareModelFromCache13Request();
    auto answer = kj::newPromiseAndFulfiller<PreparedAnswer>();
    call.setCallback(kj::heap<PreparedModelCallback>(kj::mv(answer.fulfiller)));
    return call.send().then(
        [promise = kj::mv(answer.promise)](auto&& response) mutable -> kj::Promise<Outcome> {
          const Outcome launched{response.getStatus(), response.getMessage().cStr()};
          return promise.then([launched](PreparedAnswer prepared) {
            EXPECT_EQ(prepared.status.code(), ResultCode::OP_FAILED);
            return launched;
          });
        });
  });
  EXPECT_EQ(cached.status, Error::GENERAL_FAILURE);
  const Outcome uncalled = onLoop<Outcome>([&](RpcLoop::Context&) {
    return device().prepareModelFromCache13Request().send().then(statusOf);
  });
  EXPECT_EQ(uncalled.status, Error::INVALID_ARGUMENT);
}

TEST_F(ServerTest, AsynchronousExecutionCallsBackOnce) {
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  const SharedMemoryPtr out = memoryOf({0, 0, 0, 0});
  Request request = poolRequest(memoryOf(kInputs), out);
  const auto run = [&](const Request& sent) {
    return onLoop<std::pair<int, int>>([&](RpcLoop::Context&) {
      auto call = preparedClient_->execute13Request();
      encodeRequest(sent, call.initRequest());
      auto done = kj::newPromiseAndFulfiller<ExecutionResult>();
      call.setCallback(kj::heap<ExecutionCallback>(kj::mv(done.fulfiller), 1));
      return call.send().then([promise = kj::mv(done.promise)](auto&& response) mutable {
        const auto launched = static_cast<int>(response.getStatus());
        return promise.then([launched](ExecutionResult result) {
          return std::pair<int, int>(
              launched, static_cast<int>(toWireStatus(result.status, HalVersion::V1_3)));
        });
      });
    });
  };
  EXPECT_EQ(run(request), (std::pair<int, int>(0, 0)));
  EXPECT_THAT(contentsOf(*out), ::testing::ElementsAre(11, 22, 33, 44));
  request.inputs.pop_back();
  const int invalid = static_cast<int>(wire::ErrorStatus::INVALID_ARGUMENT);
  EXPECT_EQ(run(request), (std::pair<int, int>(invalid, invalid)));
}

TEST_F(ServerTest, OldDeviceDoesNotHaveNewMethods) {
  start(HalVersion::V1_1);
  const bool refused = onLoop<bool>([&](RpcLoop::Context&) {
    return device().getTypeRequest().send().then([](auto&&) { return false; },
                                                 [](kj::Exception&& exception) {
                                                   return exception.getType() ==
                                                          kj::Exception::Type::UNIMPLEMENTED;
                                                 });
  });
  EXPECT_TRUE(refused);
  const float execTime = onLoop<float>([&](RpcLoop::Context&) {
    return device<wire::v1_1::IDevice>().getCapabilities11Request().send().then(
        [](auto&& response) {
          return response.getCapabilities().getRelaxedFloat32toFloat16Performance().getExecTime();
        });
  });
  EXPECT_EQ(execTime, 2.0f);
}

TEST_F(ServerTest, WrongProtocolVersionGetsNoDevice) {
  const Outcome outcome = onLoop<Outcome>([&](RpcLoop::Context&) {
    auto hello = client_->peer().castAs<wire::IDriver>().helloRequest();
    hello.setProtocolVersion(99);
    return hello.send().then([](auto&& response) -> Outcome {
      EXPECT_FALSE(response.hasDevice());
      return {response.getStatus(), response.getMessage().cStr()};
    });
  });
  EXPECT_EQ(outcome.status, wire::ErrorStatus::GENERAL_FAILURE);
  EXPECT_THAT(outcome.message, HasSubstr("99"));
}

TEST_F(ServerTest, DroppingThePreparedModelFreesIt) {
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  EXPECT_EQ(device_->preparedModels(), 1u);
  onLoop<bool>([this](RpcLoop::Context&) -> kj::Promise<bool> {
    delete std::exchange(preparedClient_, nullptr);
    return true;
  });
  for (int i = 0; i < 1000 && device_->preparedModels() != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(device_->preparedModels(), 0u);
}

TEST_F(ServerTest, BytesThatAreNoMessageEndTheConnectionOnly) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  Completion<bool> gone;
  server_->serve(UniqueFd(ends[0]), [&gone] { gone.set(true); });
  const std::vector<uint8_t> garbage(100'000, 0xab);
  (void)!::send(ends[1], garbage.data(), garbage.size(), MSG_NOSIGNAL);
  EXPECT_TRUE(gone.wait());
  ::close(ends[1]);
  EXPECT_EQ(supported(addModel(4)).status, wire::ErrorStatus::NONE);
}

}  // namespace
}  // namespace halyard::hal
