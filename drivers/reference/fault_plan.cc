#include "fault_plan.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace halyard::drivers {
namespace {

bool hasOperation(const Subgraph& subgraph, OperationType type) {
  return std::any_of(subgraph.operations.begin(), subgraph.operations.end(),
                     [type](const Operation& operation) { return operation.type == type; });
}

bool hasOperation(const Model& model, OperationType type) {
  return hasOperation(model.main, type) ||
         std::any_of(model.referenced.begin(), model.referenced.end(),
                     [type](const Subgraph& subgraph) { return hasOperation(subgraph, type); });
}

void die(int signal) {
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

Status perform(const Fault& fault) {
  switch (fault.action) {
    case FaultAction::FAIL:
      return Status(fault.status, fault.text);
    case FaultAction::THROW:
      // Breaks the rules of a driver on purpose.
      throw std::runtime_error(fault.text);
    case FaultAction::CRASH:
      die(SIGSEGV);
      break;
    case FaultAction::ABORT:
      die(SIGABRT);
      break;
    case FaultAction::KILL:
      ::raise(SIGKILL);
      break;
    case FaultAction::EXIT:
      ::_exit(fault.exitStatus);
    case FaultAction::STOP:
      ::raise(SIGSTOP);
      break;
    case FaultAction::HANG:
      for (;;) ::pause();
    case FaultAction::WRONG_RESULT:
      break;
  }
  return okStatus();
}

}  // namespace

FaultPlan::FaultPlan(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    faults_.push_back(std::make_unique<Counted>());
    faults_.back()->fault = fault;
  }
}

bool FaultPlan::concerns(FaultPoint point) const {
  return std::any_of(faults_.begin(), faults_.end(),
                     [point](const auto& counted) { return counted->fault.at == point; });
}

FaultPlan::Call FaultPlan::enter(FaultPoint point, const Model* model) {
  Call call;
  for (const std::unique_ptr<Counted>& counted : faults_) {
    const Fault& fault = counted->fault;
    if (fault.at != point) continue;
    if (fault.operation && (model == nullptr || !hasOperation(*model, *fault.operation))) continue;
    const uint64_t number = counted->calls.fetch_add(1) + 1;
    if (number >= fault.nth && number - fault.nth < fault.times) call.faults_.push_back(fault);
  }
  return call;
}

Status FaultPlan::Call::at(FaultMoment moment) const {
  for (const Fault& fault : faults_) {
    if (fault.when != moment) continue;
    if (moment == FaultMoment::ANSWER) {
      std::thread([fault] {
        std::this_thread::sleep_for(fault.delay);
        (void)perform(fault);
      }).detach();
      continue;
    }
    HALYARD_RETURN_IF_ERROR(perform(fault));
  }
  return okStatus();
}

bool FaultPlan::Call::spoilsResult() const {
  return std::any_of(faults_.begin(), faults_.end(),
                     [](const Fault& fault) { return fault.action == FaultAction::WRONG_RESULT; });
}

}  // namespace halyard::drivers
