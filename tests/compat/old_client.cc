// A client built with an older schema of the wire. It asks a driver at a socket for its properties,
// prepares an ADD of four float32, and computes it through HAL 1.0 and 1.3. It prints the results.
// The exit status is 0 when all are correct, 3 when the driver refuses it.
//   old_client SOCKET PROTOCOL
#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <kj/io.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver.capnp.h"
#include "v1_3.capnp.h"

namespace {

namespace wire = halyard::wire_schema_1;
constexpr auto kNone = wire::ErrorStatus::NONE;

void expect(bool right, const char* what) {
  if (right) return;
  std::printf("wrong: %s\n", what);
  std::exit(1);
}

int connectTo(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  expect(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "connect");
  return fd;
}

class File final : public wire::FileDescriptor::Server {
 public:
  explicit File(int fd) : fd_(fd) {}
  kj::Maybe<int> getFd() override { return fd_; }

 private:
  const int fd_;
};

// Accepts every form of the notification.
class PreparedCallback final : public wire::v1_3::IPreparedModelCallback::Server {
 public:
  using Fulfiller = kj::Own<kj::PromiseFulfiller<wire::v1_0::IPreparedModel::Client>>;
  explicit PreparedCallback(Fulfiller fulfiller) : fulfiller_(kj::mv(fulfiller)) {}
  kj::Promise<void> notify(NotifyContext context) override { return take(context); }
  kj::Promise<void> notify12(Notify12Context context) override { return take(context); }
  kj::Promise<void> notify13(Notify13Context context) override { return take(context); }

 private:
  template <typename Context>
  kj::Promise<void> take(Context context) {
    expect(context.getParams().getStatus() == kNone, "the preparation's status");
    fulfiller_->fulfill(context.getParams().getPreparedModel());
    return kj::READY_NOW;
  }
  Fulfiller fulfiller_;
};

class ExecutionCallback final : public wire::v1_0::IExecutionCallback::Server {
 public:
  explicit ExecutionCallback(kj::Own<kj::PromiseFulfiller<void>> fulfiller)
      : fulfiller_(kj::mv(fulfiller)) {}
  kj::Promise<void> notify(NotifyContext context) override {
    expect(context.getParams().getStatus() == kNone, "the execution's status");
    fulfiller_->fulfill();
    return kj::READY_NOW;
  }

