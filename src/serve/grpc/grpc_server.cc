#include "serve/grpc/grpc_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "serve/grpc/bounded_message.h"
#include "serve/grpc/connection_acceptor.h"
#include "serve/grpc/grpc_guards.h"
#include "serve/grpc/messages.h"
#include "serve/grpc/service_methods.h"
#include "serve/protocol/trace_context.h"

namespace halyard::serve {
namespace {

// A thread that receives a request may compute it. So there are more of them than processors, and
// one of them always receives.
constexpr size_t kThreads = 8;
constexpr int kRequestsAhead = 16;            // that wait for the next clients
constexpr int kMostCalls = 1024;              // of one connection
constexpr int kThreadsOfOthers = 64;          // of gRPC, for the methods that are no stream
constexpr std::chrono::minutes kPatience{5};  // for requests in flight at the end

// A client that is silent for so long must answer a ping, or its connection ends.
constexpr std::chrono::milliseconds kTimeOfSilence{60'000};
constexpr std::chrono::milliseconds kTimeOfAnswer{20'000};

// gRPC cancels requests that come during its shutdown. So before it, requests are refused with
// UNAVAILABLE, until no request has come for some time.
constexpr std::chrono::milliseconds kQuietTime{50};
constexpr std::chrono::seconds kMostRefusing{2};
class Gate {
 public:
  // Whether the request may pass.
  bool pass() {
    lastArrival_ = Clock::now().time_since_epoch().count();
    return !isClosed_;
  }
  void closeAndWait() {
    isClosed_ = true;
    const auto end = Clock::now() + kMostRefusing;
    while (Clock::now() < end) {
      const Clock::time_point last{Clock::duration(lastArrival_)};
      if (Clock::now() - last > kQuietTime) return;
      std::this_thread::sleep_for(kQuietTime / 4);
    }
  }

  // The completion queue takes no operations after its shutdown. So each call is between begin()
  // and end() from its arrival until its answer is on the way, and the shutdown waits for all.

  // False if the queue ends. A call that gRPC has cancelled may still be computing then.
  bool begin() {
    const std::lock_guard lock(mutex_);
    if (queueEnds_) return false;
    ++answering_;
    return true;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (--answering_ == 0) allAnswered_.notify_all();
  }
  void endQueue() {
    std::unique_lock lock(mutex_);
    queueEnds_ = true;
    allAnswered_.wait(lock, [this] { return answering_ == 0; });
  }

  std::atomic<size_t> computing = 0;  // threads

 private:
  std::mutex mutex_;
  std::condition_variable allAnswered_;
  size_t answering_ = 0;  // calls
  bool queueEnds_ = false;
  std::atomic<bool> isClosed_ = false;
  std::atomic<Clock::rep> lastArrival_ = 0;
};

// Counts the threads that compute, so that at least two of them receive requests.
class Computing {
 public:
  explicit Computing(std::atomic<size_t>& count)
      : count_(count), mayCompute_(count++ < kThreads - 2) {}
  ~Computing() { --count_; }
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;
  bool mayCompute() const { return mayCompute_; }

 private:
  std::atomic<size_t>& count_;
  const bool mayCompute_;
};

// The deadline of gRPC on the clock of the server; nullopt without a deadline.
std::optional<Clock::time_point> deadlineOf(const grpc::ServerContext& context) {
  const auto deadline = context.deadline();
  const auto now = std::chrono::system_clock::now();
  if (deadline - now > std::chrono::hours(24)) return std::nullopt;
  return Clock::now() + (deadline - now);
}

// An event of the completion queue. `ok` is false if the operation has failed.
class Event {
 public:
  virtual ~Event() = default;
  virtual void proceed(bool ok) = 0;
};

// One ModelInfer, from its arrival until its answer is sent. It deletes itself after the last one
// of its events: its answer is sent, and gRPC has finished or cancelled it.
class InferCall : public Event {
 public:
  InferCall(ServiceMethods& methods, Service& service, Clients& clients, GrpcGuards& guards,
            Gate& gate, grpc::ServerCompletionQueue& queue)
      : methods_(methods),
        service_(service),
        clients_(clients),
        guards_(guards),
        gate_(gate),
        queue_(queue),
        writer_(&context_),
        sending_(guards.sends, context_) {
    context_.AsyncNotifyWhenDone(static_cast<Event*>(&done_));
    methods_.requestModelInfer(&context_, &received_, &writer_, queue_, tag());
  }

  // The arrival, or the end of the answer.
  void proceed(bool ok) override {
    if (isAnswered_) {
      leave();
      return;
    }
    if (!ok) {  // it has not begun, and has no further event
      delete this;
      return;
    }
    if (!gate_.begin()) {
      leave();
      return;
    }
    new InferCall(methods_, service_, clients_, guards_, gate_, queue_);
    start();
  }

 private:
  class Done : public Event {
   public:
    explicit Done(InferCall& call) : call_(call) {}
    void proceed(bool) override {
      call_.isCancelled_ = call_.context_.IsCancelled();
      call_.leave();
    }

   private:
    InferCall& call_;
  };

  void* tag() { return static_cast<Event*>(this); }

  void leave() {
    if (--events_ == 0) delete this;
  }

  // Fills the request from the bytes that are received.
  Outcome prepare(Clock::time_point arrival) {
    if (!gate_.pass()) return {Fault::UNAVAILABLE, "the server shuts down"};
    Outcome outcome = clients_.admit(authorizationOf(context_), addressOf(context_), ticket_);
    if (!outcome.ok()) return outcome;
    Result<MessageFacts> facts = factsOf(received_);
    if (!facts.ok()) return Outcome::of(facts.status());
    outcome = parseWithin(guards_.memory, *facts, received_, memory_, message_);
    if (!outcome.ok()) return outcome;
    Result<InferRequest> request = requestOf(message_, arrival);
    if (!request.ok()) {
      Status status = request.takeStatus();
      return Outcome::of(status.annotate(fmt::format("model '{}'", message_.model_name())));
    }
    request_ = std::move(*request);
    if (const auto deadline = deadlineOf(context_)) {
      request_.deadline = std::min(request_.deadline.value_or(*deadline), *deadline);
    }
    request_.trace = traceOf(metadataOf(context_, "traceparent"));
    request_.isAbandoned = [this] { return isCancelled_.load(); };
    return {};
  }

  void start() {
    const Clock::time_point arrival = Clock::now();
    isAnswered_ = true;  // so the next event ends the call
    Outcome outcome;
    try {
      outcome = prepare(arrival);
      if (outcome.ok()) {
        // The answer may end this call before infer() returns.
        const Computing computing(gate_.computing);
        request_.mayComputeHere = computing.mayCompute();
        service_.infer(request_, arrival,
                       [this](InferAnswer answer) { finish(std::move(answer)); });
        return;
      }
    } catch (const std::exception& error) {
      outcome = exhaustionOf(error);
    }
    fail(outcome);
  }

  // Another thread may delete this call as soon as its answer is on the way.
  void fail(const Outcome& outcome) {
    Gate& gate = gate_;
    ticket_.reset();
    received_.Clear();
    writer_.FinishWithError(grpcStatusOf(outcome, context_), tag());
    gate.end();
  }

  void finish(InferAnswer answer) {
    ticket_.reset();
    Outcome outcome = answer.outcome;
    try {
      if (outcome.ok()) fillResponse(request_, std::move(answer), response_);
    } catch (const std::exception& error) {
      outcome = exhaustionOf(error);
    }
    if (!outcome.ok()) {
      fail(outcome);
      return;
    }
    const size_t bytes = response_.ByteSizeLong();
    guards_.memory.add(bytes, memory_);
    sending_.begin(bytes);
    Gate& gate = gate_;
    writer_.Finish(response_, grpc::Status::OK, tag());
    gate.end();
  }

  ServiceMethods& methods_;
  Service& service_;
  Clients& clients_;
  GrpcGuards& guards_;
  Gate& gate_;
  grpc::ServerCompletionQueue& queue_;
  grpc::ServerContext context_;
  grpc::ByteBuffer received_;
  MemoryBudget::Share memory_;
  inference::ModelInferRequest message_;
  inference::ModelInferResponse response_;
  grpc::ServerAsyncResponseWriter<inference::ModelInferResponse> writer_;
  SendWatch::Entry sending_;
  InferRequest request_;
  Clients::Ticket ticket_;
  Done done_{*this};
  std::atomic<int> events_ = 2;  // still to come
  std::atomic<bool> isCancelled_ = false;
  bool isAnswered_ = false;
};

Result<std::string> contentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return makeStatus(ResultCode::OP_FAILED, "{} cannot be read", path);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

}  // namespace

class GrpcServer::Implementation {
 public:
  Implementation(Service& service, Clients& clients, GrpcOptions options)
      : service_(service),
        clients_(clients),
        options_(std::move(options)),
        guards_(options_.maxBytesInFlight, options_.maxStreams, options_.sendTime),
        methods_(service, clients, guards_) {}

  Status start() {
    HALYARD_ASSIGN_OR_RETURN(const auto credentials, credentialsOf(options_));
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    HALYARD_RETURN_IF_ERROR(acceptor_.listen(options_.host, options_.port));
    auto receiver = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                               static_cast<int>(options_.idleTime.count()));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kTimeOfSilence.count());
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kTimeOfAnswer.count());
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostCalls);
    builder.SetMaxReceiveMessageSize(static_cast<int>(options_.maxMessageBytes));
    builder.SetMaxSendMessageSize(-1);
    builder.SetResourceQuota(
        grpc::ResourceQuota("halyard-serve")
            .Resize(options_.maxBytesInFlight)
            .SetMaxThreads(static_cast<int>(options_.maxStreams) + kThreadsOfOthers));
    builder.RegisterService(&methods_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    if (!server_) return makeStatus(ResultCode::OP_FAILED, "gRPC cannot start");
    for (int i = 0; i < kRequestsAhead; ++i) {
      new InferCall(methods_, service_, clients_, guards_, gate_, *queue_);
    }
    for (size_t i = 0; i < kThreads; ++i) threads_.emplace_back([this] { work(); });
    acceptor_.start(std::move(receiver));
    return okStatus();
  }

