#include "validation/vts/hal_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "hal/server/server.h"
#include "hal/wire/wire_fence.h"
#include "hal/wire/wire_memory.h"
#include "hal/wire/wire_model.h"
#include "hal/wire/wire_request.h"
#include "hal/wire/wire_types.h"
#include "validation/vts/hal_callbacks.h"

namespace halyard::validation {

using hal::CallLimit;
using hal::DriverConnection;
using Side = DriverConnection::Side;
template <typename T>
using Answer = kj::Promise<Result<T>>;

namespace {

constexpr std::chrono::milliseconds kStartLimit{20'000};
// A call ends after this time, before the default limit of a check (60 s).
constexpr std::chrono::seconds kCallLimit{50};
// The connection ends shortly before the process.
constexpr std::chrono::milliseconds kEndGrace{500};

CallLimit patient() { return CallLimit::computing(hal::Clock::now() + kCallLimit); }

wire::v1_0::IDevice::Client& deviceOf(Side& side) { return KJ_ASSERT_NONNULL(side.device); }

template <typename Interface>
typename Interface::Client modelOf(Side& side, const DriverObjectPtr& model) {
  return side.preparedModels.at(model->key()).castAs<Interface>();
}

// Sends descriptors. They are duplicated when the message is sent.
void encodeHandleLists(const std::vector<CacheHandle>& from,
                       capnp::List<wire::Handle>::Builder to) {
  for (unsigned i = 0; i < to.size(); ++i) {
    auto fds = to[i].initFds(static_cast<unsigned>(from[i].size()));
    for (unsigned k = 0; k < fds.size(); ++k) {
      KJ_IF_MAYBE (file, hal::encodeFile(from[i][k])) fds.set(k, *file);
    }
  }
}

template <typename Call>
void putCache(const CacheHandles& cache, Call& call) {
  encodeHandleLists(cache.modelCache,
                    call.initModelCache(static_cast<unsigned>(cache.modelCache.size())));
  encodeHandleLists(cache.dataCache,
                    call.initDataCache(static_cast<unsigned>(cache.dataCache.size())));
  auto token = call.initToken(static_cast<unsigned>(cache.tokenBytes));
  std::copy_n(cache.token.begin(), std::min(cache.tokenBytes, cache.token.size()), token.begin());
}

// Sends a preparation that has all fields except its callback.
template <typename Call>
Answer<Preparation> sendPrepare(Side& side, std::shared_ptr<DriverConnection> connection, Call call,
                                bool nullCallback) {
  auto notifications = std::make_shared<std::atomic<unsigned>>(0);
  auto answer = kj::newPromiseAndFulfiller<PreparedNote>();
  if (!nullCallback) {
    call.setCallback(kj::heap<PreparedModelRecorder>(kj::mv(answer.fulfiller), notifications));
  }
  return call.send().then(
      [&side, connection = std::move(connection), nullCallback, notifications,
       promise = kj::mv(answer.promise)](auto&& response) mutable -> Answer<Preparation> {
        Preparation prepared;
        prepared.launch = response.getStatus();
        prepared.message = response.getMessage().cStr();
        prepared.notifications = notifications;
        if (nullCallback) return Result<Preparation>(std::move(prepared));
        return promise.then(
            [&side, connection = std::move(connection), prepared](PreparedNote note) mutable {
              prepared.callback = note.status;
              prepared.form = note.form;
              if (prepared.message.empty()) prepared.message = std::move(note.message);
              KJ_IF_MAYBE (client, note.model) {
                const uint64_t key = side.nextPreparedModel++;
                side.preparedModels.emplace(key, *client);
                prepared.hasModel = true;
                prepared.model = std::make_shared<const DriverObject>(
                    std::move(connection), DriverObject::Kind::PREPARED_MODEL, key);
              }
              return Result<Preparation>(std::move(prepared));
            },
            [prepared](kj::Exception&& exception) -> Result<Preparation> {
              if (exception.getType() == kj::Exception::Type::DISCONNECTED) throw kj::mv(exception);
              return prepared;
            });
      });
}

template <typename Call>
Answer<ExecutionAnswer> sendAsynchronously(Call call, const ExecuteCall& options) {
  auto notifications = std::make_shared<std::atomic<unsigned>>(0);
  auto answer = kj::newPromiseAndFulfiller<ExecutionAnswer>();
  if (!options.nullCallback) {
    call.setCallback(kj::heap<ExecutionRecorder>(kj::mv(answer.fulfiller), notifications,
                                                 options.callbackThrows));
  }
  return call.send().then(
      [nullCallback = options.nullCallback, notifications,
       promise = kj::mv(answer.promise)](auto&& response) mutable -> Answer<ExecutionAnswer> {
        const Code launch = response.getStatus();
        std::string message = response.getMessage().cStr();
        if (nullCallback) {
          ExecutionAnswer only;
          only.launch = launch;
          only.message = std::move(message);
          return Result<ExecutionAnswer>(std::move(only));
        }
        return promise.then(
            [launch, notifications, message](ExecutionAnswer told) {
              told.launch = launch;
              told.notifications = notifications;
              if (told.message.empty()) told.message = message;
              return Result<ExecutionAnswer>(std::move(told));
            },
            [launch, message](kj::Exception&& exception) -> Result<ExecutionAnswer> {
              if (exception.getType() == kj::Exception::Type::DISCONNECTED) throw kj::mv(exception);
              ExecutionAnswer none;
              none.launch = launch;
              none.message = message;
              return none;
            });
      });
}

template <typename Call>
Answer<ExecutionAnswer> sendSynchronously(Call call) {
  return call.send().then([](auto&& response) -> Result<ExecutionAnswer> {
    ExecutionAnswer answer;
    answer.launch = response.getStatus();
    answer.callback = answer.launch;
    answer.shapes = hal::decodeOutputShapes(response.getOutputShapes());
    answer.timing = hal::decodeTiming(response.getTiming());
    answer.message = response.getMessage().cStr();
    return answer;
  });
}

// How the driver's process ended, as soon as this is known.
std::string endOfProcess(const DriverConnection& connection, std::chrono::milliseconds patience) {
  const hal::TimePoint until = hal::Clock::now() + patience;
  for (;;) {
    std::string text = connection.diedDuring("the check").message();
    const bool isKnown = connection.dead() && (text.find("exit status") != std::string::npos ||
                                               text.find("signal") != std::string::npos);
    if (isKnown || hal::Clock::now() >= until) return text;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

template <typename Call>
void putRequest(Call& call, const hal::Request& request, const RequestEdit& edit) {
  hal::encodeRequest(request, call.initRequest());
  if (edit) edit(call.getRequest());
}

void encodeRoles(const std::vector<hal::BufferRole>& from,
                 capnp::List<wire::BufferRole>::Builder to) {
  for (unsigned i = 0; i < to.size(); ++i) {
    to[i].setModelIndex(from[i].modelIndex);
    to[i].setIoIndex(from[i].ioIndex);
    to[i].setFrequency(from[i].frequency);
  }
}

wire::MeasureTiming wireMeasure(bool measure) {
  return measure ? wire::MeasureTiming::YES : wire::MeasureTiming::NO;
}

wire::MeasureTiming wireMeasure(const ExecuteCall& call) {
  if (call.measureNumber) return static_cast<wire::MeasureTiming>(*call.measureNumber);
  return wireMeasure(call.measure);
}

}  // namespace

std::string_view codeName(Code code) {
  constexpr std::string_view kNames[] = {
      "NONE",
      "DEVICE_UNAVAILABLE",
      "GENERAL_FAILURE",
      "OUTPUT_INSUFFICIENT_SIZE",
      "INVALID_ARGUMENT",
      "MISSED_DEADLINE_TRANSIENT",
      "MISSED_DEADLINE_PERSISTENT",
      "RESOURCE_EXHAUSTED_TRANSIENT",
      "RESOURCE_EXHAUSTED_PERSISTENT",
  };
  const auto index = static_cast<size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "an unknown status";
}

std::string_view pathName(Path path) {
  return path == Path::ASYNCHRONOUS ? "asynchronously" : "synchronously";
}

DriverObject::~DriverObject() {
  if (kind_ == Kind::PREPARED_MODEL) {
    connection_->release(key_);
  } else {
    connection_->releaseBuffer(key_);
  }
}

// Serves a device of this process over a socket, to clients of this process.
class HalClient::LocalService {
 public:
  static Result<std::shared_ptr<LocalService>> start(std::shared_ptr<hal::RpcLoop> loop,
                                                     std::shared_ptr<hal::Device> device) {
    auto service = std::make_shared<LocalService>();
    service->folder_ =
        fmt::format("{}/halyard-validate-XXXXXX", std::filesystem::temp_directory_path().string());
    if (::mkdtemp(service->folder_.data()) == nullptr) {
      return errnoStatus(ResultCode::OP_FAILED, errno, "making a folder for a socket");
    }
    HALYARD_ASSIGN_OR_RETURN(service->server_,
                             hal::Server::start(std::move(loop), std::move(device)));
    service->listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    service->path().copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(service->listener_.get(), reinterpret_cast<const sockaddr*>(&address),
               sizeof address) != 0 ||
        ::listen(service->listener_.get(), 16) != 0) {
      return errnoStatus(ResultCode::OP_FAILED, errno, "listening at " + service->path());
    }
    service->thread_ = std::thread([raw = service.get()] { raw->accept(); });
    return service;
  }
  ~LocalService() {
    if (thread_.joinable()) {
      ::shutdown(listener_.get(), SHUT_RDWR);
      thread_.join();
    }
    server_.reset();
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }

  std::string path() const { return folder_ + "/driver"; }

 private:
  void accept() {
    for (;;) {
      UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) return;
      server_->serve(std::move(client), [] {});
    }
  }

  std::string folder_;
  UniqueFd listener_;
  std::unique_ptr<hal::Server> server_;
  std::thread thread_;
};

HalClient::~HalClient() = default;

Result<std::shared_ptr<HalClient>> HalClient::open(Target& target, bool watched) {
  std::shared_ptr<HalClient> client(new HalClient());
  client->version_ = target.spec().halVersion();
  HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<hal::RpcLoop> loop, target.loop());
  hal::Manifest manifest;
  if (target.spec().manifest) manifest = *target.spec().manifest;
  if (target.spec().isInProcess()) {
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::Device> device, target.bareDevice());
    // The server has its own loop, as in a process of its own.
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::RpcLoop> serverLoop, hal::RpcLoop::start());
    HALYARD_ASSIGN_OR_RETURN(client->service_,
                             LocalService::start(std::move(serverLoop), std::move(device)));
    manifest.name = target.spec().name;
    manifest.halVersion = target.spec().halVersion();
    manifest.kind = hal::Manifest::Kind::SOCKET;
    manifest.target = client->service_->path();
  }
  HALYARD_ASSIGN_OR_RETURN(client->connection_,
                           DriverConnection::open(loop, manifest, kStartLimit));
  if (!watched) return client;
  target.watch([weak = std::weak_ptr(client->connection_)]() -> std::optional<std::string> {
    const auto connection = weak.lock();
    if (connection == nullptr) return "";
    if (!connection->dead()) return std::nullopt;
    return endOfProcess(*connection, kEndGrace);
  });
  return client;
}

