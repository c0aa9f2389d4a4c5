// Tests of buffers in a driver's process, and of a server whose clients exceed their limits.
#include "hal/client/remote_buffer.h"

#include "hal/client/remote_device.h"
#include "hal/testing/buffer_cases.h"
#include "hal/testing/server_fixture.h"
#include "hal/testing/test_driver_manifest.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the fixtures' vocabulary

std::shared_ptr<RemoteDevice> openRemote(HalVersion version = HalVersion::V1_3) {
  static const std::shared_ptr<RpcLoop> loop = RpcLoop::start().value();
  return RemoteDevice::open(loop, testManifest(version)).value();
}

std::shared_ptr<PreparedModel> prepareOn(Device& device) {
  return device.prepareModel(validated(addModel(4)).value(), {}).value();
}

Result<std::unique_ptr<Buffer>> allocateOn(Device& device,
                                           const std::shared_ptr<PreparedModel>& model) {
  const std::vector<std::shared_ptr<PreparedModel>> models = {model};
  const std::vector<BufferRole> roles = {{0, 0, 1}};
  return device.allocate({}, models, roles, roles);
}

TEST(RemoteBufferTest, OldDriversHaveNone) {
  for (const HalVersion version : {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2}) {
    const auto device = openRemote(version);
    const auto model = prepareOn(*device);
    EXPECT_EQ(allocateOn(*device, model).status().code(), ResultCode::UNAVAILABLE_DEVICE);
    // Requests of these versions have no tokens either.
    const auto ones = floats({1, 1, 1, 1});
    const auto result = model->executeSynchronously(requestOf({Arg(7), ones}, {ones}), {});
    EXPECT_EQ(result.status.code(), ResultCode::BAD_DATA) << result.status.toString();
  }
}

TEST(RemoteBufferTest, EndsWithItsDriver) {
  const auto device = openRemote();
  const auto model = prepareOn(*device);
  auto buffer = allocateOn(*device, model).value();
  const auto ones = floats({1, 1, 1, 1});
  ASSERT_TRUE(buffer->copyFrom(ones, {}).ok());
  const auto abort = floats({kAbort, 1, 1, 1});
  EXPECT_EQ(model->executeSynchronously(requestOf({abort, ones}, {buffer}), {}).status.code(),
            ResultCode::DEAD_OBJECT);
  EXPECT_EQ(buffer->copyTo(ones).code(), ResultCode::DEAD_OBJECT);
  EXPECT_EQ(buffer->copyFrom(ones, {}).code(), ResultCode::DEAD_OBJECT);
  // The driver is started again. It does not accept prepared models of its previous process.
  const auto next = prepareOn(*device);
  EXPECT_EQ(allocateOn(*device, model).status().code(), ResultCode::BAD_DATA);
  EXPECT_TRUE(allocateOn(*device, next).ok());
  EXPECT_EQ(next->executeSynchronously(requestOf({buffer, ones}, {ones}), {}).status.code(),
            ResultCode::BAD_DATA);
}

// The server

class HostileBufferTest : public ServerTest {
 protected:
  void TearDown() override {
    onLoop<bool>([this](RpcLoop::Context&) -> kj::Promise<bool> {
      delete std::exchange(buffer_, nullptr);
      delete std::exchange(otherPrepared_, nullptr);
      delete std::exchange(other_, nullptr);
      return true;
    });
    ServerTest::TearDown();
  }

