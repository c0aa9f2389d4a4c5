// SendWatch: cancels calls whose clients do not take their answers.
// Thread safety: any thread.
// Ownership: owns a thread. An Entry, and its call, must not outlive the watch.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

namespace halyard::serve {

class SendWatch {
 public:
  // `patience` is the time for an answer of few bytes.
  explicit SendWatch(std::chrono::milliseconds patience);
  ~SendWatch();
  SendWatch(const SendWatch&) = delete;
  SendWatch& operator=(const SendWatch&) = delete;

  // The time in which one answer is sent: from begin() until end(). The call outlives it.
  class Entry {
   public:
    Entry(SendWatch& watch, grpc::ServerContext& context) : watch_(watch), context_(context) {}
    ~Entry() { end(); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    void begin(size_t bytes);
    void end();

   private:
    friend class SendWatch;
    SendWatch& watch_;
    grpc::ServerContext& context_;
    std::chrono::steady_clock::time_point last_;
  };

 private:
  void work();

  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable ending_;
  std::set<Entry*> entries_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace halyard::serve
