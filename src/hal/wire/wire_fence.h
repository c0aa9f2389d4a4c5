// Fences on the wire, and the callback that reports a fenced execution.
// Thread safety: loop thread only.
// Ownership: capabilities own their descriptors.
#pragma once

#include <memory>
#include <vector>

#include "base/foreign_fd.h"
#include "hal/core/quota.h"
#include "hal/types.capnp.h"
#include "hal/v1_3.capnp.h"
#include "halyard/driver/device.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {

// Returns a capability for the descriptor, without one when it is invalid. The second is for a
// descriptor from another process. `charge`: null, or held until the capability is released.
wire::FileDescriptor::Client encodeFence(UniqueFd fence,
                                         std::shared_ptr<const Quota::Charge> charge = nullptr);
wire::FileDescriptor::Client encodeFence(ForeignFd fence);
// Returns duplicates of the descriptors in order; invalid for a null capability or one without a
// descriptor. Throws OVERLOADED as duplicateFd does.
kj::Promise<std::vector<ForeignFd>> decodeFences(capnp::List<wire::FileDescriptor>::Reader from);

// `charge` as in encodeFence.
wire::v1_3::IFencedExecutionCallback::Client makeFencedCallback(
    std::shared_ptr<FencedExecution> execution, std::shared_ptr<const Quota::Charge> charge);

}  // namespace halyard::hal
