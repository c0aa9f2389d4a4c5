// Tests of the HTTP server with real connections, among them hostile ones.
#include "serve/http/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/temporary_folder_for_test.h"
#include "serve/http/certificate_for_test.h"
#include "serve/models_for_test.h"

namespace halyard::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kInfer = "/v2/models/add/infer";
constexpr const char* kBody =
    R"({"id":"7","inputs":[{"name":"x","shape":[1,3],"datatype":"FP32","data":[1,2,3]}]})";

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() { writeFile(folder_.path() + "/add.tflite", additionModel().bytes()); }

  void start(HttpOptions options = {}, ClientLimits limits = {}, const std::string& tokens = "") {
    service_ = std::make_unique<Service>(ModelFolder(folder_.path()),
                                         Repository::Options{{}, "", true}, /*sharedMemory=*/true);
    clients_ = std::make_unique<Clients>(limits);
    if (!tokens.empty()) {
      writeText(folder_.path() + "/tokens", tokens);
      ASSERT_TRUE(clients_->readTokens(folder_.path() + "/tokens").ok());
    }
    options.port = 0;
    server_ = std::make_unique<HttpServer>(*service_, *clients_, options);
    server_->addDocument("/page", "text/html", [] { return std::string("<p>page"); });
    server_->addDocument("/large", "text/html", [] { return std::string(32 << 20, 'a'); });
    ASSERT_TRUE(service_->repository().loadAll().ok());
    ASSERT_TRUE(server_->start().ok());
    service_->setReady(true);
    client_ = std::make_unique<httplib::Client>("127.0.0.1", server_->port());
    client_->set_keep_alive(true);
  }

  // A new connection. A `buffer` of bytes makes a client that takes few at a time.
  int connectSocket(int buffer = 0) const {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (buffer != 0) ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const timeval patience = {20, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return socket;
  }

  static void sendAll(int socket, const std::string& bytes) {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t count = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) break;
      sent += static_cast<size_t>(count);
    }
  }

  // Sends bytes as they are, and returns all that comes back.
  std::string exchange(const std::string& bytes) const { return receiveAll(sendAndClose(bytes)); }

  // The same, but the client goes on waiting, as one that would send more.
  std::string exchangeOpen(const std::string& bytes) const {
    const int socket = connectSocket();
    sendAll(socket, bytes);
    return receiveAll(socket);
  }

  // Sends bytes, and closes this direction of the connection.
  int sendAndClose(const std::string& bytes) const {
    const int socket = connectSocket();
    sendAll(socket, bytes);
    ::shutdown(socket, SHUT_WR);
    return socket;
  }

  static std::string receiveAll(int socket) {
    std::string answer;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::recv(socket, buffer, sizeof(buffer), 0)) > 0;) {
      answer.append(buffer, static_cast<size_t>(got));
    }
    ::close(socket);
    return answer;
  }

  const TemporaryFolder folder_{"http"};
  std::unique_ptr<Service> service_;
  std::unique_ptr<Clients> clients_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(HttpServerTest, TheDocumentsOfTheProtocol) {
  start();
  const std::pair<const char*, const char*> documents[] = {
      {"/v2", R"("name":"halyard")"},
      {"/v2/health/live", R"("live":true)"},
      {"/v2/health/ready", R"("ready":true)"},
      {"/v2/models/add", R"("inputs":[{"name":"x","datatype":"FP32","shape":[1,3]}])"},
      {"/v2/models/add/versions/1", R"("versions":["1"])"},
      {"/v2/models/add/ready", R"({"name":"add","ready":true})"},
      {"/v2/models/add/versions/1/ready", R"("ready":true)"},
      {"/v2/models/add/config", R"("max_batch_size":0)"},
      {"/v2/models/add/stats", R"("inference_count":0)"},
      {"/v2/models/stats", R"("model_stats":[{"name":"add")"},
      {"/v2/systemsharedmemory/status", "[]"},
      {"/page", "<p>page"},
  };
  for (const auto& [path, expected] : documents) {
    const auto result = client_->Get(path);
    ASSERT_TRUE(result) << path;
    EXPECT_EQ(result->status, 200) << path;
    EXPECT_THAT(result->body, HasSubstr(expected)) << path;
  }
}

