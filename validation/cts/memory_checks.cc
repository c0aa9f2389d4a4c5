// Memories of files, hardware buffers and descriptors; roles and copies.
#include <android/hardware_buffer.h>
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "validation/cts/api_world.h"

namespace halyard::validation {
namespace {

constexpr size_t kPage = kFileMemorySize;

// All arguments in one file, at offsets that are not multiples of a page.
CheckResult filesAtOffsets(ApiWorld& world) {
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  HALYARD_ASSIGN_OR_RETURN(const FileMemory file, FileMemory::make());
  const size_t size = 4 * world.elementSize();
  HALYARD_RETURN_IF_ERROR(file.write(world.elements({1, 2, 3, 4}), 20));
  HALYARD_RETURN_IF_ERROR(file.write(world.elements({5, 6, 7, 8}), 200));
  HALYARD_ASSIGN_OR_RETURN(const auto execution, sum.execution());
  const ANeuralNetworksMemory* const memory = file.memory.get();
  HALYARD_EXPECT_CODE(execution.setInputFromMemory(0, nullptr, memory, kPage - size + 1, size),
                      ANEURALNETWORKS_BAD_DATA);
  HALYARD_EXPECT_OK(execution.setInputFromMemory(0, nullptr, memory, 20, size));
  HALYARD_EXPECT_OK(execution.setInputFromMemory(1, nullptr, memory, 200, size));
  HALYARD_EXPECT_OK(execution.setOutputFromMemory(0, nullptr, memory, 1000, size));
  HALYARD_EXPECT_OK(execution.compute());
  HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> out, file.read(size, 1000));
  HALYARD_EXPECT(out == world.elements({6, 8, 10, 12}));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> around, file.read(4, 1000 + size));
  HALYARD_EXPECT(around == std::vector<uint8_t>(4));
  return CheckResult::passed();
}

// A model with two constants, at offsets 20 and 200 of one memory.
CheckResult constantsIn(ApiWorld& world, const ANeuralNetworksMemory* memory) {
  HALYARD_ASSIGN_OR_RETURN(const auto model, newModel());
  const Dims dims = {4};
  const size_t size = 4 * world.elementSize();
  for (int i = 0; i < 5; ++i) HALYARD_EXPECT_OK(model.addOperand(world.tensor(dims)));
  HALYARD_EXPECT_OK(model.addOperand(ANEURALNETWORKS_INT32));
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  HALYARD_EXPECT_OK(model.setOperandValue(5, &none, sizeof none));
  HALYARD_EXPECT_OK(model.setOperandValueFromMemory(1, memory, 20, size));
  HALYARD_EXPECT_OK(model.setOperandValueFromMemory(2, memory, 200, size));
  HALYARD_EXPECT_OK(model.addOperation(ANEURALNETWORKS_ADD, {0, 1, 5}, {3}));
  HALYARD_EXPECT_OK(model.addOperation(ANEURALNETWORKS_ADD, {3, 2, 5}, {4}));
  HALYARD_EXPECT_OK(model.identifyInputsAndOutputs({0}, {4}));
  HALYARD_EXPECT_OK(model.finish());
  HALYARD_ASSIGN_OR_RETURN(const bool takes, world.takes(model, 2));
  if (!takes) return CheckResult::skipped("the device does not add constants");
  HALYARD_ASSIGN_OR_RETURN(const auto compilation, world.compile(model));
  client::Execution execution;
  HALYARD_EXPECT_OK(execution.create(compilation.get()));
  const std::vector<uint8_t> in = world.elements({10, 10, 10, 10});
  std::vector<uint8_t> out(size);
  HALYARD_EXPECT_OK(execution.setInput(0, nullptr, in.data(), size));
  HALYARD_EXPECT_OK(execution.setOutput(0, nullptr, out.data(), size));
  HALYARD_EXPECT_OK(execution.compute());
  HALYARD_EXPECT(out == world.elements({16, 18, 20, 22}));
  return CheckResult::passed();
}

