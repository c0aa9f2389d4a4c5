// Tests of the buffers of a session, with devices in this process.
#include "hal/session/buffers.h"

#include <future>

#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "hal/testing/buffer_cases.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the cases' vocabulary
using ::testing::HasSubstr;

std::shared_ptr<Device> sessionOf(std::shared_ptr<Device> device) {
  return std::make_shared<ClientSession>(std::move(device), std::make_shared<SessionServices>());
}

// The behaviour of the runs of a RunScriptModel.
using Script = std::function<ExecutionResult(const Request&)>;

class RunScriptModel final : public PreparedModel {
 public:
  explicit RunScriptModel(const Script& script) : script_(script) {}
  ExecutionResult executeSynchronously(const Request& request, const ExecuteOptions&) override {
    return script_(request);
  }

 private:
  const Script& script_;
};

// A device whose executions the test controls.
class RunScriptDevice final : public Device {
 public:
  explicit RunScriptDevice(const Script& script) : script_(script) {
    info_.name = "scripted";
    info_.versionString = "1";
    info_.type = DeviceType::CPU;
    info_.capabilities = Capabilities::uniform({1, 1});
  }
  const DeviceInfo& info() const override { return info_; }
  Result<SupportedOperations> getSupportedOperations(const ValidModel&) override {
    return SupportedOperations{true};
  }
  Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel&,
                                                      const PrepareOptions&) override {
    return std::shared_ptr<PreparedModel>(std::make_shared<RunScriptModel>(script_));
  }

 private:
  DeviceInfo info_;
  const Script& script_;
};

class BuffersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    session_ = sessionOf(std::make_shared<RunScriptDevice>(script_));
    fixed_ = prepare(addModel(4));
    open_ = prepare(addModel(0));
  }
  std::shared_ptr<PreparedModel> prepare(Model model) {
    return session_->prepareModel(validated(std::move(model)).value(), {}).value();
  }
  std::unique_ptr<Buffer> allocate(const std::shared_ptr<PreparedModel>& model) {
    const std::vector<std::shared_ptr<PreparedModel>> models = {model};
    const std::vector<BufferRole> inputs = {{0, 0, 1}, {0, 1, 1}};
    const std::vector<BufferRole> outputs = {{0, 0, 1}};
    return session_->allocate({}, models, inputs, outputs).value();
  }
  static ExecutionResult ok(std::vector<OutputShape> shapes = {}) {
    ExecutionResult result;
    result.outputShapes = std::move(shapes);
    return result;
  }
  static ExecutionResult tooSmall(std::vector<OutputShape> shapes) {
    ExecutionResult result = ok(std::move(shapes));
    result.status = makeStatus(ResultCode::OUTPUT_INSUFFICIENT_SIZE, "too small");
    return result;
  }

  Script script_ = [](const Request&) { return ok(); };
  std::shared_ptr<Device> session_;
  std::shared_ptr<PreparedModel> fixed_;
  std::shared_ptr<PreparedModel> open_;
  const SharedMemoryPtr ones_ = floats({1, 1, 1, 1});
};

// The server's client has released the buffer, and the server has not yet destroyed it.
TEST_F(BuffersTest, ARetiredBufferHasNoToken) {
  auto buffer = allocate(fixed_);
  ASSERT_TRUE(buffer->copyFrom(ones_, {}).ok());
  const Request request = requestOf({buffer, ones_}, {ones_});
  const auto recorded = fixed_->createReusableExecution(request).value();
  EXPECT_TRUE(recorded->compute({}).status.ok());
  std::static_pointer_cast<ClientSession>(session_)->retireBuffer(*buffer);
  EXPECT_EQ(fixed_->executeSynchronously(request, {}).status.code(), ResultCode::BAD_DATA);
  EXPECT_EQ(recorded->compute({}).status.code(), ResultCode::BAD_DATA);
  buffer.reset();
  EXPECT_EQ(fixed_->executeSynchronously(request, {}).status.code(), ResultCode::BAD_DATA);
}

