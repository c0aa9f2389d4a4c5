// Servers that do not check models and requests. The error in a message is corrected before it is
// validated.
#include <cstdlib>
#include <set>
#include <vector>

#include "hal/ring/doorbell.h"
#include "hal/wire/wire_memory.h"
#include "validation/defects/defect.h"

namespace halyard::defects {
namespace {

constexpr auto kFloat32 = static_cast<int32_t>(OperandType::TENSOR_FLOAT32);
constexpr auto kQuant8 = static_cast<int32_t>(OperandType::TENSOR_QUANT8_ASYMM);

void eachOperand(WireMessage& m, void (*change)(wire::Operand::Builder)) {
  KJ_IF_MAYBE (model, modelOf(m)) {
    for (auto operand : model->getMain().getOperands()) change(operand);
  }
}

bool hasNoPlace(wire::OperandLifeTime lifetime) {
  return lifetime == wire::OperandLifeTime::TEMPORARY_VARIABLE ||
         lifetime == wire::OperandLifeTime::SUBGRAPH_INPUT ||
         lifetime == wire::OperandLifeTime::SUBGRAPH_OUTPUT ||
         lifetime == wire::OperandLifeTime::NO_VALUE;
}

void countConsumers(wire::Model::Builder model) {
  auto operands = model.getMain().getOperands();
  std::vector<uint32_t> counts(operands.size());
  for (auto operation : model.getMain().getOperations()) {
    for (const uint32_t input : operation.getInputs()) {
      if (input < counts.size()) ++counts[input];
    }
  }
  for (unsigned i = 0; i < operands.size(); ++i) operands[i].setNumberOfConsumers(counts[i]);
}

// Removes entries that the list contains already.
template <typename Get, typename Init>
void removeDoubles(Get get, Init init) {
  std::vector<uint32_t> once;
  std::set<uint32_t> seen;
  const auto list = get();
  for (const uint32_t one : list) {
    if (seen.insert(one).second) once.push_back(one);
  }
  if (once.size() == list.size()) return;
  auto to = init(static_cast<unsigned>(once.size()));
  for (unsigned i = 0; i < once.size(); ++i) to.set(i, once[i]);
}

// Sets unknown dimensions of the list's operands to 1.
void completeSizes(wire::Subgraph::Builder subgraph, capnp::List<uint32_t>::Builder list) {
  for (const uint32_t index : list) {
    if (index >= subgraph.getOperands().size()) continue;
    auto operand = subgraph.getOperands()[index];
    if (operand.getType() != kFloat32) continue;
    if (operand.getDimensions().size() == 0) operand.initDimensions(1);
    auto dimensions = operand.getDimensions();
    for (unsigned i = 0; i < dimensions.size(); ++i) {
      if (dimensions[i] == 0) dimensions.set(i, 1);
    }
  }
}

const Defect kWireModelDefects[] = {
    {.name = "unchecked-loop-sizes",
     .what = "takes loops of unknown sizes",
     .check = "hal/model/V15_while_input_of_unknown_size@1.3",
     .call =
         [](WireMessage& m) {
           constexpr auto kWhile = static_cast<int32_t>(OperationType::WHILE);
           KJ_IF_MAYBE (model, modelOf(m)) {
             auto main = model->getMain();
             if (main.getOperations().size() != 1) return;
             auto loop = main.getOperations()[0];
             if (loop.getType() != kWhile) return;
             completeSizes(main, loop.getInputs());
             completeSizes(main, loop.getOutputs());
             for (auto inner : model->getReferenced()) {
               completeSizes(inner, inner.getInputIndexes());
               completeSizes(inner, inner.getOutputIndexes());
             }
           }
         }},
    {.name = "unchecked-consumers",
     .what = "takes models with wrong numbers of consumers",
     .check = "hal/model/V13_too_few_consumers@1.0",
     .call =
         [](WireMessage& m) {
           KJ_IF_MAYBE (model, modelOf(m)) countConsumers(*model);
         }},
    {.name = "unchecked-scale",
     .what = "takes floats with a scale",
     .check = "hal/model/V5_scale_of_float32@1.0",
     .call =
         [](WireMessage& m) {
           eachOperand(m, [](wire::Operand::Builder o) {
             if (o.getType() == kFloat32) o.setScale(0);
           });
         }},
    {.name = "unchecked-zero-point",
     .what = "takes quantised tensors with any zero point",
     .check = "hal/model/V6_zero_point_256_of_quant8@1.1",
     .call =
         [](WireMessage& m) {
           eachOperand(m, [](wire::Operand::Builder o) {
             if (o.getType() == kQuant8 && (o.getZeroPoint() < 0 || o.getZeroPoint() > 255)) {
               o.setZeroPoint(0);
             }
           });
         }},
    {.name = "unchecked-scalar-dimensions",
     .what = "takes scalars with dimensions",
     .check = "hal/model/V3_scalar_with_a_dimension@1.0",
     .call =
         [](WireMessage& m) {
           eachOperand(m, [](wire::Operand::Builder o) {
             if (o.getType() == 1) o.initDimensions(0);
           });
         }},
    {.name = "unchecked-location",
     .what = "takes inputs and outputs that lie somewhere",
     .check = "hal/model/V8_input_with_an_offset@1.0",
     .call =
         [](WireMessage& m) {
           eachOperand(m, [](wire::Operand::Builder o) {
             if (hasNoPlace(o.getLifetime())) o.initLocation();
           });
         }},
    {.name = "unchecked-double-inputs",
     .what = "takes models that list an input twice",
     .check = "hal/model/V12_input_twice@1.0",
     .call =
         [](WireMessage& m) {
           KJ_IF_MAYBE (model, modelOf(m)) {
             auto main = model->getMain();
             removeDoubles([&] { return main.getInputIndexes().asReader(); },
                           [&](unsigned n) { return main.initInputIndexes(n); });
           }
         }},
    {.name = "unchecked-surplus-input",
     .what = "leaves out what an ADD has too many of",
     .check = "hal/model/V11_input_added@1.1",
     .call =
         [](WireMessage& m) {
           KJ_IF_MAYBE (model, modelOf(m)) {
             for (auto operation : model->getMain().getOperations()) {
               const auto inputs = operation.getInputs().asReader();
               if (operation.getType() != 0 || inputs.size() <= 3) continue;
               const std::vector<uint32_t> first = {inputs[0], inputs[1], inputs[2]};
               auto to = operation.initInputs(3);
               for (unsigned i = 0; i < 3; ++i) to.set(i, first[i]);
             }
             countConsumers(*model);
           }
         }},
    {.name = "unchecked-preference",
     .what = "takes an undefined preference",
     .check = "hal/model/V16_preference_3@1.3",
     .call =
         [](WireMessage& m) {
           KJ_IF_MAYBE (params,
                        (m.as<wire::v1_3::IDevice, wire::v1_3::IDevice::PrepareModel13Params>(2))) {
             if (static_cast<uint16_t>(params->getPreference()) > 2) {
               params->setPreference(wire::ExecutionPreference::LOW_POWER);
             }
           }
         }},
    {.name = "unchecked-priority",
     .what = "takes an undefined priority",
     .check = "hal/model/V16_priority_-1@1.3",
     .call =
         [](WireMessage& m) {
           KJ_IF_MAYBE (params,
                        (m.as<wire::v1_3::IDevice, wire::v1_3::IDevice::PrepareModel13Params>(2))) {
             if (static_cast<uint16_t>(params->getPriority()) > 2) {
               params->setPriority(wire::Priority::LOW);
             }
           }
         }},
    {.name = "crash-on-bad-index",
     .what = "dies of an operand index outside of the model",
     .check = "hal/model/V11_input_index_outside@1.0",
     .call =
         [](WireMessage& m) {
           KJ_IF_MAYBE (model, modelOf(m)) {
             const unsigned count = model->getMain().getOperands().size();
             for (auto operation : model->getMain().getOperations()) {
               for (const uint32_t input : operation.getInputs()) {
                 if (input >= count) std::abort();
               }
             }
           }
         }},
    {.name = "crash-on-nonsense",
     .what = "dies of an undefined lifetime",
     .check = "hostile/client/50",
     .call =
         [](WireMessage& m) {
           eachOperand(m, [](wire::Operand::Builder o) {
             if (static_cast<uint16_t>(o.getLifetime()) > 6) std::abort();
           });
         }},
    {.name = "unchecked-request-dimensions",
     .what = "does not look at the dimensions of a request",
     .check = "hal/execute/R4_other_rank_of_an_input@1.0",
     .call =
         [](WireMessage& m) {
           KJ_IF_MAYBE (request, requestOf(m)) {
             for (auto input : request->getInputs()) {
               if (input.getDimensions().size() != 1) input.initDimensions(0);
             }
           }
         }},
    {.name = "unchecked-token",
     .what = "takes memory of its own for tokens that it does not know",
     .check = "hal/execute/R6_unknown_token_of_an_input@1.3",
     .call =
         [](WireMessage& m) {
           KJ_IF_MAYBE (request, requestOf(m)) {
             const auto isUnknown = [&](wire::DataLocation::Reader at) {
               const auto pools = request->asReader().getPools();
               if (at.getPoolIndex() >= pools.size()) return false;
               const auto pool = pools[at.getPoolIndex()];
               return pool.isToken() && (pool.getToken() == 0 || pool.getToken() == 100);
             };
             bool changed = false;
             const auto replace = [&](wire::RequestArgument::Builder argument, uint32_t pool) {
               if (!isUnknown(argument.getLocation())) return;
               argument.getLocation().setPoolIndex(pool);
               argument.getLocation().setLength(16);
               changed = true;
             };
             for (auto input : request->getInputs()) replace(input, 0);
             for (auto output : request->getOutputs()) replace(output, 1);
             if (!changed) return;
             // Removes the tokens, which come last.
             auto old = request->disownPools();
             auto kept = old.get();
             auto pools = request->initPools(2);
             for (unsigned i = 0; i < 2; ++i) pools.setWithCaveats(i, kept[i]);
           }
         }},
    {.name = "unchecked-fence",
     .what = "leaves out fences that are null",
     .check = "hal/fenced/null_fence",
     .call =
         [](WireMessage& m) {
           using Params = wire::v1_3::IPreparedModel::ExecuteFencedParams;
           KJ_IF_MAYBE (params, (m.as<wire::v1_3::IPreparedModel, Params>(2))) {
             // The fences are the second pointer of the parameters.
             const auto given = m.content.asReader()
                                    .getAs<capnp::AnyStruct>()
                                    .getPointerSection()[1]
                                    .getAs<capnp::AnyList>()
                                    .as<capnp::List<capnp::AnyPointer>>();
             bool isWhole = true;
             for (const auto one : given) isWhole = isWhole && !one.isNull();
             if (!isWhole) params->initWaitFor(0);
           }
         }},
    {.name = "ignored-fences",
     .what = "does not wait for fences",
     .check = "hal/fenced/reads_after_fences",
     .call =
         [](WireMessage& m) {
           using Params = wire::v1_3::IPreparedModel::ExecuteFencedParams;
           KJ_IF_MAYBE (params, (m.as<wire::v1_3::IPreparedModel, Params>(2))) {
             params->initWaitFor(0);
           }
         }},
    {.name = "stale-burst-slot",
     .what = "keeps the memory of a slot that was given up",
     .check = "hal/burst/freed_slot@1.2",
     .call =
         [](WireMessage& m) {
           using Params = wire::v1_2::IBurstContext::FreeMemoryParams;
           KJ_IF_MAYBE (params, (m.as<wire::v1_2::IBurstContext, Params>(0))) {
             params->setSlot(INT32_MAX);
           }
         }},
    {.name = "unchecked-channels",
     .what = "opens bursts without an event word",
     .check = "hal/burst/channels@1.2",
     .call =
         [](WireMessage& m) {
           using Params = wire::v1_2::IPreparedModel::ConfigureExecutionBurstParams;
           KJ_IF_MAYBE (params, (m.as<wire::v1_2::IPreparedModel, Params>(2))) {
             params->getRequestChannel().setHasEventWord(true);
             params->getResultChannel().setHasEventWord(true);
           }
         }},
    {.name = "deaf-to-its-doorbell",
     .what = "says that it watches its client's doorbell, and watches another",
     .check = "hal/burst/runs@1.2",
     .call =
         [](WireMessage& m) {
           using Params = wire::v1_2::IPreparedModel::ConfigureExecutionBurstParams;
           KJ_IF_MAYBE (params, (m.as<wire::v1_2::IPreparedModel, Params>(2))) {
             static const auto other = hal::Doorbell::create();
             if (!params->hasDoorbell() || !other.ok()) return;
             KJ_IF_MAYBE (file, hal::encodeFile(other->watched())) {
               params->setDoorbell(kj::mv(*file));
             }
           }
         }},
    {.name = "unchecked-roles",
     .what = "allocates buffers that have a role twice",
     .check = "hal/memory/refused_orders",
     .call =
         [](WireMessage& m) {
           using Params = wire::v1_3::IDevice::AllocateParams;
           KJ_IF_MAYBE (params, (m.as<wire::v1_3::IDevice, Params>(4))) {
             auto roles = params->getInputRoles();
             if (roles.size() == 2 && roles[0].getModelIndex() == roles[1].getModelIndex() &&
                 roles[0].getIoIndex() == roles[1].getIoIndex()) {
               roles[1].setIoIndex(1 - roles[0].getIoIndex());
             }
           }
         }},
    {.name = "unchecked-copy",
     .what = "takes any dimensions for the content of a buffer",
     .check = "hal/memory/refused_copies",
     .call =
         [](WireMessage& m) {
           KJ_IF_MAYBE (params,
                        (m.as<wire::v1_3::IBuffer, wire::v1_3::IBuffer::CopyFromParams>(1))) {
             params->initDimensions(0);
           }
         }},
};

}  // namespace

std::span<const Defect> wireModelDefects() { return kWireModelDefects; }

}  // namespace halyard::defects
