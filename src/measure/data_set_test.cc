#include "measure/data_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder_for_test.h"

namespace halyard::measure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DataSetTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::vector<uint8_t>& bytes) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  void picture(const std::string& name, uint8_t grey) const {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    media::Image image = media::blankImage(2, 2, 3);
    std::ranges::fill(image.pixels, grey);
    ASSERT_TRUE(media::writePng(image, path).ok());
  }
  std::string errorOf(const Labels& labels = {}) const {
    return std::string(DataSet::open(folder_, labels).status().message());
  }

  const TemporaryFolder owner_{"data_set"};
  const std::string folder_ = owner_.path();
};

const std::vector<uint8_t> kTwoPictures = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0,
                                           0, 1, 0, 0, 0, 2, 1, 2, 3, 4};
const std::vector<uint8_t> kTwoLabels = {0, 0, 8, 1, 0, 0, 0, 2, 7, 5};

TEST_F(DataSetTest, FilesOfMnistsForm) {
  write("t10k-images-idx3-ubyte", kTwoPictures);
  // Compressed, as in the package of Debian.
  gzFile packed = ::gzopen((folder_ + "/t10k-labels-idx1-ubyte.gz").c_str(), "wb");
  ::gzwrite(packed, kTwoLabels.data(), static_cast<unsigned>(kTwoLabels.size()));
  ::gzclose(packed);
  const auto data = DataSet::open(folder_, {});
  ASSERT_TRUE(data.ok()) << data.status().toString();
  EXPECT_EQ((*data)->size(), 2u);
  EXPECT_EQ((*data)->classCount(), 8u);
  EXPECT_EQ((*data)->classOf(0), 7u);
  EXPECT_EQ((*data)->classOf(1), 5u);
  const auto image = (*data)->image(1, 3);
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(image->width, 2u);
  EXPECT_EQ(image->height, 1u);
  EXPECT_THAT(image->pixels, ElementsAre(3, 3, 3, 4, 4, 4));
}

TEST_F(DataSetTest, DamagedFilesOfMnistsForm) {
  write("t10k-images-idx3-ubyte", kTwoPictures);
  EXPECT_THAT(errorOf(), HasSubstr("there are no labels"));
  write("t10k-labels-idx1-ubyte", {0, 0, 8, 1, 0, 0, 0, 1, 7});
  EXPECT_THAT(errorOf(), HasSubstr("has 1 labels for 2 pictures"));
  write("t10k-labels-idx1-ubyte", {1, 2});
  EXPECT_THAT(errorOf(), HasSubstr("no file of labels"));
  write("t10k-labels-idx1-ubyte", kTwoLabels);
  std::vector<uint8_t> pictures = kTwoPictures;
  pictures.pop_back();
  write("t10k-images-idx3-ubyte", pictures);
  EXPECT_THAT(errorOf(), HasSubstr("says 2 pictures of 2 x 1, and has 3 bytes"));
  pictures[0] = 1;
  write("t10k-images-idx3-ubyte", pictures);
  EXPECT_THAT(errorOf(), HasSubstr("no file of pictures"));
  // The product of the sizes does not fit in 64 bits.
  write("t10k-images-idx3-ubyte",
        {0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255});
  EXPECT_THAT(errorOf(), HasSubstr("says 4294967295 pictures"));
}

TEST_F(DataSetTest, FoldersByLabelAndByNumber) {
  picture("cat/b.png", 10);
  picture("cat/a.PNG", 20);
  picture("3/c.png", 30);
  write("cat/notes.txt", {1});
  const auto data = DataSet::open(folder_, Labels::parse("dog\ncat\n"));
  ASSERT_TRUE(data.ok()) << data.status().toString();
  ASSERT_EQ((*data)->size(), 3u);
  EXPECT_EQ((*data)->classOf(0), 3u);
  EXPECT_EQ((*data)->classOf(1), 1u);
  EXPECT_EQ((*data)->classOf(2), 1u);
  EXPECT_EQ((*data)->image(0, 3)->pixels[0], 30);
  EXPECT_EQ((*data)->image(1, 1)->pixels[0], 20);
}

TEST_F(DataSetTest, PicturesNamedByTheirClass) {
  picture("00_ankle_boot.png", 1);
  picture("19_t_shirt_top.png", 2);
  picture("shirt.png", 3);
  picture("unheard_of.png", 4);
  const auto data = DataSet::open(folder_, Labels::parse("Shirt\nT-shirt/top\nboot\nAnkle boot\n"));
  ASSERT_TRUE(data.ok()) << data.status().toString();
  ASSERT_EQ((*data)->size(), 4u);
  EXPECT_EQ((*data)->classOf(0), 3u) << "not 2, which is shorter";
  EXPECT_EQ((*data)->classOf(1), 1u);
  EXPECT_EQ((*data)->classOf(2), 0u);
  EXPECT_EQ((*data)->classOf(3), std::nullopt);
  EXPECT_EQ((*data)->classCount(), 4u);
  EXPECT_EQ((*data)->image(3, 1)->pixels[0], 4);
}

TEST_F(DataSetTest, PicturesOfNoKnownClass) {
  picture("cat.png", 1);
  const auto data = DataSet::open(folder_, {});
  ASSERT_TRUE(data.ok()) << data.status().toString();
  EXPECT_EQ((*data)->size(), 1u);
  EXPECT_EQ((*data)->classOf(0), std::nullopt);
  EXPECT_EQ((*data)->classCount(), 0u);
}

TEST_F(DataSetTest, FoldersThatCannotBeUsed) {
  EXPECT_THAT(errorOf(), HasSubstr("has no pictures"));
  picture("bird/a.png", 1);
  EXPECT_THAT(errorOf(Labels::parse("dog\n")), HasSubstr("bird: is neither a label"));
  EXPECT_THAT(std::string(DataSet::open(folder_ + "/none", {}).status().message()),
              HasSubstr("none: No such file"));
}

}  // namespace
}  // namespace halyard::measure
