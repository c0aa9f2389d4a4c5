#include "cache/private_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/environment.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::cache {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOfOthers = 077;

// Returns "" when the variable is not set or not absolute.
std::string absolute(const char* variable) {
  const char* const value = environmentVariable(variable);
  if (value == nullptr || value[0] != '/') return {};
  return value;
}

// Returns one path component for any name.
std::string folderNameOf(std::string_view driver) {
  std::string name;
  for (const char letter : driver) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9') || letter == '-' || letter == '_' ||
                       (letter == '.' && !name.empty());
    if (plain) {
      name += letter;
    } else {
      name += fmt::format("%{:02x}", static_cast<unsigned char>(letter));
    }
  }
  return name;
}

Status makeFolders(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return okStatus();
  const int error = errno;
  if (error == ENOENT && folder.has_parent_path() && folder.parent_path() != folder) {
    HALYARD_RETURN_IF_ERROR(makeFolders(folder.parent_path()));
    if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return okStatus();
    return errnoStatus(ResultCode::OP_FAILED, errno, "making " + folder.string());
  }
  return errnoStatus(ResultCode::OP_FAILED, error, "making " + folder.string());
}

}  // namespace

Result<fs::path> stateFolder(std::string_view kind, std::string_view driver) {
  const std::string service = absolute("STATE_DIRECTORY");
  const std::string state = absolute("XDG_STATE_HOME");
  const std::string home = absolute("HOME");
  fs::path base;
  if (!service.empty()) {
    base = service.substr(0, service.find(':'));
  } else if (!state.empty()) {
    base = fs::path(state) / "halyard";
  } else if (!home.empty()) {
    base = fs::path(home) / ".local/state/halyard";
  } else {
    return opFailed(
        "none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is an absolute path, so there is no "
        "folder for the driver's data");
  }
  return base / kind / folderNameOf(driver);
}

Result<fs::path> makePrivateFolder(const fs::path& folder) {
  if (!folder.is_absolute()) return opFailed("'{}' is no absolute path", folder.string());
  fs::path plain = folder.lexically_normal();
  if (!plain.has_filename()) plain = plain.parent_path();  // the path ends with a '/'
  HALYARD_RETURN_IF_ERROR(makeFolders(plain));
  std::error_code error;
  const fs::path real = fs::canonical(plain, error);
  if (error) return errnoStatus(ResultCode::OP_FAILED, error.value(), plain.string());
  const UniqueFd fd(::open(real.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat st {};
  if (!fd.valid() || ::fstat(fd.get(), &st) != 0) {
    return errnoStatus(ResultCode::OP_FAILED, errno, real.string());
  }
  if (st.st_uid != ::geteuid()) {
    return opFailed("{} belongs to user {}, expected {}", real.string(), st.st_uid, ::geteuid());
  }
  if ((st.st_mode & kOfOthers) != 0 && ::fchmod(fd.get(), 0700) != 0) {
    return errnoStatus(ResultCode::OP_FAILED, errno, "fchmod of " + real.string());
  }
  return real;
}

}  // namespace halyard::cache
