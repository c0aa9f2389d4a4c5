// Messages of a hostile client: valid messages, changed by the bytes of a fuzzer, with descriptors
// of all kinds.
// Thread safety: loop thread only. Ownership: a message owns the capabilities in it.
#pragma once

#include <capnp/capability.h>

#include "base/testing/byte_source.h"
#include "hal/driver.capnp.h"
#include "hal/types.capnp.h"
#include "halyard/driver/model.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal::fuzz {

using halyard::fuzz::ByteSource;

// A file, device, pipe, socket or similar. Sometimes invalid.
UniqueFd chooseDescriptor(ByteSource& bytes);
// A capability that has a descriptor. Sometimes null, and sometimes `other`.
kj::Maybe<wire::FileDescriptor::Client> chooseFile(ByteSource& bytes,
                                                   capnp::Capability::Client& other);

void fillMemory(ByteSource& bytes, wire::Memory::Builder to, capnp::Capability::Client& other);
void spoilModel(ByteSource& bytes, wire::Model::Builder model, capnp::Capability::Client& other);
void spoilRequest(ByteSource& bytes, wire::Request::Builder request,
                  capnp::Capability::Client& other);

// Attributes of vendor extensions, of any size. They may be valid, without an extension, or
// repeated.
void fillAttributes(ByteSource& bytes, wire::ExtensionAttributes::Builder to);

// A call of IDriver.trace with memory of any kind, or a call of traceModel with `other` as the
// model.
kj::Promise<void> askToTrace(ByteSource& bytes, capnp::Capability::Client driver,
                             capnp::Capability::Client other);

// One of several valid models, with pools of 4096 bytes.
Model chooseModel(ByteSource& bytes);

}  // namespace halyard::hal::fuzz
