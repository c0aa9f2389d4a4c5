#include "memory.h"

#include "client/canonical_model.h"
#include "client/status.h"

namespace halyard::python {
namespace nb = nanobind;

HeldBuffer::HeldBuffer(nb::handle object, bool writable) {
  const int flags = PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
}

Result<std::shared_ptr<Memory>> Memory::mapped(std::shared_ptr<const SharedMemory> shared) {
  auto memory = std::make_shared<Memory>();
  HALYARD_ASSIGN_OR_RETURN(memory->mapping_, shared->map());
  HALYARD_ASSIGN_OR_RETURN(memory->memory_, client::memoryOf(*shared));
  memory->shared_ = std::move(shared);
  return memory;
}

Result<std::shared_ptr<Memory>> Memory::allocate(size_t size) {
  HALYARD_ASSIGN_OR_RETURN(auto shared, SharedMemory::create(size, "halyard.Memory"));
  return mapped(std::move(shared));
}

Result<std::shared_ptr<Memory>> Memory::fromFd(int fd, size_t size, int protection,
                                               uint64_t offset) {
  HALYARD_ASSIGN_OR_RETURN(auto shared, SharedMemory::fromFd(size, protection, fd, offset));
  return mapped(std::move(shared));
}

Result<std::shared_ptr<Memory>> Memory::fromDescription(const client::MemoryDesc& description) {
  auto memory = std::make_shared<Memory>();
  HALYARD_RETURN_IF_FAILED(memory->memory_.createFromDesc(description.get()));
  return memory;
}

Status Memory::copyTo(const Memory& other) const {
  return client::toStatus(HALYARD_CALL(ANeuralNetworksMemory_copy, handle(), other.handle()));
}

}  // namespace halyard::python
