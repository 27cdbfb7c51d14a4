#include "tls.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>

namespace holdfast::redis {

namespace {

/// OpenSSL's own words for the first thing that went wrong; none of them holds a secret.
std::string reason() {
  const auto code = ERR_peek_error();
  const char* text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text == nullptr ? "no reason given" : text;
}

failure bad_file(const char* option, const std::string& file) {
  return {errc::rejected, std::string("TLS: ") + option + " '" + file + "' is no good: " + reason()};
}

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

/// Without it OpenSSL would ask for the passphrase of a key on the terminal.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) { return 0; }

struct meaning {
  int reason;
  errc code;
  const char* text;
};

constexpr std::array meanings{
    meaning{SSL_R_WRONG_VERSION_NUMBER, errc::rejected, "the server does not speak TLS on this port"},
    meaning{SSL_R_HTTP_REQUEST, errc::rejected, "the server does not speak TLS on this port"},
    meaning{SSL_R_UNSUPPORTED_PROTOCOL, errc::rejected, "the server speaks no TLS of 1.2 or later"},
    meaning{SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, errc::rejected, "the server speaks no TLS of 1.2 or later"},
    meaning{SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, errc::rejected,
            "the server wants a client certificate: cert-file=, key-file="},
    meaning{
        SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, errc::rejected,
        "the server refuses the handshake; it may want a client certificate (cert-file=, key-file=), or other ciphers"},
    meaning{SSL_R_TLSV1_ALERT_UNKNOWN_CA, errc::rejected, "the server does not trust who signed our certificate"},
    meaning{SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, errc::rejected, "our certificate has expired"},
    meaning{SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, errc::rejected, "the server does not accept our certificate"},
    meaning{SSL_R_TLSV1_UNRECOGNIZED_NAME, errc::rejected, "the server does not know the name it was called by"},
    // It may pass: the server is in trouble, not we with it.
    meaning{SSL_R_TLSV1_ALERT_INTERNAL_ERROR, errc::unavailable, "the server is in trouble"},
    meaning{SSL_R_TLSV1_ALERT_USER_CANCELLED, errc::unavailable, "the server gave up"},
};

std::string why_not_trusted(long verdict, const std::string& name) {
  switch (verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "the server's certificate is not for '" + name + "' (server-name= expects another)";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "the server's certificate has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "the server's certificate is not valid yet";
    default:
      return std::string("the server's certificate is not trusted (ca-file= names who is): ") +
             X509_verify_cert_error_string(verdict);
  }
}

std::string drained(BIO* from) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(from, &bytes);
  std::string out(bytes, static_cast<std::size_t>(std::max(size, 0L)));
  BIO_reset(from);
  return out;
}

}  // namespace

void tls_session::closer::operator()(ssl_ctx_st* context) const noexcept { SSL_CTX_free(context); }
void tls_session::closer::operator()(ssl_st* session) const noexcept { SSL_free(session); }

