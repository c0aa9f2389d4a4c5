// Tests of version adaptation: verdicts with their reasons, conversion, slices.
#include "hal/core/version_adaptation.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hal/testing/test_device.h"
#include "model/validation/validation.h"

namespace halyard::hal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum OperandType;

constexpr HalVersion kVersions[] = {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2,
                                    HalVersion::V1_3};

// Builds models operand by operand.
class Builder {
 public:
  uint32_t tensor(OperandType type, Shape shape, Lifetime lifetime = Lifetime::TEMPORARY_VARIABLE) {
    Operand operand;
    operand.type = type;
    operand.dimensions = std::move(shape);
    operand.lifetime = lifetime;
    const OperandTypeTraits* traits = operandTypeTraits(type);
    if (traits != nullptr && traits->scale == ScaleRule::POSITIVE) operand.scale = 0.5f;
    const uint32_t index = add(operand);
    if (lifetime == Lifetime::SUBGRAPH_INPUT) main().inputIndexes.push_back(index);
    if (lifetime == Lifetime::SUBGRAPH_OUTPUT) main().outputIndexes.push_back(index);
    return index;
  }
  uint32_t input(OperandType type, Shape shape = {2, 2}) {
    return tensor(type, std::move(shape), Lifetime::SUBGRAPH_INPUT);
  }
  uint32_t output(OperandType type, Shape shape = {2, 2}) {
    return tensor(type, std::move(shape), Lifetime::SUBGRAPH_OUTPUT);
  }
  uint32_t int32(int32_t value) {
    Operand operand;
    operand.type = INT32;
    operand.lifetime = Lifetime::CONSTANT_COPY;
    operand.location = appendConstant(model, &value, sizeof value);
    return add(operand);
  }
  uint32_t add(const Operand& operand) {
    main().operands.push_back(operand);
    return static_cast<uint32_t>(main().operands.size() - 1);
  }
  void operation(OperationType type, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) {
    main().operations.push_back({type, std::move(inputs), std::move(outputs)});
  }
  Subgraph& main() { return model.main; }

  Model model;
};

Status verdict(const Model& model, HalVersion version) {
  EXPECT_EQ(validateModel(model).status().message(), "");
  return compliantWith(model, featureLevelOf(version));
}

// Expects `since` to be the oldest version that supports the model, and `reason` from the one
// before.
void expectSince(const Model& model, HalVersion since, const std::string& reason) {
  for (const HalVersion version : kVersions) {
    SCOPED_TRACE(std::string(halVersionName(version)));
    const Status status = verdict(model, version);
    if (version >= since) {
      EXPECT_TRUE(status.ok()) << status.toString();
      continue;
    }
    EXPECT_EQ(status.code(), ResultCode::BAD_DATA);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("operation #0"), HasSubstr(reason),
                                        HasSubstr(featureLevelName(featureLevelOf(since))),
                                        HasSubstr(featureLevelName(featureLevelOf(version)))));
  }
}