Result<std::shared_ptr<HalClient>> sharedClient(Target& target) {
  std::shared_ptr<void>& slot = target.kept("hal");
  auto client = std::static_pointer_cast<HalClient>(slot);
  if (client == nullptr || client->dead()) {
    HALYARD_ASSIGN_OR_RETURN(client, HalClient::open(target));
    slot = client;
  }
  return client;
}

std::vector<HalVersion> servedVersions(HalVersion newest) {
  std::vector<HalVersion> versions;
  for (const HalVersion version :
       {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2, HalVersion::V1_3}) {
    if (version <= newest) versions.push_back(version);
  }
  return versions;
}

Result<std::string> HalClient::disconnect() {
  connection_->later([](Side& side) { side.wire.shutdown(); });
  std::string end = endOfProcess(*connection_, std::chrono::seconds(10));
  if (!connection_->dead()) return opFailed("its process {} did not end", processId());
  return end;
}

Status HalClient::roundTrip() {
  return connection_
      ->call<bool>("getStatus",
                   [](Side& side) {
                     return deviceOf(side).getStatusRequest().send().then(
                         [](auto&&) -> Result<bool> { return true; });
                   })
      .takeStatus();
}

Result<SupportedAnswer> HalClient::supported(HalVersion method, const Model& model,
                                             const ModelEdit& edit) {
  return connection_->call<SupportedAnswer>(
      "getSupportedOperations",
      [&](Side& side) -> Answer<SupportedAnswer> {
        const auto ask = [&](auto call) -> Answer<SupportedAnswer> {
          hal::encodeModel(model, nullptr, call.initModel());
          if (edit) edit(call.getModel());
          return call.send().then([](auto&& response) -> Result<SupportedAnswer> {
            SupportedAnswer answer{response.getStatus(), {}, response.getMessage().cStr()};
            for (const bool one : response.getSupported()) answer.supported.push_back(one);
            for (const auto one : response.getDetails()) {
              const size_t index = answer.details.size();
              hal::OperationSupport& each = answer.details.emplace_back();
              each.supported = index < answer.supported.size() && answer.supported[index];
              each.reason.assign(one.getReason().begin(), one.getReason().size());
              if (one.getCost() != 0) each.cost = one.getCost();
            }
            return answer;
          });
        };
        auto device = deviceOf(side);
        switch (method) {
          case HalVersion::V1_0:
            return ask(device.getSupportedOperationsRequest());
          case HalVersion::V1_1:
            return ask(device.castAs<wire::v1_1::IDevice>().getSupportedOperations11Request());
          case HalVersion::V1_2:
            return ask(device.castAs<wire::v1_2::IDevice>().getSupportedOperations12Request());
          default:
            return ask(device.castAs<wire::v1_3::IDevice>().getSupportedOperations13Request());
        }
      },
      patient());
}

