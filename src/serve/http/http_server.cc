#include "serve/http/http_server.h"

#include <algorithm>
#include <charconv>

#include "serve/http/documents.h"
#include "serve/protocol/json_infer.h"
#include "serve/protocol/json_object.h"
#include "serve/protocol/trace_context.h"
#include "serve/protocol/waiter.h"

namespace halyard::serve {
namespace {

using httplib::Request;
using httplib::Response;

constexpr const char* kJson = "application/json";
constexpr const char* kBinary = "application/octet-stream";
constexpr const char* kLengthHeader = "Inference-Header-Content-Length";

void answerJson(Response& response, const std::string& json) {
  response.status = 200;
  response.set_content(json, kJson);
}

void answerError(Response& response, const Outcome& outcome) {
  response.status = httpStatusOf(outcome.fault());
  const bool isTemporary =
      outcome.fault() == Fault::OVERLOADED || outcome.fault() == Fault::UNAVAILABLE;
  if (isTemporary) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(outcome.retryAfter());
    response.set_header("Retry-After", std::to_string(std::max<int64_t>(1, seconds.count())));
  }
  if (outcome.fault() == Fault::UNAUTHENTICATED) response.set_header("WWW-Authenticate", "Bearer");
  response.set_content(errorJson(outcome.text()), kJson);
}

Outcome tooManyBytes() {
  return Outcome::overloaded("the requests in flight have too many bytes",
                             std::chrono::milliseconds(100));
}

Outcome tooLarge(size_t most) {
  return {Fault::TOO_LARGE, fmt::format("the body has more than {} bytes", most)};
}

void answerError(Response& response, const Status& status) {
  answerError(response, Outcome::of(status));
}

// The error of a request that the library has refused before it calls this server.
std::string libraryError(const SocketStream& connection, int status) {
  if (!connection.fault().empty()) return connection.fault();
  switch (status) {
    case 414:
      return fmt::format("the first line has more than {} bytes",
                         CPPHTTPLIB_REQUEST_URI_MAX_LENGTH);
    case 416:
      return "the header Range is no list of ranges of bytes";
    default:
      return "the request cannot be read";
  }
}

// Gives the library's own errors a text. The library adds a length only to other answers.
void completeError(Response& response) {
  const SocketStream* const connection = ConnectionServer::presentConnection();
  if (!response.body.empty() || connection == nullptr) return;
  response.set_content(errorJson(libraryError(*connection, response.status)), kJson);
  response.set_header("Content-Length", std::to_string(response.body.size()));
}

void answerException(Response& response, const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    answerError(response, Outcome(Fault::OVERLOADED, "the request exhausts the memory"));
  } catch (const std::exception& error) {
    answerError(response, Outcome(Fault::INTERNAL,
                                  fmt::format("the request fails the server: {}", error.what())));
  } catch (...) {
    answerError(response, Outcome(Fault::INTERNAL, "the request fails the server"));
  }
}

// Answers with an empty object after a success.
void answerOutcome(Response& response, const Outcome& outcome) {
  if (outcome.ok()) {
    answerJson(response, "{}");
  } else {
    answerError(response, outcome);
  }
}

std::vector<std::string> elementsOf(const std::string& path) {
  std::vector<std::string> elements;
  for (size_t at = 1; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    elements.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return elements;
}

// /v2/models/NAME[/versions/VERSION]/ACTION
struct ModelPath {
  std::string name;
  std::string version;
  std::string action;  // empty: the metadata
};
std::optional<ModelPath> modelPathOf(const std::vector<std::string>& path) {
  if (path.size() < 3 || path[0] != "v2" || path[1] != "models") return std::nullopt;
  ModelPath model{path[2], "", ""};
  size_t next = 3;
  if (path.size() >= 5 && path[3] == "versions") {
    model.version = path[4];
    next = 5;
  }
  if (path.size() > next + 1) return std::nullopt;
  if (path.size() == next + 1) model.action = path[next];
  return model;
}

// The value of the header; nullopt without it. BAD_DATA if it is no part of the body.
Result<std::optional<size_t>> jsonLengthOf(const Request& request, size_t bodySize) {
  if (!request.has_header(kLengthHeader)) return std::optional<size_t>();
  const std::string text = request.get_header_value(kLengthHeader);
  size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    return badData("{} is '{}', expected a number of bytes", kLengthHeader, text);
  }
  if (length > bodySize) {
    return badData("{} is {}, but the body has {} bytes", kLengthHeader, length, bodySize);
  }
  return std::optional(length);
}

