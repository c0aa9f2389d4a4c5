// Tests personalities as files: how they are read, and how mistakes are reported.
#include "personality.h"
#include "test_definitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace halyard::drivers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string errorOf(std::string_view json) {
  const auto parsed = parsePersonality(json);
  EXPECT_EQ(parsed.status().code(), ResultCode::BAD_DATA) << json;
  return parsed.status().message();
}

TEST(PersonalityTest, NothingSaidIsTheReferenceDriver) {
  const auto parsed = parsePersonality("{}");
  ASSERT_TRUE(parsed.ok()) << parsed.status().toString();
  EXPECT_EQ(parsed->info.name, "halyard-reference");
  EXPECT_EQ(parsed->info.featureLevel, FeatureLevel::FL8);
  EXPECT_EQ(parsed->info.capabilities.lookup(OperandType::TENSOR_FLOAT32).execTime, 1.1f);
  EXPECT_TRUE(parsed->faults.empty());
  EXPECT_FALSE(parsed->support.operations.has_value());
}

TEST(PersonalityTest, WhatItSaysOfItself) {
  const auto parsed = parsePersonality(R"({
    "name": "acme-old", "version": "acme 7", "type": "accelerator", "hal_version": "1.1",
    "status": "busy", "threads": 2, "reports_timing": false, "bursts": false,
    "extensions": [{"name": "com.acme.x",
                    "operand_types": [{"type": 4, "is_tensor": false, "byte_size": 8}]}],
    "capabilities": {"default": {"exec_time": 2, "power_usage": 3}, "while": {"exec_time": 4},
                     "operand_types": {"INT32": {"power_usage": 0.5}}}})");
  ASSERT_TRUE(parsed.ok()) << parsed.status().toString();
  EXPECT_EQ(parsed->info.versionString, "acme 7");
  EXPECT_EQ(parsed->info.type, hal::DeviceType::ACCELERATOR);
  EXPECT_EQ(parsed->info.halVersion, HalVersion::V1_1);
  EXPECT_EQ(hal::offeredLevel(parsed->info), FeatureLevel::FL2);
  EXPECT_EQ(parsed->status, hal::DeviceStatus::BUSY);
  EXPECT_EQ(parsed->threads, 2u);
  EXPECT_FALSE(parsed->reportsTiming);
  EXPECT_FALSE(parsed->info.bursts);
  ASSERT_EQ(parsed->info.extensions.size(), 1u);
  EXPECT_EQ(parsed->info.extensions[0].operandTypes[0].byteSize, 8u);
  const hal::Capabilities& capabilities = parsed->info.capabilities;
  EXPECT_EQ(capabilities.lookup(OperandType::TENSOR_INT32).powerUsage, 3.0f);
  EXPECT_EQ(capabilities.lookup(OperandType::INT32).powerUsage, 0.5f);
  EXPECT_EQ(capabilities.lookup(OperandType::INT32).execTime, 2.0f);
  EXPECT_EQ(capabilities.whilePerformance.execTime, 4.0f);
  EXPECT_EQ(capabilities.whilePerformance.powerUsage, 3.0f);
}