Result<Preparation> HalClient::prepare(HalVersion method, const Model& model,
                                       const PrepareCall& options) {
  return connection_->call<Preparation>(
      "prepareModel",
      [&](Side& side) -> Answer<Preparation> {
        const auto send = [&](auto call) {
          hal::encodeModel(model, nullptr, call.initModel());
          if (options.edit) options.edit(call.getModel());
          return sendPrepare(side, connection_, kj::mv(call), options.nullCallback);
        };
        const auto preference = static_cast<wire::ExecutionPreference>(options.preference);
        auto device = deviceOf(side);
        if (method == HalVersion::V1_0) return send(device.prepareModelRequest());
        if (method == HalVersion::V1_1) {
          auto call = device.castAs<wire::v1_1::IDevice>().prepareModel11Request();
          call.setPreference(preference);
          return send(kj::mv(call));
        }
        if (method == HalVersion::V1_2) {
          auto call = device.castAs<wire::v1_2::IDevice>().prepareModel12Request();
          call.setPreference(preference);
          if (options.cache != nullptr) putCache(*options.cache, call);
          return send(kj::mv(call));
        }
        auto call = device.castAs<wire::v1_3::IDevice>().prepareModel13Request();
        call.setPreference(preference);
        call.setPriority(static_cast<wire::Priority>(options.priority));
        hal::encodeDeadline(options.deadline, call.initDeadline());
        if (options.cache != nullptr) putCache(*options.cache, call);
        return send(kj::mv(call));
      },
      patient());
}

