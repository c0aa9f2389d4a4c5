// The calls of a driver's device: how each is made of its arguments, and its answer read.
// Thread safety: what takes a Side belongs to the loop thread, the rest to any.
// Ownership: a call's arguments outlive the function only; the message has copies.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hal/client/driver_connection.h"
#include "hal/v1_3.capnp.h"
#include "hal/wire/wire_types.h"
#include "halyard/driver/hal_types.h"
#include "halyard/driver/valid_model.h"

namespace halyard::hal::calls {

using Side = DriverConnection::Side;
template <typename T>
using Answer = kj::Promise<Result<T>>;

// Sends a call of `side`'s device and reads its answer's status; `read` makes the value of a good
// one. `method`, unless it is null, is said with an error.
template <typename T, typename Call, typename Read>
Answer<T> ask(Call call, Read read, const char* method = nullptr) {
  return call.send().then([read = kj::mv(read), method](auto&& response) mutable -> Result<T> {
    // The driver is told that the call is over when the response goes: when whoever waits for the
    // answer has it, as this thread may lose the processor to the driver then.
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

// For a method that drivers of an older schema do not have.
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

// A model as it goes to the driver. `constants`: null, or the pool for its operandValues.
struct Outgoing {
  const Model& model;
  const SharedMemoryPtr& constants;
};

// A model on its way to a driver, with what must be shared for it.
struct Packed {
  std::shared_ptr<const Model> model;
  SharedMemoryPtr constants;  // null, or the pool for the model's operandValues

  Outgoing outgoing() const { return {*model, constants}; }
};

// What every call with a compliant model does first, in the caller's thread.
Result<Packed> pack(const ValidModel& model, HalVersion version);

using Supported = std::vector<bool>;

Answer<Capabilities> askCapabilities(Side& side, HalVersion version);
Answer<Supported> askSupported(Side& side, HalVersion version, const Outgoing& outgoing);

// These give the prepared model's key among the side's.
Answer<uint64_t> prepare(Side& side, HalVersion version, const Outgoing& outgoing,
                         const PrepareOptions& options);
Answer<uint64_t> prepareFromCache(Side& side, HalVersion version, const PrepareOptions& options);

// The answer of a driver to prepareSupported13.
struct JointAnswer {
  bool isImplemented = false;  // the driver has the method
  Supported supported;
  // The number of the preparation among the side's. It has begun if all operations are supported.
  std::optional<uint64_t> preparation;
};
Answer<JointAnswer> prepareSupported(Side& side, const Outgoing& outgoing,
                                     const PrepareOptions& options);
// Waits for the preparation, once. The result is the prepared model's key.
Answer<uint64_t> preparedBy(Side& side, uint64_t preparation);

// Whether the files still fit into a message beside the model's pools.
bool fitsInMessage(const CacheFiles* files, const Model& model);

// Names such as prepareModel_1_3, as in the HAL.
std::string methodName(const char* name, HalVersion version);

}  // namespace halyard::hal::calls
