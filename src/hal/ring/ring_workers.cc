#include "hal/ring/ring_workers.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace halyard::hal {
namespace {

constexpr uint64_t kStopKey = 0;
constexpr int kSpareMilliseconds = 5'000;  // how long a thread too many stays
// Idle threads that stay: one for the next ring, and one that spares it starting another. Without
// a time limit their sleep needs no timer, either.
constexpr unsigned kIdleThreads = 2;
constexpr unsigned kPacketsInTurn = 64;  // of one ring, while others wait

unsigned usualThreads() { return std::max(4u, 2 * std::thread::hardware_concurrency()); }

}  // namespace

RingWorkers::RingWorkers(Options options)
    : options_([&] {
        Options own = std::move(options);
        if (own.threads == 0) own.threads = usualThreads();
        own.mostThreads = std::max(own.mostThreads, own.threads);
        return own;
      }()) {}

Result<std::unique_ptr<RingWorkers>> RingWorkers::start(Options options) {
  std::unique_ptr<RingWorkers> workers(new RingWorkers(std::move(options)));
  workers->epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  workers->stop_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kStopKey;
  if (!workers->epoll_.valid() || !workers->stop_.valid() ||
      ::epoll_ctl(workers->epoll_.get(), EPOLL_CTL_ADD, workers->stop_.get(), &event) != 0) {
    return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno, "epoll for bursts");
  }
  const std::lock_guard lock(workers->mutex_);
  workers->startThread();
  if (workers->running_ == 0) {
    return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, "no thread for bursts");
  }
  return workers;
}

RingWorkers::~RingWorkers() {
  drain(std::chrono::milliseconds(0));
  // The one who adds threads first.
  if (supervisor_.joinable()) supervisor_.join();
  for (;;) {
    std::list<Thread> threads;
    {
      const std::lock_guard lock(mutex_);
      threads.swap(threads_);
    }
    if (threads.empty()) return;
    for (Thread& thread : threads) thread.thread.join();
  }
}

bool RingWorkers::drain(std::chrono::milliseconds limit) {
  stopping_ = true;
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  std::unique_lock lock(mutex_);
  scarce_.notify_all();
  return changed_.wait_for(lock, limit, [this] { return running_ == 0; });
}

unsigned RingWorkers::threads() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

Status RingWorkers::add(const std::shared_ptr<ServedRing>& ring, const void* client) {
  const std::lock_guard lock(mutex_);
  const uint64_t key = nextKey_++;
  // By edges: a ring that is being served already needs no attention.
  const auto watch = [&](int fd) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.u64 = key;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  };
  if (!watch(ring->wakeUp()) || !watch(ring->doorbell())) {
    return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno, "watching a burst");
  }
  rings_.emplace(key, Entry{ring, client});
  keys_.emplace(ring.get(), key);
  ++clients_[client].rings;
  return okStatus();
}

void RingWorkers::remove(const ServedRing& ring) {
  std::shared_ptr<ServedRing> removed;
  {
    const std::lock_guard lock(mutex_);
    const auto key = keys_.find(&ring);
    if (key == keys_.end()) return;
    const auto at = rings_.find(key->second);
    removed = std::move(at->second.ring);
    const auto client = clients_.find(at->second.client);
    // Its last ring may still be served; finish comes then.
    if (--client->second.rings == 0 && client->second.served == 0) clients_.erase(client);
    rings_.erase(at);
    keys_.erase(key);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, removed->wakeUp(), nullptr);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, removed->doorbell(), nullptr);
  }
  removed->close();
}

void RingWorkers::startThread() {
  for (auto it = threads_.begin(); it != threads_.end();) {
    if (!it->ended) {
      ++it;
      continue;
    }
    it->thread.join();
    it = threads_.erase(it);
  }
  Thread& thread = threads_.emplace_back();
  // Counted before it runs, so that two do not come where one is missing.
  ++running_;
  idle_.fetch_add(1);
  try {
    thread.thread = std::thread([this, &thread] { work(&thread); });
  } catch (const std::system_error&) {
    // Fewer threads do it, too.
    --running_;
    idle_.fetch_sub(1);
    threads_.pop_back();
  }
}

