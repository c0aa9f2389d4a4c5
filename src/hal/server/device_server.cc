#include "hal/server/device_server.h"

#include <unistd.h>

#include <algorithm>
#include <functional>

#include "hal/server/buffer_server.h"
#include "hal/server/prepared_model_server.h"
#include "hal/server/server_core.h"
#include "hal/server/trace_server.h"
#include "hal/wire/wire_cache.h"
#include "hal/wire/wire_model.h"

namespace halyard::hal {
namespace {

using Callback = wire::v1_0::IPreparedModelCallback::Client;
using PreparedClient = wire::v1_3::IPreparedModel::Client;

// A model, and whether the device supports each of its operations.
struct ExaminedModel {
  ValidModel model;
  SupportedOperations supported;
};

// Calls the notify method of the version.
void notify(const std::shared_ptr<ServedClient>& client, Callback callback, const Status& status,
            kj::Maybe<PreparedClient> preparedModel, HalVersion version) {
  const auto send = [&](auto request) {
    setStatus(request, status, version);
    KJ_IF_MAYBE (prepared, preparedModel) request.setPreparedModel(*prepared);
    notified(client, request.send().ignoreResult());
  };
  if (version >= HalVersion::V1_3) {
    send(callback.castAs<wire::v1_3::IPreparedModelCallback>().notify13Request());
  } else if (version >= HalVersion::V1_2) {
    send(callback.castAs<wire::v1_2::IPreparedModelCallback>().notify12Request());
  } else {
    send(callback.notifyRequest());
  }
}

class DeviceServer final : public wire::v1_3::IDevice::Server {
 public:
  explicit DeviceServer(std::shared_ptr<ServedClient> client)
      : client_(std::move(client)), core_(client_->core), info_(core_.device->info()) {}

  kj::Promise<void> getCapabilities(GetCapabilitiesContext context) override {
    return capabilities(context, HalVersion::V1_0);
  }
  kj::Promise<void> getCapabilities11(GetCapabilities11Context context) override {
    return capabilities(context, HalVersion::V1_1);
  }
  kj::Promise<void> getCapabilities12(GetCapabilities12Context context) override {
    return capabilities(context, HalVersion::V1_2);
  }
  kj::Promise<void> getCapabilities13(GetCapabilities13Context context) override {
    return capabilities(context, HalVersion::V1_3);
  }

  kj::Promise<void> getSupportedOperations(GetSupportedOperationsContext context) override {
    return supportedOperations(context, HalVersion::V1_0);
  }
  kj::Promise<void> getSupportedOperations11(GetSupportedOperations11Context context) override {
    return supportedOperations(context, HalVersion::V1_1);
  }
  kj::Promise<void> getSupportedOperations12(GetSupportedOperations12Context context) override {
    return supportedOperations(context, HalVersion::V1_2);
  }
  kj::Promise<void> getSupportedOperations13(GetSupportedOperations13Context context) override {
    return supportedOperations(context, HalVersion::V1_3);
  }

  kj::Promise<void> prepareModel(PrepareModelContext context) override {
    return prepare(context, HalVersion::V1_0, PrepareOptions());
  }
  kj::Promise<void> prepareModel11(PrepareModel11Context context) override {
    return prepare(context, HalVersion::V1_1, preferenceOf(context.getParams()));
  }
  kj::Promise<void> prepareModel12(PrepareModel12Context context) override {
    const auto params = context.getParams();
    return prepareCached(context, HalVersion::V1_2, preferenceOf(params));
  }
  kj::Promise<void> prepareModel13(PrepareModel13Context context) override {
    return prepareCached(context, HalVersion::V1_3, optionsOf(context.getParams()));
  }

  kj::Promise<void> prepareSupported13(PrepareSupported13Context context) override {
    requireVersion(HalVersion::V1_3);
    Result<PrepareOptions> options = optionsOf(context.getParams());
    if (!context.getParams().hasCallback()) options = badData("the callback is null");
    if (!options.ok()) {
      setStatus(context.getResults(), options.status(), HalVersion::V1_3);
      return kj::READY_NOW;
    }
    return receiveModel(context, HalVersion::V1_3)
        .then([this, context, options = std::move(*options)](
                  Result<Received> received) mutable -> kj::Promise<void> {
          if (!received.ok()) {
            setStatus(context.getResults(), received.status(), HalVersion::V1_3);
            return kj::READY_NOW;
          }
          Callback callback = context.getParams().getCallback();
          context.releaseParams();
          return askThenPrepare(context, std::move(*received), options, kj::mv(callback));
        });
  }

