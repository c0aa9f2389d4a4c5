#include "serve/scheduling/compiled_model.h"

#include <algorithm>

#include "base/log.h"
#include "client/cache_folder.h"
#include "client/session.h"
#include "client/status.h"
#include "measure/device_choice.h"

namespace halyard::serve {
namespace {

constexpr size_t kFirstOpenOutput = size_t{64} << 10;
constexpr size_t kMostOpenOutput = size_t{256} << 20;
constexpr size_t kPlaceAlignment = 64;  // in bytes, between inputs or outputs
constexpr int kMostAttempts = 20;       // doubling 64 KiB to 256 MiB takes 12

std::optional<Datatype> datatypeOf(const import::ModelPort& port) {
  if (port.form == import::ElementForm::INT64) return Datatype::INT64;
  switch (port.type) {
    case OperandType::TENSOR_FLOAT32:
    case OperandType::FLOAT32:
      return Datatype::FP32;
    case OperandType::TENSOR_FLOAT16:
    case OperandType::FLOAT16:
      return Datatype::FP16;
    case OperandType::TENSOR_INT32:
    case OperandType::INT32:
      return Datatype::INT32;
    case OperandType::UINT32:
      return Datatype::UINT32;
    case OperandType::TENSOR_BOOL8:
    case OperandType::BOOL:
      return Datatype::BOOL;
    case OperandType::TENSOR_QUANT8_ASYMM:
      return Datatype::UINT8;
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
    case OperandType::TENSOR_QUANT8_SYMM:
      return Datatype::INT8;
    case OperandType::TENSOR_QUANT16_SYMM:
      return Datatype::INT16;
    case OperandType::TENSOR_QUANT16_ASYMM:
      return Datatype::UINT16;
    default:
      return std::nullopt;
  }
}

// Checks that every input and output has the batch as its first dimension.
Status checkBatch(const import::ImportedModel& imported, uint32_t batch) {
  const auto check = [batch](const std::vector<import::ModelPort>& ports, std::string_view what) {
    for (const import::ModelPort& port : ports) {
      if (port.dims.empty() || port.dims[0] != batch) {
        return badData("{} '{}' is {}{} for a batch of {}: its first dimension is not the batch",
                       what, port.name, operandTypeName(port.type), halyard::shapeText(port.dims),
                       batch);
      }
    }
    return okStatus();
  };
  HALYARD_RETURN_IF_ERROR(check(imported.inputs, "input"));
  return check(imported.outputs, "output");
}

}  // namespace

Result<TensorInfo> tensorInfoOf(const import::ModelPort& port) {
  const std::optional<Datatype> datatype = datatypeOf(port);
  if (!datatype) {
    return badData("'{}' is of the type {}, which the protocol lacks", port.name,
                   operandTypeName(port.type));
  }
  TensorInfo info{port.name, *datatype, {}, port.scale, port.zeroPoint};
  for (const uint32_t extent : port.dims) {
    info.shape.push_back(extent == 0 ? -1 : static_cast<int64_t>(extent));
  }
  return info;
}

Result<std::shared_ptr<const CompiledModel>> CompiledModel::create(
    const std::string& file, const CompileSettings& settings) {
  std::shared_ptr<CompiledModel> created(new CompiledModel());
  HALYARD_RETURN_IF_ERROR(created->load(file, settings));
  HALYARD_RETURN_IF_ERROR(created->compile(settings), "{}", file);
  return std::shared_ptr<const CompiledModel>(std::move(created));
}

Result<std::shared_ptr<const CompiledModel>> CompiledModel::again(
    const CompileSettings& settings) const {
  std::shared_ptr<CompiledModel> created(new CompiledModel());
  created->file_ = file_;
  created->token_ = token_;
  created->imported_ = imported_;
  created->batch_ = batch_;
  created->model_ = model_;
  HALYARD_RETURN_IF_ERROR(created->compile(settings), "{}", file_);
  return std::shared_ptr<const CompiledModel>(std::move(created));
}

Status CompiledModel::load(const std::string& file, const CompileSettings& settings) {
  file_ = file;
  batch_ = settings.batch;
  HALYARD_ASSIGN_OR_RETURN(const std::vector<const ANeuralNetworksDevice*> devices,
                           measure::devicesOf(settings.devices));
  HALYARD_ASSIGN_OR_RETURN(import::ImportOptions how, measure::importOptionsFor(devices));
  how.batch = settings.batch;
  how.allowFloat16 = settings.allowFloat16;
  HALYARD_ASSIGN_OR_RETURN(import::ImportedModel read, import::importTfliteFile(file, how));
  if (settings.batch != 0) HALYARD_RETURN_IF_ERROR(checkBatch(read, settings.batch), "{}", file);
  imported_ = std::make_shared<const import::ImportedModel>(std::move(read));
  HALYARD_ASSIGN_OR_RETURN(
      model_,
      client::CanonicalModel::create(std::shared_ptr<const Model>(imported_, &imported_->model)),
      "{}", file);
  if (settings.cacheFolder.empty()) return okStatus();
  Result<Digest> token = sha256OfFile(file);
  if (!token.ok()) {
    logWarning("{} is not cached: {}", file, token.status().message());
    return okStatus();
  }
  token_ = *token;
  // Each size of batch is another model.
  for (size_t i = 0; i < sizeof(batch_); ++i) {
    (*token_)[i] ^= static_cast<uint8_t>(batch_ >> 8 * i);
  }
  return okStatus();
}

// Takes the compilation from the folder, or keeps it there. A folder that cannot be used costs only
// time.
void CompiledModel::useCache(const std::string& folder) const {
  const auto use = [&]() -> Status {
    HALYARD_RETURN_IF_ERROR(client::makeCacheFolder(folder));
    HALYARD_RETURN_IF_FAILED(compilation_.setCaching(folder.c_str(), token_->data()));
    return okStatus();
  };
  const Status status = use();
  if (!status.ok()) logWarning("{} is not cached: {}", file_, status.message());
}

Status CompiledModel::compile(const CompileSettings& settings) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<const ANeuralNetworksDevice*> devices,
                           measure::devicesOf(settings.devices));
  HALYARD_ASSIGN_OR_RETURN(compilation_, model_->createCompilation(devices));
  if (settings.preference) {
    HALYARD_RETURN_IF_FAILED(compilation_.setPreference(*settings.preference));
  }
  if (settings.priority) HALYARD_RETURN_IF_FAILED(compilation_.setPriority(*settings.priority));
  if (token_) useCache(settings.cacheFolder);
  HALYARD_RETURN_IF_FAILED(compilation_.finish());
  takesDeadlines_ = devices.size() == 1;
  return okStatus();
}

