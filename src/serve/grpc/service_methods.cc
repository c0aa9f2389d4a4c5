#include "serve/grpc/service_methods.h"

#include <grpc/byte_buffer.h>

#include <system_error>

#include "serve/grpc/messages.h"

namespace halyard::serve {

using grpc::ServerContext;

#define HALYARD_METHOD(name) "/inference.GRPCInferenceService/" name

namespace {

constexpr size_t kMostBytes = size_t{64} << 10;  // of a request that has no tensors

// Refuses large requests before they are parsed.
class SmallRequests : public grpc::internal::MethodHandler {
 public:
  explicit SmallRequests(std::unique_ptr<grpc::internal::MethodHandler> handler)
      : handler_(std::move(handler)) {}

  void RunHandler(const HandlerParameter& parameter) override { handler_->RunHandler(parameter); }

  // Takes `bytes`, as all handlers do.
  void* Deserialize(grpc_call* call, grpc_byte_buffer* bytes, grpc::Status* status,
                    void** data) override {
    const size_t size = bytes == nullptr ? 0 : grpc_byte_buffer_length(bytes);
    if (size <= kMostBytes) return handler_->Deserialize(call, bytes, status, data);
    grpc_byte_buffer_destroy(bytes);
    *status = {grpc::StatusCode::RESOURCE_EXHAUSTED,
               fmt::format("the request has {} bytes, expected at most {}", size, kMostBytes)};
    return nullptr;
  }

 private:
  const std::unique_ptr<grpc::internal::MethodHandler> handler_;
};

}  // namespace

grpc::Status grpcStatusOf(const Outcome& outcome, ServerContext& context) {
  if (outcome.ok()) return grpc::Status::OK;
  if (outcome.fault() == Fault::OVERLOADED) {
    context.AddTrailingMetadata("grpc-retry-pushback-ms",
                                std::to_string(std::max<int64_t>(1, outcome.retryAfter().count())));
  }
  return {static_cast<grpc::StatusCode>(grpcCodeOf(outcome.fault())), outcome.text()};
}

std::string metadataOf(const ServerContext& context, const char* name) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find(name);
  if (found == metadata.end()) return "";
  return {found->second.data(), found->second.size()};
}

// "ipv4:127.0.0.1:1234" becomes "127.0.0.1", and "ipv6:%5B::1%5D:1234" becomes "::1", as for HTTP.
std::string addressOfPeer(const std::string& peer) {
  const size_t begin = peer.find(':') + 1;
  std::string_view address = std::string_view(peer).substr(begin, peer.rfind(':') - begin);
  for (const std::string_view open : {"%5B", "["}) {
    if (address.starts_with(open)) address.remove_prefix(open.size());
  }
  for (const std::string_view close : {"%5D", "]"}) {
    if (address.ends_with(close)) address.remove_suffix(close.size());
  }
  return std::string(address);
}

std::string addressOf(const ServerContext& context) { return addressOfPeer(context.peer()); }

template <typename Request, typename Response>
void ServiceMethods::add(const char* path, Method<Request, Response> method) {
  auto handler =
      std::make_unique<grpc::internal::RpcMethodHandler<ServiceMethods, Request, Response>>(
          [method](ServiceMethods* self, ServerContext* context, const Request* request,
                   Response* response) { return (self->*method)(context, request, response); },
          this);
  AddMethod(new grpc::internal::RpcServiceMethod(path, grpc::internal::RpcMethod::NORMAL_RPC,
                                                 new SmallRequests(std::move(handler))));
}