TEST(PersonalityTest, WhatItCaches) {
  EXPECT_EQ(parsePersonality("{}")->info.modelCacheFiles, 0u);
  EXPECT_EQ(parsePersonality(R"({"cache": {}})")->info.dataCacheFiles, 1u);
  const auto parsed = parsePersonality(R"({
    "cache": {"model_files": 3, "data_files": 0, "mode": "multi_stage", "declines": true,
              "saves_garbage": true, "folder": "/var/lib/acme"},
    "delays": {"compile_ms": 2000, "optimise_ms": 3, "quick_execute_ms": 4, "load_ms": 5,
               "save_ms": 6},
    "faults": [{"at": "save", "do": "kill"}, {"at": "prepare_from_cache", "do": "fail"}]})");
  ASSERT_TRUE(parsed.ok()) << parsed.status().toString();
  EXPECT_EQ(parsed->info.modelCacheFiles, 3u);
  EXPECT_EQ(parsed->info.dataCacheFiles, 0u);
  EXPECT_EQ(parsed->cache.mode, CompileMode::MULTI_STAGE);
  EXPECT_TRUE(parsed->cache.declines);
  EXPECT_TRUE(parsed->cache.savesGarbage);
  EXPECT_EQ(parsed->cache.folder, "/var/lib/acme");
  EXPECT_EQ(parsed->delays.compile.count(), 2000);
  EXPECT_EQ(parsed->delays.save.count(), 6);
  EXPECT_EQ(parsed->faults[0].at, FaultPoint::SAVE);
  EXPECT_EQ(parsed->faults[1].at, FaultPoint::PREPARE_FROM_CACHE);

  EXPECT_THAT(errorOf(R"({"cache": {"model_files": 33}})"), HasSubstr("cache.model_files"));
  EXPECT_THAT(errorOf(R"({"cache": {"mode": "lazy"}})"),
              HasSubstr("cache.mode: is 'lazy', expected one of eager, just_in_time, multi_stage"));
  EXPECT_THAT(errorOf(R"({"hal_version": "1.1", "cache": {}})"), HasSubstr("HAL 1.2"));
}

TEST(PersonalityTest, RulesDelaysAndFaults) {
  const auto parsed = parsePersonality(R"({
    "supports": {"operations": ["ADD"], "not_operand_types": ["BOOL"],
                 "deciding_types": ["TENSOR_FLOAT32"], "deciding_input": {"SELECT": 1}},
    "delays": {"prepare_ms": 1.5, "operations_ms": {"ADD": 2}},
    "faults": [{"at": "execute", "do": "fail"},
               {"at": "prepare", "nth": 3, "operation": "MUL", "do": "exit", "exit_status": 9},
               {"at": "execute", "nth": 2, "times": 4, "when": "after_answer", "delay_ms": 5,
                "do": "kill"},
               {"at": "execute", "do": "wrong_result"}]})");
  ASSERT_TRUE(parsed.ok()) << parsed.status().toString();
  EXPECT_THAT(*parsed->support.operations, ElementsAre(OperationType::ADD));
  EXPECT_THAT(parsed->support.notOperandTypes, ElementsAre(OperandType::BOOL));
  EXPECT_EQ(parsed->support.decidingInput.at(OperationType::SELECT), 1u);
  EXPECT_EQ(parsed->delays.prepare, Milliseconds(1.5));
  EXPECT_EQ(parsed->delays.operations.at(OperationType::ADD), Milliseconds(2));
  ASSERT_EQ(parsed->faults.size(), 4u);
  EXPECT_EQ(parsed->faults[0].status, ResultCode::OP_FAILED);
  EXPECT_EQ(parsed->faults[0].times, UINT64_MAX);
  EXPECT_EQ(parsed->faults[1].times, 1u);
  EXPECT_EQ(parsed->faults[1].operation, OperationType::MUL);
  EXPECT_EQ(parsed->faults[1].exitStatus, 9);
  EXPECT_EQ(parsed->faults[2].when, FaultMoment::ANSWER);
  EXPECT_EQ(parsed->faults[2].times, 4u);
  EXPECT_EQ(parsed->faults[2].delay, Milliseconds(5));
  EXPECT_EQ(parsed->faults[3].when, FaultMoment::WORK);
}

TEST(PersonalityTest, WrongValues) {
  const auto parsed = parsePersonality(R"({"wrong_values": {"CONV_2D": 0.01, "ADD": -2}})");
  ASSERT_TRUE(parsed.ok()) << parsed.status().toString();
  EXPECT_EQ(parsed->wrongValues.at(OperationType::CONV_2D), 0.01);
  EXPECT_EQ(parsed->wrongValues.at(OperationType::ADD), -2);
  EXPECT_THAT(errorOf(R"({"wrong_values": {"ADD": 0}})"),
              HasSubstr("wrong_values.ADD: is 0, expected a number up to 1000, and not 0"));
  EXPECT_THAT(errorOf(R"({"wrong_values": {"ADDS": 1}})"), HasSubstr("ADDS"));
}

