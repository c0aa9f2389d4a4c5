#include "serve/grpc/infer_stream.h"

#include <thread>

#include "serve/grpc/messages.h"
#include "serve/grpc/service_methods.h"
#include "serve/protocol/trace_context.h"

namespace halyard::serve {
namespace {

// Limits of the requests of one stream that are not answered yet. Beyond them the stream is not
// read, and the flow control of gRPC stops the client.
constexpr size_t kMostInFlight = 64;
constexpr size_t kMostBytes = size_t{64} << 20;
// How often a stream that reads nothing looks whether its client has gone.
constexpr std::chrono::milliseconds kWatchInterval{20};

}  // namespace

void InferStream::run() {
  std::thread writer([this] { write(); });
  while (readOne()) {
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
  if (!peer_.Read(&slot->message)) return false;
  slot->bytes = slot->message.ByteSizeLong();
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

void InferStream::start(Slot& slot) {
  const Clock::time_point arrival = Clock::now();
  const auto fail = [&](Outcome outcome) { finish(slot, {std::move(outcome), {}, {}}); };
  if (isEnding_) {
    fail({Fault::UNAVAILABLE, "the server shuts down"});
    return;
  }
  Outcome admitted = clients_.admit(authorizationOf(context_), addressOf(context_), slot.ticket);
  if (!admitted.ok()) {
    fail(std::move(admitted));
    return;
  }
  Result<InferRequest> request = requestOf(slot.message, arrival);
  if (!request.ok()) {
    Status status = request.takeStatus();
    fail(Outcome::of(status.annotate(fmt::format("model '{}'", slot.message.model_name()))));
    return;
  }
  slot.request = std::move(*request);
  slot.request.mayComputeHere = false;  // this thread reads the next request
  slot.request.trace = traceOf(metadataOf(context_, "traceparent"));
  slot.request.isAbandoned = [this] { return isGone_.load(); };
  service_.infer(slot.request, arrival,
                 [this, &slot](InferAnswer answer) { finish(slot, std::move(answer)); });
}

void InferStream::finish(Slot& slot, InferAnswer answer) {
  slot.ticket.reset();
  if (answer.outcome.ok()) {
    fillResponse(slot.request, std::move(answer), *slot.response.mutable_infer_response());
  } else {
    slot.response.set_error_message(answer.outcome.text());
    slot.response.mutable_infer_response()->set_id(slot.message.id());
  }
  const std::lock_guard lock(mutex_);
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
    if (!isGone_ && !peer_.Write(slot.response)) isGone_ = true;
    lock.lock();
    bytes_ -= slot.bytes;
    slots_.pop_front();
    if (isEnding_ && slots_.empty()) context_.TryCancel();
    changed_.notify_all();
  }
}

}  // namespace halyard::serve
