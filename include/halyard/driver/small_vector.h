// SmallVector: a vector that keeps a few elements in itself. A model has thousands of dimensions
// and lists of operands, and each would otherwise be an allocation. Thread safety: that of
// std::vector. Ownership: owns its elements.
//
// Methods are those of std::vector. Iterators and references are valid as long as there, but not
// after the vector has been moved from. Elements must be copyable as bytes. It is part of a public
// header, so it needs only the standard library.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace halyard {

template <typename T, uint32_t kInline>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>);
  static_assert(kInline > 0);

 public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;
  using iterator = T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  SmallVector() noexcept {}
  explicit SmallVector(size_t count, T value = T()) { assign(count, value); }
  SmallVector(std::initializer_list<T> values) { append(values.begin(), values.size()); }
  template <std::input_iterator Iterator>
  SmallVector(Iterator first, Iterator last) {
    insert(end(), first, last);
  }
  // Not explicit: lists that are computed are made of these.
  SmallVector(const std::vector<T>& values) { append(values.data(), values.size()); }
  explicit SmallVector(std::span<const T> values) { append(values.data(), values.size()); }
  SmallVector(const SmallVector& other) { append(other.data(), other.size_); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      size_ = 0;
      append(other.data(), other.size_);
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  SmallVector& operator=(std::initializer_list<T> values) {
    assign(values.begin(), values.end());
    return *this;
  }
  ~SmallVector() { release(); }

  T* data() noexcept { return isInline() ? storage_.elements : storage_.allocated; }
  const T* data() const noexcept { return isInline() ? storage_.elements : storage_.allocated; }
  size_t size() const noexcept { return size_; }
  size_t capacity() const noexcept { return capacity_; }
  bool empty() const noexcept { return size_ == 0; }

  iterator begin() noexcept { return data(); }
  const_iterator begin() const noexcept { return data(); }
  const_iterator cbegin() const noexcept { return data(); }
  iterator end() noexcept { return data() + size_; }
  const_iterator end() const noexcept { return data() + size_; }
  const_iterator cend() const noexcept { return data() + size_; }
  reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
  const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
  reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
  const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }

  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& at(size_t i) { return data()[checked(i)]; }
  const T& at(size_t i) const { return data()[checked(i)]; }
  T& front() { return *begin(); }
  const T& front() const { return *begin(); }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void reserve(size_t count) {
    if (count > capacity_) grow(count);
  }
  void clear() noexcept { size_ = 0; }
  void resize(size_t count, T value = T()) {
    if (count > size_) {
      reserve(count);
      std::fill_n(end(), count - size_, value);
    }
    size_ = static_cast<uint32_t>(count);
  }
  void push_back(T value) {
    if (size_ == capacity_) grow(size_t{size_} + 1);
    data()[size_++] = value;
  }
  template <typename... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    push_back(T(std::forward<Arguments>(arguments)...));
    return back();
  }
  void pop_back() { --size_; }
  void assign(size_t count, T value) {
    size_ = 0;
    resize(count, value);
  }
  template <std::input_iterator Iterator>
  void assign(Iterator first, Iterator last) {
    // The elements may be among its own.
    *this = SmallVector(first, last);
  }

  iterator insert(const_iterator position, T value) { return insert(position, 1, value); }
  iterator insert(const_iterator position, size_t count, T value) {
    T* const place = makeRoom(position, count);
    std::fill_n(place, count, value);
    return place;
  }
  // [first, last) is not in this vector.
  template <std::input_iterator Iterator>
  iterator insert(const_iterator position, Iterator first, Iterator last) {
    if constexpr (std::forward_iterator<Iterator>) {
      T* const place = makeRoom(position, static_cast<size_t>(std::distance(first, last)));
      std::copy(first, last, place);
      return place;
    } else {
      const std::vector<T> values(first, last);
      return insert(position, values.begin(), values.end());
    }
  }
  iterator insert(const_iterator position, std::initializer_list<T> values) {
    return insert(position, values.begin(), values.end());
  }
  iterator erase(const_iterator position) { return erase(position, position + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    T* const to = data() + (first - data());
    std::copy(last, cend(), to);
    size_ -= static_cast<uint32_t>(last - first);
    return to;
  }
  void swap(SmallVector& other) noexcept { std::swap(*this, other); }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend auto operator<=>(const SmallVector& a, const SmallVector& b) {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  union Storage {
    T elements[kInline];
    T* allocated;
  };

  bool isInline() const { return capacity_ == kInline; }
  size_t checked(size_t i) const {
    if (i >= size_) throw std::out_of_range("SmallVector");
    return i;
  }
  void append(const T* values, size_t count) {
    reserve(size_ + count);
    if (count != 0) std::memcpy(data() + size_, values, count * sizeof(T));
    size_ += static_cast<uint32_t>(count);
  }
  // `count` elements at `position` that have no values yet.
  T* makeRoom(const_iterator position, size_t count) {
    const auto at = static_cast<size_t>(position - data());
    reserve(size_ + count);
    T* const place = data() + at;
    if (count != 0) std::copy_backward(place, end(), end() + count);
    size_ += static_cast<uint32_t>(count);
    return place;
  }
  // Seldom, and so not in every place that makes or ends one.
  [[gnu::noinline]] void grow(size_t least) {
    if (least > std::numeric_limits<uint32_t>::max()) throw std::length_error("SmallVector");
    const auto capacity = static_cast<uint32_t>(std::min<size_t>(
        std::max(least, size_t{2} * capacity_), std::numeric_limits<uint32_t>::max()));
    T* const allocated = std::allocator<T>().allocate(capacity);
    std::copy_n(data(), size_, allocated);
    release();
    storage_.allocated = allocated;
    capacity_ = capacity;
  }
  void release() noexcept {
    if (!isInline()) [[unlikely]]
      deallocate();
  }
  [[gnu::noinline]] void deallocate() noexcept {
    std::allocator<T>().deallocate(storage_.allocated, capacity_);
    capacity_ = kInline;
  }
  // Has nothing allocated.
  void take(SmallVector& other) noexcept {
    storage_ = other.storage_;
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, kInline);
  }

  uint32_t size_ = 0;
  uint32_t capacity_ = kInline;
  Storage storage_{};
};

}  // namespace halyard
