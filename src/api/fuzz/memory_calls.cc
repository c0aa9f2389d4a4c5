// Calls for memories and their descriptors.
#include <sys/mman.h>
#include <unistd.h>

#include "api/fuzz/calls.h"

namespace halyard::api::fuzz {
namespace {

constexpr uint32_t kPage = 4096;

ANeuralNetworksMemory* handleOf(const MemoryObject* memory) {
  return memory == nullptr ? nullptr : memory->handle;
}

void keep(ObjectTable& table, ANeuralNetworksMemory* handle, size_t size) {
  if (handle == nullptr) fail("success without a memory");
  table.memories.push_back(std::make_unique<MemoryObject>(MemoryObject{handle, size}));
}

void createFromFile(ObjectTable& table, ByteSource& bytes) {
  const int fd = ::memfd_create("api_fuzz", MFD_CLOEXEC);
  const uint32_t pages = bytes.below(4);
  if (fd < 0 || ::ftruncate(fd, pages * kPage) != 0) fail("no memory to be had");
  const auto content = bytes.take(bytes.byte());
  if (::pwrite(fd, content.data(), content.size(), 0) < 0) fail("memory cannot be written");
  const size_t size = bytes.oneIn(8) ? bytes.number64() : 1 + bytes.word() % (3 * kPage);
  const size_t offset = bytes.oneIn(4) ? bytes.number32() : 0;
  const int protection = bytes.oneIn(8) ? bytes.byte() : PROT_READ | PROT_WRITE;
  ANeuralNetworksMemory* handle = nullptr;
  const int used = bytes.oneIn(20) ? -1 : fd;
  if (check(ANeuralNetworksMemory_createFromFd(size, protection, used, offset, &handle))) {
    keep(table, handle, size);
  }
  ::close(fd);
}

void createFromDescriptor(ObjectTable& table, ByteSource& bytes) {
  const uint8_t choice = bytes.byte();
  const ANeuralNetworksMemoryDesc* const desc =
      table.descriptors.empty() ? nullptr : table.descriptors[choice % table.descriptors.size()];
  ANeuralNetworksMemory* handle = nullptr;
  if (check(ANeuralNetworksMemory_createFromDesc(desc, &handle))) keep(table, handle, 0);
}

void copy(ObjectTable& table, ByteSource& bytes) {
  // An execution must not use the memories during the copy.
  for (const auto& execution : table.executions) {
    for (ANeuralNetworksEvent* const event : execution->events) ANeuralNetworksEvent_wait(event);
  }
  const MemoryObject* const from = table.pick(table.memories, bytes);
  const MemoryObject* const to = table.pick(table.memories, bytes);
  check(ANeuralNetworksMemory_copy(handleOf(from), handleOf(to)));
}

void createDescriptor(ObjectTable& table, ByteSource&) {
  ANeuralNetworksMemoryDesc* desc = nullptr;
  if (!check(ANeuralNetworksMemoryDesc_create(&desc))) return;
  if (desc == nullptr) fail("success without a descriptor");
  table.descriptors.push_back(desc);
}

ANeuralNetworksMemoryDesc* pickDescriptor(ObjectTable& table, ByteSource& bytes) {
  const uint8_t choice = bytes.byte();
  if (table.descriptors.empty() || choice == 0xff) return nullptr;
  return table.descriptors[choice % table.descriptors.size()];
}

void addRole(ObjectTable& table, ByteSource& bytes) {
  ANeuralNetworksMemoryDesc* const desc = pickDescriptor(table, bytes);
  const CompilationObject* const compilation = table.pick(table.compilations, bytes);
  const bool input = bytes.oneIn(2);
  const uint32_t index = bytes.byte() % 8u;
  const float frequency = bytes.oneIn(8) ? -1.0f : static_cast<float>(bytes.byte()) / 200.0f;
  check((input ? ANeuralNetworksMemoryDesc_addInputRole : ANeuralNetworksMemoryDesc_addOutputRole)(
      desc, compilation ? compilation->handle : nullptr, index, frequency));
}

void setDimensions(ObjectTable& table, ByteSource& bytes) {
  ANeuralNetworksMemoryDesc* const desc = pickDescriptor(table, bytes);
  const ANeuralNetworksOperandType type = chooseOperandType(table, bytes);
  check(ANeuralNetworksMemoryDesc_setDimensions(desc, type.dimensionCount, type.dimensions));
}

void finishDescriptor(ObjectTable& table, ByteSource& bytes) {
  check(ANeuralNetworksMemoryDesc_finish(pickDescriptor(table, bytes)));
}

}  // namespace

std::span<const Call> memoryCalls() {
  static constexpr Call kCalls[] = {
      createFromFile, createFromDescriptor, copy, createDescriptor, addRole,
      setDimensions,  finishDescriptor};
  return kCalls;
}

}  // namespace halyard::api::fuzz
