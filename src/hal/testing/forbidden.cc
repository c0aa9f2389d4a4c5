#include "hal/testing/forbidden.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "halyard/driver/unique_fd.h"

namespace halyard::hal::testing {
namespace {

// A thread that runs the functions passed to call().
class Elder {
 public:
  Elder() : thread_([this] { run(); }) { thread_.detach(); }

  int call(std::function<int()> work) {
    std::unique_lock lock(mutex_);
    work_ = std::move(work);
    changed_.notify_all();
    changed_.wait(lock, [this] { return !work_; });
    return result_;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return static_cast<bool>(work_); });
      result_ = work_();
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<int()> work_;
  int result_ = 0;
  std::thread thread_;
};

Elder* elder = nullptr;

int errorOf(long result) { return result >= 0 ? 0 : errno; }

int openFile(const std::string& path, int flags) {
  const UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  return errorOf(file.get());
}

int makeSocket(int domain) {
  const UniqueFd socket(::socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return errorOf(socket.get());
}

int forkOnce() {
  const pid_t child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) ::_exit(0);
  return errorOf(child);
}

int execute() {
  char program[] = "/bin/true";
  char* argv[] = {program, nullptr};
  char* envp[] = {nullptr};
  return errorOf(::execve(program, argv, envp));
}

int capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return errno;
  return (data[0].permitted | data[0].effective | data[1].permitted) != 0 ? 0 : EPERM;
}

int allocateMuch() {
  constexpr size_t kSize = size_t{1} << 42;
  void* const memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return errno;
  ::munmap(memory, kSize);
  return 0;
}

int makeLargeFile() {
  const UniqueFd file(::memfd_create("large", MFD_CLOEXEC));
  return errorOf(::ftruncate(file.get(), off_t{1} << 42));
}

int startThread() {
  int result = -1;
  std::thread([&result] { result = 0; }).join();
  return result;
}

int loadLibrary() { return ::dlopen("libcapnpc-0.9.2.so", RTLD_NOW) != nullptr ? 0 : ENOENT; }

int uringSetup() {
  char parameters[256] = {};
  return errorOf(::syscall(SYS_io_uring_setup, 1, parameters));
}

int typeAtTerminal(unsigned long highBits) {
  char letter = 'x';
  return errorOf(::syscall(SYS_ioctl, 2, highBits | TIOCSTI, &letter));
}

int tryInElder(Forbidden what) {
  return elder == nullptr ? ESRCH : elder->call([what] { return tryForbidden(what); });
}

}  // namespace

int tryForbidden(Forbidden what) {
  const std::string client = "/proc/" + std::to_string(::getppid());
  switch (what) {
    case Forbidden::READ_FILE:
      return openFile("/etc/passwd", O_RDONLY);
    case Forbidden::READ_FILE_IN_ELDER_THREAD:
      return tryInElder(Forbidden::READ_FILE);
    case Forbidden::CREATE_FILE:
      return openFile("/tmp/halyard-forbidden-" + std::to_string(::getpid()), O_CREAT | O_RDWR);
    case Forbidden::READ_MEMORY_OF_CLIENT:
      return openFile(client + "/mem", O_RDONLY);
    case Forbidden::NETWORK_SOCKET:
      return makeSocket(AF_INET);
    case Forbidden::NETWORK_SOCKET_IN_ELDER_THREAD:
      return tryInElder(Forbidden::NETWORK_SOCKET);
    case Forbidden::UNIX_SOCKET:
      return makeSocket(AF_UNIX);
    case Forbidden::EXECUTE:
      return execute();
    case Forbidden::FORK:
      return forkOnce();
    case Forbidden::SIGNAL_CLIENT:
      return errorOf(::kill(::getppid(), 0));
    case Forbidden::CAPABILITIES:
      return capabilities();
    case Forbidden::CAPABILITIES_IN_ELDER_THREAD:
      return tryInElder(Forbidden::CAPABILITIES);
    case Forbidden::BECOME_DUMPABLE:
      return errorOf(::prctl(PR_SET_DUMPABLE, 1));
    case Forbidden::MUCH_MEMORY:
      return allocateMuch();
    case Forbidden::LARGE_FILE:
      return makeLargeFile();
    case Forbidden::TYPE_AT_TERMINAL:
      return typeAtTerminal(0);
    case Forbidden::TYPE_AT_TERMINAL_WITH_HIGH_BITS:
      return typeAtTerminal(1ul << 32);
    case Forbidden::IO_URING:
      return uringSetup();
    case Forbidden::NEW_NAMESPACE:
      return errorOf(::unshare(CLONE_NEWUSER));
    case Forbidden::TRACE_CLIENT:
      return errorOf(::ptrace(PTRACE_SEIZE, ::getppid(), nullptr, nullptr));
    case Forbidden::START_THREAD:
      return startThread();
    case Forbidden::LOAD_LIBRARY:
      return loadLibrary();
    case Forbidden::COUNT:
      break;
  }
  return EINVAL;
}

void startElderThread() { elder = new Elder; }

}  // namespace halyard::hal::testing
