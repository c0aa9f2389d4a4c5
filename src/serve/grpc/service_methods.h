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
// The address in a peer of gRPC, without its port.
std::string addressOfPeer(const std::string& peer);
std::string addressOf(const grpc::ServerContext& context);

// ModelInfer is asynchronous, see grpc_server.cc. The other methods run in threads of gRPC.
//
// The messages of ModelInfer and of the stream arrive as bytes, so that a client is admitted before
// its message is parsed. Those of the other methods are refused beyond 64 KiB.
class ServiceMethods : public grpc::Service {
 public:
  // The base has a member of the name Service, too.
  ServiceMethods(serve::Service& service, Clients& clients, GrpcGuards& guards);

  // Asks for the next ModelInfer, as a generated service does.
  void requestModelInfer(grpc::ServerContext* context, grpc::ByteBuffer* message,
                         grpc::ServerAsyncResponseWriter<inference::ModelInferResponse>* writer,
                         grpc::ServerCompletionQueue& queue, void* tag) {
    RequestAsyncUnary(inferIndex_, context, message, writer, &queue, &queue, tag);
  }

  grpc::Status ServerLive(grpc::ServerContext* context, const inference::ServerLiveRequest* request,
                          inference::ServerLiveResponse* response);
  grpc::Status ServerReady(grpc::ServerContext* context,
                           const inference::ServerReadyRequest* request,
                           inference::ServerReadyResponse* response);
  grpc::Status ModelReady(grpc::ServerContext* context, const inference::ModelReadyRequest* request,
                          inference::ModelReadyResponse* response);
  grpc::Status ServerMetadata(grpc::ServerContext* context,
                              const inference::ServerMetadataRequest* request,
                              inference::ServerMetadataResponse* response);
  grpc::Status ModelMetadata(grpc::ServerContext* context,
                             const inference::ModelMetadataRequest* request,
                             inference::ModelMetadataResponse* response);
  grpc::Status ModelStreamInfer(grpc::ServerContext* context, InferStream::Peer* peer);
  grpc::Status ModelConfig(grpc::ServerContext* context,
                           const inference::ModelConfigRequest* request,
                           inference::ModelConfigResponse* response);
  grpc::Status ModelStatistics(grpc::ServerContext* context,
                               const inference::ModelStatisticsRequest* request,
                               inference::ModelStatisticsResponse* response);
  grpc::Status RepositoryIndex(grpc::ServerContext* context,
                               const inference::RepositoryIndexRequest* request,
                               inference::RepositoryIndexResponse* response);
  grpc::Status RepositoryModelLoad(grpc::ServerContext* context,
                                   const inference::RepositoryModelLoadRequest* request,
                                   inference::RepositoryModelLoadResponse* response);
  grpc::Status RepositoryModelUnload(grpc::ServerContext* context,
                                     const inference::RepositoryModelUnloadRequest* request,
                                     inference::RepositoryModelUnloadResponse* response);
  grpc::Status SystemSharedMemoryStatus(grpc::ServerContext* context,
                                        const inference::SystemSharedMemoryStatusRequest* request,
                                        inference::SystemSharedMemoryStatusResponse* response);
  grpc::Status SystemSharedMemoryRegister(
      grpc::ServerContext* context, const inference::SystemSharedMemoryRegisterRequest* request,
      inference::SystemSharedMemoryRegisterResponse* response);
  grpc::Status SystemSharedMemoryUnregister(
      grpc::ServerContext* context, const inference::SystemSharedMemoryUnregisterRequest* request,
      inference::SystemSharedMemoryUnregisterResponse* response);

  // Refuses further requests of streams, and ends each stream after those that it has.
  void endStreams();

 private:
  grpc::Status check(grpc::ServerContext& context) const;
  grpc::Status find(grpc::ServerContext& context, const std::string& name,
                    const std::string& version, std::shared_ptr<ServedModel>& model) const;

  template <typename Request, typename Response>
  using Method = grpc::Status (ServiceMethods::*)(grpc::ServerContext*, const Request*, Response*);
  template <typename Request, typename Response>
  void add(const char* path, Method<Request, Response> method);

  // A stream that endStreams() may end, while it runs.
  class Listed {
   public:
    Listed(ServiceMethods& methods, InferStream& stream);
    ~Listed();
    Listed(const Listed&) = delete;
    Listed& operator=(const Listed&) = delete;
    bool isListed() const { return isListed_; }  // false if there are too many

   private:
    ServiceMethods& methods_;
    InferStream& stream_;
    bool isListed_ = false;
  };

  serve::Service& service_;
  Clients& clients_;
  GrpcGuards& guards_;
  int inferIndex_ = 0;
  std::mutex streamsMutex_;
  std::set<InferStream*> streams_;
  bool streamsEnd_ = false;
};

}  // namespace halyard::serve