  kj::Promise<void> getStatus(GetStatusContext context) override {
    auto status = core_.run<DeviceStatus>(
        *client_,
        [device = client_->session]() -> Result<DeviceStatus> { return device->status(); });
    return status.then([context](Result<DeviceStatus> result) mutable {
      context.getResults().setStatus(result.ok() ? static_cast<wire::DeviceStatus>(*result)
                                                 : wire::DeviceStatus::UNKNOWN);
    });
  }

  kj::Promise<void> getVersionString(GetVersionStringContext context) override {
    requireVersion(HalVersion::V1_2);
    setStatus(context.getResults(), okStatus(), HalVersion::V1_2);
    context.getResults().setVersion(info_.versionString);
    return kj::READY_NOW;
  }
  kj::Promise<void> getType(GetTypeContext context) override {
    requireVersion(HalVersion::V1_2);
    setStatus(context.getResults(), okStatus(), HalVersion::V1_2);
    context.getResults().setType(static_cast<wire::DeviceType>(info_.type));
    return kj::READY_NOW;
  }
  kj::Promise<void> getSupportedExtensions(GetSupportedExtensionsContext context) override {
    requireVersion(HalVersion::V1_2);
    setStatus(context.getResults(), okStatus(), HalVersion::V1_2);
    encodeExtensions(info_.extensions, context.getResults().initExtensions(
                                           static_cast<unsigned>(info_.extensions.size())));
    return kj::READY_NOW;
  }
  kj::Promise<void> getNumberOfCacheFilesNeeded(
      GetNumberOfCacheFilesNeededContext context) override {
    requireVersion(HalVersion::V1_2);
    setStatus(context.getResults(), okStatus(), HalVersion::V1_2);
    context.getResults().setNumModelCache(info_.modelCacheFiles);
    context.getResults().setNumDataCache(info_.dataCacheFiles);
    context.getResults().setPreferences(info_.cachedPreferences);
    return kj::READY_NOW;
  }
  kj::Promise<void> isCachingSupported(IsCachingSupportedContext context) override {
    requireVersion(HalVersion::V1_2);
    setStatus(context.getResults(), okStatus(), HalVersion::V1_2);
    context.getResults().setSupported(info_.modelCacheFiles + info_.dataCacheFiles > 0);
    return kj::READY_NOW;
  }

  kj::Promise<void> getFeatureLevel(GetFeatureLevelContext context) override {
    requireVersion(HalVersion::V1_3);
    setStatus(context.getResults(), okStatus(), HalVersion::V1_3);
    context.getResults().setLevel(static_cast<uint32_t>(info_.featureLevel));
    context.getResults().setOwnMemory(info_.ownMemory);
    context.getResults().setImports(info_.imports);
    return kj::READY_NOW;
  }

  kj::Promise<void> prepareModelFromCache(PrepareModelFromCacheContext context) override {
    return fromCache(context, HalVersion::V1_2, std::nullopt);
  }
  kj::Promise<void> prepareModelFromCache13(PrepareModelFromCache13Context context) override {
    return fromCache(context, HalVersion::V1_3, decodeDeadline(context.getParams().getDeadline()));
  }
  kj::Promise<void> allocate(AllocateContext context) override {
    requireVersion(HalVersion::V1_3);
    return allocateBuffer(client_, context);
  }

 private:
  void requireVersion(HalVersion method) const {
    if (info_.halVersion < method) kj::throwFatalException(tooOld(method, info_.halVersion));
  }

  template <typename Params>
  static Result<PrepareOptions> preferenceOf(Params params) {
    PrepareOptions options;
    HALYARD_ASSIGN_OR_RETURN(options.preference, decodePreference(params.getPreference()));
    return options;
  }

  // The options of a call of version 1.3, except its cache files.
  template <typename Params>
  static Result<PrepareOptions> optionsOf(Params params) {
    HALYARD_ASSIGN_OR_RETURN(PrepareOptions options, preferenceOf(params));
    HALYARD_ASSIGN_OR_RETURN(options.priority, decodePriority(params.getPriority()));
    options.deadline = decodeDeadline(params.getDeadline());
    HALYARD_ASSIGN_OR_RETURN(options.attributes, decodeAttributes(params.getAttributes()));
    return options;
  }

