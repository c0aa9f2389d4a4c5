// SPDX-License-Identifier: Apache-2.0
//
// The functions of the Neural Networks API (NNAPI), as a C99 header. Library: libneuralnetworks.so.
// Thread safety: one thread at a time may modify an object; see "Threads" below.
// Ownership: the creator of an object frees it; see "Lifetimes" below.

/*
 * How the pieces fit together
 *
 *   1. Build an ANeuralNetworksModel: operands, constants, operations; then finish it.
 *   2. Make an ANeuralNetworksCompilation of it, for devices of the runtime's or of your own
 *      choice; then finish it.
 *   3. For each run make an ANeuralNetworksExecution, set its inputs and outputs and compute.
 *
 * Results
 *
 *   Unless its comment says otherwise a function returns a ResultCode as an int. It may be any of
 *   them; everything but ANEURALNETWORKS_NO_ERROR (0) is a failure. Arguments are checked in this
 *   order unless a comment states another:
 *
 *     ANEURALNETWORKS_UNEXPECTED_NULL  a pointer argument is NULL (where NULL has a meaning the
 *                                      comment says so),
 *     ANEURALNETWORKS_BAD_STATE        the object is in a state that does not allow the call,
 *     ANEURALNETWORKS_BAD_DATA         a value is out of range or contradicts another.
 *
 *   Comments name codes without the prefix, and only those that these rules do not cover. When
 *   a function that creates an object fails, it sets the caller's pointer to NULL, unless that
 *   pointer itself is NULL. (Some functions do not change it when another argument is NULL, so set
 *   it to NULL beforehand.) A negative index is out of range like one that is too large. The text
 *   that belongs to the last failure is available from halyard_lastErrorText(), declared in
 *   include/halyard/halyard.h.
 *
 * Units
 *
 *   Sizes, offsets and lengths are in bytes, times in nanoseconds. No length may be above
 *   0xFFFFFFFF: BAD_DATA.
 *
 * Threads
 *
 *   Functions without an object, and those of devices, may be called from any thread at any time.
 *   An object under construction (model, compilation, memory descriptor, execution before it is
 *   computed) may be modified by one thread at a time. The caller must ensure that. Finished
 *   models, compilations and memory descriptors, and memories, may be used by many threads at once.
 *   Different executions may run at the same time and finish in any order; each run within bursts
 *   needs a burst of its own. Several threads may wait for one event. No object may be freed while
 *   another thread still uses it.
 *
 * Processes
 *
 *   A child of fork() looks for devices, and makes its objects, for itself. Its parent's objects
 *   answer BAD_STATE there, its parent's devices BAD_DATA; freeing them does nothing. The parent
 *   is not disturbed, and may fork while other threads call the API. A process may exit while
 *   threads are within calls, and may call the API from the destructors of its static objects.
 *   Once loaded, the library stays in memory.
 *
 * Lifetimes
 *
 *   Every ..._free accepts NULL and does nothing then.
 *
 *   A model must outlive its compilations and the models that refer to it. A memory must outlive
 *   the models, executions and bursts that use it. A compilation must outlive its executions, its
 *   bursts and the memory descriptors that have a role of it. An execution must outlive the wait
 *   for its event. Devices exist until the process ends.
 *
 *   Constants above 128 bytes stay with the caller: unchanged as long as the model and all objects
 *   made of it exist. Input and output buffers must stay valid until the execution is freed. No
 *   code may read or write the outputs while it runs, and they must not overlap any other buffer of
 *   it. The runtime does not modify inputs. Data behind the pointers of a structure argument is
 *   copied during the call.
 */

#ifndef HALYARD_ANDROID_NEURAL_NETWORKS_H_
#define HALYARD_ANDROID_NEURAL_NETWORKS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "NeuralNetworksTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// A library built with -fvisibility=hidden exports these too.
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

// Other headers that declare this type may define the macro, as C99 allows a typedef only once.
#ifndef HALYARD_AHARDWAREBUFFER_DECLARED
#define HALYARD_AHARDWAREBUFFER_DECLARED
/** A buffer that devices can share. Declared in full in <android/hardware_buffer.h>. */
typedef struct AHardwareBuffer AHardwareBuffer;
#endif

/* ---- Runtime and devices ------------------------------------------------------------------- */

/**
 * The feature level of the runtime: a FeatureLevelCode, returned directly. A device may have a
 * lower one.
 *
 * Since feature level 5.
 */
int64_t ANeuralNetworks_getRuntimeFeatureLevel(void);

/**
 * The time in nanoseconds that a WHILE loop may take when
 * ANeuralNetworksExecution_setLoopTimeout was not called: 2,000,000,000. Returned directly.
 *
 * Since feature level 4.
 */
uint64_t ANeuralNetworks_getDefaultLoopTimeout(void);

/**
 * The longest time in nanoseconds that a WHILE loop can be given: 15,000,000,000. Returned
 * directly.
 *
 * Since feature level 4.
 */
