// MallocArray: a list of integers in the form that an interpreter takes.
// Thread safety: values. Ownership: owns the list, unless release() has given it away.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "tflite_delegate/abi.h"

namespace halyard::tflite {

class MallocArray {
 public:
  explicit MallocArray(std::span<const int32_t> values)
      : list_(static_cast<IntArray*>(std::malloc(sizeof(IntArray) + values.size_bytes()))) {
    if (list_ == nullptr) throw std::bad_alloc();
    list_->size = static_cast<int32_t>(values.size());
    if (!values.empty()) std::memcpy(list_.get() + 1, values.data(), values.size_bytes());
  }

  const IntArray* get() const { return list_.get(); }
  // The caller owns the list, which `free` releases.
  IntArray* release() { return list_.release(); }

 private:
  struct Free {
    void operator()(IntArray* list) const { std::free(list); }
  };
  std::unique_ptr<IntArray, Free> list_;
};

}  // namespace halyard::tflite