// Constants in a memory of a file that is mapped for reading only.
CheckResult constantsInAFile(ApiWorld& world) {
  HALYARD_ASSIGN_OR_RETURN(const FileMemory file, FileMemory::make());
  HALYARD_RETURN_IF_ERROR(file.write(world.elements({1, 2, 3, 4}), 20));
  HALYARD_RETURN_IF_ERROR(file.write(world.elements({5, 6, 7, 8}), 200));
  client::Memory memory;
  HALYARD_EXPECT_OK(memory.createFromFd(kPage, PROT_READ, file.fd.get(), 0));
  return constantsIn(world, memory.get());
}

Result<size_t> sharedMappings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  std::string place;
  std::string rights;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream(line) >> place >> rights;
    if (rights.ends_with('s')) ++count;
  }
  return maps.eof() ? Result<size_t>(count) : opFailed("/proc/self/maps cannot be read");
}

// Memories, models and executions remove their mappings when they are freed.
CheckResult leavesNoMappings(ApiWorld& world) {
  constexpr size_t kRounds = 20;
  size_t before = 0;
  for (size_t i = 0; i <= kRounds; ++i) {
    const CheckResult result = constantsInAFile(world);
    if (result.outcome != Outcome::PASSED) return result;
    if (i > 0) continue;
    HALYARD_ASSIGN_OR_RETURN(before, sharedMappings());
  }
  HALYARD_ASSIGN_OR_RETURN(const size_t after, sharedMappings());
  if (after < before + kRounds / 2) return CheckResult::passed();
  return opFailed("{} shared mappings after {} rounds, {} after the first", after, kRounds, before);
}

struct FreeBuffer {
  void operator()(AHardwareBuffer* buffer) const { AHardwareBuffer_release(buffer); }
};

// A BLOB buffer with `contents` at some offsets, and its memory.
struct BufferMemory {
  std::unique_ptr<AHardwareBuffer, FreeBuffer> buffer;
  client::Memory memory;

  static Result<BufferMemory> make(
      uint32_t size, uint64_t moreUsage,
      std::initializer_list<std::pair<size_t, std::vector<uint8_t>>> contents) {
    AHardwareBuffer_Desc desc = {};
    desc.width = size;
    desc.height = 1;
    desc.layers = 1;
    desc.format = AHARDWAREBUFFER_FORMAT_BLOB;
    desc.usage =
        AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN | moreUsage;
    BufferMemory made;
    AHardwareBuffer* raw = nullptr;
    HALYARD_EXPECT(AHardwareBuffer_allocate(&desc, &raw) == 0);
    made.buffer.reset(raw);
    void* mapped = nullptr;
    const uint64_t usage =
        AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN;
    HALYARD_EXPECT(AHardwareBuffer_lock(raw, usage, -1, nullptr, &mapped) == 0);
    for (const auto& [at, bytes] : contents) {
      std::memcpy(static_cast<uint8_t*>(mapped) + at, bytes.data(), bytes.size());
    }
    HALYARD_EXPECT(AHardwareBuffer_unlock(raw, nullptr) == 0);
    HALYARD_EXPECT_OK(made.memory.createFromAHardwareBuffer(raw));
    return made;
  }
};

CheckResult constantsInABuffer(ApiWorld& world) {
  if (world.level() < ANEURALNETWORKS_FEATURE_LEVEL_3) return tooOld("1.2");
  HALYARD_ASSIGN_OR_RETURN(
      const BufferMemory buffer,
      BufferMemory::make(
          248, 0, {{20, world.elements({1, 2, 3, 4})}, {200, world.elements({5, 6, 7, 8})}}));
  return constantsIn(world, buffer.memory.get());
}

// With and without the usage AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER.
CheckResult hardwareBuffers(ApiWorld& world) {
  if (world.level() < ANEURALNETWORKS_FEATURE_LEVEL_3) return tooOld("1.2");
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  const size_t size = 4 * world.elementSize();
  for (const uint64_t usage : {uint64_t{0}, uint64_t{AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER}}) {
    HALYARD_ASSIGN_OR_RETURN(const BufferMemory buffer,
                             BufferMemory::make(256, usage, {{0, world.elements({3, 4, 5, 6})}}));
    HALYARD_ASSIGN_OR_RETURN(const auto execution, sum.execution());
    for (const int32_t i : {0, 1}) {
      HALYARD_EXPECT_OK(execution.setInputFromMemory(i, nullptr, buffer.memory.get(), 0, size));
    }
    std::vector<uint8_t> out(size);
    HALYARD_EXPECT_OK(execution.setOutput(0, nullptr, out.data(), size));
    HALYARD_EXPECT_OK(execution.compute());
    HALYARD_EXPECT(out == world.elements({6, 8, 10, 12}));
  }
  return CheckResult::passed();
}