uint64_t ANeuralNetworks_getMaximumLoopTimeout(void);

/**
 * Writes the number of devices to *numDevices. It is at least 1 and does not change during the life
 * of the process. The runtime's own CPU device, "nnapi-reference", is always there, as the last.
 *
 * Since feature level 3.
 */
int ANeuralNetworks_getDeviceCount(uint32_t* numDevices);

/**
 * Writes device number devIndex, counted from 0, to *device. The same number gives the same pointer
 * every time; it is valid until the process ends and is not freed.
 *
 * Since feature level 3. BAD_DATA: there are not that many devices.
 */
int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice** device);

/**
 * Writes the name of the device to *name: UTF-8, ending in a NUL, different from those of all other
 * devices, customarily "vendor-device". The string belongs to the runtime and is valid until the
 * process ends.
 *
 * Since feature level 3.
 */
int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice* device, const char** name);

/**
 * Writes a text to *version that identifies the version of the driver, "UNKNOWN" for drivers of
 * feature levels 1 and 2. It changes whenever the driver's results may, so that it serves to tell
 * whether measurements or tests of a device still hold. Encoding and lifetime as the name's.
 *
 * Since feature level 3.
 */
int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice* device, const char** version);

/**
 * Writes the kind of the device, a DeviceTypeCode, to *type.
 *
 * Since feature level 3. OP_FAILED: the driver does not report it.
 */
int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice* device, int32_t* type);

/**
 * Writes the feature level of the device, a FeatureLevelCode, to *featureLevel. It is never above
 * the runtime's.
 *
 * Since feature level 3. BAD_STATE: it cannot be determined.
 */
int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice* device,
                                          int64_t* featureLevel);

/**
 * Blocks until the device can be used again after a call failed with DEAD_OBJECT because the
 * driver's process had died. Returns at once for a device that is alive, as the CPU device always
 * is. Objects made for the device before it died may need to be made again.
 *
 * Since feature level 4.
 */
int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice* device);

/**
 * Reports which operations of a finished model a set of devices can run together.
 *
 * @param model a model that was finished with success.
 * @param devices numDevices different devices.
 * @param numDevices their number, at least 1.
 * @param supportedOps array with an entry for each operation of the model, in the order of the
 *     calls of ANeuralNetworksModel_addOperation; set to true where at least one of the devices
 *     supports the operation, else to false. Operations of models referred to have no entry. No
 *     device supports an operation that can never be computed, because its constants or
 *     dimensions contradict each other; a warning names the operation and the reason.
 *
 * Since feature level 3. BAD_DATA: no devices (checked before the state); one of them twice.
 * BAD_STATE: the model is not finished or not valid. UNEXPECTED_NULL: also for a NULL in devices
 * (checked after the state).
 */
int ANeuralNetworksModel_getSupportedOperationsForDevices(
    const ANeuralNetworksModel* model, const ANeuralNetworksDevice* const* devices,
    uint32_t numDevices, bool* supportedOps);

/* ---- Models -------------------------------------------------------------------------------- */

/**
 * Makes an empty model. Free it with ANeuralNetworksModel_free.
 *
 * Operands are numbered 0, 1, 2, ... in the order in which they are added. Once
 * ANeuralNetworksModel_finish was called the model can no longer be modified: BAD_STATE.
 *
 * Since feature level 1. OUT_OF_MEMORY.
 */
int ANeuralNetworksModel_create(ANeuralNetworksModel** model);

/**
 * Frees a model in any state, finished or not. Its compilations must have been freed before.
 *
 * Since feature level 1.
 */
void ANeuralNetworksModel_free(ANeuralNetworksModel* model);

/**
 * Checks the model as a whole and closes it to changes. Operations may have been added in any
 * order. Afterwards the model can be compiled, by several threads at once too.
 *
 * Since feature level 1. BAD_DATA: the model is empty or has an error, and is unusable from then
 * on. Errors are a cycle of operations, an operand that is written twice or never, and wrong types.
 * So is an operation newer than the runtime's feature level. BAD_STATE: it was finished before,
 * with or without success.
 */
int ANeuralNetworksModel_finish(ANeuralNetworksModel* model);

/**
 * Adds an operand. Its index is the number of operands added with success before it.
 *
 * Without a call that gives it a value or makes it an input or output, the operand is an
 * intermediate result.
 *
 * @param type the type and shape; copied.
 *
 * Since feature level 1. BAD_DATA: the type is unknown, or an extension's type that no device
 * knows. BAD_DATA also: dimensions NULL with a dimensionCount above 0 or the reverse; a scalar with
 * dimensions. BAD_DATA also: scale or zeroPoint not allowed for the type; more than 0xFFFFFFFF
 * bytes.
 */
int ANeuralNetworksModel_addOperand(ANeuralNetworksModel* model,
                                    const ANeuralNetworksOperandType* type);

