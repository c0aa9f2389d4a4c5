#include "validation/cts/api_world.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "client/status.h"

namespace halyard::validation {

Status expectCode(int actual, int expected, std::string_view call) {
  if (actual != expected) {
    return opFailed("{} answered {} ({}), expected {}", call, actual,
                    actual == 0 ? "success" : halyard_lastErrorText(), expected);
  }
  if (actual != ANEURALNETWORKS_NO_ERROR && *halyard_lastErrorText() == '\0') {
    return opFailed("{} answered {} without a text", call, actual);
  }
  return okStatus();
}

Result<client::Model> newModel() {
  client::Model model;
  HALYARD_EXPECT_OK(model.create());
  return model;
}

Result<ApiWorld*> ApiWorld::of(Target& target) {
  std::shared_ptr<void>& slot = target.kept("api");
  if (slot == nullptr) {
    const TargetSpec& spec = target.spec();
    const std::string manifest = spec.manifest ? spec.manifest->path.string() : "";
    ::setenv("HALYARD_DRIVER_FILES", manifest.c_str(), 1);
    // Executions are sums of a few elements. With this limit, the report names an execution without
    // an answer, instead of a check without a result.
    ::setenv("HALYARD_DRIVER_EXECUTION_TIMEOUT_MS", "10000", 0);
    auto world = std::make_shared<ApiWorld>();
    HALYARD_ASSIGN_OR_RETURN(const std::vector<client::Device> devices, client::allDevices());
    world->device_ = client::deviceNamed(devices, spec.name);
    if (world->device_ == nullptr) {
      return opFailed("the runtime has {} devices, and none is '{}'", devices.size(), spec.name);
    }
    world->cpu_ = devices.back().handle;
    HALYARD_EXPECT_OK(ANeuralNetworksDevice_getFeatureLevel(world->device_, &world->level_));
    for (const int32_t type :
         {ANEURALNETWORKS_TENSOR_FLOAT32, ANEURALNETWORKS_TENSOR_QUANT8_ASYMM}) {
      HALYARD_ASSIGN_OR_RETURN(const bool adds, world->adds(type));
      if (!adds) continue;
      world->sumType_ = type;
      break;
    }
    slot = world;
  }
  return static_cast<ApiWorld*>(slot.get());
}

Result<bool> ApiWorld::adds(int32_t type) {
  const int32_t before = std::exchange(sumType_, type);
  auto model = sum({4}, {4}, {4});
  sumType_ = before;
  if (!model.ok()) return model.takeStatus();
  return takes(*model, 1);
}

std::vector<uint8_t> ApiWorld::elements(std::initializer_list<int> values) const {
  std::vector<uint8_t> bytes;
  for (const int value : values) {
    const std::vector<uint8_t> one = elements(1, value);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return bytes;
}

std::vector<uint8_t> ApiWorld::elements(size_t count, int value) const {
  if (elementSize() == 1) return std::vector<uint8_t>(count, static_cast<uint8_t>(value));
  const std::vector<float> floats(count, static_cast<float>(value));
  std::vector<uint8_t> bytes(count * 4);
  std::memcpy(bytes.data(), floats.data(), bytes.size());
  return bytes;
}

ANeuralNetworksOperandType ApiWorld::tensor(const Dims& dims) const {
  const bool isFloat = sumType_ == ANEURALNETWORKS_TENSOR_FLOAT32;
  return {sumType_, static_cast<uint32_t>(dims.size()), dims.empty() ? nullptr : dims.data(),
          isFloat ? 0.0f : 1.0f, 0};
}

Result<client::Model> ApiWorld::sum(const Dims& a, const Dims& b, const Dims& out) const {
  HALYARD_ASSIGN_OR_RETURN(client::Model model, newModel());
  const float scale = sumType_ == ANEURALNETWORKS_TENSOR_FLOAT32 ? 0.0f : 1.0f;
  HALYARD_EXPECT_OK(client::addSum(model.get(), a, b, out, sumType_, scale));
  HALYARD_EXPECT_OK(model.finish());
  return model;
}

Result<bool> ApiWorld::takes(const client::Model& model, size_t operations) const {
  std::vector<bool> supported;
  HALYARD_EXPECT_OK(model.getSupportedOperationsForDevices({&device_, 1}, operations, supported));
  return std::ranges::all_of(supported, [](bool one) { return one; });
}

Result<client::Compilation> ApiWorld::compile(const client::Model& model) const {
  client::Compilation compilation;
  HALYARD_EXPECT_OK(compilation.createForDevices(model.get(), {&device_, 1}));
  HALYARD_EXPECT_OK(compilation.finish());
  return compilation;
}

Result<CompiledSum> CompiledSum::make(const ApiWorld& world, const Dims& dims) {
  CompiledSum made;
  HALYARD_ASSIGN_OR_RETURN(made.model, world.sum(dims, dims, dims));
  HALYARD_ASSIGN_OR_RETURN(made.compilation, world.compile(made.model));
  return made;
}

Result<client::Execution> CompiledSum::execution() const {
  client::Execution execution;
  HALYARD_EXPECT_OK(execution.create(compilation.get()));
  return execution;
}

CheckResult tooOld(std::string_view hal) {
  return CheckResult::skipped(fmt::format("this came with HAL {}", hal));
}

Result<FileMemory> FileMemory::make(size_t size) {
  FileMemory made;
  made.fd.reset(::memfd_create("cts", MFD_CLOEXEC));
  if (!made.fd.valid() || ::ftruncate(made.fd.get(), static_cast<off_t>(size)) != 0) {
    return errnoStatus(ResultCode::OP_FAILED, errno, "making shared memory");
  }
  HALYARD_EXPECT_OK(made.memory.createFromFd(size, PROT_READ | PROT_WRITE, made.fd.get(), 0));
  return made;
}

Status FileMemory::write(const std::vector<uint8_t>& bytes, size_t at) const {
  const auto count = ::pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
  return count == static_cast<ssize_t>(bytes.size()) ? okStatus() : opFailed("cannot write");
}

Result<std::vector<uint8_t>> FileMemory::read(size_t size, size_t at) const {
  std::vector<uint8_t> bytes(size);
  const auto count = ::pread(fd.get(), bytes.data(), size, static_cast<off_t>(at));
  if (count != static_cast<ssize_t>(size)) return opFailed("cannot read");
  return bytes;
}

Check& ApiChecks::addAny(std::string name, std::string what, Run run) {
  Check check;
  check.name = std::move(name);
  check.what = std::move(what);
  check.run = [run = std::move(run)](Target& target) -> CheckResult {
    HALYARD_ASSIGN_OR_RETURN(ApiWorld* const world, ApiWorld::of(target));
    return run(*world);
  };
  checks_.push_back(std::move(check));
  return checks_.back();
}

Check& ApiChecks::add(std::string name, std::string what, Run run) {
  return addAny(std::move(name), std::move(what), [run = std::move(run)](ApiWorld& world) {
    if (world.sumType() == ANEURALNETWORKS_INT32) {
      return CheckResult::skipped("the device takes no ADD of float32 or unsigned 8 bits");
    }
    return run(world);
  });
}

}  // namespace halyard::validation