TEST(PersonalityTest, MistakesAreToldWithTheirPlace) {
  EXPECT_THAT(errorOf("{"), HasSubstr("is not JSON"));
  EXPECT_THAT(errorOf("[]"), HasSubstr("is [], expected an object"));
  EXPECT_THAT(errorOf(R"({"nam": "x"})"), HasSubstr("nam: there is no such field; there are "));
  EXPECT_THAT(errorOf(R"({"name": "a-b", "name": "a-c"})"), HasSubstr("'name' is there twice"));
  EXPECT_THAT(errorOf(R"({"name": 3})"), HasSubstr("name: is 3, expected a text"));
  EXPECT_THAT(errorOf(R"({"type": "cpu"})"), HasSubstr("type: is 'cpu', expected one of other,"));
  EXPECT_THAT(errorOf(R"({"hal_version": "1.4"})"),
              HasSubstr("expected one of 1.0, 1.1, 1.2, 1.3"));
  EXPECT_THAT(errorOf(R"({"feature_level": 9})"), HasSubstr("a whole number from 4 to 8"));
  EXPECT_THAT(errorOf(R"({"hal_version": "1.0", "feature_level": 4})"),
              HasSubstr("feature_level: goes with HAL 1.3 only"));
  EXPECT_THAT(errorOf(R"({"threads": -1})"), HasSubstr("threads: is -1, expected a whole number"));
  EXPECT_THAT(errorOf(R"({"supports": {"operations": ["ADDD"]}})"),
              HasSubstr("supports.operations[0]: there is no operation 'ADDD'"));
  EXPECT_THAT(errorOf(R"({"supports": {"operand_types": [1]}})"),
              HasSubstr("supports.operand_types[0]: is 1, expected a name"));
  EXPECT_THAT(errorOf(R"({"supports": {"operand_types": "INT32"}})"), HasSubstr("expected a list"));
  EXPECT_THAT(errorOf(R"({"capabilities": {"if": {"exec_time": 0}}})"),
              HasSubstr("IF performance: execution time 0"));
  EXPECT_THAT(errorOf(R"({"capabilities": {"operand_types": {"MODEL": {}}}})"),
              HasSubstr("models have no speed"));
  EXPECT_THAT(errorOf(R"({"delays": {"prepare_ms": -1}})"), HasSubstr("delays.prepare_ms: is -1"));
  EXPECT_THAT(errorOf(R"({"delays": {"operations_ms": {"ADD": "1"}}})"),
              HasSubstr("delays.operations_ms.ADD: is \"1\""));
  EXPECT_THAT(errorOf(R"({"extensions": [{"operand_types": []}]})"),
              HasSubstr("extensions[0].name: is missing"));
}