/**
 * Gives an operand a constant value, in place of one given before.
 *
 * Up to ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES bytes are copied. Of a larger value
 * only the pointer is kept. The caller must keep the buffer valid and unchanged as long as the
 * model and everything made of it exists.
 *
 * @param index the operand; its shape must be known.
 * @param buffer the value, in the byte order of the machine and the last dimension contiguous. NULL
 *     with a length of 0 says that the operand, an optional argument of an operation, is omitted.
 * @param length the size of the value; exactly that of the operand.
 *
 * Since feature level 1. UNEXPECTED_NULL: buffer NULL and length not 0. BAD_DATA: index out of
 * range; buffer given and length 0; the shape not known; another length than the operand's.
 */
int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel* model, int32_t index,
                                         const void* buffer, size_t length);

/**
 * Sets the scales of an operand of type ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL. Every
 * operand of that type needs this before the model is finished; no other operand may have it.
 *
 * @param channelQuant the scales; copied.
 *
 * Since feature level 3. BAD_DATA: index out of range; an operand of another type. BAD_DATA also:
 * channelDim not below the rank; scaleCount not the size of that dimension, or the size unknown.
 * BAD_DATA also: scales NULL with a scaleCount above 0 or the reverse; a scale not greater than 0.
 */
int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
    ANeuralNetworksModel* model, int32_t index,
    const ANeuralNetworksSymmPerChannelQuantParams* channelQuant);

/**
 * Gives an operand a constant value that lies in a memory. The value is not copied: the memory must
 * outlive the model and must not change.
 *
 * @param offset where the value starts in the memory; a multiple of the size of an element (this is
 *     left unchecked).
 * @param length the size of the value; exactly that of the operand.
 *
 * Since feature level 1. BAD_DATA: index out of range; the shape not known; another length than the
 * operand's; offset + length beyond the memory; offset and length both 0. BAD_DATA also: a hardware
 * buffer whose format is not BLOB; a memory made from an ANeuralNetworksMemoryDesc.
 */
int ANeuralNetworksModel_setOperandValueFromMemory(ANeuralNetworksModel* model, int32_t index,
                                                   const ANeuralNetworksMemory* memory,
                                                   size_t offset, size_t length);

/**
 * Makes an operand of type ANEURALNETWORKS_MODEL refer to another model, for IF and WHILE. To be
 * called before the operation that takes the operand is added.
 *
 * @param value a model that was finished with success; it must outlive this one. It may be referred
 *     to any number of times.
 *
 * Since feature level 4. BAD_STATE: this model is finished, or value is not, or is not valid.
 * BAD_DATA: index out of range. That the operand has another type is found by
 * ANeuralNetworksModel_finish.
 */
int ANeuralNetworksModel_setOperandValueFromModel(ANeuralNetworksModel* model, int32_t index,
                                                  const ANeuralNetworksModel* value);

/**
 * Adds an operation.
 *
 * @param type an OperationCode, or the code of an extension's operation.
 * @param inputs indices of inputCount operands, in the order of the operation's arguments; copied,
 *     not NULL.
 * @param outputs indices of outputCount operands, with the same rules.
 *
 * Since feature level 1. BAD_DATA: unknown operation; a count of 0; an index out of range. BAD_DATA
 * also: number or types of the operands, or the rank of the main input, do not fit the operation.
 * BAD_DATA also: operands of IF and WHILE that do not fit the models they refer to. BAD_DATA also:
 * ranks of PACK, REVERSE and MIRROR_PAD that contradict each other; a constant axis outside them.
 * BAD_DATA also: a scale or zero point that contradicts another operand's, where the operation's
 * description relates the two. Properties that only computing needs fail there, with OP_FAILED.
 * Examples are the scale of LOGISTIC's result, and the rank of paddings and states.
 */
int ANeuralNetworksModel_addOperation(ANeuralNetworksModel* model,
                                      ANeuralNetworksOperationType type, uint32_t inputCount,
                                      const uint32_t* inputs, uint32_t outputCount,
                                      const uint32_t* outputs);

/**
 * Says which operands are the model's inputs and outputs. Positions in these two arrays are what
 * ANeuralNetworksExecution_setInput, ..._setOutput and the memory roles count by.
 *
 * @param inputs indices of inputCount operands; copied.
 * @param outputs indices of outputCount operands; copied.
 *
 * Since feature level 1. BAD_DATA: a count of 0; an index out of range; an operand listed twice;
 * one that has a value. After a failure free the model: operands listed before the faulty one have
 * been changed already.
 */
int ANeuralNetworksModel_identifyInputsAndOutputs(ANeuralNetworksModel* model, uint32_t inputCount,
                                                  const uint32_t* inputs, uint32_t outputCount,
                                                  const uint32_t* outputs);

/**
 * Allows float32 operations to be computed with the range and precision of float16, which can be
 * much faster. Not allowed unless this is called. Models referred to follow the model that is
 * compiled.
 *
 * Since feature level 2.
 */
