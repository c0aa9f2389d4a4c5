#include "hal/wire/wire_request.h"

#include "hal/wire/wire_memory.h"
#include "hal/wire/wire_types.h"

namespace halyard::hal {
namespace {

constexpr unsigned kMaxArguments = 1'000'000;

Status checkNoPointer(const std::vector<RequestArgument>& arguments, const char* what) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind == RequestArgument::Kind::POINTER) {
      return badData("{} {} is a pointer; another process cannot use it", what, i);
    }
  }
  return okStatus();
}

void encodeArguments(const std::vector<RequestArgument>& from,
                     capnp::List<wire::RequestArgument>::Builder to) {
  for (unsigned i = 0; i < to.size(); ++i) {
    if (from[i].kind == RequestArgument::Kind::NO_VALUE) {
      to[i].setHasNoValue(true);
      continue;
    }
    auto location = to[i].initLocation();
    location.setPoolIndex(from[i].location.poolIndex);
    location.setOffset(from[i].location.offset);
    location.setLength(from[i].location.length);
    to[i].setDimensions(kj::arrayPtr(from[i].dimensions.data(), from[i].dimensions.size()));
  }
}

Status decodeArguments(capnp::List<wire::RequestArgument>::Reader from, const char* what,
                       std::vector<RequestArgument>& to) {
  if (from.size() > kMaxArguments) return badData("{} {}s", from.size(), what);
  to.reserve(from.size());
  for (const auto argument : from) {
    RequestArgument decoded;
    const auto location = argument.getLocation();
    decoded.location = {location.getPoolIndex(), location.getOffset(), location.getLength()};
    decoded.dimensions = decodeNumbers(argument.getDimensions());
    if (!argument.getHasNoValue()) {
      decoded.kind = RequestArgument::Kind::POOL;
    } else if (decoded.location.poolIndex != 0 || decoded.location.offset != 0 ||
               decoded.location.length != 0 || !decoded.dimensions.empty()) {
      return badData("{} {} has no value, but a location or dimensions", what, to.size());
    }
    to.push_back(std::move(decoded));
  }
  return okStatus();
}

}  // namespace

Status checkEncodable(const Request& request) {
  HALYARD_RETURN_IF_ERROR(checkNoPointer(request.inputs, "request input"));
  HALYARD_RETURN_IF_ERROR(checkNoPointer(request.outputs, "request output"));
  std::vector<SharedMemoryPtr> memories;
  for (const RequestPool& pool : request.pools) {
    if (const auto* memory = std::get_if<SharedMemoryPtr>(&pool)) memories.push_back(*memory);
  }
  return checkPoolCount(memories);
}

void encodeRequest(const Request& request, wire::Request::Builder to) {
  encodeArguments(request.inputs, to.initInputs(static_cast<unsigned>(request.inputs.size())));
  encodeArguments(request.outputs, to.initOutputs(static_cast<unsigned>(request.outputs.size())));
  MemoryEncoder encoder;
  auto pools = to.initPools(static_cast<unsigned>(request.pools.size()));
  uint32_t memories = 0;  // tokens do not count in sameAs
  for (unsigned i = 0; i < pools.size(); ++i) {
    if (const auto* memory = std::get_if<SharedMemoryPtr>(&request.pools[i])) {
      encoder.encode(*memory, memories++, pools[i].initMemory());
    } else {
      pools[i].setToken(std::get<uint32_t>(request.pools[i]));
    }
  }
}

Result<WireRequest> decodeRequest(wire::Request::Reader from) {
  WireRequest to;
  HALYARD_RETURN_IF_ERROR(
      decodeArguments(from.getInputs(), "request input", to.decoded.request.inputs));
  HALYARD_RETURN_IF_ERROR(
      decodeArguments(from.getOutputs(), "request output", to.decoded.request.outputs));
  const auto pools = from.getPools();
  if (pools.size() > kMaxPools) {
    return badData("{} memory pools; at most {} are taken", pools.size(), kMaxPools);
  }
  for (const auto pool : pools) {
    if (pool.isMemory()) {
      to.decoded.pools.emplace_back(to.memories.size());
      to.memories.push_back(pool.getMemory());
    } else if (pool.isToken()) {
      to.decoded.pools.emplace_back(DecodedRequest::Token{pool.getToken()});
    } else {
      return badData("memory pool {} is of an unknown kind", to.decoded.pools.size());
    }
  }
  return to;
}

}  // namespace halyard::hal
