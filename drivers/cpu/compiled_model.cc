// Compiling chooses kernels for the operations. Running binds the arguments to kept memory.
#include "compiled_model.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/work_limit.h"
#include "constant_pages.h"
#include "cpu/model_run.h"
#include "cpu/run_services.h"
#include "cpu/step_run.h"
#include "halyard/driver/trace.h"
#include "model/shape_agreement.h"
#include "model_work.h"
#include "run_services.h"
#include "step_list.h"

namespace halyard::cpudriver {

CompiledModel::Resources CompiledModel::Resources::complete() const {
  Resources all = *this;
  if (all.pieces == nullptr) all.pieces = std::make_shared<PackedPieces>();
  if (all.workspaces == nullptr) all.workspaces = std::make_shared<Workspaces>(idle);
  return all;
}

CompiledModel::CompiledModel(cpu::ExecutionPlan plan, const Resources& resources)
    : plan_(std::move(plan)), resources_(resources.complete()) {
  if (resources_.idle != nullptr) resources_.idle->add(this);
}

CompiledModel::~CompiledModel() {
  if (resources_.idle != nullptr) resources_.idle->remove(this);
}

Result<std::unique_ptr<CompiledModel>> CompiledModel::plan(std::shared_ptr<const Model> model,
                                                           const Resources& resources) {
  // Inputs of control flow may be omitted. The operations then run one by one, with all constants.
  const auto reading =
      model->referenced.empty() ? cpu::ConstantReading::LARGE_LATER : cpu::ConstantReading::ALL;
  HALYARD_ASSIGN_OR_RETURN(cpu::ExecutionPlan plan,
                           cpu::ExecutionPlan::make(std::move(model), reading, false));
  if (!cpu::canHaveSteps(plan.main)) return std::unique_ptr<CompiledModel>();
  return std::unique_ptr<CompiledModel>(new CompiledModel(std::move(plan), resources));
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
                                                           const Resources& resources) {
  if (!cpu::canHaveSteps(plan.main)) return nullptr;
  std::unique_ptr<CompiledModel> compiled(new CompiledModel(std::move(plan), resources));
  compiled->stepsMade_.set([self = compiled.get()] {
    const trace::Scope compiling(trace::Layer::DRIVER, trace::Phase::COMPILATION, "compile");
    return self->makeStepsOfPlan();
  });
  return compiled;
}

Status CompiledModel::makeAllSteps() {
  if (!plan_.referenced.empty()) return makeStepsOfPlan();
  ConstantPages pages(plan_, *resources_.pieces, resources_.threads);
  std::vector<Step> steps = makeSteps(plan_.main, &pages, isRelaxed());
  HALYARD_RETURN_IF_ERROR(Status(pages.status()));
  pages.finish();
  releasedBytes_ = pages.releasedBytes();
  packedBytes_ = pages.ownBytes();
  std::shared_ptr<cpu::StepPlan> planned = cpu::planSteps(plan_.main, std::move(steps));
  planned->isOnlyWay = true;
  setSteps(std::move(planned));
  return okStatus();
}

Status CompiledModel::makeStepsOfPlan() {
  SharedPacking packing(*resources_.pieces, resources_.threads);
  packing.expect(mostPacked(plan_.base != nullptr ? *plan_.base : plan_));
  std::vector<Step> steps = makeSteps(plan_.main, &packing, isRelaxed());
  addBodySteps(&plan_, &packing);
  packedBytes_ = packing.ownBytes();
  setSteps(cpu::planSteps(plan_.main, std::move(steps)));
  return okStatus();
}

void CompiledModel::setSteps(std::shared_ptr<const cpu::StepPlan> steps) {
  plan_.main.steps = std::move(steps);
  dividesLoops_ = isWorthThreads(plan_, resources_.clientTakesProcessor);
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

std::unique_ptr<cpu::StepRun> CompiledModel::takeRun() {
  {
    const std::lock_guard lock(mutex_);
    if (kept_ != nullptr) return std::move(kept_);
  }
  return std::make_unique<cpu::StepRun>(plan_.main);
}

void CompiledModel::keepRun(std::unique_ptr<cpu::StepRun> run) {
  {
    const std::lock_guard lock(mutex_);
    if (kept_ == nullptr) kept_ = std::move(run);
    keptSince_ = IdleMemory::Clock::now();
  }
  if (resources_.idle != nullptr) resources_.idle->startWatching();
}

bool CompiledModel::releaseUnusedSince(IdleMemory::Clock::time_point before) {
  const std::lock_guard lock(mutex_);
  if (kept_ != nullptr && keptSince_ < before) kept_.reset();
  return kept_ != nullptr;
}

template <typename Body>
hal::ExecutionResult CompiledModel::runWithMemory(const hal::ExecuteOptions& options,
                                                  const Body& body) {
  const trace::Scope mark(trace::Layer::DRIVER, trace::Phase::EXECUTION, "execute");
  hal::ExecutionResult result;
  result.status = cpu::checkMayGoOn(options, ResultCode::MISSED_DEADLINE_PERSISTENT);
  if (result.status.ok() && !stepsMade_.hasSucceeded()) result.status = awaitSteps(options);
  if (!result.status.ok()) return result;
  const WorkLimit limit{options.deadline, options.cancel};
  const bool isLimited = options.deadline || options.cancel.stop_possible();
  const WorkLimitScope scope(isLimited ? &limit : nullptr);
  const ThreadShare::Execution execution(resources_.threads);
  std::unique_ptr<cpu::StepRun> run;
  std::unique_ptr<Workspace> workspace;
  try {
    run = takeRun();
    workspace = resources_.workspaces->take(plan_.main.steps->places.bytes, resources_.threads);
    run->bindArena(workspace->arena.get());
    workspace->kernels.beginRun(dividesLoops_);
    result = body(*run, *workspace);
  } catch (const WorkAbandoned&) {
    result.status = cpu::checkMayGoOn(options, ResultCode::MISSED_DEADLINE_TRANSIENT);
  } catch (const std::bad_alloc&) {
    result.status = Status(ResultCode::OUT_OF_MEMORY, "the CPU driver ran out of memory");
  }
  if (workspace != nullptr) resources_.workspaces->giveBack(std::move(workspace));
  if (run != nullptr) keepRun(std::move(run));
  return result;
}

hal::ExecutionResult CompiledModel::run(std::span<const cpu::Argument> inputs,
                                        std::span<const cpu::Argument> outputs,
                                        const hal::ExecuteOptions& options,
                                        std::vector<std::chrono::nanoseconds>* times) {
  return runWithMemory(options, [&](cpu::StepRun& run, Workspace& workspace) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      run.bindInput(i, inputs[i].data, inputs[i].shared);
    }
    for (size_t i = 0; i < outputs.size(); ++i) run.bindOutput(i, outputs[i].data);
    hal::ExecutionResult result;
    result.status = run.run({plan_, workspace.kernels, workspace.blocks, &options}, times);
    return result;
  });
}