// An execution reads one buffer and writes another one.
TEST_F(BuffersTest, WhatIsInUseIsRefusedAtOnce) {
  const auto in = allocate(fixed_);
  const auto out = allocate(fixed_);
  const auto spare = allocate(fixed_);
  ASSERT_TRUE(in->copyFrom(ones_, {}).ok());
  ASSERT_TRUE(out->copyFrom(ones_, {}).ok());
  std::promise<void> started;
  std::promise<void> mayEnd;
  std::atomic<bool> first = true;
  script_ = [&](const Request&) {
    if (first.exchange(false)) {
      started.set_value();
      mayEnd.get_future().wait();
    }
    return ok();
  };
  std::thread running([&] {
    EXPECT_TRUE(fixed_->executeSynchronously(requestOf({in, ones_}, {out}), {}).status.ok());
  });
  started.get_future().wait();
  const auto refused = [](const Status& status, const char* why) {
    EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
    EXPECT_THAT(status.message(), HasSubstr(why));
  };
  const auto execute = [&](const Request& request) {
    return fixed_->executeSynchronously(request, {}).status;
  };
  const auto target = floats({0, 0, 0, 0});
  // More readers beside the reader.
  EXPECT_TRUE(in->copyTo(target).ok());
  EXPECT_TRUE(execute(requestOf({in, in}, {target})).ok());
  EXPECT_TRUE(execute(requestOf({in, ones_}, {spare})).ok());
  // All other uses during the write.
  refused(out->copyTo(target), "being written");
  refused(out->copyFrom(ones_, {}), "being written");
  refused(execute(requestOf({out, ones_}, {target})), "being written");
  refused(execute(requestOf({ones_, ones_}, {out})), "being written");
  // A write during a read. A failed write leaves the buffer uninitialised.
  refused(execute(requestOf({ones_, ones_}, {in})), "being read");
  refused(in->copyFrom(ones_, {}), "being read");
  mayEnd.set_value();
  running.join();
  refused(in->copyTo(target), "not initialised");
  EXPECT_TRUE(out->copyTo(target).ok()) << "the writer's outcome counts";
  EXPECT_TRUE(in->copyFrom(ones_, {}).ok()) << "nobody has it any more";
}

