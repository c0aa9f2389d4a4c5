// Tests of the Server: the data that arrives at the device, and the results that return.
#include "hal/server/server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "base/fair_executor.h"
#include "base/thread_class.h"
#include "hal/testing/server_fixture.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the fixture's vocabulary

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
    call.getDeadline().setNanosecondsSinceEpoch(4'000'000'000'123'456'789);
  });
  ASSERT_EQ(outcome.status, wire::ErrorStatus::NONE) << outcome.message;
  EXPECT_EQ(device_->lastOptions().priority, Priority::HIGH);
  EXPECT_EQ(device_->lastOptions().preference, ExecutionPreference::LOW_POWER);
  ASSERT_TRUE(device_->lastOptions().deadline.has_value());
  EXPECT_EQ(device_->lastOptions().deadline->time_since_epoch(),
            std::chrono::nanoseconds(4'000'000'000'123'456'789));

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
  // A small constant becomes a private copy. A large constant in memory that cannot shrink stays in
  // place.
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
  const SharedMemoryPtr in = memoryOf(std::vector<float>(1000, 1.0f));
  const SharedMemoryPtr out = memoryOf(std::vector<float>(1000, 0.0f));
  Request request;
  request.inputs = {poolArgument(0, 0, 4000)};
  request.outputs = {poolArgument(1, 0, 4000)};
  request.pools = {in, out};
  ASSERT_EQ(prepare(model).status, wire::ErrorStatus::NONE);
  const auto arrived = device_->lastModel();
  EXPECT_EQ(arrived->main.operands[1].lifetime, Lifetime::CONSTANT_REFERENCE);
  EXPECT_EQ(execute(request).status, wire::ErrorStatus::NONE);
  EXPECT_EQ(contentsOf(*out)[999], 8.0f);
  // A pool that the driver has mapped keeps its data after the file is truncated.
  const auto mapped = arrived->pools[0]->mapped();
  ASSERT_TRUE(mapped.ok()) << mapped.status().toString();
  ASSERT_EQ(::ftruncate(file.get(), 0), 0);
  EXPECT_EQ(std::memcmp((*mapped)->data(), values.data(), 4000), 0);

  // A mapping after the truncation is an error, and the driver continues.
  ASSERT_EQ(::pwrite(file.get(), values.data(), 4000, 0), 4000);
  ASSERT_EQ(prepare(model).status, wire::ErrorStatus::NONE);
  ASSERT_EQ(::ftruncate(file.get(), 0), 0);
  EXPECT_EQ(device_->lastModel()->pools[0]->map().status().code(), ResultCode::UNMAPPABLE);
  EXPECT_NE(execute(request).status, wire::ErrorStatus::NONE);
}

TEST_F(ServerTest, OnlyWhatHasConstantsIsCopiedOfAFile) {
  constexpr uint32_t kAt = 50'000;
  const auto page = static_cast<uint32_t>(::sysconf(_SC_PAGESIZE));
  std::vector<float> values(kAt / 4 + 1000, 7.0f);
  values.push_back(3.0f);
  const UniqueFd file = fileOf(values);
  Model model = addModel(1000);
  model.main.inputIndexes = {0};
  model.main.operands[1].lifetime = Lifetime::CONSTANT_REFERENCE;
  model.main.operands[1].location = {1, kAt, 4000};
  const auto bytes = static_cast<uint32_t>(values.size() * 4);
  // The first pool has no constants, so it is not mapped.
  model.pools = {SharedMemory::fromFd(bytes, PROT_READ, file.get(), 0).value(),
                 SharedMemory::fromFd(bytes, PROT_READ, file.get(), 0).value()};
  ASSERT_EQ(prepare(model).status, wire::ErrorStatus::NONE);
  const auto arrived = device_->lastModel();
  ASSERT_EQ(arrived->pools.size(), 2u);
  EXPECT_EQ(arrived->pools[0]->size(), 1u);
  EXPECT_EQ(arrived->pools[1]->size(), kAt % page + 4000);
  const DataLocation& at = arrived->main.operands[1].location;
  EXPECT_EQ(at.offset, kAt % page);
  const auto mapping = arrived->pools[1]->map();
  ASSERT_TRUE(mapping.ok()) << mapping.status().toString();
  EXPECT_EQ(std::memcmp(mapping->data() + at.offset, values.data() + kAt / 4, 4000), 0);
}

