#include "validation/hostile/hostile_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <random>

#include "hal/child_process.h"
#include "hal/testing/fuzz/hostile_session.h"

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

// The driver's client is gone, so the driver goes.
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

}  // namespace

Status attackDriver(hal::RpcLoop& loop, const hal::Manifest& manifest,
                    std::span<const uint8_t> input) {
  if (manifest.kind == hal::Manifest::Kind::SOCKET) {
    HALYARD_ASSIGN_OR_RETURN(UniqueFd socket, connectTo(manifest));
    hal::fuzz::runHostileSession(loop, std::move(socket), input);
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
  hal::fuzz::runHostileSession(loop, std::move(own), input);
  return waitForEnd(*child);
}

std::vector<uint8_t> hostileInput(uint64_t seed, uint64_t number) {
  // The engine's numbers are laid down; the library's distributions are not.
  std::mt19937 random(static_cast<uint32_t>(seed * 1'000'003 + number));
  std::vector<uint8_t> bytes(20 + random() % 1500);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  // Mostly a session of calls; raw bytes end the connection at once.
  if (number % 16 != 0) bytes[0] = 1;
  return bytes;
}

}  // namespace halyard::validation
