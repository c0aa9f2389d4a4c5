// ServiceMethods: the methods of the gRPC service that compute nothing, and the stream.
// Thread safety: gRPC calls them in its own threads.
// Ownership: borrows the service and the clients.
#pragma once

#include <grpcpp/grpcpp.h>

#include <mutex>
#include <set>

#include "serve/access/clients.h"
#include "serve/grpc/infer_stream.h"
#include "serve/grpc/inference.grpc.pb.h"
#include "serve/service/service.h"

namespace halyard::serve {

// The gRPC status of an outcome. A failure that a repetition may cure gets the time of the
// repetition into the trailing metadata, which gRPC's own retries use.
grpc::Status grpcStatusOf(const Outcome& outcome, grpc::ServerContext& context);
// A value of the client's metadata; empty without it.
std::string metadataOf(const grpc::ServerContext& context, const char* name);
inline std::string authorizationOf(const grpc::ServerContext& context) {
  return metadataOf(context, "authorization");
}
// The client's address without its port.
std::string addressOf(const grpc::ServerContext& context);

// ModelInfer is asynchronous, see grpc_server.cc. The other methods run in threads of gRPC.
class ServiceMethods : public inference::GRPCInferenceService::WithAsyncMethod_ModelInfer<
                           inference::GRPCInferenceService::Service> {
 public:
  // The base has a class of the name Service, too.
  ServiceMethods(serve::Service& service, Clients& clients)
      : service_(service), clients_(clients) {}

  grpc::Status ServerLive(grpc::ServerContext* context, const inference::ServerLiveRequest* request,
                          inference::ServerLiveResponse* response) override;
  grpc::Status ServerReady(grpc::ServerContext* context,
                           const inference::ServerReadyRequest* request,
                           inference::ServerReadyResponse* response) override;
  grpc::Status ModelReady(grpc::ServerContext* context, const inference::ModelReadyRequest* request,
                          inference::ModelReadyResponse* response) override;
  grpc::Status ServerMetadata(grpc::ServerContext* context,
                              const inference::ServerMetadataRequest* request,
                              inference::ServerMetadataResponse* response) override;
  grpc::Status ModelMetadata(grpc::ServerContext* context,
                             const inference::ModelMetadataRequest* request,
                             inference::ModelMetadataResponse* response) override;
  grpc::Status ModelStreamInfer(grpc::ServerContext* context, InferStream::Peer* peer) override;
  grpc::Status ModelConfig(grpc::ServerContext* context,
                           const inference::ModelConfigRequest* request,
                           inference::ModelConfigResponse* response) override;
  grpc::Status ModelStatistics(grpc::ServerContext* context,
                               const inference::ModelStatisticsRequest* request,
                               inference::ModelStatisticsResponse* response) override;
  grpc::Status RepositoryIndex(grpc::ServerContext* context,
                               const inference::RepositoryIndexRequest* request,
                               inference::RepositoryIndexResponse* response) override;
  grpc::Status RepositoryModelLoad(grpc::ServerContext* context,
                                   const inference::RepositoryModelLoadRequest* request,
                                   inference::RepositoryModelLoadResponse* response) override;
  grpc::Status RepositoryModelUnload(grpc::ServerContext* context,
                                     const inference::RepositoryModelUnloadRequest* request,
                                     inference::RepositoryModelUnloadResponse* response) override;
  grpc::Status SystemSharedMemoryStatus(
      grpc::ServerContext* context, const inference::SystemSharedMemoryStatusRequest* request,
      inference::SystemSharedMemoryStatusResponse* response) override;
  grpc::Status SystemSharedMemoryRegister(
      grpc::ServerContext* context, const inference::SystemSharedMemoryRegisterRequest* request,
      inference::SystemSharedMemoryRegisterResponse* response) override;
  grpc::Status SystemSharedMemoryUnregister(
      grpc::ServerContext* context, const inference::SystemSharedMemoryUnregisterRequest* request,
      inference::SystemSharedMemoryUnregisterResponse* response) override;

  // Refuses further requests of streams, and ends each stream after those that it has.
  void endStreams();

 private:
  grpc::Status check(grpc::ServerContext& context) const;
  grpc::Status find(grpc::ServerContext& context, const std::string& name,
                    const std::string& version, std::shared_ptr<ServedModel>& model) const;

  serve::Service& service_;
  Clients& clients_;
  std::mutex streamsMutex_;
  std::set<InferStream*> streams_;
  bool streamsEnd_ = false;
};

}  // namespace halyard::serve
