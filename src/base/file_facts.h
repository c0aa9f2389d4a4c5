// FileFacts: facts about a file descriptor from the kernel, not from the sender.
// Thread safety: pure functions.
// Ownership: none; descriptors are borrowed.
#pragma once

#include <cstdint>

#include "halyard/driver/status.h"

namespace halyard {

struct FileFacts {
  uint64_t size = 0;  // current size in bytes
  bool isDmaBuf = false;
  bool writable = false;          // from the descriptor's mode
  bool sealedForWriting = false;  // no process can map it for writing any more
  // The size can never become smaller, so an access to its mapping cannot raise SIGBUS.
  bool cannotShrink = false;
  // Neither its size nor its seals can ever change.
  bool isFixed = false;
};

// Returns BAD_DATA unless the descriptor is a regular file or a dma-buf and is open for reading.
// Returns RESOURCE_EXHAUSTED_TRANSIENT when another process provides the file and does not answer.
Result<FileFacts> examineFile(int fd);

}  // namespace halyard