void RingWorkers::work(Thread* self) {
  ::pthread_setname_np(::pthread_self(), "halyard-ring");
  if (options_.onThreadStart) options_.onThreadStart();
  for (;;) {
    const Job job = next(self);
    if (job.ring == nullptr) return;
    if (job.ring->claim()) serve(*job.ring);
    finish(job);
  }
}

// Called idle; returns busy, but for the end.
RingWorkers::Job RingWorkers::next(Thread* self) {
  for (;;) {
    epoll_event event{};
    const int timeout = idle_.load() > kIdleThreads ? kSpareMilliseconds : -1;
    const int count = ::epoll_wait(epoll_.get(), &event, 1, timeout);
    if (count < 0 && errno == EINTR) continue;
    if (stopping_.load() || count == 0) {
      if (mayEnd(self)) return {};
      continue;
    }
    const std::lock_guard lock(mutex_);
    ++takenUp_;
    Job job = takeUp(event.data.u64);
    if (job.ring == nullptr) continue;
    if (idle_.fetch_sub(1) == 1 && !stopping_.load()) {
      if (running_ < options_.threads) {
        startThread();
      } else if (supervisor_.joinable()) {
        scarce_.notify_one();
      } else {
        try {
          supervisor_ = std::thread([this] { supervise(); });
        } catch (const std::system_error&) {
          // Then there are as many threads as there are.
        }
      }
    }
    return job;
  }
}

RingWorkers::Job RingWorkers::takeUp(uint64_t key) {
  const auto at = rings_.find(key);
  if (at == rings_.end()) return {};
  Entry& entry = at->second;
  Client& client = clients_[entry.client];
  if (client.served >= options_.mostOfClient) {
    if (!std::exchange(entry.deferred, true)) client.deferred.push_back(key);
    return {};
  }
  ++client.served;
  return {entry.ring, entry.client};
}

void RingWorkers::finish(const Job& job) {
  const std::lock_guard lock(mutex_);
  idle_.fetch_add(1);
  const auto at = clients_.find(job.client);
  Client& client = at->second;
  --client.served;
  while (!client.deferred.empty()) {
    const auto deferred = rings_.find(client.deferred.front());
    client.deferred.pop_front();
    if (deferred == rings_.end()) continue;
    deferred->second.deferred = false;
    deferred->second.ring->wake();
    return;
  }
  if (client.rings == 0 && client.served == 0) clients_.erase(at);
}

void RingWorkers::supervise() {
  ::pthread_setname_np(::pthread_self(), "halyard-ring-s");
  std::unique_lock lock(mutex_);
  while (!stopping_.load()) {
    scarce_.wait(lock, [this] { return stopping_.load() || idle_.load() == 0; });
    const uint64_t seen = takenUp_;
    if (scarce_.wait_for(lock, kPatience, [this] { return stopping_.load(); })) return;
    if (idle_.load() != 0 || takenUp_ != seen || running_ >= options_.mostThreads) continue;
    pollfd waiting{epoll_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 0) == 1) startThread();
  }
}

bool RingWorkers::mayEnd(Thread* self) {
  const std::lock_guard lock(mutex_);
  if (!stopping_.load() && idle_.load() <= kIdleThreads) return false;
  idle_.fetch_sub(1);
  --running_;
  self->ended = true;
  changed_.notify_all();
  return true;
}

void RingWorkers::serve(ServedRing& ring) {
  ring.announceAwake();
  for (unsigned packets = 0; !stopping_.load(std::memory_order_relaxed);) {
    switch (ring.step()) {
      case ServedRing::Step::WAITING:
        return;
      case ServedRing::Step::ENDED:
        remove(ring);
        return;
      case ServedRing::Step::SERVED:
        if (++packets % kPacketsInTurn != 0 || !othersWait()) continue;
        break;
      case ServedRing::Step::IDLE:
        if (spinOn(ring)) continue;
        break;
    }
    ring.announceSleep();
    if (ring.changed()) {
      if (!othersWait()) {
        ring.announceAwake();
        continue;
      }
      ring.wake();  // to be served again, behind those that wait
    }
    if (ring.release()) return;
    ring.announceAwake();
  }
}

bool RingWorkers::spinOn(ServedRing& ring) {
  if (!ring.expectsSoon() || othersWait()) return false;
  return gate_.spin(
      Clock::now(), [&] { return ring.changed() || stopping_.load(std::memory_order_relaxed); },
      [&] { return ring.clientCore(); });
}

}  // namespace halyard::hal