int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel* model, bool allow);

/* ---- Compilations -------------------------------------------------------------------------- */

/**
 * Makes a compilation whose operations the runtime distributes over all devices. If a device then
 * fails, the runtime falls back to the CPU. Free it with ANeuralNetworksCompilation_free.
 *
 * Once ANeuralNetworksCompilation_finish was called, with success or not, the compilation can no
 * longer be modified: BAD_STATE.
 *
 * @param model a model that was finished with success; it must outlive the compilation.
 *
 * Since feature level 1. BAD_STATE: the model is not finished or not valid. OUT_OF_MEMORY.
 */
int ANeuralNetworksCompilation_create(ANeuralNetworksModel* model,
                                      ANeuralNetworksCompilation** compilation);

/**
 * Makes a compilation for exactly the devices listed. No other device is used. The CPU device is no
 * fallback unless it is in the list.
 *
 * Deadlines, timing and extension attributes need a compilation made here with a single device,
 * called a single-device compilation below.
 *
 * @param devices numDevices different devices; the array is copied.
 *
 * Since feature level 3. BAD_DATA: no devices; one of them twice; a pointer that is not a device.
 * BAD_STATE: the model is not finished or not valid. UNEXPECTED_NULL: also for a NULL in devices.
 */
int ANeuralNetworksCompilation_createForDevices(ANeuralNetworksModel* model,
                                                const ANeuralNetworksDevice* const* devices,
                                                uint32_t numDevices,
                                                ANeuralNetworksCompilation** compilation);

/**
 * Frees a compilation in any state. Its executions and bursts must have been freed before.
 *
 * Since feature level 1.
 */
void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation* compilation);

/**
 * Sets the goal of the choice of devices.
 *
 * @param preference a PreferenceCode; ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER if never called.
 *
 * Since feature level 1. BAD_DATA: not a PreferenceCode.
 */
int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation* compilation,
                                             int32_t preference);

/**
 * Lets drivers keep compilations in files, to make the next compilation of the same model faster.
 *
 * @param cacheDir a directory that the process may write to, of its own; copied. Whether it exists
 *     is not checked, and a cache that cannot be used never makes a compilation fail.
 * @param token ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN bytes that identify the model including its
 *     constants; copied. The caller must give different models different tokens, e.g. a hash: a
 *     token used for two models may yield the results of the wrong one.
 *
 * Since feature level 3.
 */
int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation* compilation,
                                          const char* cacheDir, const uint8_t* token);

/**
 * Sets how urgent the executions are, compared with others of the same application.
 *
 * @param priority a PriorityCode; ANEURALNETWORKS_PRIORITY_DEFAULT if never called.
 *
 * Since feature level 4. BAD_DATA: not a PriorityCode.
 */
int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation* compilation, int priority);

/**
 * Limits the time that ANeuralNetworksCompilation_finish may take, counted from that call. The
 * limit is a wish: it may be exceeded, or finish may fail with MISSED_DEADLINE_TRANSIENT or
 * MISSED_DEADLINE_PERSISTENT.
 *
 * @param duration nanoseconds; 0 takes the limit away.
 *
 * Since feature level 4. BAD_DATA: not a single-device compilation.
 */
int ANeuralNetworksCompilation_setTimeout(ANeuralNetworksCompilation* compilation,
                                          uint64_t duration);

/**
 * Chooses the devices and makes the model ready to run. The compilation is closed to changes
 * afterwards, and unusable if this failed.
 *
 * Since feature level 1. BAD_DATA: an operation is supported by no listed device. BAD_STATE: called
 * before. MISSED_DEADLINE_*: the time limit passed. With devices listed, the code of the driver
 * that failed; otherwise the runtime falls back to the CPU.
 *
 * A model can have legal parts and yet be impossible to compute (an unknown activation, shapes that
 * contradict each other). It is finished with success, for any devices and without asking them. A
 * warning gives the reason, and each of its executions fails with OP_FAILED.
 */
int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation* compilation);

/**
 * Writes the preferred alignment of an input to *alignment: a power of two. No copy is needed if
 * the address (or the offset in a memory) is a multiple of it. Other addresses work too, but
 * slower.
 *
 * @param index the position in the model's list of inputs.
 *
 * Since feature level 5. BAD_STATE: not finished with success. BAD_DATA: index out of range.
 */
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment);

/**
 * Writes the preferred padding of an input to *padding: a power of two. No copy is needed if the
 * length is rounded up to a multiple of it. To pass such lengths, call
 * ANeuralNetworksExecution_enableInputAndOutputPadding.
 *
 * @param index the position in the model's list of inputs.
 *
 * Since feature level 5. BAD_STATE: not finished with success. BAD_DATA: index out of range.
 */
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding);

