// Tests of the gRPC server with gRPC's own client.
#include "serve/grpc/grpc_server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <thread>

#include "base/temporary_folder_for_test.h"
#include "halyard/driver/unique_fd.h"
#include "serve/grpc/inference.grpc.pb.h"
#include "serve/grpc/service_methods.h"
#include "serve/models_for_test.h"

namespace halyard::serve {
namespace {

using grpc::ClientContext;
using ::testing::HasSubstr;

class GrpcServerTest : public ::testing::Test {
 protected:
  GrpcServerTest() { writeFile(folder_.path() + "/add.tflite", additionModel().bytes()); }

  void start(GrpcOptions options = {}, const std::string& tokens = "",
             const ModelSettings& settings = {}) {
    service_ = std::make_unique<Service>(ModelFolder(folder_.path()),
                                         Repository::Options{settings, "", true}, false);
    if (!tokens.empty()) {
      writeText(folder_.path() + "/tokens", tokens);
      ASSERT_TRUE(clients_.readTokens(folder_.path() + "/tokens").ok());
    }
    options.port = 0;
    server_ = std::make_unique<GrpcServer>(*service_, clients_, options);
    ASSERT_TRUE(service_->repository().loadAll().ok());
    ASSERT_TRUE(server_->start().ok());
    service_->setReady(true);
    stub_ = inference::GRPCInferenceService::NewStub(grpc::CreateChannel(
        "127.0.0.1:" + std::to_string(server_->port()), grpc::InsecureChannelCredentials()));
  }

  static inference::ModelInferRequest rawRequest(const std::vector<float>& values) {
    inference::ModelInferRequest request;
    request.set_model_name("add");
    request.set_id("7");
    auto& input = *request.add_inputs();
    input.set_name("x");
    input.set_datatype("FP32");
    input.add_shape(static_cast<int64_t>(values.size() / 3));
    input.add_shape(3);
    const std::vector<uint8_t> bytes = import::bytesOf(values);
    request.add_raw_input_contents(bytes.data(), bytes.size());
    return request;
  }

  grpc::Status infer(const inference::ModelInferRequest& request,
                     inference::ModelInferResponse& response) {
    ClientContext context;
    return stub_->ModelInfer(&context, request, &response);
  }

  std::shared_ptr<ServedModel> model() { return service_->repository().find("add", "").model; }
  // The requests that have left the queue because their clients had gone.
  uint64_t cancelled() {
    return model()->statistics().failures[static_cast<size_t>(Fault::CANCELLED)];
  }

