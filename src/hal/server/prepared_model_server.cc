#include "hal/server/prepared_model_server.h"

#include <algorithm>

#include "hal/core/failed_execution.h"
#include "hal/server/burst_server.h"
#include "hal/session/session_prepared_model.h"
#include "hal/wire/wire_fence.h"
#include "hal/wire/wire_memory.h"
#include "hal/wire/wire_request.h"

namespace halyard::hal {
namespace {

using ImportedPtr = std::shared_ptr<ImportedRequest>;

template <typename Results>
void setResult(Results&& results, const ExecutionResult& result, HalVersion version) {
  setStatus(results, result.status, version);
  encodeOutputShapes(result.outputShapes,
                     results.initOutputShapes(static_cast<unsigned>(result.outputShapes.size())));
  encodeTiming(result.timing, results.initTiming());
  results.setCopiedBytes(result.copiedBytes);
}

void notify(const std::shared_ptr<ServedClient>& client,
            wire::v1_0::IExecutionCallback::Client callback, const ExecutionResult& result,
            HalVersion version) {
  const auto send = [&](auto request) { notified(client, request.send().ignoreResult()); };
  if (version >= HalVersion::V1_3) {
    auto request = callback.castAs<wire::v1_3::IExecutionCallback>().notify13Request();
    setResult(request, result, version);
    send(kj::mv(request));
  } else if (version >= HalVersion::V1_2) {
    auto request = callback.castAs<wire::v1_2::IExecutionCallback>().notify12Request();
    setResult(request, result, version);
    send(kj::mv(request));
  } else {
    auto request = callback.notifyRequest();
    setStatus(request, result.status, version);
    send(kj::mv(request));
  }
}

ExecutionResult execute(PreparedModel& preparedModel, const Model& model,
                        const ImportedRequest& request, const ExecuteOptions& options) {
  ExecutionResult result = preparedModel.executeSynchronously(request.request(), options);
  const Status written = request.writeBack(model, result);
  if (!written.ok()) result = failed(written);
  normalise(result, options.measureTiming);
  return result;
}

class PreparedModelServer final : public wire::v1_3::IPreparedModel::Server {
 public:
  PreparedModelServer(std::shared_ptr<ServedClient> client, std::shared_ptr<const Model> model,
                      std::shared_ptr<PreparedModel> preparedModel, HalVersion version,
                      Priority priority)
      : client_(std::move(client)),
        core_(client_->core),
        model_(std::move(model)),
        preparedModel_(std::move(preparedModel)),
        version_(version),
        priority_(priority) {}
  ~PreparedModelServer() {
    using Both = std::pair<std::shared_ptr<const Model>, std::shared_ptr<PreparedModel>>;
    client_->dispose(std::make_shared<Both>(std::move(model_), std::move(preparedModel_)));
  }
  PreparedModelServer(const PreparedModelServer&) = delete;
  PreparedModelServer& operator=(const PreparedModelServer&) = delete;

  kj::Promise<void> execute(ExecuteContext context) override {
    return asynchronously(context, ExecuteOptions(), HalVersion::V1_0);
  }
  kj::Promise<void> execute12(Execute12Context context) override {
    return asynchronously(context, measureOf(context.getParams()), HalVersion::V1_2);
  }
  kj::Promise<void> execute13(Execute13Context context) override {
    return asynchronously(context, allOptionsOf(context.getParams()), HalVersion::V1_3);
  }
  kj::Promise<void> executeSynchronously(ExecuteSynchronouslyContext context) override {
    return synchronously(context, measureOf(context.getParams()), HalVersion::V1_2);
  }
  kj::Promise<void> executeSynchronously13(ExecuteSynchronously13Context context) override {
    return synchronously(context, allOptionsOf(context.getParams()), HalVersion::V1_3);
  }