Result<std::string> CompiledModel::report() const {
  std::string json;
  HALYARD_RETURN_IF_FAILED(compilation_.report(json));
  return json;
}

Result<std::unique_ptr<BoundExecution>> BoundExecution::create(
    std::shared_ptr<const CompiledModel> model) {
  std::unique_ptr<BoundExecution> created(new BoundExecution(std::move(model)));
  const Subgraph& main = created->model_->imported().model.main;
  for (const uint32_t index : main.outputIndexes) {
    const Operand& operand = main.operands[index];
    created->outputSizes_.push_back(
        knownByteSize(operand.type, operand.dimensions).value_or(kFirstOpenOutput));
  }
  HALYARD_RETURN_IF_ERROR(created->bind());
  return created;
}

// Makes one memory with a place for each input and output, and the execution that is repeated.
Status BoundExecution::bind() {
  const Subgraph& main = model_->imported().model.main;
  std::vector<size_t> sizes;
  for (size_t i = 0; i < main.inputIndexes.size(); ++i) {
    const Operand& operand = main.operands[main.inputIndexes[i]];
    const std::optional<uint32_t> size = knownByteSize(operand.type, operand.dimensions);
    if (!size) return badData("the size of input #{}, {}, is not known", i, operandText(operand));
    sizes.push_back(*size);
  }
  sizes.insert(sizes.end(), outputSizes_.begin(), outputSizes_.end());
  offsets_.clear();
  size_t end = 0;
  for (const size_t size : sizes) {
    offsets_.push_back(end);
    end += (size + kPlaceAlignment - 1) / kPlaceAlignment * kPlaceAlignment;
  }
  HALYARD_ASSIGN_OR_RETURN(const SharedMemoryPtr shared,
                           SharedMemory::create(std::max<size_t>(end, 1), "halyard-arguments"));
  HALYARD_ASSIGN_OR_RETURN(Mapping mapping, shared->map());
  // The inputs keep their values when outputs get more memory.
  for (size_t i = 0; i < inputs_.size(); ++i) {
    std::ranges::copy(inputs_[i], mapping.data() + offsets_[i]);
  }
  mapping_ = std::move(mapping);
  inputs_.clear();
  outputs_.clear();
  for (size_t i = 0; i < sizes.size(); ++i) {
    (i < main.inputIndexes.size() ? inputs_ : outputs_)
        .emplace_back(mapping_.data() + offsets_[i], sizes[i]);
  }
  HALYARD_ASSIGN_OR_RETURN(memory_, client::memoryOf(*shared));
  burst_.reset();
  repeated_.reset();
  HALYARD_RETURN_IF_FAILED(repeated_.create(model_->handle()));
  HALYARD_RETURN_IF_FAILED(repeated_.setReusable(true));
  HALYARD_RETURN_IF_ERROR(bindArguments(repeated_));
  HALYARD_RETURN_IF_FAILED(burst_.create(model_->handle()));
  return okStatus();
}

