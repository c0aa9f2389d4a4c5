#include "serve/access/clients.h"

#include <strings.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/sha256.h"

namespace halyard::serve {
namespace {

constexpr size_t kShortestToken = 16;
constexpr size_t kMostClients = 10'000;
constexpr std::string_view kScheme = "Bearer ";

// Tokens are compared by their digests, so the time of a comparison tells nothing about a token.
std::string digestOf(std::string_view token) {
  const auto digest = sha256({reinterpret_cast<const uint8_t*>(token.data()), token.size()});
  return {digest.begin(), digest.end()};
}

}  // namespace

Clients::Ticket::Ticket(Ticket&& other) noexcept
    : clients_(std::exchange(other.clients_, nullptr)), client_(std::move(other.client_)) {}

Clients::Ticket& Clients::Ticket::operator=(Ticket&& other) noexcept {
  if (this == &other) return *this;
  reset();
  clients_ = std::exchange(other.clients_, nullptr);
  client_ = std::move(other.client_);
  return *this;
}

void Clients::Ticket::reset() {
  if (clients_ != nullptr) clients_->leave(client_);
  clients_ = nullptr;
}

Status Clients::readTokens(const std::string& file) {
  std::ifstream lines(file);
  if (!lines) {
    return errnoStatus(ResultCode::OP_FAILED, errno,
                       fmt::format("the file of tokens {} cannot be read", file));
  }
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string name;
    std::string token;
    std::string rest;
    if (!(words >> name) || name[0] == '#') continue;
    if (!(words >> token) || (words >> rest)) {
      return badData("{}:{}: expected NAME TOKEN", file, number);
    }
    if (token.size() < kShortestToken) {
      return badData("{}:{}: the token of {} has {} characters, expected at least {}", file, number,
                     name, token.size(), kShortestToken);
    }
    if (!tokens_.emplace(digestOf(token), name).second) {
      return badData("{}:{}: the token of {} is there already", file, number, name);
    }
  }
  if (tokens_.empty()) return badData("{} has no token", file);
  return okStatus();
}

std::string Clients::clientOf(std::string_view authorization) const {
  // The name of a scheme may have any case.
  const std::string_view scheme = authorization.substr(0, kScheme.size());
  if (scheme.size() != kScheme.size() ||
      ::strncasecmp(scheme.data(), kScheme.data(), kScheme.size()) != 0) {
    return "";
  }
  const auto found = tokens_.find(digestOf(authorization.substr(kScheme.size())));
  return found == tokens_.end() ? "" : found->second;
}

Outcome Clients::check(std::string_view authorization) const {
  if (!needsToken() || !clientOf(authorization).empty()) return {};
  return {Fault::UNAUTHENTICATED,
          authorization.empty() ? "the request has no token, expected 'Authorization: Bearer TOKEN'"
                                : "the token is unknown"};
}

// Forgets clients without a trace in the limits, so that many addresses do not fill the memory.
void Clients::forgetIdle(Clock::time_point now) {
  std::erase_if(usages_, [now](const auto& entry) {
    return entry.second.inFlight == 0 && now - entry.second.last > std::chrono::seconds(2);
  });
}

Outcome Clients::admit(std::string_view authorization, std::string_view address, Ticket& ticket) {
  Outcome outcome = check(authorization);
  if (!outcome.ok()) return outcome;
  if (limits_.requestsPerSecond == 0 && limits_.inFlight == 0) return {};
  const std::string client = needsToken() ? clientOf(authorization) : std::string(address);
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (usages_.size() >= kMostClients) forgetIdle(now);
  const auto [entry, isNew] = usages_.try_emplace(client);
  Usage& usage = entry->second;
  // A client may save up the requests of one second.
  const double most = std::max(1.0, limits_.requestsPerSecond);
  const std::chrono::duration<double> passed = now - usage.last;
  usage.allowance =
      isNew ? most : std::min(most, usage.allowance + passed.count() * limits_.requestsPerSecond);
  usage.last = now;
  if (limits_.requestsPerSecond != 0 && usage.allowance < 1) {
    return Outcome::overloaded(fmt::format("client '{}' sends more than {} requests a second",
                                           client, limits_.requestsPerSecond),
                               std::chrono::milliseconds(static_cast<int64_t>(
                                   1000 * (1 - usage.allowance) / limits_.requestsPerSecond)));
  }
  if (limits_.inFlight != 0 && usage.inFlight >= limits_.inFlight) {
    return Outcome::overloaded(
        fmt::format("client '{}' has {} requests in flight already", client, usage.inFlight),
        std::chrono::milliseconds(0));
  }
  usage.allowance -= 1;
  ++usage.inFlight;
  ticket.reset();
  ticket.clients_ = this;
  ticket.client_ = client;
  return {};
}

void Clients::leave(const std::string& client) {
  const std::lock_guard lock(mutex_);
  const auto found = usages_.find(client);
  if (found != usages_.end() && found->second.inFlight > 0) --found->second.inFlight;
}

}  // namespace halyard::serve
