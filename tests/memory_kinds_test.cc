// Every kind of memory through the C API, on the runtime's own device and on a driver in its
// process. It holds constants, inputs and outputs. Also refusals and their texts.
#include <android/sharedmem.h>
#include <halyard/hardware_buffer.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "api/api_for_test.h"

namespace halyard::api::testing {
namespace {

constexpr uint32_t kCount = 1024;  // so large that drivers do not copy it
constexpr size_t kBytes = kCount * sizeof(float);
constexpr uint64_t kCpu =
    uint64_t{AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN} | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN;

struct ReleaseBuffer {
  void operator()(AHardwareBuffer* buffer) const { AHardwareBuffer_release(buffer); }
};
using Buffer = std::unique_ptr<AHardwareBuffer, ReleaseBuffer>;

Buffer allocate(uint32_t format, uint32_t width, uint32_t height, uint64_t usage = kCpu) {
  const AHardwareBuffer_Desc desc{width, height, 1, format, usage, 0, 0, 0};
  AHardwareBuffer* buffer = nullptr;
  EXPECT_EQ(AHardwareBuffer_allocate(&desc, &buffer), 0);
  return Buffer(buffer);
}

float* lockBuffer(const Buffer& buffer, uint64_t usage) {
  void* address = nullptr;
  EXPECT_EQ(AHardwareBuffer_lock(buffer.get(), usage, -1, nullptr, &address), 0);
  return static_cast<float*>(address);
}
void unlockBuffer(const Buffer& buffer) {
  EXPECT_EQ(AHardwareBuffer_unlock(buffer.get(), nullptr), 0);
}

client::Memory memoryOf(const Buffer& buffer) {
  client::Memory memory;
  EXPECT_NN_OK(memory.createFromAHardwareBuffer(buffer.get()));
  return memory;
}
client::Memory memoryOf(int fd, int prot, size_t size = kBytes) {
  client::Memory memory;
  EXPECT_NN_OK(memory.createFromFd(size, prot, fd, 0));
  return memory;
}

// A file without a name. Its memory cannot be sealed.
class UniqueFile {
 public:
  UniqueFile() : file_(std::tmpfile()) {}
  ~UniqueFile() { std::fclose(file_); }
  UniqueFile(const UniqueFile&) = delete;
  UniqueFile& operator=(const UniqueFile&) = delete;
  int fd() const { return ::fileno(file_); }

 private:
  std::FILE* const file_;
};

// out = a + constant, with the constant at `offset` of `weights`.
client::Model modelWith(const ANeuralNetworksMemory* weights, size_t offset) {
  client::Model model = newModel();
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  for (int i = 0; i < 3; ++i) {
    EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {kCount}));
  }
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_INT32));
  EXPECT_NN_OK(model.setOperandValue(3, &none, sizeof none));
  EXPECT_NN_OK(model.setOperandValueFromMemory(1, weights, offset, kBytes));
  EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_ADD, {0, 1, 3}, {2}));
  EXPECT_NN_OK(model.identifyInputsAndOutputs({0}, {2}));
  EXPECT_NN_OK(model.finish());
  return model;
}

class MemoryKinds : public ::testing::TestWithParam<const char*> {
 protected:
  const ANeuralNetworksDevice* device() const { return deviceNamed(GetParam()); }

  int run(ANeuralNetworksModel* model, const ANeuralNetworksMemory* in, size_t inOffset,
          const ANeuralNetworksMemory* out) {
    const auto compilation = compileFor(model, device());
    const auto execution = newExecution(compilation.get());
    EXPECT_NN_OK(execution.setInputFromMemory(0, nullptr, in, inOffset, kBytes));
    EXPECT_NN_OK(execution.setOutputFromMemory(0, nullptr, out, 0, kBytes));
    return execution.compute();
  }
};

