#include "base/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "halyard/driver/unique_fd.h"

namespace halyard {

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  ok_ = context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1;
}

Sha256::~Sha256() = default;

void Sha256::add(const void* data, size_t size) {
  ok_ = ok_ && (size == 0 || EVP_DigestUpdate(context_.get(), data, size) == 1);
}

Result<Sha256::Digest> Sha256::finish() {
  Digest digest;
  unsigned length = 0;
  ok_ = ok_ && EVP_DigestFinal_ex(context_.get(), digest.data(), &length) == 1;
  if (!ok_ || length != digest.size()) return opFailed("libcrypto does not compute SHA-256");
  ok_ = false;
  return digest;
}

Result<Sha256::Digest> sha256OfFile(const std::string& path) {
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

}  // namespace halyard