  kj::Promise<void> configureExecutionBurst(ConfigureExecutionBurstContext context) override {
    requireVersion(HalVersion::V1_2);
    return configureBurst(context, {client_, model_, preparedModel_, priority_, version_});
  }
  kj::Promise<void> saveToCache(SaveToCacheContext context) override {
    requireVersion(HalVersion::V1_2);
    return saveFiles(context);
  }
  kj::Promise<void> executeFenced(ExecuteFencedContext context) override {
    requireVersion(HalVersion::V1_3);
    const auto params = context.getParams();
    const Result<ExecuteOptions> options = allOptionsOf(params);
    const size_t fences = params.getWaitFor().size();
    Status refused = options.status();
    if (refused.ok() && fences > wire::MAX_FDS_PER_MESSAGE) {
      refused = badData("{} fences to wait for; at most {} are taken", fences,
                        static_cast<uint32_t>(wire::MAX_FDS_PER_MESSAGE));
    }
    // Its own fence has two ends.
    auto charge = std::make_shared<Quota::Charge>();
    if (refused.ok()) {
      auto charged = client_->session->quota().charge(Quota::Resource::DESCRIPTORS, fences + 2);
      refused = charged.status();
      if (charged.ok()) *charge = std::move(*charged);
    }
    if (!refused.ok()) {
      setStatus(context.getResults(), refused, HalVersion::V1_3);
      return kj::READY_NOW;
    }
    return decodeFences(params.getWaitFor())
        .then([this, context, charge, own = *options,
               duration =
                   decodeDuration(params.getDuration())](std::vector<ForeignFd> received) mutable {
          return fenced(context, std::move(received), std::move(charge), own, duration);
        });
  }

  const std::shared_ptr<PreparedModel>& preparedModel() const { return preparedModel_; }

 private:
  void requireVersion(HalVersion method) const {
    if (version_ < method) kj::throwFatalException(tooOld(method, version_));
  }

  template <typename Params>
  static Result<ExecuteOptions> measureOf(Params params) {
    ExecuteOptions options;
    HALYARD_ASSIGN_OR_RETURN(options.measureTiming, decodeMeasureTiming(params.getMeasure()));
    return options;
  }
  template <typename Params>
  static Result<ExecuteOptions> allOptionsOf(Params params) {
    HALYARD_ASSIGN_OR_RETURN(ExecuteOptions options, measureOf(params));
    options.deadline = decodeDeadline(params.getDeadline());
    options.loopTimeout = decodeDuration(params.getLoopTimeoutDuration());
    HALYARD_ASSIGN_OR_RETURN(options.attributes, decodeAttributes(params.getAttributes()));
    return options;
  }

  // Reads and imports the call's request, and runs `use` with it, as ServerCore::run does.
  template <typename T, typename Context>
  kj::Promise<Result<T>> withRequest(
      Context context, HalVersion version, Priority priority, std::optional<TimePoint> deadline,
      std::function<Result<T>(ImportedPtr)> use,
      decltype(&ImportedRequest::create) import = &ImportedRequest::create) {
    auto decoded = std::make_shared<Result<WireRequest>>(badData("the message cannot be read"));
    const auto failure = kj::runCatchingExceptions(
        [&] { *decoded = decodeRequest(context.getParams().getRequest()); });
    KJ_IF_MAYBE (exception, failure) {
      return Result<T>(
          badData("the request's message is malformed: {}", exception->getDescription().cStr()));
    }
    if (!decoded->ok()) return Result<T>(decoded->takeStatus());
    return decodeMemories((*decoded)->memories)
        .then([this, context, version, priority, deadline, decoded, import, use = std::move(use)](
                  Result<std::vector<PoolDescription>> pools) mutable -> kj::Promise<Result<T>> {
          auto request = std::make_shared<DecodedRequest>(std::move((*decoded)->decoded));
          decoded = nullptr;  // its readers must end before the parameters
          context.releaseParams();
          if (!pools.ok()) return Result<T>(pools.takeStatus());
          auto taken = std::make_shared<std::vector<PoolDescription>>(std::move(*pools));
          Status charged = chargeRequest(client_->session->quota(), *request, *taken);
          if (!charged.ok()) return Result<T>(std::move(charged));
          return core_.run<T>(
              *client_,
              [model = model_, version, request, taken, import,
               use = std::move(use)]() -> Result<T> {
                HALYARD_ASSIGN_OR_RETURN(
                    ImportedRequest imported,
                    import(*model, std::move(*request), std::move(*taken), version));
                return use(std::make_shared<ImportedRequest>(std::move(imported)));
              },
              priority, deadline);
        });
  }