void answerModel(const Service& service, const ModelPath& path, Response& response) {
  const Repository::Found found = service.repository().find(path.name, path.version);
  if (path.action == "ready") {
    response.status = found.model ? 200 : 400;
    if (found.model) {
      response.set_content(modelReadyJson(found.model->name()), kJson);
    } else {
      response.set_content(errorJson(found.outcome.text()), kJson);
    }
    return;
  }
  if (!found.model) {
    answerError(response, found.outcome);
  } else if (path.action.empty()) {
    answerJson(response,
               modelMetadataJson(*found.model, service.repository().versionsOf(path.name)));
  } else if (path.action == "config") {
    answerJson(response, modelConfigJson(*found.model));
  } else {
    answerJson(response, statisticsJson({found.model}));
  }
}

void answerRegions(const Service& service, const std::string& name, Response& response) {
  std::vector<RegionInfo> regions;
  const Outcome outcome = const_cast<Service&>(service).regions().list(name, regions);
  if (outcome.ok()) {
    answerJson(response, regionsJson(regions));
  } else {
    answerError(response, outcome);
  }
}

// Answers a GET of the protocol. Returns false for an unknown path.
bool answerGet(const Service& service, const std::vector<std::string>& path, Response& response) {
  const auto health = [&](bool isGood, const char* json) {
    response.status = isGood ? 200 : 400;
    response.set_content(isGood ? json : R"({"ready":false})", kJson);
  };
  const size_t size = path.size();
  if (size == 0 || path[0] != "v2") return false;
  if (size == 1 || (size == 2 && path[1].empty())) {
    answerJson(response, serverMetadataJson(service));
  } else if (size == 3 && path[1] == "health" && path[2] == "live") {
    health(true, R"({"live":true})");
  } else if (size == 3 && path[1] == "health" && path[2] == "ready") {
    health(service.isReady(), R"({"ready":true,"live":true})");
  } else if (size == 3 && path[1] == "models" && path[2] == "stats") {
    answerJson(response, statisticsJson(service.repository().ready()));
  } else if (size >= 3 && path[1] == "systemsharedmemory" && path.back() == "status" &&
             (size == 3 || (size == 5 && path[2] == "region"))) {
    answerRegions(service, size == 5 ? path[3] : "", response);
  } else if (const auto model = modelPathOf(path);
             model && (model->action.empty() || model->action == "ready" ||
                       model->action == "config" || model->action == "stats")) {
    answerModel(service, *model, response);
  } else {
    return false;
  }
  return true;
}

bool isHealth(const std::string& path) { return path.starts_with("/v2/health/"); }

// Answers a POST of the repository or of shared memory. Returns false for an unknown path.
bool answerChange(Service& service, const std::vector<std::string>& path, const std::string& body,
                  Response& response) {
  const size_t size = path.size();
  if (size == 3 && path[1] == "repository" && path[2] == "index") {
    const Result<bool> readyOnly = readyOnlyOf(body);
    if (!readyOnly.ok()) {
      answerError(response, readyOnly.status());
      return true;
    }
    const auto index = service.repository().index(*readyOnly);
    index.ok() ? answerJson(response, indexJson(*index)) : answerError(response, index.status());
    return true;
  }
  if (size == 5 && path[1] == "repository" && path[2] == "models") {
    if (path[4] == "load") {
      const Status status = checkLoadBody(body);
      answerOutcome(response,
                    status.ok() ? service.repository().load(path[3]) : Outcome::of(status));
      return true;
    }
    if (path[4] == "unload") {
      answerOutcome(response, service.repository().unload(path[3]));
      return true;
    }
  }
  if (size >= 3 && path[1] == "systemsharedmemory") {
    const bool isOne = size == 5 && path[2] == "region";
    if (isOne && path[4] == "register") {
      const Result<RegionInfo> region = regionOf(path[3], body);
      answerOutcome(response,
                    region.ok() ? service.regions().add(*region) : Outcome::of(region.status()));
      return true;
    }
    if (path.back() == "unregister" && (isOne || size == 3)) {
      answerOutcome(response, service.regions().remove(isOne ? path[3] : ""));
      return true;
    }
  }
  return false;
}

}  // namespace

// Accounts for the bytes of one body among those of all.
class HttpServer::BodyBudget {
 public:
  BodyBudget(std::atomic<uint64_t>& all, uint64_t most) : all_(all), most_(most) {}
  ~BodyBudget() { all_ -= own_; }
  BodyBudget(const BodyBudget&) = delete;
  BodyBudget& operator=(const BodyBudget&) = delete;

  bool take(uint64_t bytes) {
    own_ += bytes;
    return all_.fetch_add(bytes) + bytes <= most_;
  }

 private:
  std::atomic<uint64_t>& all_;
  const uint64_t most_;
  uint64_t own_ = 0;
};

