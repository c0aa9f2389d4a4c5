// Tests of memory descriptors and of memory made from them, through the C API, on the CPU device.
#include <sys/mman.h>
#include <unistd.h>

#include "api/api_for_test.h"

namespace halyard::api::testing {
namespace {

client::MemoryDesc newDesc() {
  client::MemoryDesc desc;
  EXPECT_NN_OK(desc.create());
  return desc;
}

client::Memory memoryFrom(const client::MemoryDesc& desc) {
  client::Memory memory;
  EXPECT_NN_OK(memory.createFromDesc(desc.get()));
  return memory;
}

// Memory that the application makes.
struct Linear {
  explicit Linear(const std::vector<float>& values) {
    fd = ::memfd_create("test", MFD_CLOEXEC);
    size = values.size() * sizeof(float);
    EXPECT_EQ(::pwrite(fd, values.data(), size, 0), static_cast<ssize_t>(size));
    EXPECT_NN_OK(memory.createFromFd(size, PROT_READ | PROT_WRITE, fd, 0));
  }
  ~Linear() { ::close(fd); }
  Linear(const Linear&) = delete;
  Linear& operator=(const Linear&) = delete;
  std::vector<float> values() const {
    std::vector<float> read(size / sizeof(float));
    EXPECT_EQ(::pread(fd, read.data(), size, 0), static_cast<ssize_t>(size));
    return read;
  }
  ANeuralNetworksMemory* get() const { return memory.get(); }

  int fd = -1;
  size_t size = 0;
  client::Memory memory;
};

class MemoryDescApi : public ::testing::Test {
 protected:
  void SetUp() override {
    model_ = addModel({2}, {2}, {2});
    ASSERT_NN_OK(model_.finish());
    compilation_ = compileFor(model_.get(), deviceNamed(kCpuDevice));
  }
  // Memory with the roles of input 0 and output 0.
  client::Memory newMemory() {
    const client::MemoryDesc desc = newDesc();
    EXPECT_NN_OK(desc.addInputRole(compilation_.get(), 0, 1));
    EXPECT_NN_OK(desc.addOutputRole(compilation_.get(), 0, 0.5f));
    EXPECT_NN_OK(desc.finish());
    return memoryFrom(desc);
  }
  // Computes out = in + {1, 1}. Returns the code of compute, or that of a refused argument.
  int add(const ANeuralNetworksMemory* in, const ANeuralNetworksMemory* out) {
    const auto execution = newExecution(compilation_.get());
    const float ones[] = {1, 1};
    int code = execution.setInputFromMemory(0, nullptr, in, 0, 0);
    if (code != ANEURALNETWORKS_NO_ERROR) return code;
    EXPECT_NN_OK(execution.setInput(1, nullptr, ones, sizeof(ones)));
    code = execution.setOutputFromMemory(0, nullptr, out, 0, 0);
    if (code != ANEURALNETWORKS_NO_ERROR) return code;
    return execution.compute();
  }

