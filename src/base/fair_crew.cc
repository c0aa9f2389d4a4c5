// Threads sleep in epoll_wait, on the descriptors of sources and on a bell for jobs. The kernel
// wakes one thread for each edge. A thread that takes work and sees more rings the bell again, so
// that edges which the kernel has joined wake enough threads.
#include "base/fair_crew.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/signals_blocked.h"

namespace halyard {
namespace {

// Idle threads that stay: one for the next work, and one that saves the start of another.
constexpr unsigned kIdleThreads = 2;
constexpr std::chrono::milliseconds kSpareTime{2'000};  // how long other idle threads stay
constexpr int kEventsAtOnce = 16;

const char* threadName(ThreadClass threadClass) {
  switch (threadClass) {
    case ThreadClass::BACKGROUND:
      return "halyard-low";
    case ThreadClass::BATCH:
      return "halyard-dispose";
    case ThreadClass::NORMAL:
      return "halyard-work";
    case ThreadClass::URGENT:
      return "halyard-urgent";
  }
  return "halyard";
}

const void*& currentCrew() {
  thread_local const void* crew = nullptr;
  return crew;
}

Status noThread() {
  return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, "no thread can be started");
}

}  // namespace

class FairExecutor::Crew::OwnTurn final : public Turn {
 public:
  OwnTurn(const Crew& crew, const Lane::Part& part) : crew_(crew), part_(part) {}
  bool othersWait() const override {
    return crew_.idle_.load(std::memory_order_relaxed) == 0 ||
           part_.waitingItems.load(std::memory_order_relaxed) != 0;
  }
  bool stopping() const override { return crew_.stopping_.load(std::memory_order_relaxed); }

 private:
  const Crew& crew_;
  const Lane::Part& part_;
};

const FairExecutor::Crew* FairExecutor::Crew::current() {
  return static_cast<const Crew*>(currentCrew());
}

bool FairExecutor::Crew::hasReadyWork() const {
  return std::ranges::any_of(waiting_, [this](const auto& lane) { return isReady(*lane); });
}

bool FairExecutor::Crew::openDescriptors() {
  if (epoll_.valid()) return true;
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  UniqueFd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const auto watch = [&](const UniqueFd& fd, uint32_t events, uint64_t key) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = key;
    return fd.valid() && ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd.get(), &event) == 0;
  };
  if (!epoll.valid() || !watch(stop, EPOLLIN, kStopKey) ||
      !watch(bell, EPOLLIN | EPOLLET, kBellKey)) {
    return false;
  }
  epoll_ = std::move(epoll);
  bell_ = std::move(bell);
  stop_ = std::move(stop);
  return true;
}

void FairExecutor::Crew::ring(const UniqueFd& event) {
  const uint64_t one = 1;
  // A full counter, after 2^64 edges, is not to be expected.
  (void)!::write(event.get(), &one, sizeof one);
}

bool FairExecutor::Crew::ensureThread() {
  const std::lock_guard lock(mutex_);
  return alive_ > 0 || startThread();
}

bool FairExecutor::Crew::startThread() {
  if (stopping_ || !openDescriptors()) return false;
  Thread& thread = threads_.emplace_back();
  // Counted before it runs, so that two threads do not start where one is missing.
  ++alive_;
  idle_.fetch_add(1);
  const SignalsBlocked blocked;
  try {
    thread.thread = std::thread([this, &thread, kept = settings_.keeper()] { work(&thread); });
  } catch (const std::system_error&) {
    --alive_;
    idle_.fetch_sub(1);
    threads_.pop_back();
    return false;
  }
  return true;
}

bool FairExecutor::Crew::provideThread() {
  if (idle_.load() > 0) return true;
  if (alive_ < settings_.usual && startThread()) return false;
  if (alive_ < settings_.most) settings_.wakeWatcher(Clock::now() + settings_.patience);
  return false;
}

void FairExecutor::Crew::enqueue(std::list<Item> item) {
  const std::shared_ptr<Lane> lane = item.front().lane;
  Lane::Part& part = partOf(*lane);
  item.front().since = Clock::now();
  if (item.front().job != nullptr) ++part.jobs;
  part.items.splice(part.items.end(), item);
  part.waitingItems.fetch_add(1, std::memory_order_relaxed);
  if (!std::exchange(part.listed, true)) waiting_.push_back(lane);
}