TEST(Compliance, SaysWhichOperandAndWhy) {
  Builder plain;
  plain.operation(OperationType::RELU, {plain.input(TENSOR_FLOAT32)},
                  {plain.output(TENSOR_FLOAT32)});
  expectSince(plain.model, HalVersion::V1_0, "");

  Builder newOperation;
  const uint32_t one = newOperation.input(TENSOR_FLOAT32);
  newOperation.operation(OperationType::SUB,
                         {one, newOperation.input(TENSOR_FLOAT32), newOperation.int32(0)},
                         {newOperation.output(TENSOR_FLOAT32)});
  expectSince(newOperation.model, HalVersion::V1_1,
              "the operation came with feature level 2 (HAL 1.1)");

  Builder type;
  const uint32_t half = type.input(TENSOR_FLOAT16);
  type.operation(OperationType::RELU, {half}, {type.output(TENSOR_FLOAT16)});
  expectSince(type.model, HalVersion::V1_2,
              "input 0 (operand #0) is of type TENSOR_FLOAT16, which needs");

  Builder rank;
  const uint32_t known = rank.input(TENSOR_FLOAT32);
  rank.operation(OperationType::RELU, {known}, {rank.output(TENSOR_FLOAT32, {})});
  expectSince(rank.model, HalVersion::V1_2,
              "output 0 (operand #1) is a TENSOR_FLOAT32 of unknown rank");

  // Old types in a newer combination.
  Builder row;
  const uint32_t a = row.input(TENSOR_QUANT8_ASYMM);
  row.operation(OperationType::SUB, {a, row.input(TENSOR_QUANT8_ASYMM), row.int32(0)},
                {row.output(TENSOR_QUANT8_ASYMM)});
  EXPECT_TRUE(verdict(row.model, HalVersion::V1_2).ok());
  EXPECT_THAT(verdict(row.model, HalVersion::V1_1).message(),
              HasSubstr("is TENSOR_QUANT8_ASYMM, expected TENSOR_FLOAT32"));
  EXPECT_THAT(verdict(row.model, HalVersion::V1_0).message(),
              HasSubstr("the operation came with feature level 2 (HAL 1.1)"));

  // One input more than the operation had.
  Builder count;
  const uint32_t x = count.input(TENSOR_FLOAT32);
  Operand beta;
  beta.type = FLOAT32;
  beta.lifetime = Lifetime::CONSTANT_COPY;
  const float value = 1;
  beta.location = appendConstant(count.model, &value, sizeof value);
  count.operation(OperationType::SOFTMAX, {x, count.add(beta), count.int32(1)},
                  {count.output(TENSOR_FLOAT32)});
  expectSince(count.model, HalVersion::V1_2, "takes 2 inputs, has 3");

  Builder quantised;
  const uint32_t sign = quantised.input(TENSOR_QUANT8_ASYMM_SIGNED);
  quantised.operation(OperationType::RELU, {sign}, {quantised.output(TENSOR_QUANT8_ASYMM_SIGNED)});
  expectSince(quantised.model, HalVersion::V1_3,
              "input 0 (operand #0) is of type TENSOR_QUANT8_ASYMM_SIGNED");
}

TEST(Compliance, OfConstantsDependsOnTheKindOfTheirPool) {
  Model model = hal::testing::addModel(4);
  model.main.inputIndexes = {0};
  model.main.operands[1].lifetime = Lifetime::CONSTANT_REFERENCE;
  model.main.operands[1].location = {0, 0, 16};
  const SharedMemoryPtr memory = SharedMemory::create(16, "test").value();
  const auto poolOf = [&](MemoryKind kind) {
    return std::make_shared<const SharedMemory>(
        kind, UniqueFd(::fcntl(memory->fd(), F_DUPFD_CLOEXEC, 0)), 16, 3, 0);
  };
  model.pools = {poolOf(MemoryKind::ASHMEM)};
  expectSince(model, HalVersion::V1_0, "");
  model.pools = {poolOf(MemoryKind::MMAP_FD)};
  expectSince(model, HalVersion::V1_0, "");
  model.pools = {poolOf(MemoryKind::HARDWARE_BUFFER_BLOB)};
  expectSince(model, HalVersion::V1_2,
              "input 1 (operand #1) is a constant in a pool of kind hardware_buffer_blob");
}

// A chain of four: RELU, which every version has, with two newer operations in the middle.
Model mixedChain() {
  Builder b;
  const uint32_t in = b.input(TENSOR_FLOAT32);
  const uint32_t t0 = b.tensor(TENSOR_FLOAT32, {2, 2});
  const uint32_t t1 = b.tensor(TENSOR_FLOAT32, {2, 2});
  const uint32_t t2 = b.tensor(TENSOR_FLOAT32, {2, 2});
  const uint32_t out = b.output(TENSOR_FLOAT32);
  b.operation(OperationType::RELU, {in}, {t0});
  b.operation(OperationType::EXP, {t0}, {t1});   // 1.2
  b.operation(OperationType::SQRT, {t1}, {t2});  // 1.2
  b.operation(OperationType::RELU, {t2}, {out});
  b.model.relaxComputationFloat32toFloat16 = true;
  return b.model;
}

