#include "hal/client/device_calls.h"

#include <algorithm>
#include <functional>

#include "hal/client/remote_callbacks.h"
#include "hal/core/operation_support.h"
#include "hal/core/version_adaptation.h"
#include "hal/wire/wire_cache.h"
#include "hal/wire/wire_model.h"

namespace halyard::hal::calls {

Answer<Capabilities> askCapabilities(Side& side, HalVersion version) {
  const auto read = [version](auto& response) -> Result<Capabilities> {
    return decodeCapabilities(response.getCapabilities(), version);
  };
  switch (version) {
    case HalVersion::V1_0:
      return ask<Capabilities>(deviceOf<wire::v1_0::IDevice>(side).getCapabilitiesRequest(), read);
    case HalVersion::V1_1:
      return ask<Capabilities>(deviceOf<wire::v1_1::IDevice>(side).getCapabilities11Request(),
                               read);
    case HalVersion::V1_2:
      return ask<Capabilities>(deviceOf<wire::v1_2::IDevice>(side).getCapabilities12Request(),
                               read);
    case HalVersion::V1_3:
      return ask<Capabilities>(deviceOf<wire::v1_3::IDevice>(side).getCapabilities13Request(),
                               read);
  }
  return Result<Capabilities>(opFailed("unknown HAL version"));
}

namespace {

// The size hint for a call with the model.
capnp::MessageSize sizeOf(const Outgoing& outgoing) {
  constexpr uint64_t kOthers = 64;  // options and the call itself
  const uint64_t words = estimateWords(outgoing.model, outgoing.constants) + kOthers;
  const size_t capabilities = outgoing.model.pools.size() + 2;  // constants and a callback
  return {std::min(words, kMaxMessageWords), static_cast<uint32_t>(capabilities)};
}

// Puts the model into a call. BAD_DATA when the message gets too large.
template <typename Call>
Status putModel(Call& call, const Outgoing& outgoing) {
  encodeModel(outgoing.model, outgoing.constants, call.initModel());
  const uint64_t bytes = call.totalSize().wordCount * sizeof(uint64_t);
  if (bytes > kMaxMessageBytes) {
    return badData("the model's description has {} bytes; a message takes at most {}", bytes,
                   kMaxMessageBytes);
  }
  return okStatus();
}

template <typename Response>
Result<SupportedOperations> readSupported(Response& response, size_t operations) {
  const auto list = response.getSupported();
  if (list.size() != operations) {
    return opFailed("it answers for {} operations; the model has {}", list.size(), operations);
  }
  SupportedOperations supported;
  for (const bool one : list) supported.emplace_back(one);
  const auto details = response.getDetails();
  if (details.size() != 0 && details.size() != operations) {
    return opFailed("it gives reasons or costs of {} operations; the model has {}", details.size(),
                    operations);
  }
  for (unsigned i = 0; i < details.size(); ++i) {
    const capnp::Text::Reader reason = details[i].getReason();
    supported[i].reason.assign(reason.begin(), reason.size());
    supported[i].cost = details[i].getCost();
  }
  normalise(supported);
  return supported;
}

template <typename Call>
Answer<SupportedOperations> askSupported(Call call, const Outgoing& outgoing) {
  Status put = putModel(call, outgoing);
  if (!put.ok()) return Result<SupportedOperations>(std::move(put));
  const size_t operations = outgoing.model.main.operations.size();
  return ask<SupportedOperations>(
      kj::mv(call), [operations](auto& response) { return readSupported(response, operations); });
}

}  // namespace

Answer<SupportedOperations> askSupported(Side& side, HalVersion version, const Outgoing& outgoing) {
  switch (version) {
    case HalVersion::V1_0:
      return askSupported(
          deviceOf<wire::v1_0::IDevice>(side).getSupportedOperationsRequest(sizeOf(outgoing)),
          outgoing);
    case HalVersion::V1_1:
      return askSupported(
          deviceOf<wire::v1_1::IDevice>(side).getSupportedOperations11Request(sizeOf(outgoing)),
          outgoing);
    case HalVersion::V1_2:
      return askSupported(
          deviceOf<wire::v1_2::IDevice>(side).getSupportedOperations12Request(sizeOf(outgoing)),
          outgoing);
    case HalVersion::V1_3:
      return askSupported(
          deviceOf<wire::v1_3::IDevice>(side).getSupportedOperations13Request(sizeOf(outgoing)),
          outgoing);
  }
  return Result<SupportedOperations>(opFailed("unknown HAL version"));
}

namespace {

// Waits for a preparation that the driver has begun, and returns the model's key.
Answer<uint64_t> keyOf(Side& side, kj::Promise<PreparedAnswer> promise) {
  return side.orDisconnected(promise.then([&side](PreparedAnswer prepared) -> Result<uint64_t> {
    HALYARD_RETURN_IF_ERROR(prepared.status);
    const uint64_t key = side.nextPreparedModel++;
    side.preparedModels.emplace(key, KJ_ASSERT_NONNULL(prepared.preparedModel));
    return key;
  }));
}

// Sends a call whose prepared model arrives at a callback. The result is the model's key.
template <typename Call>
Answer<uint64_t> sendForModel(Side& side, Call call) {
  auto answer = kj::newPromiseAndFulfiller<PreparedAnswer>();
  call.setCallback(kj::heap<PreparedModelCallback>(kj::mv(answer.fulfiller)));
  return call.send().then(
      [&side, promise = kj::mv(answer.promise)](auto&& response) mutable -> Answer<uint64_t> {
        Status launched = fromWireStatus(response.getStatus(), response.getMessage());
        if (!launched.ok()) return Result<uint64_t>(std::move(launched));
        return keyOf(side, kj::mv(promise));
      });
}

// The same for prepareModel of any version.
template <typename Call>
Answer<uint64_t> sendPrepare(Side& side, Call call, const Outgoing& outgoing) {
  Status put = putModel(call, outgoing);
  if (!put.ok()) return Result<uint64_t>(std::move(put));
  return sendForModel(side, kj::mv(call));
}

// The options of version 1.3, except cache files.
template <typename Call>
void putOptions(const PrepareOptions& options, Call& call) {
  call.setPreference(static_cast<wire::ExecutionPreference>(options.preference));
  call.setPriority(static_cast<wire::Priority>(options.priority));
  encodeDeadline(options.deadline, call.initDeadline());
  putAttributes(options.attributes, call);
}

}  // namespace

Answer<uint64_t> prepare(Side& side, HalVersion version, const Outgoing& outgoing,
                         const PrepareOptions& options) {
  const auto preference = static_cast<wire::ExecutionPreference>(options.preference);
  switch (version) {
    case HalVersion::V1_0:
      return sendPrepare(side,
                         deviceOf<wire::v1_0::IDevice>(side).prepareModelRequest(sizeOf(outgoing)),
                         outgoing);
    case HalVersion::V1_1: {
      auto call = deviceOf<wire::v1_1::IDevice>(side).prepareModel11Request(sizeOf(outgoing));
      call.setPreference(preference);
      return sendPrepare(side, kj::mv(call), outgoing);
    }
    case HalVersion::V1_2: {
      auto call = deviceOf<wire::v1_2::IDevice>(side).prepareModel12Request(sizeOf(outgoing));
      call.setPreference(preference);
      putCacheFiles(options.cache.get(), call);
      return sendPrepare(side, kj::mv(call), outgoing);
    }
    case HalVersion::V1_3: {
      auto call = deviceOf<wire::v1_3::IDevice>(side).prepareModel13Request(sizeOf(outgoing));
      putOptions(options, call);
      putCacheFiles(options.cache.get(), call);
      return sendPrepare(side, kj::mv(call), outgoing);
    }
  }
  return Result<uint64_t>(opFailed("unknown HAL version"));
}

Answer<uint64_t> prepareFromCache(Side& side, HalVersion version, const PrepareOptions& options) {
  if (version < HalVersion::V1_3) {
    auto call = deviceOf<wire::v1_2::IDevice>(side).prepareModelFromCacheRequest();
    putCacheFiles(options.cache.get(), call);
    return sendForModel(side, kj::mv(call));
  }
  auto call = deviceOf<wire::v1_3::IDevice>(side).prepareModelFromCache13Request();
  encodeDeadline(options.deadline, call.initDeadline());
  putCacheFiles(options.cache.get(), call);
  return sendForModel(side, kj::mv(call));
}

Answer<JointAnswer> prepareSupported(Side& side, const Outgoing& outgoing,
                                     const PrepareOptions& options) {
  auto call = deviceOf<wire::v1_3::IDevice>(side).prepareSupported13Request(sizeOf(outgoing));
  putOptions(options, call);
  Status put = putModel(call, outgoing);
  if (!put.ok()) return Result<JointAnswer>(std::move(put));
  auto prepared = kj::newPromiseAndFulfiller<PreparedAnswer>();
  call.setCallback(kj::heap<PreparedModelCallback>(kj::mv(prepared.fulfiller)));
  const size_t operations = outgoing.model.main.operations.size();
  auto read = [&side, operations,
               promise = kj::mv(prepared.promise)](auto& response) mutable -> Result<JointAnswer> {
    JointAnswer answer;
    answer.isImplemented = true;
    HALYARD_ASSIGN_OR_RETURN(answer.supported, readSupported(response, operations));
    if (!supportsAll(answer.supported)) return answer;
    answer.preparation = side.nextPreparation++;
    side.preparations.emplace(*answer.preparation, keyOf(side, kj::mv(promise)));
    return answer;
  };
  return orElse(ask<JointAnswer>(kj::mv(call), kj::mv(read)), JointAnswer());
}

Answer<uint64_t> preparedBy(Side& side, uint64_t preparation) {
  const auto begun = side.preparations.find(preparation);
  if (begun == side.preparations.end()) {
    return Result<uint64_t>(opFailed("there is no preparation {}", preparation));
  }
  Answer<uint64_t> answer = kj::mv(begun->second);
  side.preparations.erase(begun);
  return answer;
}

bool fitsInMessage(const CacheFiles* files, const Model& model) {
  return countDescriptors(files) + model.pools.size() + 1 <= wire::MAX_FDS_PER_MESSAGE;
}

std::string methodName(const char* name, HalVersion version) {
  if (version == HalVersion::V1_0) return name;
  return fmt::format("{}_1_{}", name, static_cast<unsigned>(version) - 1);
}

Result<Packed> pack(const ValidModel& model, HalVersion version) {
  Packed packed;
  HALYARD_ASSIGN_OR_RETURN(const ValidModel converted, convertTo(model, version));
  packed.model = converted.share();
  HALYARD_ASSIGN_OR_RETURN(packed.constants, shareLargeConstants(*packed.model));
  std::vector<SharedMemoryPtr> pools = packed.model->pools;
  if (packed.constants != nullptr) pools.push_back(packed.constants);
  HALYARD_RETURN_IF_ERROR(checkPoolCount(pools));
  return packed;
}

}  // namespace halyard::hal::calls
