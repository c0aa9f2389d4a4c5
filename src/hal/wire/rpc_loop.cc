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

// The first time, kj's event port sets SIGPIPE to SIG_IGN for the whole process. This function
// restores the previous handler. A handler that another thread installs in between could be lost,
// but only once and in the time of a few system calls.
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
  std::chrono::steady_clock::time_point queuedSince;  // time since which the queue is not empty
  bool stopping = false;
  std::condition_variable startupDone;
  std::optional<Status> startup;  // result of the loop thread's start

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
    // The write fails only when the counter is full, and then the loop is awake anyway.
    (void)!::write(wake.get(), &one, sizeof one);
  }
  // Returns false when the loop must end and nothing is left.
  bool runPosted(Context& context) {
    // One read suffices: it gets the whole counter, and the next signal wakes the loop again.
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
        // A task reports its errors itself. An exception from it must not end the process.
        (void)kj::runCatchingExceptions([&] { task(context); });
        task = nullptr;  // destroyed on this thread, before the next task
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
  // With SIGPIPE blocked, a write to a broken connection is only an error, for any setting of the
  // application.
  const SignalsBlocked blocked;
  try {
    loop->thread_ = std::thread([state] {
      ::pthread_setname_np(::pthread_self(), "halyard-rpc");
      // All clients' calls pass through this thread, and none takes long.
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
  // An empty task, which the next call can measure.
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
