// DataSet: pictures with known classes, for measurements of accuracy.
// Thread safety: pure functions. One thread at a time may use a DataSet. Ownership: owns the data
// that it has read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "measure/labels.h"
#include "media/image.h"

namespace halyard::measure {

// The folder of Debian's package dataset-fashion-mnist.
inline constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

class DataSet {
 public:
  // Reads a folder of one of these forms:
  // - The form of MNIST: the grey pictures t10k-images-idx3-ubyte and the labels
  //   t10k-labels-idx1-ubyte, each perhaps with .gz.
  // - A folder of pictures (BMP, PNG, JPEG) for each class. Its name is the label of the class. If
  //   no label has this name, it is the number of the class.
  // - Pictures with names of the form ..._LABEL. The label has small letters, and _ for all
  //   characters that are neither letters nor digits, as in 19_t_shirt_top.png. A picture without a
  //   label in its name has no known class.
  // BAD_DATA with the place of the error for other contents.
  static Result<std::unique_ptr<DataSet>> open(const std::string& folder, const Labels& labels);

  // The name of the folder, such as "fashion-mnist".
  const std::string& name() const { return name_; }
  size_t size() const { return classes_.size(); }
  // Whether the pictures have a single channel. image() then copies it to each requested channel.
  bool isGrey() const { return !pixels_.empty(); }
  size_t classCount() const;  // one more than the highest known class; 0: no class is known
  std::optional<size_t> classOf(size_t i) const { return classes_[i]; }
  Result<media::Image> image(size_t i, uint32_t channels) const;

 private:
  DataSet() = default;

  Status readIdx(const std::string& images, const std::string& labels);
  Status readFolders(const std::string& folder, const Labels& labels);
  Status readPictures(const std::string& folder, const Labels& labels);

  std::string name_;
  std::vector<std::optional<size_t>> classes_;
  // Of the pictures; empty for the form of MNIST, which uses the members below.
  std::vector<std::string> files_;
  uint32_t width_ = 0;
  uint32_t height_ = 0;
  std::vector<uint8_t> pixels_;
};

}  // namespace halyard::measure
