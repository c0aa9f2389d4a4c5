#include "hal/server/trace_server.h"

#include "hal/server/prepared_model_server.h"
#include "hal/session/session_prepared_model.h"
#include "hal/wire/wire_memory.h"
#include "hal/wire/wire_types.h"
#include "trace/recorder.h"

namespace halyard::hal {
namespace {

// The recorder of a session, with the charges for its memory.
struct Charged {
  std::unique_ptr<trace::Recorder> recorder;
  Quota::Charge memory;
  Quota::Charge descriptor;
};

Result<bool> record(ClientSession& session, PoolDescription description) {
  const size_t kMostBytes = trace::Recorder::bytesFor(trace::Recorder::kMostCapacity);
  if (description.size > kMostBytes) {
    return badData("{} bytes for a trace; at most {} are taken", description.size, kMostBytes);
  }
  const auto charged = std::make_shared<Charged>();
  // The pages belong to the client, but this process causes their allocation.
  HALYARD_ASSIGN_OR_RETURN(charged->memory,
                           session.quota().charge(Quota::Resource::MEMORY, description.size));
  HALYARD_ASSIGN_OR_RETURN(charged->descriptor,
                           session.quota().charge(Quota::Resource::DESCRIPTORS, 1));
  HALYARD_ASSIGN_OR_RETURN(const ReceivedPool pool, ReceivedPool::open(std::move(description)));
  if (!pool.mappable() || pool.opaque()) {
    return badData("its memory could shrink; a memfd is needed that is sealed against it");
  }
  if (!pool.readable() || !pool.writable()) return badData("its memory may not be written");
  if (pool.memory()->offset() % alignof(std::max_align_t) != 0) {
    return badData("its memory is at offset {}", pool.memory()->offset());
  }
  HALYARD_ASSIGN_OR_RETURN(charged->recorder, trace::Recorder::over(pool.memory()));
  session.setTrace(std::shared_ptr<trace::Recorder>(charged, charged->recorder.get()));
  return true;
}

}  // namespace

kj::Promise<void> recordFor(const std::shared_ptr<ServedClient>& client, TraceContext context) {
  const auto refuse = [&](const Status& status) -> kj::Promise<void> {
    setStatus(context.getResults(), status, HalVersion::V1_3);
    return kj::READY_NOW;
  };
  if (!client->refusal.ok()) return refuse(client->refusal);
  if (context.getParams().getMemory().getSize() == 0) {
    client->session->setTrace(nullptr);
    return kj::READY_NOW;
  }
  return decodeMemories({context.getParams().getMemory()})
      .then([client, context](
                Result<std::vector<PoolDescription>> pools) mutable -> kj::Promise<Result<bool>> {
        context.releaseParams();
        if (!pools.ok()) return Result<bool>(pools.takeStatus());
        auto taken = std::make_shared<PoolDescription>(std::move(pools->front()));
        return client->core.run<bool>(*client, [session = client->session, taken] {
          return record(*session, std::move(*taken));
        });
      })
      .then([context](Result<bool> result) mutable {
        Status status = result.takeStatus();
        setStatus(context.getResults(), status.annotate("the memory"), HalVersion::V1_3);
      });
}

kj::Promise<void> nameModelFor(const std::shared_ptr<ServedClient>& client,
                               TraceModelContext context) {
  if (!context.getParams().hasPreparedModel()) {
    setStatus(context.getResults(), badData("the prepared model is null"), HalVersion::V1_3);
    return kj::READY_NOW;
  }
  return preparedModelOf(
             *client, context.getParams().getPreparedModel().castAs<wire::v1_3::IPreparedModel>())
      .then([client, context](std::shared_ptr<PreparedModel> found) mutable {
        // All prepared models of a session have this type.
        const auto model = std::dynamic_pointer_cast<SessionPreparedModel>(found);
        if (model != nullptr) model->setTraceContext(context.getParams().getContext());
        setStatus(
            context.getResults(),
            model != nullptr ? okStatus() : badData("it is no prepared model of the client's"),
            HalVersion::V1_3);
      });
}

}  // namespace halyard::hal
