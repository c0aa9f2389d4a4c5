// halyard-driver-defective: a driver with one of the defects, for the test of the validation kit.
//   halyard-driver-defective --list                    lists every defect: name, checks, behaviour
//   halyard-driver-defective --fd=N -- --defect NAME   as Halyard starts it
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

#include "hal/client/driver_connection.h"
#include "hal/server/server.h"
#include "hal/wire/wire_connection.h"
#include "halyard/driver/driver_main.h"
#include "validation/defects/defective_device.h"

namespace halyard::defects {

std::vector<Defect> allDefects() {
  std::vector<Defect> all;
  for (const std::span<const Defect> part :
       {kernelDefects(), networkDefects(), deviceDefects(), apiDefects(), loadDefects(),
        wireModelDefects(), wireAnswerDefects()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

namespace {

Result<Defect> findDefect(std::string_view name) {
  // The interceptor and the cache without a flaw, to test the test itself.
  static constexpr CacheFlaws kNoFlaw;
  if (name == "none") {
    return Defect{.name = "none",
                  .what = "is right",
                  .check = "",
                  .cache = &kNoFlaw,
                  .call = [](WireMessage&) {}};
  }
  for (const Defect& defect : allDefects()) {
    if (defect.name == name) return defect;
  }
  return badData("no defect '{}'; --list has all", name);
}

// Serves with an interceptor between the client's socket and the driver's server.
Status serveIntercepted(int fd, const Defect& defect) {
  HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::Device> device, makeDefectiveDevice(defect));
  HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<hal::RpcLoop> loop, hal::RpcLoop::start());
  HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<hal::Server> server,
                           hal::Server::start(loop, std::move(device)));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return errnoStatus(ResultCode::OP_FAILED, errno, "socketpair");
  }
  server->serve(UniqueFd(ends[0]), [] {});
  hal::Completion<bool> gone;
  loop->post([&, inner = ends[1]](hal::RpcLoop::Context& context) {
    using capnp::rpc::twoparty::Side;
    // Not deleted: they exist until the process ends.
    auto* const toServer = new hal::WireConnection(context, UniqueFd(inner), Side::CLIENT, nullptr);
    auto* const toClient =
        new hal::WireConnection(context, UniqueFd(fd), Side::SERVER,
                                intercept(toServer->peer(), {defect.call, defect.answer}));
    context.tasks.add(toClient->onDisconnect().then([&gone] { gone.set(true); }));
  });
  gone.wait();
  if (defect.atEnd == AtEnd::FINISH_WORK) server.reset();
  if (defect.atEnd == AtEnd::STAY) ::sleep(60);
  std::fflush(nullptr);
  ::_exit(0);
}

int list() {
  for (const Defect& defect : allDefects()) {
    fmt::print("{}\t{}\t{}\n", defect.name, defect.check, defect.what);
  }
  return 0;
}

int run(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (words.size() == 1 && words[0] == "--list") return list();
  if (words.size() != 4 || words[1] != "--" || words[2] != "--defect" ||
      !words[0].starts_with("--fd=")) {
    fmt::print(stderr, "usage: {} --list | --fd=N -- --defect NAME\n", argv[0]);
    return 2;
  }
  const Result<Defect> defect = findDefect(words[3]);
  if (!defect.ok()) {
    fmt::print(stderr, "{}\n", defect.status().toString());
    return 1;
  }
  if (defect->call == nullptr && defect->answer == nullptr && defect->atEnd == AtEnd::EXIT) {
    return hal::driverMain(
        argc, argv, [&](std::span<const std::string>) { return makeDefectiveDevice(*defect); });
  }
  int fd = -1;
  const std::string_view number = words[0].substr(5);
  std::from_chars(number.data(), number.data() + number.size(), fd);
  const Status status = serveIntercepted(fd, *defect);
  fmt::print(stderr, "{}\n", status.toString());
  return 1;
}

}  // namespace
}  // namespace halyard::defects

int main(int argc, char** argv) { return halyard::defects::run(argc, argv); }
