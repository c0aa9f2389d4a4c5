// SharedParts: parts that several kernels of one model make of the same constants, made once. An
// example is the weights of an unrolled LSTM, which every step reads.
// Thread safety: belongs to one compilation, one thread at a time.
// Ownership: parts are shared by the kernels that asked for them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <typeindex>
#include <utility>
#include <vector>

namespace halyard::cpudriver {

class SharedParts {
 public:
  using Key = std::vector<int64_t>;

  // The part of this type and key; `make()` makes a std::shared_ptr to the first.
  template <typename T, typename Make>
  std::shared_ptr<const T> get(Key key, const Make& make) {
    std::shared_ptr<const void>& part = parts_[{typeid(T), std::move(key)}];
    if (part == nullptr) part = std::shared_ptr<const T>(make());
    return std::static_pointer_cast<const T>(part);
  }

 private:
  std::map<std::pair<std::type_index, Key>, std::shared_ptr<const void>> parts_;
};

}  // namespace halyard::cpudriver
