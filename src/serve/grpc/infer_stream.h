// InferStream: one ModelStreamInfer, with several requests in flight.
// Thread safety: run() belongs to one thread; end() may come from any thread.
// Ownership: borrows all its arguments; run() returns after the last answer.
//
// It takes two threads, and charges the memory of its requests and answers to a budget. A client
// that does not take its answers is cancelled.
//
// The requests are computed as they come, together where they can be. The answers have the order of
// the requests, as Triton's have for models with one answer to a request.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "serve/access/clients.h"
#include "serve/grpc/bounded_message.h"
#include "serve/grpc/grpc_guards.h"
#include "serve/grpc/inference.grpc.pb.h"
#include "serve/service/service.h"

namespace halyard::serve {

class InferStream {
 public:
  using Peer = grpc::ServerReaderWriter<inference::ModelStreamInferResponse, grpc::ByteBuffer>;
  InferStream(Service& service, Clients& clients, GrpcGuards& guards, grpc::ServerContext& context,
              Peer& peer)
      : service_(service),
        clients_(clients),
        guards_(guards),
        context_(context),
        peer_(peer),
        sending_(guards.sends, context) {}

  // Answers all requests until the client ends the stream. A request that fails does not end it.
  void run();
  // Refuses further requests, and cancels the stream when it has no request in flight.
  void end();

 private:
  // A request, from its arrival until its answer is written.
  struct Slot {
    grpc::ByteBuffer received;
    size_t bytes = 0;  // that are received
    std::string id;    // of the request
    MemoryBudget::Share memory;
    inference::ModelInferRequest message;
    InferRequest request;
    Clients::Ticket ticket;
    inference::ModelStreamInferResponse response;
    bool isAnswered = false;
  };

  bool readOne();
  void start(Slot& slot);
  Outcome prepare(Slot& slot, Clock::time_point arrival);
  void finish(Slot& slot, InferAnswer answer);
  void write();
  void watchClient();

  Service& service_;
  Clients& clients_;
  GrpcGuards& guards_;
  grpc::ServerContext& context_;
  Peer& peer_;
  SendWatch::Entry sending_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Slot>> slots_;  // in the order of the requests
  size_t bytes_ = 0;                         // of their messages
  bool isRead_ = false;                      // no further requests come
  std::atomic<bool> isEnding_ = false;       // since end()
  std::atomic<bool> isGone_ = false;         // the client is
};

}  // namespace halyard::serve