  using Mutation = std::function<void(Device13::AllocateParams::Builder)>;
  // Allocates a buffer for input 0 and output 0 of the prepared model, and keeps it.
  Outcome allocate(const Mutation& mutate = nullptr) {
    return onLoop<Outcome>([&](RpcLoop::Context&) {
      auto call = device().allocateRequest();
      call.initPreparedModels(1).set(0, *preparedClient_);
      call.initInputRoles(1)[0].setFrequency(1);
      call.initOutputRoles(1)[0].setFrequency(1);
      if (mutate) mutate(call);
      return call.send().then([this](auto&& response) -> Outcome {
        token_ = response.getToken();
        const bool ok = response.getStatus() == wire::ErrorStatus::NONE;
        EXPECT_EQ(response.hasBuffer(), ok);
        EXPECT_EQ(token_ != 0, ok);
        if (ok) {
          delete buffer_;
          buffer_ = new wire::v1_3::IBuffer::Client(response.getBuffer());
        }
        return {response.getStatus(), response.getMessage().cStr()};
      });
    });
  }
  using MemoryMutation = std::function<void(wire::Memory::Builder)>;
  Outcome copyFrom(const SharedMemoryPtr& source, const MemoryMutation& mutate = nullptr) {
    return onLoop<Outcome>([&](RpcLoop::Context&) {
      auto call = buffer_->copyFromRequest();
      MemoryEncoder().encode(source, 0, call.initSrc());
      if (mutate) mutate(call.getSrc());
      return call.send().then([](auto&& response) -> Outcome {
        return {response.getStatus(), response.getMessage().cStr()};
      });
    });
  }
  Outcome copyTo(const SharedMemoryPtr& destination, const MemoryMutation& mutate = nullptr) {
    return onLoop<Outcome>([&](RpcLoop::Context&) {
      auto call = buffer_->copyToRequest();
      MemoryEncoder().encode(destination, 0, call.initDst());
      if (mutate) mutate(call.getDst());
      return call.send().then([](auto&& response) -> Outcome {
        return {response.getStatus(), response.getMessage().cStr()};
      });
    });
  }
  // Connects a second client of the same server, which has its own prepared model.
  void connectOther() {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    server_->serve(UniqueFd(ends[0]), [] {});
    const Model model = addModel(4);
    onLoop<bool>([&](RpcLoop::Context& context) {
      other_ = new WireConnection(context, UniqueFd(ends[1]), capnp::rpc::twoparty::Side::CLIENT,
                                  nullptr);
      auto hello = other_->peer().castAs<wire::IDriver>().helloRequest();
      hello.setProtocolVersion(wire::PROTOCOL_VERSION);
      auto call = hello.send().getDevice().castAs<Device13>().prepareModel13Request();
      encodeModel(model, nullptr, call.initModel());
      call.setPreference(wire::ExecutionPreference::FAST_SINGLE_ANSWER);
      call.setPriority(wire::Priority::MEDIUM);
      auto answer = kj::newPromiseAndFulfiller<PreparedAnswer>();
      call.setCallback(kj::heap<PreparedModelCallback>(kj::mv(answer.fulfiller)));
      return call.send().then(
          [this, promise = kj::mv(answer.promise)](auto&&) mutable -> kj::Promise<bool> {
            return promise.then([this](PreparedAnswer prepared) {
              auto& client = KJ_ASSERT_NONNULL(prepared.preparedModel);
              otherPrepared_ = new Prepared13::Client(client.castAs<Prepared13>());
              return true;
            });
          });
    });
  }

  uint32_t token_ = 0;
  // Loop thread only.
  wire::v1_3::IBuffer::Client* buffer_ = nullptr;
  WireConnection* other_ = nullptr;
  Prepared13::Client* otherPrepared_ = nullptr;
};

