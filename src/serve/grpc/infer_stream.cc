#include "serve/grpc/infer_stream.h"

#include <thread>

#include "serve/grpc/messages.h"
#include "serve/grpc/service_methods.h"
#include "serve/protocol/trace_context.h"

namespace halyard::serve {
namespace {

// Limits of the requests of one stream, with their answers, that are not answered yet. Beyond them
// the stream is not read, and the flow control of gRPC stops the client.
constexpr size_t kMostInFlight = 64;
constexpr size_t kMostBytes = size_t{64} << 20;
// How often a stream that reads nothing looks whether its client has gone.
constexpr std::chrono::milliseconds kWatchInterval{20};

}  // namespace

void InferStream::run() {
  std::thread writer([this] { write(); });
  try {
    while (readOne()) {
    }
  } catch (const std::exception&) {  // no memory for a further request
    context_.TryCancel();
  }
  std::unique_lock lock(mutex_);
  isRead_ = true;
  changed_.notify_all();
  do {
    watchClient();
  } while (!changed_.wait_for(lock, kWatchInterval, [this] { return slots_.empty(); }));
  lock.unlock();
  writer.join();
}

void InferStream::end() {
  const std::lock_guard lock(mutex_);
  isEnding_ = true;
  if (slots_.empty()) context_.TryCancel();
}

// Only the thread of run() may ask gRPC for it.
void InferStream::watchClient() {
  if (context_.IsCancelled()) isGone_ = true;
}

bool InferStream::readOne() {
  auto slot = std::make_unique<Slot>();
  if (!peer_.Read(&slot->received)) return false;
  slot->bytes = slot->received.Length();
  Slot& added = *slot;
  std::unique_lock lock(mutex_);
  bytes_ += added.bytes;
  slots_.push_back(std::move(slot));
  lock.unlock();
  start(added);
  lock.lock();
  const auto hasRoom = [this] { return slots_.size() < kMostInFlight && bytes_ < kMostBytes; };
  while (!changed_.wait_for(lock, kWatchInterval, hasRoom)) watchClient();
  return !isGone_;
}

// Fills the request of a slot from the bytes that are received.
Outcome InferStream::prepare(Slot& slot, Clock::time_point arrival) {
  Result<MessageFacts> facts = factsOf(slot.received);
  if (!facts.ok()) return Outcome::of(facts.status());
  slot.id = facts->id;
  if (isEnding_) return {Fault::UNAVAILABLE, "the server shuts down"};
  Outcome outcome = clients_.admit(authorizationOf(context_), addressOf(context_), slot.ticket);
  if (!outcome.ok()) return outcome;
  outcome = parseWithin(guards_.memory, *facts, slot.received, slot.memory, slot.message);
  if (!outcome.ok()) return outcome;
  slot.id = slot.message.id();
  Result<InferRequest> request = requestOf(slot.message, arrival);
  if (!request.ok()) {
    Status status = request.takeStatus();
    return Outcome::of(status.annotate(fmt::format("model '{}'", slot.message.model_name())));
  }
  slot.request = std::move(*request);
  slot.request.mayComputeHere = false;  // this thread reads the next request
  slot.request.trace = traceOf(metadataOf(context_, "traceparent"));
  slot.request.isAbandoned = [this] { return isGone_.load(); };
  return {};
}

void InferStream::start(Slot& slot) {
  const Clock::time_point arrival = Clock::now();
  Outcome outcome;
  try {
    outcome = prepare(slot, arrival);
    if (outcome.ok()) {
      service_.infer(slot.request, arrival,
                     [this, &slot](InferAnswer answer) { finish(slot, std::move(answer)); });
      return;
    }
  } catch (const std::exception& error) {
    outcome = exhaustionOf(error);
  }
  finish(slot, {std::move(outcome), {}, {}});
}

void InferStream::finish(Slot& slot, InferAnswer answer) {
  slot.ticket.reset();
  slot.received.Clear();
  Outcome outcome = answer.outcome;
  try {
    if (outcome.ok()) {
      fillResponse(slot.request, std::move(answer), *slot.response.mutable_infer_response());
    }
  } catch (const std::exception& error) {
    outcome = exhaustionOf(error);
  }
  if (!outcome.ok()) {
    slot.response.Clear();
    slot.response.set_error_message(outcome.text());
    slot.response.mutable_infer_response()->set_id(slot.id);
  }
  const size_t bytes = slot.response.ByteSizeLong();
  guards_.memory.add(bytes, slot.memory);
  const std::lock_guard lock(mutex_);
  slot.bytes += bytes;
  bytes_ += bytes;
  slot.isAnswered = true;
  changed_.notify_all();  // within the lock, since the stream may end after it
}

// Writes the answers in their order. A client that does not read stops only this thread.
void InferStream::write() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return slots_.empty() ? isRead_ : slots_.front()->isAnswered; });
    if (slots_.empty()) return;
    Slot& slot = *slots_.front();
    lock.unlock();
    sending_.begin(slot.response.ByteSizeLong());
    if (!isGone_ && !peer_.Write(slot.response)) isGone_ = true;
    sending_.end();
    lock.lock();
    bytes_ -= slot.bytes;
    slots_.pop_front();
    if (isEnding_ && slots_.empty()) context_.TryCancel();
    changed_.notify_all();
  }
}

}  // namespace halyard::serve