  struct FencedStart {
    UniqueFd fence;
    std::shared_ptr<FencedExecution> execution;
  };

  // `charge`: for the fences. It is held until the execution has ended, and the client has released
  // the fence and the callback.
  kj::Promise<void> fenced(ExecuteFencedContext context, std::vector<ForeignFd> waitFor,
                           std::shared_ptr<const Quota::Charge> charge, ExecuteOptions options,
                           std::optional<std::chrono::nanoseconds> duration) {
    // The inputs are read after the fences have signalled, because executions behind the fences may
    // write them.
    const auto start = [model = model_, preparedModel = preparedModel_, options, duration, charge,
                        fences = std::make_shared<std::vector<ForeignFd>>(std::move(waitFor))](
                           ImportedPtr request) -> Result<FencedStart> {
      const auto session = std::dynamic_pointer_cast<SessionPreparedModel>(preparedModel);
      if (session == nullptr) return opFailed("the prepared model takes no fenced executions");
      std::vector<int> fds;
      for (const ForeignFd& fence : *fences) fds.push_back(fence.get());
      FencedResult result = session->executeFenced(
          request->request(), fds, options, duration,
          [model, preparedModel, request, charge](const ExecuteOptions& own) {
            Status loaded = request->load(*model);
            if (!loaded.ok()) return failed(std::move(loaded));
            return hal::execute(*preparedModel, *model, *request, own);
          });
      HALYARD_RETURN_IF_ERROR(result.status);
      return FencedStart{std::move(result.fence), std::move(result.execution)};
    };
    return withRequest<FencedStart>(context, HalVersion::V1_3, Priority::MEDIUM, std::nullopt,
                                    start, &ImportedRequest::bind)
        .then([context, charge](Result<FencedStart> started) mutable {
          auto results = context.getResults();
          setStatus(results, started.status(), HalVersion::V1_3);
          if (!started.ok()) return;
          if (started->fence.valid()) {
            results.setSyncFence(encodeFence(std::move(started->fence), charge));
          }
          results.setCallback(makeFencedCallback(std::move(started->execution), charge));
        });
  }

  template <typename Context>
  kj::Promise<void> synchronously(Context context, Result<ExecuteOptions> options,
                                  HalVersion version) {
    requireVersion(version);
    if (!options.ok()) {
      setResult(context.getResults(), failed(options.takeStatus()), version);
      return kj::READY_NOW;
    }
    return withRequest<ExecutionResult>(
               context, version, priority_, options->deadline,
               [model = model_, preparedModel = preparedModel_,
                options = *options](ImportedPtr request) -> Result<ExecutionResult> {
                 return hal::execute(*preparedModel, *model, *request, options);
               })
        .then([context, version](Result<ExecutionResult> result) mutable {
          setResult(context.getResults(), result.ok() ? *result : failed(result.takeStatus()),
                    version);
        });
  }

  template <typename Context>
  kj::Promise<void> asynchronously(Context context, Result<ExecuteOptions> options,
                                   HalVersion version) {
    requireVersion(version);
    if (!context.getParams().hasCallback()) {
      setStatus(context.getResults(), badData("the callback is null"), version);
      return kj::READY_NOW;
    }
    wire::v1_0::IExecutionCallback::Client callback = context.getParams().getCallback();
    auto answer = [this, context, callback, version](const Status& status) mutable {
      setStatus(context.getResults(), status, version);
      if (!status.ok()) notify(client_, callback, failed(status), version);
    };
    if (!options.ok()) {
      answer(options.status());
      return kj::READY_NOW;
    }
    // The launch has the default priority, so that it does not wait for computations. Only the
    // execution has the model's priority.
    return withRequest<ImportedPtr>(
               context, version, Priority::MEDIUM, std::nullopt,
               [](ImportedPtr request) -> Result<ImportedPtr> { return request; })
        .then([this, callback, version, answer,
               options = *options](Result<ImportedPtr> request) mutable {
          answer(request.status());
          if (request.ok()) launch(std::move(*request), options, callback, version);
        });
  }

