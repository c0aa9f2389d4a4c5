#include "hal/sandbox/seccomp_filter.h"

#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "hal/sandbox/sanitizer.h"

namespace halyard::hal {
namespace {

// Names that an architecture, or this libseccomp, does not know are skipped. Landlock restricts the
// files.
constexpr const char* kAllowed[] = {
    // Descriptors and open files
    "read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "preadv2",
    "pwritev2", "close", "close_range", "lseek", "_llseek", "dup", "dup2", "dup3", "pipe", "pipe2",
    "fcntl", "fcntl64", "flock", "ftruncate", "ftruncate64", "fallocate", "fadvise64", "fsync",
    "fdatasync", "sync_file_range", "copy_file_range", "sendfile", "fstat", "fstat64", "fstatfs",
    "fstatfs64",
    // Files
    "open", "openat", "openat2", "stat", "stat64", "lstat", "lstat64", "newfstatat", "fstatat64",
    "statx", "statfs", "statfs64", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
    "getdents", "getdents64", "getcwd", "mkdir", "mkdirat", "unlink", "unlinkat", "rmdir", "rename",
    "renameat", "renameat2", "truncate", "umask", "fchmod",
    // Memory
    "mmap", "mmap2", "munmap", "mprotect", "mremap", "madvise", "msync", "mincore", "mlock",
    "mlock2", "munlock", "mlockall", "munlockall", "brk", "memfd_create", "membarrier",
    "pkey_alloc", "pkey_free", "pkey_mprotect", "mbind", "get_mempolicy", "set_mempolicy",
    // Threads and time
    "futex", "futex_waitv", "futex_wake", "futex_wait", "futex_requeue", "set_robust_list",
    "get_robust_list", "rseq", "set_tid_address", "sched_yield", "sched_getaffinity",
    "sched_setaffinity", "sched_getparam", "sched_getscheduler", "sched_getattr",
    "sched_get_priority_max", "sched_get_priority_min", "sched_rr_get_interval", "getcpu",
    "getpriority", "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday",
    "time", "times", "alarm", "setitimer", "getitimer", "timer_create", "timer_settime",
    "timer_gettime", "timer_getoverrun", "timer_delete", "timerfd_create", "timerfd_settime",
    "timerfd_gettime", "exit", "exit_group", "restart_syscall",
    // Signals to the process itself
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigsuspend",
    "rt_sigtimedwait", "sigaltstack", "sigreturn", "pause", "signalfd", "signalfd4",
    // Waiting
    "poll", "ppoll", "select", "_newselect", "pselect6", "epoll_create", "epoll_create1",
    "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "eventfd", "eventfd2", "wait4",
    "waitid",
    // Existing sockets
    "sendmsg", "recvmsg", "sendmmsg", "recvmmsg", "recvfrom", "accept", "accept4", "shutdown",
    "getsockopt", "setsockopt", "getsockname", "getpeername",
    // Information about the process
    "getpid", "gettid", "getppid", "getpgrp", "getpgid", "getsid", "getuid", "geteuid", "getgid",
    "getegid", "getresuid", "getresgid", "getgroups", "capget", "uname", "sysinfo", "getrusage",
    "getrlimit", "ugetrlimit", "getrandom", "arch_prctl",
    // Giving up more rights
    "setrlimit", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
    "seccomp"};

// No driver needs these calls. An attempt shows that an attacker controls the driver.
constexpr const char* kDeadly[] = {"ptrace",
                                   "process_vm_readv",
                                   "process_vm_writev",
                                   "pidfd_getfd",
                                   "bpf",
                                   "keyctl",
                                   "add_key",
                                   "request_key",
                                   "mount",
                                   "umount2",
                                   "pivot_root",
                                   "move_mount",
                                   "open_tree",
                                   "fsopen",
                                   "fsconfig",
                                   "fsmount",
                                   "fspick",
                                   "mount_setattr",
                                   "init_module",
                                   "finit_module",
                                   "delete_module",
                                   "kexec_load",
                                   "kexec_file_load",
                                   "reboot",
                                   "swapon",
                                   "swapoff",
                                   "iopl",
                                   "ioperm",
                                   "setns",
                                   "acct",
                                   "quotactl",
                                   "open_by_handle_at",
                                   "settimeofday",
                                   "clock_settime",
                                   "sethostname",
                                   "setdomainname"};

// LeakSanitizer examines a process from a copy of it.
constexpr const char* kForSanitizers[] = {
    "ptrace", "clone", "wait4", "process_vm_readv", "sched_setscheduler", "personality"};

class Filter {
 public:
  Filter() : context_(::seccomp_init(SCMP_ACT_ERRNO(EPERM))) {}

  bool valid() const { return context_ != nullptr; }
  // The first error of all calls, or 0.
  int error() const { return error_; }

  void attribute(scmp_filter_attr attribute, uint32_t value) {
    note(::seccomp_attr_set(context_.get(), attribute, value));
  }
  template <typename... Compares>
  void rule(uint32_t action, const char* name, Compares... compares) {
    const int number = ::seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR) return;
    const std::array<scmp_arg_cmp, sizeof...(compares)> list = {compares...};
    note(::seccomp_rule_add_array(context_.get(), action, number, list.size(), list.data()));
  }
  template <typename... Compares>
  void allow(const char* name, Compares... compares) {
    rule(SCMP_ACT_ALLOW, name, compares...);
  }
  int load() { return ::seccomp_load(context_.get()); }

