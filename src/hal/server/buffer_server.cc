#include "hal/server/buffer_server.h"

#include "hal/server/prepared_model_server.h"
#include "hal/wire/wire_memory.h"

namespace halyard::hal {
namespace {

using BufferPtr = std::shared_ptr<Buffer>;

// The limit of each list in a call of allocate. A longer list would contain duplicates for any real
// model.
constexpr unsigned kMaxListed = 65536;

class BufferServer final : public wire::v1_3::IBuffer::Server {
 public:
  BufferServer(std::shared_ptr<ServedClient> client, BufferPtr buffer)
      : client_(std::move(client)), buffer_(std::move(buffer)) {}
  // All later calls refuse the token, even those that run before the memory is free.
  ~BufferServer() {
    client_->session->retireBuffer(*buffer_);
    client_->disposeFirst(std::move(buffer_));
  }
  BufferServer(const BufferServer&) = delete;
  BufferServer& operator=(const BufferServer&) = delete;

  kj::Promise<void> copyTo(CopyToContext context) override {
    std::vector<wire::Memory::Reader> memories;
    const auto failure =
        kj::runCatchingExceptions([&] { memories.push_back(context.getParams().getDst()); });
    KJ_IF_MAYBE (exception, failure) return malformed(context, *exception);
    return copy(context, std::move(memories), [buffer = buffer_](const SharedMemoryPtr& memory) {
      return buffer->copyTo(memory);
    });
  }

  kj::Promise<void> copyFrom(CopyFromContext context) override {
    std::vector<wire::Memory::Reader> memories;
    Shape dimensions;
    const auto failure = kj::runCatchingExceptions([&] {
      memories.push_back(context.getParams().getSrc());
      dimensions = decodeNumbers(context.getParams().getDimensions());
    });
    KJ_IF_MAYBE (exception, failure) return malformed(context, *exception);
    return copy(context, std::move(memories),
                [buffer = buffer_, dimensions](const SharedMemoryPtr& memory) {
                  return buffer->copyFrom(memory, dimensions);
                });
  }

 private:
  using Copy = std::function<Status(const SharedMemoryPtr&)>;

  template <typename Context>
  static kj::Promise<void> malformed(Context context, const kj::Exception& exception) {
    setStatus(context.getResults(),
              badData("the message is malformed: {}", exception.getDescription().cStr()),
              HalVersion::V1_3);
    return kj::READY_NOW;
  }

  // Copies on a thread of the executor. If the memory's description is invalid, the buffer gets
  // null, and then has the state after a failed copy.
  template <typename Context>
  kj::Promise<void> copy(Context context, std::vector<wire::Memory::Reader> memories, Copy copy) {
    return decodeMemories(std::move(memories))
        .then([client = client_, context, copy = std::move(copy)](
                  Result<std::vector<PoolDescription>> pools) mutable -> kj::Promise<Result<bool>> {
          context.releaseParams();
          auto taken = std::make_shared<Result<std::vector<PoolDescription>>>(std::move(pools));
          return client->core.run<bool>(*client, [taken, copy = std::move(copy)]() -> Result<bool> {
            Result<SharedMemoryPtr> memory = taken->status();
            if (taken->ok()) memory = describePool(std::move((*taken)->front()));
            const Status copied = copy(memory.ok() ? *memory : nullptr);
            HALYARD_RETURN_IF_ERROR(memory.status(), "the memory");
            HALYARD_RETURN_IF_ERROR(copied);
            return true;
          });
        })
        .then([context](Result<bool> result) mutable {
          setStatus(context.getResults(), result.status(), HalVersion::V1_3);
        });
  }

  const std::shared_ptr<ServedClient> client_;
  BufferPtr buffer_;
};

// The arguments of a call of allocate, except its prepared models.
struct AllocateRequest {
  Shape dimensions;
  std::vector<BufferRole> inputRoles;
  std::vector<BufferRole> outputRoles;
};

Result<std::vector<BufferRole>> decodeRoles(capnp::List<wire::BufferRole>::Reader from) {
  if (from.size() > kMaxListed) return badData("{} roles", from.size());
  std::vector<BufferRole> roles;
  for (const auto role : from) {
    roles.push_back({role.getModelIndex(), role.getIoIndex(), role.getFrequency()});
  }
  return roles;
}

using Params = wire::v1_3::IDevice::AllocateParams::Reader;
using PreparedModels = std::vector<std::shared_ptr<PreparedModel>>;

Result<AllocateRequest> decodeAllocateRequest(Params params) {
  AllocateRequest request;
  request.dimensions = decodeNumbers(params.getDesc().getDimensions());
  HALYARD_ASSIGN_OR_RETURN(request.inputRoles, decodeRoles(params.getInputRoles()), "input roles");
  HALYARD_ASSIGN_OR_RETURN(request.outputRoles, decodeRoles(params.getOutputRoles()),
                           "output roles");
  if (params.getPreparedModels().size() > kMaxListed) {
    return badData("{} prepared models", params.getPreparedModels().size());
  }
  return request;
}

kj::Promise<PreparedModels> findPreparedModels(ServedClient& client, Params params) {
  const auto list = params.getPreparedModels();
  auto found = kj::heapArrayBuilder<kj::Promise<std::shared_ptr<PreparedModel>>>(list.size());
  for (auto capability : list) {
    found.add(preparedModelOf(client, capability.castAs<wire::v1_3::IPreparedModel>()));
  }
  return kj::joinPromises(found.finish())
      .then([](kj::Array<std::shared_ptr<PreparedModel>> models) -> PreparedModels {
        return {models.begin(), models.end()};
      });
}

}  // namespace

kj::Promise<void> allocateBuffer(const std::shared_ptr<ServedClient>& client,
                                 AllocateContext context) {
  auto request = std::make_shared<Result<AllocateRequest>>(badData("the message cannot be read"));
  kj::Promise<PreparedModels> models = PreparedModels();
  const auto failure = kj::runCatchingExceptions([&] {
    *request = decodeAllocateRequest(context.getParams());
    if (request->ok()) models = findPreparedModels(*client, context.getParams());
  });
  KJ_IF_MAYBE (exception, failure) {
    *request = badData("the message is malformed: {}", exception->getDescription().cStr());
  }
  if (!request->ok()) {
    setStatus(context.getResults(), request->status(), HalVersion::V1_3);
    return kj::READY_NOW;
  }
  return models
      .then([client, request](PreparedModels found) {
        return client->core.run<BufferPtr>(
            *client,
            [session = client->session, request, found = std::move(found)]() -> Result<BufferPtr> {
              HALYARD_ASSIGN_OR_RETURN(
                  BufferPtr buffer,
                  session->allocate((*request)->dimensions, found, (*request)->inputRoles,
                                    (*request)->outputRoles));
              return buffer;
            });
      })
      .then([client, context](Result<BufferPtr> buffer) mutable {
        auto results = context.getResults();
        setStatus(results, buffer.status(), HalVersion::V1_3);
        if (!buffer.ok()) return;
        results.setToken((*buffer)->token());
        results.setBuffer(kj::heap<BufferServer>(client, std::move(*buffer)));
      });
}

}  // namespace halyard::hal
