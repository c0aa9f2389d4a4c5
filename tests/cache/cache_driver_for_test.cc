#include "cache_driver_for_test.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>

#include "hal/client/remote_device.h"
#include "hal/server/service.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "personality.h"
#include "personality_device.h"
#include "test_definitions.h"

namespace halyard::cache_testing {
namespace {

constexpr uint32_t kElements = 1024;

size_t bytesOf(OperandType type) {
  return kElements * (type == OperandType::TENSOR_FLOAT32 ? sizeof(float) : sizeof(uint8_t));
}

// All elements are `value`, which is a multiple of the quantised type's scale.
std::vector<uint8_t> tensorOf(OperandType type, float value) {
  std::vector<uint8_t> bytes(bytesOf(type), static_cast<uint8_t>(value * 2));
  if (type != OperandType::TENSOR_FLOAT32) return bytes;
  for (size_t i = 0; i < kElements; ++i) {
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return bytes;
}

std::string personalityText(const DriverSetup& setup, const std::filesystem::path& state) {
  const auto more = [](const std::string& fields) { return fields.empty() ? "" : ", " + fields; };
  return fmt::format(
      R"({{"hal_version": "{}", "threads": 1, "cache": {{"model_files": {}, "data_files": {},
 "folder": "{}"{}}}{}}})",
      halVersionName(setup.version), setup.modelFiles, setup.dataFiles, state.string(),
      more(setup.cacheFields), more(setup.fields));
}

}  // namespace

const char* nameOf(Where where) {
  switch (where) {
    case Where::IN_THIS_PROCESS:
      return "InThisProcess";
    case Where::OVER_RPC:
      return "OverRpc";
    case Where::IN_ITS_OWN_PROCESS:
      return "InItsOwnProcess";
  }
  return "";
}

