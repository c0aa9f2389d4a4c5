// Compiling chooses kernels for the operations and places for the temporaries. Running sets the
// pointers, then executes step after step.
#include "compiled_model.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/work_limit.h"
#include "constant_pages.h"
#include "cpu/block_pool.h"
#include "cpu/subgraph_run.h"
#include "halyard/driver/trace.h"
#include "kernels/huge_pages.h"
#include "model/shape_agreement.h"
#include "model_work.h"
#include "run_services.h"

namespace halyard::cpudriver {
namespace {

// Beyond this, placing the temporaries takes too long: it is quadratic.
constexpr size_t kMostOperations = 4096;

// Added to the size of large temporaries, so that two neighbours do not begin at the same offset in
// a page. Otherwise the values of an image's cells, far apart, compete for a few places of the
// first-level cache. Loads also wait for stores that only seem to have the same address.
constexpr size_t kApart = 256;
constexpr size_t kLargeTemporary = 4096;

size_t placeBytes(const ops::Tensor& tensor) {
  const size_t bytes = cpu::byteSizeOf(tensor);
  return bytes < kLargeTemporary ? bytes : bytes + kApart;
}

cpu::BlockPool::Block allocate(size_t bytes) {
  constexpr size_t kAlignment = cpu::BlockPool::kAlignment;
  cpu::BlockPool::Block block;
  block.capacity = (bytes + kAlignment) / kAlignment * kAlignment;
  block.memory.reset(std::aligned_alloc(kAlignment, block.capacity));
  if (block.data() == nullptr) throw std::bad_alloc();
  return block;
}

// Not initialised.
std::shared_ptr<std::byte> allocateArena(size_t bytes) {
  if (bytes >= kHugePage) {
    if (auto memory = mapPages(bytes + cpu::BlockPool::kAlignment, bytes)) return memory;
  }
  cpu::BlockPool::Block block = allocate(bytes);
  return {static_cast<std::byte*>(block.memory.release()), [](std::byte* p) { std::free(p); }};
}

}  // namespace

// Memory of one run, kept for the next.
struct CompiledModel::State {
  explicit State(ThreadShare* threads) : services(threads) {}

  std::shared_ptr<std::byte> arena;
  std::vector<cpu::BlockPool::Block> inputCopies;
  std::vector<void*> data;  // by operand
  // Of steps with the reference kernel, by step.
  std::vector<std::vector<ops::Tensor>> inputs;
  std::vector<std::vector<ops::Tensor>> outputs;
  RunServices services;
};

CompiledModel::CompiledModel(cpu::ExecutionPlan plan, const Resources& resources)
    : plan_(std::move(plan)), resources_(resources) {
  if (resources_.idle != nullptr) resources_.idle->add(this);
}

CompiledModel::~CompiledModel() {
  if (resources_.idle != nullptr) resources_.idle->remove(this);
}

Result<std::unique_ptr<CompiledModel>> CompiledModel::plan(std::shared_ptr<const Model> model,
                                                           const Resources& resources) {
  HALYARD_ASSIGN_OR_RETURN(
      cpu::ExecutionPlan plan,
      cpu::ExecutionPlan::make(std::move(model), cpu::ConstantReading::LARGE_LATER, false));
  std::unique_ptr<CompiledModel> planned(new CompiledModel(std::move(plan), resources));
  if (!planned->isPlain()) planned.reset();
  return planned;
}

Result<std::unique_ptr<CompiledModel>> CompiledModel::compile(std::shared_ptr<const Model> model,
                                                              const Resources& resources) {
  const trace::Scope mark(trace::Layer::DRIVER, trace::Phase::COMPILATION, "compile");
  HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<CompiledModel> compiled,
                           plan(std::move(model), resources));
  if (compiled == nullptr) return compiled;
  HALYARD_RETURN_IF_ERROR(compiled->makeAllSteps());
  return compiled;
}

Result<std::unique_ptr<CompiledModel>> CompiledModel::compileLater(
    std::shared_ptr<const Model> model, const Resources& resources) {
  const trace::Scope mark(trace::Layer::DRIVER, trace::Phase::COMPILATION, "plan");
  HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<CompiledModel> compiled,
                           plan(std::move(model), resources));
  if (compiled == nullptr) return compiled;
  compiled->stepsMade_.set([self = compiled.get()] {
    const trace::Scope compiling(trace::Layer::DRIVER, trace::Phase::COMPILATION, "compile");
    return self->makeAllSteps();
  });
  return compiled;
}