ServiceMethods::ServiceMethods(serve::Service& service, Clients& clients, GrpcGuards& guards)
    : service_(service), clients_(clients), guards_(guards) {
  using Self = ServiceMethods;
  using grpc::internal::RpcMethod;
  using grpc::internal::RpcServiceMethod;
  // The first method has the index 0. Without a handler it is asynchronous.
  AddMethod(new RpcServiceMethod(HALYARD_METHOD("ModelInfer"), RpcMethod::NORMAL_RPC, nullptr));
  MarkMethodRaw(inferIndex_);
  AddMethod(new RpcServiceMethod(
      HALYARD_METHOD("ModelStreamInfer"), RpcMethod::BIDI_STREAMING,
      new grpc::internal::BidiStreamingHandler<Self, grpc::ByteBuffer,
                                               inference::ModelStreamInferResponse>(
          [](Self* self, ServerContext* context, InferStream::Peer* peer) {
            return self->ModelStreamInfer(context, peer);
          },
          this)));
  add(HALYARD_METHOD("ServerLive"), &Self::ServerLive);
  add(HALYARD_METHOD("ServerReady"), &Self::ServerReady);
  add(HALYARD_METHOD("ServerMetadata"), &Self::ServerMetadata);
  add(HALYARD_METHOD("ModelReady"), &Self::ModelReady);
  add(HALYARD_METHOD("ModelMetadata"), &Self::ModelMetadata);
  add(HALYARD_METHOD("ModelConfig"), &Self::ModelConfig);
  add(HALYARD_METHOD("ModelStatistics"), &Self::ModelStatistics);
  add(HALYARD_METHOD("RepositoryIndex"), &Self::RepositoryIndex);
  add(HALYARD_METHOD("RepositoryModelLoad"), &Self::RepositoryModelLoad);
  add(HALYARD_METHOD("RepositoryModelUnload"), &Self::RepositoryModelUnload);
  add(HALYARD_METHOD("SystemSharedMemoryStatus"), &Self::SystemSharedMemoryStatus);
  add(HALYARD_METHOD("SystemSharedMemoryRegister"), &Self::SystemSharedMemoryRegister);
  add(HALYARD_METHOD("SystemSharedMemoryUnregister"), &Self::SystemSharedMemoryUnregister);
}

grpc::Status ServiceMethods::check(ServerContext& context) const {
  return grpcStatusOf(clients_.check(authorizationOf(context)), context);
}

grpc::Status ServiceMethods::find(ServerContext& context, const std::string& name,
                                  const std::string& version,
                                  std::shared_ptr<ServedModel>& model) const {
  grpc::Status status = check(context);
  if (!status.ok()) return status;
  Repository::Found found = service_.repository().find(name, version);
  model = std::move(found.model);
  return grpcStatusOf(found.outcome, context);
}

grpc::Status ServiceMethods::ServerLive(ServerContext*, const inference::ServerLiveRequest*,
                                        inference::ServerLiveResponse* response) {
  response->set_live(true);
  return grpc::Status::OK;
}

grpc::Status ServiceMethods::ServerReady(ServerContext*, const inference::ServerReadyRequest*,
                                         inference::ServerReadyResponse* response) {
  response->set_ready(service_.isReady());
  return grpc::Status::OK;
}

grpc::Status ServiceMethods::ModelReady(ServerContext* context,
                                        const inference::ModelReadyRequest* request,
                                        inference::ModelReadyResponse* response) {
  grpc::Status status = check(*context);
  if (!status.ok()) return status;
  const auto found = service_.repository().find(request->name(), request->version());
  response->set_ready(found.model != nullptr);
  return grpc::Status::OK;
}

grpc::Status ServiceMethods::ServerMetadata(ServerContext* context,
                                            const inference::ServerMetadataRequest*,
                                            inference::ServerMetadataResponse* response) {
  grpc::Status status = check(*context);
  if (!status.ok()) return status;
  response->set_name(serve::Service::name());
  response->set_version(serve::Service::version());
  for (const std::string& extension : service_.extensions()) response->add_extensions(extension);
  return grpc::Status::OK;
}

grpc::Status ServiceMethods::ModelMetadata(ServerContext* context,
                                           const inference::ModelMetadataRequest* request,
                                           inference::ModelMetadataResponse* response) {
  std::shared_ptr<ServedModel> model;
  grpc::Status status = find(*context, request->name(), request->version(), model);
  if (status.ok()) {
    fillMetadata(*model, service_.repository().versionsOf(request->name()), *response);
  }
  return status;
}

grpc::Status ServiceMethods::ModelConfig(ServerContext* context,
                                         const inference::ModelConfigRequest* request,
                                         inference::ModelConfigResponse* response) {
  std::shared_ptr<ServedModel> model;
  grpc::Status status = find(*context, request->name(), request->version(), model);
  if (!status.ok()) return status;
  inference::ModelConfig& config = *response->mutable_config();
  config.set_name(model->name());
  config.set_platform("halyard_tflite");
  config.set_backend("halyard");
  config.set_max_batch_size(static_cast<int32_t>(model->maxBatch()));
  return status;
}

grpc::Status ServiceMethods::ModelStatistics(ServerContext* context,
                                             const inference::ModelStatisticsRequest* request,
                                             inference::ModelStatisticsResponse* response) {
  if (!request->name().empty()) {
    std::shared_ptr<ServedModel> model;
    grpc::Status status = find(*context, request->name(), request->version(), model);
    if (status.ok()) fillStatistics(*model, *response->add_model_stats());
    return status;
  }
  grpc::Status status = check(*context);
  if (!status.ok()) return status;
  for (const auto& model : service_.repository().ready()) {
    fillStatistics(*model, *response->add_model_stats());
  }
  return status;
}