/**
 * As ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput, for an output.
 *
 * @param index the position in the model's list of outputs.
 *
 * Since feature level 5. BAD_STATE: not finished with success. BAD_DATA: index out of range.
 */
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment);

/**
 * As ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput, for an output.
 *
 * @param index the position in the model's list of outputs.
 *
 * Since feature level 5. BAD_STATE: not finished with success. BAD_DATA: index out of range.
 */
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding);

/* ---- Executions ---------------------------------------------------------------------------- */

/**
 * Makes an execution: one run of a compilation, or any number of runs one after the other if
 * ANeuralNetworksExecution_setReusable allows it. Free it with ANeuralNetworksExecution_free.
 *
 * Once a run has begun the execution can no longer be modified: BAD_STATE.
 *
 * @param compilation a compilation that was finished with success; it must outlive the execution.
 *
 * Since feature level 1. BAD_STATE: the compilation is not finished or not valid. OUT_OF_MEMORY.
 */
int ANeuralNetworksExecution_create(ANeuralNetworksCompilation* compilation,
                                    ANeuralNetworksExecution** execution);

/**
 * Frees an execution that is not running. While it runs, which after
 * ANeuralNetworksExecution_startComputeWithDependencies means until its event was waited for or
 * freed, the call is ignored and the object is leaked.
 *
 * Since feature level 1.
 */
void ANeuralNetworksExecution_free(ANeuralNetworksExecution* execution);

/**
 * Says whether the execution may run more than once; false if never called. Runs of one execution
 * must not overlap.
 *
 * Since feature level 5.
 */
int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution* execution, bool reusable);

/**
 * Says whether lengths of inputs and outputs may exceed the size of the operand; false if never
 * called. The excess is padding that is never read and may be overwritten. See
 * ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput.
 *
 * Since feature level 5. BAD_STATE: also when an input or output was set already.
 */
int ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution* execution,
                                                         bool enable);

/**
 * Gives an input its buffer. An input can be set once, by this function or by
 * ANeuralNetworksExecution_setInputFromMemory. The buffer is read during each run.
 *
 * @param index the position in the model's list of inputs.
 * @param type NULL, or the operand with dimensions that the model left open filled in. Only the
 *     dimensions are used, but the rest must be valid in itself. Needed if the model left any open.
 * @param buffer the value; NULL with a length of 0 says that an optional input is omitted.
 * @param length the size of the value: that of the operand, or more if padding is enabled.
 *
 * Since feature level 1. UNEXPECTED_NULL: buffer NULL and length not 0. BAD_STATE: running or run
 * already; set before. BAD_DATA: index out of range; type is not valid, contradicts the model or
 * leaves the shape open; wrong length.
 */
int ANeuralNetworksExecution_setInput(ANeuralNetworksExecution* execution, int32_t index,
                                      const ANeuralNetworksOperandType* type, const void* buffer,
                                      size_t length);

/**
 * Gives an input a part of a memory; otherwise as ANeuralNetworksExecution_setInput. The memory
 * must outlive the execution.
 *
 * @param type as for ANeuralNetworksExecution_setInput.
 * @param offset where the value starts; better a multiple of the preferred alignment.
 * @param length the size of the value. offset and length are both 0, for "all of it", with a
 *     memory made from an ANeuralNetworksMemoryDesc and with a hardware buffer whose format is not
 *     BLOB; with other memories they must not both be 0.
 *
 * Since feature level 1. BAD_STATE and BAD_DATA as ANeuralNetworksExecution_setInput; BAD_DATA also
 * when offset + length goes beyond the memory and when the memory has no such role. Contents that
 * were never written, or have another shape, are found when the execution runs: OP_FAILED.
 */
int ANeuralNetworksExecution_setInputFromMemory(ANeuralNetworksExecution* execution, int32_t index,
                                                const ANeuralNetworksOperandType* type,
                                                const ANeuralNetworksMemory* memory, size_t offset,
                                                size_t length);

/**
 * Gives an output its buffer. An output can be set once, by this function or by
 * ANeuralNetworksExecution_setOutputFromMemory. The buffer is written during each run; nothing else
 * may use it meanwhile, and after a failed run its contents are unspecified.
 *
 * @param index the position in the model's list of outputs.
 * @param type NULL, or the operand with dimensions that the model left open filled in, as far as
 *     they are known.
 * @param buffer where the value goes; NULL with a length of 0 says that the output is omitted.
 * @param length the size of the buffer. If the shape is known: that of the operand, or more if
 *     padding is enabled. If it is not: as much as there is; should it turn out too small, the run
 *     yields OUTPUT_INSUFFICIENT_SIZE and the shape can be queried.
 *
 * Since feature level 1. UNEXPECTED_NULL: buffer NULL and length not 0. BAD_STATE: running or run
 * already; set before. BAD_DATA: index out of range; type is not valid or contradicts the model;
 * wrong length.
 */
