// Tests of memory from descriptors: where it is made, how it is used and how it is copied. They use
// the CPU device and devices without buffers.
#include "runtime/compile/memory_descriptor.h"

#include "cpu/cpu_device.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "hal/testing/buffer_cases.h"
#include "runtime/execute/execution.h"

namespace halyard::runtime {
namespace {

using ::testing::HasSubstr;
using Direction = Execution::Direction;

// The CPU under another name and without buffers. It behaves like an old driver or an incorrect
// one.
class WithoutBuffers final : public hal::Device {
 public:
  explicit WithoutBuffers(std::string name) {
    hal::DeviceInfo info = cpu::cpuDeviceInfo();
    info.name = std::move(name);
    cpu_ = cpu::makeCpuDevice(std::move(info), 1);
  }
  const hal::DeviceInfo& info() const override { return cpu_->info(); }
  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    return cpu_->getSupportedOperations(model);
  }
  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& options) override {
    return cpu_->prepareModel(model, options);
  }
  Result<std::unique_ptr<hal::Buffer>> allocate(
      const Shape& dimensions, std::span<const std::shared_ptr<hal::PreparedModel>> models,
      std::span<const hal::BufferRole> inputs, std::span<const hal::BufferRole> outputs) override {
    if (answer) return answer();
    return Device::allocate(dimensions, models, inputs, outputs);
  }

  std::function<Result<std::unique_ptr<hal::Buffer>>()> answer;

 private:
  std::shared_ptr<hal::Device> cpu_;
};

class MemoryDescriptorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("HALYARD_LOG", "quiet", 1);
    without_ = std::make_shared<WithoutBuffers>("test-without");
    auto session = std::make_shared<hal::ClientSession>(
        std::make_shared<WithoutBuffers>("test-with"), std::make_shared<hal::SessionServices>());
    std::vector<Device> drivers;
    drivers.emplace_back(without_, "without.json", false);
    drivers.emplace_back(session, "with.json", false);
    manager_ = std::make_unique<DeviceManager>(std::move(drivers));
  }

  const Device* withoutBuffers() const { return &manager_->devices()[0]; }
  const Device* withBuffers() const { return &manager_->devices()[1]; }
  const Device* cpu() const { return &manager_->cpu(); }

  // out = a + b. All three have dimensions `dims`.
  std::unique_ptr<Compilation> compile(std::vector<const Device*> devices, bool explicitDevices,
                                       Shape dims = {2},
                                       OperandType type = OperandType::TENSOR_FLOAT32,
                                       float scale = 0) {
    ModelBuilder builder(manager_->extensions());
    const std::vector<uint32_t> in = {0, 1};
    const std::vector<uint32_t> add = {0, 1, 2};
    const std::vector<uint32_t> out = {3};
    const int32_t none = 0;
    EXPECT_TRUE(builder.addOperand(type, dims, scale, 0).ok());
    EXPECT_TRUE(builder.addOperand(type, dims, scale, 0).ok());
    EXPECT_TRUE(builder.addOperand(OperandType::INT32, {}, 0, 0).ok());
    EXPECT_TRUE(builder.addOperand(type, dims, scale, 0).ok());
    EXPECT_TRUE(builder.setOperandValue(2, &none, sizeof(none)).ok());
    EXPECT_TRUE(builder.addOperation(OperationType::ADD, add, out).ok());
    EXPECT_TRUE(builder.identifyInputsAndOutputs(in, out).ok());
    EXPECT_TRUE(builder.finish().ok());
    auto compilation = Compilation::create(builder, std::move(devices), explicitDevices).value();
    const Status status = compilation->finish();
    EXPECT_TRUE(status.ok()) << status.toString();
    return compilation;
  }
  static MemoryDescriptor describe(const std::vector<const Compilation*>& compilations,
                                   const Shape& dims = {}) {
    MemoryDescriptor descriptor;
    for (const Compilation* compilation : compilations) {
      EXPECT_TRUE(descriptor.addRole(*compilation, true, 0, 1).ok());
      EXPECT_TRUE(descriptor.addRole(*compilation, false, 0, 0.5f).ok());
    }
    EXPECT_TRUE(descriptor.setDimensions(dims).ok());
    EXPECT_TRUE(descriptor.finish().ok());
    return descriptor;
  }
  static std::unique_ptr<Memory> make(const std::vector<const Compilation*>& compilations,
                                      const Shape& dims = {}) {
    auto memory = describe(compilations, dims).createMemory();
    EXPECT_TRUE(memory.ok()) << memory.status().toString();
    return memory.ok() ? std::move(*memory) : nullptr;
  }
  static std::unique_ptr<Memory> linear(const std::vector<float>& values) {
    return std::make_unique<Memory>(hal::testing::floats(values));
  }
  static void expectHolds(const Memory& memory, const std::vector<float>& values) {
    const auto out = linear(std::vector<float>(values.size()));
    const Status status = Memory::copy(memory, *out);
    EXPECT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(hal::testing::valuesOf(out->pool()), values);
  }
  // Computes a + a, from `in` to `out`.
  static Status run(const Compilation& compilation, const Memory& in, const Memory& out,
                    const ArgumentType* type = nullptr) {
    Execution execution(compilation);
    const float ones[2] = {1, 1};
    const auto length = [](const Memory& memory) {
      return memory.pool() == nullptr ? 0 : memory.pool()->size();
    };
    Status status = execution.setArgumentFromMemory(Direction::INPUT, 0, type, in, 0, length(in));
    if (status.ok()) {
      status = execution.setArgument(Direction::INPUT, 1, type, const_cast<float*>(ones), 8);
    }
    if (status.ok()) {
      status = execution.setArgumentFromMemory(Direction::OUTPUT, 0, nullptr, out, 0, length(out));
    }
    return status.ok() ? execution.compute() : status;
  }
  static void expectError(const Status& status, ResultCode code, const std::string& text) {
    EXPECT_EQ(status.code(), code) << status.toString();
    EXPECT_THAT(status.message(), HasSubstr(text));
  }

  std::shared_ptr<WithoutBuffers> without_;
  std::unique_ptr<DeviceManager> manager_;
};

