// Tests of the Server against hostile clients.
#include <atomic>
#include <thread>

#include "hal/testing/server_fixture.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the fixture's vocabulary

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
  expectRefused([](auto m) { m.getPools()[1].setOffset(1); }, "expected 0", model);
  expectRefused([](auto m) { m.getPools()[1].setProt(64); }, "protection 64", model);
  expectRefused([](auto m) { m.getPools()[1].setKind(static_cast<wire::MemoryKind>(40)); },
                "kind 40", model);
  expectRefused([](auto m) { m.getPools()[1].getFile().disownFd(); }, "missing", model);
  expectRefused([](auto m) { m.getPools()[1].getFile().setSameAs(1); }, "no earlier pool", model);
  expectRefused([](auto m) { m.getPools()[0].getFile().setSameAs(0xffffffff); }, "no earlier pool",
                model);
  // The capability is not a file but the device.
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
  refused([](auto r) { r.getPools()[0].setToken(100); }, "bytes 0 to 16");
  refused(
      [](auto r) {
        r.getPools()[0].setToken(100);
        for (auto input : r.getInputs()) input.initLocation();
      },
      "token 100");
  refused([](auto r) { r.getPools()[0].getMemory().getFile().disownFd(); }, "missing");
  refused([](auto r) { r.getPools()[0].getMemory().setSize(33); }, "do not fit");
  refused([](auto r) { r.initPools(1000); }, "1000 memory pools");
  // Protection: a write to read-only memory would crash the driver.
  refused([](auto r) { r.getPools()[1].getMemory().setProt(1); }, "not writable");
  refused([](auto r) { r.getPools()[0].getMemory().setProt(2); }, "not readable");

  // The file is truncated after a valid execution, and is then too short for its description.
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
