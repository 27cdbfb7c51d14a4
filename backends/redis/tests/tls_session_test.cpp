#include "tls.hpp"

#include <holdfast/testing/certificates.hpp>
#include <holdfast/testing/expectations.hpp>

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <string>

namespace holdfast::redis {

namespace {

using testing::certificates;

certificates& authority() {
  static certificates made;
  return made;
}

const certificates::pair& for_localhost() {
  static const certificates::pair made = authority().issue("DNS:localhost,IP:127.0.0.1,IP:::1");
  return made;
}

/// The other side, by OpenSSL's own means.
class peer {
 public:
  explicit peer(const certificates::pair& shown = for_localhost()) : context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_use_certificate_chain_file(context_, shown.cert.c_str());
    SSL_CTX_use_PrivateKey_file(context_, shown.key.c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_load_verify_file(context_, authority().authority().c_str());
  }
  peer(const peer&) = delete;
  peer& operator=(const peer&) = delete;
  ~peer() {
    SSL_free(session_);
    SSL_CTX_free(context_);
  }

  SSL_CTX* context() { return context_; }
  SSL* session() {
    if (session_ == nullptr) {
      session_ = SSL_new(context_);
      SSL_set_bio(session_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
      SSL_set_accept_state(session_);
    }
    return session_;
  }

  void hear(std::string_view bytes) {
    BIO_write(SSL_get_rbio(session()), bytes.data(), static_cast<int>(bytes.size()));
  }
  std::string says() {
    std::string bytes(1 << 20, '\0');
    const int size = BIO_read(SSL_get_wbio(session()), bytes.data(), static_cast<int>(bytes.size()));
    return bytes.substr(0, static_cast<std::size_t>(std::max(size, 0)));
  }
  void write(std::string_view text) { SSL_write(session(), text.data(), static_cast<int>(text.size())); }
  std::string read() {
    std::string all;
    std::string text(1 << 16, '\0');
    for (int size = 0; (size = SSL_read(session(), text.data(), static_cast<int>(text.size()))) > 0;)
      all += text.substr(0, static_cast<std::size_t>(size));
    return all;
  }

 private:
  SSL_CTX* context_;
  SSL* session_ = nullptr;
};

tls_settings trusting(const std::string& ca_file = authority().authority()) {
  tls_settings how;
  how.ca_file = ca_file;
  return how;
}

/// Both, until they agree or one does not want any more; then what the server says to that.
result<void> meet(tls_session& client, peer& server) {
  std::string received;
  for (int turn = 0; turn < 10; ++turn) {
    const auto done = client.shake_hands(received);
    server.hear(client.owed());
    if (!done) return done.error();
    SSL_do_handshake(server.session());
    received = server.says();
    if (!*done) continue;
    const auto opened = client.open(received);
    if (!opened) return opened.error();
    return {};
  }
  return {errc::timed_out, "they do not come together"};
}

result<void> meet(const tls_settings& how, const std::string& host, peer& server) {
  auto client = tls_session::make(how, host);
  if (!client) return client.error();
  return meet(**client, server);
}

std::string text_of(const result<void>& outcome) { return outcome ? "" : outcome.error().detail; }

}  // namespace

TEST(tls_session, text_goes_both_ways_whatever_its_size) {
  peer server;
  auto client = tls_session::make(trusting(), "localhost").value();
  ASSERT_TRUE(testing::succeeded(meet(*client, server)));
  for (const std::size_t size : {1UL, 100UL, 16384UL, 300'000UL}) {
    const std::string text(size, 'x');
    server.hear(client->seal(text));
    EXPECT_EQ(server.read(), text);
    server.write(text);
    const std::string bytes = server.says();
    // In pieces, as sockets have it.
    std::string heard(client->open(std::string_view(bytes).substr(0, bytes.size() / 2)).value());
    heard += client->open(std::string_view(bytes).substr(bytes.size() / 2)).value();
    EXPECT_EQ(heard, text);
  }
  EXPECT_FALSE(client->ended());
}

TEST(tls_session, names_and_addresses_are_verified) {
  for (const std::string host : {"localhost", "127.0.0.1", "::1"}) {
    peer server;
    EXPECT_TRUE(testing::succeeded(meet(trusting(), host, server))) << host;
  }
  for (const std::string host : {"example.org", "127.0.0.2", "::2"}) {
    peer server;
    const auto outcome = meet(trusting(), host, server);
    EXPECT_TRUE(testing::failed(errc::rejected, outcome)) << host;
    EXPECT_NE(text_of(outcome).find("not for '" + host + "'"), std::string::npos) << text_of(outcome);
  }
}

TEST(tls_session, a_stranger_is_not_trusted) {
  certificates other;
  for (const auto& ca_file : {other.authority(), std::string()}) {
    peer server;
    const auto outcome = meet(trusting(ca_file), "localhost", server);
    EXPECT_TRUE(testing::failed(errc::rejected, outcome));
    EXPECT_NE(text_of(outcome).find("not trusted"), std::string::npos) << text_of(outcome);
  }
  auto how = trusting(other.authority());
  how.verify = tls_settings::verification::off;
  peer server;
  EXPECT_TRUE(testing::succeeded(meet(how, "example.org", server)));
}

TEST(tls_session, an_expired_certificate_is_refused) {
  peer server(authority().issue("DNS:localhost", certificates::age::expired));
  const auto outcome = meet(trusting(), "localhost", server);
  EXPECT_TRUE(testing::failed(errc::rejected, outcome));
  EXPECT_NE(text_of(outcome).find("expired"), std::string::npos) << text_of(outcome);
}

TEST(tls_session, the_server_hears_the_name_that_was_asked_for) {
  const auto name_heard = [](const std::string& host, const std::string& server_name) {
    auto how = trusting();
    how.server_name = server_name;
    how.verify = tls_settings::verification::off;
    std::string heard;
    peer server;
    SSL_CTX_set_tlsext_servername_arg(server.context(), &heard);
    SSL_CTX_set_tlsext_servername_callback(
        server.context(), +[](SSL* session, int*, void* where) {
          const char* name = SSL_get_servername(session, TLSEXT_NAMETYPE_host_name);
          if (name != nullptr) *static_cast<std::string*>(where) = name;
          return SSL_TLSEXT_ERR_OK;
        });
    EXPECT_TRUE(testing::succeeded(meet(how, host, server)));
    return heard;
  };
  EXPECT_EQ(name_heard("cache.example", ""), "cache.example");
  EXPECT_EQ(name_heard("127.0.0.1", "cache.example"), "cache.example");
  EXPECT_EQ(name_heard("127.0.0.1", ""), "");
}

TEST(tls_session, a_client_certificate_is_shown_where_one_is_wanted) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto against = [&](const tls_settings& how) {
      peer server;
      SSL_CTX_set_max_proto_version(server.context(), version);
      SSL_CTX_set_verify(server.context(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
      return meet(how, "localhost", server);
    };
    const auto none = against(trusting());
    EXPECT_TRUE(testing::failed(errc::rejected, none)) << version;
    EXPECT_NE(text_of(none).find("client certificate"), std::string::npos) << text_of(none);

    auto known = trusting();
    const auto ours = authority().issue("DNS:client");
    known.cert_file = ours.cert;
    known.key_file = ours.key;
    EXPECT_TRUE(testing::succeeded(against(known))) << version;

    certificates others;
    const auto theirs = others.issue("DNS:client");
    known.cert_file = theirs.cert;
    known.key_file = theirs.key;
    EXPECT_TRUE(testing::failed(errc::rejected, against(known))) << version;
  }
}

TEST(tls_session, files_that_are_no_good_are_named) {
  const auto ours = authority().issue("DNS:client");
  const auto others = authority().issue("DNS:client");
  const auto refused = [](const tls_settings& how, const std::string& file) {
    const auto made = tls_session::make(how, "localhost");
    EXPECT_TRUE(testing::failed(errc::rejected, made));
    if (!made) {
      EXPECT_NE(made.error().detail.find(file), std::string::npos) << made.error().detail;
    }
  };
  refused(trusting("/nowhere/at/all"), "ca-file '/nowhere/at/all'");
  refused(trusting(ours.key), "ca-file '" + ours.key);
  auto how = trusting();
  how.cert_file = ours.cert;
  how.key_file = others.key;
  refused(how, "key-file '" + others.key);
  how.key_file = authority().locked(ours.key);
  refused(how, "key-file '" + how.key_file);
}

TEST(tls_session, nothing_older_than_1_2_is_spoken) {
  peer server;
  SSL_CTX_set_security_level(server.context(), 0);
  SSL_CTX_set_min_proto_version(server.context(), TLS1_VERSION);
  SSL_CTX_set_max_proto_version(server.context(), TLS1_1_VERSION);
  const auto outcome = meet(trusting(), "localhost", server);
  EXPECT_TRUE(testing::failed(errc::rejected, outcome));
}

TEST(tls_session, who_does_not_speak_tls_is_told_apart) {
  auto client = tls_session::make(trusting(), "localhost").value();
  EXPECT_FALSE(client->shake_hands("").value());
  const auto outcome = client->shake_hands("-ERR unknown command\r\n");
  ASSERT_TRUE(testing::failed(errc::rejected, outcome));
  EXPECT_NE(outcome.error().detail.find("does not speak TLS"), std::string::npos) << outcome.error().detail;
}

TEST(tls_session, new_keys_are_taken_and_answered) {
  peer server;
  auto client = tls_session::make(trusting(), "localhost").value();
  ASSERT_TRUE(testing::succeeded(meet(*client, server)));
  ASSERT_EQ(SSL_key_update(server.session(), SSL_KEY_UPDATE_REQUESTED), 1);
  server.write("new");
  EXPECT_EQ(client->open(server.says()).value(), "new");
  const std::string owed = client->owed();
  const std::string bytes = client->seal("answer");
  EXPECT_FALSE(owed.empty() && bytes.empty());
  server.hear(owed + bytes);
  EXPECT_EQ(server.read(), "answer");
}

TEST(tls_session, the_last_word_is_the_end_and_a_bad_one_is_a_failure) {
  peer server;
  auto client = tls_session::make(trusting(), "localhost").value();
  ASSERT_TRUE(testing::succeeded(meet(*client, server)));
  server.write("last");
  SSL_shutdown(server.session());
  EXPECT_EQ(client->open(server.says()).value(), "last");
  EXPECT_TRUE(client->ended());

  peer forger;
  auto other = tls_session::make(trusting(), "localhost").value();
  ASSERT_TRUE(testing::succeeded(meet(*other, forger)));
  forger.write("secret");
  std::string bytes = forger.says();
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  EXPECT_FALSE(other->open(bytes));
  EXPECT_TRUE(other->ended());
  EXPECT_EQ(other->seal("more"), "");
}

}  // namespace holdfast::redis
