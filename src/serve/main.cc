// halyard-serve: serves models over the network. `halyard serve` starts it.
#include <halyard/halyard.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdio>
#include <thread>

#include "base/log.h"
#include "base/standard_streams.h"
#include "command_line/help_pages.h"
#include "command_line/shared_options.h"
#include "serve/frigate/zmq_server.h"
#include "serve/grpc/grpc_server.h"
#include "serve/metrics/metrics.h"
#include "serve/page/status_page.h"
#include "serve/server_options.h"

namespace {

using halyard::Status;
namespace serve = halyard::serve;

constexpr int kFailure = 1;
constexpr int kMisuse = 2;

int report(const Status& status, int exitStatus) {
  const std::string line = fmt::format("halyard serve: {}\n", status.toString());
  std::fwrite(line.data(), 1, line.size(), stderr);
  if (exitStatus == kMisuse) std::fputs("Try 'halyard serve --help'.\n", stderr);
  return exitStatus;
}

// Blocks the signals that end the server, in this thread and in those that it starts.
sigset_t blockEnd() {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// Each connection is a descriptor. The default limit is low only because select() supports at most
// 1,024.
void allowDescriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

// Prints the ports and the models.
void announce(const serve::ServerOptions& options, serve::Service& service, int httpPort,
              int grpcPort) {
  fmt::print("http    {}:{}\n", options.http.host, httpPort);
  if (options.grpcPort >= 0) fmt::print("grpc    {}:{}\n", options.http.host, grpcPort);
  for (const auto& model : service.repository().ready()) {
    fmt::print("model   {} version {}, batches up to {}\n", model->name(), model->version(),
               std::max(1u, model->maxBatch()));
  }
  std::fflush(stdout);
}

Status run(const serve::ServerOptions& options, const sigset_t& signals) {
  serve::Clients clients(options.clientLimits);
  if (!options.tokens.empty()) HALYARD_RETURN_IF_ERROR(clients.readTokens(options.tokens));
  const bool mayChange = options.modelControl == "explicit";
  serve::Service service(serve::ModelFolder(options.models),
                         {options.defaults, options.cacheFolder, mayChange}, options.sharedMemory);
  serve::HttpServer http(service, clients, options.http);
  http.addDocument("/", "text/html; charset=utf-8", [&] { return serve::statusPage(service); });
  http.addDocument("/metrics", "text/plain; version=0.0.4; charset=utf-8",
                   [&] { return serve::metricsText(service, options.tritonMetrics); });
  serve::GrpcServer grpc(service, clients, serve::grpcOptionsOf(options));
  serve::ZmqServer frigate(serve::Detector(service, mayChange ? options.models : std::string()),
                           options.frigate, options.http.maxBodyBytes);
  // The ports first, so that health can be asked while models are compiled.
  HALYARD_RETURN_IF_ERROR(http.start());
  if (options.grpcPort >= 0) HALYARD_RETURN_IF_ERROR(grpc.start());
  HALYARD_RETURN_IF_ERROR(service.repository().loadAll());
  if (!options.frigate.empty()) HALYARD_RETURN_IF_ERROR(frigate.start());
  service.setReady(true);
  announce(options, service, http.port(), grpc.port());
  int signal = 0;
  ::sigwait(&signals, &signal);
  service.setReady(false);
  std::this_thread::sleep_for(options.drainDelay);
  frigate.stop();
  http.stop();
  grpc.stop();
  service.stop();
  return halyard::okStatus();
}

}  // namespace

int main(int argc, char** argv) {
  halyard::openStandardStreams();
  CLI::App app("Serve models over the network by the Open Inference Protocol", "halyard serve");
  serve::ServerOptions options;
  serve::addServerOptions(app, options);
  app.set_version_flag("--version", std::string("halyard-serve ") + halyard_version());
  halyard::command_line::addHelpPages(app, halyard_version());
  halyard::command_line::refuseEmptyValues(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      app.exit(error);  // prints help or version
      return 0;
    }
    return report(halyard::badData("{}", halyard::command_line::errorText(error)), kMisuse);
  }
  allowDescriptors();
  const sigset_t signals = blockEnd();
  const Status checked = serve::checkServerOptions(options);
  if (!checked.ok()) {
    return report(checked, checked.code() == halyard::ResultCode::BAD_DATA ? kMisuse : kFailure);
  }
  const Status status = run(options, signals);
  return status.ok() ? 0 : report(status, kFailure);
}
