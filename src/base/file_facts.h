// FileFacts: what the kernel, not its sender, says about a file descriptor.
// Thread safety: pure functions. Ownership: none; descriptors are borrowed.
#pragma once

#include <cstdint>

#include "halyard/driver/status.h"

namespace halyard {

struct FileFacts {
  uint64_t size = 0;  // bytes, now
  bool isDmaBuf = false;
  bool writable = false;          // by the descriptor's mode
  bool sealedForWriting = false;  // nobody can map it for writing any more
  // The size can never become less: an access to its mapping cannot raise SIGBUS.
  bool cannotShrink = false;
  // Neither its size nor its seals can ever change.
  bool isFixed = false;
};

// BAD_DATA for what is neither a regular file nor a dma-buf, and for a descriptor that is not open
// for reading; RESOURCE_EXHAUSTED_TRANSIENT when the file is another process's and does not answer.
Result<FileFacts> examineFile(int fd);

}  // namespace halyard