Result<Preparation> HalClient::prepareFromCache(HalVersion method, const CacheHandles& cache,
                                                std::optional<hal::TimePoint> deadline,
                                                bool nullCallback) {
  return connection_->call<Preparation>(
      "prepareModelFromCache",
      [&](Side& side) -> Answer<Preparation> {
        auto device = deviceOf(side);
        if (method < HalVersion::V1_3) {
          auto call = device.castAs<wire::v1_2::IDevice>().prepareModelFromCacheRequest();
          putCache(cache, call);
          return sendPrepare(side, connection_, kj::mv(call), nullCallback);
        }
        auto call = device.castAs<wire::v1_3::IDevice>().prepareModelFromCache13Request();
        putCache(cache, call);
        hal::encodeDeadline(deadline, call.initDeadline());
        return sendPrepare(side, connection_, kj::mv(call), nullCallback);
      },
      patient());
}

Result<ExecutionAnswer> HalClient::execute(HalVersion method, Path path,
                                           const DriverObjectPtr& model,
                                           const hal::Request& request,
                                           const ExecuteCall& options) {
  return connection_->call<ExecutionAnswer>(
      "execute",
      [&](Side& side) -> Answer<ExecutionAnswer> {
        if (method < HalVersion::V1_2) {
          auto call = modelOf<wire::v1_0::IPreparedModel>(side, model).executeRequest();
          putRequest(call, request, options.edit);
          return sendAsynchronously(kj::mv(call), options);
        }
        if (method == HalVersion::V1_2) {
          auto client = modelOf<wire::v1_2::IPreparedModel>(side, model);
          if (path == Path::ASYNCHRONOUS) {
            auto call = client.execute12Request();
            putRequest(call, request, options.edit);
            call.setMeasure(wireMeasure(options));
            return sendAsynchronously(kj::mv(call), options);
          }
          auto call = client.executeSynchronouslyRequest();
          putRequest(call, request, options.edit);
          call.setMeasure(wireMeasure(options));
          return sendSynchronously(kj::mv(call));
        }
        const auto put = [&](auto& call) {
          putRequest(call, request, options.edit);
          call.setMeasure(wireMeasure(options));
          hal::encodeDeadline(options.deadline, call.initDeadline());
          hal::encodeDuration(options.loopTimeout, call.initLoopTimeoutDuration());
        };
        auto client = modelOf<wire::v1_3::IPreparedModel>(side, model);
        if (path == Path::ASYNCHRONOUS) {
          auto call = client.execute13Request();
          put(call);
          return sendAsynchronously(kj::mv(call), options);
        }
        auto call = client.executeSynchronously13Request();
        put(call);
        return sendSynchronously(kj::mv(call));
      },
      patient());
}

