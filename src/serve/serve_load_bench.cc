// Loads a server of the Open Inference Protocol over gRPC. Prints counts and latencies as JSON.
//
//   serve_load_bench HOST:PORT MODEL [options]
//
// Closed loop (--clients N): N requests are in flight all the time. Open loop (--rate R): R
// requests a second come at random times, whether earlier ones are answered or not. A latency of
// the open loop begins at the time at which the request should have been sent.
//
// With --expect FILE, each answer is compared with that of an execution of FILE in this process.
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "report/statistics.h"
#include "serve/grpc/inference.grpc.pb.h"
#include "serve/protocol/datatype.h"
#include "serve/scheduling/compiled_model.h"

namespace halyard::serve {
namespace {

struct Options {
  std::string server;
  std::string model;
  size_t clients = 1;
  double rate = 0;  // 0: closed loop
  double seconds = 3;
  uint64_t requests = 0;  // 0: as many as fit into the time
  size_t pictures = 16;
  int connections = 1;
  int64_t timeout = 0;  // in milliseconds; 0: none
  std::string expect;
  std::string device = "cpu";
};

struct Counts {
  uint64_t answers = 0;
  uint64_t refusals = 0;  // UNAVAILABLE
  uint64_t late = 0;      // DEADLINE_EXCEEDED
  uint64_t failures = 0;  // any other status
  uint64_t wrong = 0;     // answers that differ from the expected ones
  std::string firstFailure;
  std::vector<double> latencies;  // of answers, in microseconds
};

// Whether floats agree within a thousandth of the largest one.
bool agree(const std::string& found, const std::string& expected) {
  if (found.size() != expected.size()) return false;
  float largest = 0;
  float difference = 0;
  for (size_t at = 0; at + sizeof(float) <= found.size(); at += sizeof(float)) {
    float x = 0;
    float y = 0;
    std::memcpy(&x, found.data() + at, sizeof(x));
    std::memcpy(&y, expected.data() + at, sizeof(y));
    largest = std::max({largest, std::abs(x), std::abs(y)});
    difference = std::max(difference, std::abs(x - y));
    if (std::isnan(x) != std::isnan(y)) return false;
  }
  return difference <= 1e-3F * largest;
}

class Load {
 public:
  explicit Load(Options options) : options_(std::move(options)) {}

  Status prepare() {
    for (int i = 0; i < options_.connections; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
      arguments.SetMaxReceiveMessageSize(-1);
      stubs_.push_back(inference::GRPCInferenceService::NewStub(grpc::CreateCustomChannel(
          options_.server, grpc::InsecureChannelCredentials(), arguments)));
    }
    inference::ModelMetadataRequest request;
    request.set_name(options_.model);
    grpc::ClientContext context;
    const grpc::Status status = stubs_[0]->ModelMetadata(&context, request, &metadata_);
    if (!status.ok()) return badData("{}: {}", options_.server, status.error_message());
    HALYARD_RETURN_IF_ERROR(makeMessages());
    return options_.expect.empty() ? okStatus() : computeExpected();
  }

  Counts run() {
    start_ = Clock::now();
    const auto end =
        start_ + std::chrono::nanoseconds(static_cast<int64_t>(options_.seconds * 1e9));
    std::exponential_distribution<double> gaps(options_.rate);
    Clock::time_point next = start_;
    const bool isOpen = options_.rate > 0;
    for (size_t i = 0; !isOpen && i < options_.clients; ++i) send(Clock::now());
    while (true) {
      const Clock::time_point now = Clock::now();
      const bool isOver = options_.requests != 0 ? sent_ >= options_.requests : now >= end;
      if (isOver && inFlight_ == 0) break;
      while (isOpen && !isOver && next <= now) {
        send(next);
        next += std::chrono::nanoseconds(static_cast<int64_t>(1e9 * gaps(random_)));
      }
      const bool isAnswered = receive(isOpen && !isOver ? next : Clock::time_point::max());
      if (isAnswered && !isOpen && !isOver) send(Clock::now());
    }
    seconds_ = std::chrono::duration<double>(Clock::now() - start_).count();
    return counts_;
  }

  double seconds() const { return seconds_; }

