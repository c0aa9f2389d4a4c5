// Messages of a hostile client: valid ones, spoilt as a fuzzer's bytes say, with descriptors of
// every sort.
// Thread safety: loop thread only. Ownership: messages own the capabilities put into them.
#pragma once

#include <capnp/capability.h>

#include "base/testing/byte_source.h"
#include "hal/driver.capnp.h"
#include "hal/types.capnp.h"
#include "halyard/driver/model.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal::fuzz {

using halyard::fuzz::ByteSource;

// A file, device, pipe, socket or the like; invalid now and then.
UniqueFd chooseDescriptor(ByteSource& bytes);
// A capability that carries one; null now and then, and now and then `other` instead.
kj::Maybe<wire::FileDescriptor::Client> chooseFile(ByteSource& bytes,
                                                   capnp::Capability::Client& other);

void fillMemory(ByteSource& bytes, wire::Memory::Builder to, capnp::Capability::Client& other);
void spoilModel(ByteSource& bytes, wire::Model::Builder model, capnp::Capability::Client& other);
void spoilRequest(ByteSource& bytes, wire::Request::Builder request,
                  capnp::Capability::Client& other);

// Attributes of vendor extensions: right ones, ones of no extension, twice the same, of any size.
void fillAttributes(ByteSource& bytes, wire::ExtensionAttributes::Builder to);

// A call of IDriver.trace with memory of every sort, or of traceModel with `other` for a model.
kj::Promise<void> askToTrace(ByteSource& bytes, capnp::Capability::Client driver,
                             capnp::Capability::Client other);

// A valid model of those that there are, with pools of 4096 bytes.
Model chooseModel(ByteSource& bytes);

}  // namespace halyard::hal::fuzz
