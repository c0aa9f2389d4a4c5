#include "hal/wire/rpc_loop.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "base/signals_blocked.h"
#include "base/thread_class.h"
#include "hal/wire/rpc_loop_context.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {
namespace {

using Task = std::function<void(RpcLoop::Context&)>;

// kj's event port sets SIGPIPE to SIG_IGN for the whole process when it is made, the first time.
// Puts back what was there. (Between the two a handler that another thread installs could be lost;
// that is the time of a few system calls, once.)
kj::AsyncIoContext makeIo() {
  struct sigaction before {};
  ::sigaction(SIGPIPE, nullptr, &before);
  kj::AsyncIoContext io = kj::setupAsyncIo();
  ::sigaction(SIGPIPE, &before, nullptr);
  return io;
}

class IgnoreErrors final : public kj::TaskSet::ErrorHandler {
 public:
  void taskFailed(kj::Exception&&) override {}
};

}  // namespace

struct RpcLoop::State {
  UniqueFd wake;  // eventfd
  std::mutex mutex;
  std::vector<Task> queue;
  std::chrono::steady_clock::time_point queuedSince;  // of a queue that is not empty
  bool stopping = false;
  std::condition_variable startupDone;
  std::optional<Status> startup;  // whether the loop thread could set itself up

  void post(Task task) {
    bool first = false;
    {
      const std::lock_guard lock(mutex);
      first = queue.empty();
      if (first) queuedSince = std::chrono::steady_clock::now();
      queue.push_back(std::move(task));
    }
    if (first) signal();
  }
  void signal() const {
    const uint64_t one = 1;
    // Fails only when the counter is full, and then the loop is awake anyway.
    (void)!::write(wake.get(), &one, sizeof one);
  }
  // False: the loop is to end, and there is nothing left.
  bool runPosted(Context& context) {
    // Once: what it reads is everything, and the next signal wakes the loop again.
    uint64_t count = 0;
    (void)!::read(wake.get(), &count, sizeof count);
    for (;;) {
      std::vector<Task> tasks;
      {
        const std::lock_guard lock(mutex);
        if (queue.empty()) return !stopping;
        tasks.swap(queue);
      }
      for (Task& task : tasks) {
        // A task reports its errors itself; what still comes out must not end the process.
        (void)kj::runCatchingExceptions([&] { task(context); });
        task = nullptr;  // on this thread, before the next
      }
    }
  }
  void reportStartup(Status status) {
    const std::lock_guard lock(mutex);
    if (!startup) startup = std::move(status);
    startupDone.notify_all();
  }
  Status awaitStartup() {
    std::unique_lock lock(mutex);
    startupDone.wait(lock, [this] { return startup.has_value(); });
    return *startup;
  }
  void run() {
    kj::AsyncIoContext io = makeIo();
    kj::UnixEventPort::FdObserver observer(io.unixEventPort, wake.get(),
                                           kj::UnixEventPort::FdObserver::OBSERVE_READ);
    IgnoreErrors handler;
    kj::TaskSet exits(handler);
    reportStartup(okStatus());
    {
      kj::TaskSet tasks(handler);
      Context context{io, tasks, exits};
      while (runPosted(context)) observer.whenBecomesReadable().wait(io.waitScope);
    }
    exits.onEmpty().wait(io.waitScope);
  }
};

Result<std::shared_ptr<RpcLoop>> RpcLoop::start() {
  auto state = std::make_shared<State>();
  state->wake.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state->wake.valid()) {
    return errnoStatus(ResultCode::OUT_OF_MEMORY, errno, "eventfd for the RPC thread");
  }
  std::shared_ptr<RpcLoop> loop(new RpcLoop(state));
  // With SIGPIPE blocked a write into a broken connection is just an error there, whatever the
  // application does about SIGPIPE.
  const SignalsBlocked blocked;
  try {
    loop->thread_ = std::thread([state] {
      ::pthread_setname_np(::pthread_self(), "halyard-rpc");
      // All clients' calls come through here, and none takes long.
      enterThreadClass(ThreadClass::URGENT);
      const auto failure = kj::runCatchingExceptions([&] { state->run(); });
      KJ_IF_MAYBE (exception, failure) {
        state->reportStartup(
            opFailed("the RPC thread cannot work: {}", exception->getDescription().cStr()));
      }
    });
  } catch (const std::system_error& error) {
    return makeStatus(ResultCode::OUT_OF_MEMORY, "starting the RPC thread: {}", error.what());
  }
  HALYARD_RETURN_IF_ERROR(state->awaitStartup());
  return loop;
}

RpcLoop::~RpcLoop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->signal();
  thread_.join();
}

void RpcLoop::post(std::function<void(Context&)> task) { state_->post(std::move(task)); }

std::chrono::milliseconds RpcLoop::silence() {
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->queue.empty()) {
      return std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::steady_clock::now() - state_->queuedSince);
    }
  }
  // Something to come to, for the next time that somebody asks.
  post([](Context&) {});
  return std::chrono::milliseconds(0);
}

kj::Promise<std::string> RpcLoop::Context::whenEnded(std::shared_ptr<ChildProcess> child) {
  auto observer = kj::heap<kj::UnixEventPort::FdObserver>(
      io.unixEventPort, child->pidfd(), kj::UnixEventPort::FdObserver::OBSERVE_READ);
  auto ended = observer->whenBecomesReadable();
  return ended.then([child] { return child->collect().value_or("ended"); })
      .attach(kj::mv(observer));
}

}  // namespace halyard::hal
