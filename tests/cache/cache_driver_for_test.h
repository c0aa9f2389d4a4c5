// Tools for tests of caching: a driver with a cache in any place, files for it, and models whose
// results tell them apart.
// Thread safety: none. Ownership: a CacheDriver owns its device and the server or process behind
// it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "hal/server/server.h"
#include "halyard/driver/device.h"

namespace halyard::cache_testing {

enum class Where : uint8_t { IN_THIS_PROCESS, OVER_RPC, IN_ITS_OWN_PROCESS };
const char* nameOf(Where where);

// A folder that is removed with the object.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The properties of a driver: the reference driver with a personality.
struct DriverSetup {
  Where where = Where::IN_THIS_PROCESS;
  HalVersion version = HalVersion::V1_3;
  unsigned modelFiles = 1;
  unsigned dataFiles = 1;
  std::string cacheFields;  // more of the personality's "cache", such as R"("declines": true)"
  std::string fields;       // more of the personality, such as R"("delays": {"compile_ms": 1})"
};

class CacheDriver {
 public:
  // `state`: the folder of the driver's store.
  CacheDriver(DriverSetup setup, const std::filesystem::path& state);
  ~CacheDriver();
  CacheDriver(const CacheDriver&) = delete;
  CacheDriver& operator=(const CacheDriver&) = delete;

  hal::Device& device() { return *device_; }
  // Ends the driver and starts another one with the same store.
  void restart();

 private:
  class Service;
  void start();
  std::shared_ptr<hal::Device> makeDevice() const;

  const DriverSetup setup_;
  const std::filesystem::path state_;
  std::unique_ptr<Service> service_;
  std::shared_ptr<hal::Device> device_;
};

// The cache files of one compilation, at paths of their own.
class FileSet {
 public:
  FileSet(std::filesystem::path folder, std::string name, unsigned modelFiles, unsigned dataFiles);

  // Opens the files again, creates them if needed, and sets their descriptors to offset `offset`.
  hal::CacheFiles open(hal::Token token, off_t offset = 0) const;
  size_t modelFiles() const { return modelFiles_; }
  const std::vector<std::filesystem::path>& paths() const { return paths_; }  // model files first
  std::vector<std::string> read() const;
  void write(const std::vector<std::string>& contents) const;

 private:
  std::vector<std::filesystem::path> paths_;
  size_t modelFiles_;
};
std::string readFile(const std::filesystem::path& path);
void writeFile(const std::filesystem::path& path, const std::string& content);
hal::Token tokenOf(uint8_t first);

hal::PrepareOptions with(hal::CacheFiles files);

// `length` operations in a row, each of which adds one or multiplies by one, on 1,024 numbers.
struct Chain {
  OperandType type = OperandType::TENSOR_FLOAT32;  // or TENSOR_QUANT8_ASYMM
  OperationType operation = OperationType::ADD;    // or MUL
  unsigned length = 1;

  std::shared_ptr<const Model> model() const;
  // Whether `prepared` computes this chain correctly from ones.
  bool isComputedBy(hal::PreparedModel& prepared) const;
};

}  // namespace halyard::cache_testing
