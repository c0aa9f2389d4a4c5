// Interprets the outputs of an execution.
#include "tools/halyard/run_report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "measure/preprocess.h"
#include "measure/run_inputs.h"
#include "measure/tensor_values.h"
#include "tools/halyard/detections.h"
#include "tools/halyard/segmentation.h"
#include "tools/halyard/terminal.h"

namespace halyard::cli {
namespace {

using import::ImportedModel;
using import::ModelPort;

// Outputs with at most this number of elements are printed in full.
constexpr size_t kMaxPrintedValues = 16;

struct Context {
  const ImportedModel& model;
  std::span<const client::Output> outputs;
  measure::Labels& labels;
  const std::optional<media::Image>& picture;
  const ReportOptions& options;
};

Result<std::vector<float>> valuesOf(const Context& context, size_t output) {
  const ModelPort& port = context.model.outputs[output];
  return measure::realValues({port.type, port.scale, port.zeroPoint},
                             context.outputs[output].bytes);
}

// "output \"name\" TYPE[dims]" with the real dimensions.
std::string titleOf(const Context& context, size_t output) {
  const ModelPort& port = context.model.outputs[output];
  return fmt::format("output \"{}\" {}[{}]{}", printable(port.name), operandTypeName(port.type),
                     fmt::join(context.outputs[output].dimensions, ","), measure::formText(port));
}

std::string noteLine(const std::string& note) {
  return note.empty() ? "" : fmt::format("  note: {}\n", note);
}

// Probabilities lie in [0,1] and sum up to 1. Both hold up to rounding, also of quantised values.
bool inUnitRange(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return value >= -1e-6f && value <= 1 + 1e-6f; });
}
bool areProbabilities(std::span<const float> values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return inUnitRange(values) && std::abs(sum - 1) <= 0.02;
}

bool isVector(const Shape& dims) {
  return std::count_if(dims.begin(), dims.end(), [](uint32_t d) { return d > 1; }) == 1 &&
         std::find(dims.begin(), dims.end(), 0u) == dims.end();
}

bool isReal(OperandType type) {
  return type == OperandType::TENSOR_FLOAT32 || type == OperandType::TENSOR_FLOAT16 ||
         isQuant8Asymm(type);
}

bool takesPictures(const ImportedModel& model) {
  return std::any_of(model.inputs.begin(), model.inputs.end(), [](const ModelPort& port) {
    return measure::imageGeometry(port.type, port.dims).has_value();
  });
}

Status describeDetections(const Context& context, const DetectionOutputs& found, Report* report) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> scores, valuesOf(context, found.scores));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> boxes, valuesOf(context, found.boxes));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> classes, valuesOf(context, found.classes));
  DetectionValues values{scores, boxes, classes, std::nullopt};
  if (found.count) {
    HALYARD_ASSIGN_OR_RETURN(const std::vector<float> count, valuesOf(context, *found.count));
    if (!count.empty()) values.count = count[0];
  }
  HALYARD_ASSIGN_OR_RETURN(const std::vector<Detection> detections,
                           readDetections(values, context.options.minScore));
  const std::string note = found.classCount == 0 ? "" : context.labels.alignTo(found.classCount);
  report->text += fmt::format("detections with a score of at least {:g}: {}\n",
                              context.options.minScore, detections.size());
  report->text += noteLine(note);
  const bool drawn = context.picture.has_value();
  report->text += listDetections(detections, context.labels, drawn ? context.picture->width : 0,
                                 drawn ? context.picture->height : 0);
  if (drawn) {
    report->pictures.push_back({"detections", *context.picture});
    drawDetections(report->pictures.back().image, detections, context.labels);
  }
  return okStatus();
}

