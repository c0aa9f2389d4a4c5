// Measures what the server adds to a direct computation. bench/serve/run measures a server under
// load.
//
//   serve_bench MODEL.tflite DEVICE [SECONDS]
//
// It prints the latency at batch 1: of an execution alone, through the scheduler, and over gRPC and
// HTTP on the loopback. Then it prints the rate of executions of full batches alone.
#include <grpcpp/grpcpp.h>
#include <httplib.h>

#include <cstdio>
#include <cstring>
#include <thread>

#include "base/temporary_folder_for_test.h"
#include "report/statistics.h"
#include "serve/grpc/grpc_server.h"
#include "serve/grpc/inference.grpc.pb.h"
#include "serve/http/http_server.h"
#include "serve/protocol/json_infer.h"
#include "serve/protocol/waiter.h"

namespace halyard::serve {
namespace {

constexpr uint32_t kBatch = 8;

double microseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

// Repeats `work` for some time, and returns its times in microseconds.
std::vector<double> timesOf(double seconds, const std::function<void()>& work,
                            std::chrono::microseconds rest = {}) {
  for (int i = 0; i < 20; ++i) work();
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    if (rest.count() != 0) std::this_thread::sleep_for(rest);
    const auto start = Clock::now();
    work();
    times.push_back(microseconds(Clock::now() - start));
  }
  return times;
}

void print(const char* name, const std::vector<double>& times) {
  const report::Summary summary = report::summaryOf(times);
  std::printf("%-28s p50 %8.1f us   p99 %8.1f us   %zu times\n", name, summary.median, summary.p99,
              summary.count);
  std::fflush(stdout);
}

class Bench {
 public:
  Bench(const std::string& file, const std::string& device, double seconds) : seconds_(seconds) {
    std::filesystem::copy(file, folder_.path() + "/model.tflite");
    settings_.instances.front().devices = {device};
    settings_.maxBatch = kBatch;
  }

  Status run() {
    service_ = std::make_unique<Service>(ModelFolder(folder_.path()),
                                         Repository::Options{settings_, "", false}, false);
    HALYARD_RETURN_IF_ERROR(service_->repository().loadAll());
    const Repository::Found found = service_->repository().find("model", "");
    if (!found.model) return badData("{}", found.outcome.text());
    model_ = found.model;
    GrpcOptions grpcOptions;
    grpcOptions.port = 0;
    grpc_ = std::make_unique<GrpcServer>(*service_, clients_, grpcOptions);
    HALYARD_RETURN_IF_ERROR(grpc_->start());
    HttpOptions httpOptions;
    httpOptions.port = 0;
    http_ = std::make_unique<HttpServer>(*service_, clients_, httpOptions);
    HALYARD_RETURN_IF_ERROR(http_->start());
    HALYARD_RETURN_IF_ERROR(latency());
    HALYARD_RETURN_IF_ERROR(throughput());
    return okStatus();
  }

 private:
  Result<std::unique_ptr<BoundExecution>> direct(uint32_t batch) const {
    CompileSettings compile;
    compile.devices = settings_.instances.front().devices;
    compile.batch = batch;
    HALYARD_ASSIGN_OR_RETURN(auto compiled,
                             CompiledModel::create(folder_.path() + "/model.tflite", compile));
    return BoundExecution::create(std::move(compiled));
  }

  // One element of zeros.
  InferRequest zeros() const {
    InferRequest request;
    request.model = "model";
    for (const TensorInfo& info : model_->inputs()) {
      InputTensor& input = request.inputs.emplace_back();
      input.name = info.name;
      input.datatype = info.datatype;
      input.shape = info.shape;
      if (input.shape[0] == -1) input.shape[0] = 1;
      input.own.resize(*elementCount(input.shape) * datatypeSize(info.datatype));
      input.bytes = input.own;
    }
    return request;
  }