result<std::unique_ptr<tls_session>> tls_session::make(const tls_settings& how, const std::string& host) {
  // A client may outlive main(): OpenSSL must not tidy up before it does.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr);
  ERR_clear_error();
  std::unique_ptr<tls_session> made(new tls_session);
  made->context_.reset(SSL_CTX_new(TLS_client_method()));
  if (!made->context_) return {errc::rejected, "TLS: " + reason()};
  SSL_CTX_set_min_proto_version(made->context_.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(made->context_.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_default_passwd_cb(made->context_.get(), &no_passphrase);
  if (auto good = made->trust(how); !good) return good.error();
  if (auto good = made->show(how); !good) return good.error();
  made->session_.reset(SSL_new(made->context_.get()));
  if (!made->session_) return {errc::rejected, "TLS: " + reason()};
  if (auto good = made->expect(how.server_name.empty() ? host : how.server_name, how.verify); !good)
    return good.error();
  SSL_set_bio(made->session_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_connect_state(made->session_.get());
  return made;
}

tls_session::~tls_session() = default;

result<void> tls_session::trust(const tls_settings& how) {
  SSL_CTX* context = context_.get();
  if (how.ca_file.empty() && how.ca_dir.empty()) SSL_CTX_set_default_verify_paths(context);
  if (!how.ca_file.empty() && SSL_CTX_load_verify_file(context, how.ca_file.c_str()) != 1)
    return bad_file("ca-file", how.ca_file);
  if (!how.ca_dir.empty() && SSL_CTX_load_verify_dir(context, how.ca_dir.c_str()) != 1)
    return bad_file("ca-dir", how.ca_dir);
  return {};
}

result<void> tls_session::show(const tls_settings& how) {
  SSL_CTX* context = context_.get();
  if (how.cert_file.empty()) return {};
  if (SSL_CTX_use_certificate_chain_file(context, how.cert_file.c_str()) != 1)
    return bad_file("cert-file", how.cert_file);
  if (SSL_CTX_use_PrivateKey_file(context, how.key_file.c_str(), SSL_FILETYPE_PEM) != 1)
    return bad_file("key-file", how.key_file);
  if (SSL_CTX_check_private_key(context) != 1) return bad_file("key-file", how.key_file);
  return {};
}

result<void> tls_session::expect(const std::string& name, tls_settings::verification verify) {
  name_ = name;
  SSL* session = session_.get();
  const bool address = is_address(name);
  // An address is no server name (RFC 6066).
  if (!address && SSL_set_tlsext_host_name(session, name.c_str()) != 1)
    return {errc::rejected, "TLS: '" + name + "' cannot be the name of a server"};
  if (verify == tls_settings::verification::off) {
    SSL_set_verify(session, SSL_VERIFY_NONE, nullptr);
    return {};
  }
  SSL_set_verify(session, SSL_VERIFY_PEER, nullptr);
  SSL_set_hostflags(session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool good = address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), name.c_str()) == 1
                            : SSL_set1_host(session, name.c_str()) == 1;
  if (!good) return {errc::rejected, "TLS: '" + name + "' cannot be verified"};
  return {};
}

failure tls_session::why() const {
  const long verdict = SSL_get_verify_result(session_.get());
  if (verdict != X509_V_OK && SSL_get_verify_mode(session_.get()) != SSL_VERIFY_NONE)
    return {errc::rejected, "TLS: " + why_not_trusted(verdict, name_)};
  const int number = ERR_GET_REASON(ERR_peek_error());
  const auto known = std::find_if(meanings.begin(), meanings.end(), [&](auto& m) { return m.reason == number; });
  if (known == meanings.end()) return {errc::rejected, "TLS: " + reason()};
  return {known->code, std::string("TLS: ") + known->text};
}

result<bool> tls_session::shake_hands(std::string_view received) {
  ERR_clear_error();
  BIO_write(SSL_get_rbio(session_.get()), received.data(), static_cast<int>(received.size()));
  const int outcome = SSL_do_handshake(session_.get());
  if (outcome == 1) return true;
  const int error = SSL_get_error(session_.get(), outcome);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return false;
  return why();
}

std::string tls_session::seal(std::string_view text) {
  ERR_clear_error();
  std::size_t written = 0;
  // Into memory: it takes all or nothing.
  if (SSL_write_ex(session_.get(), text.data(), text.size(), &written) != 1) return {};
  return owed();
}

result<std::string_view> tls_session::open(std::string_view received) {
  ERR_clear_error();
  text_.clear();
  BIO_write(SSL_get_rbio(session_.get()), received.data(), static_cast<int>(received.size()));
  std::array<char, 16384> chunk;  // as much as a record holds
  std::size_t got = 0;
  while (SSL_read_ex(session_.get(), chunk.data(), chunk.size(), &got) == 1) text_.append(chunk.data(), got);
  const int error = SSL_get_error(session_.get(), 0);
  if (error == SSL_ERROR_ZERO_RETURN) ended_ = true;
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE || ended_) return std::string_view(text_);
  ended_ = true;
  return why();
}

std::string tls_session::owed() { return drained(SSL_get_wbio(session_.get())); }

}  // namespace holdfast::redis