std::unique_ptr<CompiledModel> CompiledModel::compileLater(cpu::ExecutionPlan plan,
                                                           std::shared_ptr<PackedPieces> pieces,
                                                           const Resources& resources) {
  std::unique_ptr<CompiledModel> compiled(new CompiledModel(std::move(plan), resources));
  if (!compiled->isPlain()) return nullptr;
  compiled->stepsMade_.set([self = compiled.get(), pieces = std::move(pieces)] {
    const trace::Scope compiling(trace::Layer::DRIVER, trace::Phase::COMPILATION, "compile");
    return self->makeSharedSteps(*pieces);
  });
  return compiled;
}

Status CompiledModel::makeAllSteps() {
  ConstantPages pages(plan_, resources_.threads);
  std::vector<Step> steps = makeSteps(plan_.main, &pages);
  HALYARD_RETURN_IF_ERROR(Status(pages.status()));
  pages.finish();
  releasedBytes_ = pages.releasedBytes();
  setSteps(std::move(steps));
  return okStatus();
}

Status CompiledModel::makeSharedSteps(PackedPieces& pieces) {
  std::vector<Step> steps;
  {
    SharedPacking packing(pieces, resources_.threads);
    packing.expect(mostPacked(*plan_.base));
    steps = makeSteps(plan_.main, &packing);
    packedBytes_ = packing.ownBytes();
  }
  setSteps(std::move(steps));
  return okStatus();
}

void CompiledModel::setSteps(std::vector<Step> steps) {
  steps_ = std::move(steps);
  placeTemporaries();
  dividesLoops_ = isWorthThreads(productsOf(plan_.main, steps_));
  const Facts made = facts();
  logInfo(
      "model of {} operations in {} steps, {} of them with kernels of the CPU driver's own, {} KiB "
      "between, loops {}",
      made.operations, made.steps, made.ownKernels, made.arenaBytes / 1024,
      made.dividesLoops ? "divided among threads" : "in one thread");
}

// A caller without a deadline makes the steps, if no other thread does: this takes no longer than
// waiting.
Status CompiledModel::awaitSteps(const hal::ExecuteOptions& options) {
  const bool mayWait = options.deadline && resources_.late != nullptr;
  if (mayWait) resources_.late->hurry();
  const WorkLimit limit{options.deadline, options.cancel};
  std::optional<Status> made = mayWait ? stepsMade_.await(limit) : stepsMade_.finish();
  while (!made) {
    HALYARD_RETURN_IF_ERROR(cpu::checkMayGoOn(options, ResultCode::MISSED_DEADLINE_TRANSIENT),
                            "before the model's kernels were made");
    made = stepsMade_.await(limit);
  }
  HALYARD_RETURN_IF_ERROR(cpu::asFailure(std::move(*made)), "making the model's kernels");
  return cpu::checkMayGoOn(options, ResultCode::MISSED_DEADLINE_TRANSIENT);
}

bool CompiledModel::isPlain() const {
  const cpu::SubgraphPlan& main = plan_.main;
  const auto isTrue = [](bool value) { return value; };
  return main.fixed && std::ranges::all_of(main.settled, isTrue) && isOfItsKind(*main.subgraph);
}

bool CompiledModel::isOfItsKind(const Subgraph& main) {
  if (main.operations.size() > kMostOperations) return false;
  return std::ranges::none_of(main.operands, [](const Operand& operand) {
    return operand.lifetime == Lifetime::SUBGRAPH || isExtension(operand.type);
  });
}

void CompiledModel::placeTemporaries() {
  const cpu::SubgraphPlan& main = plan_.main;
  cpu::LifetimePlanner planner(main.tensors.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (uint32_t operand : steps_[i].sources) planner.extend(operand, i);
    for (uint32_t operand : steps_[i].outputs) {
      // An output of the model that is read by later steps, too, is delivered at the end: its
      // memory may be another process's to write.
      const bool isOutput = main.outputPosition[operand].has_value();
      if (isOutput && main.consumers[operand] == 0) continue;
      planner.write(operand, placeBytes(main.tensors[operand]), i);
      if (isOutput) planner.extend(operand, steps_.size());
    }
  }
  // Inputs that reference kernels read. These kernels rely on the values that they have read once.
  std::vector<bool> readByReference(main.tensors.size());
  for (const Step& step : steps_) {
    if (step.kernel != nullptr) continue;
    for (uint32_t operand : step.sources) readByReference[operand] = true;
  }
  for (uint32_t operand : main.subgraph->inputIndexes) {
    copiesInput_.push_back(readByReference[operand]);
  }
  arena_ = planner.place(cpu::BlockPool::kAlignment);
}