TEST(PersonalityTest, FaultsThatCannotBeAreRefused) {
  const auto faultError = [](const std::string& fault) {
    return errorOf(R"({"faults": [{"at": "start", "do": "exit"}, )" + fault + "]}");
  };
  EXPECT_THAT(faultError(R"({"do": "fail"})"), HasSubstr("faults[1].at: is missing"));
  EXPECT_THAT(faultError(R"({"at": "execute"})"), HasSubstr("faults[1].do: is missing"));
  EXPECT_THAT(faultError(R"({"at": "execute", "do": "explode"})"),
              HasSubstr("faults[1].do: is 'explode', expected one of fail, throw, crash"));
  EXPECT_THAT(faultError(R"({"at": "release", "do": "fail"})"), HasSubstr("has no answer"));
  EXPECT_THAT(faultError(R"({"at": "execute", "when": "after_answer", "do": "fail"})"),
              HasSubstr("too late"));
  EXPECT_THAT(faultError(R"({"at": "start", "when": "after_answer", "do": "kill"})"),
              HasSubstr("no answer to come after"));
  EXPECT_THAT(faultError(R"({"at": "start", "operation": "ADD", "do": "kill"})"),
              HasSubstr("no model at the start"));
  EXPECT_THAT(faultError(R"({"at": "prepare", "do": "wrong_result"})"),
              HasSubstr("needs \"at\": \"execute\""));
  EXPECT_THAT(faultError(R"({"at": "execute", "do": "crash", "status": "BAD_DATA"})"),
              HasSubstr("faults[1].status: goes with"));
  EXPECT_THAT(faultError(R"({"at": "execute", "do": "fail", "status": "NO_ERROR"})"),
              HasSubstr("is 'NO_ERROR', expected one of"));
  EXPECT_THAT(faultError(R"({"at": "execute", "do": "crash", "delay_ms": 1})"),
              HasSubstr("delay_ms: goes with"));
  EXPECT_THAT(faultError(R"({"at": "execute", "do": "crash", "nth": 0})"),
              HasSubstr("faults[1].nth: is 0, expected a whole number from 1"));
}

TEST(PersonalityTest, FilesThatCannotBeReadAreTold) {
  const auto missing = loadPersonality("/nowhere/x.json");
  EXPECT_THAT(missing.status().message(), HasSubstr("personality /nowhere/x.json cannot be read"));
  EXPECT_FALSE(loadPersonality("/").ok());
}

TEST(PersonalityTest, SamplesAreAsTheirOriginals) {
  const std::string folder = HALYARD_SOURCE_DIR "/drivers/reference/personalities/";
  const auto quant = loadPersonality(folder + "quant.json");
  ASSERT_TRUE(quant.ok()) << quant.status().toString();
  EXPECT_EQ(quant->info.capabilities.lookup(OperandType::TENSOR_FLOAT32).execTime, 50.0f);
  EXPECT_EQ(quant->info.capabilities.ifPerformance.execTime, 50.0f);
  const auto minimal = loadPersonality(folder + "minimal.json");
  ASSERT_TRUE(minimal.ok()) << minimal.status().toString();
  EXPECT_EQ(minimal->support.operations->size(), 3u);
  EXPECT_EQ(minimal->info.capabilities.lookup(OperandType::TENSOR_FLOAT32).powerUsage, 0.5f);
  EXPECT_EQ(minimal->info.capabilities.ifPerformance.execTime, 1.0f);
  for (const auto& [file, time] : {std::pair("float_fast", 0.8f), {"float_slow", 1.3f}}) {
    const auto sample = loadPersonality(folder + file + ".json");
    ASSERT_TRUE(sample.ok()) << sample.status().toString();
    EXPECT_EQ(sample->info.capabilities.lookup(OperandType::FLOAT32).execTime, time);
    EXPECT_EQ(sample->info.capabilities.lookup(OperandType::INT32).execTime, 1.0f);
    EXPECT_THAT(*sample->support.decidingTypes, ElementsAre(OperandType::TENSOR_FLOAT32));
  }
}

// Every JSON block of the page, so that it promises only existing features.
TEST(PersonalityTest, ExamplesOfThePageAreRight) {
  std::ifstream file(HALYARD_SOURCE_DIR "/docs/reference_driver.md");
  std::ostringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  size_t examples = 0;
  for (size_t at = 0; (at = text.find("```json\n", at)) != std::string::npos;) {
    at += 8;
    const size_t end = text.find("```", at);
    ASSERT_NE(end, std::string::npos);
    const std::string block = text.substr(at, end - at);
    if (block.find("\"executable\"") != std::string::npos) continue;  // a manifest
    const auto parsed = parsePersonality(block);
    EXPECT_TRUE(parsed.ok()) << block << parsed.status().toString();
    ++examples;
  }
  EXPECT_GE(examples, 2u);
}

}  // namespace
}  // namespace halyard::drivers
