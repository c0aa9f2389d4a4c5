// The queues of the bursts of a hostile client, and raw connections.
// Thread safety: one thread at a time. Ownership: a queue shares its memory with the message.
#pragma once

#include "hal/ring/doorbell.h"
#include "hal/testing/fuzz/hostile_messages.h"
#include "hal/v1_2.capnp.h"
#include "halyard/driver/shared_memory.h"

namespace halyard::hal::fuzz {

// A request queue of a burst that the driver has accepted.
struct OpenQueue {
  SharedMemoryPtr memory;
  std::shared_ptr<const Doorbell> doorbell;  // null: the driver's doorbell is used
  UniqueFd driversDoorbell;
  UniqueFd memoryChannel;
};

// Mostly fills in a queue that conforms to docs/burst_format.md and returns its memory. Otherwise
// fills in any value and returns null.
SharedMemoryPtr fillQueue(ByteSource& bytes, wire::QueueDescriptor::Builder queue,
                          capnp::Capability::Client& other);

using ConfigureCall = capnp::Request<wire::v1_2::IPreparedModel::ConfigureExecutionBurstParams,
                                     wire::v1_2::IPreparedModel::ConfigureExecutionBurstResults>;
using Configured = capnp::Response<wire::v1_2::IPreparedModel::ConfigureExecutionBurstResults>;
// Puts a doorbell into the call and returns it. Sometimes puts another capability or no capability
// there and returns null.
std::shared_ptr<const Doorbell> chooseDoorbell(ByteSource& bytes, ConfigureCall& call,
                                               capnp::Capability::Client& other);
// Takes the descriptors from an answer.
kj::Promise<OpenQueue> takeChannels(Configured& response);

// Sends any bytes as a packet. The position may be wrong.
void sendPacket(ByteSource& bytes, const OpenQueue& queue);

// Frees a slot of memory or a recording.
kj::Promise<void> giveUp(ByteSource& bytes, wire::v1_2::IBurstContext::Client burst);

// Sends a memory for a slot, or any message, through the memory channel of the burst.
void offerMemory(ByteSource& bytes, const OpenQueue& queue);

// Sends any bytes through a socket, perhaps with a descriptor.
void sendRaw(int socket, ByteSource bytes);

}  // namespace halyard::hal::fuzz