int ANeuralNetworksExecution_setOutput(ANeuralNetworksExecution* execution, int32_t index,
                                       const ANeuralNetworksOperandType* type, void* buffer,
                                       size_t length);

/**
 * Gives an output a part of a memory; otherwise as ANeuralNetworksExecution_setOutput. The memory
 * must outlive the execution.
 *
 * @param type as for ANeuralNetworksExecution_setOutput.
 * @param offset as for ANeuralNetworksExecution_setInputFromMemory.
 * @param length as for ANeuralNetworksExecution_setInputFromMemory.
 *
 * Since feature level 1. BAD_STATE and BAD_DATA as ANeuralNetworksExecution_setOutput; BAD_DATA
 * also when offset + length goes beyond the memory and when the memory has no such role.
 */
int ANeuralNetworksExecution_setOutputFromMemory(ANeuralNetworksExecution* execution, int32_t index,
                                                 const ANeuralNetworksOperandType* type,
                                                 const ANeuralNetworksMemory* memory, size_t offset,
                                                 size_t length);

/**
 * Limits the time that each WHILE loop may take, counted from where the loop is entered. A loop
 * that takes longer ends the run with MISSED_DEADLINE_TRANSIENT or MISSED_DEADLINE_PERSISTENT.
 *
 * @param duration nanoseconds; above ANeuralNetworks_getMaximumLoopTimeout() that is used instead,
 *     without an error. ANeuralNetworks_getDefaultLoopTimeout() if never called.
 *
 * Since feature level 4.
 */
int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution* execution, uint64_t duration);

/**
 * Says whether the run is timed, for ANeuralNetworksExecution_getDuration; false if never called.
 * Timing can make runs slower.
 *
 * Since feature level 3. BAD_DATA: not of a single-device compilation; this is checked before the
 * state.
 */
int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution* execution, bool measure);

/**
 * Limits the time that a run may take, counted from the call that starts it. The limit is a wish:
 * it may be exceeded, or the run may end with MISSED_DEADLINE_TRANSIENT or
 * MISSED_DEADLINE_PERSISTENT. Without a limit, a driver in a process of its own that does not
 * answer for five minutes counts as hung, and is ended. Its manifest or the environment may set
 * another time.
 *
 * @param duration nanoseconds; 0 for no limit.
 *
 * Since feature level 4. BAD_DATA: not of a single-device compilation; this is checked before the
 * state.
 */
int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution* execution, uint64_t duration);

/**
 * Runs the execution and returns when it is over.
 *
 * Since feature level 3. BAD_STATE: running now, or run before and not reusable. BAD_DATA: an input
 * or output was not set. OUTPUT_INSUFFICIENT_SIZE: an output did not fit; query its shape.
 * OP_FAILED, UNMAPPABLE, MISSED_DEADLINE_*, RESOURCE_EXHAUSTED_*, UNAVAILABLE_DEVICE, DEAD_OBJECT:
 * the run failed.
 */
int ANeuralNetworksExecution_compute(ANeuralNetworksExecution* execution);

/**
 * Starts a run and returns. The order in which several runs are executed is not specified.
 *
 * @param event receives an event to wait for with ANeuralNetworksEvent_wait, which then tells how
 *     the run ended, and to free with ANeuralNetworksEvent_free; NULL if the run did not start.
 *
 * Since feature level 1. BAD_STATE and BAD_DATA as ANeuralNetworksExecution_compute.
 */
int ANeuralNetworksExecution_startCompute(ANeuralNetworksExecution* execution,
                                          ANeuralNetworksEvent** event);

/**
 * Starts a run as soon as other events are signaled, without blocking as far as the devices allow.
 * A run on a device that knows sync fences is queued. With other devices, this function may itself
 * wait for the dependencies, or for the run.
 *
 * @param dependencies num_dependencies events; NULL only if num_dependencies is 0. If one of them
 *     ends in an error, so does this run.
 * @param duration limit in nanoseconds for the run, counted from the moment the last dependency is
 *     signaled; 0 for no limit. Other values need a single-device compilation.
 * @param event receives an event as ANeuralNetworksExecution_startCompute does; it can be passed on
 *     with ANeuralNetworksEvent_getSyncFenceFd if the device gave a sync fence.
 *
 * Since feature level 4. UNEXPECTED_NULL: also for a NULL in dependencies. BAD_STATE: running now,
 * or run before and not reusable. BAD_DATA: an input or output was not set; an output whose shape
 * is not known; a duration that is not allowed. OP_FAILED: a dependency failed. Where this function
 * has waited for the run, the run's own error, as from ANeuralNetworksExecution_compute. With an
 * error *event is NULL.
 */
int ANeuralNetworksExecution_startComputeWithDependencies(
    ANeuralNetworksExecution* execution, const ANeuralNetworksEvent* const* dependencies,
    uint32_t num_dependencies, uint64_t duration, ANeuralNetworksEvent** event);

