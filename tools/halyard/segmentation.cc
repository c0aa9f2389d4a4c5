// Shows segmentations as colours.
#include "tools/halyard/segmentation.h"

#include <algorithm>
#include <map>

#include "media/draw.h"

namespace halyard::cli {

Result<ClassMap> highestClasses(std::span<const float> scores, uint32_t width, uint32_t height,
                                uint32_t classCount) {
  const uint64_t pixels = uint64_t{width} * height;
  if (classCount == 0 || pixels > scores.size() / classCount ||
      pixels * classCount != scores.size()) {
    return badData("{} scores for {} x {} pixels of {} classes", scores.size(), width, height,
                   classCount);
  }
  ClassMap map{width, height, std::vector<uint32_t>(pixels)};
  for (size_t i = 0; i < pixels; ++i) {
    const auto pixel = scores.subspan(i * classCount, classCount);
    map.classes[i] =
        static_cast<uint32_t>(std::max_element(pixel.begin(), pixel.end()) - pixel.begin());
  }
  return map;
}

std::vector<ClassShare> classShares(const ClassMap& map) {
  std::map<uint32_t, size_t> counts;
  for (const uint32_t index : map.classes) ++counts[index];
  std::vector<ClassShare> shares;
  for (const auto& [index, count] : counts) {
    shares.push_back({index, static_cast<double>(count) / static_cast<double>(map.classes.size())});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const ClassShare& a, const ClassShare& b) { return a.share > b.share; });
  return shares;
}

std::string listSegments(std::span<const ClassShare> shares, const measure::Labels& labels) {
  std::string text;
  for (const ClassShare& share : shares) {
    if (share.share < 0.001) continue;
    const media::Color color = media::classColor(share.classIndex);
    text += fmt::format("  {:5.1f} %  {:<20}  colour #{:02x}{:02x}{:02x}\n", 100 * share.share,
                        labels.nameOf(share.classIndex), color.red, color.green, color.blue);
  }
  return text;
}

media::Image blendSegments(const media::Image& picture, const ClassMap& map) {
  media::Image blended = picture;
  for (uint32_t y = 0; y < picture.height; ++y) {
    // The map's pixel at the same relative place.
    const auto row = static_cast<uint32_t>(uint64_t{y} * map.height / picture.height);
    for (uint32_t x = 0; x < picture.width; ++x) {
      const auto column = static_cast<uint32_t>(uint64_t{x} * map.width / picture.width);
      const media::Color color =
          media::classColor(map.classes[static_cast<size_t>(row) * map.width + column]);
      uint8_t* pixel = blended.at(x, y);
      pixel[0] = static_cast<uint8_t>((pixel[0] + color.red) / 2);
      pixel[1] = static_cast<uint8_t>((pixel[1] + color.green) / 2);
      pixel[2] = static_cast<uint8_t>((pixel[2] + color.blue) / 2);
    }
  }
  return blended;
}

media::Image colorSegments(const ClassMap& map) {
  media::Image image = media::blankImage(map.width, map.height, 3);
  for (size_t i = 0; i < map.classes.size(); ++i) {
    const media::Color color = media::classColor(map.classes[i]);
    image.pixels[3 * i] = color.red;
    image.pixels[3 * i + 1] = color.green;
    image.pixels[3 * i + 2] = color.blue;
  }
  return image;
}

}  // namespace halyard::cli