TEST_F(HostileBufferTest, Allocations) {
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  const auto refused = [&](const Mutation& mutate, const std::string& text) {
    SCOPED_TRACE(text);
    const Outcome outcome = allocate(mutate);
    EXPECT_EQ(outcome.status, wire::ErrorStatus::INVALID_ARGUMENT);
    EXPECT_THAT(outcome.message, HasSubstr(text));
    EXPECT_EQ(allocate().status, wire::ErrorStatus::NONE);
  };
  refused([](auto call) { call.initPreparedModels(0); }, "no prepared model");
  refused([](auto call) { call.initPreparedModels(1); }, "null");
  refused(
      [this](auto call) {
        call.initPreparedModels(1).set(0, device().template castAs<Prepared13>());
      },
      "null");
  // An object of the client, which is not one of the server's.
  refused(
      [](auto call) {
        class Fake final : public Prepared13::Server {};
        call.initPreparedModels(1).set(0, Prepared13::Client(kj::heap<Fake>()));
      },
      "null");
  refused([](auto call) { call.initInputRoles(70'000); }, "70000 roles");
  refused([](auto call) { call.getInputRoles()[0].setModelIndex(0xffffffff); }, "4294967295");
  refused([](auto call) { call.getOutputRoles()[0].setIoIndex(0xffffffff); }, "4294967295");
  refused([](auto call) { call.getOutputRoles()[0].setFrequency(-1); }, "frequency");
  refused([](auto call) { call.initDesc().initDimensions(100'000); }, "contradict");
  refused(
      [](auto call) {
        auto dimensions = call.initDesc().initDimensions(3);
        for (unsigned i = 0; i < 3; ++i) dimensions.set(i, 0xffffffff);
      },
      "contradict");
}

TEST_F(HostileBufferTest, BufferOfAnotherClientCannotBeUsed) {
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  ASSERT_EQ(allocate().status, wire::ErrorStatus::NONE);
  const auto ones = floats({1, 1, 1, 1});
  ASSERT_EQ(copyFrom(ones).status, wire::ErrorStatus::NONE);
  Request request = requestOf({Arg(token_), ones}, {ones});
  ASSERT_EQ(execute(request).status, wire::ErrorStatus::NONE);
  // The other client uses the token as if it had guessed it.
  connectOther();
  const auto stolen = onLoop<Outcome>([&](RpcLoop::Context&) {
    auto call = otherPrepared_->executeSynchronously13Request();
    encodeRequest(request, call.initRequest());
    return call.send().then([](auto&& response) -> Outcome {
      return {response.getStatus(), response.getMessage().cStr()};
    });
  });
  EXPECT_EQ(stolen.status, wire::ErrorStatus::INVALID_ARGUMENT);
  EXPECT_THAT(stolen.message, HasSubstr("no buffer with token"));
  // This client cannot allocate a buffer for the other client's prepared model.
  EXPECT_EQ(
      allocate([this](auto call) { call.initPreparedModels(1).set(0, *otherPrepared_); }).status,
      wire::ErrorStatus::INVALID_ARGUMENT);
  EXPECT_EQ(execute(request).status, wire::ErrorStatus::NONE);
}

TEST_F(HostileBufferTest, TokensOfOldMethods) {
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  ASSERT_EQ(allocate().status, wire::ErrorStatus::NONE);
  const auto ones = floats({1, 1, 1, 1});
  const Request request = requestOf({ones, ones}, {Arg(token_)});
  const auto old = onLoop<Outcome>([&](RpcLoop::Context&) {
    auto call = preparedClient_->executeSynchronouslyRequest();
    encodeRequest(request, call.initRequest());
    return call.send().then([](auto&& response) -> Outcome {
      return {response.getStatus(), response.getMessage().cStr()};
    });
  });
  EXPECT_EQ(old.status, wire::ErrorStatus::INVALID_ARGUMENT);
  EXPECT_THAT(old.message, HasSubstr("HAL 1.2"));
  EXPECT_EQ(execute(request).status, wire::ErrorStatus::NONE);
}

TEST_F(HostileBufferTest, Memories) {
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  ASSERT_EQ(allocate().status, wire::ErrorStatus::NONE);
  using ES = wire::ErrorStatus;
  const auto ones = floats({1, 1, 1, 1});
  struct Row {
    MemoryMutation mutate;
    ES expected;
  };
  const std::vector<Row> rows = {
      {[](auto m) { m.setSize(0); }, ES::INVALID_ARGUMENT},
      {[](auto m) { m.setSize(~uint64_t{0}); }, ES::INVALID_ARGUMENT},
      {[](auto m) { m.setSize(17); }, ES::INVALID_ARGUMENT},
      {[](auto m) { m.setProt(64); }, ES::INVALID_ARGUMENT},
      {[](auto m) { m.setKind(static_cast<wire::MemoryKind>(40)); }, ES::INVALID_ARGUMENT},
      {[](auto m) { m.getFile().disownFd(); }, ES::INVALID_ARGUMENT},
      {[](auto m) { m.getFile().setSameAs(0); }, ES::INVALID_ARGUMENT},
      {[](auto m) { m.setOffset(4096); }, ES::INVALID_ARGUMENT},  // ashmem has no offset
      {[](auto m) {
         m.setKind(wire::MemoryKind::MMAP_FD);
         m.setOffset(4096);  // beyond the end
       },
       ES::GENERAL_FAILURE},
  };
  for (const Row& row : rows) {
    ASSERT_EQ(copyFrom(ones).status, ES::NONE);
    EXPECT_EQ(copyTo(ones, row.mutate).status, row.expected);
    EXPECT_EQ(copyTo(ones).status, ES::NONE);
    EXPECT_EQ(copyFrom(ones, row.mutate).status, row.expected);
    EXPECT_EQ(copyTo(ones).status, ES::GENERAL_FAILURE) << "not initialised any more";
  }
  ASSERT_EQ(copyFrom(ones).status, ES::NONE);
  EXPECT_EQ(copyTo(ones, [](auto m) { m.setProt(1); }).status, ES::GENERAL_FAILURE);
  EXPECT_EQ(copyFrom(ones, [](auto m) { m.setProt(2); }).status, ES::GENERAL_FAILURE);
}

TEST_F(HostileBufferTest, TruncatedFilesHarmNobody) {
  constexpr uint32_t kCount = 100'000;
  ASSERT_EQ(prepare(addModel(kCount)).status, wire::ErrorStatus::NONE);
  ASSERT_EQ(allocate().status, wire::ErrorStatus::NONE);
  const UniqueFd file = fileOf(std::vector<float>(kCount));
  const auto memory =
      SharedMemory::fromFd(kCount * 4, PROT_READ | PROT_WRITE, file.get(), 0).value();
  std::atomic<bool> stop = false;
  std::thread saboteur([&] {
    while (!stop) {
      (void)!::ftruncate(file.get(), 0);
      (void)!::ftruncate(file.get(), kCount * 4);
    }
  });
  unsigned refused = 0;
  for (int i = 0; i < 100; ++i) {
    for (const Outcome& outcome : {copyFrom(memory), copyTo(memory)}) {
      if (outcome.status == wire::ErrorStatus::NONE) continue;
      EXPECT_EQ(outcome.status, wire::ErrorStatus::GENERAL_FAILURE) << outcome.message;
      ++refused;
    }
  }
  stop = true;
  saboteur.join();
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(copyFrom(floats(std::vector<float>(kCount))).status, wire::ErrorStatus::NONE);
}

TEST_F(HostileBufferTest, DropsWhatItHolds) {
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  for (int i = 0; i < 1500; ++i) {
    // Each buffer replaces the previous one, so at most two exist at once.
    ASSERT_EQ(allocate().status, wire::ErrorStatus::NONE) << i;
  }
  // The device and the prepared model are released first. The buffer still works.
  onLoop<bool>([this](RpcLoop::Context&) -> kj::Promise<bool> {
    delete std::exchange(preparedClient_, nullptr);
    delete std::exchange(deviceClient_, nullptr);
    return true;
  });
  const auto ones = floats({1, 1, 1, 1});
  EXPECT_EQ(copyFrom(ones).status, wire::ErrorStatus::NONE);
  EXPECT_EQ(copyTo(ones).status, wire::ErrorStatus::NONE);
}

}  // namespace
}  // namespace halyard::hal

namespace halyard::hal::testing {
INSTANTIATE_TEST_SUITE_P(Remote, BufferTest,
                         ::testing::Values(BufferDevice{"RemoteDevice",
                                                        [] { return openRemote(); }}),
                         nameOf);
}  // namespace halyard::hal::testing
