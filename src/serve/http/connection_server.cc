#include "serve/http/connection_server.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "serve/protocol/json_infer.h"

namespace halyard::serve {
namespace {

// Whether this thread must refuse its connection, because there are too many.
thread_local bool isRefusing = false;
// The connection that this thread serves.
thread_local const SocketStream* presentStream = nullptr;
thread_local Connections::Entry* presentEntry = nullptr;

// How long, and for how many bytes, a client may go on sending after its last answer.
constexpr std::chrono::milliseconds kLingerTime{500};
constexpr size_t kLingerBytes = size_t{1} << 20;

// How often connections are looked at while the server ends.
constexpr std::chrono::milliseconds kEndInterval{50};

std::string refusal() {
  const std::string body = errorJson("there are too many clients");
  return fmt::format(
      "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
      "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      body.size(), body);
}

std::string tlsError() {
  char text[256] = {};
  ERR_error_string_n(ERR_get_error(), text, sizeof(text));
  ERR_clear_error();
  return text;
}

// Reads the rest of the bytes that a client sends. Without this, the kernel would drop an answer
// that the client has not read yet.
void linger(socket_t socket) {
  ::shutdown(socket, SHUT_WR);
  const auto end = std::chrono::steady_clock::now() + kLingerTime;
  std::vector<char> buffer(size_t{64} << 10);
  for (size_t read = 0; read < kLingerBytes;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd waiting = {socket, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) return;
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got <= 0) return;
    read += static_cast<size_t>(got);
  }
}

}  // namespace

// One thread for each connection, up to a limit. A thread waits for further connections. At the
// limit, a new connection takes the thread of one that waits for its client.
class ConnectionServer::Threads : public httplib::TaskQueue {
 public:
  Threads(const ConnectionLimits& limits, Connections& connections)
      : limits_(limits), connections_(connections) {}

  void enqueue(std::function<void()> task) override {
    std::unique_lock lock(mutex_);
    const bool hasThread = idle_ > tasks_.size() || startThread() || connections_.closeOne();
    if (!hasThread) {
      lock.unlock();
      isRefusing = true;
      task();
      isRefusing = false;
      return;
    }
    tasks_.push_back(std::move(task));
    wake_.notify_one();
  }

