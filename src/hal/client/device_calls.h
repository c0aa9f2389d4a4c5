// The calls of a driver's device: each function encodes the arguments and decodes the answer.
// Thread safety: functions with a Side run on the loop thread. The others run on any thread.
// Ownership: a function needs its arguments only until it returns, because the message has copies.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hal/client/driver_connection.h"
#include "hal/v1_3.capnp.h"
#include "hal/wire/wire_types.h"
#include "halyard/driver/device.h"
#include "halyard/driver/valid_model.h"

namespace halyard::hal::calls {

using Side = DriverConnection::Side;
template <typename T>
using Answer = kj::Promise<Result<T>>;

// Sends a call of a device and reads the status of the answer. If it is OK, `read` makes the value
// from the answer. `method` is put before an error, unless it is null.
template <typename T, typename Call, typename Read>
Answer<T> ask(Call call, Read read, const char* method = nullptr) {
  return call.send().then([read = kj::mv(read), method](auto&& response) mutable -> Result<T> {
    // The driver learns that the call is over when the response is destroyed. That happens after
    // the waiting thread has the answer. Otherwise the driver might take the processor from this
    // thread first.
    const auto after = [&response] {
      kj::evalLast([kept = kj::mv(response)] {}).detach([](kj::Exception&&) {});
    };
    Status status = fromWireStatus(response.getStatus(), response.getMessage());
    if (!status.ok()) {
      after();
      return method == nullptr ? std::move(status) : status.annotate(method);
    }
    Result<T> result = read(response);
    after();
    return result;
  });
}

// Returns `value` when the driver has an older schema without the method.
template <typename T>
Answer<T> orElse(Answer<T> answer, T value) {
  return answer.catch_([value = std::move(value)](kj::Exception&& exception) mutable -> Answer<T> {
    if (exception.getType() != kj::Exception::Type::UNIMPLEMENTED) return kj::mv(exception);
    return Result<T>(std::move(value));
  });
}

template <typename Interface>
typename Interface::Client deviceOf(Side& side) {
  return KJ_ASSERT_NONNULL(side.device).template castAs<Interface>();
}

// A model for one message. `constants`: null, or the pool for its operandValues.
struct Outgoing {
  const Model& model;
  const SharedMemoryPtr& constants;
};

// A model for a driver, with the shared memory that its message needs.
struct Packed {
  std::shared_ptr<const Model> model;
  SharedMemoryPtr constants;  // null, or the pool for the model's operandValues

  Outgoing outgoing() const { return {*model, constants}; }
};

// Prepares a compliant model for a call, on the caller's thread: converts it to `version` and
// shares its large constants. Returns an error when the pools are too many for a message.
Result<Packed> pack(const ValidModel& model, HalVersion version);

Answer<Capabilities> askCapabilities(Side& side, HalVersion version);
Answer<SupportedOperations> askSupported(Side& side, HalVersion version, const Outgoing& outgoing);

// The result is the prepared model's key in side.preparedModels.
Answer<uint64_t> prepare(Side& side, HalVersion version, const Outgoing& outgoing,
                         const PrepareOptions& options);
Answer<uint64_t> prepareFromCache(Side& side, HalVersion version, const PrepareOptions& options);

// The answer of a driver to prepareSupported13.
struct JointAnswer {
  bool isImplemented = false;  // the driver has the method
  SupportedOperations supported;
  // The key in side.preparations. Set if all operations are supported; then the preparation has
  // begun.
  std::optional<uint64_t> preparation;
};
Answer<JointAnswer> prepareSupported(Side& side, const Outgoing& outgoing,
                                     const PrepareOptions& options);
// Waits for the preparation. May be called once for each. The result is the prepared model's key.
Answer<uint64_t> preparedBy(Side& side, uint64_t preparation);

// Whether the files fit into one message with the model's pools.
bool fitsInMessage(const CacheFiles* files, const Model& model);

// The name of a method as in the HAL, such as prepareModel_1_3.
std::string methodName(const char* name, HalVersion version);

}  // namespace halyard::hal::calls
