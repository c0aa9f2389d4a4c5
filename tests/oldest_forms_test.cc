// Trailing inputs with their default values do not reach a driver. A driver that checks the number
// of inputs accepts operations with later inputs. Every HAL version, in its own process and in this
// one.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "hal/client/library_device.h"
#include "hal/client/remote_device.h"
#include "hal/session/session_services.h"
#include "model/validation/validation.h"
#include "ops/testing/recipes.h"
#include "runtime/compile/compilation.h"
#include "runtime/device/device_manager.h"
#include "runtime/execute/execution.h"
#include "test_definitions.h"

namespace halyard::runtime {
namespace {

// A model of one operation, with more inputs than it needs.
struct LongForm {
  std::string name;
  FeatureLevel needed;  // of the form without them
  ops::testing::LegalCase legal;
  Model model;
};

void appendDefault(Model& model, const ops::OperandSpec& spec) {
  Operand operand;
  operand.type = spec.fixed;
  operand.lifetime = Lifetime::CONSTANT_COPY;
  const int32_t value = *spec.defaultValue;
  const auto flag = static_cast<uint8_t>(value);
  operand.location = spec.fixed == OperandType::BOOL ? appendConstant(model, &flag, sizeof flag)
                                                     : appendConstant(model, &value, sizeof value);
  model.main.operations[0].inputs.push_back(static_cast<uint32_t>(model.main.operands.size()));
  model.main.operands.push_back(operand);
}

// The case in every legal length of its form beyond its own length, which is the shortest. A level
// that has a case already is left out.
void addLongForms(ops::testing::LegalCase legal, const ops::Form& form,
                  std::set<FeatureLevel>* levels, std::vector<LongForm>* found) {
  EXPECT_EQ(legal.problem, "") << legal.id;
  // Outputs of unknown rank are newer than some operations. An execution gives the ranks.
  const Status ran = ops::testing::runOperation(legal.type, legal.inputs, legal.outputs);
  EXPECT_TRUE(ran.ok()) << ran.toString();
  const Model shortest = ops::testing::toModel(legal);
  const FeatureLevel needed = validateModel(shortest).value();
  if (!levels->insert(needed).second) return;
  const size_t least = shortest.main.operations[0].inputs.size();
  for (const ops::CountRule& rule : form.counts) {
    if (rule.count == least) continue;
    LongForm one{fmt::format("{} with {} inputs, {}", operationTypeName(legal.type), rule.count,
                             legal.text()),
                 needed, legal, shortest};
    for (size_t i = least; i < rule.count; ++i) appendDefault(one.model, form.inputs[i]);
    found->push_back(std::move(one));
  }
}

// Some cases of each form that accepts further inputs with defaults.
std::vector<LongForm> longForms() {
  std::vector<LongForm> found;
  for (const auto& [type, recipe] : ops::testing::allRecipes()) {
    const ops::OperationDefinition& definition = *ops::definitionOf(type);
    for (const ops::testing::Variant& variant : ops::testing::variantsOf(definition.signature)) {
      const ops::Form& form = definition.signature.forms[variant.form];
      const auto isShorter = [&](const ops::CountRule& rule) {
        return rule.count < variant.inputs;
      };
      if (form.counts.empty() || std::ranges::any_of(form.counts, isShorter)) continue;
      if (variant.inputs == form.inputs.size() || !form.inputs[variant.inputs].defaultValue) {
        continue;
      }
      // Some ranks are newer than their operation.
      std::set<FeatureLevel> levels;
      for (unsigned round = 0; round < 40; ++round) {
        addLongForms(ops::testing::legalCase(definition, variant, round, 1), form, &levels, &found);
      }
    }
  }
  return found;
}

// The model as an application makes it.
std::unique_ptr<ModelBuilder> build(const Model& model, ExtensionRegistry& extensions) {
  auto builder = std::make_unique<ModelBuilder>(extensions);
  const auto expectOk = [](const Status& status) { EXPECT_TRUE(status.ok()) << status.toString(); };
  const Subgraph& main = model.main;
  for (uint32_t i = 0; i < main.operands.size(); ++i) {
    const Operand& operand = main.operands[i];
    expectOk(
        builder->addOperand(operand.type, operand.dimensions, operand.scale, operand.zeroPoint));
    if (const auto* quant = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams)) {
      expectOk(builder->setOperandSymmPerChannelQuantParams(i, *quant));
    }
    if (operand.lifetime == Lifetime::NO_VALUE) {
      expectOk(builder->setOperandValue(i, nullptr, 0));
    } else if (operand.lifetime == Lifetime::CONSTANT_COPY) {
      expectOk(builder->setOperandValue(i, model.operandValues.data() + operand.location.offset,
                                        operand.location.length));
    }
  }
  for (const Operation& operation : main.operations) {
    expectOk(builder->addOperation(operation.type, operation.inputs, operation.outputs));
  }
  expectOk(builder->identifyInputsAndOutputs(main.inputIndexes, main.outputIndexes));
  expectOk(builder->finish());
  return builder;
}

// The outputs as the device computes them; empty after an error.
std::vector<std::vector<uint8_t>> compute(const LongForm& form, const ModelBuilder& builder,
                                          const Device& device) {
  auto compilation = Compilation::create(builder, {&device}, true);
  if (!compilation.ok()) {
    ADD_FAILURE() << compilation.status().toString();
    return {};
  }
  Status status = (*compilation)->finish();
  EXPECT_TRUE(status.ok()) << status.toString();
  if (!status.ok()) return {};
  Execution execution(**compilation);
  using enum Execution::Direction;
  const Subgraph& main = form.model.main;
  std::vector<std::vector<uint8_t>> inputs;
  for (const uint32_t operand : main.inputIndexes) {
    const auto& bytes = form.legal.inputs[operand].bytes;
    inputs.emplace_back(bytes.begin(), bytes.end());
  }
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    status = execution.setArgument(INPUT, i, nullptr, inputs[i].data(), inputs[i].size());
    EXPECT_TRUE(status.ok()) << status.toString();
  }
  std::vector<std::vector<uint8_t>> outputs;
  for (const uint32_t operand : main.outputIndexes) {
    const Operand& output = main.operands[operand];
    outputs.emplace_back(knownByteSize(output.type, output.dimensions).value_or(0));
  }
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    status = execution.setArgument(OUTPUT, i, nullptr, outputs[i].data(), outputs[i].size());
    EXPECT_TRUE(status.ok()) << status.toString();
  }
  status = execution.compute();
  EXPECT_TRUE(status.ok()) << status.toString();
  return outputs;
}

