// HttpServer: the protocol over HTTP, with JSON and binary tensors.
// Thread safety: start once; port, drain and stop from any thread.
// Ownership: owns its threads. The service and the clients outlive it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "serve/access/clients.h"
#include "serve/http/connection_server.h"
#include "serve/service/service.h"

namespace halyard::serve {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8000;                             // 0: any
  size_t maxBodyBytes = size_t{64} << 20;      // of one request, after decompression
  size_t maxJsonBytes = size_t{16} << 20;      // of its JSON, whose parts take more memory
  size_t maxDocumentBytes = size_t{64} << 10;  // of the body of a request that is no inference
  size_t maxBytesInFlight = size_t{1} << 30;   // of all requests, and of their parsed JSON
  ConnectionLimits connections;
  TlsFiles tls;
};

// A document that the server makes for each request, such as the page or the metrics.
using DocumentMaker = std::function<std::string()>;

class HttpServer {
 public:
  HttpServer(Service& service, Clients& clients, HttpOptions options);
  ~HttpServer();

  // Documents at paths outside of the protocol. Before start().
  void addDocument(const std::string& path, const std::string& contentType, DocumentMaker make);

  // Listens from now on. OP_FAILED if the port cannot be used, BAD_DATA for the files of TLS.
  Status start();
  int port() const { return port_; }
  // Accepts no further connections, and ends the others after the requests that they have. Returns
  // when all are ended.
  void stop();

 private:
  struct Document {
    std::string path;
    std::string contentType;
    DocumentMaker make;
  };
  class BodyBudget;

  bool answerWithoutBody(const httplib::Request& request, httplib::Response& response);
  void answerPost(const httplib::Request& request, httplib::Response& response,
                  const httplib::ContentReader& reader);
  bool admits(const httplib::Request& request, httplib::Response& response, Clients::Ticket& ticket,
              bool isInference);
  bool readBody(const httplib::Request& request, httplib::Response& response,
                const httplib::ContentReader& reader, size_t most, BodyBudget& budget,
                std::string& body) const;
  struct InferenceCall {
    std::string model;
    std::string version;
    std::optional<size_t> jsonLength;  // as in parseJsonInfer
    std::string trace;                 // as in InferRequest
    Clock::time_point arrival;
  };
  bool takeJson(std::string_view json, httplib::Response& response, BodyBudget& budget) const;
  Result<InferRequest> parse(const InferenceCall& call, const std::string& body) const;
  void infer(const InferenceCall& call, httplib::Response& response, const std::string& body);

  Service& service_;
  Clients& clients_;
  const HttpOptions options_;
  std::vector<Document> documents_;
  ConnectionServer server_;
  std::atomic<uint64_t> bytesInFlight_ = 0;
  int port_ = 0;
  std::thread thread_;
  std::atomic<bool> hasEnded_ = false;  // the thread listens no more
};

}  // namespace halyard::serve