Result<client::Memory> memoryFor(const CompiledSum& sum, bool input) {
  client::MemoryDesc desc;
  HALYARD_EXPECT_OK(desc.create());
  HALYARD_EXPECT_CODE(desc.finish(), ANEURALNETWORKS_BAD_DATA);
  ANeuralNetworksCompilation* const compilation = sum.compilation.get();
  if (input) {
    HALYARD_EXPECT_OK(desc.addInputRole(compilation, 0, 1.0f));
    HALYARD_EXPECT_CODE(desc.addInputRole(compilation, 0, 1.0f), ANEURALNETWORKS_BAD_DATA);
  } else {
    HALYARD_EXPECT_OK(desc.addOutputRole(compilation, 0, 1.0f));
  }
  ANeuralNetworksMemory* memory = nullptr;
  HALYARD_EXPECT_CODE(ANeuralNetworksMemory_createFromDesc(desc.get(), &memory),
                      ANEURALNETWORKS_BAD_STATE);
  HALYARD_EXPECT_OK(desc.finish());
  HALYARD_EXPECT_OK(ANeuralNetworksMemory_createFromDesc(desc.get(), &memory));
  return client::Memory(memory);
}

// The input is copied from a file into a device's memory, and the output is copied back.
CheckResult deviceMemory(ApiWorld& world) {
  if (world.level() < ANEURALNETWORKS_FEATURE_LEVEL_4) return tooOld("1.3");
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  const size_t size = 4 * world.elementSize();
  HALYARD_ASSIGN_OR_RETURN(const auto in, memoryFor(sum, true));
  HALYARD_ASSIGN_OR_RETURN(const auto out, memoryFor(sum, false));
  HALYARD_ASSIGN_OR_RETURN(const FileMemory file, FileMemory::make(size));
  HALYARD_EXPECT_CODE(ANeuralNetworksMemory_copy(out.get(), file.memory.get()),
                      ANEURALNETWORKS_BAD_DATA);  // it has no contents yet
  HALYARD_RETURN_IF_ERROR(file.write(world.elements({1, 2, 3, 4}), 0));
  HALYARD_EXPECT_OK(ANeuralNetworksMemory_copy(file.memory.get(), in.get()));
  HALYARD_ASSIGN_OR_RETURN(const auto execution, sum.execution());
  const std::vector<uint8_t> b = world.elements({5, 5, 5, 5});
  HALYARD_EXPECT_CODE(execution.setInputFromMemory(0, nullptr, out.get(), 0, 0),
                      ANEURALNETWORKS_BAD_DATA);  // the memory has another role
  HALYARD_EXPECT_CODE(execution.setInputFromMemory(0, nullptr, in.get(), 0, size - 1),
                      ANEURALNETWORKS_BAD_DATA);
  HALYARD_EXPECT_OK(execution.setInputFromMemory(0, nullptr, in.get(), 0, 0));
  HALYARD_EXPECT_OK(execution.setInput(1, nullptr, b.data(), b.size()));
  HALYARD_EXPECT_OK(execution.setOutputFromMemory(0, nullptr, out.get(), 0, 0));
  HALYARD_EXPECT_OK(execution.compute());
  HALYARD_EXPECT_OK(ANeuralNetworksMemory_copy(out.get(), file.memory.get()));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> result, file.read(size, 0));
  HALYARD_EXPECT(result == world.elements({6, 7, 8, 9}));
  HALYARD_EXPECT_OK(ANeuralNetworksMemory_copy(out.get(), out.get()));
  HALYARD_ASSIGN_OR_RETURN(const FileMemory small, FileMemory::make(size - 1));
  HALYARD_EXPECT_CODE(ANeuralNetworksMemory_copy(out.get(), small.memory.get()),
                      ANEURALNETWORKS_BAD_DATA);
  return CheckResult::passed();
}

