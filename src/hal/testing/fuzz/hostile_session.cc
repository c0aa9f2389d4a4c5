#include "hal/testing/fuzz/hostile_session.h"

#include <sys/socket.h>
#include <unistd.h>

#include "hal/core/completion.h"
#include "hal/driver.capnp.h"
#include "hal/testing/fuzz/counting_callbacks.h"
#include "hal/testing/fuzz/fuzz_cache_files.h"
#include "hal/testing/fuzz/hostile_messages.h"
#include "hal/testing/fuzz/hostile_queue.h"
#include "hal/wire/rpc_loop_context.h"
#include "hal/wire/wire_connection.h"
#include "hal/wire/wire_memory.h"
#include "hal/wire/wire_model.h"
#include "hal/wire/wire_request.h"

namespace halyard::hal::fuzz {
namespace {

using Device13 = wire::v1_3::IDevice;
using Prepared13 = wire::v1_3::IPreparedModel;
using Promise = kj::Promise<void>;
using capnp::Capability;

constexpr int kMaxSteps = 24;
constexpr auto kLongestAnswer = 20 * kj::SECONDS;
// A fenced execution may wait for a fence that is never signalled.
constexpr auto kFencedPatience = 5 * kj::MILLISECONDS;

// The actions of one input, on the loop thread.
class Session {
 public:
  Session(RpcLoop::Context& context, UniqueFd socket, ByteSource bytes)
      : timer_(context.io.provider->getTimer()),
        bytes_(bytes),
        rawSocket_(socket.duplicate()),
        wire_(context, std::move(socket), capnp::rpc::twoparty::Side::CLIENT, nullptr) {
    held_.push_back(wire_.peer());
    disconnected_ = wire_.onDisconnect().then([this] { ended_ = true; }).eagerlyEvaluate(nullptr);
  }

  ~Session() { *alive_ = false; }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Promise run() {
    return hello().then([this] { return step(0); }).catch_([](kj::Exception&&) {});
  }

 private:
  // An answer of any kind ends a step. Sanitizers detect damage in the server.
  template <typename Call>
  Promise send(Call&& call, bool mayTakeLong = false) {
    auto answered = call.send().then([](auto&& response) { checkStatus(response); });
    return finish(kj::mv(answered), mayTakeLong);
  }
  // The same for a call with a callback. If the call is answered, the callback must be called once.
  template <typename Call>
  Promise sendWithCallback(Call&& call) {
    auto called = kj::mv(called_);
    return finish(call.send().then([this, called = kj::mv(called)](auto&& response) mutable {
      checkStatus(response);
      KJ_IF_MAYBE (promise, called) {
        return promise->catch_([this](kj::Exception&&) {
          // The connection may have ended. That may become visible only a moment later.
          return timer_.afterDelay(50 * kj::MILLISECONDS).then([this] {
            if (!ended_) fail("a callback that is never called");
          });
        });
      }
      return Promise(kj::READY_NOW);
    }),
                  false);
  }
  kj::Own<kj::PromiseFulfiller<void>> expectCall() {
    auto pair = kj::newPromiseAndFulfiller<void>();
    called_ = kj::mv(pair.promise);
    return kj::mv(pair.fulfiller);
  }
  Promise finish(Promise answered, bool mayTakeLong) {
    Promise quiet = answered.catch_([](kj::Exception&&) {});
    if (bytes_.oneIn(4)) {  // continues without a wait, or drops the call at once
      if (bytes_.oneIn(2)) pending_.push_back(kj::mv(quiet));
      return kj::READY_NOW;
    }
    // After garbage, the server may read the call as the rest of a message.
    if (mayTakeLong || garbageSent_) return quiet.exclusiveJoin(timer_.afterDelay(kFencedPatience));
    return quiet.exclusiveJoin(timer_.afterDelay(kLongestAnswer).then([action = action_] {
      fail(fmt::format("no answer for 20 s to action {} of Session::act", action).c_str());
    }));
  }

  void keep(Capability::Client client, std::vector<Capability::Client>& ofKind) {
    held_.emplace_back(client);
    ofKind.push_back(kj::mv(client));
  }

  Promise hello() {
    auto call = held_[0].castAs<wire::IDriver>().helloRequest();
    call.setProtocolVersion(bytes_.oneIn(50) ? bytes_.number32()
                                             : uint32_t{wire::PROTOCOL_VERSION});
    return call.send().then([this](auto&& response) {
      if (response.hasDevice()) {
        keep(response.getDevice(), devices_);
      }
    });
  }