TEST(Compliance, ListsEveryOperationThatIsNewer) {
  std::vector<NoncompliantOperation> all;
  EXPECT_FALSE(compliantWith(mixedChain(), FeatureLevel::FL1, &all).ok());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].index, 1u);
  EXPECT_EQ(all[1].index, 2u);
  EXPECT_THAT(all[1].reason, HasSubstr("needs feature level 3 (HAL 1.2)"));
  EXPECT_TRUE(compliantWith(mixedChain(), FeatureLevel::FL3, &all).ok());
  EXPECT_TRUE(all.empty());
}

TEST(Slices, HoldWhatCompliesAndFindTheWayBack) {
  const Model model = mixedChain();
  const auto slice = sliceFor(validated(model).value(), FeatureLevel::FL1);
  ASSERT_TRUE(slice.has_value());
  EXPECT_THAT(slice->operations, ElementsAre(0, 3));
  const Model& cut = *slice->model;
  const auto level = validateModel(cut);
  ASSERT_TRUE(level.ok()) << level.status().toString();
  EXPECT_EQ(*level, FeatureLevel::FL1);
  // `in` and `t2` have the same form, so they share an input. `t0` is an output, because nothing in
  // the slice reads it.
  EXPECT_EQ(cut.main.inputIndexes.size(), 1u);
  EXPECT_EQ(cut.main.outputIndexes.size(), 2u);
  EXPECT_FALSE(cut.relaxComputationFloat32toFloat16);
}

TEST(Slices, KeepInputsApartThatDiffer) {
  Model model = mixedChain();
  model.main.operands[3].dimensions = {0, 2};  // t2
  const auto slice = sliceFor(validated(model).value(), FeatureLevel::FL1);
  ASSERT_TRUE(slice.has_value());
  EXPECT_EQ(slice->model->main.inputIndexes.size(), 2u);
}

TEST(Slices, AreImpossibleWithoutResultOrWithSubgraphs) {
  Builder nothing;
  nothing.operation(OperationType::EXP, {nothing.input(TENSOR_FLOAT32)},
                    {nothing.output(TENSOR_FLOAT32)});
  EXPECT_FALSE(sliceFor(validated(nothing.model).value(), FeatureLevel::FL1).has_value());

  // A result without a reader: the slice has no output.
  Builder unread;
  const uint32_t in = unread.input(TENSOR_FLOAT32);
  unread.operation(OperationType::RELU, {in}, {unread.tensor(TENSOR_FLOAT32, {2, 2})});
  unread.operation(OperationType::EXP, {in}, {unread.output(TENSOR_FLOAT32)});
  EXPECT_FALSE(sliceFor(validated(unread.model).value(), FeatureLevel::FL1).has_value());

  // An IF is not cut out together with other operations.
  Builder branch;
  const uint32_t x = branch.input(TENSOR_FLOAT32);
  const uint32_t condition = branch.input(TENSOR_BOOL8, {1});
  Builder inner;
  inner.operation(OperationType::RELU, {inner.input(TENSOR_FLOAT32)},
                  {inner.output(TENSOR_FLOAT32)});
  branch.model.referenced = {inner.model.main};
  Operand reference;
  reference.type = MODEL;
  reference.lifetime = Lifetime::SUBGRAPH;
  const uint32_t body = branch.add(reference);
  branch.operation(OperationType::IF, {condition, body, body, x}, {branch.output(TENSOR_FLOAT32)});
  EXPECT_TRUE(verdict(branch.model, HalVersion::V1_3).ok());
  EXPECT_THAT(verdict(branch.model, HalVersion::V1_2).message(),
              HasSubstr("input 1 (operand #2) is of type MODEL, which needs feature level 4"));
  branch.operation(OperationType::EXP, {x}, {branch.output(TENSOR_FLOAT32)});
  const auto withoutIf = sliceFor(validated(branch.model).value(), FeatureLevel::FL3);
  ASSERT_TRUE(withoutIf.has_value());
  EXPECT_THAT(withoutIf->operations, ElementsAre(1));
  EXPECT_TRUE(withoutIf->model->referenced.empty());
  // PACK has level 6. It is beside the IF ...
  Builder beside = branch;
  const uint32_t first = beside.int32(0);
  beside.operation(OperationType::PACK, {first, x}, {beside.output(TENSOR_FLOAT32, {1, 2, 2})});
  EXPECT_EQ(validateModel(beside.model).status().message(), "");
  EXPECT_FALSE(sliceFor(validated(beside.model).value(), FeatureLevel::FL4).has_value());
  // ... and in its branches.
  ASSERT_TRUE(compliantWith(branch.model, FeatureLevel::FL4).ok());
  Builder packing;
  const uint32_t y = packing.input(TENSOR_FLOAT32);
  const uint32_t packed = packing.tensor(TENSOR_FLOAT32, {1, 2, 2});
  branch.int32(0);  // the subgraph's constants are also the model's
  branch.main().operands.pop_back();
  Operand axis;
  axis.type = INT32;
  axis.lifetime = Lifetime::CONSTANT_COPY;
  axis.location = {0, 0, 4};
  packing.operation(OperationType::PACK, {packing.add(axis), y}, {packed});
  packing.operation(OperationType::RELU, {y}, {packing.output(TENSOR_FLOAT32)});
  branch.model.referenced = {packing.model.main};
  EXPECT_EQ(validateModel(branch.model).status().message(), "");
  EXPECT_THAT(compliantWith(branch.model, FeatureLevel::FL4).message(),
              AllOf(HasSubstr("operation #0"), HasSubstr("subgraph 0"), HasSubstr("level 6")));
}

