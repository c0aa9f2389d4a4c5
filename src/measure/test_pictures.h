// Gives pictures of a data set as inputs of a model.
// Thread safety: one thread at a time may use an object. Ownership: owns the data that it has read.
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

// The number of classes that the model scores. Its first output has an element for each class, and
// a single dimension that is not 1. nullopt if the model is no classifier.
std::optional<size_t> scoredClasses(const import::ImportedModel& model);

class TestPictures {
 public:
  // Opens the pictures of `folder` (DataSet::open). If `folder` is empty and the model fits
  // Fashion-MNIST, it opens that data set, if installed.
  // Null without pictures, and for a model whose only input is not a picture. `labels`: a file with
  // the labels of the classes, or empty.
  // BAD_DATA when the folder cannot be used with the model.
  static Result<std::unique_ptr<TestPictures>> open(const import::ImportedModel& model,
                                                    const std::string& folder,
                                                    const std::string& labels);

  // Name of the data set, such as "fashion-mnist".
  const std::string& name() const { return data_->name(); }
  size_t size() const { return data_->size(); }
  // The index of the n-th of `count` pictures. They are spread evenly, because the data set may be
  // sorted by class.
  size_t pick(size_t n, size_t count) const { return n * size() / count; }
  // nullopt if the class is not known.
  std::optional<size_t> classOf(size_t i) const { return data_->classOf(i); }
  // The bytes of the picture for the input, as `halyard run` makes them.
  Result<std::vector<uint8_t>> input(size_t i) const;

 private:
  TestPictures(std::unique_ptr<DataSet> data, ImageGeometry geometry, TensorType type)
      : data_(std::move(data)), geometry_(geometry), type_(type) {}

  std::unique_ptr<DataSet> data_;
  ImageGeometry geometry_;
  TensorType type_;
};

}  // namespace halyard::measure
