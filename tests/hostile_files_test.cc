// Clients that damage the files behind their memory while a driver's process reads and writes them:
// they truncate them, punch holes, and overwrite them. Each client gets results or an error. The
// driver survives, and another client of the same driver is not affected.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "hal/client/remote_device.h"
#include "hal/testing/test_device.h"
#include "test_definitions.h"

namespace halyard::hal {
namespace {

using testing::addModel;

constexpr uint32_t kCount = 250'000;  // 1 MB each: not copied as a parameter, and slow enough
constexpr size_t kBytes = kCount * sizeof(float);
constexpr int kRounds = 40;

// The reference driver as a service, for the lifetime of the object.
class Service {
 public:
  Service() : path_("/tmp/halyard_hostile_" + std::to_string(::getpid()) + ".sock") {
    ::unlink(path_.c_str());
    pid_ = ::fork();
    if (pid_ == 0) {
      ::execl(HALYARD_REFERENCE_DRIVER_PATH, HALYARD_REFERENCE_DRIVER_PATH, "--listen",
              path_.c_str(), nullptr);
      ::_exit(127);
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, path_.size());
    for (int i = 0; i < 10'000; ++i) {
      const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
          0) {
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "the driver does not listen";
  }
  ~Service() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::unlink(path_.c_str());
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  Manifest manifest() const {
    Manifest manifest;
    manifest.name = "halyard-reference";
    manifest.version = "1";
    manifest.kind = Manifest::Kind::SOCKET;
    manifest.target = path_;
    return manifest;
  }
  // Whether the started process still runs.
  bool lives() const { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  const std::string path_;
  pid_t pid_ = -1;
};

// Repeats an action on a file during its lifetime.
class Saboteur {
 public:
  explicit Saboteur(std::function<void()> act)
      : thread_([this, act = std::move(act)] {
          while (!stop_) act();
        }) {}
  ~Saboteur() {
    stop_ = true;
    thread_.join();
  }
  Saboteur(const Saboteur&) = delete;
  Saboteur& operator=(const Saboteur&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

enum class File { UNSEALED, ON_DISK, SEALED };

UniqueFd makeFile(File kind, float value) {
  UniqueFd fd;
  if (kind == File::ON_DISK) {
    char name[] = "/tmp/halyard_hostile_XXXXXX";
    fd.reset(::mkostemp(name, O_CLOEXEC));
    ::unlink(name);
  } else {
    fd.reset(::memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  const std::vector<float> values(kCount, value);
  EXPECT_EQ(::pwrite(fd.get(), values.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
  if (kind == File::SEALED) {
    EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  }
  return fd;
}

SharedMemoryPtr memoryOf(const UniqueFd& fd) {
  return SharedMemory::fromFd(kBytes, PROT_READ | PROT_WRITE, fd.get(), 0).value();
}

RequestArgument poolArgument(uint32_t pool) {
  RequestArgument argument;
  argument.kind = RequestArgument::Kind::POOL;
  argument.location = {pool, 0, kBytes};
  return argument;
}

class HostileFiles : public ::testing::TestWithParam<File> {
 protected:
  void SetUp() override {
    loop_ = RpcLoop::start().value();
    hostile_ = open();
    good_ = open();
    // out = a + b
    model_ = std::make_shared<const Model>(addModel(kCount));
    goodModel_ = good_->prepareModel(validated(model_).value(), {}).value();
  }
  std::shared_ptr<Device> open() {
    auto device = RemoteDevice::open(loop_, service_.manifest());
    EXPECT_TRUE(device.ok()) << device.status().toString();
    return device.value();
  }
  static Request request(const SharedMemoryPtr& a, const SharedMemoryPtr& b,
                         const SharedMemoryPtr& out) {
    Request request;
    request.inputs = {poolArgument(0), poolArgument(1)};
    request.outputs = {poolArgument(2)};
    request.pools = {a, b, out};
    return request;
  }
  // The results of an honest client of the same driver.
  void expectGoodResults() {
    const auto in = SharedMemory::create(kBytes, "good").value();
    const auto out = SharedMemory::create(kBytes, "good").value();
    auto* const values = reinterpret_cast<float*>(in->mapped().value()->data());
    std::fill_n(values, kCount, 21.0f);
    const ExecutionResult result =
        goodModel_->executeSynchronously(request(in, in, out), ExecuteOptions());
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    const auto* const sums = reinterpret_cast<const float*>(out->mapped().value()->data());
    ASSERT_EQ(std::count(sums, sums + kCount, 42.0f), kCount);
  }
  // The status is OK, or an error caused by the client. Memory that cannot be cut never gives an
  // error.
  void expectHarmless(const Status& status) {
    const ResultCode code = status.code();
    const bool mayFail = GetParam() != File::SEALED;
    EXPECT_TRUE(status.ok() ||
                (mayFail && (code == ResultCode::BAD_DATA || code == ResultCode::OP_FAILED)))
        << status.toString();
    if (!status.ok()) ++refused_;
  }
  // Changes to other files may or may not become visible, so only sealed files have a fixed count.
  void TearDown() override {
    if (GetParam() == File::SEALED) {
      EXPECT_EQ(refused_, 0);
    }
  }
  // All changes of a file. The file's seals make some of them fail.
  static std::vector<std::function<void()>> sabotages(int fd) {
    return {[fd] {
              (void)!::ftruncate(fd, 0);
              (void)!::ftruncate(fd, kBytes);
            },
            [fd] {
              (void)!::ftruncate(fd, 4096 + 17);
              (void)!::ftruncate(fd, kBytes);
            },
            [fd] {
              ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kBytes);
              ::fallocate(fd, 0, 0, kBytes);
            },
            [fd] {
              static const std::vector<uint8_t> noise(65536, 0xff);
              for (size_t at = 0; at < kBytes; at += noise.size()) {
                (void)!::pwrite(fd, noise.data(), std::min(noise.size(), kBytes - at),
                                static_cast<off_t>(at));
              }
            }};
  }

  Service service_;
  int refused_ = 0;
  std::shared_ptr<RpcLoop> loop_;
  std::shared_ptr<Device> hostile_;
  std::shared_ptr<Device> good_;
  std::shared_ptr<const Model> model_;
  std::shared_ptr<PreparedModel> goodModel_;
};

TEST_P(HostileFiles, AsInput) {
  const auto prepared = hostile_->prepareModel(validated(model_).value(), {}).value();
  for (int which = 0; which < 4; ++which) {
    SCOPED_TRACE(which);
    const UniqueFd file = makeFile(GetParam(), 1);
    const SharedMemoryPtr in = memoryOf(file);
    const SharedMemoryPtr out = SharedMemory::create(kBytes, "out").value();
    {
      const Saboteur saboteur(sabotages(file.get())[static_cast<size_t>(which)]);
      for (int i = 0; i < kRounds; ++i) {
        expectHarmless(prepared->executeSynchronously(request(in, in, out), {}).status);
        if (i % 8 == 0) expectGoodResults();
      }
    }
    ASSERT_TRUE(service_.lives());
  }
}

TEST_P(HostileFiles, AsOutput) {
  const auto prepared = hostile_->prepareModel(validated(model_).value(), {}).value();
  for (int which = 0; which < 4; ++which) {
    SCOPED_TRACE(which);
    const UniqueFd file = makeFile(GetParam(), 1);
    const SharedMemoryPtr in = SharedMemory::create(kBytes, "in").value();
    const SharedMemoryPtr out = memoryOf(file);
    {
      const Saboteur saboteur(sabotages(file.get())[static_cast<size_t>(which)]);
      for (int i = 0; i < kRounds; ++i) {
        expectHarmless(prepared->executeSynchronously(request(in, in, out), {}).status);
        if (i % 8 == 0) expectGoodResults();
      }
    }
    ASSERT_TRUE(service_.lives());
  }
}

TEST_P(HostileFiles, AsConstant) {
  Model model = addModel(kCount);
  model.main.inputIndexes = {0};
  model.main.operands[1].lifetime = Lifetime::CONSTANT_REFERENCE;
  model.main.operands[1].location = {0, 0, kBytes};
  for (int which = 0; which < 4; ++which) {
    SCOPED_TRACE(which);
    const UniqueFd file = makeFile(GetParam(), 1);
    model.pools = {memoryOf(file)};
    const auto shared = std::make_shared<const Model>(model);
    const auto in = SharedMemory::create(kBytes, "in").value();
    Request request;
    request.inputs = {poolArgument(0)};
    request.outputs = {poolArgument(1)};
    request.pools = {in, SharedMemory::create(kBytes, "out").value()};
    {
      const Saboteur saboteur(sabotages(file.get())[static_cast<size_t>(which)]);
      for (int i = 0; i < kRounds; ++i) {
        const auto prepared = hostile_->prepareModel(validated(shared).value(), {});
        expectHarmless(prepared.status());
        if (prepared.ok()) {
          expectHarmless((*prepared)->executeSynchronously(request, {}).status);
        }
        if (i % 8 == 0) expectGoodResults();
      }
    }
    ASSERT_TRUE(service_.lives());
  }
}

// Values that a driver uses as indices; they change while the driver reads them.
TEST_P(HostileFiles, AsIndices) {
  constexpr int32_t kRows = 16;
  Model model;
  const auto operand = [](OperandType type, Shape dimensions, Lifetime lifetime) {
    Operand made;
    made.type = type;
    made.dimensions = std::move(dimensions);
    made.lifetime = lifetime;
    return made;
  };
  model.main.operands = {
      operand(OperandType::TENSOR_FLOAT32, {kRows, 1}, Lifetime::SUBGRAPH_INPUT),
      operand(OperandType::INT32, {}, Lifetime::CONSTANT_COPY),
      operand(OperandType::TENSOR_INT32, {kCount}, Lifetime::SUBGRAPH_INPUT),
      operand(OperandType::TENSOR_FLOAT32, {kCount, 1}, Lifetime::SUBGRAPH_OUTPUT)};
  const int32_t axis = 0;
  model.main.operands[1].location = appendConstant(model, &axis, sizeof axis);
  model.main.operations = {{OperationType::GATHER, {0, 1, 2}, {3}}};
  model.main.inputIndexes = {0, 2};
  model.main.outputIndexes = {3};
  auto prepared = hostile_->prepareModel(validated(model).value(), {});
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();

  const UniqueFd file = makeFile(GetParam(), 0);  // the bits of 0.0f are index 0
  Request request;
  request.inputs = {poolArgument(0), poolArgument(1)};
  request.inputs[0].location.length = kRows * 4;
  request.outputs = {poolArgument(2)};
  request.pools = {SharedMemory::create(kBytes, "table").value(), memoryOf(file),
                   SharedMemory::create(kBytes, "out").value()};
  ASSERT_TRUE((*prepared)->executeSynchronously(request, {}).status.ok());
  {
    const Saboteur saboteur([fd = file.get()] {
      static const std::vector<int32_t> wild(8192, 0x3fffffff);
      static const std::vector<int32_t> tame(8192, kRows - 1);
      for (size_t at = 0; at < kBytes; at += wild.size() * 4) {
        const size_t size = std::min(wild.size() * 4, kBytes - at);
        (void)!::pwrite(fd, wild.data(), size, static_cast<off_t>(at));
        (void)!::pwrite(fd, tame.data(), size, static_cast<off_t>(at));
      }
    });
    for (int i = 0; i < kRounds; ++i) {
      // A wrong index is an error of the execution, for each kind of file.
      const Status status = (*prepared)->executeSynchronously(request, {}).status;
      EXPECT_TRUE(status.ok() || status.code() == ResultCode::OP_FAILED) << status.toString();
      if (!status.ok() && GetParam() != File::SEALED) ++refused_;
      if (i % 8 == 0) expectGoodResults();
    }
  }
  ASSERT_TRUE(service_.lives());
}

INSTANTIATE_TEST_SUITE_P(Files, HostileFiles,
                         ::testing::Values(File::UNSEALED, File::ON_DISK, File::SEALED),
                         [](const auto& file) {
                           return file.param == File::UNSEALED  ? "Unsealed"
                                  : file.param == File::ON_DISK ? "OnDisk"
                                                                : "Sealed";
                         });

}  // namespace
}  // namespace halyard::hal