// An IF with a RELU as its subgraph, with inner and outer output dimensions, followed by a RELU.
Model branchOf(Shape inner, Shape outer) {
  Builder body;
  body.operation(OperationType::RELU, {body.input(TENSOR_FLOAT32)},
                 {body.output(TENSOR_FLOAT32, std::move(inner))});
  Builder branch;
  branch.model.referenced = {body.model.main};
  Operand operand;
  operand.type = MODEL;
  operand.lifetime = Lifetime::SUBGRAPH;
  const uint32_t reference = branch.add(operand);
  const uint32_t x = branch.input(TENSOR_FLOAT32);
  const uint32_t flag = branch.input(TENSOR_BOOL8, {1});
  const uint32_t out = branch.output(TENSOR_FLOAT32, std::move(outer));
  branch.operation(OperationType::IF, {flag, reference, reference, x}, {out});
  branch.operation(OperationType::RELU, {x}, {branch.output(TENSOR_FLOAT32)});
  return branch.model;
}

TEST(Compliance, NoLevelHasControlFlowOfUnknownSizes) {
  EXPECT_TRUE(compliantWith(branchOf({2, 2}, {2, 2}), FeatureLevel::FL8).ok());
  for (const Model& model : {branchOf({2, 0}, {2, 2}), branchOf({2, 2}, {2, 0}),
                             branchOf({}, {2, 2}), branchOf({2, 2}, {})}) {
    ASSERT_EQ(validateModel(model).status().message(), "");
    std::vector<NoncompliantOperation> all;
    const Status verdict = compliantWith(model, FeatureLevel::FL8, &all);
    EXPECT_EQ(verdict.code(), ResultCode::BAD_DATA);
    EXPECT_THAT(verdict.message(),
                AllOf(HasSubstr("operation #0 IF is control flow of unknown sizes, which no driver "
                                "gets: "),
                      HasSubstr("output 0")));
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].index, 0u);
    // Drivers are asked about the other operations.
    const auto slice = sliceFor(validated(model).value(), FeatureLevel::FL8);
    ASSERT_TRUE(slice.has_value());
    EXPECT_THAT(slice->operations, ElementsAre(1));
  }
}

