// Pictures of a data set as the inputs of a model.
// Thread safety: none; one thread uses an object. Ownership: owns what is read of the data set.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "import/tflite/importer.h"
#include "measure/data_set.h"
#include "measure/preprocess.h"
#include "measure/tensor_values.h"

namespace halyard::measure {

// Whether the model takes one grey picture of 28 x 28 pixels and scores ten classes.
bool isForFashionMnist(const import::ImportedModel& model);

// How many classes the model scores: its first output has an element for each, and one dimension
// alone that is not 1. nullopt when it is no classifier.
std::optional<size_t> scoredClasses(const import::ImportedModel& model);

class TestPictures {
 public:
  // The pictures of `folder` (DataSet::open), or of Fashion-MNIST where it is installed when that
  // is empty and the model is for it. Null without pictures, and for a model that does not take one
  // picture and nothing else. `labels`: a file with the names of the classes; may be empty.
  // BAD_DATA when the folder cannot be used with the model.
  static Result<std::unique_ptr<TestPictures>> open(const import::ImportedModel& model,
                                                    const std::string& folder,
                                                    const std::string& labels);

  const std::string& name() const { return data_->name(); }  // "fashion-mnist", of the folder
  size_t size() const { return data_->size(); }
  // The n-th of `count`, evenly over all of them, which may be sorted by class.
  size_t pick(size_t n, size_t count) const { return n * size() / count; }
  // nullopt when nobody knows.
  std::optional<size_t> classOf(size_t i) const { return data_->classOf(i); }
  // The picture's bytes as `halyard run` makes them.
  Result<std::vector<uint8_t>> input(size_t i) const;

 private:
  TestPictures(std::unique_ptr<DataSet> data, ImageGeometry geometry, TensorType type)
      : data_(std::move(data)), geometry_(geometry), type_(type) {}

  std::unique_ptr<DataSet> data_;
  ImageGeometry geometry_;
  TensorType type_;
};

}  // namespace halyard::measure