  client::Model model_;
  client::Compilation compilation_;
};

TEST_F(MemoryDescApi, Nulls) {
  constexpr int kNull = ANEURALNETWORKS_UNEXPECTED_NULL;
  const client::MemoryDesc desc = newDesc();
  auto* memory = reinterpret_cast<ANeuralNetworksMemory*>(this);
  EXPECT_NN_ERROR(ANeuralNetworksMemoryDesc_create(nullptr), kNull, "desc");
  EXPECT_NN_ERROR(ANeuralNetworksMemoryDesc_addInputRole(nullptr, compilation_.get(), 0, 1), kNull,
                  "desc");
  EXPECT_NN_ERROR(desc.addInputRole(nullptr, 0, 1), kNull, "compilation");
  EXPECT_NN_ERROR(ANeuralNetworksMemoryDesc_addOutputRole(nullptr, compilation_.get(), 0, 1), kNull,
                  "desc");
  EXPECT_NN_ERROR(desc.addOutputRole(nullptr, 0, 1), kNull, "compilation");
  const uint32_t two[] = {2};
  EXPECT_NN_ERROR(ANeuralNetworksMemoryDesc_setDimensions(nullptr, 1, two), kNull, "desc");
  EXPECT_NN_ERROR(ANeuralNetworksMemoryDesc_setDimensions(desc.get(), 1, nullptr), kNull,
                  "dimensions is null, rank 1");
  EXPECT_NN_OK(ANeuralNetworksMemoryDesc_setDimensions(desc.get(), 0, nullptr));
  EXPECT_NN_ERROR(ANeuralNetworksMemoryDesc_finish(nullptr), kNull, "desc");
  EXPECT_NN_ERROR(ANeuralNetworksMemory_createFromDesc(desc.get(), nullptr), kNull, "memory");
  EXPECT_NN_ERROR(ANeuralNetworksMemory_createFromDesc(nullptr, &memory), kNull, "desc");
  EXPECT_EQ(memory, nullptr);
  ANeuralNetworksMemoryDesc_free(nullptr);
}

TEST_F(MemoryDescApi, StatesAndValues) {
  constexpr int kBad = ANEURALNETWORKS_BAD_DATA;
  const client::MemoryDesc desc = newDesc();
  EXPECT_NN_ERROR(desc.finish(), kBad, "without roles");
  client::Compilation unfinished;
  ASSERT_NN_OK(unfinished.create(model_.get()));
  EXPECT_NN_ERROR(desc.addInputRole(unfinished.get(), 0, 1), kBad, "not finished");
  EXPECT_NN_ERROR(desc.addInputRole(compilation_.get(), 2, 1), kBad, "input 2 of a model with 2");
  EXPECT_NN_ERROR(desc.addOutputRole(compilation_.get(), 1, 1), kBad, "output 1 of a model with 1");
  for (const float frequency : {0.0f, -0.5f, 2.0f}) {
    EXPECT_NN_ERROR(desc.addInputRole(compilation_.get(), 0, frequency), kBad, "frequency");
  }
  EXPECT_NN_OK(desc.addInputRole(compilation_.get(), 0, 1));
  EXPECT_NN_ERROR(desc.addInputRole(compilation_.get(), 0, 1), kBad, "already");
  const uint32_t three[] = {3};
  EXPECT_NN_ERROR(ANeuralNetworksMemoryDesc_setDimensions(desc.get(), 1, three), kBad, "[3]");
  ANeuralNetworksMemory* memory = nullptr;
  constexpr int kState = ANEURALNETWORKS_BAD_STATE;
  EXPECT_NN_ERROR(ANeuralNetworksMemory_createFromDesc(desc.get(), &memory), kState,
                  "not finished");
  EXPECT_NN_OK(desc.finish());
  EXPECT_NN_ERROR(desc.finish(), kState, "finished");
  EXPECT_NN_ERROR(desc.addOutputRole(compilation_.get(), 0, 1), kState, "finished");
  EXPECT_NN_ERROR(ANeuralNetworksMemoryDesc_setDimensions(desc.get(), 0, nullptr), kState,
                  "finished");
}

TEST_F(MemoryDescApi, ComputesFromAndTo) {
  const auto in = newMemory();
  const auto out = newMemory();
  EXPECT_NN_ERROR(add(in.get(), out.get()), ANEURALNETWORKS_OP_FAILED, "not initialised");
  const Linear source({5, 6});
  const Linear target({0, 0});
  EXPECT_NN_ERROR(ANeuralNetworksMemory_copy(in.get(), target.get()), ANEURALNETWORKS_BAD_DATA,
                  "not initialised");
  EXPECT_NN_OK(ANeuralNetworksMemory_copy(source.get(), in.get()));
  EXPECT_NN_OK(add(in.get(), out.get()));
  EXPECT_NN_OK(ANeuralNetworksMemory_copy(out.get(), target.get()));
  EXPECT_EQ(target.values(), (std::vector<float>{6, 7}));
  EXPECT_NN_OK(ANeuralNetworksMemory_copy(out.get(), in.get()));
  EXPECT_NN_OK(add(in.get(), out.get()));
  EXPECT_NN_OK(ANeuralNetworksMemory_copy(out.get(), target.get()));
  EXPECT_EQ(target.values(), (std::vector<float>{7, 8}));
  // A refused copy clears the contents of the target.
  const Linear tooLong({1, 2, 3});
  EXPECT_NN_ERROR(ANeuralNetworksMemory_copy(tooLong.get(), in.get()), ANEURALNETWORKS_BAD_DATA,
                  "12 bytes");
  EXPECT_NN_ERROR(add(in.get(), out.get()), ANEURALNETWORKS_OP_FAILED, "not initialised");
  EXPECT_NN_ERROR(ANeuralNetworksMemory_copy(out.get(), target.get()), ANEURALNETWORKS_BAD_DATA,
                  "not initialised");
}

TEST_F(MemoryDescApi, IsNotJustMemory) {
  const auto memory = newMemory();
  const auto execution = newExecution(compilation_.get());
  constexpr int kBad = ANEURALNETWORKS_BAD_DATA;
  EXPECT_NN_ERROR(execution.setInputFromMemory(0, nullptr, memory.get(), 0, 8), kBad, "as a whole");
  EXPECT_NN_ERROR(execution.setInputFromMemory(1, nullptr, memory.get(), 0, 0), kBad, "no role");
  const auto model = newModel();
  ASSERT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
  EXPECT_NN_ERROR(model.setOperandValueFromMemory(0, memory.get(), 0, 8), kBad, "descriptor");
}

// The handle of the memory, its descriptor and its compilation may be freed before the objects that
// use them.
TEST_F(MemoryDescApi, FreedInAnyOrder) {
  auto in = newMemory();
  auto out = newMemory();
  const Linear source({5, 6});
  ASSERT_NN_OK(ANeuralNetworksMemory_copy(source.get(), in.get()));
  auto execution = newExecution(compilation_.get());
  const float ones[] = {1, 1};
  ASSERT_NN_OK(execution.setInputFromMemory(0, nullptr, in.get(), 0, 0));
  ASSERT_NN_OK(execution.setInput(1, nullptr, ones, sizeof(ones)));
  ASSERT_NN_OK(execution.setOutputFromMemory(0, nullptr, out.get(), 0, 0));
  ANeuralNetworksEvent* event = nullptr;
  ASSERT_NN_OK(ANeuralNetworksExecution_startCompute(execution.get(), &event));
  EXPECT_NN_OK(ANeuralNetworksEvent_wait(event));
  ANeuralNetworksEvent_free(event);
  in.reset();
  execution.reset();
  compilation_.reset();
  const Linear target({0, 0});
  EXPECT_NN_OK(ANeuralNetworksMemory_copy(out.get(), target.get()));
  EXPECT_EQ(target.values(), (std::vector<float>{6, 7}));
}

}  // namespace
}  // namespace halyard::api::testing