TEST_F(ServerTest, ComputesInSealedAndInShrinkableMemory) {
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  const SharedMemoryPtr out = memoryOf({0, 0, 0, 0});
  EXPECT_EQ(execute(poolRequest(memoryOf(kInputs), out)).status, wire::ErrorStatus::NONE);
  EXPECT_THAT(contentsOf(*out), ::testing::ElementsAre(11, 22, 33, 44));

  const UniqueFd in = fileOf(kInputs);
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const UniqueFd to = fileOf(std::vector<float>(page / 4 + 5, -1));
  Request request =
      poolRequest(SharedMemory::fromFd(32, PROT_READ, in.get(), 0).value(),
                  SharedMemory::fromFd(16, PROT_READ | PROT_WRITE, to.get(), page).value());
  EXPECT_EQ(execute(request).status, wire::ErrorStatus::NONE);
  std::vector<float> written(6);
  ASSERT_EQ(::pread(to.get(), written.data(), 24, static_cast<off_t>(page - 4)), 24);
  EXPECT_THAT(written, ::testing::ElementsAre(-1, 11, 22, 33, 44, -1));
}

// A hardware buffer of one row: `width` pixels of 4 bytes, or `width` bytes.
SharedMemoryPtr bufferOf(uint32_t format, uint32_t width, const std::vector<float>& values) {
  HardwareBufferDescription buffer{width, 1, 1, format, 0x33, 0};
  const HardwareBufferLayout layout = layoutOf(buffer).value();
  buffer.stride = layout.stride;
  const auto memory = SharedMemory::create(layout.size, "test").value();
  std::ranges::copy(values, reinterpret_cast<float*>(memory->map()->data()));
  return SharedMemory::fromHardwareBuffer(buffer, memory->fd()).value();
}

TEST_F(ServerTest, ComputesInHardwareBuffers) {
  constexpr uint32_t kRgba = 1;
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  const SharedMemoryPtr in = bufferOf(kBlobFormat, 32, kInputs);
  const SharedMemoryPtr out = bufferOf(kBlobFormat, 16, {});
  EXPECT_EQ(execute(poolRequest(in, out)).status, wire::ErrorStatus::NONE);
  EXPECT_THAT(contentsOf(*out), ::testing::ElementsAre(11, 22, 33, 44));

  // A driver with support for images gets them unchanged, at offset and length 0.
  const SharedMemoryPtr imageIn = bufferOf(kRgba, 4, {1, 2, 3, 4});
  const SharedMemoryPtr imageOut = bufferOf(kRgba, 4, {});
  Request request;
  request.inputs = {poolArgument(0, 0, 0), poolArgument(1, 16, 16)};
  request.outputs = {poolArgument(2, 0, 0)};
  request.pools = {imageIn, in, imageOut};
  const Outcome outcome = execute(request);
  EXPECT_EQ(outcome.status, wire::ErrorStatus::NONE) << outcome.message;
  float sums[4];
  std::memcpy(sums, imageOut->mapHardwareBuffer()->data(), 16);
  EXPECT_THAT(sums, ::testing::ElementsAre(11, 22, 33, 44));

  const auto refused = [&](const RequestMutation& mutate, const std::string& text) {
    const Outcome wrong = execute(request, mutate);
    EXPECT_EQ(wrong.status, wire::ErrorStatus::INVALID_ARGUMENT) << text;
    EXPECT_THAT(wrong.message, HasSubstr(text));
  };
  refused([](auto r) { r.getInputs()[0].getLocation().setLength(16); }, "of 0 bytes");
  refused([](auto r) { r.getInputs()[0].getLocation().setOffset(1); }, "of 0 bytes");
  refused([](auto r) { r.getPools()[0].getMemory().disownHardwareBuffer(); }, "description");
  refused([](auto r) { r.getPools()[0].getMemory().setSize(64); }, "expected 0");
  refused([](auto r) { r.getPools()[0].getMemory().getHardwareBuffer().setHeight(2); },
          "do not fit");
  refused([](auto r) { r.getPools()[0].getMemory().getHardwareBuffer().setFormat(0); }, "format");
  refused([](auto r) { r.getPools()[1].getMemory().setSize(16); }, "size 16");

  // The methods of HAL 1.0 have no hardware buffers.
  const Outcome old = onLoop<Outcome>([&](RpcLoop::Context&) {
    auto call = preparedClient_->executeRequest();
    encodeRequest(poolRequest(in, out), call.initRequest());
    auto done = kj::newPromiseAndFulfiller<ExecutionResult>();
    call.setCallback(kj::heap<ExecutionCallback>(kj::mv(done.fulfiller), 1));
    return call.send().then([](auto&& response) -> Outcome {
      return {response.getStatus(), response.getMessage().cStr()};
    });
  });
  EXPECT_EQ(old.status, wire::ErrorStatus::INVALID_ARGUMENT);
  EXPECT_THAT(old.message, HasSubstr("memory of kind hardware_buffer_blob"));
}

