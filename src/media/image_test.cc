// Tests of decoding, resizing and writing pictures.
#include "media/image.h"
#include "test_definitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stb/stb_image_write.h>

#include <cstring>

namespace halyard::media {
namespace {

using ::testing::HasSubstr;

void put(std::vector<uint8_t>* bytes, size_t at, uint32_t value) {
  std::memcpy(bytes->data() + at, &value, sizeof value);
}

// A 24-bit BMP file of 2 x 2 pixels: red, green above blue, white.
std::vector<uint8_t> smallBmp() {
  std::vector<uint8_t> bytes(54 + 16);
  bytes[0] = 'B';
  bytes[1] = 'M';
  put(&bytes, 2, 70);
  put(&bytes, 10, 54);
  put(&bytes, 14, 40);
  put(&bytes, 18, 2);
  put(&bytes, 22, 2);
  put(&bytes, 26, 1 | 24 << 16);
  const uint8_t rows[] = {255, 0, 0, 255, 255, 255, 0, 0, 0, 0, 255, 0, 255, 0, 0, 0};
  std::memcpy(bytes.data() + 54, rows, sizeof rows);
  return bytes;
}

TEST(Image, DecodesBmp) {
  const auto image = decodeImage(smallBmp(), 3);
  ASSERT_TRUE(image.ok()) << image.status().toString();
  EXPECT_EQ(image->width, 2u);
  EXPECT_EQ(image->height, 2u);
  EXPECT_THAT(image->pixels,
              ::testing::ElementsAre(255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255));
}

TEST(Image, ConvertsToGrey) {
  const auto image = decodeImage(smallBmp(), 1);
  ASSERT_TRUE(image.ok()) << image.status().toString();
  ASSERT_EQ(image->pixels.size(), 4u);
  EXPECT_GT(image->pixels[1], image->pixels[0]);  // green is brighter than red,
  EXPECT_GT(image->pixels[0], image->pixels[2]);  // red than blue
  EXPECT_GE(image->pixels[3], 254);
}

TEST(Image, PngRoundTrip) {
  Image image = blankImage(7, 5, 3);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<uint8_t>(i * 37);
  }
  const auto png = encodePng(image);
  ASSERT_TRUE(png.ok());
  const auto back = decodeImage(*png, 3);
  ASSERT_TRUE(back.ok()) << back.status().toString();
  EXPECT_EQ(back->width, 7u);
  EXPECT_EQ(back->height, 5u);
  EXPECT_EQ(back->pixels, image.pixels);
}

TEST(Image, RefusesOtherChannelsAndOtherFiles) {
  EXPECT_FALSE(decodeImage(smallBmp(), 4).ok());
  EXPECT_FALSE(decodeImage(std::vector<uint8_t>{}, 3).ok());
  const std::string gif = "GIF89a\1\0\1\0\0\0\0;";
  const auto result = decodeImage(std::vector<uint8_t>(gif.begin(), gif.end()), 3);
  EXPECT_EQ(result.status().code(), ResultCode::BAD_DATA);
  EXPECT_THAT(result.status().message(), HasSubstr("not a BMP, PNG or JPEG"));
}

TEST(Image, RefusesJpegTablesThatOverflowTheDecoder) {
  // An input that image_fuzz found; its first byte chooses the channels. One table has 179 + 230 +
  // 63 codes.
  const uint8_t fuzzed[] = {0xff, 0xff, 0xff, 0xff, 0xd8, 0xff, 0xc4, 0xd7,
                            0x01, 0x00, 0x00, 0x00, 0xb3, 0xe6, 0x3f};
  EXPECT_THAT(decodeImage(fuzzed, 3).status().message(), HasSubstr("a Huffman table of 472 codes"));
  // The same in a file that is otherwise valid: 16 lengths with 17 codes each.
  std::vector<uint8_t> jpeg = {0xff, 0xd8, 0xff, 0xc4, 0x01, 0x23, 0x00};
  jpeg.insert(jpeg.end(), 16, 17);
  jpeg.insert(jpeg.end(), 272, 0);
  const Result<Image> image = decodeImage(jpeg, 3);
  ASSERT_FALSE(image.ok());
  EXPECT_NE(image.status().message().find("a Huffman table of 272 codes"), std::string::npos)
      << image.status().toString();
}

TEST(Image, RefusesAnnouncedSizesBeyondTheLimits) {
  std::vector<uint8_t> wide = smallBmp();
  put(&wide, 18, 100000);
  EXPECT_EQ(decodeImage(wide, 3).status().code(), ResultCode::BAD_DATA);
  std::vector<uint8_t> large = smallBmp();
  put(&large, 18, 16384);
  put(&large, 22, 16384);
  EXPECT_THAT(decodeImage(large, 3).status().message(), HasSubstr("16384 x 16384"));
  std::vector<uint8_t> empty = smallBmp();
  put(&empty, 18, 0);
  EXPECT_FALSE(decodeImage(empty, 3).ok());
}

TEST(Image, TruncatedPngIsAnError) {
  const auto png = encodePng(blankImage(16, 16, 3));
  ASSERT_TRUE(png.ok());
  for (size_t size = 0; size + 20 < png->size(); ++size) {
    EXPECT_FALSE(decodeImage(std::span(*png).first(size), 3).ok()) << size;
  }
}

TEST(Image, TruncatedBmpIsAnError) {
  const std::vector<uint8_t> bmp = smallBmp();
  // The last row needs no padding.
  EXPECT_TRUE(decodeImage(std::span(bmp).first(54 + 14), 3).ok());
  for (const size_t size : {54, 54 + 8, 54 + 13}) {
    EXPECT_THAT(decodeImage(std::span(bmp).first(size), 3).status().message(),
                HasSubstr(fmt::format("a BMP of 2 x 2 pixels has 68 bytes, found are {}", size)));
  }
}

TEST(Image, TruncatedJpegIsAnError) {
  Image image = blankImage(64, 64, 3);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<uint8_t>(i * i * 37);
  }
  std::vector<uint8_t> jpeg;
  const auto append = [](void* bytes, void* data, int size) {
    const auto* begin = static_cast<const uint8_t*>(data);
    auto* to = static_cast<std::vector<uint8_t>*>(bytes);
    to->insert(to->end(), begin, begin + size);
  };
  ASSERT_NE(stbi_write_jpg_to_func(append, &jpeg, 64, 64, 3, image.pixels.data(), 90), 0);
  EXPECT_TRUE(decodeImage(jpeg, 3).ok());
  for (size_t size = 0; size < jpeg.size(); size += 50) {
    EXPECT_FALSE(decodeImage(std::span(jpeg).first(size), 3).ok()) << size;
  }
  EXPECT_FALSE(decodeImage(std::span(jpeg).first(jpeg.size() - 1), 3).ok());
}

