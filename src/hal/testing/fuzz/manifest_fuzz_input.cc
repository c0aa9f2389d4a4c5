#include "hal/testing/fuzz/manifest_fuzz_input.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "hal/manifest/manifest.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal::fuzz {
namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "manifest_fuzz: %s\n", what);
  std::abort();
}

}  // namespace

void runManifestFuzzInput(std::span<const uint8_t> bytes) {
  static const UniqueFd file(::memfd_create("manifest", MFD_CLOEXEC));
  require(::ftruncate(file.get(), 0) == 0, "no file");
  require(::pwrite(file.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
          "no file");
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  const Result<Manifest> manifest = loadManifest(path);
  if (!manifest.ok()) {
    require(manifest.status().code() == ResultCode::BAD_DATA, "a refusal of another kind");
    require(manifest.status().message().find(path) != std::string::npos, "a refusal of no file");
    return;
  }
  const std::string& name = manifest->name;
  require(std::count(name.begin(), name.end(), '-') == 1, "a name that is none");
  require(!name.empty() && name.size() <= 128, "a name that is empty or long");
  require(!manifest->version.empty(), "an empty version");
  require(manifest->target.starts_with('/'), "a target that is not absolute");
  require(manifest->target.find('\0') == std::string::npos, "a target with a zero byte");
}

}  // namespace halyard::hal::fuzz
