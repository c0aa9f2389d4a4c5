// Tests of the layouts of hardware buffers.
#include "halyard/driver/hardware_buffer.h"

#include <android/hardware_buffer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard {
namespace {

using ::testing::HasSubstr;

HardwareBufferDescription image(uint32_t format, uint32_t width, uint32_t height,
                                uint32_t layers = 1, uint64_t usage = 0) {
  return {width, height, layers, format, usage, 0};
}

TEST(HardwareBufferLayout, RowsArePadded) {
  struct Case {
    uint32_t format, bytes, stride;
  };
  // Each row has 33 pixels.
  for (const Case& c :
       {Case{AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, 4, 48},
        Case{AHARDWAREBUFFER_FORMAT_R8G8B8X8_UNORM, 4, 48},
        Case{AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM, 3, 64},
        Case{AHARDWAREBUFFER_FORMAT_R5G6B5_UNORM, 2, 64},
        Case{AHARDWAREBUFFER_FORMAT_R16G16B16A16_FLOAT, 8, 40},
        Case{AHARDWAREBUFFER_FORMAT_R10G10B10A2_UNORM, 4, 48},
        Case{AHARDWAREBUFFER_FORMAT_D16_UNORM, 2, 64},
        Case{AHARDWAREBUFFER_FORMAT_D24_UNORM, 4, 48},
        Case{AHARDWAREBUFFER_FORMAT_D24_UNORM_S8_UINT, 4, 48},
        Case{AHARDWAREBUFFER_FORMAT_D32_FLOAT, 4, 48},
        Case{AHARDWAREBUFFER_FORMAT_D32_FLOAT_S8_UINT, 8, 40},
        Case{AHARDWAREBUFFER_FORMAT_S8_UINT, 1, 64}, Case{AHARDWAREBUFFER_FORMAT_R8_UNORM, 1, 64},
        Case{AHARDWAREBUFFER_FORMAT_R16_UINT, 2, 64},
        Case{AHARDWAREBUFFER_FORMAT_R16G16_UINT, 4, 48},
        Case{AHARDWAREBUFFER_FORMAT_R10G10B10A10_UNORM, 8, 40}}) {
    SCOPED_TRACE(c.format);
    const auto layout = layoutOf(image(c.format, 33, 5, 7));
    ASSERT_TRUE(layout.ok()) << layout.status().toString();
    EXPECT_EQ(layout->stride, c.stride);
    EXPECT_EQ(layout->planeCount, 1u);
    EXPECT_EQ(layout->planes[0].offset, 0u);
    EXPECT_EQ(layout->planes[0].pixelStride, c.bytes);
    EXPECT_EQ(layout->planes[0].rowStride, c.stride * c.bytes);
    EXPECT_EQ(layout->layerSize, uint64_t{5} * c.stride * c.bytes);
    EXPECT_EQ(layout->size, uint64_t{7} * 5 * c.stride * c.bytes);
  }
}

TEST(HardwareBufferLayout, PlanesFollowEachOther) {
  const auto planar = layoutOf(image(AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420, 65, 5)).value();
  EXPECT_EQ(planar.planeCount, 3u);
  EXPECT_EQ(planar.stride, 128u);
  EXPECT_EQ(planar.planes[1].offset, 5u * 128);
  EXPECT_EQ(planar.planes[1].rowStride, 64u);  // 33 pixels
  EXPECT_EQ(planar.planes[2].offset, 5u * 128 + 3 * 64);
  EXPECT_EQ(planar.size, 5u * 128 + 2 * 3 * 64);

  const auto p010 = layoutOf(image(AHARDWAREBUFFER_FORMAT_YCbCr_P010, 64, 4)).value();
  EXPECT_EQ(p010.planeCount, 3u);
  EXPECT_EQ(p010.planes[1].offset, 4u * 128);
  EXPECT_EQ(p010.planes[2].offset, 4u * 128 + 2);
  EXPECT_EQ(p010.planes[2].pixelStride, 4u);
  EXPECT_EQ(p010.size, 4u * 128 + 2 * 128);
  EXPECT_EQ(layoutOf(image(AHARDWAREBUFFER_FORMAT_YCbCr_P210, 64, 4))->size, 8u * 128);
}

TEST(HardwareBufferLayout, BlobIsItsWidth) {
  const auto blob = layoutOf(image(AHARDWAREBUFFER_FORMAT_BLOB, 0xffffffff, 1)).value();
  EXPECT_EQ(blob.size, 0xffffffffu);
  EXPECT_EQ(blob.stride, 0xffffffffu);
}

TEST(HardwareBufferLayout, RefusesWhatMakesNoSense) {
  const auto refused = [](const HardwareBufferDescription& description, const char* text) {
    const auto layout = layoutOf(description);
    EXPECT_EQ(layout.status().code(), ResultCode::BAD_DATA);
    EXPECT_THAT(layout.status().message(), HasSubstr(text));
  };
  constexpr uint32_t kRgba = AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM;
  constexpr uint32_t kBlob = AHARDWAREBUFFER_FORMAT_BLOB;
  refused(image(kRgba, 0, 1), "one is 0");
  refused(image(kRgba, 1, 0), "one is 0");
  refused(image(kRgba, 1, 1, 0), "one is 0");
  refused(image(kRgba, 65537, 1), "at most 65536");
  refused(image(kRgba, 1, 65537), "at most 65536");
  refused(image(kRgba, 1, 1, 4097), "4096");
  refused(image(0, 1, 1), "format 0x0 is unknown");
  refused(image(0x37, 1, 1), "format 0x37 is unknown");
  refused(image(kBlob, 8, 2), "height 2");
  refused(image(kBlob, 8, 1, 2), "2 layers");
  refused(image(AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420, 8, 8, 2), "2 layers");
  refused(image(kRgba, 8, 8, 1, uint64_t{1} << 40), "unknown bits 0x10000000000");
  refused(image(kRgba, 8, 8, 1, AHARDWAREBUFFER_USAGE_PROTECTED_CONTENT), "PROTECTED");
  refused(image(kRgba, 8, 8, 1, AHARDWAREBUFFER_USAGE_GPU_MIPMAP_COMPLETE), "MIPMAP");
  refused(image(kRgba, 8, 8, 1, AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER), "BLOB only");
  refused(image(kBlob, 8, 1, 1, AHARDWAREBUFFER_USAGE_GPU_SAMPLED_IMAGE), "for images");
  refused(image(kRgba, 8, 9, 6, AHARDWAREBUFFER_USAGE_GPU_CUBE_MAP), "squares");
  refused(image(kRgba, 8, 8, 5, AHARDWAREBUFFER_USAGE_GPU_CUBE_MAP), "multiple of 6");
  EXPECT_TRUE(layoutOf(image(kRgba, 8, 8, 6, AHARDWAREBUFFER_USAGE_GPU_CUBE_MAP)).ok());
  EXPECT_TRUE(layoutOf(image(kRgba, 65536, 65536, 4096, uint64_t{1} << 63)).ok());
}

}  // namespace
}  // namespace halyard
