#include "hal/wire/wire_fence.h"

#include "hal/wire/wire_memory.h"
#include "hal/wire/wire_types.h"

namespace halyard::hal {
namespace {

template <typename Fd>
class FenceFile final : public wire::FileDescriptor::Server {
 public:
  explicit FenceFile(Fd fence, std::shared_ptr<const Quota::Charge> charge = nullptr)
      : charge_(std::move(charge)), fence_(std::move(fence)) {}
  kj::Maybe<int> getFd() override {
    if (!fence_.valid()) return nullptr;
    return fence_.get();
  }

 private:
  const std::shared_ptr<const Quota::Charge> charge_;
  const Fd fence_;
};

class FencedCallback final : public wire::v1_3::IFencedExecutionCallback::Server {
 public:
  FencedCallback(std::shared_ptr<FencedExecution> execution,
                 std::shared_ptr<const Quota::Charge> charge)
      : charge_(std::move(charge)), execution_(std::move(execution)) {}

  // Answers immediately; it does not wait for the execution.
  kj::Promise<void> getExecutionInfo(GetExecutionInfoContext context) override {
    const FencedInfo info = execution_->getExecutionInfo();
    setStatus(context.getResults(), info.status, HalVersion::V1_3);
    encodeTiming(info.launched, context.getResults().initTimingLaunched());
    encodeTiming(info.fenced, context.getResults().initTimingFenced());
    return kj::READY_NOW;
  }

 private:
  const std::shared_ptr<const Quota::Charge> charge_;
  const std::shared_ptr<FencedExecution> execution_;
};

}  // namespace

wire::FileDescriptor::Client encodeFence(UniqueFd fence,
                                         std::shared_ptr<const Quota::Charge> charge) {
  return kj::heap<FenceFile<UniqueFd>>(std::move(fence), std::move(charge));
}

wire::FileDescriptor::Client encodeFence(ForeignFd fence) {
  return kj::heap<FenceFile<ForeignFd>>(std::move(fence));
}

kj::Promise<std::vector<ForeignFd>> decodeFences(capnp::List<wire::FileDescriptor>::Reader from) {
  auto fds = kj::heapArrayBuilder<kj::Promise<ForeignFd>>(from.size());
  for (unsigned i = 0; i < from.size(); ++i) {
    fds.add(kj::evalNow([&] {
              return duplicateFd(from[i]);
            }).catch_([](kj::Exception&& exception) -> kj::Promise<ForeignFd> {
      if (exception.getType() == kj::Exception::Type::OVERLOADED) {
        return kj::mv(exception);
      }
      return ForeignFd();
    }));
  }
  return kj::joinPromises(fds.finish()).then([](kj::Array<ForeignFd> received) {
    std::vector<ForeignFd> fences;
    for (ForeignFd& fd : received) fences.push_back(std::move(fd));
    return fences;
  });
}

wire::v1_3::IFencedExecutionCallback::Client makeFencedCallback(
    std::shared_ptr<FencedExecution> execution, std::shared_ptr<const Quota::Charge> charge) {
  return kj::heap<FencedCallback>(std::move(execution), std::move(charge));
}

}  // namespace halyard::hal
