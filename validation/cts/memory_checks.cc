// Memories: of files, of hardware buffers, of descriptors; roles and copies.
#include <android/hardware_buffer.h>
#include <sys/mman.h>

#include <cstring>

#include "validation/cts/api_world.h"

namespace halyard::validation {
namespace {

constexpr size_t kPage = kFileMemorySize;

// All arguments in one file, at odd places.
CheckResult filesAtOffsets(ApiWorld& world) {
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  HALYARD_ASSIGN_OR_RETURN(const FileMemory file, FileMemory::make());
  const size_t size = 4 * world.elementSize();
  HALYARD_RETURN_IF_ERROR(file.write(world.elements({1, 2, 3, 4}), 20));
  HALYARD_RETURN_IF_ERROR(file.write(world.elements({5, 6, 7, 8}), 200));
  HALYARD_ASSIGN_OR_RETURN(const auto execution, sum.execution());
  ANeuralNetworksExecution* const e = execution.get();
  const ANeuralNetworksMemory* const memory = file.memory.get();
  HALYARD_EXPECT_CODE(
      ANeuralNetworksExecution_setInputFromMemory(e, 0, nullptr, memory, kPage - size + 1, size),
      ANEURALNETWORKS_BAD_DATA);
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_setInputFromMemory(e, 0, nullptr, memory, 20, size));
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_setInputFromMemory(e, 1, nullptr, memory, 200, size));
  HALYARD_EXPECT_OK(
      ANeuralNetworksExecution_setOutputFromMemory(e, 0, nullptr, memory, 1000, size));
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_compute(e));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> out, file.read(size, 1000));
  HALYARD_EXPECT(out == world.elements({6, 8, 10, 12}));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> around, file.read(4, 1000 + size));
  HALYARD_EXPECT(around == std::vector<uint8_t>(4));
  return CheckResult::passed();
}

// Two constants in one memory that may only be read.
CheckResult constantsInAFile(ApiWorld& world) {
  HALYARD_ASSIGN_OR_RETURN(const FileMemory file, FileMemory::make());
  HALYARD_RETURN_IF_ERROR(file.write(world.elements({1, 2, 3, 4}), 20));
  HALYARD_RETURN_IF_ERROR(file.write(world.elements({5, 6, 7, 8}), 200));
  ANeuralNetworksMemory* made = nullptr;
  HALYARD_EXPECT_OK(ANeuralNetworksMemory_createFromFd(kPage, PROT_READ, file.fd.get(), 0, &made));
  const ApiHandle<ANeuralNetworksMemory> memory(made);
  HALYARD_ASSIGN_OR_RETURN(const auto model, newModel());
  const Dims dims = {4};
  const size_t size = 4 * world.elementSize();
  for (int i = 0; i < 5; ++i) HALYARD_RETURN_IF_ERROR(addOperand(model.get(), world.tensor(dims)));
  HALYARD_RETURN_IF_ERROR(addOperand(model.get(), {ANEURALNETWORKS_INT32, 0, nullptr, 0, 0}));
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  HALYARD_EXPECT_OK(ANeuralNetworksModel_setOperandValue(model.get(), 5, &none, sizeof none));
  HALYARD_EXPECT_OK(ANeuralNetworksModel_setOperandValueFromMemory(model.get(), 1, made, 20, size));
  HALYARD_EXPECT_OK(
      ANeuralNetworksModel_setOperandValueFromMemory(model.get(), 2, made, 200, size));
  HALYARD_RETURN_IF_ERROR(addOperation(model.get(), ANEURALNETWORKS_ADD, {0, 1, 5}, {3}));
  HALYARD_RETURN_IF_ERROR(addOperation(model.get(), ANEURALNETWORKS_ADD, {3, 2, 5}, {4}));
  HALYARD_RETURN_IF_ERROR(identify(model.get(), {0}, {4}));
  HALYARD_EXPECT_OK(ANeuralNetworksModel_finish(model.get()));
  HALYARD_ASSIGN_OR_RETURN(const bool takes, world.takes(model.get(), 2));
  if (!takes) return CheckResult::skipped("the device does not add constants");
  HALYARD_ASSIGN_OR_RETURN(const auto compilation, world.compile(model.get()));
  ANeuralNetworksExecution* execution = nullptr;
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_create(compilation.get(), &execution));
  const ApiHandle<ANeuralNetworksExecution> owner(execution);
  const std::vector<uint8_t> in = world.elements({10, 10, 10, 10});
  std::vector<uint8_t> out(size);
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_setInput(execution, 0, nullptr, in.data(), size));
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_setOutput(execution, 0, nullptr, out.data(), size));
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_compute(execution));
  HALYARD_EXPECT(out == world.elements({16, 18, 20, 22}));
  return CheckResult::passed();
}