  template <typename Context>
  static void setSupported(Context context, const SupportedOperations& supported) {
    auto results = context.getResults();
    const auto count = static_cast<unsigned>(supported.size());
    auto list = results.initSupported(count);
    for (unsigned i = 0; i < count; ++i) list.set(i, supported[i].supported);
    const auto hasDetails = [](const OperationSupport& each) {
      return each.cost || !each.reason.empty();
    };
    if (std::ranges::none_of(supported, hasDetails)) return;
    auto details = results.initDetails(count);
    for (unsigned i = 0; i < count; ++i) {
      if (!supported[i].reason.empty()) details[i].setReason(supported[i].reason);
      details[i].setCost(supported[i].cost.value_or(0));
    }
  }

  using Files = Result<std::shared_ptr<const CacheFiles>>;

  // The call's cache files. BAD_DATA for an invalid token or a malformed message.
  template <typename Context>
  kj::Promise<Files> filesOf(Context context) {
    return kj::evalNow([&]() -> kj::Promise<Files> {
             const auto params = context.getParams();
             Status form = checkToken(params.getToken());
             if (!form.ok()) return Files(std::move(form));
             return decodeCacheFiles(WireCacheFiles::of(params), client_->session->quota());
           })
        .catch_([](kj::Exception&& exception) {
          if (exception.getType() == kj::Exception::Type::OVERLOADED) {
            return Files(statusOf(exception));
          }
          return Files(badData("the message is malformed: {}", exception.getDescription().cStr()));
        });
  }

  // Only an invalid token or a malformed message fails the preparation. With other errors of the
  // cache files, the preparation continues without them.
  template <typename Context>
  kj::Promise<void> prepareCached(Context context, HalVersion version,
                                  Result<PrepareOptions> options) {
    requireVersion(version);
    if (!options.ok() || !context.getParams().hasCallback()) {
      return prepare(context, version, std::move(options));
    }
    return filesOf(context).then(
        [this, context, version, options = std::move(*options)](Files files) mutable {
          if (files.ok()) options.cache = std::move(*files);
          if (files.status().code() == ResultCode::BAD_DATA) {
            return prepare(context, version, files.takeStatus());
          }
          return prepare(context, version, std::move(options));
        });
  }

  template <typename Context>
  kj::Promise<void> capabilities(Context context, HalVersion version) {
    requireVersion(version);
    setStatus(context.getResults(), okStatus(), version);
    encodeCapabilities(info_.capabilities, version, context.getResults().initCapabilities());
    return kj::READY_NOW;
  }

  // A received model, which is charged to the client.
  struct Received {
    DecodedModel decoded;
    std::vector<PoolDescription> pools;
    FeatureLevel level;
  };

  // Reads the call's model and charges it.
  template <typename Context>
  kj::Promise<Result<Received>> receiveModel(Context context, HalVersion version) {
    auto decoded = std::make_shared<Result<DecodedModel>>(badData("the message cannot be read"));
    std::vector<wire::Memory::Reader> memories;
    const auto failure = kj::runCatchingExceptions([&] {
      const auto model = context.getParams().getModel();
      *decoded = decodeModel(model, version);
      const auto pools = model.getPools();
      if (pools.size() > kMaxPools) {
        *decoded = badData("{} memory pools; at most {} are taken", pools.size(), kMaxPools);
        return;
      }
      for (const auto pool : pools) memories.push_back(pool);
    });
    KJ_IF_MAYBE (exception, failure) {
      return Result<Received>(
          badData("the model's message is malformed: {}", exception->getDescription().cStr()));
    }
    if (!decoded->ok()) return Result<Received>(decoded->takeStatus());
    return decodeMemories(std::move(memories))
        .then([this, version,
               decoded](Result<std::vector<PoolDescription>> pools) -> Result<Received> {
          if (!pools.ok()) return pools.takeStatus();
          HALYARD_RETURN_IF_ERROR(chargeModel(client_->session->quota(), **decoded, *pools));
          return Received{
              std::move(**decoded), std::move(*pools),
              version < HalVersion::V1_3 ? featureLevelOf(version) : offeredLevel(info_)};
        });
  }

  static Result<ValidModel> import(Received received) {
    return importModel(std::move(received.decoded), std::move(received.pools), received.level);
  }

