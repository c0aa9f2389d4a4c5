// ObjectTable: the NNAPI objects that a fuzzed sequence of calls has made, and what each must not
// outlive.
// Thread safety: none. Ownership: frees all objects, dependents before what they depend on; keeps
// every buffer that was handed to the API until then.
#pragma once

#include <android/NeuralNetworks.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/testing/byte_source.h"

namespace halyard::api::fuzz {

using halyard::fuzz::ByteSource;

// Ends the process with a text: the API has broken a promise.
[[noreturn]] void fail(const char* what, int code = 0);

// What a call answered is a ResultCode, and an error has a text. True for NO_ERROR. With
// HALYARD_FUZZ_ERRORS in the environment, errors are written to standard error.
bool check(int code);

struct ModelObject {
  ANeuralNetworksModel* handle = nullptr;
  std::vector<int32_t> types;                 // of its operands
  std::vector<std::vector<uint32_t>> shapes;  // of its operands
  std::vector<uint32_t> inputs, outputs;      // as identified
  uint32_t operations = 0;
  bool finished = false;
  bool small = true;  // its executions cannot take long, nor much memory
};

struct CompilationObject {
  ANeuralNetworksCompilation* handle = nullptr;
  const ModelObject* model = nullptr;
  bool forOneDevice = false;
};

struct ExecutionObject {
  ANeuralNetworksExecution* handle = nullptr;
  const CompilationObject* compilation = nullptr;
  std::vector<ANeuralNetworksEvent*> events;  // of its runs
};

struct BurstObject {
  ANeuralNetworksBurst* handle = nullptr;
  const CompilationObject* compilation = nullptr;
};

struct MemoryObject {
  ANeuralNetworksMemory* handle = nullptr;
  size_t size = 0;  // 0: of a descriptor
};

class ObjectTable {
 public:
  ObjectTable() = default;
  ~ObjectTable();
  ObjectTable(const ObjectTable&) = delete;
  ObjectTable& operator=(const ObjectTable&) = delete;

  // One of a list, by the next byte; null when there is none, and now and then.
  template <typename T>
  static T* pick(const std::vector<std::unique_ptr<T>>& list, ByteSource& bytes) {
    const uint8_t choice = bytes.byte();
    if (list.empty() || choice == 0xff) return nullptr;
    return list[choice % list.size()].get();
  }
  // Bytes that live as long as the table: exactly as many, so that a sanitizer sees who goes
  // beyond.
  uint8_t* buffer(size_t size);
  // The same, filled from the input.
  uint8_t* buffer(size_t size, ByteSource& bytes);

  // Free an object, with what depends on it.
  void drop(const ExecutionObject* execution);
  void drop(const BurstObject* burst);
  void drop(const CompilationObject* compilation);

  std::vector<std::unique_ptr<ModelObject>> models;
  std::vector<std::unique_ptr<CompilationObject>> compilations;
  std::vector<std::unique_ptr<ExecutionObject>> executions;
  std::vector<std::unique_ptr<BurstObject>> bursts;
  std::vector<std::unique_ptr<MemoryObject>> memories;
  std::vector<ANeuralNetworksMemoryDesc*> descriptors;
  std::vector<ANeuralNetworksEvent*> looseEvents;  // of fences, not of executions
  int executed = 0;                                // runs that have ended well

 private:
  std::vector<std::unique_ptr<uint8_t[]>> buffers_;
};

}  // namespace halyard::api::fuzz