/**
 * Runs the execution within a burst and returns when it is over; otherwise as
 * ANeuralNetworksExecution_compute.
 *
 * @param burst a burst of the same compilation, in which nothing is running.
 *
 * Since feature level 3. BAD_DATA: also for a burst of another compilation. BAD_STATE: also when
 * the burst is in use.
 */
int ANeuralNetworksExecution_burstCompute(ANeuralNetworksExecution* execution,
                                          ANeuralNetworksBurst* burst);

/**
 * Writes the number of dimensions of an output after the run to *rank; 0 for a scalar.
 *
 * @param index the position in the model's list of outputs.
 *
 * Since feature level 3. OUTPUT_INSUFFICIENT_SIZE: this output did not fit; *rank is written, as
 * far as it is known. BAD_STATE: running, not run yet, or the run failed for another reason than an
 * output that did not fit. BAD_DATA: index out of range.
 */
int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution* execution,
                                                  int32_t index, uint32_t* rank);

/**
 * Writes the sizes of the dimensions of an output after the run to dimensions, an array with as
 * many entries as ANeuralNetworksExecution_getOutputOperandRank wrote.
 *
 * @param index the position in the model's list of outputs.
 *
 * Since feature level 3. OUTPUT_INSUFFICIENT_SIZE: this output did not fit; the sizes are written,
 * as far as they are known, else 0. BAD_STATE: as the rank. BAD_DATA: index out of range; a scalar
 * or an unknown rank.
 */
int ANeuralNetworksExecution_getOutputOperandDimensions(ANeuralNetworksExecution* execution,
                                                        int32_t index, uint32_t* dimensions);

/**
 * Writes a time that the last run took to *duration, in nanoseconds; UINT64_MAX if the device does
 * not report it.
 *
 * @param durationCode which time: a DurationCode.
 *
 * Since feature level 3. BAD_DATA: not a DurationCode; this is checked before the state. BAD_STATE:
 * timing was not enabled, or the execution has not run with success; *duration is UINT64_MAX.
 */
int ANeuralNetworksExecution_getDuration(const ANeuralNetworksExecution* execution,
                                         int32_t durationCode, uint64_t* duration);

/* ---- Events -------------------------------------------------------------------------------- */

/**
 * Blocks until the event is signaled and returns the result of its run. Can be called any number of
 * times and by several threads; the answer is always the same.
 *
 * Since feature level 1. The codes of ANeuralNetworksExecution_compute; those that drivers do not
 * have (OUT_OF_MEMORY, UNMAPPABLE, BAD_STATE, DEAD_OBJECT) may appear as OP_FAILED.
 */
int ANeuralNetworksEvent_wait(ANeuralNetworksEvent* event);

/**
 * Waits until the event is signaled and frees it.
 *
 * Since feature level 1.
 */
void ANeuralNetworksEvent_free(ANeuralNetworksEvent* event);

/**
 * Makes an event of a sync fence, to be used as a dependency.
 *
 * @param sync_fence_fd file descriptor of the fence, above 0. It is duplicated: the caller keeps
 *     its own, and may close it.
 *
 * Since feature level 4. BAD_DATA: sync_fence_fd is 0 or negative.
 */
int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent** event);

/**
 * Writes a file descriptor for the sync fence of an event to *sync_fence_fd, a duplicate for the
 * caller to close; -1 on failure.
 *
 * Since feature level 4. BAD_DATA: the event has no sync fence. Events of
 * ANeuralNetworksExecution_startCompute never have one. Other events have one only when the device
 * works with fences.
 */
int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent* event, int* sync_fence_fd);

/* ---- Bursts -------------------------------------------------------------------------------- */

/**
 * Makes a burst: a hint that executions will follow each other closely, so that connections and
 * mappings are kept between them. Free it with ANeuralNetworksBurst_free.
 *
 * @param compilation a compilation that was finished with success; it must outlive the burst.
 *
 * Since feature level 3. BAD_STATE: the compilation is not finished or not valid.
 */
int ANeuralNetworksBurst_create(ANeuralNetworksCompilation* compilation,
                                ANeuralNetworksBurst** burst);

/**
 * Frees a burst in which nothing is running.
 *
 * Since feature level 3.
 */
void ANeuralNetworksBurst_free(ANeuralNetworksBurst* burst);

/* ---- Memories ------------------------------------------------------------------------------ */

/**
 * Makes a memory of a range of a file or of shared memory. Free it with ANeuralNetworksMemory_free.
 *
 * @param size the number of bytes; the file must not be shorter than the range.
 * @param protect how it may be mapped: PROT_NONE, or PROT_READ, PROT_WRITE or both of <sys/mman.h>.
 *     PROT_READ is enough for constants and inputs.
 * @param fd the file: a regular file, memfd_create(2), shm_open(3) or similar. It is duplicated:
 *     the caller keeps its own, and may close it.
 * @param offset where the range starts; a multiple of the page size.
 *
 * Since feature level 1. OP_FAILED: the descriptor could not be duplicated. A range that cannot be
 * mapped may be found only later, when the memory is used: UNMAPPABLE.
 */