TEST(Compliance, CountsWhatReferencedSubgraphsReferTo) {
  const Model inner = branchOf({2, 2}, {2, 0});
  Model outer = branchOf({2, 2}, {2, 2});
  // The branch becomes the inner IF, whose flag is now a constant.
  Subgraph branch = inner.main;
  branch.operations.pop_back();
  branch.operands.pop_back();
  branch.outputIndexes = {3};
  branch.inputIndexes = {1};
  branch.operands[0].location.offset = 1;
  branch.operands[2].lifetime = Lifetime::CONSTANT_COPY;
  const uint8_t yes = 1;
  branch.operands[2].location = appendConstant(outer, &yes, sizeof yes);
  // The output of the outer IF has known dimensions only if the output here has.
  outer.referenced = {branch, inner.referenced[0]};
  // An IF with known sizes between the outer one and the one with unknown sizes.
  Subgraph between = branch;
  between.operands[0].location.offset = 0;
  between.operands[3].dimensions = {2, 2};
  outer.referenced.push_back(between);
  outer.main.operands[0].location.offset = 2;
  ASSERT_EQ(validateModel(outer).status().message(), "");
  EXPECT_THAT(compliantWith(outer, FeatureLevel::FL8).message(),
              HasSubstr("operation #0 IF is control flow of unknown sizes, which no driver gets: "
                        "input 1 (operand #0) refers to subgraph 2"));
}

TEST(Conversion, DropsWhatTheVersionDoesNotHave) {
  Model model = hal::testing::addModel(4);
  model.relaxComputationFloat32toFloat16 = true;
  model.extensionNameToPrefix = {{"com.acme.things", 5}};
  const auto shared = std::make_shared<const Model>(model);
  const auto converted = [&](HalVersion version) {
    return convertTo(validated(shared).value(), version).value();
  };
  EXPECT_EQ(converted(HalVersion::V1_2).share(), shared);
  EXPECT_TRUE(converted(HalVersion::V1_1)->relaxComputationFloat32toFloat16);
  EXPECT_TRUE(converted(HalVersion::V1_1)->extensionNameToPrefix.empty());
  EXPECT_FALSE(converted(HalVersion::V1_0)->relaxComputationFloat32toFloat16);
  EXPECT_TRUE(shared->relaxComputationFloat32toFloat16);
}

TEST(Conversion, ReplacesWhatNoOperationUses) {
  Model model = hal::testing::addModel(4);
  const SharedMemoryPtr memory = SharedMemory::create(16, "test").value();
  model.pools = {std::make_shared<const SharedMemory>(
                     MemoryKind::HARDWARE_BUFFER_BLOB,
                     UniqueFd(::fcntl(memory->fd(), F_DUPFD_CLOEXEC, 0)), 16, 3, 0),
                 memory};
  Operand constant;
  constant.type = TENSOR_FLOAT16;
  constant.dimensions = {2};
  constant.lifetime = Lifetime::CONSTANT_REFERENCE;
  constant.location = {0, 0, 4};
  model.main.operands.push_back(constant);
  constant.type = TENSOR_FLOAT32;
  constant.dimensions = {1};
  constant.location = {1, 0, 4};
  model.main.operands.push_back(constant);
  ASSERT_TRUE(verdict(model, HalVersion::V1_0).ok());
  EXPECT_FALSE(validatedForLevel(std::make_shared<const Model>(model), FeatureLevel::FL1).ok());
  const auto converted =
      convertTo(validated(std::make_shared<const Model>(model)).value(), HalVersion::V1_0).value();
  const Status valid =
      validatedForLevel(std::make_shared<const Model>(*converted), FeatureLevel::FL1).status();
  EXPECT_TRUE(valid.ok()) << valid.toString();
  ASSERT_EQ(converted->pools.size(), 1u);
  EXPECT_EQ(converted->main.operands[5].location.poolIndex, 0u);

  // An input cannot disappear: the application gives it a value in every request.
  Operand unread;
  unread.type = TENSOR_FLOAT16;
  unread.dimensions = {2};
  unread.lifetime = Lifetime::SUBGRAPH_INPUT;
  model.main.operands.push_back(unread);
  model.main.inputIndexes.push_back(6);
  const auto refused =
      convertTo(validated(std::make_shared<const Model>(model)).value(), HalVersion::V1_1);
  EXPECT_EQ(refused.status().code(), ResultCode::BAD_DATA);
  EXPECT_THAT(refused.status().message(),
              AllOf(HasSubstr("operand #6"), HasSubstr("TENSOR_FLOAT16"), HasSubstr("HAL 1.1")));
}

