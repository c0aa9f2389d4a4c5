// Finding the large constants: from the root table to the vector of buffers, to each buffer's data,
// by what FlatBuffers says of its format, with pread. Nothing that is found is believed further
// than that the bytes need not be read now: the verification reads the memory.
#include "import/tflite/model_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/read_range.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::import {
namespace {

// More than this is no model; also what FlatBuffers can address.
constexpr int64_t kMaxFileSize = int64_t{1} << 31;
// How much is read at once while tables are followed, and how many such windows are kept: a table,
// what describes its fields, and what it points to lie apart.
constexpr size_t kWindow = 4096;
constexpr size_t kWindows = 4;
// More buffers than this are not looked at; the verification takes no more tables either.
constexpr size_t kMostBuffers = 1'000'000;
// Fields of tables, by the schema (tflite.fbs): Model.buffers, Buffer.data.
constexpr size_t kBuffersField = 4;
constexpr size_t kDataField = 0;

// Numbers of a file, read in windows. Whatever is not in the file is 0.
class Numbers {
 public:
  Numbers(int fd, size_t size) : fd_(fd), size_(size) {}

  uint32_t u32(size_t at) { return number<uint32_t>(at); }
  uint16_t u16(size_t at) { return number<uint16_t>(at); }
  // Where field `field` of the table at `table` is; 0 if it is not there.
  size_t field(size_t table, size_t field) {
    const auto back = static_cast<int32_t>(u32(table));
    const int64_t vtable = static_cast<int64_t>(table) - back;
    if (vtable < 0 || vtable >= static_cast<int64_t>(size_)) return 0;
    const size_t entry = 4 + 2 * field;
    if (entry + 2 > u16(static_cast<size_t>(vtable))) return 0;
    const uint16_t offset = u16(static_cast<size_t>(vtable) + entry);
    return offset == 0 ? 0 : table + offset;
  }
  // What the offset at `at` leads to; 0 for none.
  size_t follow(size_t at) {
    const uint32_t offset = at == 0 ? 0 : u32(at);
    return offset == 0 ? 0 : at + offset;
  }

 private:
  struct Window {
    size_t begin = 0;
    size_t end = 0;
    std::array<uint8_t, kWindow> bytes;
  };

  template <typename T>
  T number(size_t at) {
    T value = 0;
    if (at >= size_ || sizeof value > size_ - at) return 0;
    const auto hasIt = [&](const Window& window) {
      return at >= window.begin && at + sizeof value <= window.end;
    };
    auto window = std::ranges::find_if(windows_, hasIt);
    if (window == windows_.end()) {
      window = windows_.begin() + static_cast<ptrdiff_t>(next_++ % kWindows);
      // Half of it before the number: offsets lead back as well as on.
      window->begin = at - std::min(at, kWindow / 2);
      window->end = std::min(size_, window->begin + kWindow);
      const size_t bytes = window->end - window->begin;
      if (!readRange(fd_, window->begin, {window->bytes.data(), bytes}).ok()) {
        window->end = window->begin;
        return 0;
      }
    }
    std::memcpy(&value, window->bytes.data() + (at - window->begin), sizeof value);
    return value;
  }

  const int fd_;
  const size_t size_;
  std::array<Window, kWindows> windows_;
  size_t next_ = 0;
};

Result<UniqueFd> openFile(const std::string& path, size_t* size) {
  // A FIFO would wait for somebody to write to it.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return errnoStatus(ResultCode::BAD_DATA, errno, "cannot be opened");
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) {
    return errnoStatus(ResultCode::BAD_DATA, errno, "cannot be examined");
  }
  if (!S_ISREG(info.st_mode)) return badData("is not a regular file");
  if (info.st_size > kMaxFileSize) {
    return badData("has {} bytes, at most {} are supported", info.st_size, kMaxFileSize);
  }
  *size = static_cast<size_t>(info.st_size);
  return fd;
}

}  // namespace

