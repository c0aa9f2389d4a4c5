#include "validation/defects/interceptor.h"

#include <vector>

#include "hal/driver.capnp.h"

namespace halyard::defects {
namespace {

using capnp::AnyPointer;
using capnp::Capability;
namespace v10 = wire::v1_0;
namespace v11 = wire::v1_1;
namespace v12 = wire::v1_2;
namespace v13 = wire::v1_3;

template <typename Interface>
constexpr uint64_t idOf() {
  return capnp::typeId<Interface>();
}

struct Shared {
  WireHooks hooks;
  capnp::CapabilityServerSet<Capability> own;  // to find the object behind a reference
};

class Interceptor final : public Capability::Server {
 public:
  // `callback`: `inner` belongs to the client, and calls of it are the driver's answers.
  Interceptor(Capability::Client inner, std::shared_ptr<Shared> shared, bool callback)
      : inner_(kj::mv(inner)), shared_(std::move(shared)), isCallback_(callback) {}

  const Capability::Client& inner() const { return inner_; }

  DispatchCallResult dispatchCall(uint64_t interface, uint16_t method,
                                  capnp::CallContext<AnyPointer, AnyPointer> context) override {
    auto request = inner_.typelessRequest(interface, method, nullptr);
    request.set(context.getParams());
    WireMessage message{interface, method, isCallback_, request};
    wrapParameters(message);
    const WireHook hook = isCallback_ ? shared_->hooks.answer : shared_->hooks.call;
    if (hook != nullptr) hook(message);
    auto sent = kj::mv(request);
    auto ready = unwrapModels(message);
    auto promise = ready.then([sent = kj::mv(sent)]() mutable { return sent.send(); })
                       .then([this, interface, method, context,
                              self = thisCap()](capnp::Response<AnyPointer>&& response) mutable {
                         auto results = context.getResults();
                         results.set(response);
                         WireMessage answer{interface, method, true, results};
                         wrapResults(answer);
                         if (!isCallback_ && shared_->hooks.answer != nullptr) {
                           shared_->hooks.answer(answer);
                         }
                       });
    return {kj::mv(promise), false};
  }

 private:
  Capability::Client wrap(Capability::Client inner, bool callback) {
    return shared_->own.add(kj::heap<Interceptor>(kj::mv(inner), shared_, callback));
  }

  template <typename Interface>
  typename Interface::Client wrapAs(typename Interface::Client inner, bool callback) {
    return wrap(kj::mv(inner), callback).template castAs<Interface>();
  }

  template <typename Interface, typename Params>
  void wrapCallback(WireMessage& message) {
    auto params = message.content.getAs<Params>();
    if (params.hasCallback()) {
      params.setCallback(wrapAs<Interface>(params.getCallback(), true));
    }
  }

  template <typename Params>
  void wrapPrepared(WireMessage& message) {
    auto params = message.content.getAs<Params>();
    if (params.hasPreparedModel()) {
      params.setPreparedModel(
          wrap(params.getPreparedModel(), false)
              .template castAs<capnp::FromClient<decltype(params.getPreparedModel())>>());
    }
  }

