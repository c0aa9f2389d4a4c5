#include "hal/session/fence_poller.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <unordered_map>

#include "base/signals_blocked.h"

namespace halyard::hal {
namespace {

using Clock = std::chrono::steady_clock;
constexpr uint64_t kWakeUp = 0;  // in the data of epoll; fences count from 1

}  // namespace

struct FencePoller::State {
  struct Watch {
    std::map<uint64_t, ForeignFd> pending;  // by the number in the data of epoll
    std::optional<TimePoint> deadline;
    Callback done;
  };
  struct Finished {
    Watch watch;
    FenceState state;
  };

  UniqueFd epoll;
  UniqueFd wake;  // eventfd
  std::mutex mutex;
  bool stopping = false;
  uint64_t nextWatch = 1;
  uint64_t nextFence = 1;
  std::unordered_map<uint64_t, Watch> watches;
  std::unordered_map<uint64_t, uint64_t> watchOf;  // by the number of the fence
  std::set<std::pair<TimePoint, uint64_t>> deadlines;

  void wakeUp() const { (void)::eventfd_write(wake.get(), 1); }

  // Removes a watch from the tables. It also removes the descriptors from epoll, because a
  // duplicate in another place would keep them there.
  Watch remove(std::unordered_map<uint64_t, Watch>::iterator it) {
    Watch watch = std::move(it->second);
    if (watch.deadline) deadlines.erase({*watch.deadline, it->first});
    for (const auto& [number, fd] : watch.pending) {
      watchOf.erase(number);
      ::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, fd.get(), nullptr);
    }
    watches.erase(it);
    return watch;
  }

  // Handles an event of fence `number`.
  void look(uint64_t number, std::vector<Finished>& finished) {
    const auto owner = watchOf.find(number);
    if (owner == watchOf.end()) return;  // the watch has ended meanwhile
    const auto it = watches.find(owner->second);
    Watch& watch = it->second;
    const auto fence = watch.pending.find(number);
    const Result<FenceState> state = fenceState(fence->second.get());
    if (!state.ok() || *state == FenceState::ERROR) {
      finished.push_back({remove(it), FenceState::ERROR});
      return;
    }
    if (*state == FenceState::PENDING) return;
    ::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, fence->second.get(), nullptr);
    watchOf.erase(owner);
    watch.pending.erase(fence);
    if (watch.pending.empty()) finished.push_back({remove(it), FenceState::SIGNALLED});
  }

  void takeLate(std::vector<Finished>& finished) {
    const TimePoint now = Clock::now();
    while (!deadlines.empty() && deadlines.begin()->first <= now) {
      finished.push_back({remove(watches.find(deadlines.begin()->second)), FenceState::PENDING});
    }
  }

  // Milliseconds until the next deadline, rounded up; -1: no deadline.
  int timeout() const {
    if (deadlines.empty()) return -1;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadlines.begin()->first - Clock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count(), 0, INT_MAX));
  }

  void run() {
    std::vector<Finished> finished;
    for (;;) {
      int wait = 0;
      {
        const std::lock_guard lock(mutex);
        if (stopping) return;
        wait = timeout();
      }
      epoll_event events[64];
      const int count = ::epoll_wait(epoll.get(), events, std::size(events), wait);
      {
        const std::lock_guard lock(mutex);
        if (stopping) return;
        for (int i = 0; i < count; ++i) {
          if (events[i].data.u64 == kWakeUp) {
            eventfd_t ignored = 0;
            (void)::eventfd_read(wake.get(), &ignored);
          } else {
            look(events[i].data.u64, finished);
          }
        }
        takeLate(finished);
      }
      // Calls the callbacks without the lock. A callback may call watch() and cancel(), and its
      // objects may be destroyed here.
      for (Finished& one : finished) one.watch.done(one.state);
      finished.clear();
    }
  }
};

Result<std::unique_ptr<FencePoller>> FencePoller::start() {
  auto state = std::make_shared<State>();
  state->epoll.reset(::epoll_create1(EPOLL_CLOEXEC));
  state->wake.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeUp;
  if (!state->epoll.valid() || !state->wake.valid() ||
      ::epoll_ctl(state->epoll.get(), EPOLL_CTL_ADD, state->wake.get(), &event) != 0) {
    return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno,
                       "descriptors of the thread that waits for fences");
  }
  std::unique_ptr<FencePoller> poller(new FencePoller(state));
  const SignalsBlocked blocked;
  try {
    poller->thread_ = std::thread([state] {
      ::pthread_setname_np(::pthread_self(), "halyard-fences");
      state->run();
    });
  } catch (const std::system_error& error) {
    return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                      "starting the thread that waits for fences: {}", error.what());
  }
  return poller;
}

FencePoller::~FencePoller() {
  std::unordered_map<uint64_t, State::Watch> dropped;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    dropped.swap(state_->watches);
    state_->watchOf.clear();
    state_->deadlines.clear();
  }
  state_->wakeUp();
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();  // the thread ends when the current callback returns
  } else {
    thread_.join();
  }
}

Result<uint64_t> FencePoller::watch(std::vector<ForeignFd> fences,
                                    std::optional<TimePoint> deadline, Callback done) {
  State::Watch dropped;  // destroyed after the lock: the objects of `done` may call this poller
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  const uint64_t number = state.nextWatch++;
  const auto it = state.watches.emplace(number, State::Watch{{}, deadline, std::move(done)}).first;
  if (deadline) state.deadlines.emplace(*deadline, number);
  for (ForeignFd& fence : fences) {
    const uint64_t fenceNumber = state.nextFence++;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = fenceNumber;
    if (::epoll_ctl(state.epoll.get(), EPOLL_CTL_ADD, fence.get(), &event) != 0) {
      const int error = errno;
      dropped = state.remove(it);
      return errnoStatus(error == EPERM || error == EBADF
                             ? ResultCode::BAD_DATA
                             : ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                         error, "waiting for a fence");
    }
    state.watchOf.emplace(fenceNumber, number);
    it->second.pending.emplace(fenceNumber, std::move(fence));
  }
  // The thread sleeps until the earliest deadline, so an earlier one must wake it. Fences wake it
  // themselves.
  if (deadline && state.deadlines.begin()->second == number) state.wakeUp();
  return number;
}

bool FencePoller::cancel(uint64_t watch) {
  State::Watch dropped;
  const std::lock_guard lock(state_->mutex);
  const auto it = state_->watches.find(watch);
  if (it == state_->watches.end()) return false;
  dropped = state_->remove(it);
  return true;
}

}  // namespace halyard::hal
