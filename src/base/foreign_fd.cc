#include "base/foreign_fd.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "base/process_generation.h"
#include "base/signals_blocked.h"

namespace halyard {
namespace {

using AccountPtr = std::shared_ptr<ForeignAccount>;

// The limit for all accounts together. Threads start when needed, and end after an idle time.
constexpr unsigned kMostThreadsOfProcess = 64;
constexpr std::chrono::seconds kIdleLimit{1};

// The function switches lingering off, so that no thread waits for the socket's unsent data.
void closeNow(int fd) {
  linger how{};
  socklen_t length = sizeof how;
  if (::getsockopt(fd, SOL_SOCKET, SO_LINGER, &how, &length) == 0 && how.l_onoff != 0) {
    how = {};
    (void)::setsockopt(fd, SOL_SOCKET, SO_LINGER, &how, sizeof how);
  }
  ::close(fd);
}

}  // namespace

// Runs the work for the accounts of a process. Never destroyed, because threads may use it until
// the process ends.
class ForeignWork {
 public:
  static ForeignWork& ofProcess();

  AccountPtr account(std::string_view name) {
    const std::lock_guard lock(mutex_);
    std::erase_if(accounts_, [](const auto& entry) { return entry.second.expired(); });
    const auto at = accounts_.find(name);
    if (at != accounts_.end()) {
      if (AccountPtr known = at->second.lock()) return known;
    }
    auto made = std::make_shared<ForeignAccount>();
    accounts_.insert_or_assign(std::string(name), made);
    return made;
  }

  void assign(int fd, AccountPtr account) {
    const std::lock_guard lock(mutex_);
    Origin& origin = origins_[fd];
    origin.account.swap(account);
    origin.isMachines = false;
  }
  // Gives `to` the origin of `from`.
  void assignAs(int from, int to) {
    const std::lock_guard lock(mutex_);
    const auto known = origins_.find(from);
    if (known == origins_.end()) return;
    Origin origin = known->second;
    origins_.insert_or_assign(to, std::move(origin));
  }
  bool couldBlock(int fd) {
    const std::lock_guard lock(mutex_);
    const auto known = origins_.find(fd);
    return known != origins_.end() && !known->second.isMachines;
  }
  void noteMachines(int fd) {
    const std::lock_guard lock(mutex_);
    const auto known = origins_.find(fd);
    if (known != origins_.end()) known->second.isMachines = true;
  }

  void close(int fd) {
    const std::lock_guard lock(mutex_);
    AccountPtr account = unknown_;
    if (const auto known = origins_.find(fd); known != origins_.end()) {
      account = std::move(known->second.account);
      origins_.erase(known);
    }
    put(std::move(account), [fd] { closeNow(fd); });
  }
  // Returns false if the account has too many calls.
  bool run(int fd, std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    const auto known = origins_.find(fd);
    AccountPtr account = known != origins_.end() ? known->second.account : unknown_;
    if (account->calls_ >= ForeignAccount::kMostCalls) return false;
    ++account->calls_;
    put(account, [this, account, work = std::move(work)] {
      work();
      const std::lock_guard ended(mutex_);
      --account->calls_;
    });
    return true;
  }

 private:
  // The origin of a descriptor.
  struct Origin {
    AccountPtr account;
    bool isMachines = false;  // the file is on a local file system of this machine
  };

  // The following functions need the lock.
  void put(AccountPtr account, std::function<void()> work) {
    account->waiting_.push_back(std::move(work));
    account->pending_.fetch_add(1, std::memory_order_relaxed);
    list(std::move(account));
    if (idle_ < ready_.size() && threads_ < kMostThreadsOfProcess) start();
    work_.notify_one();
  }
  void list(AccountPtr account) {
    if (account->listed_ || account->waiting_.empty()) return;
    if (account->running_ >= ForeignAccount::kMostThreads) return;
    account->listed_ = true;
    ready_.push_back(std::move(account));
  }
  void start() {
    const SignalsBlocked blocked;
    try {
      std::thread([this] {
        ::pthread_setname_np(::pthread_self(), "halyard-foreign");
        serve();
      }).detach();
      ++threads_;
    } catch (const std::system_error&) {
      // The work then waits for a running thread, or for the next attempt to start one.
    }
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (ready_.empty()) {
        ++idle_;
        work_.wait_for(lock, kIdleLimit, [this] { return !ready_.empty(); });
        --idle_;
        if (ready_.empty()) break;
      }
      const AccountPtr account = std::move(ready_.front());
      ready_.pop_front();
      std::function<void()> work = std::move(account->waiting_.front());
      account->waiting_.pop_front();
      account->listed_ = false;
      ++account->running_;
      list(account);
      lock.unlock();
      work();
      work = nullptr;
      lock.lock();
      --account->running_;
      account->pending_.fetch_sub(1, std::memory_order_relaxed);
      list(account);
    }
    --threads_;
  }

  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<AccountPtr> ready_;  // accounts with work that may start
  std::unordered_map<int, Origin> origins_;
  std::map<std::string, std::weak_ptr<ForeignAccount>, std::less<>> accounts_;
  const AccountPtr unknown_ = std::make_shared<ForeignAccount>();
  unsigned threads_ = 0;
  unsigned idle_ = 0;
};

ForeignWork& ForeignWork::ofProcess() {
  static constinit PerProcess<ForeignWork> work;
  return work.get();
}

std::shared_ptr<ForeignAccount> ForeignAccount::of(std::string_view name) {
  return ForeignWork::ofProcess().account(name);
}

void assignForeign(int fd, std::shared_ptr<ForeignAccount> account) {
  ForeignWork::ofProcess().assign(fd, std::move(account));
}

bool isKernelMemory(int fd) { return ::fcntl(fd, F_GET_SEALS) >= 0; }

void closeForeign(int fd) noexcept {
  if (isKernelMemory(fd)) {
    ::close(fd);
    return;
  }
  try {
    ForeignWork::ofProcess().close(fd);
  } catch (const std::exception&) {
    ::close(fd);  // no memory for the queue: this thread closes it
  }
}

bool couldBlock(int fd) { return ForeignWork::ofProcess().couldBlock(fd); }

void noteMachinesFile(int fd) { ForeignWork::ofProcess().noteMachines(fd); }

Status withForeign(int fd, std::function<Status(int fd)> work, std::chrono::milliseconds limit) {
  struct Call {
    ForeignFd fd;
    std::function<Status(int fd)> work;
    std::mutex mutex;
    std::condition_variable ended;
    std::optional<Status> result;
  };
  const auto call = std::make_shared<Call>();
  call->fd = ForeignFd::duplicateOf(fd);
  if (!call->fd.valid()) {
    return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno,
                       fmt::format("duplicating descriptor {}", fd));
  }
  call->work = std::move(work);
  const bool begun = ForeignWork::ofProcess().run(fd, [call] {
    Status status = call->work(call->fd.get());
    const std::lock_guard lock(call->mutex);
    call->result = std::move(status);
    call->ended.notify_all();
  });
  if (!begun) {
    return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                      "{} files that another process has sent have not answered yet",
                      ForeignAccount::kMostCalls);
  }
  std::unique_lock lock(call->mutex);
  if (call->ended.wait_for(lock, limit, [&] { return call->result.has_value(); })) {
    return *call->result;
  }
  return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                    "its file, which another process has sent, has not answered within {} ms",
                    limit.count());
}

ForeignFd ForeignFd::duplicateOf(int fd) {
  ForeignFd copy(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (copy.valid()) ForeignWork::ofProcess().assignAs(fd, copy.get());
  return copy;
}

}  // namespace halyard
