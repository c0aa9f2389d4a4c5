// Connections: the open connections of a server, and which of them may be closed.
// Thread safety: any thread. Ownership: borrows the sockets, which outlive their entries.
#pragma once

#include <chrono>
#include <list>
#include <mutex>
#include <string>

namespace halyard::serve {

class Connections {
 public:
  using Clock = std::chrono::steady_clock;

  // An open connection, which waits for its client unless the server works on its request.
  class Entry {
   public:
    Entry(Connections& all, int socket, std::string address);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    // From now on it waits for its client.
    void beginWait();
    void beginWork();

   private:
    friend class Connections;
    void begin(bool isWaiting);

    Connections& all_;
    const int socket_;
    const std::string address_;
    bool isWaiting_ = true;
    bool isClosed_ = false;
    Clock::time_point since_;
    std::list<Entry*>::iterator place_;
  };

  // Closes a connection that waits for its client. It is one of the address with the most
  // connections, and there the one that has waited longest. Returns false if all have work.
  bool closeOne();
  // Closes all that have waited for their clients for `patience` since `begin`.
  void closeSlow(Clock::time_point begin, std::chrono::milliseconds patience);

 private:
  static void close(Entry& entry);

  std::mutex mutex_;
  std::list<Entry*> entries_;
};

}  // namespace halyard::serve