TEST(Image, ChunkThatAnnouncesGigabytesIsRefused) {
  auto png = encodePng(blankImage(16, 16, 3));
  ASSERT_TRUE(png.ok());
  // The length of the IDAT chunk, which follows the signature (8 bytes) and IHDR (25).
  ASSERT_EQ(std::memcmp(png->data() + 37, "IDAT", 4), 0);
  (*png)[33] = 0x7f;
  EXPECT_THAT(decodeImage(*png, 3).status().message(), HasSubstr("damaged picture"));
}

TEST(Image, ResizesToTheMeanOfAFlatRegion) {
  Image image = blankImage(8, 8, 1);
  for (uint32_t y = 0; y < 8; ++y) {
    for (uint32_t x = 4; x < 8; ++x) *image.at(x, y) = 200;
  }
  const auto half = resizeImage(image, 4, 2);
  ASSERT_TRUE(half.ok());
  EXPECT_EQ(half->width, 4u);
  EXPECT_EQ(half->height, 2u);
  EXPECT_LT(*half->at(0, 0), 10);
  EXPECT_GT(*half->at(3, 1), 190);
  const auto large = resizeImage(image, 80, 80);
  ASSERT_TRUE(large.ok());
  EXPECT_EQ(*large->at(1, 40), 0);
  EXPECT_EQ(*large->at(78, 40), 200);
}

TEST(Image, SameSizeStaysAsItIs) {
  Image image = blankImage(3, 2, 3);
  image.pixels[4] = 99;
  const auto same = resizeImage(image, 3, 2);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->pixels, image.pixels);
  EXPECT_FALSE(resizeImage(image, 0, 2).ok());
  EXPECT_FALSE(resizeImage(image, 3, kMaxImageSide + 1).ok());
}

TEST(Image, LoadNamesTheFile) {
  const auto image = loadImage(HALYARD_SOURCE_DIR "/CMakeLists.txt", 3);
  EXPECT_THAT(image.status().message(), HasSubstr("CMakeLists.txt: not a BMP"));
}

}  // namespace
}  // namespace halyard::media