  Promise step(int count) {
    if (count == kMaxSteps || bytes_.empty()) return kj::READY_NOW;
    return kj::evalNow([this] { return act(); }).catch_([](kj::Exception&&) {}).then([this, count] {
      return kj::evalLater([this, count] { return step(count + 1); });
    });
  }

  // Mostly a capability of the right kind.
  template <typename Interface>
  typename Interface::Client pick(std::vector<Capability::Client>& ofKind) {
    if (!ofKind.empty() && !bytes_.oneIn(16)) {
      return ofKind[bytes_.below(static_cast<uint32_t>(ofKind.size()))].castAs<Interface>();
    }
    return anything().castAs<Interface>();
  }
  Capability::Client anything() { return held_[bytes_.below(static_cast<uint32_t>(held_.size()))]; }
  Device13::Client device() { return pick<Device13>(devices_); }
  Prepared13::Client prepared() { return pick<Prepared13>(prepared_); }

  Promise act() {
    action_ = bytes_.below(16);
    switch (action_) {
      case 0:
        return query();
      case 1:
      case 2:
        return supportedOperations();
      case 3:
      case 4:
      case 5:
        return prepare();
      case 6:
        return executeAsynchronously();
      case 7:
      case 8:
        return executeSynchronously();
      case 9:
        return executeFenced();
      case 10:
        return configureBurst();
      case 11:
        return allocate();
      case 12:
        return useBuffer();
      case 13:
        return fromCache();
      case 14:
        drop();
        return kj::READY_NOW;
      default:
        if (bytes_.oneIn(2)) return finish(askToTrace(bytes_, held_[0], anything()), false);
        if (bytes_.oneIn(8)) garbage();
        return kj::READY_NOW;
    }
  }

  Promise query() {
    switch (bytes_.below(12)) {
      case 0:
        return send(device().getCapabilitiesRequest());
      case 1:
        return send(device().getCapabilities11Request());
      case 2:
        return send(device().getCapabilities12Request());
      case 3:
        return send(device().getCapabilities13Request());
      case 4:
        return send(device().getVersionStringRequest());
      case 5:
        return send(device().getTypeRequest());
      case 6:
        return send(device().getSupportedExtensionsRequest());
      case 7:
        return send(device().getNumberOfCacheFilesNeededRequest());
      case 8:
        return send(device().isCachingSupportedRequest());
      case 9: {
        auto call = pick<Prepared13>(prepared_).saveToCacheRequest();
        for (auto handle : {call.initModelCache(), call.initDataCache()}) {
          auto fds = handle.initFds(bytes_.below(3));
          for (unsigned i = 0; i < fds.size(); ++i) {
            KJ_IF_MAYBE (file, chooseFile(bytes_, held_.back())) fds.set(i, kj::mv(*file));
          }
        }
        call.initToken(bytes_.oneIn(4) ? bytes_.below(100) : 32);
        return send(kj::mv(call));
      }
      case 10:
        return finish(held_[0].castAs<wire::IDriver>().pingRequest().send().ignoreResult(), false);
      default:
        return send(device().getFeatureLevelRequest());
    }
  }

  void fillModel(wire::Model::Builder to) {
    Model model = chooseModel(bytes_);
    model.pools = {memory_, memory_};
    encodeModel(model, nullptr, to);
    spoilModel(bytes_, to, held_.back());
  }

  Promise supportedOperations() {
    const auto ask = [this](auto call) {
      fillModel(call.initModel());
      return send(kj::mv(call));
    };
    switch (bytes_.below(4)) {
      case 0:
        return ask(device().getSupportedOperationsRequest());
      case 1:
        return ask(device().getSupportedOperations11Request());
      case 2:
        return ask(device().getSupportedOperations12Request());
      default:
        return ask(device().getSupportedOperations13Request());
    }
  }

  template <typename Call>
  void setPreparedCallback(Call& call) {
    called_ = nullptr;
    if (bytes_.oneIn(20)) return;
    if (bytes_.oneIn(20)) {
      call.setCallback(anything().castAs<wire::v1_3::IPreparedModelCallback>());
      return;
    }
    call.setCallback(
        kj::heap<PreparedCallback>(expectCall(), [this, alive = alive_](Capability::Client model) {
          if (*alive) keep(kj::mv(model), prepared_);
        }));
  }
  template <typename Call>
  void setCache(Call& call) {
    if (!bytes_.oneIn(6)) return;
    if (bytes_.oneIn(2)) return cacheFiles_.put(bytes_, call);
    const auto fill = [this](auto handles) {
      for (auto handle : handles) {
        auto fds = handle.initFds(bytes_.below(3));
        for (unsigned i = 0; i < fds.size(); ++i) {
          KJ_IF_MAYBE (file, chooseFile(bytes_, held_.back())) fds.set(i, kj::mv(*file));
        }
      }
    };
    fill(call.initModelCache(bytes_.below(4)));
    fill(call.initDataCache(bytes_.below(4)));
    call.initToken(bytes_.oneIn(4) ? bytes_.below(100) : 32);
  }
  template <typename Call>
  void setAttributes(Call& call) {
    if (bytes_.oneIn(3)) fillAttributes(bytes_, call.initAttributes());
  }
  template <typename Call>
  void setDeadline(Call& call) {
    if (bytes_.oneIn(4)) call.getDeadline().setNanosecondsSinceEpoch(bytes_.number64());
  }
  wire::ExecutionPreference preference() {
    return static_cast<wire::ExecutionPreference>(bytes_.oneIn(8) ? bytes_.below(5) : 1);
  }

