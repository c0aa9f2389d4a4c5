// The implementation uses Nettle, which every process with the runtime already loads. Nettle is
// small, has no global state and reads no configuration.
#include "base/sha256.h"

#include <fcntl.h>
#include <nettle/sha2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "halyard/driver/unique_fd.h"

namespace halyard {

Sha256::Sha256() : state_(std::make_unique<sha256_ctx>()) { sha256_init(state_.get()); }

Sha256::~Sha256() = default;

Sha256& Sha256::add(const void* data, size_t size) {
  if (size != 0) sha256_update(state_.get(), size, static_cast<const uint8_t*>(data));
  return *this;
}

Sha256& Sha256::addNumber(uint64_t number) {
  std::array<uint8_t, 8> bytes;
  for (uint8_t& byte : bytes) {
    byte = static_cast<uint8_t>(number);
    number >>= 8;
  }
  return add(bytes);
}

Digest Sha256::finish() {
  Digest digest;
  // This call also resets the state.
  sha256_digest(state_.get(), digest.size(), digest.data());
  return digest;
}

Result<Digest> sha256OfFile(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return errnoStatus(ResultCode::OP_FAILED, errno, path);
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return errnoStatus(ResultCode::OP_FAILED, errno, path);
  if (!S_ISREG(st.st_mode)) return opFailed("{} is not a regular file", path);
  Sha256 hash;
  std::vector<uint8_t> piece(size_t{1} << 20);
  while (true) {
    const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errnoStatus(ResultCode::OP_FAILED, errno, path);
    if (got == 0) return hash.finish();
    hash.add(piece.data(), static_cast<size_t>(got));
  }
}

std::string hexOf(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace halyard