TestFolder::TestFolder() {
  std::string pattern = ::testing::TempDir() + "halyard-cache-XXXXXX";
  const char* const made = ::mkdtemp(pattern.data());
  EXPECT_NE(made, nullptr);
  path_ = pattern;
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

// A server of the device in this process, behind a socket.
class CacheDriver::Service {
 public:
  Service(std::shared_ptr<hal::Device> device, const std::filesystem::path& path)
      : server_(hal::Server::start(hal::RpcLoop::start().value(), std::move(device)).value()),
        service_(*server_, hal::ServiceSettings::defaults()),
        end_(::eventfd(0, EFD_CLOEXEC)) {
    bool made = false;
    listener_ = hal::listenForClients(path.string(), made).value();
    thread_ = std::thread([this] { EXPECT_TRUE(service_.run(listener_, end_.get()).ok()); });
  }
  ~Service() {
    const uint64_t one = 1;
    EXPECT_EQ(::write(end_.get(), &one, sizeof one), ssize_t{sizeof one});
    thread_.join();
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

 private:
  std::unique_ptr<hal::Server> server_;
  hal::Service service_;
  UniqueFd end_;
  UniqueFd listener_;
  std::thread thread_;
};

CacheDriver::CacheDriver(DriverSetup setup, const std::filesystem::path& state)
    : setup_(std::move(setup)), state_(state) {
  start();
}

CacheDriver::~CacheDriver() { device_.reset(); }

void CacheDriver::start() {
  // Several drivers may use one store.
  static std::atomic<int> number = 0;
  const std::string own = fmt::format("{}-{}", state_.string(), number++);
  hal::Manifest manifest;
  manifest.name = "test-cache";
  manifest.version = "1";
  manifest.halVersion = setup_.version;
  if (setup_.where == Where::IN_ITS_OWN_PROCESS) {
    const std::filesystem::path file = own + ".json";
    writeFile(file, personalityText(setup_, state_));
    manifest.target = REFERENCE_DRIVER;
    manifest.arguments = {"--personality", file.string()};
    device_ = hal::RemoteDevice::open(hal::RpcLoop::start().value(), manifest).value();
    return;
  }
  std::shared_ptr<hal::Device> device = makeDevice();
  if (setup_.where == Where::IN_THIS_PROCESS) {
    device_ = std::make_shared<hal::ClientSession>(std::move(device),
                                                   std::make_shared<hal::SessionServices>());
    return;
  }
  manifest.kind = hal::Manifest::Kind::SOCKET;
  manifest.target = own + ".sock";
  service_ = std::make_unique<Service>(std::move(device), manifest.target);
  device_ = hal::RemoteDevice::open(hal::RpcLoop::start().value(), manifest).value();
}

std::shared_ptr<hal::Device> CacheDriver::makeDevice() const {
  auto personality = drivers::parsePersonality(personalityText(setup_, state_));
  EXPECT_TRUE(personality.ok()) << personality.status().toString();
  return drivers::makePersonalityDevice(std::move(*personality)).value();
}

void CacheDriver::restart() {
  device_.reset();
  service_.reset();
  start();
}

FileSet::FileSet(std::filesystem::path folder, std::string name, unsigned modelFiles,
                 unsigned dataFiles)
    : modelFiles_(modelFiles) {
  for (unsigned i = 0; i < modelFiles; ++i)
    paths_.push_back(folder / fmt::format("{}.m{}", name, i));
  for (unsigned i = 0; i < dataFiles; ++i)
    paths_.push_back(folder / fmt::format("{}.d{}", name, i));
}

hal::CacheFiles FileSet::open(hal::Token token, off_t offset) const {
  hal::CacheFiles files;
  files.token = token;
  for (size_t i = 0; i < paths_.size(); ++i) {
    UniqueFd fd(::open(paths_[i].c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_TRUE(fd.valid()) << paths_[i];
    ::lseek(fd.get(), offset, SEEK_SET);
    (i < modelFiles_ ? files.modelCache : files.dataCache).push_back(std::move(fd));
  }
  return files;
}

std::vector<std::string> FileSet::read() const {
  std::vector<std::string> contents;
  for (const auto& path : paths_) contents.push_back(readFile(path));
  return contents;
}

void FileSet::write(const std::vector<std::string>& contents) const {
  for (size_t i = 0; i < paths_.size(); ++i) writeFile(paths_[i], contents[i]);
}

std::string readFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeFile(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

hal::Token tokenOf(uint8_t first) {
  hal::Token token{};
  token[0] = first;
  return token;
}

hal::PrepareOptions with(hal::CacheFiles files) {
  hal::PrepareOptions options;
  options.cache = std::make_shared<const hal::CacheFiles>(std::move(files));
  return options;
}

std::shared_ptr<const Model> Chain::model() const {
  auto model = std::make_shared<Model>();
  const auto tensor = [&](Lifetime lifetime) {
    Operand operand;
    operand.type = type;
    operand.dimensions = {kElements};
    operand.scale = type == OperandType::TENSOR_FLOAT32 ? 0.0f : 0.5f;
    operand.lifetime = lifetime;
    return operand;
  };
  auto& operands = model->main.operands;
  operands = {tensor(Lifetime::SUBGRAPH_INPUT), tensor(Lifetime::CONSTANT_COPY), Operand()};
  const std::vector<uint8_t> ones = tensorOf(type, 1);
  operands[1].location = appendConstant(*model, ones.data(), ones.size());
  const int32_t noActivation = 0;
  operands[2].type = OperandType::INT32;
  operands[2].lifetime = Lifetime::CONSTANT_COPY;
  operands[2].location = appendConstant(*model, &noActivation, sizeof noActivation);
  for (uint32_t i = 0; i < length; ++i) {
    const uint32_t input = i == 0 ? 0 : 2 + i;
    operands.push_back(
        tensor(i + 1 == length ? Lifetime::SUBGRAPH_OUTPUT : Lifetime::TEMPORARY_VARIABLE));
    model->main.operations.push_back({operation, {input, 1, 2}, {3 + i}});
  }
  model->main.inputIndexes = {0};
  model->main.outputIndexes = {2 + length};
  return model;
}

bool Chain::isComputedBy(hal::PreparedModel& prepared) const {
  std::vector<uint8_t> in = tensorOf(type, 1);
  std::vector<uint8_t> out(in.size());
  hal::Request request;
  for (auto* bytes : {&in, &out}) {
    hal::RequestArgument argument;
    argument.kind = hal::RequestArgument::Kind::POINTER;
    argument.pointer = bytes->data();
    argument.length = static_cast<uint32_t>(bytes->size());
    (bytes == &in ? request.inputs : request.outputs).push_back(argument);
  }
  const auto result = prepared.executeSynchronously(request, {});
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  const float expected = operation == OperationType::ADD ? 1.0f + static_cast<float>(length) : 1.0f;
  return out == tensorOf(type, expected);
}

}  // namespace halyard::cache_testing