// A memory without contents cannot be an input.
CheckResult emptyMemory(ApiWorld& world) {
  if (world.level() < ANEURALNETWORKS_FEATURE_LEVEL_4) return tooOld("1.3");
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  HALYARD_ASSIGN_OR_RETURN(const auto in, memoryFor(sum, true));
  HALYARD_ASSIGN_OR_RETURN(const auto execution, sum.execution());
  const std::vector<uint8_t> b = world.elements({5, 5, 5, 5});
  std::vector<uint8_t> out(b.size());
  HALYARD_EXPECT_OK(execution.setInputFromMemory(0, nullptr, in.get(), 0, 0));
  HALYARD_EXPECT_OK(execution.setInput(1, nullptr, b.data(), b.size()));
  HALYARD_EXPECT_OK(execution.setOutput(0, nullptr, out.data(), out.size()));
  HALYARD_EXPECT_CODE(execution.compute(), ANEURALNETWORKS_OP_FAILED);
  return CheckResult::passed();
}

// A memory that is the output of one compilation and the input of another. The runtime chooses its
// kind. It exists with any driver.
CheckResult fromOneToAnother(ApiWorld& world) {
  HALYARD_ASSIGN_OR_RETURN(const auto model, world.sum({4}, {4}, {4}));
  client::MemoryDesc desc;
  HALYARD_EXPECT_OK(desc.create());
  std::vector<client::Compilation> compilations;
  for (int i = 0; i < 2; ++i) {
    ANeuralNetworksCompilation* made = nullptr;
    HALYARD_EXPECT_OK(ANeuralNetworksCompilation_create(model.get(), &made));
    compilations.emplace_back(made);
    HALYARD_EXPECT_OK(ANeuralNetworksCompilation_finish(made));
    HALYARD_EXPECT_OK(i == 0 ? desc.addOutputRole(made, 0, 1.0f)
                             : desc.addInputRole(made, 1, 1.0f));
  }
  HALYARD_EXPECT_OK(desc.finish());
  client::Memory memory;
  HALYARD_EXPECT_OK(memory.createFromDesc(desc.get()));
  const std::vector<uint8_t> in = world.elements({1, 2, 3, 4});
  std::vector<uint8_t> out(in.size());
  for (int i = 0; i < 2; ++i) {
    client::Execution execution;
    HALYARD_EXPECT_OK(execution.create(compilations[static_cast<size_t>(i)].get()));
    HALYARD_EXPECT_OK(execution.setInput(0, nullptr, in.data(), in.size()));
    if (i == 0) {
      HALYARD_EXPECT_OK(execution.setInput(1, nullptr, in.data(), in.size()));
      HALYARD_EXPECT_OK(execution.setOutputFromMemory(0, nullptr, memory.get(), 0, 0));
    } else {
      HALYARD_EXPECT_OK(execution.setInputFromMemory(1, nullptr, memory.get(), 0, 0));
      HALYARD_EXPECT_OK(execution.setOutput(0, nullptr, out.data(), out.size()));
    }
    HALYARD_EXPECT_OK(execution.compute());
  }
  HALYARD_EXPECT(out == world.elements({3, 6, 9, 12}));
  return CheckResult::passed();
}

}  // namespace

void listMemoryChecks(ApiChecks& checks) {
  checks.add("memory/files", "arguments may lie anywhere in a file's memory", filesAtOffsets);
  checks.add("memory/constants", "constants may lie in a memory that is only read",
             constantsInAFile);
  checks.add("memory/constants_in_a_buffer", "constants may lie in a hardware buffer",
             constantsInABuffer);
  checks.add("memory/leaves_no_mappings", "what is freed leaves no mapping behind",
             leavesNoMappings);
  checks.add("memory/from_one_to_another",
             "the output of one compilation is the input of another in memory made for both",
             fromOneToAnother);
  checks.add("memory/hardware_buffers", "a hardware buffer of format BLOB is an input",
             hardwareBuffers);
  checks.add("memory/of_descriptors", "the device's memory is filled, used and copied",
             deviceMemory);
  checks.add("memory/without_contents", "a memory that nothing was written to is no input",
             emptyMemory);
}

}  // namespace halyard::validation