HttpServer::HttpServer(Service& service, Clients& clients, HttpOptions options)
    : service_(service),
      clients_(clients),
      options_(std::move(options)),
      server_(options_.connections) {}

HttpServer::~HttpServer() { stop(); }

void HttpServer::addDocument(const std::string& path, const std::string& contentType,
                             DocumentMaker make) {
  documents_.push_back({path, contentType, std::move(make)});
}

Status HttpServer::start() {
  if (!options_.tls.certificate.empty()) HALYARD_RETURN_IF_ERROR(server_.useTls(options_.tls));
  server_.set_payload_max_length(options_.maxBodyBytes);
  server_.set_pre_routing_handler([this](const Request& request, Response& response) {
    return answerWithoutBody(request, response) ? httplib::Server::HandlerResponse::Handled
                                                : httplib::Server::HandlerResponse::Unhandled;
  });
  server_.Post(".*", [this](const Request& request, Response& response,
                            const httplib::ContentReader& reader) {
    answerPost(request, response, reader);
  });
  server_.set_exception_handler(
      [](const Request&, Response& response, const std::exception_ptr& exception) {
        answerException(response, exception);
      });
  const httplib::Server::HandlerWithResponse onError = [](const Request&, Response& response) {
    completeError(response);
    return httplib::Server::HandlerResponse::Unhandled;
  };
  server_.set_error_handler(onError);
  if (options_.port == 0) {
    port_ = server_.bind_to_any_port(options_.host);
  } else if (server_.bind_to_port(options_.host, options_.port)) {
    port_ = options_.port;
  }
  if (port_ <= 0) {
    return opFailed("HTTP cannot listen at {}:{}", options_.host, options_.port);
  }
  thread_ = std::thread([this] {
    server_.listen_after_bind();
    hasEnded_ = true;
  });
  return okStatus();
}

void HttpServer::stop() {
  if (!thread_.joinable()) return;
  server_.drain();
  // stop() has no effect before the server runs.
  while (!server_.is_running() && !hasEnded_) std::this_thread::yield();
  server_.stop();
  thread_.join();
}

bool HttpServer::admits(const Request& request, Response& response, Clients::Ticket& ticket,
                        bool isInference) {
  const std::string authorization = request.get_header_value("Authorization");
  const Outcome outcome = isInference ? clients_.admit(authorization, request.remote_addr, ticket)
                                      : clients_.check(authorization);
  if (!outcome.ok()) answerError(response, outcome);
  return outcome.ok();
}

// Answers every request except a POST, whose body is still to come.
bool HttpServer::answerWithoutBody(const Request& request, Response& response) {
  if (request.method == "POST") return false;
  Clients::Ticket ticket;
  if (request.method != "GET" && request.method != "HEAD") {
    response.status = 405;
    response.set_header("Allow", "GET, HEAD, POST");
    response.set_content(errorJson(fmt::format("the method {} is not allowed", request.method)),
                         kJson);
    return true;
  }
  if (!isHealth(request.path) && !admits(request, response, ticket, false)) return true;
  for (const Document& document : documents_) {
    if (document.path != request.path) continue;
    response.status = 200;
    response.set_content(document.make(), document.contentType);
    return true;
  }
  const std::vector<std::string> path = elementsOf(request.path);
  if (answerGet(service_, path, response)) return true;
  const std::optional<ModelPath> model = modelPathOf(path);
  if (model && model->action == "infer") {
    response.status = 405;
    response.set_header("Allow", "POST");
    response.set_content(errorJson("infer needs the method POST"), kJson);
  } else {
    answerError(response,
                Outcome(Fault::NOT_FOUND, fmt::format("there is nothing at {}", request.path)));
  }
  return true;
}

bool HttpServer::readBody(const Request& request, Response& response,
                          const httplib::ContentReader& reader, size_t most, BodyBudget& budget,
                          std::string& body) const {
  const bool hasBody =
      request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
  if (!hasBody) return true;
  std::optional<Outcome> refusal;
  const std::string encoding = request.get_header_value("Content-Encoding");
  if (!encoding.empty() && encoding != "gzip" && encoding != "deflate" && encoding != "identity") {
    answerError(response, Outcome(Fault::UNSUPPORTED,
                                  fmt::format("the content encoding '{}' is unknown", encoding)));
    response.set_header("Accept-Encoding", "gzip, deflate");
    return false;
  }
  if (request.is_multipart_form_data()) {  // the library does not give its bytes
    answerError(response,
                Outcome(Fault::INVALID, "the body is multipart/form-data, expected JSON"));
    return false;
  }
  const bool isRead = reader([&](const char* bytes, size_t size) {
    if (body.size() + size > most) {
      refusal = tooLarge(most);
    } else if (!budget.take(size)) {
      refusal = tooManyBytes();
    } else {
      body.append(bytes, size);
    }
    return !refusal;
  });
  if (isRead && !refusal) return true;
  // The library has chosen 413 for a body that is longer than its limit.
  if (!refusal && response.status == 413) refusal = tooLarge(options_.maxBodyBytes);
  answerError(response, refusal.value_or(Outcome(Fault::INVALID, "the body cannot be read")));
  return false;
}