  const TemporaryFolder folder_{"grpc"};
  Clients clients_{{}};
  std::unique_ptr<Service> service_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<inference::GRPCInferenceService::Stub> stub_;
};

std::vector<float> floatsOf(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST_F(GrpcServerTest, InfersRawAndTypedContents) {
  start();
  inference::ModelInferResponse response;
  inference::ModelInferRequest request = rawRequest({1, 2, 3});
  grpc::Status status = infer(request, response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.id(), "7");
  EXPECT_EQ(response.model_version(), "1");
  EXPECT_EQ(response.outputs(0).name(), "y");
  EXPECT_THAT(floatsOf(response.raw_output_contents(0)), ::testing::ElementsAre(11, 22, 33));
  request.clear_raw_input_contents();
  for (const float value : {1.0F, 2.0F, 4.0F}) {
    request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(value);
  }
  response.Clear();
  ASSERT_TRUE(infer(request, response).ok());
  EXPECT_THAT(floatsOf(response.raw_output_contents(0)), ::testing::ElementsAre(11, 22, 34));
}

TEST_F(GrpcServerTest, FaultsHaveACodeAndAReason) {
  start();
  const auto refusal = [&](const std::function<void(inference::ModelInferRequest&)>& change) {
    inference::ModelInferRequest request = rawRequest({1, 2, 3});
    change(request);
    inference::ModelInferResponse response;
    return infer(request, response);
  };
  const auto expect = [](const grpc::Status& status, grpc::StatusCode code, const char* text) {
    EXPECT_EQ(status.error_code(), code);
    EXPECT_THAT(status.error_message(), HasSubstr(text));
  };
  using inference::ModelInferRequest;
  expect(refusal([](ModelInferRequest& r) { r.set_model_name("none"); }),
         grpc::StatusCode::NOT_FOUND, "there is no model 'none'");
  expect(refusal([](ModelInferRequest& r) { r.mutable_inputs(0)->set_datatype("F"); }),
         grpc::StatusCode::INVALID_ARGUMENT, "model 'add': input 'x': the datatype 'F' is unknown");
  expect(refusal([](ModelInferRequest& r) { r.mutable_inputs(0)->set_shape(0, -1); }),
         grpc::StatusCode::INVALID_ARGUMENT, "the shape is [-1,3], expected [1,3]");
  expect(refusal([](ModelInferRequest& r) { r.add_raw_input_contents("more"); }),
         grpc::StatusCode::INVALID_ARGUMENT, "2 raw_input_contents, but 1 inputs");
  expect(refusal([](ModelInferRequest& r) { r.add_inputs()->set_datatype("FP32"); }),
         grpc::StatusCode::INVALID_ARGUMENT, "there are only 1 raw_input_contents");
  expect(refusal([](ModelInferRequest& r) { r.mutable_inputs(0)->mutable_contents(); }),
         grpc::StatusCode::INVALID_ARGUMENT, "both 'contents' and 'raw_input_contents'");
  expect(refusal([](ModelInferRequest& r) { (*r.mutable_parameters())["timeout"]; }),
         grpc::StatusCode::INVALID_ARGUMENT, "the parameter 'timeout' has no value");
}

TEST_F(GrpcServerTest, TheOtherMethods) {
  start();
  ClientContext contexts[7];
  inference::ServerLiveResponse live;
  EXPECT_TRUE(stub_->ServerLive(&contexts[0], {}, &live).ok());
  EXPECT_TRUE(live.live());
  inference::ServerReadyResponse ready;
  EXPECT_TRUE(stub_->ServerReady(&contexts[1], {}, &ready).ok());
  EXPECT_TRUE(ready.ready());
  inference::ModelMetadataRequest metadataRequest;
  metadataRequest.set_name("add");
  inference::ModelMetadataResponse metadata;
  EXPECT_TRUE(stub_->ModelMetadata(&contexts[2], metadataRequest, &metadata).ok());
  EXPECT_EQ(metadata.inputs(0).datatype(), "FP32");
  EXPECT_EQ(metadata.versions(0), "1");
  inference::RepositoryIndexResponse index;
  EXPECT_TRUE(stub_->RepositoryIndex(&contexts[3], {}, &index).ok());
  EXPECT_EQ(index.models(0).state(), "READY");
  inference::RepositoryModelUnloadRequest unload;
  unload.set_model_name("add");
  inference::RepositoryModelUnloadResponse unloaded;
  EXPECT_TRUE(stub_->RepositoryModelUnload(&contexts[4], unload, &unloaded).ok());
  inference::ModelReadyRequest readyRequest;
  readyRequest.set_name("add");
  inference::ModelReadyResponse modelReady;
  EXPECT_TRUE(stub_->ModelReady(&contexts[5], readyRequest, &modelReady).ok());
  EXPECT_FALSE(modelReady.ready());
  inference::ModelInferResponse response;
  EXPECT_EQ(infer(rawRequest({1, 2, 3}), response).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(GrpcServerTest, AStreamAnswersInOrder) {
  start();
  ClientContext context;
  const auto stream = stub_->ModelStreamInfer(&context);
  for (int i = 0; i < 3; ++i) {
    inference::ModelInferRequest request = rawRequest({float(i), 0, 0});
    if (i == 1) request.set_model_name("none");
    ASSERT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  inference::ModelStreamInferResponse response;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(stream->Read(&response));
    if (i == 1) {
      EXPECT_THAT(response.error_message(), HasSubstr("there is no model"));
    } else {
      EXPECT_EQ(floatsOf(response.infer_response().raw_output_contents(0))[0], 10 + float(i));
    }
  }
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
}

// Two requests make a batch, and one alone waits for an hour.
ModelSettings pairs() {
  ModelSettings settings;
  settings.maxBatch = 2;
  settings.queueDelay = std::chrono::hours(1);
  return settings;
}

TEST_F(GrpcServerTest, AStreamHasSeveralRequestsInFlight) {
  start({}, "", pairs());
  ClientContext context;
  const auto stream = stub_->ModelStreamInfer(&context);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(stream->Write(rawRequest({float(i), 0, 0})));
  inference::ModelStreamInferResponse response;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(floatsOf(response.infer_response().raw_output_contents(0))[0], 10 + float(i));
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(model()->statistics().executions, 2u);
}

TEST_F(GrpcServerTest, AnOpenStreamDoesNotKeepTheServerFromItsEnd) {
  start();
  ClientContext context;
  const auto stream = stub_->ModelStreamInfer(&context);
  ASSERT_TRUE(stream->Write(rawRequest({1, 0, 0})));
  inference::ModelStreamInferResponse response;
  ASSERT_TRUE(stream->Read(&response));
  server_->stop();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_FALSE(stream->Finish().ok());
}

TEST_F(GrpcServerTest, ACancelledRequestLeavesTheQueue) {
  start({}, "", pairs());
  // The server may learn of a cancellation after the next request. Then both are computed, and the
  // test tries again.
  while (cancelled() == 0) {
    ClientContext context;
    inference::ModelInferResponse none;
    std::thread canceller([&] {
      while (model()->load().queued == 0) std::this_thread::yield();
      context.TryCancel();
    });
    EXPECT_EQ(stub_->ModelInfer(&context, rawRequest({1, 2, 3}), &none).error_code(),
              grpc::StatusCode::CANCELLED);
    canceller.join();
    inference::ModelInferResponse response;
    ASSERT_TRUE(infer(rawRequest({4, 5, 6}), response).ok());
    EXPECT_EQ(floatsOf(response.raw_output_contents(0))[0], 14);
  }
}

TEST_F(GrpcServerTest, ACancelledStreamLeavesTheQueue) {
  start({}, "", pairs());
  while (cancelled() == 0) {
    ClientContext context;
    const auto stream = stub_->ModelStreamInfer(&context);
    ASSERT_TRUE(stream->Write(rawRequest({1, 0, 0})));
    while (model()->load().queued == 0) std::this_thread::yield();
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
    inference::ModelInferResponse response;
    ASSERT_TRUE(infer(rawRequest({4, 5, 6}), response).ok());
    EXPECT_EQ(floatsOf(response.raw_output_contents(0))[0], 14);
  }
}

TEST_F(GrpcServerTest, TheDeadlineOfGrpcCounts) {
  start({}, "", pairs());
  ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  inference::ModelInferResponse response;
  // The wait for a batch, of an hour, ends before the deadline.
  const grpc::Status status = stub_->ModelInfer(&context, rawRequest({1, 2, 3}), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(GrpcServerTest, TokensAreNeeded) {
  start({}, "alice 0123456789abcdef\n");
  inference::ModelInferResponse response;
  EXPECT_EQ(infer(rawRequest({1, 2, 3}), response).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  ClientContext context;
  context.AddMetadata("authorization", "Bearer 0123456789abcdef");
  EXPECT_TRUE(stub_->ModelInfer(&context, rawRequest({1, 2, 3}), &response).ok());
}

TEST_F(GrpcServerTest, LargeMessagesAreRefused) {
  GrpcOptions options;
  options.maxMessageBytes = 10'000;
  start(options);
  inference::ModelInferResponse response;
  EXPECT_EQ(infer(rawRequest(std::vector<float>(30'000)), response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// Whether a stream of this context answers a request.
bool answersOne(grpc::ClientReaderWriterInterface<inference::ModelInferRequest,
                                                  inference::ModelStreamInferResponse>& stream,
                const inference::ModelInferRequest& request) {
  inference::ModelStreamInferResponse response;
  return stream.Write(request) && stream.Read(&response);
}

TEST_F(GrpcServerTest, AStreamNeedsATokenBeforeItBegins) {
  start({}, "alice 0123456789abcdef\n");
  ClientContext context;
  const auto stream = stub_->ModelStreamInfer(&context);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  ClientContext known;
  known.AddMetadata("authorization", "Bearer 0123456789abcdef");
  EXPECT_TRUE(answersOne(*stub_->ModelStreamInfer(&known), rawRequest({1, 2, 3})));
}

TEST_F(GrpcServerTest, StreamsAreLimited) {
  GrpcOptions options;
  options.maxStreams = 1;
  start(options);
  ClientContext first;
  const auto open = stub_->ModelStreamInfer(&first);
  ASSERT_TRUE(answersOne(*open, rawRequest({1, 2, 3})));
  ClientContext second;
  const grpc::Status refused = stub_->ModelStreamInfer(&second)->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(), "there are 1 streams already, expected at most 1");
  open->WritesDone();
  EXPECT_TRUE(open->Finish().ok());
  ClientContext third;
  EXPECT_TRUE(answersOne(*stub_->ModelStreamInfer(&third), rawRequest({1, 2, 3})));
}

TEST_F(GrpcServerTest, AStreamThatTakesNoAnswersIsCancelled) {
  GrpcOptions options;
  options.maxStreams = 1;
  options.sendTime = std::chrono::milliseconds(200);
  start(options);
  grpc::ChannelArguments smallWindow;
  smallWindow.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  const auto idler = inference::GRPCInferenceService::NewStub(
      grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(server_->port()),
                                grpc::InsecureChannelCredentials(), smallWindow));
  ClientContext context;
  const auto stream = idler->ModelStreamInfer(&context);
  inference::ModelInferRequest request = rawRequest({1, 2, 3});
  request.set_id(std::string(200'000, 'i'));  // and so long are the answers
  for (int i = 0; i < 4; ++i) stream->Write(request);
  // The place of the stream becomes free, although its client never reads.
  for (bool isFree = false; !isFree;) {
    ClientContext other;
    isFree = answersOne(*stub_->ModelStreamInfer(&other), rawRequest({1, 2, 3}));
  }
}

TEST_F(GrpcServerTest, MemoryIsChargedBeforeAMessageIsParsed) {
  GrpcOptions options;
  options.maxBytesInFlight = 4 << 20;
  start(options);
  inference::ModelInferResponse response;
  inference::ModelInferRequest outputs = rawRequest({1, 2, 3});
  for (int i = 0; i < 100'000; ++i) outputs.add_outputs();
  EXPECT_THAT(infer(outputs, response).error_message(),
              HasSubstr("100000 outputs and 1 raw_input_contents, expected at most 1024 of each"));
  inference::ModelInferRequest texts = rawRequest({1, 2, 3});
  for (int i = 0; i < 100'000; ++i)
    texts.mutable_inputs(0)->mutable_contents()->add_bytes_contents();
  const grpc::Status refused = infer(texts, response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("bytes of memory, expected at most 4194304"));
  ClientContext context;
  const auto stream = stub_->ModelStreamInfer(&context);
  outputs.set_id("seven");
  ASSERT_TRUE(stream->Write(outputs));
  inference::ModelStreamInferResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_THAT(answer.error_message(), HasSubstr("expected at most 1024 of each"));
  EXPECT_EQ(answer.infer_response().id(), "seven");
  // Each of these takes a quarter of the budget, and gives it back.
  inference::ModelInferRequest large = rawRequest({1, 2, 3});
  large.set_id(std::string(20'000, 'i'));
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(infer(large, response).ok());
    ASSERT_TRUE(answersOne(*stream, large));
  }
}

TEST_F(GrpcServerTest, RequestsWithoutTensorsAreSmall) {
  start();
  ClientContext context;
  inference::RepositoryModelLoadRequest request;
  request.set_model_name(std::string(70'000, 'n'));
  inference::RepositoryModelLoadResponse response;
  const grpc::Status refused = stub_->RepositoryModelLoad(&context, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(), "the request has 70004 bytes, expected at most 65536");
}

// Lets the process have few descriptors, and opens connections until there are no more.
class FewDescriptors {
 public:
  FewDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit few = before_;
    few.rlim_cur = 256;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

  static std::vector<UniqueFd> connectionsTo(int port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::vector<UniqueFd> connections;
    while (true) {
      UniqueFd next(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (next.get() < 0) return connections;
      const auto* const to = reinterpret_cast<const sockaddr*>(&address);
      if (::connect(next.get(), to, sizeof(address)) == 0) connections.push_back(std::move(next));
    }
  }

 private:
  rlimit before_ = {};
};

TEST_F(GrpcServerTest, ItServesAgainAfterAWantOfDescriptors) {
  const FewDescriptors few;
  start();
  {
    const std::vector<UniqueFd> connections = FewDescriptors::connectionsTo(server_->port());
    EXPECT_GT(connections.size(), 64u);
    // The listener finds no descriptor for the last connections.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  inference::ModelInferResponse response;
  const grpc::Status status = stub_->ModelInfer(&context, rawRequest({1, 2, 3}), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST(GrpcPeer, TheAddressHasTheFormOfHttp) {
  EXPECT_EQ(addressOfPeer("ipv4:127.0.0.1:1234"), "127.0.0.1");
  EXPECT_EQ(addressOfPeer("ipv6:%5B::1%5D:1234"), "::1");
  EXPECT_EQ(addressOfPeer("ipv6:[fe80::1]:1234"), "fe80::1");
}

TEST_F(GrpcServerTest, AnEndLosesNoRequest) {
  start();
  std::atomic<int> answered = 0;
  std::atomic<int> lost = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (bool more = true; more;) {
        inference::ModelInferResponse response;
        const grpc::Status status = infer(rawRequest({1, 2, 3}), response);
        more = status.ok();
        if (status.ok()) {
          ++answered;
        } else if (status.error_code() != grpc::StatusCode::UNAVAILABLE) {
          ++lost;
          ADD_FAILURE() << status.error_code() << " " << status.error_message();
        }
      }
    });
  }
  while (answered < 100) std::this_thread::yield();
  server_->stop();
  service_->stop();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lost, 0);
}

}  // namespace
}  // namespace halyard::serve