TEST_F(MemoryDescriptorTest, WhereMemoryIsMade) {
  const auto onDevice = compile({withBuffers()}, true);
  const auto onCpu = compile({cpu()}, true);
  const auto chosen = compile({withoutBuffers()}, true);
  const auto any = compile({withoutBuffers()}, false);
  const auto anyDevice = compile({withBuffers()}, false);
  EXPECT_NE(make({onDevice.get()})->described()->buffer(), nullptr);
  EXPECT_NE(make({onCpu.get()})->described()->buffer(), nullptr);
  // Only shared memory is possible. It is allowed unless the application chose the device.
  EXPECT_NE(make({any.get()})->described()->pool(), nullptr);
  expectError(describe({chosen.get()}).createMemory().status(), ResultCode::OP_FAILED, "buffers");
  EXPECT_NE(make({any.get(), anyDevice.get()})->described()->pool(), nullptr);
  expectError(describe({any.get(), onDevice.get()}).createMemory().status(), ResultCode::OP_FAILED,
              "are on devices test-without and test-with");
}

TEST_F(MemoryDescriptorTest, SizeThatIsOpen) {
  const auto onDevice = compile({withBuffers()}, true, {0});
  const auto onCpu = compile({cpu()}, true, {0});
  const auto any = compile({withoutBuffers()}, false, {0});
  EXPECT_NE(make({onDevice.get()}), nullptr);
  expectError(describe({onCpu.get()}).createMemory().status(), ResultCode::OP_FAILED, "open");
  expectError(describe({any.get()}).createMemory().status(), ResultCode::OP_FAILED, "");
  // The descriptor gives the dimensions.
  EXPECT_NE(make({onCpu.get()}, {2}), nullptr);
  EXPECT_NE(make({any.get()}, {2})->described()->pool(), nullptr);
}

TEST_F(MemoryDescriptorTest, DriverThatAnswersNonsense) {
  class NoToken final : public hal::Buffer {
    uint32_t token() const override { return 0; }
    Status copyTo(const SharedMemoryPtr&) override { return okStatus(); }
    Status copyFrom(const SharedMemoryPtr&, const Shape&) override { return okStatus(); }
  };
  using Answer = Result<std::unique_ptr<hal::Buffer>>;
  const auto compilation = compile({withoutBuffers()}, true);
  const MemoryDescriptor descriptor = describe({compilation.get()});
  without_->answer = []() -> Answer { return std::unique_ptr<hal::Buffer>(); };
  expectError(descriptor.createMemory().status(), ResultCode::OP_FAILED, "without a buffer");
  without_->answer = []() -> Answer { return std::unique_ptr<hal::Buffer>(new NoToken); };
  expectError(descriptor.createMemory().status(), ResultCode::OP_FAILED, "without a buffer");
  without_->answer = []() -> Answer { return badData("that is the driver's own"); };
  expectError(descriptor.createMemory().status(), ResultCode::BAD_DATA, "driver's own");
}

