#include "hal/testing/test_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "hal/testing/forbidden.h"
#include "halyard/driver/trace.h"

namespace halyard::hal::testing {
namespace {

// The bytes of an argument, and the mapping that keeps them valid.
struct Bound {
  Mapping mapping;
  uint8_t* data = nullptr;
  size_t length = 0;
};

Result<Bound> bind(const Request& request, const RequestArgument& argument) {
  Bound bound;
  if (argument.kind == RequestArgument::Kind::POINTER) {
    bound.data = static_cast<uint8_t*>(argument.pointer);
    bound.length = argument.length;
    return bound;
  }
  if (argument.kind == RequestArgument::Kind::NO_VALUE) return badData("argument without value");
  const auto& memory = std::get<SharedMemoryPtr>(request.pools[argument.location.poolIndex]);
  if (const HardwareBufferDescription* image = memory->hardwareBuffer();
      image != nullptr && memory->kind() == MemoryKind::HARDWARE_BUFFER) {
    HALYARD_ASSIGN_OR_RETURN(bound.mapping, memory->mapHardwareBuffer());
    bound.data = bound.mapping.data();
    bound.length = image->width * sizeof(float);
    return bound;
  }
  HALYARD_ASSIGN_OR_RETURN(bound.mapping, memory->map());
  bound.data = bound.mapping.data() + argument.location.offset;
  bound.length = argument.location.length;
  return bound;
}

float biasOf(const ExtensionAttributes& attributes) {
  const std::vector<uint8_t>* const bytes = attributes.find(kTestExtension, kBiasAttribute);
  float bias = 0;
  if (bytes != nullptr && bytes->size() == sizeof bias) {
    std::memcpy(&bias, bytes->data(), sizeof bias);
  }
  return bias;
}

std::string savedText(const char* what, const Token& token) {
  return std::string(what) + static_cast<char>(token[0]);
}

// Replaces the contents of a file by the text.
void write(const UniqueFd& file, const std::string& text) {
  if (::ftruncate(file.get(), 0) != 0) return;
  (void)!::pwrite(file.get(), text.data(), text.size(), 0);
}

class TestPreparedModel final : public PreparedModel {
 public:
  TestPreparedModel(std::shared_ptr<const Model> model, float bias,
                    std::shared_ptr<std::atomic<int>> alive, std::function<void()> onRelease)
      : model_(std::move(model)),
        bias_(bias),
        alive_(std::move(alive)),
        onRelease_(std::move(onRelease)) {}
  ~TestPreparedModel() override {
    if (onRelease_) onRelease_();
  }

  ExecutionResult executeSynchronously(const Request& request,
                                       const ExecuteOptions& options) override {
    const trace::OperationScope mark("ADD", 0);
    ExecutionResult result;
    result.status = run(request, options, result);
    if (options.measureTiming) result.timing = {2'000'000, 3'000'000};
    return result;
  }

  Status saveToCache(int modelCache, int dataCache, const Token& token) override {
    const std::string model = savedText("model", token);
    const std::string data = savedText("data", token);
    const bool written =
        ::write(modelCache, model.data(), model.size()) == static_cast<ssize_t>(model.size()) &&
        ::write(dataCache, data.data(), data.size()) == static_cast<ssize_t>(data.size());
    return written ? okStatus() : opFailed("writing the cache files");
  }

 private:
  Result<Bound> operandData(const Request& request, uint32_t index) {
    const Subgraph& main = model_->main;
    const auto input = std::find(main.inputIndexes.begin(), main.inputIndexes.end(), index);
    if (input != main.inputIndexes.end()) {
      return bind(request, request.inputs[static_cast<size_t>(input - main.inputIndexes.begin())]);
    }
    Bound bound;
    const Operand& operand = main.operands[index];
    bound.length = operand.location.length;
    if (operand.lifetime == Lifetime::CONSTANT_COPY) {
      bound.data = const_cast<uint8_t*>(model_->operandValues.data()) + operand.location.offset;
      return bound;
    }
    HALYARD_ASSIGN_OR_RETURN(bound.mapping, model_->pools[operand.location.poolIndex]->map());
    bound.data = bound.mapping.data() + operand.location.offset;
    return bound;
  }

  Status run(const Request& request, const ExecuteOptions& options, ExecutionResult& result) {
    const Operation& add = model_->main.operations[0];
    HALYARD_ASSIGN_OR_RETURN(const Bound a, operandData(request, add.inputs[0]));
    HALYARD_ASSIGN_OR_RETURN(const Bound b, operandData(request, add.inputs[1]));
    HALYARD_ASSIGN_OR_RETURN(const Bound out, bind(request, request.outputs[0]));
    const auto* const x = reinterpret_cast<const float*>(a.data);
    const auto* const y = reinterpret_cast<const float*>(b.data);
    const size_t n = a.length / sizeof(float);
    if (x[0] == kUntilCancelled) {
      ++*alive_;
      while (!options.cancel.stop_requested()) std::this_thread::yield();
      --*alive_;
      return opFailed("cancelled");
    }
    if (x[0] == kHang) {
      // A computation without system calls. It does not notice that the client has ended.
      for (volatile bool forever = true; forever;) {
      }
    }
    if (x[0] == kAbort) std::abort();
    if (x[0] == kForbidden) {
      const int error = tryForbidden(static_cast<Forbidden>(static_cast<int>(x[1])));
      reinterpret_cast<float*>(out.data)[0] = static_cast<float>(error);
      return okStatus();
    }
    if (x[0] == kThrow) throw std::runtime_error("the test wants it");
    result.outputShapes = {{{static_cast<uint32_t>(n)}, true}};
    if (x[0] == kTooSmall || out.length < n * sizeof(float)) {
      result.outputShapes[0].isSufficient = false;
      return makeStatus(ResultCode::OUTPUT_INSUFFICIENT_SIZE, "output 0 is too small");
    }
    const float bias = bias_ + biasOf(options.attributes);
    for (size_t i = 0; i < n; ++i) reinterpret_cast<float*>(out.data)[i] = x[i] + y[i] + bias;
    return okStatus();
  }

