// Finding the large constants: from the root table to the vector of buffers, to each buffer's data,
// by what FlatBuffers says of its format. The pages that are looked at stay, since what describes
// the model lies in them. Nothing that is found is believed further than that other pages need not
// be read now: the verification reads the memory.
#include "import/tflite/model_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/read_range.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::import {
namespace {

// More than this is no model; also what FlatBuffers can address.
constexpr int64_t kMaxFileSize = int64_t{1} << 31;
// More buffers than this are not looked at; the verification takes no more tables either.
constexpr size_t kMostBuffers = 1'000'000;
// Fields of tables, by the schema (tflite.fbs): Model.buffers, Buffer.data.
constexpr size_t kBuffersField = 4;
constexpr size_t kDataField = 0;

struct Range {
  size_t begin = 0;
  size_t end = 0;
};

// A page of memory has 1 << pageBits() bytes.
unsigned pageBits() {
  static const auto kBits =
      static_cast<unsigned>(std::countr_zero(static_cast<size_t>(::sysconf(_SC_PAGESIZE))));
  return kBits;
}

// So many pages have what is before `end`.
size_t pagesBefore(size_t end) { return (end + (size_t{1} << pageBits()) - 1) >> pageBits(); }

// Pages of a file in memory of its size, each of which is read once, when it is needed.
class Pages {
 public:
  // `memory`: at the begin of a page. Borrows both.
  Pages(int fd, std::span<uint8_t> memory)
      : fd_(fd), memory_(memory), isThere_(pagesBefore(memory.size()), false) {}

  // Reads what is not there yet of the pages that the range touches.
  Status read(const Range& range) {
    const size_t end = std::min(pagesBefore(range.end), isThere_.size());
    for (size_t page = range.begin >> pageBits(); page < end;) {
      const size_t first = page;
      while (page < end && !isThere_[page]) ++page;
      if (page > first) HALYARD_RETURN_IF_ERROR(readPages(first, page));
      while (page < end && isThere_[page]) ++page;
    }
    return okStatus();
  }