Status describeSegmentation(const Context& context, size_t output, Report* report) {
  const Shape& dims = context.outputs[output].dimensions;
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> values, valuesOf(context, output));
  HALYARD_ASSIGN_OR_RETURN(const ClassMap map, highestClasses(values, dims[2], dims[1], dims[3]));
  const std::string note = context.labels.alignTo(dims[3]);
  report->text +=
      fmt::format("{}: segmentation into {} classes\n", titleOf(context, output), dims[3]);
  report->text += noteLine(note);
  report->text += listSegments(classShares(map), context.labels);
  const std::string name =
      report->pictures.empty() ? "segmentation" : fmt::format("segmentation_{}", output);
  report->pictures.push_back(
      {name, context.picture ? blendSegments(*context.picture, map) : colorSegments(map)});
  return okStatus();
}

void describeClasses(const Context& context, size_t output, std::span<const float> values,
                     Report* report) {
  const std::vector<measure::ScoredClass> top = measure::topClasses(values, context.options.top);
  const bool logits = !inUnitRange(values);
  const std::vector<float> softmax = logits ? measure::softmaxOf(values) : std::vector<float>();
  const std::string note = context.labels.alignTo(values.size());
  report->text += fmt::format("{}: the {} best of {} classes{}\n", titleOf(context, output),
                              top.size(), values.size(), logits ? " (score, its softmax)" : "");
  report->text += noteLine(note);
  for (const measure::ScoredClass& best : top) {
    const std::string probability =
        logits ? fmt::format("  {:.4f}", softmax[best.index]) : std::string();
    report->text += fmt::format("  {:7.4f}{}  {:>4}  {}\n", best.score, probability, best.index,
                                context.labels.nameOf(best.index));
  }
}

void describeNumbers(const Context& context, size_t output, std::span<const float> values,
                     Report* report) {
  report->text += titleOf(context, output);
  if (values.empty()) {
    report->text += ": empty\n";
    return;
  }
  float least = values[0];
  float greatest = values[0];
  double sum = 0;
  size_t notNumbers = 0;
  for (const float value : values) {
    if (std::isnan(value)) ++notNumbers;
    least = std::fmin(least, value);  // ignores NaN
    greatest = std::fmax(greatest, value);
    sum += value;
  }
  report->text += fmt::format(": least {:g}, greatest {:g}, mean {:g}", least, greatest,
                              sum / static_cast<double>(values.size()));
  if (notNumbers != 0) report->text += fmt::format(", {} NaN", notNumbers);
  report->text += "\n";
  if (values.size() <= kMaxPrintedValues) {
    report->text += fmt::format("  {:g}\n", fmt::join(values, " "));
  }
}

Status describeOutput(const Context& context, size_t output, Report* report) {
  const ModelPort& port = context.model.outputs[output];
  const Shape& dims = context.outputs[output].dimensions;
  if (isReal(port.type) && dims.size() == 4 && dims[0] == 1 && dims[1] > 1 && dims[2] > 1 &&
      dims[3] > 1) {
    return describeSegmentation(context, output, report);
  }
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> values, valuesOf(context, output));
  const bool classes = isReal(port.type) && isVector(dims) &&
                       (!context.labels.empty() || context.picture.has_value() ||
                        takesPictures(context.model) || areProbabilities(values));
  if (classes) {
    describeClasses(context, output, values, report);
  } else {
    describeNumbers(context, output, values, report);
  }
  return okStatus();
}

}  // namespace

Report describeOutputs(const ImportedModel& model, std::span<const client::Output> outputs,
                       measure::Labels labels, const std::optional<media::Image>& picture,
                       const ReportOptions& options) {
  const Context context{model, outputs, labels, picture, options};
  Report report;
  if (const auto found = findDetectionOutputs(model.model)) {
    const Status status = describeDetections(context, *found, &report);
    if (status.ok()) return report;
    // Outputs that are not readable as detections are still shown, one by one.
    report = {fmt::format("the outputs are no detections: {}\n", status.message()), {}};
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Status status = describeOutput(context, i, &report);
    if (!status.ok()) {
      report.text += fmt::format("{}: {} bytes ({})\n", titleOf(context, i),
                                 outputs[i].bytes.size(), status.message());
    }
  }
  return report;
}

}  // namespace halyard::cli
