// Tests of .npy files, including hostile ones.
#include "media/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::media {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns a file of format version `major` with any header text and data.
std::vector<uint8_t> file(const std::string& header, const std::string& data, uint8_t major = 1) {
  std::string bytes = std::string("\x93NUMPY", 6) + std::string{static_cast<char>(major), '\0'};
  for (size_t i = 0; i < (major == 1 ? 2u : 4u); ++i) {
    bytes.push_back(static_cast<char>((header.size() >> (8 * i)) & 0xff));
  }
  bytes += header + data;
  return {bytes.begin(), bytes.end()};
}

std::string errorOf(const std::string& header, const std::string& data) {
  const auto array = parseNpy(file(header, data));
  return array.ok() ? "read" : array.status().toString();
}

TEST(Npy, ReadsVersions1To3) {
  const std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 1), }    \n";
  for (const uint8_t major : {1, 2, 3}) {
    const auto array = parseNpy(file(header, std::string("\x01\x02\xff\xff", 4), major));
    ASSERT_TRUE(array.ok()) << array.status().toString();
    EXPECT_EQ(array->dtype, "i2");
    EXPECT_THAT(array->shape, ElementsAre(2, 1));
    EXPECT_THAT(array->data, ElementsAre(1, 2, 255, 255));
  }
}

TEST(Npy, ReadsScalarsVectorsAndEmptyArrays) {
  const auto scalar =
      parseNpy(file("{'shape': (), 'fortran_order': False, 'descr': '|b1'}", "\x01"));
  ASSERT_TRUE(scalar.ok()) << scalar.status().toString();
  EXPECT_TRUE(scalar->shape.empty());
  const auto vector =
      parseNpy(file("{'descr': '|u1', 'fortran_order': True, 'shape': (3,), }", "abc"));
  ASSERT_TRUE(vector.ok()) << vector.status().toString();
  EXPECT_THAT(vector->shape, ElementsAre(3));
  const auto empty = parseNpy(
      file("{'descr': '<f8', 'fortran_order': False, 'shape': (18446744073709551615, 0), }", ""));
  ASSERT_TRUE(empty.ok()) << empty.status().toString();
  EXPECT_TRUE(empty->data.empty());
}

TEST(Npy, WritesWhatItReads) {
  const NpyArray array{"f4", {1, 2}, {0, 0, 128, 63, 0, 0, 0, 64}};
  const auto bytes = encodeNpy(array);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ((bytes->size() - array.data.size()) % 64, 0u);
  const std::string header(bytes->begin() + 10, bytes->end() - 8);
  EXPECT_THAT(header, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }"));
  EXPECT_EQ(header.back(), '\n');
  const auto back = parseNpy(*bytes);
  ASSERT_TRUE(back.ok()) << back.status().toString();
  EXPECT_EQ(back->dtype, array.dtype);
  EXPECT_EQ(back->shape, array.shape);
  EXPECT_EQ(back->data, array.data);
}

TEST(Npy, RefusesToWriteWhatDoesNotFit) {
  EXPECT_FALSE(encodeNpy({"f4", {2}, {1, 2, 3}}).ok());
  EXPECT_FALSE(encodeNpy({"x4", {1}, {1, 2, 3, 4}}).ok());
}

TEST(Npy, RefusesHostileHeaders) {
  const std::string good = "'fortran_order': False, 'shape': (1,), }";
  EXPECT_THAT(errorOf("{'descr': '>f4', " + good, "1234"), HasSubstr("not little-endian"));
  EXPECT_THAT(errorOf("{'descr': '<V8', " + good, "12345678"), HasSubstr("not supported"));
  EXPECT_THAT(errorOf("{'descr': '|O', " + good, "1234"), HasSubstr("not supported"));
  EXPECT_THAT(errorOf("{'descr': [('a', '<f4')], " + good, "1234"), HasSubstr("one element type"));
  EXPECT_THAT(errorOf("{" + good, "1234"), HasSubstr("missing"));
  EXPECT_THAT(errorOf("{'descr': '<f4', 'descr': '<f4', " + good, "1234"), HasSubstr("repeated"));
  EXPECT_THAT(errorOf("{'descr': '<f4', " + good + " x", "1234"), HasSubstr("the end"));
  EXPECT_THAT(errorOf("{'descr': '<f4', " + good, "12345"), HasSubstr("5 bytes"));
  EXPECT_THAT(errorOf("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }", "1234"),
              HasSubstr("Fortran order"));
  EXPECT_THAT(errorOf("{'descr': '<f4", ""), HasSubstr("expected"));
  EXPECT_THAT(errorOf("", ""), HasSubstr("expected '{'"));
}

TEST(Npy, RefusesShapesThatOverflow) {
  const std::string start = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  // 2^62 elements of 4 bytes are 0 modulo 2^64.
  EXPECT_THAT(errorOf(start + "4611686018427387904,)}", ""), HasSubstr("do not make"));
  EXPECT_THAT(errorOf(start + "4294967296, 4294967296)}", ""), HasSubstr("do not make"));
  EXPECT_THAT(errorOf(start + "18446744073709551616,)}", ""), HasSubstr("a dimension"));
  EXPECT_THAT(errorOf(start + "-1,)}", ""), HasSubstr("a dimension"));
  std::string many = start;
  for (int i = 0; i < 33; ++i) many += "1,";
  EXPECT_THAT(errorOf(many + ")}", "1234"), HasSubstr("more than 32"));
}

TEST(Npy, RefusesEveryTruncation) {
  const auto whole = encodeNpy({"u1", {2}, {1, 2}});
  ASSERT_TRUE(whole.ok());
  for (size_t size = 0; size < whole->size(); ++size) {
    EXPECT_FALSE(parseNpy(std::span(*whole).first(size)).ok()) << size;
  }
  EXPECT_TRUE(parseNpy(*whole).ok());
  std::vector<uint8_t> newer = *whole;
  newer[6] = 4;
  EXPECT_THAT(parseNpy(newer).status().message(), HasSubstr("version 4.0"));
}

}  // namespace
}  // namespace halyard::media