 private:
  struct Release {
    void operator()(void* context) const { ::seccomp_release(context); }
  };
  void note(int result) {
    if (error_ == 0) error_ = result;
  }

  std::unique_ptr<void, Release> context_;
  int error_ = 0;
};

constexpr scmp_arg_cmp equal(unsigned argument, uint64_t value) {
  return {argument, SCMP_CMP_EQ, value, 0};
}
// Compares the low 32 bits, because the kernel ignores the others there.
constexpr scmp_arg_cmp bits(unsigned argument, uint64_t mask, uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

// Some requests of terminals can insert input as if their user typed it. All have 'T' in the second
// byte.
void allowIoctls(Filter& filter) {
  constexpr uint64_t kTerminal = uint64_t{'T'} << 8;
  for (uint64_t bit = 0x100; bit <= 0x8000; bit <<= 1) {
    filter.allow("ioctl", bits(1, bit, ~kTerminal & bit));
  }
  // TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
  for (const uint64_t harmless : {0x5401, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451}) {
    filter.allow("ioctl", bits(1, 0xffffffff, harmless));
  }
}

void allowPrctls(Filter& filter) {
  for (const int option :
       {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_GET_NO_NEW_PRIVS, PR_SET_NO_NEW_PRIVS,
        PR_GET_SECCOMP, PR_SET_SECCOMP, PR_SET_TIMERSLACK, PR_GET_TIMERSLACK, PR_CAPBSET_READ,
        PR_SET_PDEATHSIG, PR_GET_PDEATHSIG, PR_SET_VMA, PR_SET_THP_DISABLE, PR_GET_THP_DISABLE}) {
    filter.allow("prctl", bits(0, 0xffffffff, static_cast<uint64_t>(option)));
  }
  if (kSanitized) {
    for (const int option : {PR_SET_DUMPABLE, PR_SET_PTRACER}) {
      filter.allow("prctl", bits(0, 0xffffffff, static_cast<uint64_t>(option)));
    }
  }
}

void allowByArguments(Filter& filter) {
  const auto self = static_cast<uint64_t>(::getpid());
  // Allows threads, but no processes. The flags of clone3 are in memory, which a filter cannot
  // read. The C library works without clone3 when the call reports that it does not exist.
  filter.allow("clone", bits(0, CLONE_THREAD, CLONE_THREAD));
  filter.rule(SCMP_ACT_ERRNO(ENOSYS), "clone3");
  filter.allow("kill", bits(0, 0xffffffff, self));
  filter.allow("tgkill", bits(0, 0xffffffff, self));
  filter.allow("rt_tgsigqueueinfo", bits(0, 0xffffffff, self));
  for (const uint64_t who : {uint64_t{0}, self}) {
    filter.allow("prlimit64", bits(0, 0xffffffff, who));
  }
  // Only for the calling thread.
  filter.allow("setpriority", bits(0, 0xffffffff, 0), bits(1, 0xffffffff, 0));
  filter.allow("sched_setscheduler", bits(0, 0xffffffff, 0));
  filter.allow("sched_setattr", bits(0, 0xffffffff, 0));
  // A datagram socket could send to other addresses.
  for (const uint64_t type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    filter.allow("socketpair", bits(0, 0xffffffff, AF_UNIX), bits(1, 0xf, type));
  }
  filter.allow("sendto", equal(4, 0));
}

}  // namespace

Result<std::string> filterSystemCalls() {
  Filter filter;
  if (!filter.valid()) {
    return makeStatus(ResultCode::UNAVAILABLE_DEVICE, "libseccomp cannot make a filter");
  }
  filter.attribute(SCMP_FLTATR_CTL_TSYNC, 1);
  filter.attribute(SCMP_FLTATR_CTL_NNP, 0);  // set by a measure of its own
  filter.attribute(SCMP_FLTATR_CTL_OPTIMIZE, 2);
  filter.attribute(SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  for (const char* name : kAllowed) filter.allow(name);
  if (kSanitized) {
    for (const char* name : kForSanitizers) filter.allow(name);
  } else {
    for (const char* name : kDeadly) filter.rule(SCMP_ACT_KILL_PROCESS, name);
    allowByArguments(filter);
  }
  if (kSanitized) allowByArguments(filter);
  allowIoctls(filter);
  allowPrctls(filter);
  if (filter.error() != 0) {
    return errnoStatus(ResultCode::UNAVAILABLE_DEVICE, -filter.error(), "the filter");
  }
  const int result = filter.load();
  if (result != 0) {
    return errnoStatus(ResultCode::UNAVAILABLE_DEVICE, -result, "loading the filter");
  }
  return fmt::format("{} system calls allowed, {} end the process, others give EPERM",
                     std::size(kAllowed), kSanitized ? 0 : std::size(kDeadly));
}

}  // namespace halyard::hal