TEST_F(ServerTest, ModelsHaveHardwareBuffers) {
  Model model = addModel(1000);
  model.main.inputIndexes = {0};
  model.main.operands[1].lifetime = Lifetime::CONSTANT_REFERENCE;
  model.main.operands[1].location = {0, 0, 4000};
  model.pools = {bufferOf(kBlobFormat, 4000, std::vector<float>(1000, 7.0f)), bufferOf(1, 33, {})};
  ASSERT_EQ(prepare(model).status, wire::ErrorStatus::NONE);
  const auto arrived = device_->lastModel();
  EXPECT_EQ(arrived->pools[0]->kind(), MemoryKind::HARDWARE_BUFFER_BLOB);
  EXPECT_EQ(arrived->pools[1]->kind(), MemoryKind::HARDWARE_BUFFER);
  ASSERT_NE(arrived->pools[1]->hardwareBuffer(), nullptr);
  EXPECT_EQ(*arrived->pools[1]->hardwareBuffer(), *model.pools[1]->hardwareBuffer());
  EXPECT_EQ(arrived->main.operands[1].lifetime, Lifetime::CONSTANT_REFERENCE);

  const Outcome old = onLoop<Outcome>([&](RpcLoop::Context&) {
    auto call = device().getSupportedOperations11Request();
    encodeModel(model, nullptr, call.initModel());
    return call.send().then([](auto&& response) -> Outcome {
      return {response.getStatus(), response.getMessage().cStr()};
    });
  });
  EXPECT_EQ(old.status, wire::ErrorStatus::INVALID_ARGUMENT);
  EXPECT_THAT(old.message, HasSubstr("memory pool 0"));
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

TEST_F(ServerTest, WhatIsNotThereYetSaysSo) {
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  using Error = wire::ErrorStatus;
  const auto statusOf = [](auto&& response) -> Outcome {
    return {response.getStatus(), response.getMessage().cStr()};
  };
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

TEST_F(ServerTest, DrainingCancelsWhatIsBeingExecuted) {
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  const Request request = poolRequest(memoryOf({testing::kUntilCancelled, 0, 0, 0, 1, 2, 3, 4}),
                                      memoryOf({0, 0, 0, 0}));
  const bool launched = onLoop<bool>([&](RpcLoop::Context&) {
    auto call = preparedClient_->execute13Request();
    encodeRequest(request, call.initRequest());
    auto done = kj::newPromiseAndFulfiller<ExecutionResult>();
    call.setCallback(kj::heap<ExecutionCallback>(kj::mv(done.fulfiller), 1));
    return call.send().then(
        [](auto&& response) { return response.getStatus() == wire::ErrorStatus::NONE; });
  });
  ASSERT_TRUE(launched);
  EXPECT_TRUE(server_->drain(std::chrono::seconds(30)));
}

// The first preparation lasts until the second one begins. So that one needs a thread more.
TEST_F(ServerTest, WorkBeyondTheDevicesUsualThreadsWaits) {
  start(HalVersion::V1_3, 1);
  std::atomic<int> begun = 0;
  std::array<FairExecutor::Clock::time_point, 2> times;
  device_->onPrepare = [&] {
    const int own = begun.load();
    times[static_cast<size_t>(own)] = FairExecutor::Clock::now();
    begun = own + 1;
    begun.notify_all();
    if (own == 0) begun.wait(1);
  };
  const auto prepareOne = [&] {
    auto call = device().prepareModel13Request();
    encodeModel(addModel(4), nullptr, call.initModel());
    call.setPriority(wire::Priority::MEDIUM);
    auto answer = kj::newPromiseAndFulfiller<PreparedAnswer>();
    call.setCallback(kj::heap<PreparedModelCallback>(kj::mv(answer.fulfiller)));
    return call.send().then([promise = kj::mv(answer.promise)](auto&&) mutable {
      return promise.then([](PreparedAnswer prepared) { return prepared.status.ok(); });
    });
  };
  const bool prepared = onLoop<bool>([&](RpcLoop::Context&) {
    auto first = prepareOne();
    return prepareOne().then([first = kj::mv(first)](bool isSecond) mutable {
      return first.then([isSecond](bool isFirst) { return isFirst && isSecond; });
    });
  });
  EXPECT_TRUE(prepared);
  ASSERT_EQ(begun, 2);
  EXPECT_GE(times[1] - times[0], FairExecutor::kPatience);
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

TEST_F(ServerTest, DroppingThePreparedModelFreesIt) {
  std::atomic<ThreadClass> freedBy = ThreadClass::URGENT;
  device_->onRelease = [&freedBy] { freedBy = currentThreadClass(); };
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
  EXPECT_EQ(freedBy.load(), ThreadClass::BATCH);
}

}  // namespace
}  // namespace halyard::hal
