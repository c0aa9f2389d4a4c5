// CacheFolder: a folder for tests of caches, with the files of a compilation.
// Thread safety: none.
// Ownership: removes the folder with its content.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "halyard/driver/compile_cache.h"

namespace halyard::cache::testing {

using Bytes = std::vector<uint8_t>;

inline constexpr uint32_t kUid = 1000;  // of the application that owns entries

inline Bytes bytesOf(std::string_view text) { return Bytes(text.begin(), text.end()); }

// The bytes differ by seed and by position.
inline Bytes someBytes(size_t count, uint32_t seed) {
  Bytes bytes(count);
  uint32_t state = seed * 2654435761U + 1;
  for (uint8_t& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return bytes;
}

inline hal::Token tokenOf(uint8_t first) {
  hal::Token token = {};
  token[0] = first;
  token[31] = 0x5a;
  return token;
}

class CacheFolder {
 public:
  CacheFolder() {
    std::string path = ::testing::TempDir() + "halyard_cache_XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    path_ = std::filesystem::canonical(path);
  }
  ~CacheFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path store() const { return path_ / "store"; }
  std::filesystem::path database() const { return store() / "compilations-1.sqlite3"; }
  std::filesystem::path file(const std::string& name) const { return path_ / name; }
  std::filesystem::path modelFile(const std::string& set, size_t index) const {
    return path_ / (set + "1" + std::to_string(index));
  }
  std::filesystem::path dataFile(const std::string& set, size_t index) const {
    return path_ / (set + "2" + std::to_string(index));
  }

  // Opens the files of the set again at each call, and creates missing files.
  hal::CacheFiles open(const std::string& set, size_t models, size_t datas, const hal::Token& token,
                       int flags = O_RDWR) const {
    hal::CacheFiles files;
    for (size_t i = 0; i < models; ++i)
      files.modelCache.push_back(openOne(modelFile(set, i), flags));
    for (size_t i = 0; i < datas; ++i) files.dataCache.push_back(openOne(dataFile(set, i), flags));
    files.token = token;
    return files;
  }

  static UniqueFd openOne(const std::filesystem::path& path, int flags = O_RDWR) {
    UniqueFd fd(::open(path.c_str(), flags | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_TRUE(fd.valid()) << path;
    return fd;
  }
  static Bytes read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return Bytes((std::istreambuf_iterator<char>(file)), {});
  }
  // Writes into the existing file, so its inode stays.
  static void write(const std::filesystem::path& path, const Bytes& bytes) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace halyard::cache::testing
