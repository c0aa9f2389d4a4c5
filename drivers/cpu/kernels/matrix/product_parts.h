// ProductParts: an operation of several matrix products. Each product has weights of its own, and
// its results do not lie side by side in the output.
// Thread safety: immutable.
// Ownership: owns the layers.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/matrix/matrix_layer.h"

namespace halyard::cpudriver {

struct ProductPart {
  // Rows [begin, end) of the results, which lie side by side at `from`, to their places.
  using Store = std::function<void(const std::byte* from, size_t begin, size_t end, std::byte* to)>;

  std::unique_ptr<MatrixLayer> layer;
  RowSource rows;
  size_t inputOffset = 0;  // bytes: the begin of the input for `rows`
  Store store;
};

class ProductParts {
 public:
  explicit ProductParts(std::vector<ProductPart> parts);

  void run(const std::byte* input, std::byte* output, ops::KernelServices& services) const;

 private:
  // Some rows of one part.
  struct Item {
    size_t part;
    size_t begin;
    size_t end;
  };
  void runItem(const Item& item, const std::byte* input, std::byte* output) const;

  std::vector<ProductPart> parts_;
  std::vector<Item> items_;
  size_t grain_ = 1;  // items
};

// The inputs and the output that the layer of one part sees. They are those of `site` with another
// filter, [columns][depth]. Of the operation's channels they have `columns`, from `firstColumn` on.
class PartSite {
 public:
  PartSite(const KernelSite& site, const void* filter, size_t firstColumn, size_t columns,
           size_t depth);
  PartSite(const PartSite&) = delete;
  PartSite& operator=(const PartSite&) = delete;

  const KernelSite& site() const { return site_; }

 private:
  std::vector<ops::Tensor> inputs_;
  SymmPerChannelQuantParams scales_;
  KernelSite site_;
};

}  // namespace halyard::cpudriver