TEST_F(BuffersTest, FreedWhileInUse) {
  auto in = allocate(fixed_);
  auto out = allocate(fixed_);
  ASSERT_TRUE(in->copyFrom(ones_, {}).ok());
  const Request request = requestOf({in, ones_}, {out});
  std::vector<float> seen;
  script_ = [&](const Request& own) {
    in.reset();
    out.reset();
    seen = valuesOf(std::get<SharedMemoryPtr>(own.pools[own.inputs[0].location.poolIndex]));
    return ok();
  };
  EXPECT_TRUE(fixed_->executeSynchronously(request, {}).status.ok());
  EXPECT_EQ(seen, (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(fixed_->executeSynchronously(request, {}).status.code(), ResultCode::BAD_DATA);
}

TEST_F(BuffersTest, TheDriverSeesMemoryAndNothingItDoesNotNeed) {
  const auto in = allocate(open_);
  const auto unused = allocate(open_);
  ASSERT_TRUE(in->copyFrom(floats({1, 2, 3}), {3}).ok());
  Request request = requestOf({Arg(in, {3}), Arg(in,
                                                 {
                                                     0,
                                                 })},
                              {ones_});
  request.inputs[1].dimensions = {3};
  request.pools.emplace_back(unused->token());
  request.pools.emplace_back(floats({9}));
  bool seen = false;
  script_ = [&](const Request& own) {
    seen = true;
    EXPECT_EQ(own.pools.size(), 2u);
    for (const RequestPool& pool : own.pools) {
      EXPECT_TRUE(std::holds_alternative<SharedMemoryPtr>(pool));
    }
    for (const RequestArgument& input : own.inputs) {
      EXPECT_EQ(input.location.offset, 0u);
      EXPECT_EQ(input.location.length, 12u);
      EXPECT_EQ(input.dimensions, Shape{3});
    }
    return ok({{{3}, true}});
  };
  EXPECT_TRUE(open_->executeSynchronously(request, {}).status.ok());
  EXPECT_TRUE(seen);
}

TEST_F(BuffersTest, OutputThatIsTooSmall) {
  const auto fixed = allocate(fixed_);
  script_ = [](const Request&) { return tooSmall({{{4}, false}}); };
  const ExecutionResult refused =
      fixed_->executeSynchronously(requestOf({ones_, ones_}, {fixed}), {});
  EXPECT_EQ(refused.status.code(), ResultCode::OP_FAILED) << refused.status.toString();
  EXPECT_TRUE(refused.outputShapes.empty());
  EXPECT_EQ(fixed->copyTo(ones_).code(), ResultCode::OP_FAILED);

  // If memory of the caller is too small, only the caller can enlarge it.
  const ExecutionResult own =
      fixed_->executeSynchronously(requestOf({ones_, ones_}, {floats({0, 0, 0, 0})}), {});
  EXPECT_EQ(own.status.code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE);
  ASSERT_EQ(own.outputShapes.size(), 1u);
}

// The driver reports that it needs more memory, but not how much.
TEST_F(BuffersTest, OpenOutputGrowsUntilItSuffices) {
  const auto buffer = allocate(open_);
  const auto four = [&](const SharedMemoryPtr& memory) { return Arg(memory, {4}); };
  const Request request = requestOf({four(ones_), four(ones_)}, {buffer});
  unsigned runs = 0;
  script_ = [&](const Request& own) {
    ++runs;
    if (own.outputs[0].location.length < 400'000) return tooSmall({{{0}, false}});
    return ok({{{100'000}, true}});
  };
  EXPECT_TRUE(open_->executeSynchronously(request, {}).status.ok());
  EXPECT_GT(runs, 2u);
  EXPECT_TRUE(buffer->copyTo(floats(std::vector<float>(100'000))).ok());
  runs = 0;
  EXPECT_TRUE(open_->executeSynchronously(request, {}).status.ok());
  EXPECT_EQ(runs, 1u) << "the memory has been kept";

  // A driver that always requests more memory gets an error.
  script_ = [&](const Request&) { return tooSmall({{{0}, false}}); };
  EXPECT_EQ(open_->executeSynchronously(request, {}).status.code(), ResultCode::OP_FAILED);
  // A driver that requests the size that it already has gets an error.
  script_ = [&](const Request& own) {
    return tooSmall({{{own.outputs[0].location.length / 4}, false}});
  };
  EXPECT_EQ(open_->executeSynchronously(request, {}).status.code(), ResultCode::OP_FAILED);
}

TEST_F(BuffersTest, WhatTheDriverReportsMustFitTheBuffer) {
  const auto buffer = allocate(open_);
  const Request request = requestOf({Arg(ones_, {4}), Arg(ones_, {4})}, {buffer});
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{2, 2}, Shape{1'000'000}}) {
    script_ = [&](const Request&) { return ok({{shape, true}}); };
    EXPECT_EQ(open_->executeSynchronously(request, {}).status.code(), ResultCode::OP_FAILED)
        << shapeText(shape);
    EXPECT_EQ(buffer->copyTo(ones_).code(), ResultCode::OP_FAILED);
  }
  script_ = [](const Request&) { return ok(); };
  EXPECT_EQ(open_->executeSynchronously(request, {}).status.code(), ResultCode::OP_FAILED)
      << "nobody knows the dimensions";
}

TEST_F(BuffersTest, FailureAndExceptionOfTheDriver) {
  const auto buffer = allocate(fixed_);
  const Request request = requestOf({ones_, ones_}, {buffer});
  const std::vector<Script> failures = {
      [](const Request&) -> ExecutionResult { throw std::runtime_error("thrown"); },
      [](const Request&) -> ExecutionResult { throw std::bad_alloc(); },
      [](const Request&) {
        ExecutionResult result = ok({{{4}, true}});
        result.status = opFailed("broken");
        return result;
      }};
  for (const Script& failure : failures) {
    script_ = [](const Request&) { return ok(); };
    ASSERT_TRUE(fixed_->executeSynchronously(request, {}).status.ok());
    ASSERT_TRUE(buffer->copyTo(floats({0, 0, 0, 0})).ok());
    script_ = failure;
    EXPECT_FALSE(fixed_->executeSynchronously(request, {}).status.ok());
    EXPECT_EQ(buffer->copyTo(ones_).code(), ResultCode::OP_FAILED);
  }
}

TEST_F(BuffersTest, ExecutionThatIsTooLate) {
  const auto in = allocate(fixed_);
  const auto out = allocate(fixed_);
  ASSERT_TRUE(in->copyFrom(ones_, {}).ok());
  ASSERT_TRUE(out->copyFrom(ones_, {}).ok());
  ExecuteOptions late;
  late.deadline = Clock::now() - std::chrono::seconds(1);
  const Request request = requestOf({in, ones_}, {out});
  EXPECT_EQ(fixed_->executeSynchronously(request, late).status.code(),
            ResultCode::MISSED_DEADLINE_PERSISTENT);
  EXPECT_EQ(out->copyTo(ones_).code(), ResultCode::OP_FAILED);
  EXPECT_TRUE(in->copyTo(ones_).ok());
}

TEST_F(BuffersTest, OldDevicesHaveNone) {
  const auto old = sessionOf(std::make_shared<TestDevice>(HalVersion::V1_2));
  const std::vector<std::shared_ptr<PreparedModel>> models = {
      old->prepareModel(validated(addModel(4)).value(), {}).value()};
  const std::vector<BufferRole> roles = {{0, 0, 1}};
  EXPECT_EQ(old->allocate({}, models, roles, {}).status().code(), ResultCode::UNAVAILABLE_DEVICE);
}

BufferSpec specOf(uint32_t elements) {
  BufferSpec spec;
  spec.dimensions = {elements};
  return spec;
}

TEST(BufferLimitsTest, MemoryAndNumberAreLimited) {
  const auto account = std::make_shared<MemoryAccount>(1'000'000);
  const auto buffers = std::make_shared<Buffers>(std::make_shared<TokenPool>(), account);
  auto first = buffers->allocate(specOf(200'000)).value();
  EXPECT_EQ(account->used(), 800'000u);
  const auto second = buffers->allocate(specOf(100'000));
  EXPECT_EQ(second.status().code(), ResultCode::OP_FAILED);
  EXPECT_THAT(second.status().message(), HasSubstr("limit"));
  EXPECT_EQ(buffers->count(), 1u);
  first.reset();
  EXPECT_EQ(account->used(), 0u);
  EXPECT_TRUE(buffers->allocate(specOf(100'000)).ok());

  // The memory of a buffer of unknown size counts from the first write on.
  auto open = buffers->allocate(specOf(0)).value();
  EXPECT_EQ(account->used(), 0u);
  EXPECT_TRUE(open->copyFrom(floats(std::vector<float>(200'000)), {200'000}).ok());
  EXPECT_EQ(account->used(), 800'000u);
  EXPECT_EQ(open->copyFrom(floats(std::vector<float>(300'000)), {300'000}).code(),
            ResultCode::OP_FAILED);
  open.reset();

  std::vector<std::unique_ptr<Buffer>> many;
  for (size_t i = 0; i < Buffers::kMaxBuffers; ++i) {
    many.push_back(buffers->allocate(specOf(0)).value());
  }
  EXPECT_EQ(buffers->allocate(specOf(0)).status().code(), ResultCode::OP_FAILED);
  many.pop_back();
  EXPECT_TRUE(buffers->allocate(specOf(0)).ok());
}

}  // namespace
}  // namespace halyard::hal

namespace halyard::hal::testing {
INSTANTIATE_TEST_SUITE_P(Session, BufferTest,
                         ::testing::Values(BufferDevice{"TestDevice",
                                                        [] {
                                                          return std::make_shared<ClientSession>(
                                                              std::make_shared<TestDevice>(),
                                                              std::make_shared<SessionServices>());
                                                        }}),
                         nameOf);
}  // namespace halyard::hal::testing