  wire::Priority priority() {
    return static_cast<wire::Priority>(bytes_.oneIn(4) ? bytes_.below(5) : 1);
  }

  Promise prepare() {
    switch (bytes_.below(5)) {
      case 0: {
        auto call = device().prepareModelRequest();
        fillModel(call.initModel());
        setPreparedCallback(call);
        return sendWithCallback(kj::mv(call));
      }
      case 1: {
        auto call = device().prepareModel11Request();
        fillModel(call.initModel());
        call.setPreference(preference());
        setPreparedCallback(call);
        return sendWithCallback(kj::mv(call));
      }
      case 2: {
        auto call = device().prepareModel12Request();
        fillModel(call.initModel());
        call.setPreference(preference());
        setCache(call);
        setPreparedCallback(call);
        return sendWithCallback(kj::mv(call));
      }
      case 3: {
        auto call = device().prepareSupported13Request();
        fillModel(call.initModel());
        call.setPreference(preference());
        call.setPriority(priority());
        setDeadline(call);
        setAttributes(call);
        setPreparedCallback(call);
        return send(kj::mv(call));  // an unsupported operation does not call the callback
      }
      default: {
        auto call = device().prepareModel13Request();
        fillModel(call.initModel());
        call.setPreference(preference());
        call.setPriority(priority());
        setCache(call);
        setDeadline(call);
        setAttributes(call);
        setPreparedCallback(call);
        return sendWithCallback(kj::mv(call));
      }
    }
  }

  Promise fromCache() {
    if (bytes_.oneIn(2)) {
      auto call = device().prepareModelFromCacheRequest();
      setCache(call);
      setPreparedCallback(call);
      return sendWithCallback(kj::mv(call));
    }
    auto call = device().prepareModelFromCache13Request();
    setCache(call);
    setDeadline(call);
    setPreparedCallback(call);
    return sendWithCallback(kj::mv(call));
  }

  // Fits the first three models of chooseModel. It is sometimes changed, and so fits other models,
  // too.
  void fillRequest(wire::Request::Builder to) {
    const auto argument = [](uint32_t pool, uint32_t offset, uint32_t length) {
      RequestArgument made;
      made.kind = RequestArgument::Kind::POOL;
      made.location = {pool, offset, length};
      return made;
    };
    Request request;
    switch (bytes_.below(4)) {
      case 0:
        request.inputs = {argument(0, 0, 64), argument(0, 64, 64)};
        request.outputs = {argument(1, 0, 64)};
        break;
      case 1:
        request.inputs = {argument(0, 0, 64)};
        request.outputs = {argument(1, 0, 64)};
        break;
      case 2:
        request.inputs = {argument(0, 1024, 1024)};
        request.outputs = {argument(1, 2048, 1024)};
        break;
      default:
        request.inputs = {argument(0, 0, 1), argument(0, 0, 64), argument(0, 64, 64)};
        request.outputs = {argument(1, 0, 64)};
    }
    request.pools = {memory_, otherMemory_};
    if (!tokens_.empty() && bytes_.oneIn(3)) {
      request.pools[bytes_.below(2)] = tokens_[bytes_.below(static_cast<uint32_t>(tokens_.size()))];
      for (auto* list : {&request.inputs, &request.outputs}) {
        for (RequestArgument& each : *list) each.location = {each.location.poolIndex, 0, 0};
      }
    }
    encodeRequest(request, to);
    spoilRequest(bytes_, to, held_.back());
  }
  wire::MeasureTiming measure() {
    return static_cast<wire::MeasureTiming>(bytes_.oneIn(8) ? bytes_.below(4) : 0);
  }
  template <typename Call>
  void setResultCallback(Call& call) {
    called_ = nullptr;
    if (bytes_.oneIn(20)) return;
    if (bytes_.oneIn(20)) {
      call.setCallback(anything().castAs<wire::v1_3::IExecutionCallback>());
      return;
    }
    call.setCallback(kj::heap<ResultCallback>(expectCall()));
  }