  const std::shared_ptr<const Model> model_;
  const float bias_;
  const std::shared_ptr<std::atomic<int>> alive_;
  const std::function<void()> onRelease_;
};

}  // namespace

TestDevice::TestDevice(HalVersion version) {
  info_.name = "test-device";
  info_.versionString = "test 1";
  info_.halVersion = version;
  info_.type = DeviceType::CPU;
  info_.capabilities = Capabilities::uniform({2.0f, 3.0f});
}

Result<SupportedOperations> TestDevice::getSupportedOperations(const ValidModel& model) {
  SupportedOperations supported;
  for (const Operation& operation : model->main.operations) {
    supported.push_back(operation.type == OperationType::ADD
                            ? OperationSupport::yes(kCostOfAddition)
                            : OperationSupport::no("it only adds"));
  }
  return supported;
}

Result<std::shared_ptr<PreparedModel>> TestDevice::prepareModel(const ValidModel& model,
                                                                const PrepareOptions& options) {
  if (model->main.operations[0].type != OperationType::ADD) return opFailed("only ADD is there");
  if (onPrepare) onPrepare();
  const std::lock_guard lock(mutex_);
  lastModel_ = model.share();
  lastOptions_ = options;
  lastOptions_.cache = nullptr;
  lastCache_.reset();
  if (const CacheFiles* files = options.cache.get()) {
    lastCache_ = {files->modelCache.size(), files->dataCache.size(), files->token};
    for (const UniqueFd& file : files->modelCache) write(file, savedText("model", files->token));
    for (const UniqueFd& file : files->dataCache) write(file, savedText("data", files->token));
  }
  return std::shared_ptr<PreparedModel>(std::make_shared<TestPreparedModel>(
      model.share(), biasOf(options.attributes), alive_, onRelease));
}

Result<CachedModel> TestDevice::prepareModelFromCache(const std::optional<ValidModel>&,
                                                      const PrepareOptions& options) {
  CachedModel cached;
  cached.interface = std::make_shared<const Model>(addModel(4));
  cached.prepared = std::make_shared<TestPreparedModel>(cached.interface, 0.0f, alive_, onRelease);
  if (onLoad) return onLoad(std::move(cached));
  const std::string expected = savedText("model", options.cache->token);
  for (const UniqueFd& file : options.cache->modelCache) {
    char text[16] = {};
    const ssize_t length = ::pread(file.get(), text, sizeof text, 0);
    if (length < 0 || std::string(text, static_cast<size_t>(length)) != expected) {
      return opFailed("the files are not what was saved");
    }
  }
  return cached;
}

std::optional<TestDevice::GivenCache> TestDevice::lastCache() const {
  const std::lock_guard lock(mutex_);
  return lastCache_;
}

std::shared_ptr<const Model> TestDevice::lastModel() const {
  const std::lock_guard lock(mutex_);
  return lastModel_;
}

PrepareOptions TestDevice::lastOptions() const {
  const std::lock_guard lock(mutex_);
  return lastOptions_;
}

namespace {

Operand tensor(uint32_t n, Lifetime lifetime) {
  Operand operand;
  operand.type = OperandType::TENSOR_FLOAT32;
  operand.dimensions = {n};
  operand.lifetime = lifetime;
  return operand;
}

}  // namespace

Model addModel(uint32_t n) {
  Model model;
  model.main.operands = {tensor(n, Lifetime::SUBGRAPH_INPUT), tensor(n, Lifetime::SUBGRAPH_INPUT),
                         Operand(), tensor(n, Lifetime::SUBGRAPH_OUTPUT)};
  const int32_t activation = 0;
  model.main.operands[2].type = OperandType::INT32;
  model.main.operands[2].lifetime = Lifetime::CONSTANT_COPY;
  model.main.operands[2].location = appendConstant(model, &activation, sizeof activation);
  model.main.operations = {{OperationType::ADD, {0, 1, 2}, {3}}};
  model.main.inputIndexes = {0, 1};
  model.main.outputIndexes = {3};
  return model;
}

Model addConstantModel(const std::vector<float>& constant) {
  Model model = addModel(static_cast<uint32_t>(constant.size()));
  model.main.inputIndexes = {0};
  model.main.operands[1].lifetime = Lifetime::CONSTANT_COPY;
  model.main.operands[1].location =
      appendConstant(model, constant.data(), constant.size() * sizeof(float));
  return model;
}

Request pointerRequest(const float* a, const float* b, float* out, uint32_t n) {
  Request request;
  for (const float* input : {a, b}) {
    if (input == nullptr) continue;
    RequestArgument argument;
    argument.kind = RequestArgument::Kind::POINTER;
    argument.pointer = const_cast<float*>(input);
    argument.length = n * static_cast<uint32_t>(sizeof(float));
    argument.dimensions = {n};
    request.inputs.push_back(argument);
  }
  RequestArgument argument;
  argument.kind = RequestArgument::Kind::POINTER;
  argument.pointer = out;
  argument.length = n * static_cast<uint32_t>(sizeof(float));
  argument.dimensions = {n};
  request.outputs.push_back(argument);
  return request;
}

}  // namespace halyard::hal::testing