  kj::Promise<void> saveFiles(SaveToCacheContext context) {
    const auto bytes = context.getParams().getToken();
    const DeviceInfo& info = core_.device->info();
    const bool caches = info.modelCacheFiles + info.dataCacheFiles > 0;
    // Without caching, the driver's own error comes first.
    Status form = caches ? checkToken(bytes) : okStatus();
    Token token{};
    if (bytes.size() == token.size()) std::copy(bytes.begin(), bytes.end(), token.begin());
    auto files = kj::heapArrayBuilder<kj::Promise<ForeignFd>>(2);
    files.add(decodeHandle(context.getParams().getModelCache()));
    files.add(decodeHandle(context.getParams().getDataCache()));
    return kj::joinPromises(files.finish())
        .then([this, token, form](kj::Array<ForeignFd> opened) -> kj::Promise<Result<bool>> {
          if (!form.ok()) return Result<bool>(form);
          auto model = std::make_shared<ForeignFd>(std::move(opened[0]));
          auto data = std::make_shared<ForeignFd>(std::move(opened[1]));
          return core_.run<bool>(
              *client_, [preparedModel = preparedModel_, model, data, token]() -> Result<bool> {
                HALYARD_RETURN_IF_ERROR(
                    preparedModel->saveToCache(model->get(), data->get(), token));
                return true;
              });
        })
        .then([context](Result<bool> saved) mutable {
          setStatus(context.getResults(), saved.status(), HalVersion::V1_2);
        });
  }

  // The part of an asynchronous execution after the answer of its launch.
  void launch(ImportedPtr request, ExecuteOptions options,
              wire::v1_0::IExecutionCallback::Client callback, HalVersion version) {
    auto done = core_.run<ExecutionResult>(
        *client_,
        [model = model_, preparedModel = preparedModel_, request,
         options]() -> Result<ExecutionResult> {
          return hal::execute(*preparedModel, *model, *request, options);
        },
        priority_, options.deadline);
    // `this` is not captured, because the client may release the prepared model before.
    core_.detach(
        done.then([client = client_, callback, version](Result<ExecutionResult> result) mutable {
          notify(client, callback, result.ok() ? *result : failed(result.takeStatus()), version);
        }));
  }

  const std::shared_ptr<ServedClient> client_;
  ServerCore& core_;
  std::shared_ptr<const Model> model_;
  std::shared_ptr<PreparedModel> preparedModel_;
  const HalVersion version_;
  const Priority priority_;
};

}  // namespace

wire::v1_3::IPreparedModel::Client makePreparedModelServer(
    std::shared_ptr<ServedClient> client, std::shared_ptr<const Model> model,
    std::shared_ptr<PreparedModel> preparedModel, HalVersion version, Priority priority) {
  auto& known = *client->preparedModels;
  return known.add(kj::heap<PreparedModelServer>(std::move(client), std::move(model),
                                                 std::move(preparedModel), version, priority));
}

kj::Promise<std::shared_ptr<PreparedModel>> preparedModelOf(
    ServedClient& client, wire::v1_3::IPreparedModel::Client capability) {
  using Found = std::shared_ptr<PreparedModel>;
  // A promise may never become a capability, and the call would wait for it.
  if (capnp::ClientHook::from(capability)->whenMoreResolved() != nullptr) return Found();
  auto promise = client.preparedModels->getLocalServer(capability);
  return promise
      .then(
          [](kj::Maybe<wire::v1_3::IPreparedModel::Server&> server) -> Found {
            KJ_IF_MAYBE (found, server) {
              return static_cast<PreparedModelServer&>(*found).preparedModel();
            }
            return nullptr;
          },
          [](kj::Exception&&) -> Found { return nullptr; })
      .attach(kj::mv(capability));
}

kj::Exception tooOld(HalVersion method, HalVersion version) {
  return KJ_EXCEPTION(UNIMPLEMENTED, "the method is of a newer HAL than the device",
                      std::string(halVersionName(method)).c_str(),
                      std::string(halVersionName(version)).c_str());
}

}  // namespace halyard::hal
