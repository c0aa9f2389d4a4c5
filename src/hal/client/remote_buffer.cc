#include "hal/client/remote_buffer.h"

#include "hal/client/remote_prepared_model.h"
#include "hal/wire/wire_memory.h"

namespace halyard::hal {
namespace {

using Side = DriverConnection::Side;

class RemoteBuffer final : public Buffer {
 public:
  // `id`: its key in Side::buffers.
  RemoteBuffer(std::shared_ptr<DriverConnection> connection, uint64_t id, uint32_t token)
      : connection_(std::move(connection)), id_(id), token_(token) {}
  ~RemoteBuffer() override { connection_->releaseBuffer(id_); }

  uint32_t token() const override { return token_; }

  Status copyTo(const SharedMemoryPtr& destination) override {
    if (destination == nullptr) return badData("the destination is null");
    return connection_
        ->call<bool>("copyTo",
                     [&](Side& side) {
                       auto call = side.buffers.at(id_).copyToRequest();
                       MemoryEncoder().encode(destination, 0, call.initDst());
                       return answer(kj::mv(call));
                     })
        .takeStatus();
  }

  Status copyFrom(const SharedMemoryPtr& source, const Shape& dimensions) override {
    if (source == nullptr) return badData("the source is null");
    return connection_
        ->call<bool>("copyFrom",
                     [&](Side& side) {
                       auto call = side.buffers.at(id_).copyFromRequest();
                       MemoryEncoder().encode(source, 0, call.initSrc());
                       call.setDimensions(kj::arrayPtr(dimensions.data(), dimensions.size()));
                       return answer(kj::mv(call));
                     })
        .takeStatus();
  }

 private:
  template <typename Call>
  static kj::Promise<Result<bool>> answer(Call call) {
    return call.send().then([](auto&& response) -> Result<bool> {
      HALYARD_RETURN_IF_ERROR(fromWireStatus(response.getStatus(), response.getMessage()));
      return true;
    });
  }

  const std::shared_ptr<DriverConnection> connection_;
  const uint64_t id_;
  const uint32_t token_;
};

// The keys of the prepared models in Side::preparedModels.
Result<std::vector<uint64_t>> keysOf(const std::shared_ptr<DriverConnection>& driver,
                                     std::span<const std::shared_ptr<PreparedModel>> models) {
  if (models.empty()) return badData("a buffer for no prepared model");
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < models.size(); ++i) {
    if (models[i] == nullptr) return badData("prepared model {} is null", i);
    const auto* const remote = dynamic_cast<const RemotePreparedModel*>(models[i].get());
    if (remote == nullptr || remote->connection() != driver) {
      return badData("prepared model {} is not of this device, or its driver has ended", i);
    }
    const uint64_t key = remote->id();
    keys.push_back(key);
  }
  return keys;
}

void encodeRoles(std::span<const BufferRole> from, capnp::List<wire::BufferRole>::Builder to) {
  for (unsigned i = 0; i < to.size(); ++i) {
    to[i].setModelIndex(from[i].modelIndex);
    to[i].setIoIndex(from[i].ioIndex);
    to[i].setFrequency(from[i].frequency);
  }
}

struct Allocated {
  uint64_t id = 0;
  uint32_t token = 0;
};

kj::Promise<Result<Allocated>> allocate(Side& side, const BufferOrder& order,
                                        const std::vector<uint64_t>& keys) {
  auto call = KJ_ASSERT_NONNULL(side.device).castAs<wire::v1_3::IDevice>().allocateRequest();
  call.initDesc().setDimensions(kj::arrayPtr(order.dimensions.data(), order.dimensions.size()));
  auto models = call.initPreparedModels(static_cast<unsigned>(keys.size()));
  for (unsigned i = 0; i < models.size(); ++i) models.set(i, side.preparedModels.at(keys[i]));
  encodeRoles(order.inputRoles,
              call.initInputRoles(static_cast<unsigned>(order.inputRoles.size())));
  encodeRoles(order.outputRoles,
              call.initOutputRoles(static_cast<unsigned>(order.outputRoles.size())));
  return call.send().then([&side](auto&& response) -> Result<Allocated> {
    HALYARD_RETURN_IF_ERROR(fromWireStatus(response.getStatus(), response.getMessage()));
    if (!response.hasBuffer() || response.getToken() == 0) {
      return opFailed("it reports success without a buffer or its token");
    }
    const Allocated allocated{side.nextBuffer++, response.getToken()};
    side.buffers.emplace(allocated.id, response.getBuffer());
    return allocated;
  });
}

}  // namespace

Result<std::unique_ptr<Buffer>> allocateRemotely(const std::shared_ptr<DriverConnection>& driver,
                                                 const BufferOrder& order) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<uint64_t> keys, keysOf(driver, order.preparedModels));
  HALYARD_ASSIGN_OR_RETURN(
      const Allocated allocated,
      driver->call<Allocated>("allocate", [&](Side& side) { return allocate(side, order, keys); }));
  return std::unique_ptr<Buffer>(
      std::make_unique<RemoteBuffer>(driver, allocated.id, allocated.token));
}

}  // namespace halyard::hal