TEST_P(MemoryKinds, BlobHoldsConstantsInputsAndOutputs) {
  const Buffer in = allocate(AHARDWAREBUFFER_FORMAT_BLOB, 2 * kBytes, 1);
  // A GPU's buffer works as memory, too.
  const Buffer out = allocate(AHARDWAREBUFFER_FORMAT_BLOB, kBytes, 1,
                              kCpu | AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER);
  float* const values = lockBuffer(in, kCpu);
  for (uint32_t i = 0; i < kCount; ++i) {
    values[i] = static_cast<float>(i);
    values[kCount + i] = 1000;
  }
  unlockBuffer(in);
  const auto inMemory = memoryOf(in);
  const auto outMemory = memoryOf(out);
  const auto model = modelWith(inMemory.get(), kBytes);
  ASSERT_NN_OK(run(model.get(), inMemory.get(), 0, outMemory.get()));
  const float* const sums = lockBuffer(out, AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN);
  for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(sums[i], static_cast<float>(1000 + i)) << i;
  unlockBuffer(out);
}

TEST_P(MemoryKinds, SharedMemoryOfTheApplication) {
  const int in = ASharedMemory_create("in", kBytes);
  const int out = ASharedMemory_create("out", kBytes);
  const std::vector<float> values(kCount, 2.5f);
  ASSERT_EQ(::pwrite(in, values.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
  ASSERT_EQ(ASharedMemory_setProt(in, PROT_READ), 0);
  const auto inMemory = memoryOf(in, PROT_READ);
  const auto outMemory = memoryOf(out, PROT_READ | PROT_WRITE);
  const auto model = modelWith(inMemory.get(), 0);
  ASSERT_NN_OK(run(model.get(), inMemory.get(), 0, outMemory.get()));
  std::vector<float> sums(kCount);
  ASSERT_EQ(::pread(out, sums.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
  EXPECT_THAT(sums, ::testing::Each(5.0f));

  // A write after the right is removed gives an error, and changes nothing.
  ASSERT_EQ(ASharedMemory_setProt(out, PROT_READ), 0);
  const auto taken = memoryOf(out, PROT_READ | PROT_WRITE);
  EXPECT_NE(run(model.get(), inMemory.get(), 0, taken.get()), ANEURALNETWORKS_NO_ERROR);
  ::close(in);
  ::close(out);
}

// A read of a file's mapping beyond its end kills a process.
TEST_P(MemoryKinds, ConstantsInAFileThatIsCut) {
  const UniqueFile file;
  const std::vector<float> values(kCount, 2.5f);
  ASSERT_EQ(::pwrite(file.fd(), values.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
  const auto weights = memoryOf(file.fd(), PROT_READ);
  const auto model = modelWith(weights.get(), 0);
  const auto compilation = compileFor(model.get(), device());
  ASSERT_EQ(::ftruncate(file.fd(), 0), 0);
  std::vector<float> sums(kCount);
  const auto execution = newExecution(compilation.get());
  EXPECT_NN_OK(execution.setInput(0, nullptr, values.data(), kBytes));
  EXPECT_NN_OK(execution.setOutput(0, nullptr, sums.data(), kBytes));
  ASSERT_NN_OK(execution.compute());
  EXPECT_THAT(sums, ::testing::Each(5.0f));

  const ANeuralNetworksDevice* const one = device();
  ANeuralNetworksCompilation* late = nullptr;
  EXPECT_NN_OK(ANeuralNetworksCompilation_createForDevices(model.get(), &one, 1, &late));
  EXPECT_NE(ANeuralNetworksCompilation_finish(late), ANEURALNETWORKS_NO_ERROR);
  ANeuralNetworksCompilation_free(late);
}

TEST_P(MemoryKinds, ImagesNeedADriverThatTakesThem) {
  const Buffer image = allocate(AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, 32, 32);
  const auto memory = memoryOf(image);
  const auto model = addModel({kCount}, {kCount}, {kCount});
  ASSERT_NN_OK(model.finish());
  const auto compilation = compileFor(model.get(), device());
  const auto execution = newExecution(compilation.get());
  const auto set = [&](size_t offset, size_t length) {
    return execution.setInputFromMemory(0, nullptr, memory.get(), offset, length);
  };
  EXPECT_NN_ERROR(set(0, kBytes), ANEURALNETWORKS_BAD_DATA, "no BLOB");
  EXPECT_NN_ERROR(set(4, 0), ANEURALNETWORKS_BAD_DATA, "no BLOB");
  ASSERT_NN_OK(set(0, 0));
  const std::vector<float> b(kCount, 1);
  std::vector<float> out(kCount, 7);
  ASSERT_NN_OK(execution.setInput(1, nullptr, b.data(), kBytes));
  ASSERT_NN_OK(execution.setOutput(0, nullptr, out.data(), kBytes));
  const int code = execution.compute();
  EXPECT_THAT(code, ::testing::AnyOf(ANEURALNETWORKS_UNMAPPABLE, ANEURALNETWORKS_OP_FAILED))
      << halyard_lastErrorText();
  EXPECT_THAT(std::string(halyard_lastErrorText()),
              ::testing::HasSubstr("a hardware buffer of format 0x1, 32 x 32 pixels"));
  EXPECT_THAT(out, ::testing::Each(7.0f));
}

INSTANTIATE_TEST_SUITE_P(Devices, MemoryKinds, ::testing::Values(kCpuDevice, "halyard-reference"),
                         [](const auto& device) {
                           return std::string(device.param) == kCpuDevice ? "Cpu" : "Reference";
                         });

TEST(HardwareBufferMemory, NullsAndModels) {
  const Buffer image = allocate(AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, 32, 32);
  ANeuralNetworksMemory* memory = nullptr;
  EXPECT_NN_ERROR(ANeuralNetworksMemory_createFromAHardwareBuffer(nullptr, &memory),
                  ANEURALNETWORKS_UNEXPECTED_NULL, "ahwb");
  EXPECT_NN_ERROR(ANeuralNetworksMemory_createFromAHardwareBuffer(image.get(), nullptr),
                  ANEURALNETWORKS_UNEXPECTED_NULL, "memory");
  const auto opaque = memoryOf(image);
  const auto model = newModel();
  ASSERT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {kCount}));
  EXPECT_NN_ERROR(model.setOperandValueFromMemory(0, opaque.get(), 0, kBytes),
                  ANEURALNETWORKS_BAD_DATA, "no BLOB");
}

TEST(HardwareBufferMemory, Copies) {
  const Buffer from = allocate(AHARDWAREBUFFER_FORMAT_BLOB, kBytes, 1);
  const Buffer to = allocate(AHARDWAREBUFFER_FORMAT_BLOB, kBytes, 1);
  lockBuffer(from, kCpu)[kCount - 1] = 42;
  unlockBuffer(from);
  const auto source = memoryOf(from);
  const auto target = memoryOf(to);
  EXPECT_NN_OK(ANeuralNetworksMemory_copy(source.get(), target.get()));
  EXPECT_EQ(lockBuffer(to, AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN)[kCount - 1], 42);
  unlockBuffer(to);
  const auto small = memoryOf(allocate(AHARDWAREBUFFER_FORMAT_BLOB, kBytes - 1, 1));
  EXPECT_NN_ERROR(ANeuralNetworksMemory_copy(source.get(), small.get()), ANEURALNETWORKS_BAD_DATA,
                  "4096");
  const auto image = memoryOf(allocate(AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, 32, 32));
  const auto other = memoryOf(allocate(AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, 32, 32));
  EXPECT_NN_ERROR(ANeuralNetworksMemory_copy(image.get(), other.get()), ANEURALNETWORKS_UNMAPPABLE,
                  "format 0x1");
}

}  // namespace
}  // namespace halyard::api::testing