Status FairExecutor::Crew::post(Item item, uint64_t* id) {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<Lane> lane = item.lane;
  const Lane::Part& part = partOf(*lane);
  if (stopping_) return opFailed("no more work is taken: the executor is stopping");
  if (part.closed) return opFailed("the client has gone");
  if (id == nullptr && part.jobs >= lane->limits.queued) {
    return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                      "{} calls of the client are waiting already, no more are taken", part.jobs);
  }
  if (alive_ == 0 && !startThread()) return noThread();
  item.id = nextJob_++;
  if (id != nullptr) *id = item.id;
  const std::optional<Clock::time_point> deadline = item.expiry.deadline;
  std::list<Item> one;
  one.push_back(std::move(item));
  enqueue(std::move(one));
  // An idle thread takes it at once. Background threads may wait long for a processor.
  const bool isAlone = waiting_.size() == 1 && part.items.size() == 1;
  const bool mayWait = idle_.load() == 0 || !isAlone || !isReady(*lane) ||
                       settings_.threadClass == ThreadClass::BACKGROUND;
  if (deadline && mayWait) settings_.wakeWatcher(*deadline);
  const bool isToRing = provideThread();
  lock.unlock();  // a thread that wakes needs the lock at once
  if (isToRing) ring(bell_);
  return okStatus();
}

void FairExecutor::Crew::unlistIfEmpty(const std::shared_ptr<Lane>& lane) {
  Lane::Part& part = partOf(*lane);
  if (!part.items.empty() || !std::exchange(part.listed, false)) return;
  waiting_.remove(lane);
}

template <typename Matches>
void FairExecutor::Crew::moveOut(const std::shared_ptr<Lane>& lane, Matches matches,
                                 std::list<Item>* to) {
  Lane::Part& part = partOf(*lane);
  for (auto it = part.items.begin(); it != part.items.end();) {
    const auto next = std::next(it);
    if (matches(*it)) {
      if (it->job != nullptr) --part.jobs;
      part.waitingItems.fetch_sub(1, std::memory_order_relaxed);
      to->splice(to->end(), part.items, it);
    }
    it = next;
  }
  unlistIfEmpty(lane);
}

std::list<FairExecutor::Item> FairExecutor::Crew::withdraw(const std::shared_ptr<Lane>& lane,
                                                           uint64_t id) {
  std::list<Item> withdrawn;
  const std::lock_guard lock(mutex_);
  moveOut(
      lane, [id](const Item& item) { return item.id == id; }, &withdrawn);
  return withdrawn;
}

std::list<FairExecutor::Item> FairExecutor::Crew::close(const std::shared_ptr<Lane>& lane) {
  std::list<Item> dropped;
  const std::lock_guard lock(mutex_);
  partOf(*lane).closed = true;
  moveOut(
      lane, [](const Item& item) { return item.job != nullptr; }, &dropped);
  return dropped;
}

Status FairExecutor::Crew::add(std::shared_ptr<Source> source, const std::shared_ptr<Lane>& lane) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return opFailed("no more work is taken: the executor is stopping");
  if (alive_ == 0 && !startThread()) return noThread();
  const uint64_t key = nextKey_++;
  const std::array<int, 2> descriptors = source->descriptors();
  for (size_t i = 0; i < descriptors.size(); ++i) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.u64 = key;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptors[i], &event) == 0) continue;
    const int error = errno;
    if (i > 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptors[0], nullptr);
    return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, error,
                       "watching a source of work");
  }
  keys_.emplace(source.get(), key);
  auto watched = std::make_shared<Watched>();
  watched->source = std::move(source);
  watched->lane = lane;
  watched->key = key;
  sources_.emplace(key, std::move(watched));
  if (idle_.load() == 0) (void)provideThread();  // which watches it
  return okStatus();
}

void FairExecutor::Crew::forget(Watched& watched) {
  if (std::exchange(watched.removed, true)) return;
  for (const int descriptor : watched.source->descriptors()) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  }
  keys_.erase(watched.source.get());
  sources_.erase(watched.key);
}

bool FairExecutor::Crew::remove(const Source& source) {
  std::list<Item> unqueued;
  std::shared_ptr<Watched> removed;  // destroyed after the lock
  const std::lock_guard lock(mutex_);
  const auto key = keys_.find(&source);
  if (key == keys_.end()) return false;
  removed = sources_.find(key->second)->second;
  if (removed->state == Watched::State::QUEUED) {
    moveOut(
        removed->lane, [&](const Item& item) { return item.watched == removed; }, &unqueued);
  }
  forget(*removed);
  return true;
}

void FairExecutor::Crew::queueSource(const std::shared_ptr<Watched>& watched) {
  watched->state = Watched::State::QUEUED;
  watched->again = false;
  std::list<Item> item(1);
  item.front().lane = watched->lane;
  item.front().watched = watched;
  enqueue(std::move(item));
}

void FairExecutor::Crew::becameReady(uint64_t key) {
  const auto found = sources_.find(key);
  if (found == sources_.end()) return;
  const std::shared_ptr<Watched>& watched = found->second;
  if (watched->state == Watched::State::RESTING) queueSource(watched);
  if (watched->state == Watched::State::SERVED) watched->again = true;
}