  // Numbers of the file. Whatever is not in it, or cannot be read, is 0.
  uint32_t u32(size_t at) { return number<uint32_t>(at); }
  uint16_t u16(size_t at) { return number<uint16_t>(at); }
  // Where field `field` of the table at `table` is; 0 if it is not there.
  size_t field(size_t table, size_t field) {
    const auto back = static_cast<int32_t>(u32(table));
    const int64_t vtable = static_cast<int64_t>(table) - back;
    if (vtable < 0 || vtable >= static_cast<int64_t>(memory_.size())) return 0;
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

  std::vector<bool> takeIsThere() { return std::move(isThere_); }

 private:
  template <typename T>
  T number(size_t at) {
    T value = 0;
    if (at >= memory_.size() || sizeof value > memory_.size() - at) return 0;
    const size_t first = at >> pageBits();
    const size_t last = (at + sizeof value - 1) >> pageBits();
    if (!isThere_[first] || !isThere_[last]) {
      if (!read({at, at + sizeof value}).ok()) return 0;  // who needs all of the file learns why
    }
    std::memcpy(&value, memory_.data() + at, sizeof value);
    return value;
  }

  Status readPages(size_t first, size_t end) {
    const size_t begin = first << pageBits();
    const std::span<uint8_t> to =
        memory_.subspan(begin, std::min(end << pageBits(), memory_.size()) - begin);
    // At once is quicker than one by one while they are read. Kernels that do not know this say so.
    (void)::madvise(to.data(), to.size(), MADV_POPULATE_WRITE);
    HALYARD_RETURN_IF_ERROR(readRange(fd_, begin, to));
    std::fill(isThere_.begin() + static_cast<ptrdiff_t>(first),
              isThere_.begin() + static_cast<ptrdiff_t>(end), true);
    return okStatus();
  }

  const int fd_;
  const std::span<uint8_t> memory_;
  std::vector<bool> isThere_;
};

// The tables of buffers, in the order in which they lie in the file. Reads them, with what lies
// between two that are no large constant apart.
std::vector<size_t> bufferTables(Pages& pages, size_t size) {
  std::vector<size_t> tables;
  const size_t buffers = pages.follow(pages.field(pages.u32(0), kBuffersField));
  // Each has an offset of its own in the vector.
  const size_t count = buffers == 0 ? 0 : pages.u32(buffers);
  if (count > kMostBuffers || count > size / 4) return tables;
  (void)pages.read({buffers, buffers + 4 + 4 * count});
  tables.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t table = pages.follow(buffers + 4 + 4 * i);
    if (table != 0 && table < size) tables.push_back(table);
  }
  std::ranges::sort(tables);
  for (size_t i = 0; i < tables.size();) {
    const size_t first = tables[i++];
    while (i < tables.size() && tables[i] - tables[i - 1] < ModelFile::kLeastLeft) ++i;
    (void)pages.read({first, tables[i - 1] + 1});
  }
  return tables;
}

// Contents of buffers that need not be read; in order, apart from each other. None if some overlap.
std::vector<Range> largeConstants(Pages& pages, size_t size) {
  std::vector<Range> found;
  for (const size_t table : bufferTables(pages, size)) {
    const size_t data = pages.follow(pages.field(table, kDataField));
    if (data == 0 || data + 4 > size) continue;
    const size_t length = pages.u32(data);
    if (length == 0 || length > size - data - 4) continue;
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
  std::erase_if(found, [](const Range& r) { return r.end - r.begin < ModelFile::kLeastLeft; });
  return found;
}

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
  HALYARD_ASSIGN_OR_RETURN(UniqueFd fd, openFile(path, &size));
  ModelFile file;
  file.pool_ = SharedMemory::ofConstants(
      SharedMemory(MemoryKind::MMAP_FD, std::move(fd), size, PROT_READ, 0));
  HALYARD_RETURN_IF_ERROR(size <= kMostWhole ? file.readWhole() : file.readAllButLargeConstants());
  return file;
}

Status ModelFile::readWhole() {
  whole_ = std::make_unique_for_overwrite<uint8_t[]>(pool_->size());
  bytes_ = {whole_.get(), pool_->size()};
  return readRange(pool_->fd(), 0, bytes_);
}

Status ModelFile::readAllButLargeConstants() {
  const size_t size = pool_->size();
  void* const base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return errnoStatus(ResultCode::OUT_OF_MEMORY, errno, "memory for it");
  sparse_ = Mapping(base, size, 0, size);
  bytes_ = {sparse_.data(), size};
  Pages pages(pool_->fd(), bytes_);
  size_t begin = 0;
  for (const Range& large : largeConstants(pages, size)) {
    HALYARD_RETURN_IF_ERROR(pages.read({begin, large.begin}));
    begin = large.end;
  }
  HALYARD_RETURN_IF_ERROR(pages.read({begin, size}));
  isPageThere_ = pages.takeIsThere();
  return okStatus();
}

std::optional<size_t> ModelFile::offsetOf(std::span<const uint8_t> part) const {
  const auto begin = reinterpret_cast<uintptr_t>(bytes_.data());
  const auto at = reinterpret_cast<uintptr_t>(part.data());
  if (at < begin || at - begin > bytes_.size() || part.size() > bytes_.size() - (at - begin)) {
    return std::nullopt;
  }
  return at - begin;
}

bool ModelFile::isThere(std::span<const uint8_t> part) const {
  const std::optional<size_t> at = offsetOf(part);
  if (!at) return false;
  if (isPageThere_.empty()) return true;
  const size_t end = pagesBefore(*at + part.size());
  for (size_t page = *at >> pageBits(); page < end; ++page) {
    if (!isPageThere_[page]) return false;
  }
  return true;
}

Result<std::vector<uint8_t>> ModelFile::read(std::span<const uint8_t> part) const {
  const std::optional<size_t> at = offsetOf(part);
  if (!at) return badData("{} bytes that are none of the file", part.size());
  std::vector<uint8_t> bytes(part.size());
  HALYARD_RETURN_IF_ERROR(readRange(pool_->fd(), *at, bytes));
  return bytes;
}

}  // namespace halyard::import