// Accounts for the memory of JSON before it is parsed. Answers if it is too large.
bool HttpServer::takeJson(std::string_view json, Response& response, BodyBudget& budget) const {
  if (json.size() > options_.maxJsonBytes) {
    answerError(
        response,
        Outcome(Fault::TOO_LARGE,
                fmt::format("the JSON has {} bytes, at most {} are taken; use binary tensors",
                            json.size(), options_.maxJsonBytes)));
    return false;
  }
  if (budget.take(memoryOfJson(json))) return true;
  answerError(response, tooManyBytes());
  return false;
}

void HttpServer::answerPost(const Request& request, Response& response,
                            const httplib::ContentReader& reader) {
  const Clock::time_point arrival = Clock::now();
  const std::vector<std::string> path = elementsOf(request.path);
  const std::optional<ModelPath> model = modelPathOf(path);
  const bool isInference = model && model->action == "infer";
  Clients::Ticket ticket;
  if (!admits(request, response, ticket, isInference)) return;
  BodyBudget budget(bytesInFlight_, options_.maxBytesInFlight);
  std::string body;
  const size_t most = isInference ? options_.maxBodyBytes
                                  : std::min(options_.maxBodyBytes, options_.maxDocumentBytes);
  if (!readBody(request, response, reader, most, budget, body)) return;
  const ConnectionServer::Work work;
  if (isInference) {
    const Result<std::optional<size_t>> length = jsonLengthOf(request, body.size());
    if (!length.ok()) {
      answerError(response, length.status());
    } else if (takeJson(std::string_view(body).substr(0, length->value_or(body.size())), response,
                        budget)) {
      infer({model->name, model->version, *length, traceOf(request.get_header_value("traceparent")),
             arrival},
            response, body);
    }
    return;
  }
  if (!takeJson(body, response, budget)) return;
  if (!path.empty() && path[0] == "v2" && answerChange(service_, path, body, response)) return;
  Response known;
  if (answerGet(service_, path, known)) {
    response.status = 405;
    response.set_header("Allow", "GET");
    response.set_content(errorJson(fmt::format("{} needs the method GET", request.path)), kJson);
    return;
  }
  answerError(response,
              Outcome(Fault::NOT_FOUND, fmt::format("there is nothing at {}", request.path)));
}

Result<InferRequest> HttpServer::parse(const InferenceCall& call, const std::string& body) const {
  if (call.jsonLength != 0) return parseJsonInfer(body, call.jsonLength, call.arrival);
  const Repository::Found found = service_.repository().find(call.model, call.version);
  if (!found.model) return InferRequest();  // the service explains it
  return rawInfer(body, found.model->inputs());
}

void HttpServer::infer(const InferenceCall& call, Response& response, const std::string& body) {
  Result<InferRequest> parsed = parse(call, body);
  if (!parsed.ok()) {
    Status status = parsed.takeStatus();
    answerError(response, status.annotate(fmt::format("model '{}'", call.model)));
    return;
  }
  parsed->model = call.model;
  parsed->version = call.version;
  parsed->trace = call.trace;
  const SocketStream* const connection = ConnectionServer::presentConnection();
  parsed->isAbandoned = [connection] { return connection->isClosedByClient(); };
  Waiter waiter;
  service_.infer(*parsed, call.arrival,
                 [&waiter](InferAnswer answer) { waiter.give(std::move(answer)); });
  const InferAnswer answer = waiter.wait();
  if (!answer.outcome.ok()) {
    answerError(response, answer.outcome);
    return;
  }
  Result<JsonAnswer> written = writeJsonInfer(*parsed, answer);
  if (!written.ok()) {
    Status status = written.takeStatus();
    answerError(response, status.annotate(fmt::format("model '{}'", call.model)));
    return;
  }
  response.status = 200;
  if (written->jsonLength) {
    response.set_header(kLengthHeader, std::to_string(*written->jsonLength));
  }
  response.headers.emplace("Content-Type", written->jsonLength ? kBinary : kJson);
  response.body = std::move(written->body);
}

}  // namespace halyard::serve
