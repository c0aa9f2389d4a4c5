#include "serve/scheduling/instance.h"

#include <halyard/halyard.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include "base/log.h"
#include "serve/scheduling/tensor_copy.h"

namespace halyard::serve {
namespace {

constexpr int kMostRecoveries = 5;
constexpr std::chrono::milliseconds kFirstPause{5};  // doubles with each further recovery

// A slice of the process's trace (HALYARD_TRACE).
class TraceSlice {
 public:
  explicit TraceSlice(const std::string& text) {
    halyard_traceBegin(HALYARD_PHASE_EXECUTION, text.c_str());
  }
  ~TraceSlice() { halyard_traceEnd(); }
  TraceSlice(const TraceSlice&) = delete;
  TraceSlice& operator=(const TraceSlice&) = delete;
};

bool isDeath(const Status& status) {
  return status.code() == ResultCode::DEAD_OBJECT ||
         status.code() == ResultCode::UNAVAILABLE_DEVICE;
}

// The deadline of a whole batch: the last one of its requests, since an earlier end would fail the
// other ones.
std::optional<Clock::time_point> deadlineOf(std::span<const QueuedRequestPtr> batch) {
  std::optional<Clock::time_point> last;
  for (const QueuedRequestPtr& request : batch) {
    if (!request->deadline) return std::nullopt;
    last = std::max(last.value_or(*request->deadline), *request->deadline);
  }
  return last;
}

bool isFloat(Datatype datatype) { return datatype == Datatype::FP32; }

// Random values of an input: any bits, except that floats are between -1 and 1.
void fillRandomly(Datatype datatype, std::span<uint8_t> bytes, std::minstd_rand& random) {
  if (datatype == Datatype::FP32) {
    std::uniform_real_distribution<float> values(-1, 1);
    for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
      const float value = values(random);
      std::memcpy(bytes.data() + at, &value, sizeof(value));
    }
    return;
  }
  // Small values are valid for indices and booleans, and for halves.
  const int most = datatypeSize(datatype) == 1 && datatype != Datatype::BOOL ? 255 : 1;
  std::uniform_int_distribution<int> values(0, most);
  const size_t step = std::max<size_t>(storedSize(datatype), 1);
  std::ranges::fill(bytes, uint8_t{0});
  for (size_t at = 0; at < bytes.size(); at += step) bytes[at] = uint8_t(values(random));
}

// Whether two results of the same inputs agree: floats within a thousandth of the largest value,
// other types within two steps.
bool agree(Datatype datatype, std::span<const uint8_t> a, std::span<const uint8_t> b) {
  if (a.size() != b.size()) return false;
  if (isFloat(datatype)) {
    float largest = 0;
    float difference = 0;
    for (size_t at = 0; at + sizeof(float) <= a.size(); at += sizeof(float)) {
      float x = 0;
      float y = 0;
      std::memcpy(&x, a.data() + at, sizeof(x));
      std::memcpy(&y, b.data() + at, sizeof(y));
      if (std::memcmp(&x, &y, sizeof(x)) == 0) continue;
      largest = std::max({largest, std::abs(x), std::abs(y)});
      difference = std::max(difference, std::abs(x - y));
      if (std::isnan(x) != std::isnan(y)) return false;
    }
    return difference <= 1e-3F * largest;
  }
  if (datatypeSize(datatype) != 1) return std::ranges::equal(a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    const int difference = datatype == Datatype::INT8 ? int8_t(a[i]) - int8_t(b[i]) : a[i] - b[i];
    if (std::abs(difference) > 2) return false;
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<Instance>> Instance::create(CompiledGroup& group, const ModelShape& shape,
                                                   StatisticsKeeper& statistics) {
  std::unique_ptr<Instance> created(new Instance(group, shape, statistics));
  for (const uint32_t size : group.sizes()) {
    HALYARD_ASSIGN_OR_RETURN(created->executions_[size], BoundExecution::create(group.model(size)));
  }
  return created;
}

// The smallest size with room for the rows.
uint32_t Instance::sizeFor(uint32_t rows) const {
  if (!shape_.batches) return executions_.begin()->first;
  return executions_.lower_bound(rows)->first;
}

void Instance::compute(std::vector<QueuedRequestPtr> batch) {
  computeTogether(batch, batch.size() > 1);
}

void Instance::computeTogether(std::span<const QueuedRequestPtr> batch, bool mayDivide) {
  const Clock::time_point start = Clock::now();
  uint32_t rows = 0;
  for (const QueuedRequestPtr& request : batch) rows += request->rows;
  const uint32_t size = sizeFor(rows);
  const TraceSlice slice(
      fmt::format("serve {}: {} in {} requests", shape_.name, rows, batch.size()));
  // The marks that join the traces of clients with this one.
  for (const QueuedRequestPtr& request : batch) {
    if (!request->request->trace.empty()) const TraceSlice mark(request->request->trace);
  }
  ExecutionTimes times;
  const Status status = execute(size, batch, times);
  if (!status.ok() && mayDivide) {
    for (size_t i = 0; i < batch.size(); ++i) computeTogether(batch.subspan(i, 1), false);
    return;
  }
  std::vector<InferAnswer> answers;
  const Clock::time_point computed = Clock::now();
  uint32_t firstRow = 0;
  for (const QueuedRequestPtr& request : batch) {
    Result<InferAnswer> answer = status.ok()
                                     ? answerOf(*executions_.at(size), *request, firstRow, size)
                                     : Result<InferAnswer>(status);
    if (!answer.ok()) {
      Status failure = answer.takeStatus();
      // The request was valid, so a device's BAD_DATA is not the client's fault.
      if (failure.code() == ResultCode::BAD_DATA && !status.ok()) {
        failure = failure.withCode(ResultCode::OP_FAILED);
      }
      failure.annotate(fmt::format("model '{}' version {}", shape_.name, shape_.version));
      answer = InferAnswer{Outcome::of(failure), shape_.version, {}};
    }
    answers.push_back(std::move(*answer));
    firstRow += request->rows;
  }
  const Clock::time_point end = Clock::now();
  times.output = end - computed;
  if (status.ok()) statistics_.addExecution(rows, batch.size(), times);
  for (size_t i = 0; i < batch.size(); ++i) {
    const auto total = end - batch[i]->arrival;
    if (answers[i].outcome.ok()) {
      statistics_.addSuccess(start - batch[i]->arrival, total);
    } else {
      statistics_.addFailure(answers[i].outcome.fault(), total);
    }
    batch[i]->done(std::move(answers[i]));
  }
}

// Computes, again after the death of a driver.
Status Instance::execute(uint32_t size, std::span<const QueuedRequestPtr> batch,
                         ExecutionTimes& times) {
  const std::optional<Clock::time_point> deadline = deadlineOf(batch);
  auto pause = kFirstPause;
  for (int recoveries = 0;; ++recoveries) {
    BoundExecution& execution = *executions_.at(size);
    const Clock::time_point start = Clock::now();
    gather(execution, batch);
    const Clock::time_point gathered = Clock::now();
    Status status = execution.compute(deadline);
    times.input = gathered - start;
    times.infer = Clock::now() - gathered;
    if (!isDeath(status) || recoveries == kMostRecoveries) return status;
    logWarning("model '{}' version {} is compiled again: {}", shape_.name, shape_.version,
               status.message());
    Status recovered;
    do {
      if (recoveries > 0) {
        std::this_thread::sleep_for(pause);
        pause *= 2;
      }
      if (deadline && Clock::now() >= *deadline) {
        return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT,
                          "the deadline passed after the death of a driver: {}", status.message());
      }
      recovered = recover(size);
      if (recovered.ok()) break;
      ++recoveries;
    } while (recoveries < kMostRecoveries);
    if (!recovered.ok()) return recovered.annotate(status.message());
  }
}

Status Instance::recover(uint32_t size) {
  std::unique_ptr<BoundExecution>& execution = executions_.at(size);
  HALYARD_ASSIGN_OR_RETURN(auto model, group_.replacement(size, group_.model(size)));
  HALYARD_ASSIGN_OR_RETURN(execution, BoundExecution::create(std::move(model)));
  statistics_.addRecovery();
  return okStatus();
}

// Copies the inputs of the requests, one behind the other. Rows behind the last one keep old
// values, which nothing reads.
void Instance::gather(BoundExecution& execution, std::span<const QueuedRequestPtr> batch) const {
  for (size_t i = 0; i < shape_.inputs.size(); ++i) {
    const Datatype datatype = shape_.inputs[i].datatype;
    std::span<uint8_t> to = execution.input(i);
    for (const QueuedRequestPtr& request : batch) {
      const std::span<const uint8_t> from = request->inputs[i]->bytes;
      copyIn(datatype, from, to);
      to = to.subspan(from.size() / datatypeSize(datatype) * storedSize(datatype));
    }
  }
}

Result<InferAnswer> Instance::answerOf(const BoundExecution& execution,
                                       const QueuedRequest& request, uint32_t firstRow,
                                       uint32_t size) const {
  InferAnswer answer;
  answer.version = shape_.version;
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    const size_t index = request.outputs[i];
    const TensorInfo& info = shape_.outputs[index];
    HALYARD_ASSIGN_OR_RETURN(BoundExecution::Output value, execution.output(index));
    OutputTensor& output = answer.outputs.emplace_back();
    output.name = info.name;
    output.datatype = info.datatype;
    for (const uint32_t extent : value.dimensions) output.shape.push_back(int64_t{extent});
    std::span<const uint8_t> bytes = value.bytes;
    if (shape_.batches) {
      if (value.dimensions.empty() || value.dimensions[0] != size) {
        return opFailed("output '{}' has the shape {} for a batch of {}", info.name,
                        shapeText(output.shape), size);
      }
      const size_t row = bytes.size() / size;
      bytes = bytes.subspan(row * firstRow, row * request.rows);
      output.shape[0] = request.rows;
    }
    copyOut(info.datatype, bytes, output.bytes);
    if (request.classes[i] != 0) {
      HALYARD_RETURN_IF_ERROR(classify(output, request.classes[i], shape_.labels, shape_.batches));
    }
  }
  return answer;
}

Status Instance::warmUp() {
  for (const auto& [size, execution] : executions_) {
    HALYARD_RETURN_IF_ERROR(execution->compute(std::nullopt), "a first execution with zeros");
  }
  return okStatus();
}

Status Instance::checkIndependence(uint32_t size) {
  BoundExecution& together = *executions_.at(size);
  BoundExecution& alone = *executions_.begin()->second;  // of the size 1
  std::minstd_rand random(size);
  for (size_t i = 0; i < shape_.inputs.size(); ++i) {
    fillRandomly(shape_.inputs[i].datatype, together.input(i), random);
  }
  HALYARD_RETURN_IF_ERROR(together.compute(std::nullopt));
  for (uint32_t row = 0; row < size; ++row) {
    for (size_t i = 0; i < shape_.inputs.size(); ++i) {
      const std::span<uint8_t> one = alone.input(i);
      std::ranges::copy(together.input(i).subspan(one.size() * row, one.size()), one.begin());
    }
    HALYARD_RETURN_IF_ERROR(alone.compute(std::nullopt));
    for (size_t i = 0; i < shape_.outputs.size(); ++i) {
      HALYARD_ASSIGN_OR_RETURN(const BoundExecution::Output all, together.output(i));
      HALYARD_ASSIGN_OR_RETURN(const BoundExecution::Output one, alone.output(i));
      const std::span<const uint8_t> part =
          all.bytes.size() < one.bytes.size() * (row + 1)
              ? std::span<const uint8_t>()
              : all.bytes.subspan(one.bytes.size() * row, one.bytes.size());
      if (!agree(shape_.outputs[i].datatype, part, one.bytes)) {
        return badData("output '{}' of element {} in a batch of {} differs from the same alone",
                       shape_.outputs[i].name, row, size);
      }
    }
  }
  return okStatus();
}

}  // namespace halyard::serve
