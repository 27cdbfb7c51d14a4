#include <holdfast/testing/certificates.hpp>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace holdfast::testing {

namespace {

void openssl(const std::string& words) {
  if (std::system(("openssl " + words + " >/dev/null 2>&1 </dev/null").c_str()) != 0)
    throw std::runtime_error("openssl " + words);
}

constexpr const char* new_key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

}  // namespace

certificates::certificates() {
  authority_ = {file(".pem"), file(".key")};
  openssl("req -x509 " + std::string(new_key) + " -days 2 -subj /CN=authority -keyout " + authority_.key + " -out " +
          authority_.cert);
}

certificates::pair certificates::issue(const std::string& names, age how_old) {
  const pair made{file(".pem"), file(".key")};
  const std::string request = file(".csr");
  const std::string extensions = file(".ext");
  std::ofstream(extensions) << "basicConstraints=CA:FALSE\nsubjectAltName=" << names << "\n";
  openssl("req -new " + std::string(new_key) + " -subj /CN=holdfast -keyout " + made.key + " -out " + request);
  openssl("x509 -req -in " + request + " -CA " + authority_.cert + " -CAkey " + authority_.key + " -extfile " +
          extensions + (how_old == age::fresh ? " -days 2" : " -days -1") + " -out " + made.cert);
  return made;
}

std::string certificates::locked(const std::string& key) {
  std::string made = file(".key");
  openssl("ec -aes128 -passout pass:open-sesame -in " + key + " -out " + made);
  return made;
}

std::string certificates::file(const std::string& ending) {
  return (directory_.path() / (std::to_string(++files_) + ending)).string();
}

}  // namespace holdfast::testing
