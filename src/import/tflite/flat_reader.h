// FlatReader: reads tables, vectors and strings of a FlatBuffer in a ModelFile. It checks each one
// when it is read: that it lies in the file, is aligned, and holds its fields. It neither checks
// nor reads the other parts of the file.
// Thread safety: none, as ModelFile.
// Ownership: borrows the file; results point into it.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "import/tflite/model_file.h"

namespace halyard::import {

// A range of the file whose bytes may not have been read yet.
struct FileRange {
  uint64_t offset = 0;
  size_t length = 0;
  size_t size() const { return length; }
  bool empty() const { return length == 0; }
  auto operator<=>(const FileRange&) const = default;
};

// A table with its vtable; without data if the field that refers to it is absent.
struct FlatTable {
  uint64_t offset = 0;
  const uint8_t* data = nullptr;
  const uint8_t* vtable = nullptr;
  uint16_t size = 0;
  uint16_t vtableSize = 0;

  explicit operator bool() const { return data != nullptr; }
};

// A vector of tables: the range of their offsets.
struct FlatTables {
  uint64_t offset = 0;
  const uint8_t* data = nullptr;
  size_t count = 0;
};

class FlatReader {
 public:
  // The name of a table's field is its position in the vtable (VT_... of the generated reader).
  using Field = flatbuffers::voffset_t;

  // `begin`: where the FlatBuffer is in the file.
  explicit FlatReader(ModelFile& file, uint64_t begin = 0) : file_(&file), begin_(begin) {}

  ModelFile& file() const { return *file_; }
  uint64_t begin() const { return begin_; }
  // Returns false after any error. The damaged part was then returned as absent.
  bool ok() const { return ok_; }

  // Returns the table that the offset at the FlatBuffer's start refers to.
  FlatTable root();
  FlatTable table(const FlatTable& parent, Field field);
  // A vector of more than kMostTables tables counts as damaged.
  static constexpr size_t kMostTables = 1'000'000;
  FlatTables tables(const FlatTable& parent, Field field);
  FlatTable element(const FlatTables& tables, size_t i) { return open(target(tables, i), false); }
  // As above, but valid only until the next call of this or passingRange. For tables far from all
  // other data that the reader needs.
  FlatTable passingElement(const FlatTables& tables, size_t i) {
    return open(target(tables, i), true);
  }

  template <typename T>
  T scalar(const FlatTable& table, Field field, T absent) {
    const uint16_t at = place(table, field, sizeof(T));
    if (at == 0) return absent;
    T value;
    std::memcpy(&value, table.data + at, sizeof(T));
    return value;
  }
  // Returns the range of a vector's or string's elements, of `size` bytes each, without reading
  // them.
  FileRange range(const FlatTable& table, Field field, size_t size) {
    return range(table, field, size, false);
  }
  FileRange passingRange(const FlatTable& table, Field field, size_t size) {
    return range(table, field, size, true);
  }
  // T has at most 4 bytes, because vectors are aligned to multiples of 4. Empty if the field is
  // absent.
  template <typename T>
  std::span<const T> vector(const FlatTable& table, Field field) {
    static_assert(sizeof(T) <= sizeof(flatbuffers::uoffset_t));
    const FileRange found = range(table, field, sizeof(T));
    const uint8_t* const bytes = read(found);
    if (bytes == nullptr) return {};
    return {reinterpret_cast<const T*>(bytes), found.length / sizeof(T)};
  }
  std::string_view string(const FlatTable& table, Field field) {
    const std::span<const char> found = vector<char>(table, field);
    return {found.data(), found.size()};
  }
  bool has(const FlatTable& table, Field field) {
    return place(table, field, sizeof(flatbuffers::uoffset_t)) != 0;
  }
  // Returns the bytes of a range; nullptr if it is empty, or not readable.
  const uint8_t* read(const FileRange& found);

 private:
  void fail() { ok_ = false; }
  // Returns the place in the table; 0 if the field is absent.
  uint16_t place(const FlatTable& table, Field field, size_t size) {
    if (field + sizeof(uint16_t) > table.vtableSize) return 0;
    uint16_t at = 0;
    std::memcpy(&at, table.vtable + field, sizeof(at));
    if (at == 0) return 0;
    if (at >= sizeof(int32_t) && at + size <= table.size && (table.offset + at) % size == 0) {
      return at;
    }
    fail();
    return 0;
  }
  // Returns the target of an offset in a table or vector; 0 if it is absent or bad.
  uint64_t target(const FlatTable& table, Field field);
  uint64_t target(const FlatTables& tables, size_t i);
  FlatTable open(uint64_t at, bool isPassing);
  FileRange range(const FlatTable& table, Field field, size_t size, bool isPassing);
  const uint8_t* bytes(uint64_t at, size_t size, bool isPassing) {
    return isPassing ? file_->passing(at, size) : file_->at(at, size);
  }

  // A checked vtable. Many tables share one.
  struct Vtable {
    int64_t offset = -1;
    const uint8_t* data = nullptr;
    uint16_t size = 0;
    uint16_t tableSize = 0;
  };
  static constexpr size_t kVtables = 8;
  // Returns nullptr for an invalid vtable.
  const Vtable* vtableAt(int64_t offset) {
    Vtable& known = vtables_[static_cast<size_t>(offset / 2) % kVtables];
    if (known.offset == offset && offset >= 0) return &known;
    return readVtable(offset, known) ? &known : nullptr;
  }
  bool readVtable(int64_t offset, Vtable& to);

  ModelFile* file_;
  uint64_t begin_;
  bool ok_ = true;
  std::array<Vtable, kVtables> vtables_;
};

}  // namespace halyard::import
