// The LSTM cell as plain loops over real numbers, and random operands for it.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "ops/recurrent_for_test.h"

namespace halyard::ops::testing {

struct LstmParts {
  bool inputGate = true, peephole = false, projection = false, projectionBias = false,
       layerNorm = false, auxWeights = false;

  static LstmParts random(RandomOperands& random) {
    LstmParts parts = {random.coin(), random.coin(), random.coin(), random.coin(), random.coin()};
    return parts;
  }
  std::string text() const {
    return fmt::format("input gate {}, peephole {}, projection {}, its bias {}, layer norm {}",
                       inputGate, peephole, projection, projectionBias, layerNorm);
  }
};

struct LstmSizes {
  uint32_t inputs = 3, cells = 4, outputs = 4, aux = 2;
};

// The 17 operands from the input gate's weights to the projection's bias.
inline std::vector<TestOperand> lstmWeightOperands(RandomOperands& random, OperandType type,
                                                   const LstmParts& parts, const LstmSizes& sizes) {
  std::vector<TestOperand> operands;
  const auto add = [&](bool isPresent, const Shape& dims) {
    operands.push_back(isPresent ? random.tensor(type, dims) : TestOperand::omitted(type));
  };
  for (uint32_t depth : {sizes.inputs, sizes.outputs}) {
    for (int gate = 0; gate < 4; ++gate) add(gate > 0 || parts.inputGate, {sizes.cells, depth});
  }
  for (int gate = 0; gate < 3; ++gate) {
    add(parts.peephole && (gate > 0 || parts.inputGate), {sizes.cells});
  }
  for (int gate = 0; gate < 4; ++gate) add(gate > 0 || parts.inputGate, {sizes.cells});
  add(parts.projection, {sizes.outputs, sizes.cells});
  add(parts.projection && parts.projectionBias, {sizes.outputs});
  return operands;
}

// Four operands, one for each gate.
inline std::vector<TestOperand> lstmGateOperands(RandomOperands& random, OperandType type,
                                                 bool isPresent, bool hasInputGate,
                                                 const Shape& dims) {
  std::vector<TestOperand> operands;
  for (int gate = 0; gate < 4; ++gate) {
    const bool has = isPresent && (gate > 0 || hasInputGate);
    operands.push_back(has ? random.tensor(type, dims) : TestOperand::omitted(type));
  }
  return operands;
}

struct NaiveLstm {
  std::vector<Reals> input, recurrent, peephole, bias, layerNorm, aux;
  Reals projection, projectionBias;
  int code = 4;
  double cellClip = 0, projectionClip = 0;

  // `aux` and `layerNorm` are positions of four operands; 0: none.
  NaiveLstm(const std::vector<TestOperand>& operands, size_t first, size_t layerNormAt,
            size_t auxAt) {
    const auto four = [&](size_t at) {
      std::vector<Reals> reals(4);
      for (size_t gate = 0; at > 0 && gate < 4 && at + gate < operands.size(); ++gate) {
        reals[gate] = realsOf(operands[at + gate]);
      }
      return reals;
    };
    input = four(first);
    recurrent = four(first + 4);
    peephole = {realsOf(operands[first + 8]),
                realsOf(operands[first + 9]),
                {},
                realsOf(operands[first + 10])};
    bias = four(first + 11);
    projection = realsOf(operands[first + 15]);
    projectionBias = realsOf(operands[first + 16]);
    layerNorm = four(layerNormAt);
    aux = four(auxAt);
  }

  Reals gate(size_t k, const Reals& x, const Reals& auxiliary, const Reals& hidden,
             const Reals& cell) const {
    Reals sums(cell.size());
    addProduct(input[k], x, sums);
    addProduct(recurrent[k], hidden, sums);
    addProduct(aux[k], auxiliary, sums);
    for (size_t j = 0; j < peephole[k].size(); ++j) sums[j] += peephole[k][j] * cell[j];
    if (!layerNorm[k].empty()) {
      const double count = static_cast<double>(sums.size());
      const double mean = std::accumulate(sums.begin(), sums.end(), 0.0) / count;
      double variance = 0;
      for (double sum : sums) variance += (sum - mean) * (sum - mean) / count;
      for (size_t j = 0; j < sums.size(); ++j) {
        sums[j] = (sums[j] - mean) / std::sqrt(variance + 1e-8) * layerNorm[k][j];
      }
    }
    for (size_t j = 0; j < sums.size(); ++j) sums[j] += bias[k][j];
    return sums;
  }

  void step(const Reals& x, const Reals& auxiliary, Reals& hidden, Reals& cell) const {
    const auto sigmoid = [](double a) { return recurrentActivation(6, a); };
    const Reals before = cell;
    const Reals f = gate(1, x, auxiliary, hidden, before);
    const Reals g = gate(2, x, auxiliary, hidden, before);
    const Reals i = input[0].empty() ? Reals{} : gate(0, x, auxiliary, hidden, before);
    for (size_t j = 0; j < cell.size(); ++j) {
      const double in = i.empty() ? 1 - sigmoid(f[j]) : sigmoid(i[j]);
      cell[j] = sigmoid(f[j]) * before[j] + in * recurrentActivation(code, g[j]);
      if (cellClip > 0) cell[j] = std::clamp(cell[j], -cellClip, cellClip);
    }
    const Reals o = gate(3, x, auxiliary, hidden, cell);
    Reals out(cell.size());
    for (size_t j = 0; j < cell.size(); ++j) {
      out[j] = sigmoid(o[j]) * recurrentActivation(code, cell[j]);
    }
    if (!projection.empty()) {
      Reals projected(hidden.size());
      addProduct(projection, out, projected);
      for (size_t j = 0; j < projectionBias.size(); ++j) projected[j] += projectionBias[j];
      if (projectionClip > 0) {
        for (double& p : projected) p = std::clamp(p, -projectionClip, projectionClip);
      }
      out = projected;
    }
    hidden = out;
  }

  // Runs one direction of a sequence. The rows of `out` are those of `outView`; columns from
  // `offset` on are written. The last states replace `hidden` and `cell`.
  void run(const StepView& view, bool backward, const Reals& x, const Reals& auxValues,
           size_t auxSize, Reals& hidden, Reals& cell, size_t offset, const StepView& outView,
           Reals& out) const {
    const size_t outputs = hidden.size() / view.batch;
    const size_t cells = cell.size() / view.batch;
    StepView auxView = view;
    auxView.size = auxSize;
    const auto slice = [](const Reals& all, size_t b, size_t size) {
      return Reals(all.begin() + static_cast<ptrdiff_t>(b * size),
                   all.begin() + static_cast<ptrdiff_t>((b + 1) * size));
    };
    for (size_t b = 0; b < view.batch; ++b) {
      Reals h = slice(hidden, b, outputs);
      Reals c = slice(cell, b, cells);
      for (size_t s = 0; s < view.steps; ++s) {
        const size_t t = backward ? view.steps - 1 - s : s;
        step(view.row(x, t, b), aux[1].empty() ? Reals{0} : auxView.row(auxValues, t, b), h, c);
        std::copy(h.begin(), h.end(),
                  out.begin() + static_cast<ptrdiff_t>(outView.at(t, b) + offset));
      }
      std::copy(h.begin(), h.end(), hidden.begin() + static_cast<ptrdiff_t>(b * outputs));
      std::copy(c.begin(), c.end(), cell.begin() + static_cast<ptrdiff_t>(b * cells));
    }
  }
};

}  // namespace halyard::ops::testing