TEST(CapabilitiesCompliance, FollowsTheGroupsOfOld) {
  Capabilities capabilities = Capabilities::uniform({1, 1});
  for (const HalVersion version : kVersions) EXPECT_TRUE(compliantWith(capabilities, version).ok());
  const auto compliant = [&](HalVersion version) {
    return compliantWith(capabilities, version).ok();
  };
  const auto setTypes = [&](std::initializer_list<OperandType> types, float value) {
    for (OperandPerformance& entry : capabilities.operandPerformance) {
      if (std::find(types.begin(), types.end(), entry.type) != types.end()) {
        entry.info = {value, value};
      }
    }
  };
  // HAL 1.1 has a figure for relaxed computation, HAL 1.0 does not.
  capabilities.relaxedFloat32toFloat16PerformanceScalar = {2, 2};
  capabilities.relaxedFloat32toFloat16PerformanceTensor = {2, 2};
  EXPECT_FALSE(compliant(HalVersion::V1_0));
  EXPECT_TRUE(compliant(HalVersion::V1_1));
  capabilities.relaxedFloat32toFloat16PerformanceScalar = {3, 2};
  EXPECT_FALSE(compliant(HalVersion::V1_1));
  EXPECT_THAT(compliantWith(capabilities, HalVersion::V1_1).message(),
              AllOf(HasSubstr("relaxed scalar"), HasSubstr("3"), HasSubstr("HAL 1.1")));
  EXPECT_TRUE(compliant(HalVersion::V1_2));

  capabilities = Capabilities::uniform({1, 1});
  setTypes({FLOAT32}, 2);
  EXPECT_FALSE(compliant(HalVersion::V1_1));
  for (const OperandType type : {INT32, UINT32, TENSOR_INT32, OEM_SCALAR, TENSOR_OEM_BYTE}) {
    capabilities = Capabilities::uniform({1, 1});
    setTypes({type}, 2);
    EXPECT_THAT(compliantWith(capabilities, HalVersion::V1_1).message(),
                HasSubstr(operandTypeName(type)));
    EXPECT_TRUE(compliant(HalVersion::V1_2));
  }
  capabilities = Capabilities::uniform({1, 1});
  setTypes({TENSOR_FLOAT16, BOOL, TENSOR_QUANT8_ASYMM_SIGNED}, 9);
  EXPECT_TRUE(compliant(HalVersion::V1_0));
}

TEST(RequestCompliance, BuffersAndHardwareBuffersAreNewer) {
  Request request;
  const SharedMemoryPtr memory = SharedMemory::create(16, "test").value();
  for (const MemoryKind kind : {MemoryKind::ASHMEM, MemoryKind::MMAP_FD,
                                MemoryKind::HARDWARE_BUFFER_BLOB, MemoryKind::HARDWARE_BUFFER}) {
    request.pools = {std::make_shared<const SharedMemory>(
        kind, UniqueFd(::fcntl(memory->fd(), F_DUPFD_CLOEXEC, 0)), 16, 3, 0)};
    const bool old = kind == MemoryKind::ASHMEM || kind == MemoryKind::MMAP_FD;
    for (const HalVersion version : kVersions) {
      EXPECT_EQ(compliantWith(request, version).ok(), old || version >= HalVersion::V1_2);
    }
  }
  EXPECT_THAT(compliantWith(request, HalVersion::V1_1).message(),
              AllOf(HasSubstr("request pool 0"), HasSubstr("hardware_buffer"), HasSubstr("1.1")));
  request.pools = {memory, uint32_t{7}};
  EXPECT_TRUE(compliantWith(request, HalVersion::V1_3).ok());
  EXPECT_THAT(compliantWith(request, HalVersion::V1_2).message(),
              AllOf(HasSubstr("request pool 1"), HasSubstr("HAL 1.3"), HasSubstr("HAL 1.2")));
}

}  // namespace
}  // namespace halyard::hal
