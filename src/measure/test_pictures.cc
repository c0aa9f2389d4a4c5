#include "measure/test_pictures.h"

#include <algorithm>
#include <filesystem>

#include "measure/labels.h"

namespace halyard::measure {
namespace {

constexpr uint32_t kFashionSide = 28;
constexpr size_t kFashionClasses = 10;

// The geometry of the only input. nullopt if the model has several inputs, or if the input is not a
// picture of known size.
std::optional<ImageGeometry> pictureInput(const import::ImportedModel& model) {
  if (model.inputs.size() != 1) return std::nullopt;
  const auto geometry = imageGeometry(model.inputs[0].type, model.inputs[0].dims);
  if (!geometry || geometry->height == 0 || geometry->width == 0) return std::nullopt;
  return geometry;
}

}  // namespace

std::optional<size_t> scoredClasses(const import::ImportedModel& model) {
  if (model.outputs.empty()) return std::nullopt;
  const Shape& dims = model.outputs[0].dims;
  const auto count = knownElementCount(dims);
  if (!count || *count < 2 || std::ranges::max(dims) != *count) return std::nullopt;
  return *count;
}

bool isForFashionMnist(const import::ImportedModel& model) {
  const auto geometry = pictureInput(model);
  return geometry && geometry->height == kFashionSide && geometry->width == kFashionSide &&
         geometry->channels == 1 && scoredClasses(model) == kFashionClasses;
}

Result<std::unique_ptr<TestPictures>> TestPictures::open(const import::ImportedModel& model,
                                                         const std::string& folder,
                                                         const std::string& labels) {
  std::unique_ptr<TestPictures> none;
  const auto geometry = pictureInput(model);
  if (!geometry) return none;
  std::string chosen = folder;
  if (chosen.empty()) {
    std::error_code error;
    if (!isForFashionMnist(model)) return none;
    if (!std::filesystem::is_directory(kFashionMnistFolder, error)) return none;
    chosen = kFashionMnistFolder;
  }
  const auto classes = scoredClasses(model);
  Labels names;
  if (!labels.empty()) {
    HALYARD_ASSIGN_OR_RETURN(names, Labels::load(labels));
    if (classes) (void)names.alignTo(*classes);
  }
  HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<DataSet> data, DataSet::open(chosen, names));
  if (classes && data->classCount() > *classes) {
    return badData("{}: has {} classes, the model gives {} scores", chosen, data->classCount(),
                   *classes);
  }
  const import::ModelPort& input = model.inputs[0];
  return std::unique_ptr<TestPictures>(
      new TestPictures(std::move(data), *geometry, {input.type, input.scale, input.zeroPoint}));
}

Result<std::vector<uint8_t>> TestPictures::input(size_t i) const {
  HALYARD_ASSIGN_OR_RETURN(media::Image image, data_->image(i, geometry_.channels));
  if (image.width != geometry_.width || image.height != geometry_.height) {
    HALYARD_ASSIGN_OR_RETURN(image, media::resizeImage(image, geometry_.width, geometry_.height));
  }
  HALYARD_ASSIGN_OR_RETURN(ImageTensor tensor, imageToTensor(image, type_, {}));
  return std::move(tensor.bytes);
}

}  // namespace halyard::measure