int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset,
                                       ANeuralNetworksMemory** memory);

/**
 * Makes a memory of a hardware buffer. A buffer of format BLOB is plain memory of as many bytes as
 * it is wide. Only drivers know the layout of others, which are always used as a whole, with offset
 * and length 0. Free it with ANeuralNetworksMemory_free.
 *
 * @param ahwb the buffer. No reference to it is taken: it must outlive the memory.
 *
 * Since feature level 3.
 */
int ANeuralNetworksMemory_createFromAHardwareBuffer(const AHardwareBuffer* ahwb,
                                                    ANeuralNetworksMemory** memory);

/**
 * Makes a memory for the roles of a descriptor. Where possible, the device allocates it, and the
 * application cannot see it. It has no contents until an execution or
 * ANeuralNetworksMemory_copy writes them. Free it with ANeuralNetworksMemory_free.
 *
 * Use it only for the roles of the descriptor, with offset and length 0.
 *
 * @param desc a finished descriptor; may be freed afterwards.
 *
 * Since feature level 4. BAD_STATE: the descriptor is not finished. OP_FAILED: no device could
 * allocate it.
 */
int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc* desc,
                                         ANeuralNetworksMemory** memory);

/**
 * Copies all of src to dst, of any kinds. No copy is made if they are the same. Memories of
 * descriptors must agree in type and shape, and a dst whose shape is open takes that of src. Plain
 * memories must have equal sizes. If the copy fails, a dst made from a descriptor is left without
 * contents.
 *
 * During the copy no execution may write src, or use dst in any way.
 *
 * Since feature level 4. BAD_DATA: src has no contents; types, shapes or sizes do not agree.
 * UNMAPPABLE: one of them cannot be mapped.
 */
int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory* src, const ANeuralNetworksMemory* dst);

/**
 * Frees a memory. Models, executions and bursts that use it must be done with it.
 *
 * Since feature level 1.
 */
void ANeuralNetworksMemory_free(ANeuralNetworksMemory* memory);

/* ---- Memory descriptors -------------------------------------------------------------------- */

/**
 * Makes an empty memory descriptor. Add roles, finish it, make memories of it. Free it with
 * ANeuralNetworksMemoryDesc_free.
 *
 * Once ANeuralNetworksMemoryDesc_finish succeeded it can no longer be modified: BAD_STATE.
 *
 * Since feature level 4. OUT_OF_MEMORY.
 */
int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc** desc);

/**
 * Frees a memory descriptor in any state. Memories made of it remain valid.
 *
 * Since feature level 4.
 */
void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc* desc);

/**
 * Declares that the memory will be an input of executions of a compilation. All roles must have the
 * same type, scale and zero point, and their shapes must agree as far as they are known.
 *
 * @param compilation a compilation that was finished with success; it must outlive the descriptor.
 * @param index the position in the model's list of inputs.
 * @param frequency how likely an execution is to use the memory in this role: above 0, at most 1.
 *     Only the relation between the roles matters.
 *
 * Since feature level 4. BAD_DATA: the role was added before; the compilation is not finished or
 * not valid; index or frequency out of range. BAD_DATA also: type or shape do not agree with the
 * other roles, or with ANeuralNetworksMemoryDesc_setDimensions.
 */
int ANeuralNetworksMemoryDesc_addInputRole(ANeuralNetworksMemoryDesc* desc,
                                           const ANeuralNetworksCompilation* compilation,
                                           uint32_t index, float frequency);

/**
 * Declares that the memory will be an output of executions of a compilation; otherwise as
 * ANeuralNetworksMemoryDesc_addInputRole.
 *
 * @param index the position in the model's list of outputs.
 *
 * Since feature level 4.
 */
int ANeuralNetworksMemoryDesc_addOutputRole(ANeuralNetworksMemoryDesc* desc,
                                            const ANeuralNetworksCompilation* compilation,
                                            uint32_t index, float frequency);

/**
 * Sets sizes of dimensions that the roles leave open.
 *
 * @param rank the number of dimensions; 0 for "not known".
 * @param dimensions rank entries, 0 where a size is not known; copied. May be NULL if rank is 0.
 *
 * Since feature level 4. BAD_DATA: contradicts the roles, or earlier dimensions; a rank above 0 for
 * a scalar.
 */
int ANeuralNetworksMemoryDesc_setDimensions(ANeuralNetworksMemoryDesc* desc, uint32_t rank,
                                            const uint32_t* dimensions);

/**
 * Closes the descriptor to changes. Memories can be made of it afterwards.
 *
 * Since feature level 4. BAD_DATA: it has no role. BAD_STATE: finished before.
 */
int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc* desc);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HALYARD_ANDROID_NEURAL_NETWORKS_H_
