#include "serve/server_options.h"

#include "command_line/shared_options.h"
#include "measure/device_choice.h"

namespace halyard::serve {
namespace {

constexpr const char* kFooter =
    "DIR has models as NAME.tflite, or as NAME/VERSION/FILE.tflite with NAME/config.json.\n"
    "docs/serve.md describes the settings of a model, the answers and the limits.\n\n"
    "SIGTERM and SIGINT end the server after it has answered all requests.";

void addModelOptions(CLI::App& app, ServerOptions& options) {
  app.add_option("DIR", options.models, "The folder of the models")->required();
  app.add_option_function<std::vector<std::string>>(
         "--device",
         [&options](const std::vector<std::string>& names) {
           options.defaults.instances.front().devices = names;
         },
         "Devices for models without a setting (default: the runtime decides)")
      ->allow_extra_args(false)
      ->option_text("D");
  app.add_option("--instances", options.defaults.instances.front().count,
                 "Executions of a model at once (default 1)")
      ->check(CLI::Range(1, 64))
      ->option_text("N");
  command_line::addAllowFloat16Option(app, options.defaults.allowFloat16);
  app.add_option("--max-batch", options.defaults.maxBatch,
                 "Largest batch of models that can be batched (default 0: no batches)")
      ->check(CLI::Range(0, 1024))
      ->option_text("N");
  app.add_option_function<int64_t>(
         "--queue-delay-us",
         [&options](int64_t delay) {
           options.defaults.queueDelay = std::chrono::microseconds(delay);
         },
         "How long a request waits for others of its batch (default 0)")
      ->check(CLI::Range(0, 10'000'000))
      ->option_text("N");
  app.add_option("--queue", options.defaults.queueLimit,
                 "Waiting requests of a model, more are refused (default 256)")
      ->check(CLI::Range(1, 1'000'000))
      ->option_text("N");
  app.add_option("--model-control", options.modelControl,
                 "none, or explicit: clients may load and unload (default none)")
      ->check(CLI::IsMember({"none", "explicit"}))
      ->option_text("MODE");
  app.add_option("--cache", options.cacheFolder, "Keep compilations in this folder")
      ->option_text("DIR");
}

void addNetworkOptions(CLI::App& app, ServerOptions& options) {
  app.add_option("--host", options.http.host,
                 "Address to listen at (default 127.0.0.1: this machine only)")
      ->option_text("ADDRESS");
  app.add_option("--http-port", options.http.port, "Port of HTTP, 0 for any (default 8000)")
      ->check(CLI::Range(0, 65535))
      ->option_text("N");
  app.add_option("--grpc-port", options.grpcPort,
                 "Port of gRPC, 0 for any, -1 for none (default 8001)")
      ->check(CLI::Range(-1, 65535))
      ->option_text("N");
  app.add_option("--tls-certificate", options.http.tls.certificate, "Certificate chain, PEM")
      ->option_text("FILE");
  app.add_option("--tls-key", options.http.tls.key, "Its private key, PEM")->option_text("FILE");
  app.add_option("--tokens", options.tokens, "File with a line NAME TOKEN for each client")
      ->option_text("FILE");
  app.add_flag("--shared-memory", options.sharedMemory,
               "Local clients may pass tensors in POSIX shared memory");
  app.add_option("--frigate", options.frigate,
                 "Also answer Frigate's ZMQ detector, for example at tcp://127.0.0.1:5555")
      ->option_text("ENDPOINT");
  app.add_flag("--triton-metrics", options.tritonMetrics,
               "Metrics also with Triton's names (nv_inference_...)");
}

void addLimitOptions(CLI::App& app, ServerOptions& options) {
  app.add_option("--max-request-bytes", options.http.maxBodyBytes,
                 "Largest request (default 64 MiB)")
      ->check(CLI::Range(size_t{1} << 10, size_t{INT32_MAX}))
      ->option_text("N");
  app.add_option("--max-json-bytes", options.http.maxJsonBytes,
                 "Largest JSON of a request (default 16 MiB)")
      ->check(CLI::Range(size_t{1} << 10, size_t{1} << 30))
      ->option_text("N");
  app.add_option("--max-connections", options.http.connections.connections,
                 "HTTP connections, and gRPC streams, at once (default 256 each)")
      ->check(CLI::Range(1, 10'000))
      ->option_text("N");
  app.add_option("--client-rate", options.clientLimits.requestsPerSecond,
                 "Requests of a client in a second (default 0: no limit)")
      ->check(CLI::NonNegativeNumber)
      ->option_text("N");
  app.add_option("--client-in-flight", options.clientLimits.inFlight,
                 "Requests of a client at once (default 0: no limit)")
      ->check(command_line::isWholeNumber())
      ->option_text("N");
  app.add_option_function<int64_t>(
         "--drain-delay-ms",
         [&options](int64_t delay) { options.drainDelay = std::chrono::milliseconds(delay); },
         "At the end, not ready but answering for so long (default 0)")
      ->check(CLI::Range(0, 600'000))
      ->option_text("N");
}

}  // namespace

void addServerOptions(CLI::App& app, ServerOptions& options) {
  app.footer(fmt::format("D is {}.\n\n{}", measure::kDeviceRule, kFooter));
  addModelOptions(app, options);
  addNetworkOptions(app, options);
  addLimitOptions(app, options);
}

Status checkServerOptions(ServerOptions& options) {
  const TlsFiles& tls = options.http.tls;
  if (tls.certificate.empty() != tls.key.empty()) {
    return badData("--tls-certificate and --tls-key belong together");
  }
  HALYARD_RETURN_IF_ERROR(measure::devicesOf(options.defaults.instances.front().devices).status(),
                          "--device");
  options.http.maxJsonBytes = std::min(options.http.maxJsonBytes, options.http.maxBodyBytes);
  return okStatus();
}

GrpcOptions grpcOptionsOf(const ServerOptions& options) {
  return {options.http.host,
          options.grpcPort,
          options.http.maxBodyBytes,
          options.http.maxBytesInFlight,
          options.http.connections.connections,
          options.http.tls.certificate,
          options.http.tls.key};
}

}  // namespace halyard::serve
