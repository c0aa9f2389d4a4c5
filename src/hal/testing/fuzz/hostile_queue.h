// The queues of a hostile client's bursts, and raw connections.
// Thread safety: one thread at a time. Ownership: a queue shares its memory with the message.
#pragma once

#include "hal/ring/doorbell.h"
#include "hal/testing/fuzz/hostile_messages.h"
#include "hal/v1_2.capnp.h"
#include "halyard/driver/shared_memory.h"

namespace halyard::hal::fuzz {

// A burst's queue of requests that the driver has taken.
struct OpenQueue {
  SharedMemoryPtr memory;
  std::shared_ptr<const Doorbell> doorbell;  // null: the driver's is used
  UniqueFd driversDoorbell;
  UniqueFd memoryChannel;
};

// Mostly a queue as docs/burst_format.md has it: its memory. Otherwise anything, and null.
SharedMemoryPtr fillQueue(ByteSource& bytes, wire::QueueDescriptor::Builder queue,
                          capnp::Capability::Client& other);

using ConfigureCall = capnp::Request<wire::v1_2::IPreparedModel::ConfigureExecutionBurstParams,
                                     wire::v1_2::IPreparedModel::ConfigureExecutionBurstResults>;
using Configured = capnp::Response<wire::v1_2::IPreparedModel::ConfigureExecutionBurstResults>;
// Puts a doorbell into the call, which is the result; or anything else, or nothing: null.
std::shared_ptr<const Doorbell> chooseDoorbell(ByteSource& bytes, ConfigureCall& call,
                                               capnp::Capability::Client& other);
// The descriptors of an answer.
kj::Promise<OpenQueue> takeChannels(Configured& response);

// Any bytes as a packet, with a position that may be wrong.
void sendPacket(ByteSource& bytes, const OpenQueue& queue);

// Gives up some slot of memory, or some recording.
kj::Promise<void> giveUp(ByteSource& bytes, wire::v1_2::IBurstContext::Client burst);

// Some memory for some slot, or anything else, through the burst's memory channel.
void offerMemory(ByteSource& bytes, const OpenQueue& queue);

// Sends any bytes through a socket, and maybe a descriptor with them.
void sendRaw(int socket, ByteSource bytes);

}  // namespace halyard::hal::fuzz
