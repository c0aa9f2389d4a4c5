// Drivers with errors that applications see through the C API: repeated results, ignored parts,
// wrong times, wrong sizes.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "validation/defects/defect.h"

namespace halyard::defects {
namespace {

using namespace std::chrono_literals;
using Buffer = wire::v1_3::IBuffer;

void repeatFirstOutputs(Computed& c) {
  const std::lock_guard lock(c.kept.mutex);
  for (size_t o = 0; o < c.outputs.size(); ++o) {
    auto* const bytes = static_cast<uint8_t*>(c.outputs[o].data);
    if (c.kept.outputs.size() <= o) {
      c.kept.outputs.emplace_back(bytes, bytes + c.outputBytes[o]);
    } else if (c.kept.outputs[o].size() == c.outputBytes[o]) {
      std::copy(c.kept.outputs[o].begin(), c.kept.outputs[o].end(), bytes);
    }
  }
}

// Gives a model the constants of the first model that differs only in constants.
void takeConstantsOfAnother(Model& model) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<uint8_t>> known;
  std::string looks;
  for (const Operand& operand : model.main.operands) looks += operandText(operand) + ";";
  for (const Operation& operation : model.main.operations) {
    looks += fmt::format("{} {}/{};", static_cast<int>(operation.type),
                         fmt::join(operation.inputs, ","), fmt::join(operation.outputs, ","));
  }
  looks += std::to_string(model.operandValues.size());
  const std::lock_guard lock(mutex);
  model.operandValues = known.try_emplace(looks, model.operandValues).first->second;
}

void normaliseAlongTheFirstAxis(Model& model) {
  for (Operation& operation : model.main.operations) {
    if (operation.type != OperationType::L2_NORMALIZATION || operation.inputs.size() != 1) continue;
    const int32_t first = 0;
    Operand axis;
    axis.type = OperandType::INT32;
    axis.lifetime = Lifetime::CONSTANT_COPY;
    axis.location = appendConstant(model, &first, sizeof first);
    operation.inputs.push_back(static_cast<uint32_t>(model.main.operands.size()));
    model.main.operands.push_back(axis);
  }
}

// Gives outputs without a known rank all elements in one dimension.
void flattenShapes(Computed& c) {
  const Subgraph& main = c.model.main;
  for (size_t o = 0; o < c.result.outputShapes.size(); ++o) {
    if (!main.operands[main.outputIndexes[o]].dimensions.empty()) continue;
    Shape& dims = c.result.outputShapes[o].dimensions;
    uint32_t elements = 1;
    for (const uint32_t size : dims) elements *= size;
    if (!dims.empty()) dims = {elements};
  }
}

// Only where the model leaves a shape open, so that only the buffer contradicts it.
void enlargeOpenShapes(Computed& c) {
  const Subgraph& main = c.model.main;
  for (size_t o = 0; o < c.result.outputShapes.size(); ++o) {
    const Shape& declared = main.operands[main.outputIndexes[o]].dimensions;
    const bool isOpen =
        declared.empty() || std::find(declared.begin(), declared.end(), 0u) != declared.end();
    Shape& dims = c.result.outputShapes[o].dimensions;
    if (isOpen && !dims.empty()) dims[0] *= 1000;
  }
}

const Defect kApiDefects[] = {
    {.name = "first-result-again",
     .what = "gives the results of a prepared model's first execution ever again",
     .check = "api/execution/reusable/compute",
     .computed = repeatFirstOutputs},
    {.name = "models-by-their-looks",
     .what = "takes models that differ in their constants only for the same",
     .check = "api/models/alike",
     .model = takeConstantsOfAnother},
    {.name = "wrong-at-low-power",
     .what = "computes something else when low power is preferred",
     .check = "api/compilation/preferences",
     .computed =
         [](Computed& c) {
           if (c.preference == hal::ExecutionPreference::LOW_POWER) invertOutputs(c);
         }},
    {.name = "wrong-with-padding",
     .what = "damages outputs that are shorter than their buffers",
     .check = "api/unspecified_dimensions/float32/output",
     .computed =
         [](Computed& c) {
           for (size_t o = 0; o < c.outputs.size(); ++o) {
             if (c.outputs[o].length > c.outputBytes[o]) return invertOutputs(c);
           }
         }},
    {.name = "supports-by-turns",
     .what = "says every other time that it supports nothing",
     .check = "api/introspection/support_again",
     .supported =
         [](const Model&, hal::SupportedOperations& answers) {
           static std::atomic<unsigned> asked = 0;
           if (++asked % 2 == 0) answers.assign(answers.size(), false);
         }},
    {.name = "times-in-another-unit",
     .what = "reports a thousand times the time that an execution takes",
     .check = "api/execution/times/compute",
     .computed =
         [](Computed& c) {
           for (auto* const time : {&c.result.timing.timeOnDevice, &c.result.timing.timeInDriver}) {
             if (*time) **time *= 1000;
           }
         }},
    {.name = "shapes-beyond-buffers",
     .what = "reports shapes that need a thousand times what the buffer has, where they are open",
     .check = "api/unknown_dimensions/kk/compute",
     .computed = enlargeOpenShapes},
    {.name = "answers-no-execution",
     .what = "answers everything but executions",
     .check = "api/misuse/ANeuralNetworksCompilation_finish",
     .personality = R"({"faults": [{"at": "execute", "do": "hang"}]})"},
    {.name = "flattened-shapes",
     .what = "tells of an output without a rank only how many elements it has",
     .check = "api/unspecified_dimensions/float32/output",
     .computed = flattenShapes},
    {.name = "every-deadline-missed",
     .what = "misses every deadline, however late",
     .check = "api/compilation/deadlines",
     .options =
         [](hal::ExecuteOptions& options) {
           if (options.deadline) options.deadline = hal::TimePoint::clock::now() - 1s;
         }},
    {.name = "missing-axis-is-first",
     .what = "normalises along the first axis if no axis is given",
     .check = "api/default_arguments/L2_NORMALIZATION",
     .model = normaliseAlongTheFirstAxis},
    {.name = "loses-copies",
     .what = "says that it has copied into a buffer, and has not",
     .check = "api/memory/of_descriptors",
     .call =
         [](WireMessage& m) {
           KJ_IF_MAYBE (params, (m.as<Buffer, Buffer::CopyFromParams>(1))) {
             params->initDimensions(1).set(0, 4711);
           }
         },
     .answer =
         [](WireMessage& m) {
           if (m.interface == capnp::typeId<Buffer>() && m.method == 1) {
             setStatus(m, wire::ErrorStatus::NONE);
           }
         }},
};

}  // namespace

std::span<const Defect> apiDefects() { return kApiDefects; }

}  // namespace halyard::defects
