// Callbacks for a fuzzed server. They count their calls and check their arguments.
// Thread safety: loop thread only. Ownership: own the fulfiller of a promise of their single call.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "hal/testing/fuzz/hostile_messages.h"
#include "hal/v1_3.capnp.h"

namespace halyard::hal::fuzz {

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "server_fuzz: %s\n", what);
  std::abort();
}

template <typename Response>
void checkStatus(const Response& response) {
  const auto status = static_cast<unsigned>(response.getStatus());
  if (status > 8) fail("a status that is none");
  if (status != 0 && response.getMessage().size() == 0) fail("an error without text");
}

// The first call fulfils the promise. The destructor rejects it if there was no call.
class CallCounter {
 public:
  explicit CallCounter(kj::Own<kj::PromiseFulfiller<void>> called) : called_(kj::mv(called)) {}
  void call() {
    if (++calls_ > 1) fail("a callback called twice");
    called_->fulfill();
  }

 private:
  int calls_ = 0;
  kj::Own<kj::PromiseFulfiller<void>> called_;
};

class PreparedCallback final : public wire::v1_3::IPreparedModelCallback::Server {
 public:
  using Take = std::function<void(capnp::Capability::Client)>;
  PreparedCallback(kj::Own<kj::PromiseFulfiller<void>> called, Take take)
      : counter_(kj::mv(called)), take_(std::move(take)) {}

  kj::Promise<void> notify(NotifyContext context) override { return use(context); }
  kj::Promise<void> notify12(Notify12Context context) override { return use(context); }
  kj::Promise<void> notify13(Notify13Context context) override { return use(context); }

 private:
  template <typename Context>
  kj::Promise<void> use(Context context) {
    const auto params = context.getParams();
    checkStatus(params);
    const bool ok = params.getStatus() == wire::ErrorStatus::NONE;
    if (ok != params.hasPreparedModel()) fail("a status that contradicts its prepared model");
    if (ok) take_(params.getPreparedModel());
    counter_.call();
    return kj::READY_NOW;
  }
  CallCounter counter_;
  const Take take_;
};

class ResultCallback final : public wire::v1_3::IExecutionCallback::Server {
 public:
  explicit ResultCallback(kj::Own<kj::PromiseFulfiller<void>> called) : counter_(kj::mv(called)) {}

  kj::Promise<void> notify(NotifyContext context) override { return use(context); }
  kj::Promise<void> notify12(Notify12Context context) override { return use(context); }
  kj::Promise<void> notify13(Notify13Context context) override { return use(context); }

 private:
  template <typename Context>
  kj::Promise<void> use(Context context) {
    checkStatus(context.getParams());
    counter_.call();
    return kj::READY_NOW;
  }
  CallCounter counter_;
};

class BurstCallback final : public wire::v1_2::IBurstCallback::Server {
 public:
  explicit BurstCallback(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}

  kj::Promise<void> getMemories(GetMemoriesContext context) override {
    ByteSource bytes(bytes_);
    const unsigned count =
        bytes.oneIn(4) ? bytes.below(600) : context.getParams().getSlots().size();
    auto memories = context.getResults().initMemories(count);
    capnp::Capability::Client self = thisCap();
    for (unsigned i = 0; i < count && i < 8; ++i) fillMemory(bytes, memories[i], self);
    return kj::READY_NOW;
  }

 private:
  const std::vector<uint8_t> bytes_;
};

}  // namespace halyard::hal::fuzz
