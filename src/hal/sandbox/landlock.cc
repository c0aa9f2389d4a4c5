#include "hal/sandbox/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "base/kept_folders.h"
#include "hal/sandbox/sanitizer.h"

namespace halyard::hal {
namespace {

// Definitions of newer kernels, which Debian's headers lack.
struct RulesetAttributes {
  uint64_t fs;
  uint64_t net;     // ABI 4
  uint64_t scoped;  // ABI 6
};
constexpr uint64_t kTruncate = uint64_t{1} << 14;  // ABI 3
constexpr uint64_t kIoctlDev = uint64_t{1} << 15;  // ABI 5
constexpr uint64_t kBindTcp = 1;
constexpr uint64_t kConnectTcp = 2;
constexpr uint64_t kScopeAbstractUnixSocket = 1;
constexpr uint64_t kScopeSignal = 2;
constexpr uint32_t kAskErrata = 2;
// Without this fix, threads that were restricted one by one cannot send each other signals.
constexpr uint64_t kErratumSignalsOfThreads = 2;

constexpr uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
// Rights for cache folders: the driver may create, replace and remove files, but not folders or
// links.
constexpr uint64_t kKeep = kRead | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
                           LANDLOCK_ACCESS_FS_REMOVE_FILE | kTruncate;
constexpr uint64_t kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                              LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kIoctlDev;

// The C library and a driver's libraries read these at any time: libraries loaded later, locales,
// time zones, information about the machine.
constexpr std::array kSystemFiles = {
    "/usr/lib",       "/usr/lib64",        "/usr/local/lib",     "/lib",
    "/lib64",         "/usr/share/locale", "/usr/share/i18n",    "/usr/share/zoneinfo",
    "/etc/localtime", "/etc/ld.so.cache",  "/etc/ld.so.preload", "/proc/self",
    "/proc/cpuinfo",  "/proc/meminfo",     "/proc/stat",         "/sys/devices/system",
    "/sys/fs/cgroup", "/dev/urandom"};

long createRuleset(const RulesetAttributes* attributes, size_t size, uint32_t flags) {
  return ::syscall(SYS_landlock_create_ruleset, attributes, size, flags);
}

uint64_t allFileRights(long abi) {
  uint64_t rights = (uint64_t{1} << 13) - 1;  // ABI 1
  if (abi >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) rights |= kTruncate;
  if (abi >= 5) rights |= kIoctlDev;
  return rights;
}

// Returns false when there is no such file.
bool allow(int ruleset, const char* path, uint64_t rights) {
  const UniqueFd file(::open(path, O_PATH | O_CLOEXEC));
  struct stat st {};
  if (!file.valid() || ::fstat(file.get(), &st) != 0) return false;
  if (!S_ISDIR(st.st_mode)) rights &= kOfFiles;
  const landlock_path_beneath_attr rule{rights, file.get()};
  return ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

}  // namespace

Result<LandlockRules> LandlockRules::create(const SandboxSettings& settings,
                                            const std::string& ownSocket) {
  const long abi = createRuleset(nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi < 1) return errnoStatus(ResultCode::UNAVAILABLE_DEVICE, errno, "the kernel's Landlock");
  const uint64_t rights = allFileRights(abi);
  RulesetAttributes attributes{rights, 0, 0};
  size_t size = sizeof attributes.fs;
  if (abi >= 4) {
    attributes.net = kBindTcp | kConnectTcp;
    size = offsetof(RulesetAttributes, scoped);
  }
  if (abi >= 6) {
    const long errata = createRuleset(nullptr, 0, kAskErrata);
    attributes.scoped = kScopeAbstractUnixSocket;
    if (errata > 0 && (errata & kErratumSignalsOfThreads) != 0) attributes.scoped |= kScopeSignal;
    size = sizeof attributes;
  }
  LandlockRules rules;
  rules.ruleset_.reset(static_cast<int>(createRuleset(&attributes, size, 0)));
  if (!rules.ruleset_.valid()) {
    return errnoStatus(ResultCode::UNAVAILABLE_DEVICE, errno, "landlock_create_ruleset");
  }

  const int ruleset = rules.ruleset_.get();
  for (const char* path : kSystemFiles) (void)allow(ruleset, path, kRead);
  for (const char* path : {"/dev/null", "/dev/zero"}) {
    (void)allow(ruleset, path, rights & (kRead | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate));
  }
  if (kSanitized) (void)allow(ruleset, "/proc", kRead);
  std::vector<std::string> missing;
  for (const std::string& path : settings.readable) {
    if (!allow(ruleset, path.c_str(), kRead)) missing.push_back(path);
  }
  for (const std::string& path : settings.writable) {
    if (!allow(ruleset, path.c_str(), rights & ~uint64_t{LANDLOCK_ACCESS_FS_EXECUTE})) {
      missing.push_back(path);
    }
  }
  const std::vector<std::string> kept = foldersKeptWritable();
  for (const std::string& path : kept) {
    if (!allow(ruleset, path.c_str(), rights & kKeep)) missing.push_back(path);
  }
  if (!ownSocket.empty()) {
    const std::string folder = std::filesystem::absolute(ownSocket).parent_path().string();
    if (!allow(ruleset, folder.c_str(), LANDLOCK_ACCESS_FS_REMOVE_FILE)) missing.push_back(folder);
  }
  rules.description_ = fmt::format("ABI {}; reads system libraries", abi);
  if (!settings.readable.empty()) {
    rules.description_ += fmt::format(", {}", fmt::join(settings.readable, ", "));
  }
  if (!settings.writable.empty()) {
    rules.description_ += fmt::format("; writes {}", fmt::join(settings.writable, ", "));
  }
  if (!kept.empty()) rules.description_ += fmt::format("; caches in {}", fmt::join(kept, ", "));
  if (abi < 4) rules.description_ += "; TCP is left to seccomp";
  if (!missing.empty()) {
    rules.description_ += fmt::format("; not there: {}", fmt::join(missing, ", "));
  }
  return rules;
}

}  // namespace halyard::hal