 private:
  kj::Own<kj::PromiseFulfiller<void>> fulfiller_;
};

void setNumbers(capnp::List<uint32_t>::Builder list, std::initializer_list<uint32_t> numbers) {
  unsigned i = 0;
  for (const uint32_t number : numbers) list.set(i++, number);
}

// out[4] = a[4] + b[4]; operand 2 is the activation.
void fill(wire::Model::Builder model) {
  auto main = model.initMain();
  auto operands = main.initOperands(4);
  for (const unsigned i : {0u, 1u, 3u}) {
    operands[i].setType(3);  // TENSOR_FLOAT32
    setNumbers(operands[i].initDimensions(1), {4});
    operands[i].setNumberOfConsumers(i == 3 ? 0 : 1);
    operands[i].setLifetime(i == 3 ? wire::OperandLifeTime::SUBGRAPH_OUTPUT
                                   : wire::OperandLifeTime::SUBGRAPH_INPUT);
  }
  operands[2].setType(1);  // INT32
  operands[2].setNumberOfConsumers(1);
  operands[2].setLifetime(wire::OperandLifeTime::CONSTANT_COPY);
  operands[2].initLocation().setLength(4);
  const uint8_t zeros[4] = {};
  model.setOperandValues(kj::arrayPtr(zeros, 4));
  auto operation = main.initOperations(1)[0];
  setNumbers(operation.initInputs(3), {0, 1, 2});
  setNumbers(operation.initOutputs(1), {3});
  setNumbers(main.initInputIndexes(2), {0, 1});
  setNumbers(main.initOutputIndexes(1), {3});
}

struct SharedFloats {
  int fd = ::memfd_create("old client", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  float* values = nullptr;
  SharedFloats() {
    expect(::ftruncate(fd, 48) == 0, "ftruncate");
    values = static_cast<float*>(::mmap(nullptr, 48, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  }
};

void fill(wire::Request::Builder request, int fd) {
  auto memory = request.initPools(1)[0].initMemory();
  memory.setSize(48);
  memory.setProt(3);
  memory.getFile().setFd(kj::heap<File>(fd));
  auto inputs = request.initInputs(2);
  for (unsigned i = 0; i < 3; ++i) {
    auto argument = i < 2 ? inputs[i] : request.initOutputs(1)[0];
    argument.initLocation().setOffset(16 * i);
    argument.getLocation().setLength(16);
  }
}

void expectSums(float* values, const char* what) {
  for (int i = 0; i < 4; ++i) expect(values[8 + i] == values[i] + values[4 + i], what);
  std::memset(values + 8, 0, 16);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto io = kj::setupAsyncIo();
  auto stream = io.lowLevelProvider->wrapUnixSocketFd(kj::AutoCloseFd(connectTo(argv[1])));
  capnp::TwoPartyClient connection(*stream, wire::MAX_FDS_PER_MESSAGE);
  auto hello = connection.bootstrap().castAs<wire::IDriver>().helloRequest();
  hello.setProtocolVersion(static_cast<uint32_t>(std::atoi(argv[2])));
  auto greeting = hello.send().wait(io.waitScope);
  if (greeting.getStatus() != kNone) {
    std::printf("refused: %s\n", greeting.getMessage().cStr());
    return greeting.hasDevice() ? 1 : 3;
  }
  auto device = greeting.getDevice().castAs<wire::v1_3::IDevice>();
  auto version = device.getVersionStringRequest().send().wait(io.waitScope);
  std::printf("version '%s', protocol %u, HAL 1.%d\n", version.getVersion().cStr(),
              greeting.getProtocolVersion(), greeting.getHalVersion() - 10);
  auto capabilities = device.getCapabilities13Request().send().wait(io.waitScope);
  expect(capabilities.getStatus() == kNone, "getCapabilities_1_3");
  expect(capabilities.getCapabilities().getOperandPerformance().size() > 0, "capabilities");
  auto ask = device.getSupportedOperations13Request();
  fill(ask.initModel());
  auto supported = ask.send().wait(io.waitScope);
  expect(supported.getStatus() == kNone, "getSupportedOperations_1_3");
  expect(supported.getSupported().size() == 1 && supported.getSupported()[0], "ADD");

  auto prepare = device.prepareModel13Request();
  fill(prepare.initModel());
  prepare.setPreference(wire::ExecutionPreference::FAST_SINGLE_ANSWER);
  prepare.setPriority(wire::Priority::MEDIUM);
  auto made = kj::newPromiseAndFulfiller<wire::v1_0::IPreparedModel::Client>();
  prepare.setCallback(kj::heap<PreparedCallback>(kj::mv(made.fulfiller)));
  expect(prepare.send().wait(io.waitScope).getStatus() == kNone, "prepareModel_1_3");
  auto prepared = made.promise.wait(io.waitScope).castAs<wire::v1_3::IPreparedModel>();

  const SharedFloats memory;
  for (int i = 0; i < 8; ++i) memory.values[i] = static_cast<float>(i + 1);
  auto now = prepared.executeSynchronously13Request();
  fill(now.initRequest(), memory.fd);
  expect(now.send().wait(io.waitScope).getStatus() == kNone, "executeSynchronously_1_3");
  expectSums(memory.values, "the sums of HAL 1.3");

  auto later = prepared.executeRequest();
  fill(later.initRequest(), memory.fd);
  auto done = kj::newPromiseAndFulfiller<void>();
  later.setCallback(kj::heap<ExecutionCallback>(kj::mv(done.fulfiller)));
  expect(later.send().wait(io.waitScope).getStatus() == kNone, "execute");
  done.promise.wait(io.waitScope);
  expectSums(memory.values, "the sums of HAL 1.0");
  std::printf("all right\n");
  return 0;
}