Result<ModelFile> ModelFile::open(const std::string& path) {
  size_t size = 0;
  HALYARD_ASSIGN_OR_RETURN(const UniqueFd fd, openFile(path, &size));
  ModelFile file;
  HALYARD_ASSIGN_OR_RETURN(const SharedMemoryPtr memory,
                           SharedMemory::fromFd(size, PROT_READ, fd.get(), 0));
  file.pool_ = SharedMemory::ofConstants(*memory);
  if (size == 0) return file;
  const bool isWhole = size <= kMostWhole;
  void* const base =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (isWhole ? MAP_POPULATE : 0), -1, 0);
  if (base == MAP_FAILED) return errnoStatus(ResultCode::OUT_OF_MEMORY, errno, "memory for it");
  file.memory_ = Mapping(base, size, 0, size);
  if (!isWhole) file.left_ = file.largeConstants();
  size_t begin = 0;
  for (const Range& left : file.left_) {
    HALYARD_RETURN_IF_ERROR(file.readInto({begin, left.begin}));
    begin = left.end;
  }
  HALYARD_RETURN_IF_ERROR(file.readInto({begin, size}));
  return file;
}

Status ModelFile::readInto(const Range& range) {
  return readRange(pool_->fd(), range.begin,
                   {memory_.data() + range.begin, range.end - range.begin});
}

std::vector<ModelFile::Range> ModelFile::largeConstants() const {
  const size_t size = memory_.size();
  Numbers numbers(pool_->fd(), size);
  std::vector<Range> found;
  const size_t buffers = numbers.follow(numbers.field(numbers.u32(0), kBuffersField));
  // Each has an offset of its own in the vector.
  const size_t count = buffers == 0 ? 0 : numbers.u32(buffers);
  if (count > kMostBuffers) return found;
  std::vector<size_t> tables;
  for (size_t i = 0; i < count && buffers + 4 * i < size; ++i) {
    tables.push_back(numbers.follow(buffers + 4 + 4 * i));
  }
  for (const size_t table : tables) {
    const size_t data = table == 0 ? 0 : numbers.follow(numbers.field(table, kDataField));
    if (data == 0 || data + 4 > size) continue;
    const size_t length = numbers.u32(data);
    if (length < kLeastLeft || length > size - data - 4) continue;
    found.push_back({data + 4, data + 4 + length});
  }
  std::ranges::sort(found, {}, &Range::begin);
  // Buffers may share their data, but if they overlap otherwise, it is all read.
  const auto repeated = std::unique(found.begin(), found.end(), [](const Range& a, const Range& b) {
    return a.begin == b.begin && a.end == b.end;
  });
  found.erase(repeated, found.end());
  for (size_t i = 1; i < found.size(); ++i) {
    if (found[i].begin < found[i - 1].end) return {};
  }
  return found;
}

std::optional<size_t> ModelFile::offsetOf(std::span<const uint8_t> part) const {
  const auto begin = reinterpret_cast<uintptr_t>(memory_.data());
  const auto at = reinterpret_cast<uintptr_t>(part.data());
  if (at < begin || at - begin > memory_.size() || part.size() > memory_.size() - (at - begin)) {
    return std::nullopt;
  }
  return at - begin;
}

bool ModelFile::isThere(std::span<const uint8_t> part) const {
  const std::optional<size_t> at = offsetOf(part);
  if (!at) return false;
  // The first that ends behind its begin.
  const auto left = std::ranges::upper_bound(left_, *at, {}, &Range::end);
  return left == left_.end() || left->begin >= *at + part.size();
}

Result<std::vector<uint8_t>> ModelFile::read(std::span<const uint8_t> part) const {
  const std::optional<size_t> at = offsetOf(part);
  if (!at) return badData("{} bytes that are none of the file", part.size());
  std::vector<uint8_t> bytes(part.size());
  HALYARD_RETURN_IF_ERROR(readRange(pool_->fd(), *at, bytes));
  return bytes;
}

}  // namespace halyard::import