hal::Manifest manifestOf(HalVersion version, bool isLibrary) {
  hal::Manifest manifest;
  manifest.name = "test-oldest-forms";
  manifest.version = "1";
  manifest.halVersion = version;
  if (isLibrary) manifest.kind = hal::Manifest::Kind::LIBRARY;
  manifest.target = isLibrary ? OLDEST_FORMS_LIBRARY : OLDEST_FORMS_DRIVER;
  return manifest;
}

TEST(OldestForms, ReachDriversThatGoByTheNumberOfInputs) {
  const std::vector<LongForm> forms = longForms();
  const std::shared_ptr<hal::RpcLoop> loop = hal::RpcLoop::start().value();
  for (const HalVersion version :
       {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2, HalVersion::V1_3}) {
    for (const bool isLibrary : {false, true}) {
      SCOPED_TRACE(fmt::format("HAL {}, {}", halVersionName(version),
                               isLibrary ? "a library" : "in its own process"));
      const auto services = std::make_shared<hal::SessionServices>();
      const hal::Manifest manifest = manifestOf(version, isLibrary);
      std::shared_ptr<hal::Device> driver;
      if (isLibrary) {
        driver = hal::openLibrary(manifest, services).value();
      } else {
        driver = hal::RemoteDevice::open(loop, manifest, std::nullopt, services).value();
      }
      std::vector<Device> drivers;
      drivers.emplace_back(std::move(driver), "oldest.json", false);
      DeviceManager manager(std::move(drivers), services);
      const Device* const device = &manager.devices()[0];
      const Device& cpu = manager.devices()[1];
      std::set<OperationType> tried;
      for (const LongForm& form : forms) {
        if (form.needed > hal::offeredLevel(device->info())) continue;
        SCOPED_TRACE(form.name);
        tried.insert(form.legal.type);
        const auto builder = build(form.model, manager.extensions());
        const auto supported = supportedOperations(*builder, std::span(&device, 1));
        ASSERT_TRUE(supported.ok()) << supported.status().toString();
        EXPECT_EQ(*supported, std::vector<bool>{true});
        EXPECT_EQ(compute(form, *builder, *device), compute(form, *builder, cpu));
        if (HasFailure()) return;
      }
      // Operations of HAL 1.0 with later inputs; 1.1 added two more, and 1.2 one.
      EXPECT_EQ(tried.size(), version == HalVersion::V1_0   ? 11u
                              : version == HalVersion::V1_1 ? 13u
                                                            : 14u);
    }
  }
}

}  // namespace
}  // namespace halyard::runtime
