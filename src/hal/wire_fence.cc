#include "hal/wire_fence.h"

#include "hal/wire_memory.h"
#include "hal/wire_types.h"

namespace halyard::hal {
namespace {

class FenceFile final : public wire::FileDescriptor::Server {
 public:
  explicit FenceFile(UniqueFd fence) : fence_(std::move(fence)) {}
  kj::Maybe<int> getFd() override {
    if (!fence_.valid()) return nullptr;
    return fence_.get();
  }

 private:
  const UniqueFd fence_;
};

class FencedCallback final : public wire::v1_3::IFencedExecutionCallback::Server {
 public:
  explicit FencedCallback(std::shared_ptr<FencedExecution> execution)
      : execution_(std::move(execution)) {}

  // Answers from what is known: it does not wait for the execution.
  kj::Promise<void> getExecutionInfo(GetExecutionInfoContext context) override {
    const FencedInfo info = execution_->getExecutionInfo();
    setStatus(context.getResults(), info.status, HalVersion::V1_3);
    encodeTiming(info.launched, context.getResults().initTimingLaunched());
    encodeTiming(info.fenced, context.getResults().initTimingFenced());
    return kj::READY_NOW;
  }

 private:
  const std::shared_ptr<FencedExecution> execution_;
};

}  // namespace

wire::FileDescriptor::Client encodeFence(UniqueFd fence) {
  return kj::heap<FenceFile>(std::move(fence));
}

kj::Promise<std::vector<UniqueFd>> decodeFences(capnp::List<wire::FileDescriptor>::Reader from) {
  auto fds = kj::heapArrayBuilder<kj::Promise<UniqueFd>>(from.size());
  for (unsigned i = 0; i < from.size(); ++i) {
    fds.add(kj::evalNow([&] { return duplicateFd(from[i]); }).catch_([](kj::Exception&&) {
      return UniqueFd();
    }));
  }
  return kj::joinPromises(fds.finish()).then([](kj::Array<UniqueFd> received) {
    std::vector<UniqueFd> fences;
    for (UniqueFd& fd : received) fences.push_back(std::move(fd));
    return fences;
  });
}

wire::v1_3::IFencedExecutionCallback::Client makeFencedCallback(
    std::shared_ptr<FencedExecution> execution) {
  return kj::heap<FencedCallback>(std::move(execution));
}

}  // namespace halyard::hal
