// Pictures with known classes, to see how often a model is right.
// Thread safety: pure functions; a DataSet is used by one thread. Ownership: owns what is read.
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

// Where Debian's package dataset-fashion-mnist puts it.
inline constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

class DataSet {
 public:
  // A folder with t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, perhaps with .gz (MNIST and
  // what has its form: grey pictures); or a folder with a folder of pictures (BMP, PNG, JPEG) for
  // each class, named by the class's label, or its number where no label is that; or a folder of
  // pictures that are named ..._LABEL, in small letters and with _ for all others, such as
  // 19_t_shirt_top.png, or else are of no known class. BAD_DATA with the place for anything else.
  static Result<std::unique_ptr<DataSet>> open(const std::string& folder, const Labels& labels);

  // "fashion-mnist", of the folder.
  const std::string& name() const { return name_; }
  size_t size() const { return classes_.size(); }
  // Whether pictures have one channel only, whatever is asked for.
  bool isGrey() const { return !pixels_.empty(); }
  size_t classCount() const;  // one more than the highest class; 0 when none is known
  std::optional<size_t> classOf(size_t i) const { return classes_[i]; }
  Result<media::Image> image(size_t i, uint32_t channels) const;

 private:
  DataSet() = default;

  Status readIdx(const std::string& images, const std::string& labels);
  Status readFolders(const std::string& folder, const Labels& labels);
  Status readPictures(const std::string& folder, const Labels& labels);

  std::string name_;
  std::vector<std::optional<size_t>> classes_;
  std::vector<std::string> files_;  // of pictures; empty for the form of MNIST, which has
  uint32_t width_ = 0;
  uint32_t height_ = 0;
  std::vector<uint8_t> pixels_;
};

}  // namespace halyard::measure