TEST_F(HttpServerTest, ARequestLeavesTheQueueWhenItsConnectionCloses) {
  // Two requests make a batch, and one alone waits for ten seconds.
  writeText(folder_.path() + "/add.json", R"({"max_batch_size":2,"max_queue_delay_us":10000000})");
  start();
  const auto model = service_->repository().find("add", "").model;
  const int socket =
      sendAndClose(std::string("POST ") + kInfer + " HTTP/1.1\r\nHost: h\r\nContent-Length: " +
                   std::to_string(std::strlen(kBody)) + "\r\n\r\n" + kBody);
  while (model->load().queued == 0) std::this_thread::yield();
  const auto result = client_->Post(kInfer, kBody, "application/json");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200) << result->body;
  EXPECT_THAT(receiveAll(socket), HasSubstr("the client has gone"));
  EXPECT_EQ(model->statistics().inferences, 1u);
}

TEST_F(HttpServerTest, Infers) {
  start();
  for (int i = 0; i < 20; ++i) {
    const auto result = client_->Post(kInfer, kBody, "application/json");
    ASSERT_TRUE(result);
    EXPECT_EQ(result->status, 200) << result->body;
    EXPECT_THAT(result->body, HasSubstr(R"("id":"7")"));
    EXPECT_THAT(result->body, HasSubstr(R"("data":[11,22,33])"));
  }
}

TEST_F(HttpServerTest, ARawTensorIsARequest) {
  start();
  const std::vector<uint8_t> bytes = import::bytesOf<float>({1, 2, 3});
  const auto result =
      client_->Post(kInfer, {{"Inference-Header-Content-Length", "0"}},
                    std::string(bytes.begin(), bytes.end()), "application/octet-stream");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200) << result->body;
  const size_t length = std::stoul(result->get_header_value("Inference-Header-Content-Length"));
  EXPECT_EQ(result->body.size(), length + 12);
}

struct Refused {
  const char* method;
  const char* path;
  const char* body;
  int status;
  const char* text;
};