  // Imports the model and runs `use` with it, on a thread of the executor.
  template <typename T>
  kj::Promise<Result<T>> runWith(Received received, std::function<Result<T>(ValidModel)> use) {
    const auto taken = std::make_shared<Received>(std::move(received));
    const auto work = [taken, use = std::move(use)]() -> Result<T> {
      HALYARD_ASSIGN_OR_RETURN(ValidModel model, import(std::move(*taken)));
      return use(std::move(model));
    };
    return core_.run<T>(*client_, work);
  }

  // Runs receiveModel and then runWith. Releases the call's parameters between them.
  template <typename T, typename Context>
  kj::Promise<Result<T>> withModel(Context context, HalVersion version,
                                   std::function<Result<T>(ValidModel)> use) {
    return receiveModel(context, version)
        .then([this, context,
               use = std::move(use)](Result<Received> received) mutable -> kj::Promise<Result<T>> {
          context.releaseParams();
          if (!received.ok()) return Result<T>(received.takeStatus());
          return runWith<T>(std::move(*received), std::move(use));
        });
  }

  // Answers the question of support before the preparation begins.
  kj::Promise<void> askThenPrepare(PrepareSupported13Context context, Received received,
                                   PrepareOptions options, Callback callback) {
    const auto examine = [device = client_->session](ValidModel model) -> Result<ExaminedModel> {
      HALYARD_ASSIGN_OR_RETURN(auto supported, device->getSupportedOperations(model));
      return ExaminedModel{std::move(model), std::move(supported)};
    };
    return runWith<ExaminedModel>(std::move(received), examine)
        .then([this, context, callback,
               options = std::move(options)](Result<ExaminedModel> examined) mutable {
          setStatus(context.getResults(), examined.status(), HalVersion::V1_3);
          if (!examined.ok()) return;
          setSupported(context, examined->supported);
          if (!supportsAll(examined->supported)) return;
          // The client has the answer even if the driver dies during the preparation.
          core_.detach(kj::evalLast([this, self = thisCap(), model = std::move(examined->model),
                                     options = std::move(options), callback]() mutable {
            launch(std::move(model), std::move(options), callback, HalVersion::V1_3);
          }));
        });
  }

  template <typename Context>
  kj::Promise<void> supportedOperations(Context context, HalVersion version) {
    requireVersion(version);
    using Supported = SupportedOperations;
    return withModel<Supported>(context, version,
                                [device = client_->session](ValidModel model) -> Result<Supported> {
                                  return device->getSupportedOperations(model);
                                })
        .then([context, version](Result<Supported> supported) mutable {
          setStatus(context.getResults(), supported.status(), version);
          if (supported.ok()) setSupported(context, *supported);
        });
  }

  template <typename Context>
  kj::Promise<void> prepare(Context context, HalVersion version, Result<PrepareOptions> options) {
    requireVersion(version);
    if (!context.getParams().hasCallback()) {
      setStatus(context.getResults(), badData("the callback is null"), version);
      return kj::READY_NOW;
    }
    Callback callback = context.getParams().getCallback();
    auto answer = [this, context, callback, version](const Status& status) mutable {
      setStatus(context.getResults(), status, version);
      if (!status.ok()) notify(client_, callback, status, nullptr, version);
    };
    if (!options.ok()) {
      answer(options.status());
      return kj::READY_NOW;
    }
    return withModel<ValidModel>(context, version,
                                 [](ValidModel model) -> Result<ValidModel> { return model; })
        .then([this, callback, version, answer,
               options = *options](Result<ValidModel> model) mutable {
          answer(model.status());
          if (model.ok()) launch(std::move(*model), options, callback, version);
        });
  }

  // The part of a preparation after the answer of its launch.
  void launch(ValidModel model, PrepareOptions options, Callback callback, HalVersion version) {
    using Prepared = std::shared_ptr<PreparedModel>;
    options.clientUid = client_->uid;
    auto done = core_.run<Prepared>(
        *client_,
        [device = client_->session, model, options] {
          return device->prepareModel(model, options);
        },
        options.priority);
    // `this` is not captured, because the client may release the device before.
    core_.detach(done.then([client = client_, deviceVersion = info_.halVersion, callback, version,
                            model, priority = options.priority](Result<Prepared> result) mutable {
      Status status = result.status();
      kj::Maybe<PreparedClient> prepared;
      if (status.ok()) {
        prepared = makePreparedModelServer(client, model.share(), std::move(*result), deviceVersion,
                                           priority);
      }
      notify(client, callback, status, kj::mv(prepared), version);
    }));
  }

