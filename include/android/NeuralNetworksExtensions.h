// SPDX-License-Identifier: Apache-2.0
//
// Vendor extensions: operand types, operations and attributes that a driver adds to NNAPI.
// Thread safety: as NeuralNetworks.h.
// Ownership: as NeuralNetworks.h; names and data passed in are copied.
//
// A name identifies an extension. It has lower-case letters, digits, '.' and '_', and at least one
// '.'. By custom it starts with a domain of its maker, e.g. "org.example.audio". Its types and
// operations are numbered by the extension with 16 bits. The runtime gives each name a prefix for
// the life of the process and composes the two: prefix << 16 | code. Such a number means nothing in
// another process.
//
// These functions have the symbol version LIBNEURALNETWORKS_PLATFORM. The rules for results,
// threads and lifetimes told in NeuralNetworks.h hold here too.

#ifndef HALYARD_ANDROID_NEURAL_NETWORKS_EXTENSIONS_H_
#define HALYARD_ANDROID_NEURAL_NETWORKS_EXTENSIONS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "NeuralNetworksTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/**
 * Writes to *isExtensionSupported whether the device offers the extension.
 *
 * Since feature level 3.
 */
int ANeuralNetworksDevice_getExtensionSupport(const ANeuralNetworksDevice* device,
                                              const char* extensionName,
                                              bool* isExtensionSupported);

/**
 * Writes to *type the number of an extension's operand type, for ANeuralNetworksOperandType. A name
 * that no device offers gets a number as well; ANeuralNetworksModel_addOperand then refuses it.
 *
 * An operand of such a type has scale 0 and zeroPoint 0; all other properties go into
 * ANeuralNetworksModel_setOperandExtensionData.
 *
 * @param model the model that the type is for.
 * @param operandCodeWithinExtension the extension's own number of the type.
 *
 * Since feature level 3. BAD_DATA: the process has used up all 65535 prefixes.
 */
int ANeuralNetworksModel_getExtensionOperandType(ANeuralNetworksModel* model,
                                                 const char* extensionName,
                                                 uint16_t operandCodeWithinExtension,
                                                 int32_t* type);

/**
 * Writes to *type the number of an extension's operation, for ANeuralNetworksModel_addOperation.
 * Only devices that offer the extension can run it; there is no CPU fallback.
 *
 * @param model the model that the operation is for.
 * @param operationCodeWithinExtension the extension's own number of the operation.
 *
 * Since feature level 3. BAD_DATA: the process has used up all 65535 prefixes.
 */
int ANeuralNetworksModel_getExtensionOperationType(ANeuralNetworksModel* model,
                                                   const char* extensionName,
                                                   uint16_t operationCodeWithinExtension,
                                                   ANeuralNetworksOperationType* type);

/**
 * Attaches data to an operand of an extension's type, in place of data attached before. The
 * extension defines their meaning.
 *
 * @param data length bytes; copied. NULL with a length of 0 takes the data away.
 *
 * Since feature level 3. UNEXPECTED_NULL: data NULL and length not 0. BAD_STATE: the model is
 * finished. BAD_DATA: index out of range; not an operand of an extension's type; data given and
 * length 0.
 */
int ANeuralNetworksModel_setOperandExtensionData(ANeuralNetworksModel* model, int32_t index,
                                                 const void* data, size_t length);

/**
 * Passes an attribute that an extension defines to the driver that compiles the model.
 *
 * @param attributeCodeWithinExtension the extension's own number of the attribute.
 * @param data length bytes; copied.
 *
 * Since feature level 8. UNEXPECTED_NULL: data NULL and length not 0. BAD_STATE: the compilation is
 * finished (checked first). BAD_DATA: not made by ANeuralNetworksCompilation_createForDevices with
 * a single device; the attribute was added before.
 */
int ANeuralNetworksCompilation_addExtensionAttribute(ANeuralNetworksCompilation* compilation,
                                                     const char* extensionName,
                                                     uint16_t attributeCodeWithinExtension,
                                                     const void* data, size_t length);

/**
 * Passes an attribute that an extension defines to the driver with each run of the execution.
 *
 * @param attributeCodeWithinExtension the extension's own number of the attribute.
 * @param data length bytes; copied.
 *
 * Since feature level 8. UNEXPECTED_NULL: data NULL and length not 0. BAD_DATA: not of a
 * compilation made by ANeuralNetworksCompilation_createForDevices with a single device (checked
 * before the state); the attribute was added before. BAD_STATE: running or run already.
 */
int ANeuralNetworksExecution_addExtensionAttribute(ANeuralNetworksExecution* execution,
                                                   const char* extensionName,
                                                   uint16_t attributeCodeWithinExtension,
                                                   const void* data, size_t length);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HALYARD_ANDROID_NEURAL_NETWORKS_EXTENSIONS_H_