grpc::Status ServiceMethods::RepositoryIndex(ServerContext* context,
                                             const inference::RepositoryIndexRequest* request,
                                             inference::RepositoryIndexResponse* response) {
  grpc::Status status = check(*context);
  if (!status.ok()) return status;
  const auto index = service_.repository().index(request->ready());
  if (!index.ok()) return grpcStatusOf(Outcome::of(index.status()), *context);
  for (const IndexEntry& entry : *index) {
    auto& model = *response->add_models();
    model.set_name(entry.name);
    model.set_version(entry.version);
    model.set_state(entry.state);
    model.set_reason(entry.reason);
  }
  return status;
}

grpc::Status ServiceMethods::RepositoryModelLoad(
    ServerContext* context, const inference::RepositoryModelLoadRequest* request,
    inference::RepositoryModelLoadResponse*) {
  grpc::Status status = check(*context);
  if (!status.ok()) return status;
  if (!request->parameters().empty()) {
    return grpcStatusOf(
        {Fault::INVALID, "this server takes no parameters of a load; it reads the model's folder"},
        *context);
  }
  return grpcStatusOf(service_.repository().load(request->model_name()), *context);
}

grpc::Status ServiceMethods::RepositoryModelUnload(
    ServerContext* context, const inference::RepositoryModelUnloadRequest* request,
    inference::RepositoryModelUnloadResponse*) {
  grpc::Status status = check(*context);
  if (!status.ok()) return status;
  return grpcStatusOf(service_.repository().unload(request->model_name()), *context);
}

grpc::Status ServiceMethods::SystemSharedMemoryStatus(
    ServerContext* context, const inference::SystemSharedMemoryStatusRequest* request,
    inference::SystemSharedMemoryStatusResponse* response) {
  grpc::Status status = check(*context);
  if (!status.ok()) return status;
  std::vector<RegionInfo> regions;
  status = grpcStatusOf(service_.regions().list(request->name(), regions), *context);
  for (const RegionInfo& region : regions) {
    auto& to = (*response->mutable_regions())[region.name];
    to.set_name(region.name);
    to.set_key(region.key);
    to.set_offset(region.offset);
    to.set_byte_size(region.size);
  }
  return status;
}

grpc::Status ServiceMethods::SystemSharedMemoryRegister(
    ServerContext* context, const inference::SystemSharedMemoryRegisterRequest* request,
    inference::SystemSharedMemoryRegisterResponse*) {
  grpc::Status status = check(*context);
  if (!status.ok()) return status;
  return grpcStatusOf(service_.regions().add({request->name(), request->key(), request->offset(),
                                              request->byte_size()}),
                      *context);
}

grpc::Status ServiceMethods::SystemSharedMemoryUnregister(
    ServerContext* context, const inference::SystemSharedMemoryUnregisterRequest* request,
    inference::SystemSharedMemoryUnregisterResponse*) {
  grpc::Status status = check(*context);
  if (!status.ok()) return status;
  return grpcStatusOf(service_.regions().remove(request->name()), *context);
}

ServiceMethods::Listed::Listed(ServiceMethods& methods, InferStream& stream)
    : methods_(methods), stream_(stream) {
  const std::lock_guard lock(methods_.streamsMutex_);
  if (methods_.streams_.size() >= methods_.guards_.mostStreams) return;
  isListed_ = methods_.streams_.insert(&stream_).second;
  if (methods_.streamsEnd_) stream_.end();
}

ServiceMethods::Listed::~Listed() {
  const std::lock_guard lock(methods_.streamsMutex_);
  methods_.streams_.erase(&stream_);
}

grpc::Status ServiceMethods::ModelStreamInfer(ServerContext* context, InferStream::Peer* peer) {
  grpc::Status status = check(*context);
  if (!status.ok()) return status;
  InferStream stream(service_, clients_, guards_, *context, *peer);
  const Listed listed(*this, stream);
  if (!listed.isListed()) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            fmt::format("there are {} streams already, expected at most {}", guards_.mostStreams,
                        guards_.mostStreams)};
  }
  try {
    stream.run();
  } catch (const std::system_error& error) {  // there is no thread for it
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            fmt::format("the stream cannot begin: {}", error.what())};
  }
  return grpc::Status::OK;
}

void ServiceMethods::endStreams() {
  const std::lock_guard lock(streamsMutex_);
  streamsEnd_ = true;
  for (InferStream* const stream : streams_) stream->end();
}

}  // namespace halyard::serve
