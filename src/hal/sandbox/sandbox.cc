#include "hal/sandbox/sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "hal/sandbox/every_thread.h"
#include "hal/sandbox/landlock.h"
#include "hal/sandbox/sanitizer.h"
#include "hal/sandbox/seccomp_filter.h"

namespace halyard::hal {
namespace {

using State = IsolationMeasure::State;

std::string mebibytes(uint64_t bytes) { return fmt::format("{} MiB", bytes >> 20); }

// Sets both limits, never above the previous hard limit. Returns 0 or an errno.
int limit(int resource, uint64_t value) {
  rlimit limits{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limits) != 0) return errno;
  const rlim_t wanted = std::min<rlim_t>(value, limits.rlim_max);
  limits = {wanted, wanted};
  return ::setrlimit(static_cast<__rlimit_resource>(resource), &limits) == 0 ? 0 : errno;
}

// Returns the number of threads of all processes of this user, which RLIMIT_NPROC limits.
uint64_t threadsOfUser() {
  uint64_t threads = 0;
  DIR* const folder = ::opendir("/proc");
  if (folder == nullptr) return 0;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    struct stat st {};
    const std::string tasks = fmt::format("{}/task", entry->d_name);
    if (::fstatat(::dirfd(folder), tasks.c_str(), &st, 0) == 0 && st.st_uid == ::getuid()) {
      threads += st.st_nlink > 2 ? st.st_nlink - 2 : 0;
    }
  }
  ::closedir(folder);
  return threads;
}

Result<std::string> setLimits(const SandboxSettings& settings) {
  std::vector<std::string> done;
  std::vector<std::string> failed;
  const auto note = [&](int error, std::string text) {
    if (error == 0) {
      done.push_back(std::move(text));
    } else {
      failed.push_back(fmt::format("{}: {}", text, ::strerrordesc_np(error)));
    }
  };
  note(limit(RLIMIT_CORE, 0), "no core file");
  ::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit becomes an error only
  note(limit(RLIMIT_FSIZE, settings.fileBytes),
       fmt::format("files of {}", mebibytes(settings.fileBytes)));
  if (!kSanitized) {
    struct sysinfo info {};
    ::sysinfo(&info);
    const uint64_t memory =
        settings.memoryBytes != 0 ? settings.memoryBytes : uint64_t{info.totalram} * info.mem_unit;
    note(limit(RLIMIT_DATA, memory), fmt::format("{} of private memory", mebibytes(memory)));
  }
  if (::getuid() == 0) {
    done.emplace_back("threads unlimited (the kernel does not limit root's)");
  } else {
    note(limit(RLIMIT_NPROC, threadsOfUser() + settings.threads),
         fmt::format("{} more threads of the user", settings.threads));
  }
  if (!failed.empty()) {
    return makeStatus(ResultCode::UNAVAILABLE_DEVICE, "{}", fmt::join(failed, "; "));
  }
  return fmt::format("{}", fmt::join(done, ", "));
}

Result<std::string> stopBeingDumpable() {
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) {
    return errnoStatus(ResultCode::UNAVAILABLE_DEVICE, errno, "PR_SET_DUMPABLE");
  }
  return std::string();
}

// The settings that the kernel keeps for each thread. Each function returns 0 or an errno and is
// async-signal-safe.
int giveUpNewPrivileges(void*) {
  return ::syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno;
}

int dropCapabilities(void*) {
  for (int capability = 0; capability < 64; ++capability) {
    // The call needs a privilege. Without the privilege, a process has no capabilities to drop.
    if (::syscall(SYS_prctl, PR_CAPBSET_READ, capability, 0, 0, 0) == 1) {
      ::syscall(SYS_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0);
    }
  }
  ::syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  return ::syscall(SYS_capset, &header, none) == 0 ? 0 : errno;
}

// ThreadSanitizer does not see that the signal comes after the creation of the ruleset.
__attribute__((no_sanitize_thread)) int bindByLandlock(void* ruleset) {
  return ::syscall(SYS_landlock_restrict_self, *static_cast<int*>(ruleset), 0) == 0 ? 0 : errno;
}

Result<std::string> inEveryThread(int (*action)(void*), void* argument, std::string detail) {
  HALYARD_RETURN_IF_ERROR(onEveryThread(action, argument));
  return detail;
}

Result<std::string> useLandlock(const SandboxSettings& settings, const std::string& ownSocket) {
  HALYARD_ASSIGN_OR_RETURN(LandlockRules rules, LandlockRules::create(settings, ownSocket));
  int ruleset = rules.ruleset();
  return inEveryThread(bindByLandlock, &ruleset, rules.description());
}

Result<std::string> take(std::string_view measure, const SandboxSettings& settings,
                         const std::string& ownSocket) {
  if (measure == "limits") return setLimits(settings);
  if (measure == "not_dumpable") return stopBeingDumpable();
  if (measure == "no_new_privs") return inEveryThread(giveUpNewPrivileges, nullptr, "");
  if (measure == "landlock") return useLandlock(settings, ownSocket);
  if (measure == "capabilities") return inEveryThread(dropCapabilities, nullptr, "none is left");
  return filterSystemCalls();
}

}  // namespace

IsolationReport applySandbox(const SandboxSettings& settings, const std::string& ownSocket) {
  IsolationReport report;
  for (const std::string_view measure : kMeasures) {
    const auto off = settings.off.find(measure);
    if (off != settings.off.end()) {
      report.push_back({std::string(measure), State::OFF, off->second});
      continue;
    }
    if (kSanitized && measure == "not_dumpable") {
      report.push_back({std::string(measure), State::OFF, "the driver is built with a sanitizer"});
      continue;
    }
    Result<std::string> detail = take(measure, settings, ownSocket);
    if (detail.ok()) {
      report.push_back({std::string(measure), State::APPLIED, std::move(*detail)});
    } else {
      report.push_back(
          {std::string(measure), State::UNAVAILABLE, std::string(detail.status().message())});
    }
  }
  return report;
}

}  // namespace halyard::hal