TEST_F(HttpServerTest, FaultsHaveACodeAndAReason) {
  start();
  const Refused cases[] = {
      {"GET", "/none", "", 404, "there is nothing at /none"},
      {"GET", "/v2/models/none", "", 404, "there is no model 'none'"},
      {"GET", "/v2/models/none/ready", "", 400, "there is no model 'none'"},
      {"GET", "/v2/models/add/versions/2", "", 404, "has no version '2'"},
      {"GET", kInfer, "", 405, "infer needs the method POST"},
      {"PUT", kInfer, "{}", 405, "the method PUT is not allowed"},
      {"POST", "/v2/models/add", "{}", 405, "needs the method GET"},
      {"POST", "/v2/nothing", "{}", 404, "there is nothing at"},
      {"POST", "/v2/models/none/infer", R"({"inputs":[]})", 404, "there is no model 'none'"},
      {"POST", kInfer, "{", 400, "model 'add': the body is no JSON"},
      {"POST", kInfer, R"({"inputs":[]})", 400, "input 'x' is missing"},
      {"POST", "/v2/repository/models/none/load", "", 400, "has no model 'none'"},
      {"POST", "/v2/repository/models/none/unload", "", 404, "there is no model 'none'"},
      {"POST", "/v2/repository/index", "3", 400, "a JSON number, expected an object"},
      {"POST", "/v2/systemsharedmemory/region/r/register", "{}", 400, "'key' is missing"},
  };
  for (const Refused& each : cases) {
    httplib::Request request;
    request.method = each.method;
    request.path = each.path;
    request.body = each.body;
    if (request.method != "GET") request.set_header("Content-Type", "application/json");
    const auto result = client_->send(request);
    ASSERT_TRUE(result) << each.path;
    EXPECT_EQ(result->status, each.status) << each.method << " " << each.path;
    EXPECT_THAT(result->body, StartsWith(R"({"error":")")) << each.path;
    EXPECT_THAT(result->body, HasSubstr(each.text)) << each.path;
  }
}

TEST_F(HttpServerTest, ModelsAreLoadedAndUnloaded) {
  start();
  EXPECT_EQ(client_->Post("/v2/repository/models/add/unload", "", "application/json")->status, 200);
  const auto gone = client_->Post(kInfer, kBody, "application/json");
  EXPECT_EQ(gone->status, 503);
  EXPECT_EQ(gone->get_header_value("Retry-After"), "1");
  EXPECT_THAT(client_->Post("/v2/repository/index", "", "application/json")->body,
              HasSubstr(R"("state":"UNAVAILABLE","reason":"unloaded")"));
  EXPECT_EQ(client_->Post("/v2/repository/models/add/load", "{}", "application/json")->status, 200);
  EXPECT_EQ(client_->Post(kInfer, kBody, "application/json")->status, 200);
}

TEST_F(HttpServerTest, BodiesAreLimited) {
  HttpOptions options;
  options.maxBodyBytes = 10'000;
  options.maxJsonBytes = 1'000;
  start(options);
  const std::string large(20'000, ' ');
  EXPECT_EQ(client_->Post(kInfer, large, "application/json")->status, 413);
  const auto largeJson = client_->Post(kInfer, std::string(5'000, ' '), "application/json");
  EXPECT_EQ(largeJson->status, 413);
  EXPECT_THAT(largeJson->body, HasSubstr("the JSON has 5000 bytes, at most 1000 are taken"));
  EXPECT_EQ(client_->Post(kInfer, kBody, "application/json")->status, 200);
  // The same with chunks, whose sum no header tells.
  std::string chunks = "POST /v2/models/add/infer HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 20; ++i) chunks += "400\r\n" + std::string(0x400, 'a') + "\r\n";
  const std::string chunked = exchange(chunks + "0\r\n\r\n");
  EXPECT_THAT(chunked, StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(chunked, HasSubstr("the body has more than 10000 bytes"));
  // The same after decompression.
  client_->set_compress(true);
  const auto compressed = client_->Post(kInfer, large, "application/json");
  EXPECT_EQ(compressed->status, 413);
  EXPECT_THAT(compressed->body, HasSubstr("the body has more than 10000 bytes"));
}

TEST_F(HttpServerTest, BodiesOfDocumentsAreLimited) {
  start();
  for (const char* path : {"/v2/repository/index", "/v2/repository/models/add/load",
                           "/v2/systemsharedmemory/region/r/register", "/v2/nothing"}) {
    const auto large = client_->Post(path, std::string(70'000, ' '), "application/json");
    EXPECT_EQ(large->status, 413) << path;
    EXPECT_THAT(large->body, HasSubstr("the body has more than 65536 bytes")) << path;
  }
  const auto deep =
      client_->Post("/v2/repository/index", std::string(60'000, '['), "application/json");
  EXPECT_EQ(deep->status, 400);
  EXPECT_THAT(deep->body, HasSubstr("nested deeper than 32"));
}

TEST_F(HttpServerTest, JsonCountsWithTheMemoryOfItsParts) {
  HttpOptions options;
  options.maxBytesInFlight = 1 << 20;
  start(options);
  std::string parts = R"({"inputs":[[])";
  for (int i = 0; i < 20'000; ++i) parts += ",[]";
  EXPECT_EQ(client_->Post(kInfer, parts + "]}", "application/json")->status, 429);
  EXPECT_EQ(client_->Post("/v2/repository/index", parts + "]}", "application/json")->status, 429);
  // As many bytes of numbers take less.
  const std::string spaces(60'000, ' ');
  EXPECT_EQ(client_->Post(kInfer, kBody + spaces, "application/json")->status, 200);
}

TEST_F(HttpServerTest, FaultyHeadersOfBodiesAreExplained) {
  start();
  for (const char* length : {"3", "200000000", "18446744073709551615"}) {
    const auto result = client_->Post(kInfer, {{"Inference-Header-Content-Length", length}}, "{}",
                                      "application/octet-stream");
    EXPECT_EQ(result->status, 400) << length;
    EXPECT_THAT(result->body, HasSubstr("but the body has 2 bytes")) << length;
  }
  const auto form = client_->Post(kInfer, httplib::MultipartFormDataItems{{"a", "b", "", ""}});
  EXPECT_EQ(form->status, 400);
  EXPECT_THAT(form->body, HasSubstr("the body is multipart/form-data, expected JSON"));
}

TEST_F(HttpServerTest, RangesAreIgnored) {
  start();
  const std::string whole = client_->Get("/v2")->body;
  std::string many = "bytes=0-";
  for (int i = 0; i < 500; ++i) many += ",0-";
  for (const std::string& range : {std::string("bytes=0-10"), std::string("bytes=900-901"), many}) {
    const auto result = client_->Get("/v2", {{"Range", range}});
    EXPECT_EQ(result->status, 200) << range;
    EXPECT_EQ(result->body, whole) << range;
  }
  // The library refuses these itself.
  for (const char* range : {"bytes=x", "bytes=0-,0-,0-,0-,5-2"}) {
    const auto result = client_->Get("/v2", {{"Range", range}});
    EXPECT_EQ(result->status, 416) << range;
    EXPECT_EQ(result->body, R"({"error":"the header Range is no list of ranges of bytes"})");
  }
}

// The body of a request must not become the next request, since a proxy would not see that one.
TEST_F(HttpServerTest, BodiesAreNoRequests) {
  start();
  const std::string inner = "GET /v2/models/smuggled HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string length = "Content-Length: " + std::to_string(inner.size()) + "\r\n";
  const std::pair<std::string, const char*> cases[] = {
      {"POST /v2 HTTP/1.1\r\nRange: bytes=x\r\n" + length, "416"},
      {"POST /" + std::string(9'000, 'a') + " HTTP/1.1\r\n" + length, "414"},
      {"POST /v2 HTTP/1.1\r\nContent-Length: 0\r\n" + length, "400"},
      {"POST /v2 HTTP/1.1\r\nContent-Length : " + std::to_string(inner.size()) + "\r\n", "400"},
      {"POST /v2 HTTP/1.1\r\nContent-Length: " + std::to_string(inner.size()) + "\n", "400"},
      {"POST /v2 HTTP/1.1\r\nContent-Length:\r\n", "400"},
      {"POST /v2 HTTP/1.1\r\nA: " + std::string(9'000, 'a') + "\r\n" + length, "400"},
  };
  for (const auto& [header, status] : cases) {
    const std::string answer = exchange(header + "\r\n" + inner);
    EXPECT_THAT(answer, StartsWith(std::string("HTTP/1.1 ") + status)) << header;
    EXPECT_THAT(answer, HasSubstr("Connection: close")) << header;
    EXPECT_THAT(answer, HasSubstr(R"({"error":")")) << header;
    EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos) << answer;
  }
}

// The server must not keep on reading lines without an end.
TEST_F(HttpServerTest, EndlessLinesEndTheConnection) {
  start();
  const std::string line(200'000, '1');
  std::string fields;
  while (fields.size() < 200'000) fields += "a:b\r\n";
  const std::string chunked =
      std::string("POST ") + kInfer + " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(exchangeOpen(line), "");
  EXPECT_THAT(exchangeOpen("GET /v2 HTTP/1.1\r\n\n\n" + fields),
              HasSubstr("line 2 of the header ends with LF, expected CR LF"));
  EXPECT_THAT(exchangeOpen("GET /v2 HTTP/1.1\r\n" + fields),
              HasSubstr("the header has more than 65536 bytes"));
  EXPECT_THAT(exchangeOpen("GET /v2 HTTP/1.1\r\nA: " + line),
              HasSubstr("the header has more than 65536 bytes"));
  EXPECT_THAT(exchangeOpen(chunked + line), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(exchangeOpen(chunked + "1\r\n{" + line), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(exchangeOpen(chunked + "0\r\n" + line), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(exchangeOpen(std::string("POST ") + kInfer +
                           " HTTP/1.1\r\nContent-Length: 18446744073709551616\r\n\r\n{}"),
              HasSubstr("expected a number below 2^64"));
}

TEST_F(HttpServerTest, SmallChunksAreABody) {
  start();
  std::string chunks =
      std::string("POST ") + kInfer + " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char byte : kBody + std::string(30'000, ' ')) {
    chunks += "1\r\n";
    chunks += byte;
    chunks += "\r\n";
  }
  EXPECT_THAT(exchangeOpen(chunks + "0\r\n\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, HostileBytesEndTheConnection) {
  start();
  EXPECT_THAT(exchange("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(exchange("GET /v2 HTTP/1.1"), StartsWith("HTTP/1.1 400")) << "no end of the line";
  EXPECT_EQ(exchange(std::string(1'000'000, 'a')), "") << "a line without an end";
  EXPECT_THAT(exchange("POST /v2/models/add/infer HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"),
              HasSubstr("413"));
  // The body of a refused request is no request.
  const std::string inner = "GET /v2 HTTP/1.1\r\n\r\n";
  const std::string refused = exchange(
      "PUT /v2 HTTP/1.1\r\nContent-Length: " + std::to_string(inner.size()) + "\r\n\r\n" + inner);
  EXPECT_THAT(refused, HasSubstr("405"));
  EXPECT_THAT(refused, ::testing::Not(HasSubstr("extensions")));
  EXPECT_EQ(client_->Post(kInfer, kBody, "application/json")->status, 200);
}

TEST_F(HttpServerTest, TokensAndRates) {
  start({}, {0.001, 0}, "alice 0123456789abcdef\n");
  EXPECT_EQ(client_->Get("/v2/health/live")->status, 200);
  const auto refused = client_->Get("/v2");
  EXPECT_EQ(refused->status, 401);
  EXPECT_EQ(refused->get_header_value("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(client_->Post(kInfer, kBody, "application/json")->status, 401);
  client_->set_default_headers({{"Authorization", "Bearer 0123456789abcdef"}});
  EXPECT_EQ(client_->Get("/v2")->status, 200);
  EXPECT_EQ(client_->Post(kInfer, kBody, "application/json")->status, 200);
  const auto late = client_->Post(kInfer, kBody, "application/json");
  EXPECT_EQ(late->status, 429);
  EXPECT_NE(late->get_header_value("Retry-After"), "");
}

TEST_F(HttpServerTest, Tls) {
  HttpOptions options;
  options.tls = {folder_.path() + "/certificate.pem", folder_.path() + "/key.pem"};
  ASSERT_TRUE(writeCertificate(options.tls.certificate, options.tls.key));
  start(options);
  httplib::SSLClient client("127.0.0.1", server_->port());
  client.enable_server_certificate_verification(false);
  client.set_keep_alive(true);
  for (int i = 0; i < 5; ++i) {
    const auto result = client.Post(kInfer, kBody, "application/json");
    ASSERT_TRUE(result);
    EXPECT_EQ(result->status, 200) << result->body;
  }
  EXPECT_FALSE(client_->Get("/v2")) << "a plain request at the port of TLS";
  EXPECT_EQ(exchange(std::string(1000, 'x')).find("HTTP"), std::string::npos);
}

// A client that sends a byte now and then does not keep its connection.
TEST_F(HttpServerTest, SlowHandshakesEnd) {
  HttpOptions options;
  options.tls = {folder_.path() + "/certificate.pem", folder_.path() + "/key.pem"};
  options.connections.request.readTime = std::chrono::milliseconds(200);
  ASSERT_TRUE(writeCertificate(options.tls.certificate, options.tls.key));
  start(options);
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(server_->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  // The beginning of a record of 512 bytes, of which most never come.
  const std::string record("\x16\x03\x01\x02\x00\x01", 6);
  ASSERT_EQ(::send(client.get(), record.data(), record.size(), MSG_NOSIGNAL), 6);
  bool isOpen = true;
  for (int i = 0; i < 400 && isOpen; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    char byte = 0;
    const ssize_t got = ::recv(client.get(), &byte, 1, MSG_DONTWAIT);
    isOpen = got > 0 || (got < 0 && errno == EAGAIN);
    if (isOpen) ::send(client.get(), "\x01", 1, MSG_NOSIGNAL);
  }
  EXPECT_FALSE(isOpen);
}

TEST_F(HttpServerTest, FaultyFilesOfTlsAreExplained) {
  HttpOptions options;
  options.port = 0;
  options.tls = {"/none.pem", "/none.pem"};
  Service service(ModelFolder(folder_.path()), {}, false);
  Clients clients({});
  EXPECT_THAT(HttpServer(service, clients, options).start().message(),
              HasSubstr("the certificate /none.pem cannot be used"));
}

TEST_F(HttpServerTest, APortHasOneServer) {
  start();
  HttpOptions options;
  options.port = server_->port();
  HttpServer second(*service_, *clients_, options);
  const Status status = second.start();
  EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(status.message(), HasSubstr(fmt::format("127.0.0.1:{}", server_->port())));
}

TEST_F(HttpServerTest, ConnectionsAreLimited) {
  // Two requests make a batch, and one alone waits for some seconds.
  writeText(folder_.path() + "/add.json", R"({"max_batch_size":2,"max_queue_delay_us":4000000})");
  HttpOptions options;
  options.connections.connections = 1;
  start(options);
  const auto model = service_->repository().find("add", "").model;
  const int socket = connectSocket();
  sendAll(socket, std::string("POST ") + kInfer + " HTTP/1.1\r\nHost: h\r\nContent-Length: " +
                      std::to_string(std::strlen(kBody)) + "\r\n\r\n" + kBody);
  while (model->load().queued == 0) std::this_thread::yield();
  EXPECT_THAT(exchangeOpen("GET /v2 HTTP/1.1\r\n\r\n"),
              ::testing::AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Content-Length: 38\r\n"),
                               ::testing::EndsWith(R"({"error":"there are too many clients"})")));
  char byte = 0;
  EXPECT_EQ(::recv(socket, &byte, 1, 0), 1) << "the request keeps its connection";
  // Now it is idle, so it makes place.
  EXPECT_EQ(client_->Get("/v2")->status, 200);
  EXPECT_THAT(receiveAll(socket), HasSubstr(R"("data":[11,22,33])"));
}

// One client must not take all connections, at any step of its requests.
TEST_F(HttpServerTest, WaitingConnectionsMakePlace) {
  HttpOptions options;
  options.connections.connections = 4;
  start(options);
  std::vector<int> sockets;
  for (const char* begin : {"", "G", "GET /v2 HTTP/1.1\r\nA: b\r\n",
                            "POST /v2/models/add/infer HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"}) {
    sockets.push_back(connectSocket());
    sendAll(sockets.back(), begin);
  }
  const auto statusOfNew = [&] {
    const auto result = httplib::Client("127.0.0.1", server_->port()).Get("/v2/health/live");
    return result ? result->status : 0;
  };
  // Connections that the server has not looked at yet make no place.
  for (int i = 0; i < 100 && statusOfNew() != 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  for (int i = 0; i < 8; ++i) EXPECT_EQ(statusOfNew(), 200);
  for (const int socket : sockets) ::close(socket);
}

TEST_F(HttpServerTest, WithoutThreadsConnectionsAreRefused) {
  start();
  pthread_attr_t usual;
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  pthread_attr_t impossible = usual;
  ASSERT_EQ(::pthread_attr_setstacksize(&impossible, size_t{1} << 47), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&impossible), 0);
  const std::string refused = exchangeOpen("GET /v2 HTTP/1.1\r\n\r\n");
  ASSERT_EQ(::pthread_setattr_default_np(&usual), 0);
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503"));
  EXPECT_EQ(client_->Get("/v2")->status, 200);
}

TEST_F(HttpServerTest, ASlowReaderDoesNotHoldTheEnd) {
  HttpOptions options;
  options.connections.endTime = std::chrono::milliseconds(300);
  start(options);
  const int socket = connectSocket(4096);
  sendAll(socket, "GET /large HTTP/1.1\r\n\r\n");
  char byte = 0;
  ASSERT_EQ(::recv(socket, &byte, 1, 0), 1);
  std::atomic<bool> hasEnded = false;
  std::thread reader([&] {
    char bytes[100];
    for (int i = 0; i < 1'000 && !hasEnded; ++i) {
      if (::recv(socket, bytes, sizeof(bytes), 0) <= 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ::close(socket);
  });
  const auto begin = Clock::now();
  server_->stop();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
  hasEnded = true;
  reader.join();
}

TEST_F(HttpServerTest, AnEndLosesNoRequest) {
  start();
  std::atomic<int> answered = 0;
  std::atomic<int> lost = 0;
  std::atomic<bool> ended = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      httplib::Client client("127.0.0.1", server_->port());
      client.set_keep_alive(true);
      while (!ended) {
        const auto result = client.Post(kInfer, kBody, "application/json");
        // A request that finds no connection has not been accepted.
        if (result && result->status == 200) {
          ++answered;
        } else if (result) {
          ++lost;
        }
      }
    });
  }
  while (answered < 100) std::this_thread::yield();
  service_->setReady(false);
  server_->stop();
  service_->stop();
  ended = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lost, 0);
}

}  // namespace
}  // namespace halyard::serve