  // The status of the launch. An error of the files is known only after the driver has read them.
  // It is the status of both the launch and the callback. A missed deadline is only the callback's
  // status.
  static Status launchStatus(const Status& status) {
    const bool late = status.code() == ResultCode::MISSED_DEADLINE_TRANSIENT ||
                      status.code() == ResultCode::MISSED_DEADLINE_PERSISTENT;
    return late ? okStatus() : status;
  }

  template <typename Context>
  kj::Promise<void> fromCache(Context context, HalVersion version,
                              std::optional<TimePoint> deadline) {
    requireVersion(version);
    if (!context.getParams().hasCallback()) {
      setStatus(context.getResults(), badData("the callback is null"), version);
      return kj::READY_NOW;
    }
    Callback callback = context.getParams().getCallback();
    return filesOf(context)
        .then([this, context, deadline](Files files) mutable -> kj::Promise<Result<CachedModel>> {
          context.releaseParams();
          if (!files.ok()) return Result<CachedModel>(files.takeStatus());
          PrepareOptions options;
          options.cache = std::move(*files);
          options.deadline = deadline;
          options.clientUid = client_->uid;
          return core_.run<CachedModel>(*client_, [device = client_->session, options] {
            return device->prepareModelFromCache(std::nullopt, options);
          });
        })
        .then([client = client_, deviceVersion = info_.halVersion, context, callback,
               version](Result<CachedModel> result) mutable {
          const Status status = result.status();
          kj::Maybe<PreparedClient> prepared;
          if (status.ok()) {
            prepared = makePreparedModelServer(client, std::move(result->interface),
                                               std::move(result->prepared), deviceVersion,
                                               result->priority);
          }
          setStatus(context.getResults(), launchStatus(status), version);
          notify(client, callback, status, kj::mv(prepared), version);
        });
  }

  const std::shared_ptr<ServedClient> client_;
  ServerCore& core_;
  const DeviceInfo& info_;
};

class DriverServer final : public wire::IDriver::Server {
 public:
  explicit DriverServer(std::shared_ptr<ServedClient> client) : client_(std::move(client)) {}

  kj::Promise<void> hello(HelloContext context) override {
    auto results = context.getResults();
    results.setProtocolVersion(wire::PROTOCOL_VERSION);
    results.setProcessId(::getpid());
    const HalVersion version = client_->core.device->info().halVersion;
    results.setHalVersion(static_cast<uint16_t>(9 + static_cast<unsigned>(version)));
    const uint32_t asked = context.getParams().getProtocolVersion();
    if (asked != wire::PROTOCOL_VERSION) {
      setStatus(results,
                opFailed("the client speaks protocol version {}, this driver {}", asked,
                         static_cast<uint32_t>(wire::PROTOCOL_VERSION)),
                HalVersion::V1_3);
      return kj::READY_NOW;
    }
    if (!client_->refusal.ok()) {
      setStatus(results, client_->refusal, HalVersion::V1_3);
      return kj::READY_NOW;
    }
    // All calls return the same object.
    KJ_IF_MAYBE (device, device_) {
      results.setDevice(*device);
    } else {
      wire::v1_3::IDevice::Client made = kj::heap<DeviceServer>(client_);
      device_ = made;
      results.setDevice(kj::mv(made));
    }
    const IsolationReport& report = client_->core.options.isolation;
    auto list = results.initIsolation(static_cast<unsigned>(report.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      list[i].setName(report[i].name);
      list[i].setState(static_cast<wire::IsolationMeasure::State>(report[i].state));
      list[i].setDetail(report[i].detail);
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> ping(PingContext) override { return kj::READY_NOW; }
  kj::Promise<void> trace(TraceContext context) override { return recordFor(client_, context); }
  kj::Promise<void> traceModel(TraceModelContext context) override {
    return nameModelFor(client_, context);
  }

 private:
  const std::shared_ptr<ServedClient> client_;
  kj::Maybe<wire::v1_3::IDevice::Client> device_;
};

}  // namespace

wire::IDriver::Client makeDriverServer(std::shared_ptr<ServedClient> client) {
  return kj::heap<DriverServer>(std::move(client));
}

}  // namespace halyard::hal
