// Interceptor: an object between a client and a server of a driver. It passes every call on. Hooks
// change the messages in both directions, as a server that breaks the HAL's rules.
// Thread safety: loop thread only.
// Ownership: a connection's interceptors share their state. Each owns its reference to the object
// behind it.
#pragma once

#include <capnp/any.h>
#include <capnp/capability.h>

#include <memory>

#include "hal/v1_3.capnp.h"

namespace halyard::defects {

// The parameters of a call, or its results.
struct WireMessage {
  uint64_t interface;
  uint16_t method;
  bool isResult;
  capnp::AnyPointer::Builder content;

  // The message's content, if the message belongs to this method.
  template <typename Interface, typename Struct>
  kj::Maybe<typename Struct::Builder> as(uint16_t ordinal) {
    if (interface != capnp::typeId<Interface>() || method != ordinal) return nullptr;
    return content.getAs<Struct>();
  }
};
using WireHook = void (*)(WireMessage& message);

struct WireHooks {
  WireHook call = nullptr;    // parameters of the client's calls
  WireHook answer = nullptr;  // results, and parameters of the calls of the client's callbacks
};

// `driver`: an IDriver. The result is an IDriver, too.
capnp::Capability::Client intercept(capnp::Capability::Client driver, WireHooks hooks);

// The model of a call in any version, if the call has one.
kj::Maybe<wire::Model::Builder> modelOf(WireMessage& message);
// The request of a call, if it has one.
kj::Maybe<wire::Request::Builder> requestOf(WireMessage& message);

// The first fields of all results and notifications.
struct StatusFields {
  wire::ErrorStatus status;
  bool isPreparation;  // of prepareModel or its callback
  bool isExecution;    // of an execution with shapes and times, or its callback
};
kj::Maybe<StatusFields> statusOf(WireMessage& message);
void setStatus(WireMessage& message, wire::ErrorStatus status);
void clearText(WireMessage& message);
// The shapes and times of an execution's answer.
using ExecutionFields = wire::v1_2::IPreparedModel::ExecuteSynchronouslyResults;
kj::Maybe<ExecutionFields::Builder> executionOf(WireMessage& message);

}  // namespace halyard::defects
