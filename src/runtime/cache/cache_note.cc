// It is written over the one before, in place: cutting a file off takes some file systems a
// millisecond.
#include "runtime/cache/cache_note.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <ctime>

#include "halyard/driver/unique_fd.h"

namespace halyard::runtime {
namespace {

constexpr int kSafely = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
constexpr size_t kMostBytes = 128;

bool isOwnFile(const struct stat& st) {
  return S_ISREG(st.st_mode) && st.st_uid == ::geteuid() && st.st_nlink == 1;
}

}  // namespace

CacheNote::CacheNote(std::string_view folder, std::string_view kind, const Digest& of)
    : path_(fmt::format("{}.halyard-{}-{}", folder, kind, hexOf(std::span(of).first<16>()))),
      prefix_(fmt::format("halyard {} 1 ", kind)) {}

std::optional<std::string> CacheNote::read() const {
  const UniqueFd fd(::open(path_.c_str(), O_RDONLY | kSafely));
  struct stat st {};
  if (!fd.valid() || ::fstat(fd.get(), &st) != 0 || !isOwnFile(st)) return std::nullopt;
  const int64_t age = std::time(nullptr) - st.st_mtime;
  if (age < 0 || age > std::chrono::seconds(kNoteAge).count()) return std::nullopt;
  std::array<char, kMostBytes> bytes;
  const ssize_t size = ::read(fd.get(), bytes.data(), bytes.size());
  if (size <= 0) return std::nullopt;
  const std::string_view text(bytes.data(), static_cast<size_t>(size));
  const size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(prefix_)) return std::nullopt;
  return std::string(text.substr(prefix_.size(), end - prefix_.size()));
}

void CacheNote::write(std::string_view text) const {
  const UniqueFd fd(::open(path_.c_str(), O_WRONLY | O_CREAT | kSafely, S_IRUSR | S_IWUSR));
  struct stat st {};
  if (!fd.valid() || ::fstat(fd.get(), &st) != 0 || !isOwnFile(st)) return;
  const std::string line = fmt::format("{}{}\n", prefix_, text);
  const auto size = static_cast<ssize_t>(line.size());
  if (::pwrite(fd.get(), line.data(), line.size(), 0) == size && st.st_size > size) {
    (void)!::ftruncate(fd.get(), size);
  }
}

void CacheNote::remove() const { (void)::unlink(path_.c_str()); }

}  // namespace halyard::runtime