  void wrapParameters(WireMessage& m) {
    using Prepared10 = v10::IPreparedModelCallback;
    if (m.interface == idOf<v10::IDevice>() && m.method == 2) {
      wrapCallback<Prepared10, v10::IDevice::PrepareModelParams>(m);
    } else if (m.interface == idOf<v11::IDevice>() && m.method == 2) {
      wrapCallback<Prepared10, v11::IDevice::PrepareModel11Params>(m);
    } else if (m.interface == idOf<v12::IDevice>() && m.method == 6) {
      wrapCallback<v12::IPreparedModelCallback, v12::IDevice::PrepareModel12Params>(m);
    } else if (m.interface == idOf<v12::IDevice>() && m.method == 7) {
      wrapCallback<v12::IPreparedModelCallback, v12::IDevice::PrepareModelFromCacheParams>(m);
    } else if (m.interface == idOf<v13::IDevice>() && m.method == 2) {
      wrapCallback<v13::IPreparedModelCallback, v13::IDevice::PrepareModel13Params>(m);
    } else if (m.interface == idOf<v13::IDevice>() && m.method == 3) {
      wrapCallback<v13::IPreparedModelCallback, v13::IDevice::PrepareModelFromCache13Params>(m);
    } else if (m.interface == idOf<v10::IPreparedModel>() && m.method == 0) {
      wrapCallback<v10::IExecutionCallback, v10::IPreparedModel::ExecuteParams>(m);
    } else if (m.interface == idOf<v12::IPreparedModel>() && m.method == 0) {
      wrapCallback<v12::IExecutionCallback, v12::IPreparedModel::Execute12Params>(m);
    } else if (m.interface == idOf<v13::IPreparedModel>() && m.method == 0) {
      wrapCallback<v13::IExecutionCallback, v13::IPreparedModel::Execute13Params>(m);
    } else if (m.interface == idOf<v10::IPreparedModelCallback>()) {
      wrapPrepared<v10::IPreparedModelCallback::NotifyParams>(m);
    } else if (m.interface == idOf<v12::IPreparedModelCallback>()) {
      wrapPrepared<v12::IPreparedModelCallback::Notify12Params>(m);
    } else if (m.interface == idOf<v13::IPreparedModelCallback>()) {
      wrapPrepared<v13::IPreparedModelCallback::Notify13Params>(m);
    }
  }

  void wrapResults(WireMessage& m) {
    if (m.interface == idOf<wire::IDriver>() && m.method == 0) {
      auto results = m.content.getAs<wire::IDriver::HelloResults>();
      if (results.hasDevice()) results.setDevice(wrapAs<v10::IDevice>(results.getDevice(), false));
    } else if (m.interface == idOf<v12::IPreparedModel>() && m.method == 2) {
      auto results = m.content.getAs<v12::IPreparedModel::ConfigureExecutionBurstResults>();
      if (results.hasBurstContext()) {
        results.setBurstContext(wrapAs<v12::IBurstContext>(results.getBurstContext(), false));
      }
    } else if (m.interface == idOf<v13::IPreparedModel>() && m.method == 2) {
      auto results = m.content.getAs<v13::IPreparedModel::ExecuteFencedResults>();
      if (results.hasCallback()) {
        results.setCallback(wrapAs<v13::IFencedExecutionCallback>(results.getCallback(), false));
      }
    } else if (m.interface == idOf<v13::IDevice>() && m.method == 4) {
      auto results = m.content.getAs<v13::IDevice::AllocateResults>();
      if (results.hasBuffer()) results.setBuffer(wrapAs<v13::IBuffer>(results.getBuffer(), false));
    }
  }

  // The driver knows its own prepared models, not their interceptors.
  kj::Promise<void> unwrapModels(WireMessage& m) {
    if (m.interface != idOf<v13::IDevice>() || m.method != 4) return kj::READY_NOW;
    auto list = m.content.getAs<v13::IDevice::AllocateParams>().getPreparedModels();
    auto promises = kj::heapArrayBuilder<kj::Promise<void>>(list.size());
    for (unsigned i = 0; i < list.size(); ++i) {
      Capability::Client client = list[i];
      promises.add(shared_->own.getLocalServer(client).then(
          [list, i](kj::Maybe<Capability::Server&> server) mutable {
            KJ_IF_MAYBE (own, server) {
              list.set(i, static_cast<Interceptor&>(*own).inner_.castAs<v10::IPreparedModel>());
            }
          }));
    }
    return kj::joinPromises(promises.finish());
  }