// Ready sources take part in the choice beside the jobs.
void FairExecutor::Crew::gather() {
  if (sources_.empty()) return;
  std::array<epoll_event, kEventsAtOnce> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, 0);
  for (int i = 0; i < count; ++i) becameReady(events[static_cast<size_t>(i)].data.u64);
}

bool FairExecutor::Crew::awaitEvent(std::unique_lock<std::mutex>& lock) {
  const int timeout = idle_.load() > kIdleThreads ? static_cast<int>(kSpareTime.count()) : -1;
  lock.unlock();
  epoll_event event{};
  const int count = ::epoll_wait(epoll_.get(), &event, 1, timeout);
  const bool interrupted = count < 0;
  lock.lock();
  if (count == 1) becameReady(event.data.u64);
  return count == 1 || interrupted;
}

std::list<FairExecutor::Item> FairExecutor::Crew::choose() {
  std::list<Item> chosen;
  std::shared_ptr<Lane> best;
  for (const std::shared_ptr<Lane>& lane : waiting_) {
    if (!isReady(*lane)) continue;
    if (best != nullptr && partOf(*lane).running >= partOf(*best).running) continue;
    best = lane;
    if (partOf(*lane).running == 0) break;
  }
  if (best == nullptr) return chosen;
  Lane::Part& part = partOf(*best);
  chosen.splice(chosen.end(), part.items, part.items.begin());
  if (chosen.front().job != nullptr) --part.jobs;
  part.waitingItems.fetch_sub(1, std::memory_order_relaxed);
  ++part.running;
  const auto place = std::find(waiting_.begin(), waiting_.end(), best);
  waiting_.splice(waiting_.end(), waiting_, place);  // behind the other lanes
  unlistIfEmpty(best);
  return chosen;
}

std::list<FairExecutor::Item> FairExecutor::Crew::next(std::unique_lock<std::mutex>& lock) {
  for (bool hasSlept = false;; hasSlept = true) {
    if (stopping_) return {};
    // An event has woken a thread that has slept; it needs no other.
    if (!waiting_.empty() && !hasSlept) gather();
    std::list<Item> chosen = choose();
    if (!chosen.empty()) {
      idle_.fetch_sub(1);
      ++running_;
      if (chosen.front().watched) chosen.front().watched->state = Watched::State::SERVED;
      // One thread watches the sources, or the watcher does.
      const bool isToProvide = hasReadyWork() || (idle_.load() == 0 && !sources_.empty());
      if (isToProvide && provideThread()) ring(bell_);
      return chosen;
    }
    if (!awaitEvent(lock) && idle_.load() > kIdleThreads) return {};
  }
}

void FairExecutor::Crew::work(Thread* self) {
  ::pthread_setname_np(::pthread_self(), threadName(settings_.threadClass));
  enterThreadClass(settings_.threadClass);
  currentCrew() = this;
  std::unique_lock lock(mutex_);
  for (;;) {
    std::list<Item> item = next(lock);
    if (item.empty()) break;
    const std::shared_ptr<Lane> lane = item.front().lane;
    std::shared_ptr<Watched> watched = item.front().watched;
    self->busySince = Clock::now();
    lock.unlock();
    const Source::Outcome outcome = runItem(item.front());
    item.clear();  // a job is destroyed without the lock
    lock.lock();
    finish(*lane, watched, outcome);
    if (watched != nullptr && watched->removed) {
      lock.unlock();
      watched = nullptr;  // may destroy the source
      lock.lock();
    }
    self->busySince.reset();
    --running_;
    idle_.fetch_add(1);
    if (running_ == 0) rest_.notify_all();
  }
  idle_.fetch_sub(1);
  --alive_;
  if (stopping_) return;  // joinThreads joins it
  // A spare thread: no other thread may start, so that none would join it.
  self->thread.detach();
  std::erase_if(threads_, [self](const Thread& thread) { return &thread == self; });
}

// An exception must not end the process, nor the thread.
FairExecutor::Source::Outcome FairExecutor::Crew::runItem(Item& item) {
  try {
    if (item.watched != nullptr) {
      const OwnTurn turn(*this, partOf(*item.lane));
      return item.watched->source->serve(turn);
    }
    const Expiry& expiry = item.expiry;
    const bool late = expiry.deadline && Clock::now() >= *expiry.deadline;
    (late && expiry.expired != nullptr ? expiry.expired : item.job)();
  } catch (const std::exception& exception) {
    logWarning("a piece of work has ended with an exception: {}", exception.what());
  } catch (...) {
    logWarning("a piece of work has ended with an exception of an unknown type");
  }
  return Source::Outcome::ENDED;
}