bool CompiledModel::takes(std::span<const cpu::Argument> inputs,
                          std::span<const cpu::Argument> outputs) const {
  const cpu::SubgraphPlan& main = plan_.main;
  const auto suits = [&](const cpu::Argument& argument, uint32_t operand) {
    const ops::Tensor& tensor = main.tensors[operand];
    return argument.data != nullptr && isShapeOf(argument.dims, tensor.dims) &&
           argument.length >= cpu::byteSizeOf(tensor) &&
           cpu::isAlignedFor(tensor.type, argument.data);
  };
  const auto allSuit = [&](std::span<const cpu::Argument> arguments,
                           std::span<const uint32_t> operands) {
    if (arguments.size() != operands.size()) return false;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!suits(arguments[i], operands[i])) return false;
    }
    return true;
  };
  return allSuit(inputs, main.subgraph->inputIndexes) &&
         allSuit(outputs, main.subgraph->outputIndexes);
}

std::unique_ptr<CompiledModel::State> CompiledModel::takeState() {
  {
    const std::lock_guard lock(mutex_);
    if (kept_ != nullptr) return std::move(kept_);
  }
  const cpu::SubgraphPlan& main = plan_.main;
  auto state = std::make_unique<State>(resources_.threads);
  if (arena_.bytes > 0) state->arena = allocateArena(arena_.bytes);
  std::byte* const base = state->arena.get();
  for (size_t operand = 0; operand < main.tensors.size(); ++operand) {
    const std::optional<size_t> offset = arena_.offsets[operand];
    state->data.push_back(offset ? base + *offset : main.tensors[operand].data);
  }
  state->inputCopies.resize(copiesInput_.size());
  state->inputs.resize(steps_.size());
  state->outputs.resize(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].kernel != nullptr) continue;
    for (uint32_t operand : steps_[i].inputs) state->inputs[i].push_back(main.tensors[operand]);
    for (uint32_t operand : steps_[i].outputs) state->outputs[i].push_back(main.tensors[operand]);
  }
  return state;
}

void CompiledModel::keepState(std::unique_ptr<State> state) {
  {
    const std::lock_guard lock(mutex_);
    if (kept_ == nullptr) kept_ = std::move(state);
    keptSince_ = IdleMemory::Clock::now();
  }
  if (resources_.idle != nullptr) resources_.idle->startWatching();
}

bool CompiledModel::releaseUnusedSince(IdleMemory::Clock::time_point before) {
  const std::lock_guard lock(mutex_);
  if (kept_ != nullptr && keptSince_ < before) kept_.reset();
  return kept_ != nullptr;
}

void CompiledModel::bind(std::span<const cpu::Argument> inputs,
                         std::span<const cpu::Argument> outputs, State* state) const {
  const cpu::SubgraphPlan& main = plan_.main;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const uint32_t operand = main.subgraph->inputIndexes[i];
    void*& data = state->data[operand];
    data = inputs[i].data;
    // The reference kernels rely on the values that they have read once.
    if (!inputs[i].shared || !copiesInput_[i]) continue;
    cpu::BlockPool::Block& copy = state->inputCopies[i];
    const size_t bytes = cpu::byteSizeOf(main.tensors[operand]);
    if (copy.data() == nullptr) copy = allocate(bytes);
    cpu::copyInChunks(copy.data(), inputs[i].data, bytes);
    data = copy.data();
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const uint32_t operand = main.subgraph->outputIndexes[i];
    if (!arena_.offsets[operand]) state->data[operand] = outputs[i].data;
  }
}

hal::ExecutionResult CompiledModel::run(std::span<const cpu::Argument> inputs,
                                        std::span<const cpu::Argument> outputs,
                                        const hal::ExecuteOptions& options,
                                        std::vector<std::chrono::nanoseconds>* times) {
  const trace::Scope mark(trace::Layer::DRIVER, trace::Phase::EXECUTION, "execute");
  hal::ExecutionResult result;
  result.status = cpu::checkMayGoOn(options, ResultCode::MISSED_DEADLINE_PERSISTENT);
  if (result.status.ok() && !stepsMade_.hasSucceeded()) result.status = awaitSteps(options);
  if (!result.status.ok()) return result;
  const WorkLimit limit{options.deadline, options.cancel};
  const bool limited = options.deadline || options.cancel.stop_possible();
  const bool limitsSteps = limited && !isShort_.load(std::memory_order_relaxed);
  const WorkLimitScope scope(limitsSteps ? &limit : nullptr);
  const ThreadShare::Execution execution(resources_.threads);
  std::unique_ptr<State> state;
  try {
    state = takeState();
    state->services.beginRun(dividesLoops_);
    bind(inputs, outputs, state.get());
    const hal::TimePoint started = limitsSteps ? hal::Clock::now() : hal::TimePoint();
    result.status = runSteps(options, state.get(), times);
    if (limitsSteps && result.status.ok()) noteLength(hal::Clock::now() - started);
    if (result.status.ok()) deliver(outputs, *state);
  } catch (const WorkAbandoned&) {
    result.status = cpu::checkMayGoOn(options, ResultCode::MISSED_DEADLINE_TRANSIENT);
  } catch (const std::bad_alloc&) {
    result.status = Status(ResultCode::OUT_OF_MEMORY, "the CPU driver ran out of memory");
  }
  if (state != nullptr) {
    state->services.reset();
    keepState(std::move(state));
  }
  return result;
}

