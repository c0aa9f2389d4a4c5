#include "serve/scheduling/served_model.h"

#include <algorithm>

#include "serve/scheduling/tensor_copy.h"

namespace halyard::serve {
namespace {

// The priority of requests that name none; 1 is the highest.
constexpr uint32_t kUsualPriority = 100;

// 1, 2, 4, 8 ... and the largest size.
std::vector<uint32_t> sizesUpTo(uint32_t most) {
  std::vector<uint32_t> sizes;
  for (uint32_t size = 1; size < most; size *= 2) sizes.push_back(size);
  sizes.push_back(most);
  return sizes;
}

// `tensors`: a list of objects with names.
std::string namesOf(const auto& tensors) {
  std::string names;
  for (const auto& each : tensors) {
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", each.name);
  }
  return names;
}

}  // namespace

ServedModel::ServedModel(const ModelPlace& place, const ModelSettings& settings)
    : settings_(settings) {
  shape_.name = place.name;
  shape_.version = place.version;
  shape_.labels = settings.labels;
}

Result<std::shared_ptr<ServedModel>> ServedModel::load(const ModelPlace& place,
                                                       const ModelSettings& settings) {
  std::shared_ptr<ServedModel> made(new ServedModel(place, settings));
  HALYARD_RETURN_IF_ERROR(made->compile(place), "model '{}' version {}", place.name, place.version);
  return made;
}

Status ServedModel::compile(const ModelPlace& place) {
  std::vector<std::unique_ptr<Instance>> instances;
  if (settings_.maxBatch != 0) {
    shape_.batches = true;
    const auto withBatches = [&]() -> Status {
      HALYARD_RETURN_IF_ERROR(compileGroups(place, sizesUpTo(settings_.maxBatch)));
      HALYARD_RETURN_IF_ERROR(makeInstances(instances));
      return checkBatches(*instances.front());
    };
    const Status status = withBatches();
    if (!status.ok()) {
      batchRefusal_ = status.message();
      shape_.batches = false;
      instances.clear();
      groups_.clear();
    }
  }
  if (!shape_.batches) {
    HALYARD_RETURN_IF_ERROR(compileGroups(place, {0}));
    HALYARD_RETURN_IF_ERROR(makeInstances(instances));
  }
  for (const auto& instance : instances) HALYARD_RETURN_IF_ERROR(instance->warmUp());
  // Without batches, each request is a batch of one.
  if (!shape_.batches) sizes_ = {1};
  scheduler_ = std::make_unique<Scheduler>(
      fmt::format("model '{}' version {}", shape_.name, shape_.version),
      SchedulerLimits{sizes_, settings_.queueDelay, settings_.queueLimit}, std::move(instances),
      statistics_);
  return okStatus();
}

Status ServedModel::compileGroups(const ModelPlace& place, const std::vector<uint32_t>& sizes) {
  sizes_ = sizes;
  for (const InstanceGroup& group : settings_.instances) {
    CompileSettings compile;
    compile.devices = group.devices;
    compile.preference = settings_.preference;
    compile.priority = settings_.priority;
    compile.allowFloat16 = settings_.allowFloat16;
    compile.cacheFolder = place.cacheFolder;
    HALYARD_ASSIGN_OR_RETURN(groups_.emplace_back(),
                             CompiledGroup::create(place.file, std::move(compile), sizes));
  }
  return describe();
}

Status ServedModel::describe() {
  const auto model = groups_.front()->model(sizes_.front());
  const auto infosOf = [](const std::vector<import::ModelPort>& ports,
                          std::vector<TensorInfo>& infos) -> Status {
    infos.clear();
    for (const import::ModelPort& port : ports) {
      HALYARD_ASSIGN_OR_RETURN(infos.emplace_back(), tensorInfoOf(port));
    }
    return okStatus();
  };
  HALYARD_RETURN_IF_ERROR(infosOf(model->imported().inputs, shape_.inputs), "an input");
  HALYARD_RETURN_IF_ERROR(infosOf(model->imported().outputs, shape_.outputs), "an output");
  inputs_ = shape_.inputs;
  outputs_ = shape_.outputs;
  if (!shape_.batches) return okStatus();
  for (TensorInfo& info : inputs_) info.shape[0] = -1;
  for (TensorInfo& info : outputs_) info.shape[0] = -1;
  return okStatus();
}

Status ServedModel::makeInstances(std::vector<std::unique_ptr<Instance>>& instances) {
  for (size_t i = 0; i < groups_.size(); ++i) {
    for (uint32_t n = 0; n < settings_.instances[i].count; ++n) {
      HALYARD_ASSIGN_OR_RETURN(instances.emplace_back(),
                               Instance::create(*groups_[i], shape_, statistics_));
    }
  }
  return okStatus();
}

Status ServedModel::checkBatches(Instance& instance) {
  for (const uint32_t size : sizes_) {
    if (size != 1) HALYARD_RETURN_IF_ERROR(instance.checkIndependence(size));
  }
  return okStatus();
}

Result<std::string> ServedModel::report() const {
  return groups_.front()
      ->model(sizes_.front() == 1 && !shape_.batches ? 0 : sizes_.front())
      ->report();
}

Status ServedModel::validateInput(const TensorInfo& info, const InputTensor& input, Regions regions,
                                  QueuedRequest& queued) const {
  if (input.datatype != info.datatype) {
    return badData("the datatype is {}, expected {}", datatypeName(input.datatype),
                   datatypeName(info.datatype));
  }
  const auto mismatch = [&] {
    return badData("the shape is {}, expected {}", shapeText(input.shape), shapeText(info.shape));
  };
  if (input.shape.size() != info.shape.size()) return mismatch();
  for (size_t d = 0; d < input.shape.size(); ++d) {
    if (info.shape[d] != -1 && input.shape[d] != info.shape[d]) return mismatch();
  }
  if (shape_.batches) {
    const int64_t rows = input.shape[0];
    if (rows < 1 || rows > sizes_.back()) {
      return badData("the shape {} is a batch of {}, expected 1 to {}", shapeText(input.shape),
                     rows, sizes_.back());
    }
    if (!queued.inputs.empty() && rows != queued.rows) {
      return badData("a batch of {}, but the first input has one of {}", rows, queued.rows);
    }
    queued.rows = static_cast<uint32_t>(rows);
  }
  const std::optional<uint64_t> count = elementCount(input.shape);
  const uint64_t size = count.value_or(0) * datatypeSize(info.datatype);
  const bool isUnread = input.region && regions == Regions::UNREAD;
  const uint64_t given = isUnread ? input.region->size : input.bytes.size();
  if (!count || given != size) {
    return badData("{} bytes, expected {} for {} {}", given, size, datatypeName(info.datatype),
                   shapeText(input.shape));
  }
  return isUnread ? okStatus() : checkNarrow(info.datatype, input.bytes);
}

Status ServedModel::chooseOutputs(const InferRequest& request, QueuedRequest& queued) const {
  if (request.outputs.empty()) {
    for (size_t i = 0; i < outputs_.size(); ++i) queued.outputs.push_back(i);
    queued.classes.assign(outputs_.size(), 0);
    return okStatus();
  }
  for (const WantedOutput& wanted : request.outputs) {
    const auto found = std::ranges::find(outputs_, wanted.name, &TensorInfo::name);
    if (found == outputs_.end()) {
      return badData("there is no output '{}', the model has {}", wanted.name, namesOf(outputs_));
    }
    const auto index = static_cast<size_t>(found - outputs_.begin());
    if (std::ranges::find(queued.outputs, index) != queued.outputs.end()) {
      return badData("output '{}' is requested twice", wanted.name);
    }
    queued.outputs.push_back(index);
    queued.classes.push_back(wanted.classes);
  }
  return okStatus();
}

Result<QueuedRequestPtr> ServedModel::validate(const InferRequest& request, Regions regions) const {
  auto queued = std::make_unique<QueuedRequest>();
  for (const TensorInfo& info : inputs_) {
    const auto found = std::ranges::find(request.inputs, info.name, &InputTensor::name);
    if (found == request.inputs.end()) {
      return badData("input '{}' is missing, expected {}, found {}", info.name, namesOf(inputs_),
                     request.inputs.empty() ? "no input" : namesOf(request.inputs));
    }
    HALYARD_RETURN_IF_ERROR(validateInput(info, *found, regions, *queued), "input '{}'", info.name);
    queued->inputs.push_back(&*found);
  }
  for (const InputTensor& input : request.inputs) {
    if (std::ranges::find(inputs_, input.name, &TensorInfo::name) == inputs_.end()) {
      return badData("there is no input '{}', the model has {}", input.name, namesOf(inputs_));
    }
  }
  if (request.inputs.size() != inputs_.size()) return badData("an input is given twice");
  HALYARD_RETURN_IF_ERROR(chooseOutputs(request, *queued));
  return queued;
}

Outcome ServedModel::refusal(Status status, Clock::time_point arrival) {
  status.annotate(fmt::format("model '{}' version {}", shape_.name, shape_.version));
  statistics_.addFailure(Fault::INVALID, Clock::now() - arrival);
  return Outcome::of(status);
}

Outcome ServedModel::check(const InferRequest& request, Clock::time_point arrival) {
  Result<QueuedRequestPtr> valid = validate(request, Regions::UNREAD);
  return valid.ok() ? Outcome() : refusal(valid.takeStatus(), arrival);
}

void ServedModel::submit(const InferRequest& request, Clock::time_point arrival,
                         AnswerFunction done) {
  Result<QueuedRequestPtr> valid = validate(request, Regions::READ);
  if (!valid.ok()) {
    done({refusal(valid.takeStatus(), arrival), shape_.version, {}});
    return;
  }
  QueuedRequestPtr queued = std::move(*valid);
  queued->request = &request;
  queued->priority = request.priority == 0 ? kUsualPriority : request.priority;
  queued->arrival = arrival;
  queued->deadline = request.deadline;
  if (!queued->deadline && settings_.defaultTimeout) {
    queued->deadline = arrival + *settings_.defaultTimeout;
  }
  queued->done = std::move(done);
  scheduler_->submit(std::move(queued));
}

}  // namespace halyard::serve
