// A certificate and its key for tests of TLS.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdio>
#include <memory>
#include <string>

namespace halyard::serve {

// Writes a certificate for "localhost", signed by itself, and its key. Returns whether it has
// worked.
inline bool writeCertificate(const std::string& certificateFile, const std::string& keyFile) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"),
                                                                &EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
  if (!key || !certificate) return false;
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* const name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  if (X509_sign(certificate.get(), key.get(), EVP_sha256()) == 0) return false;
  const std::unique_ptr<FILE, decltype(&std::fclose)> to(std::fopen(certificateFile.c_str(), "w"),
                                                         &std::fclose);
  const std::unique_ptr<FILE, decltype(&std::fclose)> keyTo(std::fopen(keyFile.c_str(), "w"),
                                                            &std::fclose);
  return to && keyTo && PEM_write_X509(to.get(), certificate.get()) == 1 &&
         PEM_write_PrivateKey(keyTo.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1;
}

}  // namespace halyard::serve