  inference::ModelInferRequest message() const {
    const InferRequest request = zeros();
    inference::ModelInferRequest made;
    made.set_model_name("model");
    for (const InputTensor& input : request.inputs) {
      auto& to = *made.add_inputs();
      to.set_name(input.name);
      to.set_datatype(std::string(datatypeName(input.datatype)));
      for (const int64_t extent : input.shape) to.add_shape(extent);
      made.add_raw_input_contents(input.bytes.data(), input.bytes.size());
    }
    return made;
  }

  std::unique_ptr<inference::GRPCInferenceService::Stub> stub() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    return inference::GRPCInferenceService::NewStub(
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(grpc_->port()),
                                  grpc::InsecureChannelCredentials(), arguments));
  }

  Status latency() {
    HALYARD_ASSIGN_OR_RETURN(const auto execution, direct(1));
    Status status;
    print("direct", timesOf(seconds_, [&] {
            if (status.ok()) status = execution->compute(std::nullopt);
          }));
    HALYARD_RETURN_IF_ERROR(status);
    // A request over the network leaves the driver without work for some time.
    print("direct, after a rest", timesOf(
                                      seconds_,
                                      [&] {
                                        if (status.ok()) status = execution->compute(std::nullopt);
                                      },
                                      std::chrono::microseconds(100)));
    HALYARD_RETURN_IF_ERROR(status);
    const InferRequest request = zeros();
    print("scheduler", timesOf(seconds_, [&] {
            Waiter waiter;
            model_->submit(request, Clock::now(),
                           [&waiter](InferAnswer answer) { waiter.give(std::move(answer)); });
            waiter.wait();
          }));
    const auto client = stub();
    const inference::ModelInferRequest sent = message();
    print("gRPC, another method", timesOf(seconds_, [&] {
            grpc::ClientContext context;
            inference::ServerLiveResponse response;
            client->ServerLive(&context, {}, &response);
          }));
    print("gRPC", timesOf(seconds_, [&] {
            grpc::ClientContext context;
            inference::ModelInferResponse response;
            client->ModelInfer(&context, sent, &response);
          }));
    httplib::Client web("127.0.0.1", http_->port());
    web.set_keep_alive(true);
    web.set_tcp_nodelay(true);
    print("HTTP, document", timesOf(seconds_, [&] { web.Get("/v2/health/live"); }));
    if (request.inputs.size() == 1) {
      const std::span<const uint8_t> bytes = request.inputs[0].bytes;
      const std::string body(bytes.begin(), bytes.end());
      const httplib::Headers raw = {{"Inference-Header-Content-Length", "0"}};
      print("HTTP, binary tensor", timesOf(seconds_, [&] {
              web.Post("/v2/models/model/infer", raw, body, "application/octet-stream");
            }));
    }
    return okStatus();
  }

  Status throughput() {
    const uint32_t batch = std::max(1u, model_->maxBatch());
    HALYARD_ASSIGN_OR_RETURN(const auto execution, direct(model_->maxBatch() == 0 ? 0 : batch));
    Status status;
    const auto times = timesOf(seconds_, [&] {
      if (status.ok()) status = execution->compute(std::nullopt);
    });
    HALYARD_RETURN_IF_ERROR(status);
    std::printf("direct batches of %-10u %.0f inferences a second\n", batch,
                batch * 1e6 / report::meanOf(times));
    return okStatus();
  }

  const double seconds_;
  const TemporaryFolder folder_{"bench"};
  ModelSettings settings_;
  Clients clients_{{}};
  std::unique_ptr<Service> service_;
  std::shared_ptr<ServedModel> model_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace
}  // namespace halyard::serve

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: serve_bench MODEL.tflite DEVICE [SECONDS]\n", stderr);
    return 2;
  }
  halyard::serve::Bench bench(argv[1], argv[2], argc > 3 ? std::stod(argv[3]) : 3);
  const halyard::Status status = bench.run();
  if (!status.ok()) std::fprintf(stderr, "serve_bench: %s\n", status.toString().c_str());
  return status.ok() ? 0 : 1;
}