 private:
  struct Call {
    grpc::ClientContext context;
    inference::ModelInferResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<inference::ModelInferResponse>> reader;
    size_t picture = 0;
    Clock::time_point begin;
  };

  // Random inputs. Picture k has values up to a limit of its own, so that the answers differ.
  Status makeMessages() {
    for (size_t k = 0; k < options_.pictures; ++k) {
      inference::ModelInferRequest& message = messages_.emplace_back();
      message.set_model_name(options_.model);
      for (const auto& input : metadata_.inputs()) {
        const std::optional<Datatype> datatype = datatypeNamed(input.datatype());
        if (!datatype || datatypeSize(*datatype) == 0) {
          return badData("input '{}' is {}", input.name(), input.datatype());
        }
        auto& to = *message.add_inputs();
        to.set_name(input.name());
        to.set_datatype(input.datatype());
        size_t count = 1;
        for (const int64_t extent : input.shape()) {
          const int64_t chosen = extent == -1 ? 1 : extent;
          to.add_shape(chosen);
          count *= static_cast<size_t>(chosen);
        }
        *message.add_raw_input_contents() = randomBytes(*datatype, count, k);
      }
    }
    return okStatus();
  }

  std::string randomBytes(Datatype datatype, size_t count, size_t k) {
    std::string bytes(count * datatypeSize(datatype), '\0');
    // Blocks of equal values, so that a model sees more than noise.
    std::uniform_real_distribution<float> values(0, 1);
    float value = 0;
    for (size_t i = 0; i < count; ++i) {
      if (i % (k + 1) == 0) value = values(random_);
      if (datatype == Datatype::FP32) {
        std::memcpy(bytes.data() + i * sizeof(value), &value, sizeof(value));
      } else if (datatypeSize(datatype) == 1) {
        bytes[i] = static_cast<char>(static_cast<int>(value * 255));
      }
    }
    return bytes;
  }

  Status computeExpected() {
    CompileSettings settings;
    settings.devices = {options_.device};
    HALYARD_ASSIGN_OR_RETURN(auto compiled, CompiledModel::create(options_.expect, settings));
    const size_t outputs = compiled->imported().outputs.size();
    HALYARD_ASSIGN_OR_RETURN(const auto execution, BoundExecution::create(std::move(compiled)));
    for (const inference::ModelInferRequest& message : messages_) {
      for (int i = 0; i < message.raw_input_contents_size(); ++i) {
        const std::string& bytes = message.raw_input_contents(i);
        const std::span<uint8_t> to = execution->input(static_cast<size_t>(i));
        if (bytes.size() != to.size()) return badData("the model of {} differs", options_.server);
        std::memcpy(to.data(), bytes.data(), bytes.size());
      }
      HALYARD_RETURN_IF_ERROR(execution->compute(std::nullopt));
      std::vector<std::string>& expected = expected_.emplace_back();
      for (size_t i = 0; i < outputs; ++i) {
        HALYARD_ASSIGN_OR_RETURN(const auto output, execution->output(i));
        expected.emplace_back(output.bytes.begin(), output.bytes.end());
      }
    }
    for (size_t k = 1; k < expected_.size(); ++k) {
      if (matches(expected_[k], expected_[k - 1])) {
        return badData("the pictures {} and {} have the same answer", k - 1, k);
      }
    }
    return okStatus();
  }

  bool matches(const std::vector<std::string>& found,
               const std::vector<std::string>& expected) const {
    if (found.size() != expected.size()) return false;
    for (size_t i = 0; i < found.size(); ++i) {
      const bool isFloat = metadata_.outputs(static_cast<int>(i)).datatype() == "FP32";
      if (isFloat ? !agree(found[i], expected[i]) : found[i] != expected[i]) return false;
    }
    return true;
  }

  void send(Clock::time_point begin) {
    auto* const call = new Call;
    call->picture = sent_ % messages_.size();
    call->begin = begin;
    if (options_.timeout != 0) {
      call->context.set_deadline(std::chrono::system_clock::now() +
                                 std::chrono::milliseconds(options_.timeout));
    }
    call->reader = stubs_[sent_ % stubs_.size()]->AsyncModelInfer(
        &call->context, messages_[call->picture], &queue_);
    call->reader->Finish(&call->response, &call->status, call);
    ++sent_;
    ++inFlight_;
  }