  Capability::Client inner_;
  const std::shared_ptr<Shared> shared_;
  const bool isCallback_;
};

bool isOneOf(const WireMessage& m, uint64_t interface, std::initializer_list<uint16_t> methods) {
  if (m.interface != interface) return false;
  for (const uint16_t method : methods) {
    if (m.method == method) return true;
  }
  return false;
}

// Notifications, and results of all methods except getStatus, begin with the status and the text.
using AnyResults = v10::IDevice::PrepareModelResults;

}  // namespace

Capability::Client intercept(Capability::Client driver, WireHooks hooks) {
  auto shared = std::make_shared<Shared>();
  shared->hooks = hooks;
  auto first = kj::heap<Interceptor>(kj::mv(driver), shared, false);
  return shared->own.add(kj::mv(first));
}

kj::Maybe<wire::Model::Builder> modelOf(WireMessage& m) {
  const bool has =
      !m.isResult &&
      (isOneOf(m, idOf<v10::IDevice>(), {1, 2}) || isOneOf(m, idOf<v11::IDevice>(), {1, 2}) ||
       isOneOf(m, idOf<v12::IDevice>(), {4, 6}) || isOneOf(m, idOf<v13::IDevice>(), {1, 2}));
  if (!has) return nullptr;
  // The model is the first pointer in all of them.
  return m.content.getAs<v10::IDevice::GetSupportedOperationsParams>().getModel();
}

kj::Maybe<wire::Request::Builder> requestOf(WireMessage& m) {
  const bool has = !m.isResult && (isOneOf(m, idOf<v10::IPreparedModel>(), {0}) ||
                                   isOneOf(m, idOf<v12::IPreparedModel>(), {0, 1}) ||
                                   isOneOf(m, idOf<v13::IPreparedModel>(), {0, 1, 2}));
  if (!has) return nullptr;
  return m.content.getAs<v10::IPreparedModel::ExecuteParams>().getRequest();
}

kj::Maybe<StatusFields> statusOf(WireMessage& m) {
  if (!m.isResult) return nullptr;
  StatusFields fields{};
  fields.isPreparation =
      isOneOf(m, idOf<v10::IDevice>(), {2}) || isOneOf(m, idOf<v11::IDevice>(), {2}) ||
      isOneOf(m, idOf<v12::IDevice>(), {6}) || isOneOf(m, idOf<v13::IDevice>(), {2}) ||
      m.interface == idOf<v10::IPreparedModelCallback>() ||
      m.interface == idOf<v12::IPreparedModelCallback>() ||
      m.interface == idOf<v13::IPreparedModelCallback>();
  fields.isExecution = isOneOf(m, idOf<v12::IPreparedModel>(), {1}) ||
                       isOneOf(m, idOf<v13::IPreparedModel>(), {1}) ||
                       m.interface == idOf<v12::IExecutionCallback>() ||
                       m.interface == idOf<v13::IExecutionCallback>();
  const bool isSupported =
      isOneOf(m, idOf<v10::IDevice>(), {1}) || isOneOf(m, idOf<v11::IDevice>(), {1}) ||
      isOneOf(m, idOf<v12::IDevice>(), {4}) || isOneOf(m, idOf<v13::IDevice>(), {1});
  const bool isOther =
      m.interface == idOf<v10::IExecutionCallback>() || m.interface == idOf<v13::IBuffer>() ||
      m.interface == idOf<v13::IFencedExecutionCallback>() ||
      isOneOf(m, idOf<v13::IDevice>(), {4}) || isOneOf(m, idOf<v13::IPreparedModel>(), {2});
  if (!fields.isPreparation && !fields.isExecution && !isSupported && !isOther) return nullptr;
  fields.status = m.content.getAs<AnyResults>().getStatus();
  return fields;
}

void setStatus(WireMessage& m, wire::ErrorStatus status) {
  m.content.getAs<AnyResults>().setStatus(status);
}

void clearText(WireMessage& m) { m.content.getAs<AnyResults>().disownMessage(); }

kj::Maybe<ExecutionFields::Builder> executionOf(WireMessage& m) {
  KJ_IF_MAYBE (fields, statusOf(m)) {
    // All of these have the shapes and the times at the same places.
    if (fields->isExecution) return m.content.getAs<ExecutionFields>();
  }
  return nullptr;
}

}  // namespace halyard::defects