hal::ExecutionResult CompiledModel::execute(std::span<const cpu::Argument> inputs,
                                            std::span<const cpu::Argument> outputs,
                                            const hal::ExecuteOptions& options) {
  if (!takes(inputs, outputs)) {
    return runWithMemory(options, [&](cpu::StepRun& steps, Workspace& workspace) {
      cpu::ModelRun run(plan_, workspace.kernels, inputs, outputs, &steps);
      return run.run(options, /*allShapes=*/true);
    });
  }
  hal::ExecutionResult result = run(inputs, outputs, options);
  if (result.status.ok()) result.outputShapes = outputShapes();
  return result;
}

std::vector<hal::OutputShape> CompiledModel::outputShapes() const {
  std::vector<hal::OutputShape> shapes;
  for (uint32_t operand : plan_.main.subgraph->outputIndexes) {
    shapes.push_back({plan_.main.tensors[operand].dims, true});
  }
  return shapes;
}

CompiledModel::Facts CompiledModel::facts() const {
  Facts facts{
      .releasedBytes = releasedBytes_, .packedBytes = packedBytes_, .dividesLoops = dividesLoops_};
  if (plan_.main.steps != nullptr) facts.arenaBytes = plan_.main.steps->places.bytes;
  const auto add = [&](const cpu::SubgraphPlan& plan) {
    if (plan.steps == nullptr) return;
    const std::vector<Step>& steps = plan.steps->steps;
    facts.operations += plan.subgraph->operations.size();
    facts.steps += steps.size();
    facts.ownKernels += static_cast<size_t>(
        std::ranges::count_if(steps, [](const Step& step) { return step.kernel != nullptr; }));
  };
  add(plan_.main);
  for (const cpu::SubgraphPlan& body : plan_.referenced) add(body);
  return facts;
}

CompiledModel::StepFacts CompiledModel::stepFacts(size_t step) const {
  const Step& found = plan_.main.steps->steps[step];
  return {found.operation, found.kernel == nullptr};
}

}  // namespace halyard::cpudriver
