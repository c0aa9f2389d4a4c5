#include "serve/frigate/zmq_server.h"

#include <atomic>
#include <thread>
#include <zmq.hpp>
#include <zmq_addon.hpp>

#include "base/log.h"

namespace halyard::serve {
namespace {

constexpr size_t kMostFrames = 8;
constexpr int kPollMilliseconds = 100;  // until stop() is seen

std::string_view messageText(const zmq::message_t& message) {
  return {message.data<char>(), message.size()};
}

}  // namespace

class ZmqServer::Implementation {
 public:
  Implementation(Detector detector, std::string endpoint, size_t maxMessageBytes)
      : detector_(std::move(detector)),
        endpoint_(std::move(endpoint)),
        maxMessageBytes_(maxMessageBytes) {}

  // The library reports its errors by exceptions.
  Status start() {
    try {
      socket_.set(zmq::sockopt::maxmsgsize, static_cast<int64_t>(maxMessageBytes_));
      socket_.set(zmq::sockopt::linger, 0);
      socket_.bind(endpoint_);
      endpoint_ = socket_.get(zmq::sockopt::last_endpoint);
    } catch (const zmq::error_t& error) {
      return makeStatus(ResultCode::OP_FAILED, "Frigate's endpoint {} cannot be used: {}",
                        endpoint_, error.what());
    }
    thread_ = std::thread([this] { work(); });
    return okStatus();
  }

  void stop() {
    isEnding_ = true;
    if (thread_.joinable()) thread_.join();
  }

  const std::string& endpoint() const { return endpoint_; }

 private:
  void work() {
    while (!isEnding_) {
      try {
        serveOne();
      } catch (const zmq::error_t& error) {
        logWarning("frigate: {}", error.what());
      }
    }
  }

  // A message of a REQ socket arrives as identity, an empty frame, and its own frames.
  void serveOne() {
    zmq::pollitem_t waiting = {socket_.handle(), 0, ZMQ_POLLIN, 0};
    if (zmq::poll(&waiting, 1, std::chrono::milliseconds(kPollMilliseconds)) == 0) return;
    std::vector<zmq::message_t> parts;
    bool hasMore = true;
    while (hasMore) {
      zmq::message_t part;
      if (!socket_.recv(part)) return;
      hasMore = part.more();
      if (parts.size() <= kMostFrames) parts.push_back(std::move(part));
    }
    if (parts.size() < 3 || parts.size() > kMostFrames || parts[1].size() != 0) return;
    std::vector<std::string_view> frames;
    for (size_t i = 2; i < parts.size(); ++i) frames.push_back(messageText(parts[i]));
    const std::vector<std::string> answer =
        detector_.answer(std::string(messageText(parts[0])), frames);
    std::vector<zmq::message_t> reply;
    reply.push_back(std::move(parts[0]));
    reply.emplace_back();
    for (const std::string& frame : answer) reply.emplace_back(frame);
    zmq::send_multipart(socket_, reply);
  }

  Detector detector_;
  std::string endpoint_;
  const size_t maxMessageBytes_;
  zmq::context_t context_{1};
  zmq::socket_t socket_{context_, zmq::socket_type::router};
  std::atomic<bool> isEnding_ = false;
  std::thread thread_;
};

ZmqServer::ZmqServer(Detector detector, std::string endpoint, size_t maxMessageBytes)
    : implementation_(std::make_unique<Implementation>(std::move(detector), std::move(endpoint),
                                                       maxMessageBytes)) {}

ZmqServer::~ZmqServer() { stop(); }

Status ZmqServer::start() { return implementation_->start(); }
std::string ZmqServer::endpoint() const { return implementation_->endpoint(); }
void ZmqServer::stop() { implementation_->stop(); }

}  // namespace halyard::serve