TEST_F(MemoryDescriptorTest, RolesAndDimensions) {
  const auto two = compile({withBuffers()}, true);
  const auto three = compile({withBuffers()}, true, {3});
  const auto open = compile({withBuffers()}, true, {0});
  const auto half = compile({cpu()}, true, {2}, OperandType::TENSOR_FLOAT16);
  const auto quant = compile({cpu()}, true, {2}, OperandType::TENSOR_QUANT8_ASYMM, 0.5f);
  const auto scaled = compile({cpu()}, true, {2}, OperandType::TENSOR_QUANT8_ASYMM, 0.25f);
  const auto bad = ResultCode::BAD_DATA;
  MemoryDescriptor descriptor;
  expectError(descriptor.finish(), bad, "without roles");
  expectError(descriptor.createMemory().status(), ResultCode::BAD_STATE, "not finished");
  expectError(descriptor.addRole(*two, true, 2, 1), bad, "input 2 of a model with 2");
  expectError(descriptor.addRole(*two, false, 1, 1), bad, "output 1 of a model with 1");
  for (const float frequency : {0.0f, -1.0f, 1.1f, std::nanf("")}) {
    expectError(descriptor.addRole(*two, true, 0, frequency), bad, "frequency");
  }
  EXPECT_TRUE(descriptor.setDimensions({}).ok());
  EXPECT_TRUE(descriptor.addRole(*open, true, 0, 1).ok());
  EXPECT_TRUE(descriptor.setDimensions({0}).ok());
  expectError(descriptor.setDimensions({2, 2}), bad, "[2,2]");
  EXPECT_TRUE(descriptor.addRole(*two, true, 0, 1).ok());
  expectError(descriptor.addRole(*two, true, 0, 1), bad, "already");
  expectError(descriptor.addRole(*three, true, 0, 1), bad, "[3]");
  expectError(descriptor.setDimensions({3}), bad, "[3]");
  expectError(descriptor.addRole(*half, true, 0, 1), bad, "TENSOR_FLOAT16");
  EXPECT_TRUE(descriptor.finish().ok());
  expectError(descriptor.finish(), ResultCode::BAD_STATE, "finished");
  expectError(descriptor.addRole(*two, false, 0, 1), ResultCode::BAD_STATE, "finished");
  expectError(descriptor.setDimensions({2}), ResultCode::BAD_STATE, "finished");
  EXPECT_TRUE(descriptor.createMemory().ok());

  MemoryDescriptor quantised;
  EXPECT_TRUE(quantised.addRole(*quant, true, 0, 1).ok());
  expectError(quantised.addRole(*scaled, true, 0, 1), bad, "0.25");
}

TEST_F(MemoryDescriptorTest, UsedByExecutions) {
  for (const Device* device : {withBuffers(), withoutBuffers(), cpu()}) {
    SCOPED_TRACE(device->name());
    const auto compilation = compile({device}, device == cpu());
    const auto other = compile({device}, device == cpu());
    const auto in = make({compilation.get()});
    const auto out = make({compilation.get()});
    expectError(run(*compilation, *in, *out), ResultCode::OP_FAILED, "not initialised");
    ASSERT_TRUE(Memory::copy(*linear({1, 2}), *in).ok());
    EXPECT_TRUE(run(*compilation, *in, *out).ok());
    expectHolds(*out, {2, 3});
    EXPECT_TRUE(run(*compilation, *out, *in).ok());
    expectHolds(*in, {3, 4});
    // A missing input fails the execution. The output then loses its contents.
    const auto empty = make({compilation.get()});
    expectError(run(*compilation, *empty, *out), ResultCode::OP_FAILED, "not initialised");
    expectError(Memory::copy(*out, *linear({0, 0})), ResultCode::BAD_DATA, "not initialised");
    expectError(run(*other, *in, *out), ResultCode::BAD_DATA, "no role");
  }
}

