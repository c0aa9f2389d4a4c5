// A driver that checks the number of inputs. It accepts every operation only in the shortest forms
// of the operation's first version. A program, or with HALYARD_AS_LIBRARY a library.
#include <algorithm>

#include "cpu/cpu_device.h"
#include "halyard/driver/driver_library.h"
#include "halyard/driver/driver_main.h"
#include "ops/operation.h"

namespace halyard {
namespace {

// The signature with only the shortest list of each form.
ops::Signature shortestForms(ops::Signature signature) {
  for (ops::Form& form : signature.forms) {
    if (form.counts.empty()) continue;
    form.counts = {*std::ranges::min_element(form.counts, {}, &ops::CountRule::count)};
  }
  return signature;
}

bool takes(const Model& model, const Operation& operation) {
  const ops::OperationDefinition* const definition = ops::definitionOf(operation.type);
  return definition != nullptr &&
         ops::checkSignature(shortestForms(definition->signature),
                             ops::OperationView(model, model.main, operation))
             .ok();
}

class OldestForms final : public hal::Device {
 public:
  OldestForms() {
    hal::DeviceInfo info = cpu::cpuDeviceInfo();
    info.name = "test-oldest-forms";
    info.type = hal::DeviceType::ACCELERATOR;
    cpu_ = cpu::makeCpuDevice(std::move(info), 1);
  }
  const hal::DeviceInfo& info() const override { return cpu_->info(); }
  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    hal::SupportedOperations supported;
    for (const Operation& operation : model->main.operations) {
      supported.push_back(takes(*model, operation));
    }
    return supported;
  }
  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& options) override {
    for (const Operation& operation : model->main.operations) {
      if (takes(*model, operation)) continue;
      return badData("{} with {} inputs", operationTypeName(operation.type),
                     operation.inputs.size());
    }
    return cpu_->prepareModel(model, options);
  }

 private:
  std::shared_ptr<hal::Device> cpu_;
};

Result<std::shared_ptr<hal::Device>> make() {
  return std::shared_ptr<hal::Device>(std::make_shared<OldestForms>());
}

}  // namespace
}  // namespace halyard

#ifdef HALYARD_AS_LIBRARY
HALYARD_DRIVER_LIBRARY([] { return halyard::make(); });
#else
int main(int argc, char** argv) { return halyard::hal::driverMain(argc, argv, halyard::make); }
#endif