void FairExecutor::Crew::finish(Lane& lane, const std::shared_ptr<Watched>& watched,
                                Source::Outcome outcome) {
  --partOf(lane).running;
  if (watched == nullptr) return;
  watched->state = Watched::State::RESTING;
  if (outcome == Source::Outcome::ENDED) forget(*watched);
  if (watched->removed) return;
  if (outcome == Source::Outcome::MORE || watched->again) queueSource(watched);
}

std::list<FairExecutor::Item> FairExecutor::Crew::stop() {
  std::list<Item> dropped;
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  if (stop_.valid()) ring(stop_);
  const std::list<std::shared_ptr<Lane>> lanes = waiting_;
  for (const std::shared_ptr<Lane>& lane : lanes) {
    moveOut(
        lane, [](const Item&) { return true; }, &dropped);
  }
  return dropped;
}

bool FairExecutor::Crew::awaitRest(std::optional<Clock::time_point> until) {
  std::unique_lock lock(mutex_);
  const auto rests = [this] { return running_ == 0; };
  if (until) return rest_.wait_until(lock, *until, rests);
  rest_.wait(lock, rests);
  return true;
}

void FairExecutor::Crew::joinThreads() {
  std::list<Thread> threads;
  {
    const std::lock_guard lock(mutex_);
    threads.swap(threads_);
  }
  for (auto it = threads.begin(); it != threads.end();) {
    const auto each = it++;
    if (each->thread.get_id() == std::this_thread::get_id()) {
      each->thread.detach();  // it ends after the job that has destroyed the executor
      const std::lock_guard lock(mutex_);
      threads_.splice(threads_.end(), threads, each);
    } else {
      each->thread.join();
    }
  }
}

std::list<FairExecutor::Item> FairExecutor::Crew::takeExpired(Clock::time_point now) {
  std::list<Item> expired;
  const std::list<std::shared_ptr<Lane>> lanes = waiting_;
  for (const std::shared_ptr<Lane>& lane : lanes) {
    moveOut(
        lane,
        [now](const Item& item) {
          return item.expiry.expired != nullptr && item.expiry.deadline &&
                 *item.expiry.deadline <= now;
        },
        &expired);
  }
  return expired;
}

std::optional<FairExecutor::Clock::time_point> FairExecutor::Crew::nextDeadline() const {
  std::optional<Clock::time_point> next;
  for (const std::shared_ptr<Lane>& lane : waiting_) {
    for (const Item& item : partOf(*lane).items) {
      const auto& [deadline, expired] = item.expiry;
      if (deadline && expired != nullptr) next = std::min(next.value_or(*deadline), *deadline);
    }
  }
  return next;
}

unsigned FairExecutor::Crew::longBusy(Clock::time_point now) const {
  return static_cast<unsigned>(std::ranges::count_if(threads_, [&](const Thread& thread) {
    return thread.busySince && now - *thread.busySince >= settings_.patience;
  }));
}

// While all threads are busy.
void FairExecutor::Crew::addThreads(Clock::time_point now) {
  const unsigned most = std::min(settings_.most, settings_.usual + longBusy(now));
  for (const std::shared_ptr<Lane>& lane : waiting_) {
    if (!isReady(*lane)) continue;
    const bool runs = partOf(*lane).running > 0;
    if (runs && settings_.threadClass == ThreadClass::BACKGROUND) continue;
    const auto waits = now - partOf(*lane).items.front().since;
    if (waits < (runs ? kLongPatience : settings_.patience)) continue;
    if (alive_ >= most || !startThread()) return;
  }
}

std::optional<FairExecutor::Clock::time_point> FairExecutor::Crew::watch() {
  const auto now = Clock::now();
  std::list<Item> expired;
  std::unique_lock lock(mutex_);
  if (stopping_ || alive_ == 0) return std::nullopt;
  expired = takeExpired(now);
  if (!expired.empty()) {
    ++running_;
    lock.unlock();
    for (Item& item : expired) (void)runItem(item);
    expired.clear();
    lock.lock();
    if (--running_ == 0) rest_.notify_all();
    if (stopping_) return std::nullopt;
  }
  std::optional<Clock::time_point> next = nextDeadline();
  if (idle_.load() > 0) return next;
  gather();
  addThreads(now);
  const bool mayAdd = alive_ < settings_.most;
  if (mayAdd && (!waiting_.empty() || !sources_.empty())) {
    const auto tick = now + settings_.patience;
    next = std::min(next.value_or(tick), tick);
  }
  return next;
}

size_t FairExecutor::Crew::waiting() const {
  const std::lock_guard lock(mutex_);
  size_t waiting = 0;
  for (const std::shared_ptr<Lane>& lane : waiting_) waiting += partOf(*lane).items.size();
  return waiting;
}

unsigned FairExecutor::Crew::threads() const {
  const std::lock_guard lock(mutex_);
  return alive_;
}

}  // namespace halyard
