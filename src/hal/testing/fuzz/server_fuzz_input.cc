#include "hal/testing/fuzz/server_fuzz_input.h"

#include <sys/socket.h>

#include "hal/core/completion.h"
#include "hal/server/server.h"
#include "hal/testing/fuzz/counting_callbacks.h"
#include "hal/testing/fuzz/hostile_session.h"
#include "hal/testing/touching_device.h"

namespace halyard::hal::fuzz {
namespace {

// The server of the process. It is never destroyed.
struct Harness {
  Harness()
      : loop(RpcLoop::start().value()),
        server(Server::start(loop, std::make_shared<testing::TouchingDevice>()).value()) {}
  static Harness& get() {
    static auto* const harness = new Harness();
    return *harness;
  }
  std::shared_ptr<RpcLoop> loop;
  std::unique_ptr<Server> server;
};

}  // namespace

void runServerFuzzInput(std::span<const uint8_t> input) {
  Harness& harness = Harness::get();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("no socket pair");
  auto gone = std::make_shared<Completion<bool>>();
  harness.server->serve(UniqueFd(ends[0]), [gone] { gone->set(true); });
  runHostileSession(*harness.loop, UniqueFd(ends[1]), input);
  gone->wait();
}

}  // namespace halyard::hal::fuzz
