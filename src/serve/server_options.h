// The command line of halyard-serve.
// Thread safety: one thread. Ownership: options own their data.
#pragma once

#include <CLI/CLI.hpp>

#include <chrono>
#include <string>

#include "halyard/driver/status.h"
#include "serve/grpc/grpc_server.h"
#include "serve/http/http_server.h"
#include "serve/repository/repository.h"

namespace halyard::serve {

struct ServerOptions {
  std::string models;  // the folder
  HttpOptions http;
  int grpcPort = 8001;  // 0: any; -1: none
  bool tritonMetrics = false;
  bool sharedMemory = false;
  std::string modelControl = "none";  // or explicit
  std::string tokens;                 // a file
  ClientLimits clientLimits;
  std::string cacheFolder;
  ModelSettings defaults;
  std::chrono::milliseconds drainDelay{0};
  std::string frigate;  // an endpoint of ZMQ
};

// Adds the options to `app`. `options` outlives it.
void addServerOptions(CLI::App& app, ServerOptions& options);
// The rules that concern several options, and the names of devices. BAD_DATA names the options.
// Other errors are those of the runtime.
Status checkServerOptions(ServerOptions& options);
// The same host, limits and TLS for gRPC.
GrpcOptions grpcOptionsOf(const ServerOptions& options);

}  // namespace halyard::serve