  Promise executeAsynchronously() {
    switch (bytes_.below(3)) {
      case 0: {
        auto call = prepared().executeRequest();
        fillRequest(call.initRequest());
        setResultCallback(call);
        return sendWithCallback(kj::mv(call));
      }
      case 1: {
        auto call = prepared().execute12Request();
        fillRequest(call.initRequest());
        call.setMeasure(measure());
        setResultCallback(call);
        return sendWithCallback(kj::mv(call));
      }
      default: {
        auto call = prepared().execute13Request();
        fillRequest(call.initRequest());
        call.setMeasure(measure());
        setDeadline(call);
        setResultCallback(call);
        return sendWithCallback(kj::mv(call));
      }
    }
  }

  Promise executeSynchronously() {
    if (bytes_.oneIn(2)) {
      auto call = prepared().executeSynchronouslyRequest();
      fillRequest(call.initRequest());
      call.setMeasure(measure());
      return send(kj::mv(call));
    }
    auto call = prepared().executeSynchronously13Request();
    fillRequest(call.initRequest());
    call.setMeasure(measure());
    setDeadline(call);
    if (bytes_.oneIn(4)) call.getLoopTimeoutDuration().setNanoseconds(bytes_.number64());
    setAttributes(call);
    return send(kj::mv(call));
  }

  Promise executeFenced() {
    auto call = prepared().executeFencedRequest();
    fillRequest(call.initRequest());
    auto fences = call.initWaitFor(bytes_.oneIn(20) ? bytes_.below(200) : bytes_.below(3));
    for (unsigned i = 0; i < fences.size() && i < 8; ++i) {
      KJ_IF_MAYBE (file, chooseFile(bytes_, held_.back())) fences.set(i, kj::mv(*file));
    }
    call.setMeasure(measure());
    setDeadline(call);
    if (bytes_.oneIn(4)) call.getDuration().setNanoseconds(bytes_.number64());
    setAttributes(call);
    auto answered = call.send().then([this](auto&& response) {
      checkStatus(response);
      if (response.getStatus() == wire::ErrorStatus::NONE && response.hasCallback()) {
        keep(response.getCallback(), fenced_);
      }
    });
    if (!fenced_.empty() && bytes_.oneIn(2)) {
      pending_.push_back(answered.catch_([](kj::Exception&&) {}));
      return send(pick<wire::v1_3::IFencedExecutionCallback>(fenced_).getExecutionInfoRequest());
    }
    return finish(kj::mv(answered), true);
  }

  Promise configureBurst() {
    if (!bursts_.empty() && bytes_.oneIn(2)) {
      return finish(giveUp(bytes_, pick<wire::v1_2::IBurstContext>(bursts_)), false);
    }
    if (!queues_.empty() && bytes_.oneIn(2)) {
      const OpenQueue& queue = queues_[bytes_.below(static_cast<uint32_t>(queues_.size()))];
      if (bytes_.oneIn(2)) offerMemory(bytes_, queue);
      sendPacket(bytes_, queue);
      return kj::READY_NOW;
    }
    auto call = prepared().configureExecutionBurstRequest();
    SharedMemoryPtr requests = fillQueue(bytes_, call.initRequestChannel(), held_.back());
    fillQueue(bytes_, call.initResultChannel(), held_.back());
    call.setExtended(bytes_.oneIn(2));
    if (!bytes_.oneIn(10)) {
      const auto some = bytes_.take(32);
      call.setCallback(kj::heap<BurstCallback>(std::vector<uint8_t>(some.begin(), some.end())));
    }
    const auto doorbell = chooseDoorbell(bytes_, call, held_.back());
    return finish(call.send().then([this, requests, doorbell](auto&& response) -> Promise {
      checkStatus(response);
      const bool ok = response.getStatus() == wire::ErrorStatus::NONE;
      if (ok != response.hasBurstContext()) fail("a status that contradicts its burst");
      if (!ok) return kj::READY_NOW;
      keep(response.getBurstContext(), bursts_);
      auto taken = takeChannels(response);
      return taken.then([this, requests, doorbell](OpenQueue queue) {
        if (requests == nullptr) return;
        queue.memory = requests;
        queue.doorbell = doorbell;
        queues_.push_back(std::move(queue));
      });
    }),
                  false);
  }

