#include "validation/hostile/hostile_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <thread>

#include "base/testing/slow_descriptors.h"
#include "hal/manifest/child_process.h"
#include "hal/testing/fuzz/hostile_session.h"
#include "hal/testing/raw_client.h"

namespace halyard::validation {
namespace {

constexpr int kExitMilliseconds = 10'000;

Result<UniqueFd> connectTo(const hal::Manifest& manifest) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (manifest.target.size() >= sizeof address.sun_path) {
    return badData("socket path {} has more than {} bytes", manifest.target,
                   sizeof address.sun_path - 1);
  }
  manifest.target.copy(address.sun_path, manifest.target.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid() ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return errnoStatus(ResultCode::UNAVAILABLE_DEVICE, errno,
                       fmt::format("connecting to the driver at {}", manifest.target));
  }
  return fd;
}

// Waits until the driver's process ends, because its client has closed the connection.
Status waitForEnd(hal::ChildProcess& child) {
  pollfd ended{child.pidfd(), POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&ended, 1, kExitMilliseconds);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) {
    child.kill();
    (void)::poll(&ended, 1, -1);
    (void)child.collect();
    return opFailed("its client is gone, and the driver's process {} has not ended within {} s",
                    child.pid(), kExitMilliseconds / 1000);
  }
  const std::optional<std::string> end = child.collect();
  if (end && *end == "ended with exit status 0") return okStatus();
  return opFailed("the driver's process {} {}", child.pid(), end.value_or("has ended"));
}

// Runs `attack` over a connection to the driver, which must survive it.
Status survives(const hal::Manifest& manifest, const std::function<Status(UniqueFd)>& attack) {
  if (manifest.kind == hal::Manifest::Kind::SOCKET) {
    HALYARD_ASSIGN_OR_RETURN(UniqueFd socket, connectTo(manifest));
    HALYARD_RETURN_IF_ERROR(attack(std::move(socket)));
    return connectTo(manifest).takeStatus();
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return errnoStatus(ResultCode::OUT_OF_MEMORY, errno, "socketpair");
  }
  UniqueFd own(ends[0]);
  UniqueFd drivers(ends[1]);
  HALYARD_ASSIGN_OR_RETURN(
      const std::shared_ptr<hal::ChildProcess> child,
      hal::ChildProcess::spawn(manifest.target, drivers.get(), sandboxText(manifest.sandbox),
                               manifest.arguments));
  drivers.reset();
  const Status attacked = attack(std::move(own));
  if (!attacked.ok()) child->kill();
  const Status ended = waitForEnd(*child);
  return attacked.ok() ? ended : attacked;
}

// Longer than all time limits here.
constexpr std::chrono::seconds kLinger{100};
constexpr std::chrono::seconds kAnswerLimit{20};

// Sends `message` with a lingering socket, `descriptors` times. `first`: bytes of `message` that go
// before them. `sockets` keeps the socket's peer: without it the socket does not linger.
bool sendWith(hal::testing::RawClient& client, const std::string& message, size_t first,
              unsigned descriptors, std::vector<halyard::testing::LingeringSocket>& sockets) {
  halyard::testing::LingeringSocket& lingering = sockets.emplace_back(kLinger);
  if (lingering.get() < 0) return false;
  if (first > 0 && !client.write(message.substr(0, first), kAnswerLimit)) return false;
  const bool sent = halyard::testing::sendDescriptors(
      client.fd(), std::vector<int>(descriptors, lingering.get()), message[first]);
  lingering.close();
  return sent && client.write(message.substr(first + 1), kAnswerLimit);
}

Status sendDescriptorsThatBlock(UniqueFd socket,
                                std::vector<halyard::testing::LingeringSocket>& sockets) {
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  hal::testing::RawClient client(std::move(socket));
  struct Way {
    const char* what;
    size_t first;
    unsigned descriptors;
  };
  constexpr unsigned kTooMany = 200;  // of 128 that a message may have
  for (const Way& way : {Way{"a socket that lingers with a message", 0, 1},
                         Way{"more descriptors than a message may have", 0, kTooMany},
                         Way{"a socket that lingers in the middle of a message", 5, 1}}) {
    const std::string message = client.bootstrap(true);
    if (!sendWith(client, message, way.first, way.descriptors, sockets) ||
        !client.isAnswered(kAnswerLimit)) {
      return opFailed("the driver does not answer a message that came with {}", way.what);
    }
    // A descriptor that is closed now is closed before the next answer, if the thread that answers
    // closes it.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    (void)client.discard();
    if (!client.write(client.bootstrap(true), kAnswerLimit) || !client.isAnswered(kAnswerLimit)) {
      return opFailed("the driver does not answer any more after {}", way.what);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    (void)client.discard();
  }
  // Half of a message, and then the end of the connection.
  (void)sendWith(client, client.bootstrap(true).substr(0, 20), 3, 1, sockets);
  return okStatus();
}

}  // namespace

Status attackDriver(hal::RpcLoop& loop, const hal::Manifest& manifest,
                    std::span<const uint8_t> input) {
  return survives(manifest, [&](UniqueFd socket) {
    hal::fuzz::runHostileSession(loop, std::move(socket), input);
    return okStatus();
  });
}

Status attackWithDescriptors(const hal::Manifest& manifest) {
  std::vector<halyard::testing::LingeringSocket> sockets;  // until the driver has ended
  return survives(manifest, [&sockets](UniqueFd socket) {
    return sendDescriptorsThatBlock(std::move(socket), sockets);
  });
}

std::vector<uint8_t> hostileInput(uint64_t seed, uint64_t number) {
  // The standard defines the engine's numbers exactly, but not the distributions'.
  std::mt19937 random(static_cast<uint32_t>(seed * 1'000'003 + number));
  std::vector<uint8_t> bytes(20 + random() % 1500);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  // Mostly a session of calls; raw bytes end the connection at once.
  if (number % 16 != 0) bytes[0] = 1;
  return bytes;
}

}  // namespace halyard::validation
