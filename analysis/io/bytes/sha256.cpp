#include "sha256.hpp"

#include <openssl/evp.h>

#include <array>
#include <new>

namespace ulp::io {
namespace {

struct releaser {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

struct sha256::state {
  std::unique_ptr<EVP_MD_CTX, releaser> context{EVP_MD_CTX_new()};
};

// What OpenSSL says of failure here is that there is no memory.
sha256::sha256() : state_(std::make_unique<state>()) {
  if (state_->context == nullptr || EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) != 1)
    throw std::bad_alloc();
}

sha256::~sha256() = default;

void sha256::add(std::string_view bytes) {
  if (EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) != 1) throw std::bad_alloc();
}

std::string sha256::hex() {
  std::array<unsigned char, 32> digest{};
  if (EVP_DigestFinal_ex(state_->context.get(), digest.data(), nullptr) != 1) throw std::bad_alloc();
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

}  // namespace ulp::io