  Promise allocate() {
    auto call = device().allocateRequest();
    auto dimensions = call.initDesc().initDimensions(bytes_.below(3));
    for (unsigned i = 0; i < dimensions.size(); ++i) {
      dimensions.set(i, bytes_.oneIn(2) ? 16 : bytes_.number32());
    }
    auto models = call.initPreparedModels(bytes_.below(4));
    for (unsigned i = 0; i < models.size(); ++i) {
      if (!bytes_.oneIn(8)) models.set(i, prepared());
    }
    const auto fill = [this](auto roles) {
      for (auto role : roles) {
        role.setModelIndex(bytes_.oneIn(4) ? bytes_.number32() : bytes_.below(2));
        role.setIoIndex(bytes_.oneIn(4) ? bytes_.number32() : bytes_.below(2));
        role.setFrequency(bytes_.oneIn(4) ? static_cast<float>(bytes_.byte()) - 100 : 1.0f);
      }
    };
    fill(call.initInputRoles(bytes_.below(3)));
    fill(call.initOutputRoles(bytes_.below(3)));
    return finish(call.send().then([this](auto&& response) {
      checkStatus(response);
      const bool ok = response.getStatus() == wire::ErrorStatus::NONE;
      if (ok != response.hasBuffer() || ok != (response.getToken() != 0)) {
        fail("a status that contradicts its buffer");
      }
      if (!ok) return;
      tokens_.push_back(response.getToken());
      keep(response.getBuffer(), buffers_);
    }),
                  false);
  }

  Promise useBuffer() {
    auto buffer = pick<wire::v1_3::IBuffer>(buffers_);
    if (bytes_.oneIn(2)) {
      auto call = buffer.copyToRequest();
      fillMemory(bytes_, call.initDst(), held_.back());
      if (!bytes_.oneIn(4)) call.getDst().setSize(64);
      return send(kj::mv(call));
    }
    auto call = buffer.copyFromRequest();
    fillMemory(bytes_, call.initSrc(), held_.back());
    if (!bytes_.oneIn(4)) call.getSrc().setSize(64);
    auto dimensions = call.initDimensions(bytes_.below(3));
    for (unsigned i = 0; i < dimensions.size(); ++i) dimensions.set(i, bytes_.number32());
    return send(kj::mv(call));
  }

  void drop() {
    const auto dropFrom = [this](std::vector<Capability::Client>& list) {
      if (list.empty()) return;
      list.erase(list.begin() + bytes_.below(static_cast<uint32_t>(list.size())));
    };
    if (held_.size() > 1) dropFrom(held_);
    std::vector<Capability::Client>* lists[] = {&devices_, &prepared_, &buffers_, &bursts_,
                                                &fenced_};
    dropFrom(*lists[bytes_.below(5)]);
    if (bytes_.oneIn(4)) pending_.clear();
  }

  // Sends bytes between the messages. They end the connection.
  void garbage() {
    garbageSent_ = true;
    const auto some = bytes_.take(bytes_.byte());
    (void)!::send(rawSocket_.get(), some.data(), some.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  // For callbacks: a received call runs even if the session has ended.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  kj::Timer& timer_;
  ByteSource bytes_;
  UniqueFd rawSocket_;
  FuzzCacheFiles cacheFiles_;
  WireConnection wire_;
  const SharedMemoryPtr memory_ = SharedMemory::create(4096, "fuzz").value();
  const SharedMemoryPtr otherMemory_ = SharedMemory::create(4096, "fuzz").value();
  uint32_t action_ = 0;
  std::vector<Capability::Client> held_;  // all capabilities; the first one is never dropped
  std::vector<Capability::Client> devices_, prepared_, buffers_, bursts_, fenced_;
  std::vector<uint32_t> tokens_;
  std::vector<OpenQueue> queues_;
  std::vector<Promise> pending_;
  kj::Maybe<Promise> called_;  // of the last callback
  bool garbageSent_ = false;
  bool ended_ = false;
  Promise disconnected_ = nullptr;
};

}  // namespace

void runHostileSession(RpcLoop& loop, UniqueFd socket, std::span<const uint8_t> input) {
  ByteSource bytes(input);
  if (bytes.oneIn(8)) {
    sendRaw(socket.get(), bytes);
    return;
  }
  Completion<bool> done;
  loop.post([&done, &socket, bytes](RpcLoop::Context& context) {
    auto session = std::make_unique<Session>(context, std::move(socket), bytes);
    auto running = session->run();
    // The promise of the session must not destroy the session.
    context.tasks.add(running.then([session = std::move(session), &done]() mutable {
      return kj::evalLater([session = std::move(session), &done]() mutable {
        session.reset();
        done.set(true);
      });
    }));
  });
  done.wait();
}

}  // namespace halyard::hal::fuzz
