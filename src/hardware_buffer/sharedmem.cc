// ASharedMemory_*.
#include <android/sharedmem.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <string>

#include "base/file_facts.h"
#include "halyard/driver/unique_fd.h"

using halyard::FileFacts;
using halyard::Result;
using halyard::UniqueFd;

namespace {

constexpr size_t kLongestName = 249;  // the limit of memfd_create

// The facts about the file, if it is memory of the kind that ASharedMemory_create makes. BAD_DATA
// otherwise.
Result<FileFacts> sharedMemoryFacts(int fd) {
  HALYARD_ASSIGN_OR_RETURN(const FileFacts facts, halyard::examineFile(fd));
  if (facts.isDmaBuf || !facts.cannotShrink) return halyard::badData("not shared memory");
  return facts;
}

int fail(int error) {
  errno = error;
  return -1;
}

}  // namespace

int ASharedMemory_create(const char* name, size_t size) {
  if (size == 0) return -EINVAL;
  if (size > static_cast<size_t>(std::numeric_limits<off_t>::max())) return fail(ENOMEM);
  const std::string ownName = std::string(name != nullptr ? name : "none").substr(0, kLongestName);
  UniqueFd fd(::memfd_create(ownName.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid() || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    const int error = errno;
    fd.reset();
    return fail(error);
  }
  return fd.release();
}

size_t ASharedMemory_getSize(int fd) {
  const Result<FileFacts> facts = sharedMemoryFacts(fd);
  return facts.ok() ? static_cast<size_t>(facts.value().size) : 0;
}

int ASharedMemory_setProt(int fd, int prot) {
  const Result<FileFacts> facts = sharedMemoryFacts(fd);
  if (!facts.ok() || (prot & ~(PROT_READ | PROT_WRITE | PROT_EXEC)) != 0) return -EINVAL;
  if ((prot & PROT_READ) == 0) return fail(ENOTSUP);
  const bool sealed = facts.value().sealedForWriting;
  if ((prot & PROT_WRITE) != 0) return sealed ? fail(EINVAL) : 0;
  if (sealed) return 0;
  return ::fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0 ? 0 : -1;
}
