#include "tools/halyard/bench/accuracy.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "tools/halyard/bench/data_set.h"
#include "tools/halyard/labels.h"
#include "tools/halyard/preprocess.h"
#include "tools/halyard/tensor_values.h"

namespace halyard::cli {
namespace {

using Json = nlohmann::json;

constexpr size_t kTop = 5;
constexpr uint32_t kFashionSide = 28;
constexpr size_t kFashionClasses = 10;

// Of a model that takes one picture and gives scores.
struct Classifier {
  ImageGeometry geometry;
  TensorType input;
  TensorType output;
  size_t classes = 0;
};

std::optional<Classifier> classifierOf(const import::ImportedModel& imported) {
  if (imported.inputs.size() != 1 || imported.outputs.empty()) return std::nullopt;
  const import::ModelPort& input = imported.inputs[0];
  const import::ModelPort& output = imported.outputs[0];
  const auto geometry = imageGeometry(input.type, input.dims);
  const auto count = knownElementCount(output.dims);
  if (!geometry || geometry->height == 0 || geometry->width == 0 || !count || *count < 2) {
    return std::nullopt;
  }
  // One dimension is the classes', all others are 1.
  if (std::ranges::max(output.dims) != *count) return std::nullopt;
  return Classifier{*geometry,
                    {input.type, input.scale, input.zeroPoint},
                    {output.type, output.scale, output.zeroPoint},
                    *count};
}

bool isForFashionMnist(const Classifier& classifier) {
  return classifier.geometry.height == kFashionSide && classifier.geometry.width == kFashionSide &&
         classifier.geometry.channels == 1 && classifier.classes == kFashionClasses;
}

Result<std::vector<uint8_t>> inputOf(const DataSet& data, size_t i, const Classifier& classifier) {
  const ImageGeometry& geometry = classifier.geometry;
  HALYARD_ASSIGN_OR_RETURN(media::Image image, data.image(i, geometry.channels));
  if (image.width != geometry.width || image.height != geometry.height) {
    HALYARD_ASSIGN_OR_RETURN(image, media::resizeImage(image, geometry.width, geometry.height));
  }
  HALYARD_ASSIGN_OR_RETURN(ImageTensor tensor, imageToTensor(image, classifier.input, {}));
  return std::move(tensor.bytes);
}

Result<Json> classify(const DataSet& data, const Classifier& classifier, const ApiSession& session,
                      size_t most) {
  const size_t count = most == 0 ? data.size() : std::min(most, data.size());
  std::unique_ptr<RepeatedRun> run;
  size_t first = 0;
  size_t amongFive = 0;
  for (size_t n = 0; n < count; ++n) {
    // Evenly over all of them, which may be sorted by class.
    const size_t i = n * data.size() / count;
    HALYARD_ASSIGN_OR_RETURN(std::vector<uint8_t> input, inputOf(data, i, classifier));
    if (run == nullptr) {
      HALYARD_ASSIGN_OR_RETURN(run, RepeatedRun::create(session, {std::move(input)}));
    } else {
      std::ranges::copy(input, run->input(0).begin());
    }
    HALYARD_RETURN_IF_ERROR(run->compute());
    HALYARD_ASSIGN_OR_RETURN(const ApiOutput output, run->output(0));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<float> scores,
                             realValues(classifier.output, output.bytes));
    const std::vector<ScoredClass> best = topClasses(scores, kTop);
    first += best[0].index == data.classOf(i);
    amongFive += std::ranges::any_of(
        best, [&](const ScoredClass& each) { return each.index == data.classOf(i); });
  }
  const auto share = [&](size_t right) {
    return static_cast<double>(right) / static_cast<double>(count);
  };
  return Json{{"data", data.name()},
              {"images", count},
              {"top_1", share(first)},
              {"top_5", share(amongFive)}};
}

}  // namespace

Result<Json> measureAccuracy(const import::ImportedModel& imported, const ApiSession& session,
                             const BenchOptions& options) {
  const std::optional<Classifier> classifier = classifierOf(imported);
  std::string folder = options.data;
  if (folder.empty()) {
    std::error_code error;
    if (!classifier || !isForFashionMnist(*classifier)) return Json();
    if (!std::filesystem::is_directory(kFashionMnistFolder, error)) return Json();
    folder = kFashionMnistFolder;
  }
  if (!classifier) return Json();
  Labels labels;
  if (!options.labels.empty()) {
    HALYARD_ASSIGN_OR_RETURN(labels, Labels::load(options.labels));
    (void)labels.alignTo(classifier->classes);
  }
  HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<DataSet> data, DataSet::open(folder, labels));
  if (data->classCount() > classifier->classes) {
    return badData("{}: has {} classes, the model gives {} scores", folder, data->classCount(),
                   classifier->classes);
  }
  return classify(*data, *classifier, session, options.images);
}

}  // namespace halyard::cli
