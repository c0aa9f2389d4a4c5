#include "tflite_delegate/mapped_model.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "halyard/driver/unique_fd.h"

namespace halyard::tflite {
namespace {

// A line of /proc/self/maps.
struct Mapping {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  uint64_t offset = 0;
  dev_t device = 0;
  ino_t inode = 0;
  std::string path;
};

bool parse(const std::string& line, Mapping* mapping) {
  char access[5] = {};
  unsigned major = 0;
  unsigned minor = 0;
  uint64_t inode = 0;
  int path = 0;
  const int read = std::sscanf(
      line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
      &mapping->begin, &mapping->end, access, &mapping->offset, &major, &minor, &inode, &path);
  if (read != 7) return false;
  mapping->device = makedev(major, minor);
  mapping->inode = inode;
  mapping->path = line.substr(static_cast<size_t>(path));
  return true;
}

}  // namespace

MappedModel MappedModel::containing(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    Mapping mapping;
    if (!parse(line, &mapping) || wanted < mapping.begin || wanted >= mapping.end) continue;
    if (mapping.path.empty() || mapping.path[0] != '/') return {};
    // O_NONBLOCK: the path may be that of a pipe by now.
    UniqueFd fd(::open(mapping.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info {};
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
    // Another file may have the name by now.
    if (info.st_ino != mapping.inode || info.st_dev != mapping.device) return {};
    const auto size = static_cast<uint64_t>(info.st_size);
    if (mapping.offset >= size) return {};
    MappedModel model;
    const uint64_t length = std::min<uint64_t>(mapping.end - mapping.begin, size - mapping.offset);
    model.bytes_ = {reinterpret_cast<const uint8_t*>(mapping.begin), static_cast<size_t>(length)};
    model.offset_ = mapping.offset;
    model.pool_ = SharedMemory::ofConstants(
        SharedMemory(MemoryKind::MMAP_FD, std::move(fd), static_cast<size_t>(size), PROT_READ, 0));
    return model;
  }
  return {};
}

bool MappedModel::hasDescription() const {
  // The identifier follows the offset of the first table.
  return pool_ != nullptr && offset_ == 0 && bytes_.size() >= 8 &&
         std::memcmp(bytes_.data() + 4, "TFL3", 4) == 0;
}

bool MappedModel::contains(const void* data, size_t size) const {
  const auto* const bytes = static_cast<const uint8_t*>(data);
  return pool_ != nullptr && bytes >= bytes_.data() && size <= bytes_.size() &&
         static_cast<size_t>(bytes - bytes_.data()) <= bytes_.size() - size;
}

}  // namespace halyard::tflite