struct FreeBuffer {
  void operator()(AHardwareBuffer* buffer) const { AHardwareBuffer_release(buffer); }
};

CheckResult hardwareBuffers(ApiWorld& world) {
  if (world.level() < ANEURALNETWORKS_FEATURE_LEVEL_3) return tooOld("1.2");
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  const size_t size = 4 * world.elementSize();
  AHardwareBuffer_Desc desc = {};
  desc.width = 256;
  desc.height = 1;
  desc.layers = 1;
  desc.format = AHARDWAREBUFFER_FORMAT_BLOB;
  desc.usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN;
  AHardwareBuffer* raw = nullptr;
  HALYARD_EXPECT(AHardwareBuffer_allocate(&desc, &raw) == 0);
  const std::unique_ptr<AHardwareBuffer, FreeBuffer> buffer(raw);
  void* mapped = nullptr;
  HALYARD_EXPECT(AHardwareBuffer_lock(raw, desc.usage, -1, nullptr, &mapped) == 0);
  const std::vector<uint8_t> values = world.elements({3, 4, 5, 6});
  std::memcpy(mapped, values.data(), size);
  HALYARD_EXPECT(AHardwareBuffer_unlock(raw, nullptr) == 0);
  ANeuralNetworksMemory* made = nullptr;
  HALYARD_EXPECT_OK(ANeuralNetworksMemory_createFromAHardwareBuffer(raw, &made));
  const ApiHandle<ANeuralNetworksMemory> memory(made);
  HALYARD_ASSIGN_OR_RETURN(const auto execution, sum.execution());
  ANeuralNetworksExecution* const e = execution.get();
  for (const int32_t i : {0, 1}) {
    HALYARD_EXPECT_OK(ANeuralNetworksExecution_setInputFromMemory(e, i, nullptr, made, 0, size));
  }
  std::vector<uint8_t> out(size);
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_setOutput(e, 0, nullptr, out.data(), size));
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_compute(e));
  HALYARD_EXPECT(out == world.elements({6, 8, 10, 12}));
  return CheckResult::passed();
}

Result<ApiHandle<ANeuralNetworksMemory>> memoryFor(const CompiledSum& sum, bool input) {
  ANeuralNetworksMemoryDesc* made = nullptr;
  HALYARD_EXPECT_OK(ANeuralNetworksMemoryDesc_create(&made));
  const DescHandle desc(made);
  HALYARD_EXPECT_CODE(ANeuralNetworksMemoryDesc_finish(made), ANEURALNETWORKS_BAD_DATA);
  ANeuralNetworksCompilation* const compilation = sum.compilation.get();
  if (input) {
    HALYARD_EXPECT_OK(ANeuralNetworksMemoryDesc_addInputRole(made, compilation, 0, 1.0f));
    HALYARD_EXPECT_CODE(ANeuralNetworksMemoryDesc_addInputRole(made, compilation, 0, 1.0f),
                        ANEURALNETWORKS_BAD_DATA);
  } else {
    HALYARD_EXPECT_OK(ANeuralNetworksMemoryDesc_addOutputRole(made, compilation, 0, 1.0f));
  }
  ANeuralNetworksMemory* memory = nullptr;
  HALYARD_EXPECT_CODE(ANeuralNetworksMemory_createFromDesc(made, &memory),
                      ANEURALNETWORKS_BAD_STATE);
  HALYARD_EXPECT_OK(ANeuralNetworksMemoryDesc_finish(made));
  HALYARD_EXPECT_OK(ANeuralNetworksMemory_createFromDesc(made, &memory));
  return ApiHandle<ANeuralNetworksMemory>(memory);
}