  int port() const { return acceptor_.port(); }

  void stop() {
    if (!server_) return;
    if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(false);
    gate_.closeAndWait();
    acceptor_.stop();
    methods_.endStreams();
    server_->Shutdown(std::chrono::system_clock::now() + kPatience);
    gate_.endQueue();
    queue_->Shutdown();
    for (std::thread& thread : threads_) thread.join();
    server_.reset();
  }

 private:
  static Result<std::shared_ptr<grpc::ServerCredentials>> credentialsOf(
      const GrpcOptions& options) {
    if (options.certificate.empty()) return grpc::InsecureServerCredentials();
    grpc::SslServerCredentialsOptions tls;
    grpc::SslServerCredentialsOptions::PemKeyCertPair pair;
    HALYARD_ASSIGN_OR_RETURN(pair.cert_chain, contentOf(options.certificate));
    HALYARD_ASSIGN_OR_RETURN(pair.private_key, contentOf(options.key));
    tls.pem_key_cert_pairs.push_back(std::move(pair));
    return grpc::SslServerCredentials(tls);
  }

  void work() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) static_cast<Event*>(tag)->proceed(ok);
  }

  Service& service_;
  Clients& clients_;
  const GrpcOptions options_;
  GrpcGuards guards_;
  ServiceMethods methods_;
  Gate gate_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::thread> threads_;
  ConnectionAcceptor acceptor_;
};

GrpcServer::GrpcServer(Service& service, Clients& clients, GrpcOptions options)
    : implementation_(std::make_unique<Implementation>(service, clients, std::move(options))) {}

GrpcServer::~GrpcServer() { stop(); }

Status GrpcServer::start() { return implementation_->start(); }
int GrpcServer::port() const { return implementation_->port(); }
void GrpcServer::stop() { implementation_->stop(); }

}  // namespace halyard::serve