Result<FencedAnswer> HalClient::executeFenced(const DriverObjectPtr& model,
                                              const hal::Request& request,
                                              const FencedCall& options) {
  using Response = capnp::Response<wire::v1_3::IPreparedModel::ExecuteFencedResults>;
  return connection_->call<FencedAnswer>(
      "executeFenced",
      [&](Side& side) -> Answer<FencedAnswer> {
        auto call = modelOf<wire::v1_3::IPreparedModel>(side, model).executeFencedRequest();
        putRequest(call, request, options.edit);
        auto fences = call.initWaitFor(static_cast<unsigned>(options.waitFor.size()));
        for (unsigned i = 0; i < fences.size(); ++i) {
          KJ_IF_MAYBE (file, hal::encodeFile(options.waitFor[i])) fences.set(i, *file);
        }
        call.setMeasure(wireMeasure(options.measure));
        hal::encodeDeadline(options.deadline, call.initDeadline());
        hal::encodeDuration(options.loopTimeout, call.initLoopTimeoutDuration());
        hal::encodeDuration(options.duration, call.initDuration());
        return call.send().then(
            [&side, connection = connection_](Response&& response) -> Answer<FencedAnswer> {
              FencedAnswer answer;
              answer.status = response.getStatus();
              answer.message = response.getMessage().cStr();
              answer.hasFence = response.hasSyncFence();
              answer.hasCallback = response.hasCallback();
              if (answer.hasCallback) {
                const uint64_t key = side.nextFencedExecution++;
                side.fencedExecutions.emplace(key, response.getCallback());
                answer.info = fencedInfo(std::make_shared<FencedCallbackKey>(connection, key));
              }
              auto fence = answer.hasFence ? hal::duplicateFd(response.getSyncFence())
                                           : kj::Promise<ForeignFd>(ForeignFd());
              return fence.then([answer = std::move(answer)](ForeignFd received) mutable {
                answer.fence.reset(received.release());
                return Result<FencedAnswer>(std::move(answer));
              });
            });
      },
      patient());
}