// In: copied from a file into a device's memory; out: copied back.
CheckResult deviceMemory(ApiWorld& world) {
  if (world.level() < ANEURALNETWORKS_FEATURE_LEVEL_4) return tooOld("1.3");
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  const size_t size = 4 * world.elementSize();
  HALYARD_ASSIGN_OR_RETURN(const auto in, memoryFor(sum, true));
  HALYARD_ASSIGN_OR_RETURN(const auto out, memoryFor(sum, false));
  HALYARD_ASSIGN_OR_RETURN(const FileMemory file, FileMemory::make(size));
  HALYARD_EXPECT_CODE(ANeuralNetworksMemory_copy(out.get(), file.memory.get()),
                      ANEURALNETWORKS_BAD_DATA);  // nothing is in it yet
  HALYARD_RETURN_IF_ERROR(file.write(world.elements({1, 2, 3, 4}), 0));
  HALYARD_EXPECT_OK(ANeuralNetworksMemory_copy(file.memory.get(), in.get()));
  HALYARD_ASSIGN_OR_RETURN(const auto execution, sum.execution());
  ANeuralNetworksExecution* const e = execution.get();
  const std::vector<uint8_t> b = world.elements({5, 5, 5, 5});
  HALYARD_EXPECT_CODE(ANeuralNetworksExecution_setInputFromMemory(e, 0, nullptr, out.get(), 0, 0),
                      ANEURALNETWORKS_BAD_DATA);  // it has another role
  HALYARD_EXPECT_CODE(
      ANeuralNetworksExecution_setInputFromMemory(e, 0, nullptr, in.get(), 0, size - 1),
      ANEURALNETWORKS_BAD_DATA);
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_setInputFromMemory(e, 0, nullptr, in.get(), 0, 0));
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_setInput(e, 1, nullptr, b.data(), b.size()));
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_setOutputFromMemory(e, 0, nullptr, out.get(), 0, 0));
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_compute(e));
  HALYARD_EXPECT_OK(ANeuralNetworksMemory_copy(out.get(), file.memory.get()));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> result, file.read(size, 0));
  HALYARD_EXPECT(result == world.elements({6, 7, 8, 9}));
  HALYARD_EXPECT_OK(ANeuralNetworksMemory_copy(out.get(), out.get()));
  HALYARD_ASSIGN_OR_RETURN(const FileMemory small, FileMemory::make(size - 1));
  HALYARD_EXPECT_CODE(ANeuralNetworksMemory_copy(out.get(), small.memory.get()),
                      ANEURALNETWORKS_BAD_DATA);
  return CheckResult::passed();
}

// A memory that nothing was written to is no input.
CheckResult emptyMemory(ApiWorld& world) {
  if (world.level() < ANEURALNETWORKS_FEATURE_LEVEL_4) return tooOld("1.3");
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  HALYARD_ASSIGN_OR_RETURN(const auto in, memoryFor(sum, true));
  HALYARD_ASSIGN_OR_RETURN(const auto execution, sum.execution());
  ANeuralNetworksExecution* const e = execution.get();
  const std::vector<uint8_t> b = world.elements({5, 5, 5, 5});
  std::vector<uint8_t> out(b.size());
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_setInputFromMemory(e, 0, nullptr, in.get(), 0, 0));
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_setInput(e, 1, nullptr, b.data(), b.size()));
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_setOutput(e, 0, nullptr, out.data(), out.size()));
  HALYARD_EXPECT_CODE(ANeuralNetworksExecution_compute(e), ANEURALNETWORKS_OP_FAILED);
  return CheckResult::passed();
}

}  // namespace

void listMemoryChecks(ApiChecks& checks) {
  checks.add("memory/files", "arguments may lie anywhere in a file's memory", filesAtOffsets);
  checks.add("memory/constants", "constants may lie in a memory that is only read",
             constantsInAFile);
  checks.add("memory/hardware_buffers", "a hardware buffer of format BLOB is an input",
             hardwareBuffers);
  checks.add("memory/of_descriptors", "the device's memory is filled, used and copied",
             deviceMemory);
  checks.add("memory/without_contents", "a memory that nothing was written to is no input",
             emptyMemory);
}

}  // namespace halyard::validation
