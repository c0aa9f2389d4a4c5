// Scheduler: a queue and a few background threads for work of low priority.
#include "hal/session/scheduler.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/signals_blocked.h"
#include "base/thread_class.h"

namespace halyard::hal {
namespace {

constexpr unsigned kLeastAtATime = 4;

// One call of run, on its caller's stack.
struct Piece {
  enum class Phase : uint8_t { WAITING, RUNNING, DONE };

  const void* client;
  // What to run, or null: the caller runs it itself when it is its turn.
  const std::function<void()>* work;
  Phase phase = Phase::WAITING;
};

}  // namespace

struct Scheduler::State {
  explicit State(unsigned most) : mostRunning(most) {}

  const unsigned mostRunning;
  std::mutex mutex;
  std::condition_variable_any turn;  // for callers: a phase has changed
  std::condition_variable work;      // for the threads
  std::list<Piece*> waiting;         // in order of arrival
  std::map<const void*, unsigned> runningOf;
  unsigned running = 0;
  unsigned idle = 0;
  bool stopping = false;
  std::vector<std::thread> threads;

  // The next in turn: the first of a client that has the fewest running. Null: none, or too many
  // run already.
  Piece* next() {
    if (running >= mostRunning) return nullptr;
    Piece* best = nullptr;
    unsigned fewest = 0;
    for (Piece* piece : waiting) {
      const auto it = runningOf.find(piece->client);
      const unsigned count = it != runningOf.end() ? it->second : 0;
      if (best != nullptr && count >= fewest) continue;
      best = piece;
      fewest = count;
      if (count == 0) break;
    }
    return best;
  }
  void begin(Piece* piece) {
    waiting.remove(piece);
    piece->phase = Piece::Phase::RUNNING;
    ++running;
    ++runningOf[piece->client];
  }
  void end(Piece* piece) {
    --running;
    const auto it = runningOf.find(piece->client);
    if (--it->second == 0) runningOf.erase(it);
    piece->phase = Piece::Phase::DONE;
  }
  // Hands out turns, to callers that run their work themselves and to threads.
  void dispatch() {
    while (Piece* piece = next()) {
      if (piece->work != nullptr) {
        // A thread takes it off the list; until then no other may take its place.
        work.notify_one();
        return;
      }
      begin(piece);
      turn.notify_all();
    }
  }
  // Whether there is, or can be made, a thread for one more piece.
  bool provideThread(const std::shared_ptr<State>& self) {
    if (idle > waiting.size() || threads.size() >= mostRunning) return true;
    const SignalsBlocked blocked;
    try {
      threads.emplace_back([self] {
        ::pthread_setname_np(::pthread_self(), "halyard-low");
        enterThreadClass(ThreadClass::BACKGROUND);
        self->runThread();
      });
    } catch (const std::system_error&) {
      return !threads.empty();
    }
    return true;
  }
  void runThread() {
    std::unique_lock lock(mutex);
    for (;;) {
      Piece* piece = nullptr;
      ++idle;
      work.wait(lock, [&] {
        if (stopping) return true;
        piece = next();
        return piece != nullptr && piece->work != nullptr;
      });
      --idle;
      if (stopping) return;
      begin(piece);
      dispatch();
      lock.unlock();
      (*piece->work)();
      lock.lock();
      end(piece);
      turn.notify_all();
      dispatch();
    }
  }
};

Scheduler::Scheduler(unsigned lowAtATime)
    : state_(std::make_shared<State>(
          lowAtATime != 0 ? lowAtATime
                          : std::max(kLeastAtATime, std::thread::hardware_concurrency()))) {}

Scheduler::~Scheduler() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->work.notify_all();
  for (std::thread& thread : state_->threads) {
    // A prepared model's destruction in one of them may bring the last reference here.
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

Status Scheduler::run(Priority priority, const void* client, std::optional<TimePoint> deadline,
                      const std::stop_token& cancel, const std::function<void()>& work) {
  if (priority != Priority::LOW) {
    work();
    return okStatus();
  }
  const bool isOwn = currentThreadClass() == ThreadClass::BACKGROUND;
  Piece piece{client, isOwn ? nullptr : &work};
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  if (!isOwn && !state.provideThread(state_)) {
    // Better in a thread that is not meant for it than not at all.
    lock.unlock();
    work();
    return okStatus();
  }
  state.waiting.push_back(&piece);
  state.dispatch();
  const auto mayGoOn = [&] {
    return piece.phase == (isOwn ? Piece::Phase::RUNNING : Piece::Phase::DONE);
  };
  const auto hasTurn = [&] { return piece.phase != Piece::Phase::WAITING; };
  if (deadline) {
    state.turn.wait_until(lock, cancel, *deadline, hasTurn);
  } else {
    state.turn.wait(lock, cancel, hasTurn);
  }
  if (!hasTurn()) {
    state.waiting.remove(&piece);
    state.dispatch();
    if (cancel.stop_requested()) return opFailed("cancelled while it waited for its turn");
    return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT,
                      "the deadline has passed while work of low priority waited for its turn");
  }
  state.turn.wait(lock, mayGoOn);
  if (!isOwn) return okStatus();
  lock.unlock();
  work();
  lock.lock();
  state.end(&piece);
  state.dispatch();
  return okStatus();
}

size_t Scheduler::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->waiting.size();
}

void enterPriorityClass(Priority priority) {
  enterThreadClass(priority == Priority::LOW    ? ThreadClass::BACKGROUND
                   : priority == Priority::HIGH ? ThreadClass::URGENT
                                                : ThreadClass::NORMAL);
}

}  // namespace halyard::hal