Status BoundExecution::bindArguments(const client::Execution& execution) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    HALYARD_RETURN_IF_FAILED(execution.setInputFromMemory(
        static_cast<int32_t>(i), nullptr, memory_.get(), offsets_[i], inputs_[i].size()));
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    HALYARD_RETURN_IF_FAILED(
        execution.setOutputFromMemory(static_cast<int32_t>(i), nullptr, memory_.get(),
                                      offsets_[inputs_.size() + i], outputs_[i].size()));
  }
  return okStatus();
}

// The API takes a timeout only before the first computation of an execution. So a computation with
// a deadline has an execution of its own.
Result<client::CallResult> BoundExecution::run(std::optional<Clock::time_point> deadline) {
  lastWasOnce_ = deadline && model_->takesDeadlines();
  if (!lastWasOnce_) return repeated_.burstCompute(burst_.get());
  const auto left = *deadline - Clock::now();
  if (left.count() <= 0) {
    return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT,
                      "the deadline passed before the start");
  }
  once_.reset();
  HALYARD_RETURN_IF_FAILED(once_.create(model_->handle()));
  HALYARD_RETURN_IF_FAILED(once_.setTimeout(
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(left).count())));
  HALYARD_RETURN_IF_ERROR(bindArguments(once_));
  return once_.burstCompute(burst_.get());
}

Status BoundExecution::growOutputs() {
  const Subgraph& main = model_->imported().model.main;
  bool grown = false;
  for (size_t i = 0; i < outputSizes_.size(); ++i) {
    const Operand& operand = main.operands[main.outputIndexes[i]];
    if (knownByteSize(operand.type, operand.dimensions)) continue;
    bool sufficient = true;
    const Result<Shape> dimensions =
        client::outputDimensions(lastWasOnce_ ? once_ : repeated_, i, &sufficient);
    if (dimensions.ok() && sufficient) continue;
    if (outputSizes_[i] * 2 > kMostOpenOutput) {
      return makeStatus(ResultCode::OUTPUT_INSUFFICIENT_SIZE, "output #{} needs more than {} MiB",
                        i, kMostOpenOutput >> 20);
    }
    outputSizes_[i] *= 2;
    grown = true;
  }
  if (!grown) {
    return makeStatus(ResultCode::OUTPUT_INSUFFICIENT_SIZE,
                      "the runtime asks for larger outputs without saying which");
  }
  once_.reset();
  return bind();
}

Status BoundExecution::compute(std::optional<Clock::time_point> deadline) {
  for (int attempt = 1;; ++attempt) {
    HALYARD_ASSIGN_OR_RETURN(const client::CallResult result, run(deadline));
    if (result != ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE || attempt == kMostAttempts) {
      return client::toStatus(result);
    }
    HALYARD_RETURN_IF_ERROR(growOutputs());
  }
}

Result<BoundExecution::Output> BoundExecution::output(size_t i) const {
  HALYARD_ASSIGN_OR_RETURN(Shape dimensions,
                           client::outputDimensions(lastWasOnce_ ? once_ : repeated_, i),
                           "output #{}", i);
  const Subgraph& main = model_->imported().model.main;
  const OperandType type = main.operands[main.outputIndexes[i]].type;
  const std::optional<uint32_t> size = realByteSize(type, dimensions);
  if (!size || *size > outputs_[i].size()) {
    return opFailed("output #{}: the runtime reports {}{}, more than its {} bytes", i,
                    operandTypeName(type), halyard::shapeText(dimensions), outputs_[i].size());
  }
  return Output{std::move(dimensions), outputs_[i].first(*size)};
}

}  // namespace halyard::serve