  void shutdown() override {
    std::unique_lock lock(mutex_);
    ended_ = true;
    wake_.notify_all();
    const auto begin = Connections::Clock::now();
    while (running_ > 0) {
      threadEnds_.wait_for(lock, kEndInterval);
      connections_.closeSlow(begin, limits_.endTime);
    }
    lock.unlock();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  bool startThread() {
    if (threads_.size() >= limits_.connections) return false;
    try {
      threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {  // the system has no resources for a thread
      return false;
    }
    ++running_;
    return true;
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      wake_.wait(lock, [this] { return ended_ || !tasks_.empty(); });
      --idle_;
      if (tasks_.empty()) break;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
    --running_;
    threadEnds_.notify_all();
  }

  const ConnectionLimits limits_;
  Connections& connections_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable threadEnds_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  size_t running_ = 0;
  bool ended_ = false;
};

ConnectionServer::Work::Work() {
  if (presentEntry != nullptr) presentEntry->beginWork();
}

ConnectionServer::Work::~Work() {
  if (presentEntry != nullptr) presentEntry->beginWait();
}

ConnectionServer::ConnectionServer(ConnectionLimits limits)
    : limits_(limits), drainEvent_(::eventfd(0, EFD_CLOEXEC)) {
  new_task_queue = [this] { return new Threads(limits_, connections_); };
  set_tcp_nodelay(true);
  // The library sets SO_REUSEPORT by default, which lets two servers share a port without an error.
  set_socket_options([](socket_t socket) {
    const int on = 1;
    (void)::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  });
  const auto patience = std::chrono::ceil<std::chrono::seconds>(
      std::min<std::chrono::milliseconds>(limits_.idleTime, limits_.request.readTime));
  set_read_timeout(patience.count());
  set_write_timeout(patience.count());
  set_post_routing_handler(
      [this](const httplib::Request&, httplib::Response& response) { markLastAnswer(response); });
  // serveRequests() decides when a connection ends. The library only tells clients.
  set_keep_alive_max_count(1'000'000);
  set_keep_alive_timeout(limits_.idleTime.count());
}

ConnectionServer::~ConnectionServer() = default;

const SocketStream* ConnectionServer::presentConnection() { return presentStream; }

// Tells the client if this is the last answer of its connection.
void ConnectionServer::markLastAnswer(httplib::Response& response) const {
  const bool isLast = draining_ || (presentStream != nullptr && presentStream->isOutOfStep());
  if (isLast && !response.has_header("Connection")) response.set_header("Connection", "close");
}

Status ConnectionServer::useTls(const TlsFiles& files) {
  tls_.reset(SSL_CTX_new(TLS_server_method()));
  if (!tls_) return makeStatus(ResultCode::OUT_OF_MEMORY, "TLS: {}", tlsError());
  SSL_CTX_set_min_proto_version(tls_.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(tls_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE);
  if (SSL_CTX_use_certificate_chain_file(tls_.get(), files.certificate.c_str()) != 1) {
    return badData("the certificate {} cannot be used: {}", files.certificate, tlsError());
  }
  if (SSL_CTX_use_PrivateKey_file(tls_.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(tls_.get()) != 1) {
    return badData("the key {} cannot be used: {}", files.key, tlsError());
  }
  return okStatus();
}

void ConnectionServer::drain() {
  draining_ = true;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(drainEvent_.get(), &one, sizeof(one));
}

// Whether a request comes before the time for idle connections ends, and before drain().
bool ConnectionServer::waitForRequest(const SocketStream& stream) const {
  if (stream.hasBuffered()) return true;
  pollfd waiting[] = {{stream.socket(), POLLIN, 0}, {drainEvent_.get(), POLLIN, 0}};
  const auto idle = std::chrono::duration_cast<std::chrono::milliseconds>(limits_.idleTime);
  if (::poll(waiting, 2, static_cast<int>(idle.count())) <= 0) return false;
  return (waiting[0].revents & POLLIN) != 0;
}

void ConnectionServer::serveRequests(SocketStream& stream) {
  presentStream = &stream;
  serveEach(stream);
  presentStream = nullptr;
}

void ConnectionServer::serveEach(SocketStream& stream) {
  // An answer is never a part of a document. The library would answer many overlapping parts.
  const auto ignoreRanges = [](httplib::Request& request) { request.ranges.clear(); };
  while (waitForRequest(stream)) {
    stream.beginRequest();
    presentEntry->beginWait();
    bool isClosed = false;
    const bool isAnswered = process_request(stream, draining_, isClosed, ignoreRanges);
    const bool isSent = stream.flush();
    if (!isAnswered || !isSent || isClosed || draining_ || stream.isOutOfStep()) return;
    presentEntry->beginWait();
  }
}

void ConnectionServer::serve(socket_t socket) {
  if (!tls_) {
    SocketStream stream(socket, nullptr, limits_.request);
    serveRequests(stream);
    return;
  }
  const std::unique_ptr<SSL, decltype(&SSL_free)> session(SSL_new(tls_.get()), &SSL_free);
  const auto end = std::chrono::steady_clock::now() + limits_.request.readTime;
  const bool isOpen = session && ::fcntl(socket, F_SETFL, O_NONBLOCK) == 0 &&
                      SSL_set_fd(session.get(), socket) == 1 &&
                      callTls(session.get(), end, [&] { return SSL_accept(session.get()); }) == 1;
  if (!isOpen) {
    ERR_clear_error();
    return;
  }
  {
    SocketStream stream(socket, session.get(), limits_.request);
    serveRequests(stream);
  }
  SSL_shutdown(session.get());
  ERR_clear_error();
}

void ConnectionServer::serveAndLinger(socket_t socket) {
  Connections::Entry entry(connections_, socket, addressOfPeer(socket));
  presentEntry = &entry;
  serve(socket);
  linger(socket);
  presentEntry = nullptr;
}

bool ConnectionServer::process_and_close_socket(socket_t socket) {
  if (isRefusing) {
    const std::string text = refusal();
    if (!tls_) ::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } else {
    serveAndLinger(socket);
  }
  ::shutdown(socket, SHUT_RDWR);
  ::close(socket);
  return true;
}

}  // namespace halyard::serve
