#include "validation/cts/api_world.h"

#include <halyard/halyard.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

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

Status addOperand(ANeuralNetworksModel* model, const ANeuralNetworksOperandType& type) {
  HALYARD_EXPECT_OK(ANeuralNetworksModel_addOperand(model, &type));
  return okStatus();
}

Status addOperation(ANeuralNetworksModel* model, int32_t type, std::vector<uint32_t> inputs,
                    std::vector<uint32_t> outputs) {
  HALYARD_EXPECT_OK(ANeuralNetworksModel_addOperation(
      model, type, static_cast<uint32_t>(inputs.size()), inputs.data(),
      static_cast<uint32_t>(outputs.size()), outputs.data()));
  return okStatus();
}

Status identify(ANeuralNetworksModel* model, std::vector<uint32_t> inputs,
                std::vector<uint32_t> outputs) {
  HALYARD_EXPECT_OK(ANeuralNetworksModel_identifyInputsAndOutputs(
      model, static_cast<uint32_t>(inputs.size()), inputs.data(),
      static_cast<uint32_t>(outputs.size()), outputs.data()));
  return okStatus();
}

Result<ApiHandle<ANeuralNetworksModel>> newModel() {
  ANeuralNetworksModel* model = nullptr;
  HALYARD_EXPECT_OK(ANeuralNetworksModel_create(&model));
  return ApiHandle<ANeuralNetworksModel>(model);
}

Result<ApiWorld*> ApiWorld::of(Target& target) {
  std::shared_ptr<void>& slot = target.kept("api");
  if (slot == nullptr) {
    const TargetSpec& spec = target.spec();
    const std::string manifest = spec.manifest ? spec.manifest->path.string() : "";
    ::setenv("HALYARD_DRIVER_FILES", manifest.c_str(), 1);
    // Sums of a few elements: a driver that does not answer one is to be reported as such, and not
    // as a check without a result.
    ::setenv("HALYARD_DRIVER_EXECUTION_TIMEOUT_MS", "10000", 0);
    auto world = std::make_shared<ApiWorld>();
    HALYARD_ASSIGN_OR_RETURN(const std::vector<cli::ApiDevice> devices, cli::listApiDevices());
    for (const cli::ApiDevice& device : devices) {
      if (device.name == spec.name) world->device_ = device.handle;
    }
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
  bool supported = false;
  HALYARD_EXPECT_OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model.value().get(),
                                                                          &device_, 1, &supported));
  return supported;
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

Result<ApiHandle<ANeuralNetworksModel>> ApiWorld::sum(const Dims& a, const Dims& b,
                                                      const Dims& out) const {
  HALYARD_ASSIGN_OR_RETURN(ApiHandle<ANeuralNetworksModel> model, newModel());
  HALYARD_RETURN_IF_ERROR(addOperand(model.get(), tensor(a)));
  HALYARD_RETURN_IF_ERROR(addOperand(model.get(), tensor(b)));
  HALYARD_RETURN_IF_ERROR(addOperand(model.get(), {ANEURALNETWORKS_INT32, 0, nullptr, 0, 0}));
  HALYARD_RETURN_IF_ERROR(addOperand(model.get(), tensor(out)));
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  HALYARD_EXPECT_OK(ANeuralNetworksModel_setOperandValue(model.get(), 2, &none, sizeof none));
  HALYARD_RETURN_IF_ERROR(addOperation(model.get(), ANEURALNETWORKS_ADD, {0, 1, 2}, {3}));
  HALYARD_RETURN_IF_ERROR(identify(model.get(), {0, 1}, {3}));
  HALYARD_EXPECT_OK(ANeuralNetworksModel_finish(model.get()));
  return model;
}

Result<bool> ApiWorld::takes(const ANeuralNetworksModel* model, size_t operations) const {
  const auto supported = std::make_unique<bool[]>(operations);
  HALYARD_EXPECT_OK(
      ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device_, 1, supported.get()));
  return std::all_of(supported.get(), supported.get() + operations, [](bool one) { return one; });
}

Result<ApiHandle<ANeuralNetworksCompilation>> ApiWorld::compile(ANeuralNetworksModel* model) const {
  ANeuralNetworksCompilation* made = nullptr;
  HALYARD_EXPECT_OK(ANeuralNetworksCompilation_createForDevices(model, &device_, 1, &made));
  ApiHandle<ANeuralNetworksCompilation> compilation(made);
  HALYARD_EXPECT_OK(ANeuralNetworksCompilation_finish(made));
  return compilation;
}

Result<CompiledSum> CompiledSum::make(const ApiWorld& world, const Dims& dims) {
  CompiledSum made;
  HALYARD_ASSIGN_OR_RETURN(made.model, world.sum(dims, dims, dims));
  HALYARD_ASSIGN_OR_RETURN(made.compilation, world.compile(made.model.get()));
  return made;
}

Result<ApiHandle<ANeuralNetworksExecution>> CompiledSum::execution() const {
  ANeuralNetworksExecution* made = nullptr;
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_create(compilation.get(), &made));
  return ApiHandle<ANeuralNetworksExecution>(made);
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
  ANeuralNetworksMemory* memory = nullptr;
  HALYARD_EXPECT_OK(
      ANeuralNetworksMemory_createFromFd(size, PROT_READ | PROT_WRITE, made.fd.get(), 0, &memory));
  made.memory.reset(memory);
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
