// BufferMemory: the memory of one buffer. The driver makes it, or else the session.
// Thread safety: immutable; the contents are protected by the state of the buffer.
// Ownership: shares the memory. Its pool in a request shares it, too, with its charge on the
// client's account.
#pragma once

#include "hal/checks/pool_mapping.h"
#include "hal/session/memory_account.h"
#include "halyard/driver/device.h"

namespace halyard::hal {

class BufferMemory {
 public:
  // No memory.
  BufferMemory() = default;
  // Asks `device` for memory of its own. Makes shared memory if it has none, or `device` is null.
  // OP_FAILED when there is no memory. `share`: the charge for it.
  static Result<BufferMemory> make(Device* device, const MemoryOrder& order,
                                   MemoryAccount::Share share);

  size_t capacity() const { return capacity_; }  // 0: no memory
  // The pool for a request to the driver.
  const RequestPool& pool() const { return pool_; }

  // Copies the contents, of `size` bytes and `dimensions`, out or in. `size` is at most the
  // capacity and the size of the pool.
  Status read(const ReceivedPool& to, size_t size, const Shape& dimensions) const;
  Status write(const ReceivedPool& from, size_t size, const Shape& dimensions) const;

 private:
  BufferMemory(RequestPool pool, size_t capacity) : pool_(std::move(pool)), capacity_(capacity) {}

  RequestPool pool_;  // no token
  size_t capacity_ = 0;
};

}  // namespace halyard::hal