// The time of own kernels depends on the operands' dimensions, not on their values.
void CompiledModel::noteLength(hal::Clock::duration taken) {
  constexpr std::chrono::microseconds kShort{200};
  const auto isOwn = [](const Step& step) { return step.kernel != nullptr; };
  if (taken < kShort && std::ranges::all_of(steps_, isOwn)) isShort_ = true;
}

Status CompiledModel::runSteps(const hal::ExecuteOptions& options, State* state,
                               std::vector<std::chrono::nanoseconds>* times) const {
  if (times != nullptr) times->resize(steps_.size());
  const std::vector<Operation>& operations = plan_.main.subgraph->operations;
  for (const Step& step : steps_) {
    HALYARD_RETURN_IF_ERROR(cpu::checkMayGoOn(options, ResultCode::MISSED_DEADLINE_TRANSIENT),
                            "before {}",
                            operationText(step.operation, operations[step.operation].type));
    const auto index = static_cast<size_t>(&step - steps_.data());
    const std::string name =
        trace::isActive() ? operationTypeName(operations[step.operation].type) : std::string();
    const trace::OperationScope mark(name, static_cast<uint32_t>(step.operation));
    const hal::TimePoint started = times != nullptr ? hal::Clock::now() : hal::TimePoint();
    Status status;
    if (step.kernel != nullptr) {
      status = step.kernel->run({state->data.data(), step.sources, step.outputs}, state->services);
    } else {
      status = runReference(step, state);
    }
    state->services.reset();
    if (times != nullptr) {
      (*times)[index] += hal::Clock::now() - started;
    }
    HALYARD_RETURN_IF_ERROR(std::move(status), "{}",
                            operationText(step.operation, operations[step.operation].type));
  }
  return okStatus();
}

Status CompiledModel::runReference(const Step& step, State* state) const {
  const auto index = static_cast<size_t>(&step - steps_.data());
  std::vector<ops::Tensor>& inputs = state->inputs[index];
  std::vector<ops::Tensor>& outputs = state->outputs[index];
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].data = state->data[step.sources[i]];
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].data = state->data[step.outputs[i]];
  ops::OperationContext context(inputs, outputs, &state->services);
  return cpu::asFailure(ops::runReference(*plan_.main.definitions[step.operation], context));
}

void CompiledModel::deliver(std::span<const cpu::Argument> outputs, const State& state) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const uint32_t operand = plan_.main.subgraph->outputIndexes[i];
    if (!arena_.offsets[operand]) continue;
    cpu::copyInChunks(outputs[i].data, state.data[operand],
                      cpu::byteSizeOf(plan_.main.tensors[operand]));
  }
}

const ops::Tensor& CompiledModel::input(size_t i) const {
  return plan_.main.tensors[plan_.main.subgraph->inputIndexes[i]];
}

const ops::Tensor& CompiledModel::output(size_t i) const {
  return plan_.main.tensors[plan_.main.subgraph->outputIndexes[i]];
}

std::vector<hal::OutputShape> CompiledModel::outputShapes() const {
  std::vector<hal::OutputShape> shapes;
  for (uint32_t operand : plan_.main.subgraph->outputIndexes) {
    shapes.push_back({plan_.main.tensors[operand].dims, true});
  }
  return shapes;
}

CompiledModel::Facts CompiledModel::facts() const {
  const auto own =
      std::ranges::count_if(steps_, [](const Step& step) { return step.kernel != nullptr; });
  return {plan_.main.subgraph->operations.size(),
          steps_.size(),
          static_cast<size_t>(own),
          arena_.bytes,
          releasedBytes_,
          packedBytes_,
          dividesLoops_};
}

CompiledModel::StepFacts CompiledModel::stepFacts(size_t step) const {
  return {steps_[step].operation, steps_[step].kernel == nullptr};
}

}  // namespace halyard::cpudriver