TEST_F(MemoryDescriptorTest, SetAsAnArgument) {
  const auto compilation = compile({withBuffers()}, true, {0});
  MemoryDescriptor descriptor;
  ASSERT_TRUE(descriptor.addRole(*compilation, true, 0, 1).ok());
  ASSERT_TRUE(descriptor.setDimensions({2}).ok());
  ASSERT_TRUE(descriptor.finish().ok());
  const auto memory = descriptor.createMemory().value();
  const ArgumentType two = {OperandType::TENSOR_FLOAT32, {2}, 0, 0};
  const ArgumentType three = {OperandType::TENSOR_FLOAT32, {3}, 0, 0};
  Execution execution(*compilation);
  const auto bad = ResultCode::BAD_DATA;
  const auto set = [&](Direction direction, uint32_t index, const ArgumentType& type,
                       size_t offset = 0, size_t length = 0) {
    return execution.setArgumentFromMemory(direction, index, &type, *memory, offset, length);
  };
  expectError(set(Direction::INPUT, 0, two, 0, 8), bad, "as a whole");
  expectError(set(Direction::INPUT, 0, two, 4, 0), bad, "as a whole");
  expectError(set(Direction::INPUT, 0, three), bad, "[3]");
  expectError(set(Direction::INPUT, 1, two), bad, "no role as this input");
  expectError(set(Direction::OUTPUT, 0, two), bad, "no role as this output");
  EXPECT_TRUE(set(Direction::INPUT, 0, two).ok());
  expectError(set(Direction::INPUT, 0, two), ResultCode::BAD_STATE, "already");
  // Such a memory cannot be a constant of a model either.
  expectError(memory->checkRange(0, 8), bad, "descriptor");
}

TEST_F(MemoryDescriptorTest, OpenDimensionsComeFromTheExecution) {
  const auto compilation = compile({withBuffers()}, true, {0});
  const auto in = make({compilation.get()}, {2});
  const auto out = make({compilation.get()});
  const auto three = make({compilation.get()}, {3});
  const ArgumentType type = {OperandType::TENSOR_FLOAT32, {2}, 0, 0};
  ASSERT_TRUE(Memory::copy(*linear({1, 2}), *in).ok());
  EXPECT_TRUE(run(*compilation, *in, *out, &type).ok());
  EXPECT_EQ(out->described()->contents(), Shape{2});
  EXPECT_TRUE(run(*compilation, *out, *in, &type).ok());
  expectHolds(*in, {3, 4});
  // Memory with unknown dimensions takes those of a copied memory. A copy from plain memory needs
  // known dimensions.
  EXPECT_TRUE(Memory::copy(*in, *out).ok());
  expectError(Memory::copy(*linear({1, 2}), *out), ResultCode::BAD_DATA, "not all known");
  expectError(Memory::copy(*out, *linear({1, 2})), ResultCode::BAD_DATA, "not initialised");
  // The dimensions of the result contradict those of the memory.
  EXPECT_EQ(run(*compilation, *in, *three, &type).code(), ResultCode::OP_FAILED);
  EXPECT_FALSE(three->described()->contents());
}

TEST_F(MemoryDescriptorTest, DimensionsOfAnInputMustBeThoseItHolds) {
  const auto compilation = compile({withBuffers()}, true, {0});
  const auto sink = make({compilation.get()});
  const auto memory = make({compilation.get()});
  const auto two = make({compilation.get()}, {2});
  ASSERT_TRUE(Memory::copy(*linear({1, 2}), *two).ok());
  ASSERT_TRUE(Memory::copy(*two, *memory).ok());
  const ArgumentType three = {OperandType::TENSOR_FLOAT32, {3}, 0, 0};
  const float ones[3] = {1, 1, 1};
  Execution execution(*compilation);
  ASSERT_TRUE(execution.setArgumentFromMemory(Direction::INPUT, 0, &three, *memory, 0, 0).ok());
  ASSERT_TRUE(
      execution.setArgument(Direction::INPUT, 1, &three, const_cast<float*>(ones), 12).ok());
  ASSERT_TRUE(execution.setArgumentFromMemory(Direction::OUTPUT, 0, nullptr, *sink, 0, 0).ok());
  expectError(execution.startCompute().status(), ResultCode::OP_FAILED, "holds [2]");
}

TEST_F(MemoryDescriptorTest, CopiesBetweenAllKinds) {
  const auto first = compile({withBuffers()}, true);
  const auto second = compile({cpu()}, true);
  const auto third = compile({withoutBuffers()}, false);
  const std::vector<float> values = {5, 6};
  const auto kinds = [&] {
    std::vector<std::unique_ptr<Memory>> made;
    made.push_back(linear({0, 0}));
    for (const auto* compilation : {first.get(), second.get(), third.get()}) {
      made.push_back(make({compilation}));
    }
    return made;
  };
  for (const auto& source : kinds()) {
    ASSERT_TRUE(Memory::copy(*linear(values), *source).ok());
    for (const auto& destination : kinds()) {
      const Status status = Memory::copy(*source, *destination);
      EXPECT_TRUE(status.ok()) << status.toString();
      expectHolds(*destination, values);
    }
    EXPECT_TRUE(Memory::copy(*source, *source).ok());
  }
}

