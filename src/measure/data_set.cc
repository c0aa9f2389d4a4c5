#include "measure/data_set.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <span>

namespace halyard::measure {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = size_t{1} << 30;
constexpr size_t kMostFiles = 1'000'000;
constexpr uint32_t kImagesMagic = 0x803;
constexpr uint32_t kLabelsMagic = 0x801;

// The bytes of a file. A gzip file is unpacked.
Result<std::vector<uint8_t>> readMaybePacked(const std::string& path) {
  gzFile file = ::gzopen(path.c_str(), "rb");
  if (file == nullptr) return badData("{}: cannot be read", path);
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> part(1 << 20);
  int count = 0;
  while ((count = ::gzread(file, part.data(), static_cast<unsigned>(part.size()))) > 0) {
    bytes.insert(bytes.end(), part.begin(), part.begin() + count);
    if (bytes.size() > kMostBytes) break;
  }
  ::gzclose(file);
  if (count < 0) return badData("{}: is damaged", path);
  if (bytes.size() > kMostBytes) return badData("{}: has more than {} bytes", path, kMostBytes);
  return bytes;
}

uint32_t bigEndian(std::span<const uint8_t> bytes, size_t at) {
  return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 | uint32_t{bytes[at + 2]} << 8 |
         bytes[at + 3];
}

// The path, or the path with .gz if only that file exists. Empty if neither exists.
std::string existing(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error)) return path;
  return fs::exists(path + ".gz", error) ? path + ".gz" : "";
}

bool isPicture(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg" || extension == ".bmp";
}

std::optional<size_t> classNamed(const std::string& name, const Labels& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels.nameOf(i) == name) return i;
  }
  size_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

// The label in the form of a file name, for example "t_shirt_top" for "T-shirt/top".
std::string plainName(std::string_view label) {
  std::string name;
  for (const char c : label) {
    const auto byte = static_cast<unsigned char>(c);
    name += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return name;
}

// The class of a picture with the name ..._LABEL. If two labels fit, the longer one counts.
std::optional<size_t> classInName(const std::string& stem, const Labels& labels) {
  const std::string name = "_" + plainName(stem);
  std::optional<size_t> found;
  size_t longest = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::string ending = "_" + plainName(labels.nameOf(i));
    if (ending.size() <= longest || !name.ends_with(ending)) continue;
    longest = ending.size();
    found = i;
  }
  return found;
}

// The paths of the pictures in a folder, sorted.
Result<std::vector<std::string>> picturesIn(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file() && isPicture(entry.path())) files.push_back(entry.path().string());
    if (files.size() > kMostFiles) {
      return badData("{}: has more than {} pictures", folder, kMostFiles);
    }
  }
  if (error) return badData("{}: {}", folder, error.message());
  std::ranges::sort(files);
  return files;
}

}  // namespace

Result<std::unique_ptr<DataSet>> DataSet::open(const std::string& folder, const Labels& labels) {
  std::unique_ptr<DataSet> set(new DataSet());
  const fs::path path = fs::path(folder).lexically_normal();
  set->name_ = (path.filename().empty() ? path.parent_path() : path).filename().string();
  const std::string images = existing(folder + "/t10k-images-idx3-ubyte");
  if (!images.empty()) {
    HALYARD_RETURN_IF_ERROR(set->readIdx(images, existing(folder + "/t10k-labels-idx1-ubyte")));
  } else {
    HALYARD_RETURN_IF_ERROR(set->readFolders(folder, labels));
    if (set->classes_.empty()) HALYARD_RETURN_IF_ERROR(set->readPictures(folder, labels));
  }
  if (set->classes_.empty()) return badData("{}: has no pictures", folder);
  return set;
}

Status DataSet::readIdx(const std::string& images, const std::string& labels) {
  if (labels.empty()) return badData("{}: there are no labels beside it", images);
  HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> classes, readMaybePacked(labels));
  HALYARD_ASSIGN_OR_RETURN(std::vector<uint8_t> pixels, readMaybePacked(images));
  if (pixels.size() < 16 || bigEndian(pixels, 0) != kImagesMagic) {
    return badData("{}: is no file of pictures of MNIST's form", images);
  }
  if (classes.size() < 8 || bigEndian(classes, 0) != kLabelsMagic) {
    return badData("{}: is no file of labels of MNIST's form", labels);
  }
  const uint64_t count = bigEndian(pixels, 4);
  height_ = bigEndian(pixels, 8);
  width_ = bigEndian(pixels, 12);
  const bool fits = width_ > 0 && height_ > 0 && width_ <= media::kMaxImageSide &&
                    height_ <= media::kMaxImageSide &&
                    count * width_ * height_ == pixels.size() - 16;
  if (!fits) {
    return badData("{}: says {} pictures of {} x {}, and has {} bytes", images, count, width_,
                   height_, pixels.size() - 16);
  }
  if (bigEndian(classes, 4) != count || classes.size() - 8 != count) {
    return badData("{}: has {} labels for {} pictures", labels, classes.size() - 8, count);
  }
  pixels.erase(pixels.begin(), pixels.begin() + 16);
  pixels_ = std::move(pixels);
  classes_.assign(classes.begin() + 8, classes.end());
  return okStatus();
}

Status DataSet::readFolders(const std::string& folder, const Labels& labels) {
  std::error_code error;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  if (error) return badData("{}: {}", folder, error.message());
  std::ranges::sort(folders);
  for (const fs::path& each : folders) {
    const std::string label = each.filename().string();
    const auto number = classNamed(label, labels);
    if (!number) {
      return badData("{}: is neither a label nor the number of a class", each.string());
    }
    HALYARD_ASSIGN_OR_RETURN(std::vector<std::string> files, picturesIn(each.string()));
    if (files_.size() + files.size() > kMostFiles) {
      return badData("{}: has more than {} pictures", folder, kMostFiles);
    }
    classes_.insert(classes_.end(), files.size(), *number);
    std::ranges::move(files, std::back_inserter(files_));
  }
  return okStatus();
}

Status DataSet::readPictures(const std::string& folder, const Labels& labels) {
  HALYARD_ASSIGN_OR_RETURN(files_, picturesIn(folder));
  for (const std::string& file : files_) {
    classes_.push_back(classInName(fs::path(file).stem().string(), labels));
  }
  return okStatus();
}

size_t DataSet::classCount() const {
  size_t count = 0;
  for (const auto& known : classes_) count = std::max(count, known ? *known + 1 : 0);
  return count;
}

Result<media::Image> DataSet::image(size_t i, uint32_t channels) const {
  if (!isGrey()) return media::loadImage(files_[i], channels);
  media::Image image = media::blankImage(width_, height_, channels);
  const size_t size = size_t{width_} * height_;
  for (size_t p = 0; p < size; ++p) {
    for (uint32_t c = 0; c < channels; ++c) image.pixels[p * channels + c] = pixels_[i * size + p];
  }
  return image;
}

}  // namespace halyard::measure