Result<BufferAnswer> HalClient::allocate(const Shape& dimensions,
                                         const std::vector<DriverObjectPtr>& models,
                                         const std::vector<hal::BufferRole>& inputRoles,
                                         const std::vector<hal::BufferRole>& outputRoles) {
  return connection_->call<BufferAnswer>("allocate", [&](Side& side) -> Answer<BufferAnswer> {
    auto call = deviceOf(side).castAs<wire::v1_3::IDevice>().allocateRequest();
    call.initDesc().setDimensions(kj::arrayPtr(dimensions.data(), dimensions.size()));
    auto list = call.initPreparedModels(static_cast<unsigned>(models.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      if (models[i] != nullptr) list.set(i, side.preparedModels.at(models[i]->key()));
    }
    encodeRoles(inputRoles, call.initInputRoles(static_cast<unsigned>(inputRoles.size())));
    encodeRoles(outputRoles, call.initOutputRoles(static_cast<unsigned>(outputRoles.size())));
    return call.send().then(
        [&side, connection = connection_](auto&& response) -> Result<BufferAnswer> {
          BufferAnswer answer;
          answer.status = response.getStatus();
          answer.message = response.getMessage().cStr();
          answer.token = response.getToken();
          answer.hasBuffer = response.hasBuffer();
          if (answer.hasBuffer) {
            const uint64_t key = side.nextBuffer++;
            side.buffers.emplace(key, response.getBuffer());
            answer.buffer =
                std::make_shared<const DriverObject>(connection, DriverObject::Kind::BUFFER, key);
          }
          return answer;
        });
  });
}

Result<StatusAnswer> HalClient::copyTo(const DriverObjectPtr& buffer,
                                       const SharedMemoryPtr& memory) {
  return connection_->call<StatusAnswer>("copyTo", [&](Side& side) {
    auto call = side.buffers.at(buffer->key()).copyToRequest();
    hal::MemoryEncoder().encode(memory, 0, call.initDst());
    return call.send().then([](auto&& response) -> Result<StatusAnswer> {
      return StatusAnswer{response.getStatus(), response.getMessage().cStr()};
    });
  });
}

Result<StatusAnswer> HalClient::copyFrom(const DriverObjectPtr& buffer,
                                         const SharedMemoryPtr& memory, const Shape& dimensions) {
  return connection_->call<StatusAnswer>("copyFrom", [&](Side& side) {
    auto call = side.buffers.at(buffer->key()).copyFromRequest();
    hal::MemoryEncoder().encode(memory, 0, call.initSrc());
    call.setDimensions(kj::arrayPtr(dimensions.data(), dimensions.size()));
    return call.send().then([](auto&& response) -> Result<StatusAnswer> {
      return StatusAnswer{response.getStatus(), response.getMessage().cStr()};
    });
  });
}

}  // namespace halyard::validation
