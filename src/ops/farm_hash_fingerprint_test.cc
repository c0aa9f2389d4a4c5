// Tests of fingerprint64 against FarmHash itself.
#include "ops/farm_hash_fingerprint.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace halyard::ops {
namespace {

// Returns printable bytes that differ for each length.
std::vector<uint8_t> bytesOf(size_t length) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < length; ++i) {
    bytes.push_back(static_cast<uint8_t>(33 + (i * i * 7 + i * 3 + length) % 94));
  }
  return bytes;
}

TEST(FarmHashFingerprint, AgreesWithThePublishedFunction) {
  // Results of fingerprint64 of the PyPI package pyfarmhash, which wraps the published C++. The
  // lengths lie on both sides of every limit between the rules, and of the blocks of 64 bytes.
  struct Known {
    size_t length;
    uint64_t fingerprint;
  };
  const Known table[] = {
      {4, 0x049d4e4e45d7e3af},    {5, 0xee7d96b098eb083d},   {6, 0xfb2ee443b300c3bc},
      {7, 0xb57d4768dbc8ffab},    {8, 0x623faa55983fef70},   {9, 0x5748c1774227b8c3},
      {12, 0x41d3a585de2ae15f},   {15, 0xd960310f9562af72},  {16, 0x2418cebc7deecb5d},
      {17, 0xf5fd86ffdcc9af40},   {18, 0x763f59d1ffcd73e1},  {24, 0x0428492caa15c259},
      {31, 0xa007b2a182c0e1c2},   {32, 0x879214541059f6c0},  {33, 0xc0bb7303d0ff70ff},
      {34, 0xf90a5af2ceed8d60},   {48, 0x0616340a7929c28f},  {63, 0x7b692849a3907c0f},
      {64, 0x7394de2f99d39109},   {65, 0x294cf39d7ac5219f},  {66, 0x64ffaede7c5e4423},
      {96, 0x0b4b4961100009d0},   {127, 0x07097e2eb85240a2}, {128, 0xacb4a57e023a9d90},
      {129, 0x95b11d31c991cfa3},  {130, 0x9b32576d2e03a080}, {191, 0xf64dc334cf3b0998},
      {192, 0x9f4e9fa8adc61db9},  {193, 0x7a1ec80a33f28afb}, {255, 0xc6edcad81272be96},
      {256, 0xe33faebb95a269f3},  {257, 0x8d21323d9579123c}, {1000, 0x0ef4c36ae4b37cdb},
      {4096, 0x982e263192cb5841},
  };
  for (const Known& known : table) {
    EXPECT_EQ(fingerprint64(bytesOf(known.length)), known.fingerprint) << known.length;
  }
}

TEST(FarmHashFingerprint, HighBytes) {
  // This result is from the same package.
  const std::vector<uint8_t> bytes(100, 0xff);
  const std::span<const uint8_t> all(bytes);
  EXPECT_EQ(fingerprint64(all.first(5)), 0xb4c058f3e9e0f6e0);
  EXPECT_EQ(fingerprint64(all.first(12)), 0x88cda6e14217c939);
  EXPECT_EQ(fingerprint64(all.first(24)), 0x8cac77e604bda6b4);
  EXPECT_EQ(fingerprint64(all.first(48)), 0x96d2abe9b0dc596d);
  EXPECT_EQ(fingerprint64(all), 0x50d698f1021448a7);
}

}  // namespace
}  // namespace halyard::ops