  // Waits for an answer until `end`. Returns whether there was one.
  bool receive(Clock::time_point end) {
    void* tag = nullptr;
    bool ok = false;
    if (end == Clock::time_point::max()) {
      queue_.Next(&tag, &ok);
    } else {
      const auto deadline =
          std::chrono::system_clock::now() +
          std::chrono::duration_cast<std::chrono::system_clock::duration>(end - Clock::now());
      if (queue_.AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) return false;
    }
    const std::unique_ptr<Call> call(static_cast<Call*>(tag));
    --inFlight_;
    count(*call);
    return true;
  }

  void count(const Call& call) {
    switch (call.status.error_code()) {
      case grpc::StatusCode::OK:
        ++counts_.answers;
        counts_.latencies.push_back(
            std::chrono::duration<double, std::micro>(Clock::now() - call.begin).count());
        if (!expected_.empty()) {
          const auto& raw = call.response.raw_output_contents();
          const std::vector<std::string> found(raw.begin(), raw.end());
          if (!matches(found, expected_[call.picture])) ++counts_.wrong;
        }
        return;
      case grpc::StatusCode::UNAVAILABLE:
        ++counts_.refusals;
        return;
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        ++counts_.late;
        return;
      default:
        if (counts_.failures++ == 0) counts_.firstFailure = call.status.error_message();
    }
  }

  const Options options_;
  std::vector<std::unique_ptr<inference::GRPCInferenceService::Stub>> stubs_;
  grpc::CompletionQueue queue_;
  inference::ModelMetadataResponse metadata_;
  std::vector<inference::ModelInferRequest> messages_;
  std::vector<std::vector<std::string>> expected_;  // by picture, then by output
  std::mt19937_64 random_{1};
  uint64_t sent_ = 0;
  uint64_t inFlight_ = 0;
  Clock::time_point start_;
  double seconds_ = 0;
  Counts counts_;
};

void addOptions(CLI::App& app, Options& options) {
  app.add_option("SERVER", options.server, "HOST:PORT of gRPC")->required();
  app.add_option("MODEL", options.model, "Name of the model")->required();
  app.add_option("--clients", options.clients, "Requests in flight (default 1)");
  app.add_option("--rate", options.rate, "Requests a second at random times");
  app.add_option("--seconds", options.seconds, "Time of the load (default 3)");
  app.add_option("--requests", options.requests, "Number of requests, in place of a time");
  app.add_option("--pictures", options.pictures, "Different inputs (default 16)");
  app.add_option("--connections", options.connections, "Connections (default 1)");
  app.add_option("--timeout-ms", options.timeout, "Deadline of each request");
  app.add_option("--expect", options.expect, "Compare answers with those of this file");
  app.add_option("--device", options.device, "Device of --expect (default cpu)");
}

void print(const Counts& counts, double seconds) {
  const report::Summary summary = report::summaryOf(counts.latencies);
  nlohmann::ordered_json line = {{"seconds", seconds},
                                 {"answers", counts.answers},
                                 {"rate", static_cast<double>(counts.answers) / seconds},
                                 {"refusals", counts.refusals},
                                 {"late", counts.late},
                                 {"failures", counts.failures},
                                 {"wrong", counts.wrong},
                                 {"p50_us", summary.median},
                                 {"p99_us", summary.p99},
                                 {"most_us", summary.most}};
  if (counts.failures != 0) line["first_failure"] = counts.firstFailure;
  std::printf("%s\n", line.dump().c_str());
}

}  // namespace
}  // namespace halyard::serve

int main(int argc, char** argv) {
  CLI::App app("Load a server of the Open Inference Protocol over gRPC", "serve_load_bench");
  halyard::serve::Options options;
  halyard::serve::addOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  halyard::serve::Load load(options);
  const halyard::Status status = load.prepare();
  if (!status.ok()) {
    std::fprintf(stderr, "serve_load_bench: %s\n", status.toString().c_str());
    return 1;
  }
  const halyard::serve::Counts counts = load.run();
  halyard::serve::print(counts, load.seconds());
  return 0;
}
