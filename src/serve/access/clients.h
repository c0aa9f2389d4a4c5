// Clients: the clients that may use the server, and their limits.
// Thread safety: any thread.
// Ownership: owns its tables. A Ticket must not outlive the Clients.
//
// With tokens, a client is the owner of a token. Without tokens, a client is an address.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "halyard/driver/status.h"
#include "serve/protocol/infer.h"

namespace halyard::serve {

struct ClientLimits {
  double requestsPerSecond = 0;  // 0: no limit
  uint32_t inFlight = 0;         // 0: no limit
};

class Clients {
 public:
  explicit Clients(ClientLimits limits) : limits_(limits) {}

  // Reads tokens, one client a line: NAME TOKEN. Empty lines and lines with # are left out. From
  // now on each request needs a token. Not while requests are admitted. BAD_DATA for a faulty line,
  // OP_FAILED for a file that cannot be read.
  Status readTokens(const std::string& file);
  bool needsToken() const { return !tokens_.empty(); }

  // Counts a request in flight until its end.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(Ticket&& other) noexcept;
    Ticket& operator=(Ticket&& other) noexcept;
    ~Ticket() { reset(); }
    void reset();

   private:
    friend class Clients;
    Clients* clients_ = nullptr;
    std::string client_;
  };

  // Admits one request. `authorization` is the value of the header, "Bearer TOKEN". UNAUTHENTICATED
  // without a known token; OVERLOADED beyond the limits of the client.
  Outcome admit(std::string_view authorization, std::string_view address, Ticket& ticket);
  // The same without the limits, for requests that compute nothing.
  Outcome check(std::string_view authorization) const;

 private:
  struct Usage {
    double allowance = 0;  // requests that may come at once
    Clock::time_point last;
    uint32_t inFlight = 0;
  };
  // The name of the client, or empty for an unknown token.
  std::string clientOf(std::string_view authorization) const;
  void leave(const std::string& client);
  void forgetIdle(Clock::time_point now);

  const ClientLimits limits_;
  std::map<std::string, std::string> tokens_;  // SHA-256 of the token, name
  std::mutex mutex_;
  std::map<std::string, Usage> usages_;
};

}  // namespace halyard::serve