TEST_F(MemoryDescriptorTest, CopiesThatAreRefused) {
  const auto compilation = compile({withBuffers()}, true);
  const auto open = compile({withBuffers()}, true, {0, 0});
  const auto scaled = compile({cpu()}, true, {8}, OperandType::TENSOR_QUANT8_ASYMM, 0.5f);
  const auto bad = ResultCode::BAD_DATA;
  const auto good = make({compilation.get()});
  const auto empty = make({compilation.get()});
  const auto quant = make({scaled.get()});
  const auto oneByTwo = make({open.get()}, {1, 2});
  const auto twoByOne = make({open.get()}, {2, 1});
  ASSERT_TRUE(Memory::copy(*linear({1, 2}), *quant).ok());
  ASSERT_TRUE(Memory::copy(*linear({1, 2}), *oneByTwo).ok());
  const auto refused = [&](const Memory& source, const std::string& text) {
    SCOPED_TRACE(text);
    ASSERT_TRUE(Memory::copy(*linear({1, 2}), *good).ok());
    expectError(Memory::copy(source, *good), bad, text);
    // A refused copy clears the contents, even when no data were copied.
    expectError(Memory::copy(*good, *linear({0, 0})), bad, "not initialised");
  };
  refused(*empty, "not initialised");
  refused(*linear({1}), "4 bytes");
  refused(*linear({1, 2, 3}), "12 bytes");
  refused(*quant, "TENSOR_QUANT8_ASYMM");
  refused(*oneByTwo, "[1,2]");
  expectError(Memory::copy(*oneByTwo, *twoByOne), bad, "[1,2]");
  expectError(Memory::copy(*linear({1}), *linear({1, 2})), bad, "4 bytes");
  // Memory that is not readable or not writable.
  const auto pool = hal::testing::floats({1, 2});
  const Memory writeOnly(SharedMemory::fromFd(8, PROT_WRITE, pool->fd(), 0).value());
  const Memory readOnly(SharedMemory::fromFd(8, PROT_READ, pool->fd(), 0).value());
  ASSERT_TRUE(Memory::copy(readOnly, *good).ok());
  expectError(Memory::copy(*good, readOnly), ResultCode::UNMAPPABLE, "written");
  expectError(Memory::copy(writeOnly, *good), ResultCode::UNMAPPABLE, "read");
  expectError(Memory::copy(*good, *linear({0, 0})), bad, "not initialised");
}

TEST_F(MemoryDescriptorTest, OutlivesDescriptorAndCompilation) {
  auto first = compile({withBuffers()}, true);
  const auto memory = make({first.get()});
  ASSERT_TRUE(Memory::copy(*linear({1, 2}), *memory).ok());
  first.reset();
  expectHolds(*memory, {1, 2});
  // A later compilation has no role, even if it has the address of an earlier one.
  for (int i = 0; i < 10; ++i) {
    const auto later = compile({withBuffers()}, true);
    expectError(run(*later, *memory, *linear({0, 0})), ResultCode::BAD_DATA, "no role");
  }
}

TEST_F(MemoryDescriptorTest, ManyThreads) {
  const auto compilation = compile({cpu()}, true);
  const auto a = make({compilation.get()});
  const auto b = make({compilation.get()});
  std::atomic<int> unexpected = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      const auto mine = linear({1, 1});
      for (int i = 0; i < 100; ++i) {
        Status status;
        if ((t + i) % 3 == 0) status = Memory::copy(*mine, *a);
        if ((t + i) % 3 == 1) status = run(*compilation, *a, *b);
        if ((t + i) % 3 == 2) status = Memory::copy(*b, *mine);
        const ResultCode code = status.code();
        const bool refused = code == ResultCode::OP_FAILED || code == ResultCode::BAD_DATA;
        if (!status.ok() && !refused) ++unexpected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unexpected, 0);
  EXPECT_TRUE(Memory::copy(*linear({1, 1}), *a).ok());
  EXPECT_TRUE(run(*compilation, *a, *b).ok());
  expectHolds(*b, {2, 2});
}

}  // namespace
}  // namespace halyard::runtime

namespace halyard::hal::testing {
INSTANTIATE_TEST_SUITE_P(Session, BufferTest,
                         ::testing::Values(BufferDevice{"CpuDevice",
                                                        [] {
                                                          return std::make_shared<ClientSession>(
                                                              cpu::makeCpuDevice(
                                                                  cpu::cpuDeviceInfo(), 1),
                                                              std::make_shared<SessionServices>());
                                                        }}),
                         nameOf);
}  // namespace halyard::hal::testing
