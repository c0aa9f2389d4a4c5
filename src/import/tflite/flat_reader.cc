// Reads a FlatBuffer by the published definition of its format.
#include "import/tflite/flat_reader.h"

namespace halyard::import {
namespace {

using flatbuffers::soffset_t;
using flatbuffers::uoffset_t;
using flatbuffers::voffset_t;

template <typename T>
T numberAt(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

}  // namespace

FlatTable FlatReader::root() {
  const uint8_t* const offset = file_->at(begin_, sizeof(uoffset_t));
  return open(target(FlatTables{begin_, offset, offset == nullptr ? size_t{0} : 1}, 0), false);
}

FlatTables FlatReader::tables(const FlatTable& parent, Field field) {
  const FileRange offsets = range(parent, field, sizeof(uoffset_t));
  const uint8_t* const data = read(offsets);
  if (data == nullptr) return {};
  const size_t count = offsets.length / sizeof(uoffset_t);
  if (count > kMostTables) {
    fail();
    return {};
  }
  return {offsets.offset, data, count};
}

FlatTable FlatReader::table(const FlatTable& parent, Field field) {
  return open(target(parent, field), false);
}

uint64_t FlatReader::target(const FlatTable& table, Field field) {
  const uint16_t at = place(table, field, sizeof(uoffset_t));
  if (at == 0) return 0;
  const auto offset = numberAt<uoffset_t>(table.data + at);
  if (offset == 0) fail();
  return offset == 0 ? 0 : table.offset + at + offset;
}

uint64_t FlatReader::target(const FlatTables& tables, size_t i) {
  const size_t at = i * sizeof(uoffset_t);
  const uoffset_t offset = i < tables.count ? numberAt<uoffset_t>(tables.data + at) : 0;
  if (offset == 0) fail();
  return offset == 0 ? 0 : tables.offset + at + offset;
}

bool FlatReader::readVtable(int64_t offset, Vtable& to) {
  if (offset < 0 || offset % 2 != 0) return false;
  const auto at = static_cast<uint64_t>(offset);
  // The vtable starts with its own size and the table's size.
  const uint8_t* const sizes = file_->at(at, 2 * sizeof(voffset_t));
  if (sizes == nullptr) return false;
  const auto size = numberAt<voffset_t>(sizes);
  const auto tableSize = numberAt<voffset_t>(sizes + sizeof(voffset_t));
  if (size < 2 * sizeof(voffset_t) || tableSize < sizeof(soffset_t)) return false;
  const uint8_t* const data = file_->at(at, size);
  if (data == nullptr) return false;
  to = {offset, data, size, tableSize};
  return true;
}

FlatTable FlatReader::open(uint64_t at, bool isPassing) {
  if (at == 0) return {};
  const uint8_t* const begin =
      at % sizeof(soffset_t) == 0 ? bytes(at, sizeof(soffset_t), isPassing) : nullptr;
  if (begin != nullptr) {
    const Vtable* const vtable = vtableAt(static_cast<int64_t>(at) - numberAt<soffset_t>(begin));
    const uint8_t* const data =
        vtable == nullptr ? nullptr : bytes(at, vtable->tableSize, isPassing);
    if (data != nullptr) return {at, data, vtable->data, vtable->tableSize, vtable->size};
  }
  fail();
  return {};
}

FileRange FlatReader::range(const FlatTable& table, Field field, size_t size, bool isPassing) {
  const uint64_t at = target(table, field);
  if (at == 0) return {};
  const uint8_t* const count =
      at % sizeof(uoffset_t) == 0 ? bytes(at, sizeof(uoffset_t), isPassing) : nullptr;
  if (count != nullptr) {
    const uint64_t length = uint64_t{numberAt<uoffset_t>(count)} * size;
    const uint64_t begin = at + sizeof(uoffset_t);
    if (length <= file_->size() - begin) return {begin, static_cast<size_t>(length)};
  }
  fail();
  return {};
}

const uint8_t* FlatReader::read(const FileRange& found) {
  if (found.empty()) return nullptr;
  const uint8_t* const bytes = file_->at(found.offset, found.length);
  if (bytes == nullptr) fail();
  return bytes;
}

}  // namespace halyard::import
